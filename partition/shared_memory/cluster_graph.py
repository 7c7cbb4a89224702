"""The graph of clusters out of the edges between them, parallel ones merged, on several threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from tracecut.partition.datastructures.typed_views import Words
from tracecut.partition.parallel.barrier import meet
from tracecut.partition.parallel.ordered_pieces import MOST, parts, piece, restart, rows, side_by_side
from tracecut.partition.parallel.thread_pool import Crew
from tracecut.support.arrays import Longs

LEAST = 1 << 13  # edges of a range
ROW = 1 << 11  # entries of a range of rows


@dataclass(frozen=True, eq=False)
class Halves:
    """A graph each of whose edges stands once, in the row of its lower end.

    Attributes:
        far, merged: uint32, int64: the higher ends and the weights; row v lies in [begun[v], ends[v]).
        first, upper, last: int64 (n): where the row of each vertex with both directions begins, has its first higher
            neighbour, and ends.
        cuts: int64 (ranges + 1), ranges of rows; lower: uint32 (ranges, n), where each range writes lower neighbours.
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

    @property
    def arrays(self) -> tuple[Longs, Longs, Words, Longs, Longs, Words, Longs]:
        """What `mirror` needs."""
        return self.begun, self.ends, self.far, self.merged, self.upper, self.lower, self.cuts


def linked(pairs: Words, names: Words, spans: Longs, weights: Longs, size: int, crew: Crew) -> Halves:
    """The graph of `size` vertices with these edges, parallel ones merged.

    Args:
        pairs, names: edges between different vertices, as `inflating` hands them on.
        spans: int64 (pieces, 2): which of them there are.
        weights: int64, by name; empty means 1 each.
        size: the number of vertices.
        crew: the threads; the result does not depend on them.

    Returns:
        Rows in which neighbours come as they do in the stream. O(edges + size · threads).
    """
    count = int((spans[:, 1] - spans[:, 0]).sum())
    most = 1 if crew.threads == 1 else min(MOST, 2 * crew.threads)
    ranges = min(parts(count, LEAST, most), spans.shape[0])
    cuts = np.arange(ranges + 1) * spans.shape[0] // ranges
    counts, begins = np.zeros((ranges, size), np.uint32), np.empty(size + 1, np.int64)
    far, weight = np.empty(count, np.uint32), np.empty(count if weights.size else 0, np.int64)
    merged, row_cuts = np.empty(count, np.int64), np.zeros(parts(count, ROW, most) + 1, np.int64)
    begun, ends = np.empty(size, np.int64), np.empty(size, np.int64)
    first, upper, last = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    lower = np.zeros((row_cuts.size - 1, size), np.uint32)
    side_by_side(
        crew, _link,
        (pairs, names, spans, cuts, weights, counts, begins, far, weight, merged, row_cuts, begun, ends, first, upper,
         last, lower),
    )  # fmt: skip
    return Halves(far, merged, begun, ends, first, upper, last, row_cuts, lower)


@njit(cache=True, nogil=True)
def _link(
    pairs: Words, names: Words, spans: Longs, cuts: Longs, weights: Longs, counts: Words, begins: Longs, far: Words,
    weight: Longs, merged: Longs, row_cuts: Longs, begun: Longs, ends: Longs, first: Longs, upper: Longs, last: Longs,
    lower: Words, own: Longs, rank: int, parties: int,
) -> None:  # fmt: skip
    i = piece(own)
    while i < cuts.size - 1:
        for s in range(cuts[i], cuts[i + 1]):
            _count(pairs, counts[i], spans[s, 0], spans[s, 1])
        i = piece(own)
    if not meet(own, parties):
        return
    if rank == 0:
        _places(counts, begins)
        for i in range(row_cuts.size - 1):
            row_cuts[i + 1] = rows(begins[:-1], begins[-1], i, row_cuts.size - 1)[1]
        restart(own)
    if not meet(own, parties):
        return
    i = piece(own)
    while i < cuts.size - 1:
        for s in range(cuts[i], cuts[i + 1]):
            _spread(pairs, names, weights, counts[i], far, weight, spans[s, 0], spans[s, 1])
        i = piece(own)
    if not meet(own, parties):
        return
    if rank == 0:
        restart(own)
    if not meet(own, parties):
        return
    spot = np.full(begun.size, -1, np.int64)
    i = piece(own)
    while i < row_cuts.size - 1:
        _merge(begins, far, weight, merged, begun, ends, lower[i], spot, row_cuts[i], row_cuts[i + 1])
        i = piece(own)
    if meet(own, parties) and rank == 0:
        _rows(begun, ends, lower, first, upper, last)


@njit(cache=True, nogil=True)
def _count(pairs: Words, counts: Words, begin: int, end: int) -> None:
    own = pairs[2 * begin : 2 * end]
    for i in range(end - begin):
        counts[min(own[2 * i], own[2 * i + 1])] += np.uint32(1)


@njit(cache=True, nogil=True)
def _places(counts: Words, begins: Longs) -> None:
    """Where each row begins, int64 (size + 1); `counts` becomes where each range of edges writes."""
    begins[0] = 0
    total = np.uint32(0)
    for v in range(counts.shape[1]):
        for i in range(counts.shape[0]):
            total, counts[i, v] = total + counts[i, v], total
        begins[v + 1] = total


@njit(cache=True, nogil=True)
def _spread(
    pairs: Words, names: Words, weights: Longs, places: Words, far: Words, weight: Longs, begin: int, end: int
) -> None:
    own, called = pairs[2 * begin : 2 * end], names[begin:end]
    for i in range(end - begin):
        low = min(own[2 * i], own[2 * i + 1])
        place = places[low]
        places[low] = place + np.uint32(1)
        far[place] = max(own[2 * i], own[2 * i + 1])
        if weights.size:
            weight[place] = weights[called[i]]


@njit(cache=True, nogil=True)
def _merge(
    begins: Longs, far: Words, weight: Longs, merged: Longs, begun: Longs, ends: Longs, lower: Words, spot: Longs,
    begin: int, end: int,
) -> None:  # fmt: skip
    """The rows of [begin, end) without parallel edges, one right after the other, from `begun` to `ends`.

    `lower` counts how often each vertex is the higher end of what is left. `spot` is below what is written here.
    """
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


@njit(cache=True, nogil=True)
def _rows(begun: Longs, ends: Longs, lower: Words, first: Longs, upper: Longs, last: Longs) -> None:
    """Where each row begins, has its first higher neighbour, and ends; `lower` becomes where each range writes."""
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


@njit(cache=True, nogil=True)
def mirror(
    begun: Longs, ends: Longs, far: Words, merged: Longs, upper: Longs, lower: Words, near: Words, edges: Longs,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Both directions of the edges in the rows of [begin, end)."""
    for v in range(begin, end):
        place = upper[v]
        for i in range(begun[v], ends[v]):
            u = far[i]
            near[place], edges[place] = u, merged[i]
            place += 1
            other = lower[u]
            near[other], edges[other] = v, merged[i]
            lower[u] = other + np.uint32(1)
