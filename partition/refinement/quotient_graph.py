"""The quotient graph of a partition: which parts are neighbours, and rounds of pairs that share no part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tracecut.partition.coarsening.edge_matching import Weighted
from tracecut.partition.datastructures.radix_sort import radix_order
from tracecut.partition.datastructures.typed_views import Words
from tracecut.partition.parallel.thread_pool import ThreadPool, blocks
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept


class QuotientGraph(NamedTuple):
    """Pairs of parts with cut edges between them, sorted.

    Attributes:
        first, second: int64 (pairs), the lower and the higher part.
        weight: int64 (pairs), of the edges cut between them.
        starts, seeds: int64 (pairs + 1), uint32: the vertices on either side of the boundary of each pair.
    """

    first: Longs
    second: Longs
    weight: Longs
    starts: Longs
    seeds: Words


def quotient_graph(graph: Weighted, labels: Words, k: int, pool: ThreadPool) -> QuotientGraph:
    """The quotient graph of a partition.

    Args:
        graph: the graph; labels: uint32 (vertices), in [0, k); pool: the threads.

    Returns:
        The pairs. O(edges + boundary).
    """
    found = pool.each(_cut_edges, [(graph, labels, k, *part) for part in blocks(graph.size)])
    keys, ends, weights = (np.concatenate([part[i] for part in found]) for i in range(3))
    order = radix_order(keys.astype(np.uint64), (k * k).bit_length())
    return _pairs(order, keys, ends, weights, k)


@kept
def _cut_edges(graph: Weighted, labels: Words, k: int, begin: int, end: int) -> tuple[Longs, Words, Longs]:
    """The vertices of [begin, end) once for each other part next to them: pair of parts, vertex, weight cut."""
    offsets, near, edges, _ = graph
    boundary = np.empty(end - begin, np.uint32)
    members, most = 0, 0
    for v in range(begin, end):
        own = labels[v]
        for i in range(offsets[v], offsets[v + 1]):
            if labels[near[i]] != own:
                boundary[members] = v
                members += 1
                most += offsets[v + 1] - offsets[v]
                break
    keys, ends, weights = np.empty(most, np.int64), np.empty(most, np.uint32), np.empty(most, np.int64)
    count = 0
    for v in boundary[:members]:
        first = count
        for i in range(offsets[v], offsets[v + np.uint32(1)]):
            a, b = np.int64(labels[v]), np.int64(labels[near[i]])
            if a == b:
                continue
            key = min(a, b) * k + max(a, b)
            for j in range(first, count):
                if keys[j] == key:
                    weights[j] += edges[i]
                    break
            else:
                keys[count], ends[count], weights[count] = key, v, edges[i]
                count += 1
    return keys[:count].copy(), ends[:count].copy(), weights[:count].copy()


@kept
def _pairs(order: Words, keys: Longs, ends: Words, weights: Longs, k: int) -> QuotientGraph:
    count = keys.size
    first, second = np.empty(count, np.int64), np.empty(count, np.int64)
    weight, starts, seeds = np.zeros(count, np.int64), np.empty(count + 1, np.int64), np.empty(count, np.uint32)
    pairs = 0
    last = np.int64(-1)
    for place in range(count):
        i = order[place]
        if keys[i] != last:
            last = keys[i]
            first[pairs], second[pairs], starts[pairs] = last // k, last % k, place
            pairs += 1
        weight[pairs - 1] += weights[i]
        seeds[place] = ends[i]
    starts[pairs] = count
    return QuotientGraph(
        first[:pairs].copy(), second[:pairs].copy(), weight[:pairs].copy(), starts[: pairs + 1].copy(), seeds
    )


@kept
def coloured(pairs: Longs, first: Longs, second: Longs, k: int) -> Longs:
    """Greedy edge colouring of `pairs` of the quotient graph, in that order: the least colour that is free at both
    ends."""
    degrees = np.zeros(k, np.int64)
    for pair in pairs:
        degrees[first[pair]] += 1
        degrees[second[pair]] += 1
    used = np.zeros((k, 2 * degrees.max()), np.bool_)
    colours = np.empty(pairs.size, np.int64)
    for i in range(pairs.size):
        a, b = first[pairs[i]], second[pairs[i]]
        colour = 0
        while used[a, colour] or used[b, colour]:
            colour += 1
        used[a, colour] = used[b, colour] = True
        colours[i] = colour
    return colours
