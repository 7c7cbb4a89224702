"""One line of progress for work inside this process: after a second, on a terminal; elsewhere every ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TextIO

from tracecut.support.progress import EVERY

QUIET = 1.0  # seconds of work that show nothing
AGAIN = 0.2  # seconds between two states of the line on a terminal


class ProgressLine:
    """Called with the share that is done, from 0 to 1; as a context manager it clears its line in the end.

    text: what is done, such as "reading graph.mtx". everywhere: write lines if there is no terminal, too.
    """

    def __init__(
        self,
        text: str,
        *,
        everywhere: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._text, self._stream, self._clock = text, sys.stderr if stream is None else stream, clock
        self._terminal = self._stream.isatty()
        self._shows = self._terminal or everywhere
        self._began = clock()
        self._next = self._began + (QUIET if self._terminal else EVERY)
        self._width = 0

    def __call__(self, share: float) -> None:
        now = self._clock()
        if not self._shows or now < self._next:
            return
        self._next = now + (AGAIN if self._terminal else EVERY)
        line = f"tracecut: {self._text}: {100 * share:.0f} % in {now - self._began:.0f} s"
        self._write(f"\r{line:<{self._width}}" if self._terminal else f"{line}\n")
        self._width = max(self._width, len(line))

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal and self._width:
            self._write(f"\r{'':<{self._width}}\r")

    def _write(self, text: str) -> None:
        with suppress(OSError):
            self._stream.write(text)
            self._stream.flush()
