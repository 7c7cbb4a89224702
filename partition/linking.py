"""The graph of clusters out of the edges between them, parallel ones merged, on several threads."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..ir.arrays import Longs
from .crew import Crew
from .joining import ranges
from .views import Words, longs, words

PIECES = 4  # ranges of edges, each with a count of its own for every cluster
LEAST = 1 << 15  # edges of a range


def pieces(count: int) -> list[tuple[int, int]]:
    """`count` edges in a few contiguous ranges, whose number depends on `count` alone."""
    parts = max(1, min(PIECES, count // LEAST))
    return [(count * i // parts, count * (i + 1) // parts) for i in range(parts)]


def linked(pairs: Words, names: Words, weights: Longs, size: int, crew: Crew) -> tuple[Longs, Longs, Words, Longs]:
    """The graph of `size` vertices with these edges, parallel ones merged.

    Args:
        pairs, names: edges between different vertices, as `inflating.claim` hands them on.
        weights: int64, by name; empty means 1 each.
        size: the number of vertices.
        crew: the threads; the result does not depend on them.

    Returns:
        `first`, `last`, `near` and `edges` of `joining.Rows`: in each row first the neighbours before its vertex,
        rising, then those after it, as they come. O(edges + size · ranges).
    """
    spans = pieces(names.size)
    counts = np.zeros((len(spans), size), np.uint32)
    crew.each(_count, [(pairs, counts[i], *span) for i, span in enumerate(spans)])
    begins = _places(counts)
    count = int(begins[-1])
    far, weight = np.empty(count, np.uint32), np.empty(count if weights.size else 0, np.int64)
    crew.each(_spread, [(pairs, names, weights, counts[i], far, weight, *span) for i, span in enumerate(spans)])
    # Each edge once, in the row of its lower end. Parallel ones are merged, row by row.
    parts = ranges(begins[:-1], count, PIECES)
    merged, begun, ends = np.empty(count, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    lower = np.zeros((len(parts), size), np.uint32)
    crew.each(_merge, [(begins, far, weight, merged, begun, ends, lower[i], *part) for i, part in enumerate(parts)])
    first, upper, last = _rows(begun, ends, lower)
    near, edges = np.empty(int(last[-1]) if size else 0, np.uint32), np.empty(int(last[-1]) if size else 0, np.int64)
    crew.each(
        _mirror, [(begun, ends, far, merged, upper, lower[i], near, edges, *part) for i, part in enumerate(parts)]
    )
    return longs(first), longs(last), words(near), longs(edges)


@njit(cache=True, nogil=True)
def _count(pairs: Words, counts: Words, begin: int, end: int) -> None:
    own = pairs[2 * begin : 2 * end]
    for i in range(end - begin):
        counts[min(own[2 * i], own[2 * i + 1])] += np.uint32(1)


@njit(cache=True, nogil=True)
def _places(counts: Words) -> Longs:
    """Where each row begins, int64 (size + 1); `counts` becomes where each range of edges writes."""
    begins = np.zeros(counts.shape[1] + 1, np.int64)
    total = np.uint32(0)
    for v in range(counts.shape[1]):
        for i in range(counts.shape[0]):
            total, counts[i, v] = total + counts[i, v], total
        begins[v + 1] = total
    return begins


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
    begins: Longs, far: Words, weight: Longs, merged: Longs, begun: Longs, ends: Longs, lower: Words,
    begin: int, end: int,
) -> None:  # fmt: skip
    """The rows of [begin, end) without parallel edges, one right after the other, from `begun` to `ends`.

    `lower` counts how often each vertex is the higher end of what is left.
    """
    spot = np.full(lower.size, -1, np.int64)
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
def _rows(begun: Longs, ends: Longs, lower: Words) -> tuple[Longs, Longs, Longs]:
    """Where each row begins, has its first higher neighbour, and ends; `lower` becomes where each range writes."""
    size = ends.size
    first, upper, last = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    total = np.int64(0)
    for v in range(size):
        first[v] = total
        for i in range(lower.shape[0]):
            count = lower[i, v]
            lower[i, v] = total
            total += count
        upper[v] = total
        total += ends[v] - begun[v]
        last[v] = total
    return first, upper, last


@njit(cache=True, nogil=True)
def _mirror(
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
