"""Progress without a terminal: a line when there is something to wait for, on a clock that the test turns."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tracecut.support.progress import EVERY, Progress

pytestmark = pytest.mark.quick


class Work:
    """Events that a child process writes, and what the user sees of them."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, *, quiet: bool = False) -> None:
        self.path, self.now, self.seen = path, 500.0, io.StringIO()
        monkeypatch.setattr(sys, "stderr", self.seen)
        self.progress = Progress(quiet=quiet, clock=lambda: self.now)

    def after(self, seconds: float, /, **event: Any) -> str:
        """Some seconds later something happens. Returns what is shown then."""
        self.now += seconds
        if event:
            with open(self.path, "a") as file:
                file.write(json.dumps(event) + "\n")
        before = self.seen.tell()
        self.progress.follow(self.path)
        return self.seen.getvalue()[before:]


def test_a_line_every_ten_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(tmp_path / "events", monkeypatch)
    assert work.after(1, begin="compile", text="compiling", expected=None) == ""
    assert work.after(2, end="compile", text="compiling", seconds=2.0) == ""
    assert work.after(0, begin="capture", text="running the instrumented program", expected=21.4) == ""
    assert work.after(EVERY - 3.5) == ""
    shown = work.after(0.5)
    assert shown == "tracecut: 10 s: running the instrumented program (7 s of about 21 s)\n"
    assert work.after(EVERY - 1) == ""
    assert work.after(0, begin="tune", text="tuning", expected=None) == ""
    assert work.after(0, detail="mesh.c:120: rcm") == ""
    assert work.after(1) == "tracecut: 20 s: tuning (1 s): mesh.c:120: rcm\n"
    assert work.after(35) == "tracecut: 55 s: tuning (36 s): mesh.c:120: rcm\n"
    assert work.after(1) == ""


def test_short_work_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(tmp_path / "events", monkeypatch)
    assert work.after(EVERY + 1) == ""  # nothing has begun
    assert work.after(0, begin="compile", text="compiling", expected=None) != ""
    work = Work(tmp_path / "other", monkeypatch)
    work.after(1, begin="compile", text="compiling", expected=None)
    assert work.after(EVERY - 1.5) == ""


def test_quiet_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(tmp_path / "events", monkeypatch, quiet=True)
    assert work.after(1, begin="compile", text="compiling", expected=None) == ""
    assert work.after(10 * EVERY, detail="still there") == ""
    assert work.progress.stage == "compile"


def test_a_closed_stream_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    work = Work(tmp_path / "events", monkeypatch)
    monkeypatch.setattr(sys, "stderr", Broken())
    work.after(2 * EVERY, begin="compile", text="compiling", expected=None)
    assert work.progress.stage == "compile"
