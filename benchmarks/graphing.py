"""Rows on the dependence graph for `benchmarks.tracing`: speed and memory of the builder, alone and online.

`graph_instr_per_s` is the builder alone, on one core, over a trace in memory, with modelled weights. `bytes_per_edge`
is the growth of the resident memory at its peak, followed memory of the program included, over the edges.
`online_slowdown` is the time from the start of the program until its graph stands, which is built while it runs, over
the time of all native kernel calls: the kernel's own clock would miss what the builder does when a program whose trace
fits the buffers of 8 MiB has ended.
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
from tracecut.tracer.dependence.builder import Builder
from tracecut.tracer.events.recording import record
from tracecut.tracer.events.static import Static
from tracecut.tracer.runner import Limits

CALLS = {"dijkstra": 8, "fft": 100, "spmv": 3, "matmul": 1}  # 20 to 30 million instructions each
MEAN = 3
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
    """The three rows of one kernel. `alone`: kernel times of a native run with so many calls."""
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
    online = Builder(built.static)
    begin = time.perf_counter()
    _run(built, folder, calls, 8 << 20, lambda _, words: online.feed(words))
    online.graph()
    elapsed = time.perf_counter() - begin
    native = min(alone(built.native, calls)[MEAN] for _ in range(2))
    return [
        Row(built.name, "", "graph_instr_per_s", max(speeds)),
        Row(built.name, "", "bytes_per_edge", max(sizes)),
        Row(built.name, "", "online_slowdown", 1e9 * elapsed / (calls * native)),
    ]


def _run(built: Traced, folder: Path, calls: int, memory: int, sink: Callable[[int, Words], None]) -> None:
    record([built.traced, str(calls)], built.static, sink, folder=folder, limits=Limits(seconds=120), memory=memory)


def _peak(*, reset: bool = False) -> int:
    """Largest resident size so far, bytes; with `reset` the count begins anew at what is resident now."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) << 10  # type: ignore[union-attr]
