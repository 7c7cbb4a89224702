"""Progress of long work: one line a stage on a terminal, nothing when piped."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Progress:
    """Shows the running stage, and how long each one took. Keeps the times in `timings`."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.timings: dict[str, float] = {}
        self._console: Any = None
        self._status: Any = None
        if not quiet and sys.stderr.isatty():
            from rich.console import Console

            self._console = Console(stderr=True, highlight=False, no_color="NO_COLOR" in os.environ)

    @contextmanager
    def stage(self, name: str, text: str) -> Iterator[None]:
        """A stage of the pipeline: `name` in the timings, `text` on the terminal."""
        start = time.perf_counter()
        if self._console is not None:
            self._status = self._console.status(f"{text} …")
            self._status.start()
        try:
            yield
        finally:
            took = time.perf_counter() - start
            self.timings[name] = self.timings.get(name, 0.0) + took
            if self._status is not None:
                self._status.stop()
                self._status = None
            if self._console is not None and sys.exc_info()[0] is None:
                self._console.print(f"  {text:<44} {took:7.2f} s", style="dim")

    def detail(self, text: str) -> None:
        """What the running stage is doing right now."""
        if self._status is not None:
            self._status.update(f"{text} …")
