"""Files of ours that the compiler does not take, and tools that die: the reason is always named."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from tracecut.ir.errors import ToolchainError
from tracecut.tracer.support import last_words, run_tool, support_object


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


def test_a_tool_that_dies_without_a_word() -> None:
    done = run_tool([sys.executable, "-c", f"import os; os.kill(os.getpid(), {int(signal.SIGTERM)})"])
    assert last_words(done) == "The tool said nothing: killed by SIGTERM (terminated)."
    assert last_words(run_tool([sys.executable, "-c", "raise SystemExit(3)"])) == (
        "The tool said nothing: left with status 3."
    )


def test_a_tool_that_says_why() -> None:
    assert last_words(run_tool([sys.executable, "-c", "raise SystemExit('no room')"])) == "no room"
