"""Measured times of memory accesses: medians over runs that agree.

A single time has little meaning: the processor overlaps accesses, the system interrupts the program, and an unfenced
pair of time stamps (VertexCut §3.2) reads the same 20 cycles for a hit in the nearest cache, for a miss in all, and for
no access. Here the stamps are fenced; their own cost is taken from the fastest accesses of each run, which are hits in
the nearest cache; times are clipped at 2000 cycles, above which the memory is not the cause; and several runs must rank
the accesses alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from tracecut.ir.dependence_graph import MEMORY, DependenceGraph
from tracecut.support.arrays import Ints
from tracecut.support.errors import ArgumentError, UnsupportedError
from tracecut.tracer.trace.tables.static_tables import Static

HIT = 4  # cycles of a load from the nearest cache
MOST = 2_000  # cycles of the slowest access that is one
AGREEMENT = 0.9
FASTEST = 0.01  # share of the accesses that may be faster than the one that is taken for a hit


def measured_graph(runs: Sequence[DependenceGraph], static: Static) -> tuple[DependenceGraph, float]:
    """One graph with the medians of the times, and the least rank correlation between two runs.

    Args:
        runs: graphs of two or more timed runs with `weights="times"`. static: of their trace.

    Raises UnsupportedError when the runs did not execute the same instructions, or do not rank the accesses alike
    (rank correlation below 0.9). O(runs · n log n).
    """
    if len(runs) < 2:
        raise ArgumentError(f"{len(runs)} runs; two or more were expected")
    first = runs[0]
    for other in runs[1:]:
        same = first.n == other.n and first.m == other.m
        if not (same and np.array_equal(first.instruction, other.instruction) and np.array_equal(first.src, other.src)):
            raise UnsupportedError(
                "the program does not do the same in every run: its times cannot be compared",
                hint="Use the weights of the model.",
            )
    ops = np.array([instruction.op in ("load", "store") for instruction in static.instructions] or [False])
    accesses = np.flatnonzero(ops[first.instruction])
    cleaned = np.array([cleaned_times(run.time[accesses]) for run in runs])
    correlation = least_correlation(cleaned)
    if not correlation >= AGREEMENT:
        raise UnsupportedError(
            f"the times of memory accesses are not measured: {len(runs)} runs rank them with a correlation of "
            f"{correlation:.2f}, at least {AGREEMENT} was expected",
            hint="Use the weights of the model. Accesses that all hit the nearest cache take the same time and have no "
            "ranks: those of a program whose data fit there. Of a larger one a quieter machine may help.",
        )
    time = np.array(first.time)
    time[accesses] = np.median(cleaned, axis=0).astype(np.int32)
    plain = (first.kind == MEMORY) & ops[first.instruction[first.dst]]
    weight = np.where(plain, time[first.dst], first.weight).astype(np.int32)
    arrays = first.src, first.dst, weight, first.kind, first.instruction, time
    return DependenceGraph(*arrays, first.table, first.address, first.access), correlation


def cleaned_times(raw: npt.NDArray[np.int32]) -> Ints:
    """Cycles of the accesses of one run without those of the stamps, between 1 and 2000."""
    if raw.size == 0:
        return np.zeros(0, np.int32)
    stamps = int(np.quantile(raw, FASTEST, method="lower")) - HIT
    return np.clip(raw.astype(np.int64) - stamps, 1, MOST).astype(np.int32)


def least_correlation(times: npt.NDArray[np.int32]) -> float:
    """Smallest Spearman correlation of two rows; NaN where a row has one value only, or there is nothing."""
    from scipy.stats import rankdata

    if times.shape[1] < 2 or (times.min(axis=1) == times.max(axis=1)).any():
        return float("nan")
    ranks = np.array([rankdata(row) for row in times])
    return float(np.corrcoef(ranks).min())
