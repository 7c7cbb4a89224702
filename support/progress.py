"""Progress of long work: one line per stage on a terminal, elsewhere a line every ten seconds.

The work runs in a child process. There `Stages` times it and writes one line of JSON per event to its standard output;
`Progress` shows these events in the user's process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .compiler_messages import WARNINGS, warnings

EVERY = 10.0  # seconds between two lines where there is no terminal


class Stages:
    """Times the stages. `timings`: name of a stage → seconds."""

    def __init__(self) -> None:
        self.timings: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, text: str, expected: float | None = None) -> Iterator[None]:
        """A stage of the pipeline: `name` in the timings, `text` for the user; `expected`: seconds, if known."""
        _emit(begin=name, text=text, expected=expected)
        start = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - start
            self.timings[name] = self.timings.get(name, 0.0) + took
            if sys.exc_info()[0] is None:
                _emit(end=name, text=text, seconds=took)

    def detail(self, text: str) -> None:
        """Report the current step of the running stage."""
        _emit(detail=text)

    def note(self, text: str) -> None:
        """Tell the user something before it is done."""
        _emit(note=text)

    def said(self, text: str) -> None:
        """Report the warnings of the user's compiler."""
        if text.strip():
            _emit(said=text)


def _emit(**event: Any) -> None:
    print(json.dumps(event), flush=True)


class Progress:
    """Shows the events of `Stages`. `stage`: the running stage, also if nothing is shown.

    A terminal gets the running stage, and a line for each that is done. Anything else gets one every `EVERY` seconds,
    so that short work stays silent.

    Warnings of the user's compiler go to standard error even if it is not a terminal; `warnings`: number of warnings
    that are shown in one line each, None: their complete text. `clock`: seconds.
    """

    def __init__(
        self,
        *,
        quiet: bool = False,
        warnings: int | None = WARNINGS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stage = ""
        self._quiet, self._warnings = quiet, warnings
        self._seen = 0
        self._console: Any = None
        self._status: Any = None
        self._clock = clock
        self._began = self._shown = self._entered = clock()
        self._text = self._detail = ""
        self._expected: float | None = None
        if not quiet and sys.stderr.isatty():
            from rich.console import Console

            self._console = Console(stderr=True, highlight=False, no_color="NO_COLOR" in os.environ)

    def follow(self, path: Path) -> None:
        """Show new events of a file; an incomplete last line waits for its rest."""
        self._read(path)
        if self._text and not self._quiet and self._console is None and self._clock() - self._shown >= EVERY:
            self._shown = self._clock()
            with suppress(OSError):
                sys.stderr.write(f"tracecut: {self._line()}\n")
                sys.stderr.flush()

    def _line(self) -> str:
        """Where the work is: "31 s: running the instrumented program (12 s of about 20 s): mesh.c:120: rcm"."""
        here = f"{self._clock() - self._entered:.0f} s{_about(self._expected, ' of ')}"
        detail = f": {self._detail}" if self._detail else ""
        return f"{self._clock() - self._began:.0f} s: {self._text} ({here}){detail}"

    def _read(self, path: Path) -> None:
        try:
            with open(path, "rb") as file:
                file.seek(self._seen)
                data = file.read()
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._seen += len(whole)
        for line in whole.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                self._show(event)

    def close(self) -> None:
        """Clear the progress line."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _show(self, event: dict[str, Any]) -> None:
        self.stage = event.get("begin", self.stage)
        if "begin" in event:
            self._entered, self._text, self._detail = self._clock(), str(event["text"]), ""
            self._expected = event.get("expected")
        self._detail = str(event.get("detail", self._detail))
        if "note" in event and not self._quiet:
            self.close()
            with suppress(OSError):
                sys.stderr.write(f"tracecut: {event['note']}\n")
                sys.stderr.flush()
        if "said" in event and not self._quiet:
            self.close()
            with suppress(OSError):
                sys.stderr.write(f"{warnings(str(event['said']), self._warnings)}\n")
        if self._console is None:
            return
        if "begin" in event:
            self.close()
            about = _about(self._expected, ", ")
            self._status = self._console.status(f"{event['text']}{about} …")
            self._status.start()
        elif "end" in event:
            self.close()
            self._console.print(f"  {event['text']:<44} {event['seconds']:7.2f} s", style="dim", markup=False)
        elif "detail" in event and self._status is not None:
            from rich.text import Text

            self._status.update(Text(f"{event['detail']} …"))


def _about(seconds: float | None, before: str) -> str:
    return "" if seconds is None else f"{before}about {max(1.0, seconds):.0f} s"
