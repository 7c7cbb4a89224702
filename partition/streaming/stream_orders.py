"""The orders in which jobs can be streamed: as given, shuffled, along a breadth-first search, by degree."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.radix_sort import Keys, radix_order, sort_jobs
from tracecut.partition.datastructures.typed_views import Words, longs, ranks, words
from tracecut.partition.linear_orders.cuthill_mckee import walk
from tracecut.support.arrays import Ints, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .stream_pins import count_pins

STREAMS = ("natural", "shuffled", "bfs", "degree")


def stream(graph: LocalityGraph, name: str, *, seed: int = 0) -> Ints:
    """The jobs in one of the orders of `STREAMS`, int32 (jobs).

    - natural: as numbered.
    - shuffled: a random permutation by `seed`.
    - bfs: by the (first, last) reached of their data in a breadth-first search that takes neighbours by rising degree
      (a Cuthill-McKee walk). Good where the graph has locality.
    - degree: by the lowest degree of their data, rising, then by that datum. Good where the graph has hubs: jobs
      without hubs are placed first, and hubs are cut last.

    Raises ArgumentError for another name. O(pins) and radix sorts.
    """
    if name == "natural":
        return np.arange(graph.n_jobs, dtype=np.int32)
    if name == "shuffled":
        return np.random.default_rng(seed).permutation(graph.n_jobs).astype(np.int32)
    if name == "bfs":
        reached = walk(graph, sweeps=0, limit=2**31)[::-1]
        return sort_jobs(graph.offsets, graph.data, ranks(reached))
    if name == "degree":
        degree = count_pins(words(graph.data), graph.n_data)
        bits = int(degree.max(initial=0)).bit_length(), graph.n_data.bit_length()
        keys = _degree_keys(longs(graph.offsets), words(graph.data), words(degree), bits[1])
        return radix_order(keys, sum(bits)).view(np.int32)
    raise ArgumentError(f"unknown stream order {name!r}", hint=f"Known: {', '.join(STREAMS)}.")


@kept
def _degree_keys(offsets: Longs, data: Words, degree: Words, bits: int) -> Keys:
    """Degree and number of the datum of lowest degree of each job, the first on ties; 0 for a job without data."""
    keys = np.zeros(offsets.size - 1, np.uint64)
    shift = np.uint64(bits)
    for job in range(keys.size):
        best = np.uint64(0xFFFFFFFFFFFFFFFF)
        low = np.uint32(0xFFFFFFFF)
        for pin in range(offsets[job], offsets[job + 1]):
            v = data[pin]
            if degree[v] < low:
                low = degree[v]
                best = (np.uint64(low) << shift) | np.uint64(v)
        if offsets[job] < offsets[job + 1]:
            keys[job] = best
    return keys
