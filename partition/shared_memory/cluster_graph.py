"""Builds the graph of clusters from the edges between them, merging parallel edges, on several threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tracecut.partition.datastructures.typed_views import Words
from tracecut.partition.parallel.barrier import wait_all
from tracecut.partition.parallel.ordered_pieces import MOST, parts, piece, restart, row_range, side_by_side
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

LEAST = 1 << 13  # edges of a range
ROW = 1 << 11  # entries of a range of rows


class Halves(NamedTuple):
    """A graph that stores each edge once, in the row of its lower end.

    Attributes:
        far, merged: uint32, int64: the higher ends and the weights; row v lies in [begun[v], ends[v]).
        first, upper, last: int64 (n): where the row of each vertex with both directions begins, has its first higher
            neighbour, and ends.
        cuts: int64 (ranges + 1), ranges of rows; lower: uint32 (ranges, n), where each range writes lower neighbours in
            each row.
    """

    far: Words
    merged: Longs
    begun: Longs
    ends: Longs
    first: Longs
    upper: Longs
    last: Longs
    cuts: Longs
    lower: Words


class ClusterEdges(NamedTuple):
    """Edges between clusters.

    Attributes:
        pairs: uint32 (2 · edges), the clusters at the ends of each edge.
        names: uint32 (edges), the edges of the stream that they stand for.
        spans: int64 (pieces, 2): which of them there are.
        weights: int64, by name; empty means 1 each.
    """

    pairs: Words
    names: Words
    spans: Longs
    weights: Longs


class LinkSpace(NamedTuple):
    """Working memory of `linked`.

    Attributes:
        cuts: int64 (ranges + 1), ranges of `spans`.
        counts: uint32 (ranges, n), how many edges of a range each row gets, then where the range writes them.
        begins: int64 (n + 1), where each row begins before parallel edges are merged.
        far, weight: uint32, int64: the higher ends and the weights of these rows; no weights where all are 1. Merging
            overwrites `far` in place; its write position never passes its read position.
    """

    cuts: Longs
    counts: Words
    begins: Longs
    far: Words
    weight: Longs


def linked(links: ClusterEdges, size: int, pool: ThreadPool) -> Halves:
    """The graph of `size` vertices with these edges, parallel ones merged.

    Args:
        links: edges between different vertices, as `inflated` returns them.
        size: the number of vertices.
        pool: the threads; the result does not depend on them.

    Returns:
        The graph; neighbours in each row are in stream order. O(edges + size · threads).
    """
    spans = links.spans
    count = int((spans[:, 1] - spans[:, 0]).sum())
    most = 1 if pool.threads == 1 else min(MOST, 2 * pool.threads)
    ranges = min(parts(count, LEAST, most), spans.shape[0])
    cuts = np.arange(ranges + 1) * spans.shape[0] // ranges
    counts, begins = np.zeros((ranges, size), np.uint32), np.empty(size + 1, np.int64)
    far, weight = np.empty(count, np.uint32), np.empty(count if links.weights.size else 0, np.int64)
    merged, row_cuts = np.empty(count, np.int64), np.zeros(parts(count, ROW, most) + 1, np.int64)
    begun, ends = np.empty(size, np.int64), np.empty(size, np.int64)
    first, upper, last = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    lower = np.zeros((row_cuts.size - 1, size), np.uint32)
    halves = Halves(far, merged, begun, ends, first, upper, last, row_cuts, lower)
    side_by_side(pool, _link, (links, LinkSpace(cuts, counts, begins, far, weight), halves))
    return halves


@kept
def _link(links: ClusterEdges, space: LinkSpace, halves: Halves, barrier: Longs, rank: int, n_threads: int) -> None:
    spans, cuts, counts, begins = links.spans, space.cuts, space.counts, space.begins
    row_cuts, lower = halves.cuts, halves.lower
    i = piece(barrier)
    while i < cuts.size - 1:
        for s in range(cuts[i], cuts[i + 1]):
            _count(links.pairs, counts[i], spans[s, 0], spans[s, 1])
        i = piece(barrier)
    if not wait_all(barrier, n_threads):
        return
    if rank == 0:
        _places(counts, begins)
        for i in range(row_cuts.size - 1):
            row_cuts[i + 1] = row_range(begins[:-1], begins[-1], i, row_cuts.size - 1)[1]
        restart(barrier)
    if not wait_all(barrier, n_threads):
        return
    i = piece(barrier)
    while i < cuts.size - 1:
        for s in range(cuts[i], cuts[i + 1]):
            _spread(links, counts[i], space.far, space.weight, spans[s, 0], spans[s, 1])
        i = piece(barrier)
    if not wait_all(barrier, n_threads):
        return
    if rank == 0:
        restart(barrier)
    if not wait_all(barrier, n_threads):
        return
    spot = np.full(halves.begun.size, -1, np.int64)
    i = piece(barrier)
    while i < row_cuts.size - 1:
        _merge(space, halves, lower[i], spot, row_cuts[i], row_cuts[i + 1])
        i = piece(barrier)
    if wait_all(barrier, n_threads) and rank == 0:
        _rows(halves)


@kept
def _count(pairs: Words, counts: Words, begin: int, end: int) -> None:
    own = pairs[2 * begin : 2 * end]
    for i in range(end - begin):
        counts[min(own[2 * i], own[2 * i + 1])] += np.uint32(1)


@kept
def _places(counts: Words, begins: Longs) -> None:
    """Where each row begins, int64 (size + 1); turns `counts` into the write positions of each range of edges."""
    begins[0] = 0
    total = np.uint32(0)
    for v in range(counts.shape[1]):
        for i in range(counts.shape[0]):
            total, counts[i, v] = total + counts[i, v], total
        begins[v + 1] = total


@kept
def _spread(links: ClusterEdges, places: Words, far: Words, weight: Longs, begin: int, end: int) -> None:
    own, called, weights = links.pairs[2 * begin : 2 * end], links.names[begin:end], links.weights
    for i in range(end - begin):
        low = min(own[2 * i], own[2 * i + 1])
        place = places[low]
        places[low] = place + np.uint32(1)
        far[place] = max(own[2 * i], own[2 * i + 1])
        if weights.size:
            weight[place] = weights[called[i]]


@kept
def _merge(space: LinkSpace, halves: Halves, lower: Words, spot: Longs, begin: int, end: int) -> None:
    """Merge parallel edges in the rows of [begin, end), and store the rows contiguously, from `begun` to `ends`.

    `lower` counts how often each vertex is the higher end of a remaining edge. Old entries of `spot` are below all
    positions written here, so it needs no clearing.
    """
    begins, weight = space.begins, space.weight
    far, merged, begun, ends = halves.far, halves.merged, halves.begun, halves.ends
    kept = begins[begin]
    for v in range(begin, end):
        first = begun[v] = kept
        for i in range(begins[v], begins[v + 1]):
            u = far[i]
            if spot[u] < first:
                spot[u] = kept
                far[kept], merged[kept] = u, 0
                kept += 1
                lower[u] += np.uint32(1)
            merged[spot[u]] += weight[i] if weight.size else 1
        ends[v] = kept


@kept
def _rows(halves: Halves) -> None:
    """Where each row begins, has its first higher neighbour, and ends; `lower` becomes where each range writes."""
    begun, ends, lower = halves.begun, halves.ends, halves.lower
    first, upper, last = halves.first, halves.upper, halves.last
    total = np.int64(0)
    for v in range(ends.size):
        first[v] = total
        for i in range(lower.shape[0]):
            count = lower[i, v]
            lower[i, v] = total
            total += count
        upper[v] = total
        total += ends[v] - begun[v]
        last[v] = total


@kept
def mirror(halves: Halves, lower: Words, near: Words, edges: Longs, begin: int, end: int) -> None:
    """Both directions of the edges in the rows of [begin, end), with the `lower` of their range."""
    far, merged, begun, ends, upper = halves.far, halves.merged, halves.begun, halves.ends, halves.upper
    for v in range(begin, end):
        place = upper[v]
        for i in range(begun[v], ends[v]):
            u = far[i]
            near[place], edges[place] = u, merged[i]
            place += 1
            other = lower[u]
            near[other], edges[other] = v, merged[i]
            lower[u] = other + np.uint32(1)
