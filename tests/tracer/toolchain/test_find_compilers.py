"""The compiler's version: asked once of the wheel's, each time of one that the user names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tracecut.support.errors import ToolchainError
from tracecut.tracer.toolchain import find_compilers
from tracecut.tracer.toolchain.find_compilers import VARIABLE, Compiler


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that were asked for their version, with an empty cache folder."""
    programs: list[str] = []
    ask = find_compilers.ask_tool

    def noted(command: Any, **options: Any) -> Any:
        programs.append(command[0])
        return ask(command, **options)

    monkeypatch.setattr(find_compilers, "ask_tool", noted)
    monkeypatch.setattr(find_compilers, "cache_home", lambda: tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    return programs


def found() -> Compiler:
    """As a new process finds it."""
    return find_compilers._c_compiler.__wrapped__()


def test_the_wheels_compiler_is_asked_once(asked: list[str]) -> None:
    assert found() == found()
    assert len(asked) == 1


@pytest.mark.parametrize("damage", [b"", b"clang version 22", b"clang version 22.1.0 and more", b"\xff\xfe", None])
def test_a_damaged_answer_is_asked_anew(damage: bytes | None, asked: list[str], tmp_path: Path) -> None:
    first = found()
    (kept,) = (tmp_path / "compilers").iterdir()
    if damage is None:
        kept.unlink()
        kept.mkdir()
    else:
        kept.write_bytes(damage)
    assert found() == first
    assert len(asked) == 2


def test_another_file_of_that_name_is_asked(asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found()
    other = tmp_path / "zig"
    other.write_text("#!/bin/sh\necho clang version 7.0.1\n")
    other.chmod(0o755)
    monkeypatch.setattr(find_compilers, "zig", lambda: other)
    with pytest.raises(ToolchainError, match="is clang 7, but llvmlite is built on LLVM"):
        found()
    assert asked[1:] == [str(other)]


def test_a_chosen_compiler_is_asked_each_time(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chosen = tmp_path / "clang"
    chosen.write_text("#!/bin/sh\necho gcc 13\n")
    chosen.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(chosen))
    for _ in range(2):
        with pytest.raises(ToolchainError, match="is not clang: it calls itself 'gcc 13'"):
            found()
    assert asked == [str(chosen)] * 2
