"""A line of progress: silent for a second, cleared in the end, rare where there is no terminal."""

from __future__ import annotations

import io

import pytest
from tracecut.partition.inputs.progress_line import ProgressLine

pytestmark = pytest.mark.quick


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(stream: io.StringIO, times: list[float], *, everywhere: bool = False) -> str:
    clock = iter([0.0, *times])
    with ProgressLine("reading a.mtx", everywhere=everywhere, stream=stream, clock=lambda: next(clock)) as line:
        for i in range(len(times)):
            line(i / len(times))
    return stream.getvalue()


def test_short_work_is_silent() -> None:
    assert told(Terminal(), [0.1, 0.9]) == ""
    assert told(io.StringIO(), [1.0, 9.0], everywhere=True) == ""


def test_a_terminal_gets_one_line_that_is_cleared() -> None:
    text = told(Terminal(), [0.5, 1.5, 1.6, 2.5])
    first, second = "tracecut: reading a.mtx: 25 % in 2 s", "tracecut: reading a.mtx: 75 % in 2 s"
    assert text == f"\r{first}\r{second}\r{' ' * len(second)}\r"


def test_a_file_gets_lines_on_request() -> None:
    assert told(io.StringIO(), [11.0, 12.0]) == ""
    assert told(io.StringIO(), [11.0, 12.0, 22.0], everywhere=True).splitlines() == [
        "tracecut: reading a.mtx: 0 % in 11 s",
        "tracecut: reading a.mtx: 67 % in 22 s",
    ]
