"""Files of ours that the compiler does not take, and tools that die: the reason is always named."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from tracecut.support.errors import ToolchainError
from tracecut.tracer.runtime import compile_support
from tracecut.tracer.runtime.compile_support import last_words, run_tool, support_object

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own, and where objects are kept in it."""
    monkeypatch.setattr(compile_support, "cache_home", lambda: tmp_path)
    return tmp_path / "objects"


def test_a_file_that_compiles_is_an_object(tmp_path: Path) -> None:
    source = tmp_path / "good.c"
    source.write_text("int tc_four(void) { return FOUR; }\n")
    assert support_object(source, ["-DFOUR=4"]).startswith(b"\x7fELF")


def test_a_file_that_does_not_compile(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text("int tc_four(void) { return FOUR; }\n")
    with pytest.raises(ToolchainError, match=r"bad\.c does not compile") as caught:
        support_object(source)
    assert "FOUR" in caught.value.detail


def test_an_object_is_made_once(tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, included = tmp_path / "good.c", tmp_path / "part.c"
    source.write_text('#include "part.c"\nint tc_four(void) { return FOUR + PART; }\n')
    included.write_text("#define PART 0\n")
    made: list[str] = []
    tool = compile_support.run_tool
    monkeypatch.setattr(compile_support, "run_tool", lambda command: made.append(command[-1]) or tool(command))
    first = support_object(source, ["-DFOUR=4"])
    assert support_object(source, ["-DFOUR=4"]) == first and len(made) == 1
    # Another option, another text that is included, another processor: another object.
    others = {support_object(source, ["-DFOUR=5"])}
    included.write_text("#define PART 1000\n")
    others.add(support_object(source, ["-DFOUR=4"]))
    monkeypatch.setattr(compile_support, "host_name", lambda: "another")
    support_object(source, ["-DFOUR=4"])
    assert len(made) == 4 and first not in others and len(others) == 2
    assert len(list(kept.iterdir())) == 4


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_a_damaged_object_is_made_again(tmp_path: Path, kept: Path, damage: bytes | None) -> None:
    source = tmp_path / "good.c"
    source.write_text("int tc_four(void) { return 4; }\n")
    first = support_object(source)
    (path,) = kept.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if damage is None else damage)
    assert support_object(source) == first
    assert path.read_bytes() == whole


def test_an_object_that_can_not_be_kept_is_made_all_the_same(tmp_path: Path, kept: Path) -> None:
    source = tmp_path / "good.c"
    source.write_text("int tc_four(void) { return 4; }\n")
    kept.write_text("a file where a folder belongs")
    assert support_object(source).startswith(b"\x7fELF")


def test_a_tool_that_dies_without_a_word() -> None:
    done = run_tool([sys.executable, "-c", f"import os; os.kill(os.getpid(), {int(signal.SIGTERM)})"])
    assert last_words(done) == "The tool said nothing: killed by SIGTERM (terminated)."
    assert last_words(run_tool([sys.executable, "-c", "raise SystemExit(3)"])) == (
        "The tool said nothing: left with status 3."
    )


def test_a_tool_that_says_why() -> None:
    assert last_words(run_tool([sys.executable, "-c", "raise SystemExit('no room')"])) == "no room"
