"""The data graph in a given order of its vertices, as the levels of a refinement start from it."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.integer_weights import uneven
from tracecut.partition.datastructures.plain_graphs import data_graph, has_pairs
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.partition.parallel.thread_pool import ThreadPool, blocks
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

from .edge_matching import Weighted


def arranged(graph: LocalityGraph, loads: Floats, order: Words, pool: ThreadPool) -> Weighted:
    """The data graph with datum `order[i]` as vertex i.

    Jobs of two data each that all weigh the same are its edges as they are, parallel ones side by side; for others see
    `plain_graphs.data_graph`.

    Args:
        graph: the locality graph.
        loads: float64 (data).
        order: uint32 (data), a permutation.
        pool: the threads; the result does not depend on them.

    Returns:
        The graph. O(pins).
    """
    n = graph.n_data
    rank, heavy, sizes = np.empty(n, np.uint32), np.empty(n), np.zeros(n + 1, np.int64)
    parts = blocks(n)
    if uneven(graph.job_weights).size == 0 and has_pairs(graph) and not _has_loop(words(graph.data)):
        starts, jobs = (longs(graph.transpose[0]), words(graph.transpose[1]))
        pool.each(_rank, [(words(order), starts, floats(loads), rank, heavy, sizes, *part) for part in parts])
        offsets = longs(np.cumsum(sizes))
        near = np.empty(graph.n_pins, np.uint32)
        rows = (words(graph.data), starts, jobs, words(order), rank, offsets, near)
        pool.each(_ends, [(*rows, *part) for part in parts])
        return Weighted(offsets, words(near), longs(np.ones(near.size, np.int64)), floats(heavy))
    plain = data_graph(graph)
    old = (longs(plain.offsets), words(plain.neighbours), longs(plain.edge_weights))
    pool.each(_rank, [(words(order), old[0], floats(loads), rank, heavy, sizes, *part) for part in parts])
    offsets = longs(np.cumsum(sizes))
    near, edges = np.empty(plain.neighbours.size, np.uint32), np.empty(plain.neighbours.size, np.int64)
    pool.each(_arrange, [(*old, words(order), rank, offsets, near, edges, *part) for part in parts])
    return Weighted(offsets, words(near), longs(edges), floats(heavy))


@kept
def _has_loop(data: Words) -> bool:
    """Whether any job of two data touches the same one twice."""
    found = False
    for pin in range(0, data.size, 2):
        found |= data[pin] == data[pin + 1]
    return found


@kept
def _rank(
    order: Words, starts: Longs, loads: Floats, rank: Words, heavy: Floats, sizes: Longs, begin: int, end: int
) -> None:
    for i in range(begin, end):
        old = order[i]
        rank[old] = i
        heavy[i] = loads[old]
        sizes[i + 1] = starts[old + np.uint32(1)] - starts[old]


@kept
def _ends(
    data: Words,
    starts: Longs,
    jobs: Words,
    order: Words,
    rank: Words,
    offsets: Longs,
    near: Words,
    begin: int,
    end: int,
) -> None:
    for v in range(begin, end):
        place, old = offsets[v], order[v]
        for i in range(starts[old], starts[old + np.uint32(1)]):
            first = np.int64(jobs[i]) << 1
            near[place] = rank[data[first] ^ data[first + 1] ^ old]
            place += 1


@kept
def _arrange(
    old_offsets: Longs,
    old_near: Words,
    old_edges: Longs,
    order: Words,
    rank: Words,
    offsets: Longs,
    near: Words,
    edges: Longs,
    begin: int,
    end: int,
) -> None:
    for v in range(begin, end):
        place = offsets[v]
        old = order[v]
        for i in range(old_offsets[old], old_offsets[old + np.uint32(1)]):
            near[place] = rank[old_near[i]]
            edges[place] = old_edges[i]
            place += 1
