"""The locality graph of any loop of a traced program: which bytes each of its iterations touches.

This is the exact picture that a trace of all instructions gives. `optimize` gets the same graphs for the loops that it
can reorder from index arrays alone, at almost no cost.
"""

from __future__ import annotations

import numpy as np
from tracecut.ir.job_region import DATUM, Region
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.support.errors import ArgumentError, ArtefactError, UnsupportedError
from tracecut.support.growable_array import Growing
from tracecut.tracer.depgraph.state import call_frames as fr
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.access_steps import Words
from tracecut.tracer.depgraph.state.call_frames import DONE, FULL
from tracecut.tracer.trace.tables.static_tables import Static

from . import job_walk as jl
from .follower import LoopWalker

MOST_DATA = 1 << 24  # that one record may touch: 128 MiB
_PINS = {"data": np.int32, "access": np.uint8, "site": np.int32}
_ROWS = {"job": np.int64, "pin": np.int64, "first": np.int64, "work": np.int64, "run": np.int64}


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
        self.keys, self.values = np.full(1 << 13, sh.NONE, np.int64), np.zeros(1 << 13, np.int64)
        self.counts = np.zeros(jl.COUNTS, np.int64)

    def feed(self, words: Words) -> None:
        """Follow whole records. O(words + bytes touched).

        Raises ArtefactError for a damaged stream, UnsupportedError where one access touches more than 2**24 data.
        """
        words = np.ascontiguousarray(words, np.uint32)
        self.state[fr.POSITION] = 0
        while True:
            stack = fr.Frames(**{name: array.array for name, array in self.frames.items()})
            rows = {name: array.array for name, array in self.arrays.items()}
            log = jl.JobLog(keys=self.keys, values=self.values, bits=self.bits, counts=self.counts, **rows)
            limits = self.frame_limits()
            limits[fr.MAX_EDGES] = min(self.keys.size // 2, self.arrays["data"].capacity) - self.reads - 2
            found = self.fitting(jl.follow_jobs)(
                words,
                self.tables,
                stack,
                self.nothing,
                log,
                self.inside,
                self.header,
                self.unknown,
                limits,
                self.state,
                self.where,
            )
            del stack, rows, log  # views would keep the arrays from growing
            if found == DONE:
                return
            if found != FULL:
                raise ArtefactError("the event stream is damaged", hint="Trace the program again.")
            if int(self.state[fr.EXTRA_EDGES]) > MOST_DATA:
                raise UnsupportedError(
                    f"one instruction touches {int(self.state[fr.EXTRA_EDGES])} data of {1 << int(self.bits[0])} bytes",
                    hint="Take larger data (datum), if the trace is not damaged.",
                )
            self._grow()

    def _grow(self) -> None:
        """Room for the next record and as much again."""
        used = max(int(self.counts[: jl.KEYS + 1].max()), int(self.where[1]))
        most = used + int(self.state[fr.EXTRA_EDGES]) + self.reads + 2
        for array in self.arrays.values():
            array.reserve(most)
        while self.keys.size // 2 < most:
            keys, values = np.full(4 * self.keys.size, sh.NONE, np.int64), np.zeros(4 * self.keys.size, np.int64)
            self.fitting(sh.rehash)(self.keys, self.values, keys, values)
            self.keys, self.values = keys, values
        self.grow_frames()

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
            job_weights=row["work"][:jobs].astype(np.float64),
            data_weights=np.full(data, float(1 << int(self.bits[0]))),
            names=("memory",),
        )
        runs = np.append(row["run"][: int(self.where[1])], jobs)
        unknown = tuple(np.flatnonzero(self.unknown).tolist())
        return Region(self.body.name.removeprefix("@"), self.loop.header, graph, runs, unknown)
