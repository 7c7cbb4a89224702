"""The result of a simulation."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from tracecut.mapping.simulation.caches import FOUND, MEMORY
from tracecut.mapping.tasks.task_graph import WORD
from tracecut.support.arrays import Floats, Ints, Longs, check_range, frozen
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.files import read_arrays, write_arrays, write_atomic

MOST_SPANS = 200_000  # of a timeline: what a viewer still opens
_ARRAYS = {
    "link_load": "int64",
    "utilisation": "float64",
    "begin": "int64",
    "cycles": "int32",
    "core": "int32",
    "critical_path": "int64",
}
_CACHES = {"found": "int64", "bank_load": "int64"}  # empty where caches were not simulated
_COUNTS = ("invalidations", "written_back", "asked")
NOT_KEPT = "an older version made this file"
_NUMBERS = ("time", "messages", "between_clusters", "words")


@dataclass(frozen=True, eq=False)
class Simulation:
    """Time and traffic of a placed clustering.

    Attributes:
        time: cycles until the last instruction has finished.
        messages: values that travelled between nodes of the network, each once to each core that uses it.
        between_clusters: values that clusters exchange, each once to each cluster that uses it.
        words: the same as VertexCut §6.2.4 counts it: every cut edge, or every replica.
        link_load: int64 (links), bytes over each link.
        utilisation: float64 (cores), share of its issue slots that each core used.
        begin: int64 (n), cycle in which each instruction began. cycles: int32 (n), how long it took.
        core: int32 (n), where it ran.
        critical_path: int64, instructions of which each waited for the one before it last, up to the last to end.
        machine: its name. clock: its cycles in a second, 0 when unknown.
        stated: why accesses took the cycles that the graph states; empty when caches were simulated.
        found: int64 (5), accesses whose line was in the `own` L1, `under_way` to it, in the `shared` cache, in the L1
            of an `other` core, in `memory`; empty when caches were not simulated.
        bank_load: int64 (banks), lines that each memory bank sent; empty with `found`.
        invalidations: copies in L1s that writes dropped. written_back: lines that were changed in an L1 and left it.
        asked: words and lines that went over the network for accesses; `link_load` includes them, `messages` does not.
    """

    time: int
    messages: int
    between_clusters: int
    words: int
    link_load: Longs
    utilisation: Floats
    begin: Longs
    cycles: Ints
    core: Ints
    critical_path: Longs
    machine: str = ""
    clock: float = 0.0
    stated: str = NOT_KEPT
    found: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    bank_load: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    invalidations: int = 0
    written_back: int = 0
    asked: int = 0

    def __post_init__(self) -> None:
        for name, dtype in (_ARRAYS | _CACHES).items():
            object.__setattr__(self, name, frozen(name, getattr(self, name), dtype))
        self.verify()

    def verify(self) -> None:
        """Raises ArgumentError unless the numbers fit together. O(n + links + cores)."""
        for name in (*_NUMBERS, *_COUNTS):
            if getattr(self, name) < 0:
                raise ArgumentError(f"{name} = {getattr(self, name)} is negative")
        self._check_caches()
        for name in ("cycles", "core"):
            if getattr(self, name).size != self.begin.size:
                raise ArgumentError(f"{name} has {getattr(self, name).size} entries, {self.begin.size} expected")
        check_range("core", self.core, 0, self.utilisation.size)
        check_range("critical_path", self.critical_path, 0, self.begin.size)
        ends = int((self.begin + self.cycles).max(initial=0))
        if self.begin.min(initial=0) < 0:
            raise ArgumentError(f"begin[{int(self.begin.argmin())}] = {self.begin.min()} is negative")
        if ends != self.time:
            raise ArgumentError(f"time = {self.time}, the last instruction ends at {ends}")

    def _check_caches(self) -> None:
        if self.found.size != (0 if self.stated else len(FOUND)):
            raise ArgumentError(f"found has {self.found.size} entries, {0 if self.stated else len(FOUND)} expected")
        for name in _CACHES:
            if getattr(self, name).min(initial=0) < 0:
                raise ArgumentError(f"{name} = {getattr(self, name).tolist()} has a negative entry")
        sent, missed = int(self.bank_load.sum()), int(self.found[MEMORY:].sum())
        if sent != missed:
            raise ArgumentError(f"the banks sent {sent} lines, {missed} were found in memory")
        if not self.found.size and (self.invalidations or self.written_back or self.asked):
            raise ArgumentError("without caches there are no invalidations, lines written back or asked for")

    def accesses(self) -> dict[str, int]:
        """Accesses by where their line was found; empty when caches were not simulated."""
        return dict(zip(FOUND, self.found.tolist(), strict=False))

    @property
    def bytes_moved(self) -> int:
        """Bytes of the values that clusters exchange, each once to each cluster that uses it."""
        return WORD * self.between_clusters

    @property
    def bytes_by_seed(self) -> int:
        """Bytes as VertexCut counts them: a word for every cut edge, or for every replica."""
        return WORD * self.words

    @property
    def seconds(self) -> float:
        """Time by the machine's clock; NaN when that is not known."""
        return self.time / self.clock if self.clock else float("nan")

    def busiest_link(self) -> int:
        """Bytes over the link with the most, 0 without links."""
        return int(self.link_load.max(initial=0))

    def timeline(self, path: str | os.PathLike[str]) -> Path:
        """Write when each core had instructions under way, as the JSON that Perfetto and Chrome open.

        A span joins instructions of a core of which each begins before the ones before it have ended; with more than
        MOST_SPANS of them the shortest gaps between them are closed. Times are in microseconds of the clock, or in
        cycles.
        """
        spans = self.spans().tolist()
        scale = 1e6 / self.clock if self.clock else 1.0
        events = [
            {
                "name": f"{count} instructions",
                "ph": "X",
                "pid": 0,
                "tid": core,
                "ts": first * scale,
                "dur": long * scale,
            }
            for core, first, long, count in spans
        ]
        names = [
            {"name": "thread_name", "ph": "M", "pid": 0, "tid": core, "args": {"name": f"core {core}"}}
            for core in sorted({span[0] for span in spans})
        ]
        text = json.dumps({"traceEvents": names + events, "displayTimeUnit": "ns"}).encode()

        def write(file: BinaryIO) -> None:
            file.write(text)

        return write_atomic(path, write)

    def spans(self) -> Longs:
        """Core, first cycle, cycles and instructions of each span of the timeline; int64 (spans, 4), by core and time.

        O(n log n).
        """
        order = np.lexsort((self.begin, self.core))
        if not order.size:
            return np.zeros((0, 4), np.int64)
        core, begin = self.core[order].astype(np.int64), self.begin[order]
        # End of the span so far: a running maximum on each core, whose numbers are all above those of the one before.
        ends, place = np.unique(begin + self.cycles[order], return_inverse=True)
        above = core * ends.size
        latest = ends[np.maximum.accumulate(place + above) - above]
        gap = np.full(core.size, np.iinfo(np.int64).max)
        same = core[1:] == core[:-1]
        gap[1:][same] = begin[1:][same] - latest[:-1][same]
        least = 0
        if np.count_nonzero(gap > 0) > MOST_SPANS:
            least = int(np.partition(gap, gap.size - MOST_SPANS)[gap.size - MOST_SPANS])
        starts = np.flatnonzero(gap > least)
        ends = np.append(starts[1:], core.size)
        return np.stack([core[starts], begin[starts], latest[ends - 1] - begin[starts], ends - starts], 1)

    def save(self, path: str | os.PathLike[str]) -> Path:
        meta = {name: getattr(self, name) for name in (*_NUMBERS, *_COUNTS, "machine", "clock", "stated")}
        return write_arrays(path, "Simulation", {name: getattr(self, name) for name in _ARRAYS | _CACHES}, meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Simulation:
        """Read what `save` wrote, or versions without caches did. Raises ArtefactError on anything else."""
        optional = {f"{name}?": dtype for name, dtype in _CACHES.items()}
        arrays, meta = read_arrays(path, "Simulation", _ARRAYS | optional)
        try:
            fields: dict[str, Any] = {**arrays, **{name: int(meta[name]) for name in _NUMBERS}}
            if "stated" in meta or arrays.keys() & _CACHES.keys():
                fields |= {name: int(meta[name]) for name in _COUNTS} | {"stated": str(meta["stated"])}
            return cls(**fields, machine=str(meta["machine"]), clock=float(meta["clock"]))
        except (ArgumentError, KeyError, TypeError, ValueError) as error:
            raise ArtefactError(f"{path} holds no simulation: {error}") from error

    def __repr__(self) -> str:
        return f"<Simulation of {self.begin.size} instructions: {self.time} cycles, {self.bytes_moved} bytes moved>"
