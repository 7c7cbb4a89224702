"""One program traced with compact records and without: the events have to be the same."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import numpy as np
from tracecut.tracer.depgraph.builder import dependence_graph
from tracecut.tracer.trace.events.event_words import Kind, Mark

from .recorded import Ran, recorded
from .replay import Replay


class Objects:
    """Addresses as (object, offset): what is the same in two runs of a program."""

    def __init__(self, replay: Replay) -> None:
        self._spans: list[tuple[int, int, str]] = []
        for mark, words in replay.marks:
            if mark is Mark.GLOBAL:
                self._add(words[1] | words[2] << 32, words[3] | words[4] << 32, replay.static.globals[words[0]][0])

    def _add(self, begin: int, size: int, name: str) -> None:
        self._spans = [span for span in self._spans if span[0] + span[1] <= begin or span[0] >= begin + size]
        self._spans.append((begin, size, name))
        self._spans.sort()

    def events(self, replay: Replay) -> list[tuple[int, Kind, tuple[object, ...]]]:
        found = []
        for number, access in enumerate(replay.accesses):
            if access.kind in (Kind.ALLOC, Kind.ALLOCA):
                self._add(access.values[0], access.values[1], f"{access.instruction} {number}")
            known = [self._place(value) for value in access.values[:1]]
            found.append((access.instruction, access.kind, (*known, access.bytes, access.access)))
        return found

    def _place(self, address: int) -> tuple[str, int]:
        at = bisect_right(self._spans, (address, 1 << 62, ""))
        if at:
            begin, size, name = self._spans[at - 1]
            if address < begin + size:
                return name, address - begin
        return "elsewhere", 0


def both(source: str, folder: Path, *arguments: str, opt: str = "O1", flags: tuple[str, ...] = ()) -> tuple[Ran, Ran]:
    """Trace with runs and without, and compare everything."""
    compact = recorded(source, folder, *arguments, opt=opt, flags=flags)
    plain = recorded(source, folder, *arguments, opt=opt, flags=flags, compact=False)
    assert compact.stdout == plain.stdout and plain.static.n_runs == 0
    assert compact.main.segments == plain.main.segments
    one, two = compact.recorded.totals, plain.recorded.totals
    assert (
        (one.records, one.instructions) == (two.records, two.instructions) == (one.kept_records, one.kept_instructions)
    )
    assert Objects(compact.main).events(compact.main) == Objects(plain.main).events(plain.main)
    graphs = [dependence_graph(ran.static, [ran.words[0]], weights="unit") for ran in (compact, plain)]
    for name in ("src", "dst", "kind", "instruction"):  # the edges of memory too
        assert np.array_equal(getattr(graphs[0], name), getattr(graphs[1], name))
    return compact, plain
