"""A program of the suite as the tests of graphs look at it: traced, and followed by the slow interpreter."""

from __future__ import annotations

from pathlib import Path

from tracecut.api.dependence_graph import Built, build_graph

from .interpreter import Interpreter
from .stream import Recorder

FORMS = ("O1", "seed")


class Case:
    """A program that ran three times: traced, in the interpreter, and in the interpreter with its memory elsewhere."""

    def __init__(self, source: Path, opt: str, folder: Path) -> None:
        self.built: Built = build_graph(source, opt=opt, weights="unit", output=folder / "trace.tct")
        self.static = self.built.trace.static
        self.recorder, self.machine, self.status = self.interpreted(0)

    def interpreted(self, moved: int) -> tuple[Recorder, Interpreter, int]:
        recorder = Recorder(self.static)
        machine = Interpreter(self.static.text, moved=moved, watch=recorder)
        recorder.begin(machine)
        return recorder, machine, machine.run()
