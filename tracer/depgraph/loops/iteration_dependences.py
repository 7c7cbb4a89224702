"""Loop-carried dependences of one loop, from the event stream of the whole program.

Each iteration is a job. Everything that runs inside of it belongs to it, called functions included; a recursive
invocation of the loop belongs to the job that called it. Memory is followed byte by byte. Pairs of jobs of the same
invocation are counted, each pair once for each kind:

- flow: the later job reads a byte that the earlier one wrote last;
- output: the later job writes a byte that the earlier one wrote last;
- anti: the later job writes a byte that the earlier one read, as the last other job since the byte was written.

Static instructions that access the same bytes form one *datum*. A datum is privatizable when no value of it flows from
job to job. It is a reduction when it is only accessed by load, operation and store at one address, with one associative
operator, and the values have no other use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tracecut.support.arrays import Longs
from tracecut.support.errors import ArtefactError
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.growable_array import Growing
from tracecut.tracer.depgraph.walk.anti_output import MOST_BYTES
from tracecut.tracer.trace.tables.static_tables import Static

from . import last_access as lm
from . import loop_events as ev
from .follower import LoopWalker
from .reductions import carried_values, updates_of


@dataclass(frozen=True)
class Datum:
    """Memory that some static instructions of the loop access in common.

    Attributes:
        instructions: static ids. conflicts: kinds of conflict between jobs, a part of ("flow", "anti", "output").
        private: it is privatizable: there are conflicts, and none is a flow. copied_in: some job reads a value from
            before the loop.
        reduction: the operator, empty when it is none.
    """

    instructions: tuple[int, ...]
    conflicts: tuple[str, ...]
    private: bool
    copied_in: bool
    reduction: str


@dataclass(frozen=True)
class LoopSummary:
    """Dependences between the jobs of one loop.

    Attributes:
        function, header: the loop. runs, jobs: invocations of the loop, and iterations of all of them.
        flow, anti, output: pairs of jobs by distance; distances above 1024 stand at the next power of two.
        data: by their first instruction. carried: what the loop carries in registers: name of the phi → operator,
            "counter" or "value".
        unknown: static instructions in it whose effect on memory is not known: the dependences are then incomplete.
    """

    function: str
    header: str
    runs: int
    jobs: int
    flow: Mapping[int, int]
    anti: Mapping[int, int]
    output: Mapping[int, int]
    data: tuple[Datum, ...]
    carried: Mapping[str, str]
    unknown: tuple[int, ...]

    @property
    def parallel(self) -> bool:
        """No two jobs conflict, and registers carry nothing but counters."""
        free = not (self.flow or self.anti or self.output or self.unknown)
        return free and all(kind == "counter" for kind in self.carried.values())


class LoopFollower(LoopWalker):
    """Follows one thread's stream chunk by chunk: `feed` takes them, `summary` may be called at any time.

    Chunks are cut at record borders; `header` is the name of the loop's first block. Memory: 32 bytes for each word of
    four bytes that the loop touches, and four times that where single bytes are; time O(words + bytes touched). Raises
    ArgumentError for a loop that is not there, ArtefactError for a damaged stream.
    """

    def __init__(self, static: Static, function: str, header: str, *, few: bool = False) -> None:
        super().__init__(static, function, header, few=few)
        self.units, self.bytes = Growing(np.int64), Growing(np.int64)
        self.keys, self.values = sh.new_table(1 << 10)
        self.seen = np.zeros(2 << 10, np.int64)
        self.bins = np.zeros(3 * lm.BINS, np.int64)
        self.parent = np.arange(static.n_instructions)
        self.flags = np.zeros(lm.FLAGS * static.n_instructions, np.uint8)
        self.counts = np.zeros(lm.COUNTS, np.int64)

    def take(self, events: Longs, first: int, end: int) -> int:
        tables = self.keys, self.values, self.units.array, self.bytes.array, self.seen
        touched = lm.Touched(*tables, self.bins, self.parent, self.flags, self.counts)
        taken = int(self.fitting(lm.follow_events)(touched, events, first, end))
        del tables, touched  # views would keep the arrays from growing
        if taken < end:
            self._grow(int(events[taken * ev.FIELDS + ev.LENGTH]))
        return taken

    def _grow(self, length: int) -> None:
        """Make room for an access of so many bytes."""
        if length > MOST_BYTES:
            raise ArtefactError("the event stream is damaged", hint="Trace the program again.")
        pages = int(self.counts[lm.PAGES]) + (length >> sh.PAGE_BITS) + 2
        self.units.reserve(pages * lm.UNITS * lm.FIELDS)
        self.bytes.reserve((int(self.counts[lm.SPLITS]) + 2) * 4 * lm.FIELDS)
        self.keys, self.values = sh.with_room(self.keys, self.values, pages, self.fitting(sh.rehash))
        while self.seen.size // 4 < int(self.counts[lm.KNOWN]) + 3 * length:
            self.seen = self.fitting(lm.reseen)(self.seen, max(1, int(self.counts[lm.JOB])))  # 0 marks what is empty

    def summary(self) -> LoopSummary:
        """What was found so far."""
        histograms = [_by_distance(self.bins[kind * lm.BINS : (kind + 1) * lm.BINS]) for kind in range(3)]
        return LoopSummary(
            self.body.name.removeprefix("@"),
            self.loop.header,
            int(self.counts[lm.INVOCATIONS]),
            int(self.counts[lm.JOB]),
            histograms[lm.FLOW],
            histograms[lm.ANTI],
            histograms[lm.OUTPUT],
            self._data(),
            carried_values(self.body, self.loop),
            self.unknown,
        )

    def _data(self) -> tuple[Datum, ...]:
        flags: Any = self.flags.reshape(-1, lm.FLAGS)
        groups: dict[int, list[int]] = {}
        for site in np.flatnonzero(flags[:, lm.TOUCHED]).tolist():
            groups.setdefault(int(self.fitting(lm.root)(self.parent, site)), []).append(site)
        updates = updates_of(self.body, self.loop, self.base)
        found = []
        for members in groups.values():
            flow, anti, output, exposed, _ = map(bool, flags[members].any(axis=0))
            named = zip(("flow", "anti", "output"), (flow, anti, output), strict=True)
            conflicts = tuple(name for name, there in named if there)
            operators = {updates.get(member, "") for member in members}
            operator = operators.pop() if len(operators) == 1 and flow else ""
            found.append(Datum(tuple(members), conflicts, bool(conflicts) and not flow, exposed, operator))
        return tuple(found)


def _by_distance(bins: Longs) -> dict[int, int]:
    return {
        place if place <= lm.NEAR else lm.NEAR << (place - lm.NEAR): int(bins[place])
        for place in np.flatnonzero(bins).tolist()
    }
