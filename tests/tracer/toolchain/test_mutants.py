"""Damaged IR harms nobody, and IR of another LLVM release is named with the fix."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite import binding
from tracecut.support.errors import SourceError
from tracecut.tracer.toolchain.bitcode import producer
from tracecut.tracer.toolchain.find_compilers import llvm_major
from tracecut.tracer.toolchain.read_ir import read_ir, release_of

HERE = Path(__file__).parent
SIMPLE = "define i32 @main() {\n  ret i32 0\n}\n"
CHAR6 = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"


def ends_of(count: int, seed: int) -> dict[str, int]:
    """How the readers of so many mutants ended; the process that stands for the host has to outlive them all."""
    command = [sys.executable, "-P", str(HERE / "mutants.py"), str(count), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr[-2000:]
    ends: dict[str, int] = json.loads(done.stdout)
    assert sum(ends.values()) == count
    return ends


@pytest.mark.parametrize("count", [50, pytest.param(100, marks=pytest.mark.long)])
def test_mutants_of_ir_do_not_kill_the_host(count: int) -> None:
    ends = ends_of(count, 1)
    assert ends["ll read"] > 0 and ends["bc read"] > 0 and ends["ll refused"] > 0 and ends["bc refused"] > 0
    assert sum(count for end, count in ends.items() if "killed" in end) > 0  # so a worker is needed


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
def test_ten_thousand_mutants_do_not_kill_the_host(seed: int) -> None:
    ends_of(5000, seed)


def made_by(release: str) -> bytes:
    """Bitcode that says it was made by another release: its name is replaced bit by bit."""
    data = binding.parse_assembly(SIMPLE).as_bitcode()
    ours = producer(data)
    assert ours is not None and len(ours) == len(release)

    def code(text: str) -> int:
        return sum(CHAR6.index(letter) << (6 * place) for place, letter in enumerate("LLVM" + text))

    width = 6 * (4 + len(ours))
    bits = int.from_bytes(data, "little")
    [start] = [at for at in range(8 * len(data) - width) if bits >> at & ((1 << width) - 1) == code(ours)]
    bits += (code(release) - code(ours)) << start
    return bits.to_bytes(len(data), "little")


def test_the_producer_of_bitcode() -> None:
    data = binding.parse_assembly(SIMPLE).as_bitcode()
    assert (producer(data) or "").startswith(f"{llvm_major()}.")
    assert producer(made_by("97.3.1")) == "97.3.1"
    assert release_of(made_by("97.3.1")) == 97
    assert producer(b"") is None and producer(b"BC\xc0\xde" + bytes(100)) is None
    # A wrapper stands before it, and other writers pack characters of eight bits.
    assert producer(b"\xde\xc0\x17\x0b" + bytes(16) + data) == producer(data)
    assert producer(b"BC\xc0\xde\x35\x14LLVM16.0.6\x00") == "16.0.6"


def test_newer_bitcode_is_refused_and_the_fix_is_named(tmp_path: Path) -> None:
    path = tmp_path / "newer.bc"
    path.write_bytes(made_by("97.3.1"))
    with pytest.raises(SourceError) as caught:
        read_ir(path)
    assert f"bitcode of LLVM 97, newer than LLVM {llvm_major()}" in caught.value.detail
    assert f"make it with clang {llvm_major()}" in caught.value.hint
    path.write_bytes(made_by("15.0.7"))  # older releases are LLVM's own promise
    assert "ret i32 0" in read_ir(path)


def test_text_of_another_release_is_named_when_it_can_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "other.ll"
    ident = '!llvm.ident = !{!0}\n!0 = !{!"Debian clang version 14.0.6"}\n'
    path.write_text(SIMPLE.replace("i32 0", "i32* 0") + ident)
    with pytest.raises(SourceError) as caught:
        read_ir(path)
    assert "It was made by LLVM 14" in caught.value.hint
    path.write_text(SIMPLE + ident)
    assert "ret i32 0" in read_ir(path)
