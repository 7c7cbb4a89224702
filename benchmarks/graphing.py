"""Rows on the dependence graph for `benchmarks.tracing`: speed and memory of the builder, alone and online.

`graph_instr_per_s` is the builder alone, on one core, over a trace in memory, with modelled weights. `bytes_per_edge`
is the growth of the resident memory at its peak, followed memory of the program included, over the edges.
`online_slowdown` is the time that the kernel adds to a traced run until its graph stands, which is built while it runs,
on two cores, over the time of the same native kernel calls: the kernel's own clock would miss what the builder does
when a program whose trace fits the buffers of 8 MiB has ended, and what processes take to start and the program to set
its data up is no part of the native time either, so that a run without a call is taken off. `online_slowdown whole` is
the same with all of that left in.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
from rows import Row
from tracecut.support.process.runner import Limits
from tracecut.tracer.depgraph.builder import Builder
from tracecut.tracer.trace.record.record import record
from tracecut.tracer.trace.tables.static_tables import Static

CALLS = {"dijkstra": 8, "fft": 200, "spmv": 3, "matmul": 2}  # 27 to 53 million instructions each
MEAN, REPEATS = 3, 3
Words = npt.NDArray[np.uint32]


class Traced(Protocol):
    """What `benchmarks.tracing` builds of a kernel."""

    @property
    def name(self) -> str: ...
    @property
    def static(self) -> Static: ...
    @property
    def native(self) -> Path: ...
    @property
    def traced(self) -> Path: ...


def graph_rows(built: Traced, folder: Path, alone: Callable[[Path, int], list[float]]) -> list[Row]:
    """The rows of one kernel. `alone`: kernel times of a native run with so many calls."""
    calls = CALLS[built.name]
    kept: list[Words] = []
    _run(built, folder, calls, 64 << 20, lambda _, words: kept.append(words.copy()))
    warm = Builder(built.static)
    warm.feed(kept[0])
    del warm
    speeds, sizes = [], []
    for _ in range(2):
        before = _peak(reset=True)
        builder = Builder(built.static)
        begin = time.perf_counter()
        for words in kept:
            builder.feed(words)
        elapsed = time.perf_counter() - begin
        graph = builder.graph()
        speeds.append(graph.n / elapsed)
        sizes.append((_peak() - before) / graph.m)
        del graph, builder
    kept.clear()
    online = [min(_online(built, folder, some) for _ in range(REPEATS)) for some in (calls, 0)]
    native = min(alone(built.native, calls)[MEAN] for _ in range(REPEATS)) / 1e9 * calls
    return [
        Row(built.name, "", "graph_instr_per_s", max(speeds)),
        Row(built.name, "", "bytes_per_edge", max(sizes)),
        Row(built.name, "", "online_slowdown", (online[0] - online[1]) / native),
        Row(built.name, "", "online_slowdown whole", online[0] / native),
    ]


def _online(built: Traced, folder: Path, calls: int) -> float:
    """Seconds of a traced run until its graph stands."""
    begin = time.perf_counter()
    builder = Builder(built.static, threads=2)
    _run(built, folder, calls, 8 << 20, lambda _, words: builder.feed(words))
    builder.graph()
    return time.perf_counter() - begin


def _run(built: Traced, folder: Path, calls: int, memory: int, sink: Callable[[int, Words], None]) -> None:
    record([built.traced, str(calls)], built.static, sink, folder=folder, limits=Limits(seconds=120), memory=memory)


def _peak(*, reset: bool = False) -> int:
    """Largest resident size so far, bytes; with `reset` the count begins anew at what is resident now."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) << 10  # type: ignore[union-attr]
