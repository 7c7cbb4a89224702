"""Inflation in one look at every edge: small connected clusters, and the graph that they make."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from ..ir.arrays import Floats, Longs
from .bits import prefetch_row
from .views import Words

NONE = np.uint32(0xFFFFFFFF)
SOON = 8  # starts of clusters, of which one in several is free, whose rows are asked for before they are read
LINE = np.uint64(0)


@njit(cache=True, nogil=True)
def inflate(
    offsets: Longs, near: Words, edges: Longs, loads: Floats, most: float, groups: Words, order: Words
) -> tuple[Longs, Floats, Longs, Words, Longs]:
    """Breadth-first clusters of a load of about `most`, each started at the border of those before it.

    A vertex is claimed when it is first seen, and its row is read once, after it was claimed: a full cluster reads the
    rest of its queue for the edges alone. The edge to a vertex of an earlier cluster is met when the later end is read,
    so that every edge between clusters is counted exactly once.

    Args:
        offsets, near, edges: the graph, as `matching.Weighted`; empty `edges` mean a weight of 1 each.
        loads: float64 (n); empty means 1 each.
        most: load from which a cluster claims nothing more.
        groups: uint32 (n), overwritten with the cluster of each vertex.
        order: uint32 (n), overwritten with the vertices, cluster by cluster.

    Returns:
        int64 (clusters + 1), where each cluster starts in `order`; float64 (clusters) loads; and the links to earlier
        clusters: int64 (clusters + 1) where those of each cluster start, uint32 which, int64 their weights. O(edges).
    """
    n = groups.size
    count, queue, links = 0, 0, 0
    starts, held, tails = np.empty(1024, np.int64), np.empty(1024), np.zeros(1024, np.int64)
    other, weight, spot = np.empty(8192, np.uint32), np.empty(8192, np.int64), np.zeros(1024, np.int64)
    fronts = np.empty(8192, np.uint32)
    first_front, last_front = 0, 0
    seed = 0
    for v in range(n):
        groups[v] = NONE
    while queue < n:
        start = NONE
        while first_front < last_front and start == NONE:
            if groups[fronts[first_front]] == NONE:
                start = fronts[first_front]
            first_front += 1
        if start == NONE:
            first_front = last_front = 0
            while groups[seed] != NONE:
                seed += 1
            start = np.uint32(seed)
        if count + 1 == starts.size:
            starts, held, tails, spot = _twice(starts), _twice(held), _twice(tails), _twice(spot)
        starts[count] = queue
        groups[start] = count
        order[queue] = start
        load = loads[start] if loads.size else 1.0
        head, tail, fetched = queue, queue + 1, queue + 1
        if first_front + SOON < last_front:
            prefetch_row(offsets, np.uint64(fronts[first_front + SOON]), LINE)
        if first_front + SOON // 2 < last_front:
            prefetch_row(near, np.uint64(offsets[fronts[first_front + SOON // 2]]), LINE)
        while head < tail:
            v = order[head]
            while fetched < tail:  # their row ends were asked for when they were claimed
                prefetch_row(near, np.uint64(offsets[order[fetched]]), LINE)
                fetched += 1
            head += 1
            begin, end = offsets[v], offsets[v + np.uint32(1)]
            if load >= most and last_front + end - begin > fronts.size:
                fronts = _twice(fronts)
            for i in range(begin, end):
                u = near[i]
                group = groups[u]
                if group == NONE:
                    if load < most:
                        groups[u] = count
                        order[tail] = u
                        prefetch_row(offsets, np.uint64(u), LINE)
                        tail += 1
                        load += loads[u] if loads.size else 1.0
                    elif last_front < fronts.size:
                        fronts[last_front] = u
                        last_front += 1
                elif group != count:
                    place = spot[group]
                    if place < tails[count] or place >= links or other[place] != group:
                        if links == other.size:
                            other, weight = _twice(other), _twice(weight)
                        place = links
                        spot[group] = place
                        other[place], weight[place] = group, 0
                        links += 1
                    weight[place] += edges[i] if edges.size else 1
        queue = tail
        held[count] = load
        count += 1
        tails[count] = links
    starts[count] = n
    return (
        starts[: count + 1].copy(), held[:count].copy(), tails[: count + 1].copy(), other[:links].copy(),
        weight[:links].copy(),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _twice(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    larger = np.zeros(2 * values.size, values.dtype)
    larger[: values.size] = values
    return larger
