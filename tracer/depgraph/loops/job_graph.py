"""The locality graph of any loop of a traced program: which data each of its iterations touches.

It is exact, from a trace of all instructions. For the loops that `optimize` can reorder it takes the same graphs from
index arrays alone, at almost no cost.
"""

from __future__ import annotations

import numpy as np
from tracecut.ir.job_region import DATUM, Region
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.support.arrays import Longs
from tracecut.support.errors import ArgumentError, UnsupportedError
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.growable_array import Growing
from tracecut.tracer.trace.tables.static_tables import Static

from . import job_log as jl
from . import loop_events as ev
from .follower import LoopWalker

MOST_DATA = 1 << 24  # that one record may touch: 128 MiB
_PINS = {"data": np.int32, "access": np.uint8, "site": np.int32}
_ROWS = {"job": np.int64, "pin": np.int64, "first": np.int64, "began": np.int64, "invocation": np.int64}


class JobFollower(LoopWalker):
    """Notes the jobs of one loop, chunk by chunk of one thread's stream.

    Args:
        static, function, header: the loop. datum: bytes of a datum, a power of two. few: see LoopWalker.

    Memory: 6 bytes for each pair of a job and a datum that it touches, and 32 for each datum.
    """

    def __init__(self, static: Static, function: str, header: str, *, datum: int = DATUM, few: bool = False) -> None:
        super().__init__(static, function, header, few=few)
        if datum < 1 or datum & (datum - 1):
            raise ArgumentError(f"datum is {datum} bytes, a power of two was expected")
        self.bits = np.array([datum.bit_length() - 1])
        self.arrays = {name: Growing(dtype) for name, dtype in {**_PINS, **_ROWS}.items()}
        self.keys, self.values = sh.new_table(1 << 13)
        self.counts = np.zeros(jl.COUNTS, np.int64)

    def take(self, events: Longs, first: int, end: int) -> int:
        rows = {name: array.array for name, array in self.arrays.items()}
        log = jl.JobLog(keys=self.keys, values=self.values, bits=self.bits, counts=self.counts, **rows)
        room = min(self.keys.size // 2, self.arrays["data"].capacity)
        taken = int(self.fitting(jl.note_events)(log, events, first, end, room))
        del rows, log  # views would keep the arrays from growing
        if taken < end:
            self._grow(int(events[taken * ev.FIELDS + ev.LENGTH]))
        return taken

    def _grow(self, length: int) -> None:
        """Make room for an access of so many bytes. Raises UnsupportedError for more than 2**24 data."""
        bits = int(self.bits[0])
        more = int(jl.blocks_of(length, bits))
        if more > MOST_DATA:
            raise UnsupportedError(
                f"one instruction touches {more} data of {1 << bits} bytes",
                hint="Choose larger data (datum), if the trace is not damaged.",
            )
        most = max(int(self.counts[entry]) for entry in (jl.PINS, jl.BLOCKS, jl.JOBS, jl.INVOCATIONS)) + more
        for array in self.arrays.values():
            array.reserve(most)
        self.keys, self.values = sh.with_room(self.keys, self.values, most, self.fitting(sh.rehash))

    def region(self) -> Region:
        """What was noted so far."""
        jobs, pins, data = (int(self.counts[entry]) for entry in (jl.JOBS, jl.PINS, jl.DATA))
        row = {name: array.array for name, array in self.arrays.items()}
        graph = LocalityGraph(
            np.append(row["first"][:jobs], pins),
            row["data"][:pins].copy(),
            data,
            row["access"][:pins].copy(),
            row["site"][:pins].copy(),
            job_weights=np.diff(np.append(row["began"][:jobs], self.followed.where[ev.RAN])).astype(np.float64),
            data_weights=np.full(data, float(1 << int(self.bits[0]))),
            names=("memory",),
        )
        runs = np.append(row["invocation"][: int(self.counts[jl.INVOCATIONS])], jobs)
        return Region(self.body.name.removeprefix("@"), self.loop.header, graph, runs, self.unknown)
