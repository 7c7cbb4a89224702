"""Bisects the regions one after the other, taking neighbouring regions into account."""

from __future__ import annotations

from typing import Any

import numpy as np
from tracecut.partition.coarsening.edge_matching import NONE, Weighted
from tracecut.partition.datastructures.shuffle import mixed
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

from .bisect import Part, bisected
from .core_regions import Table
from .vertex_heap import heap_of


@kept
def split(
    graph: Weighted, old: Words, parent: Longs, table: Table, shares: Floats, limits: Floats, seed: int, repeats: int
) -> Words:
    """Regions of the stage below, uint32 (vertices).

    Args:
        graph: the graph. old: uint32 (vertices), regions of the stage above.
        parent: int64 (regions), of each region of the stage below; siblings follow each other, one or two.
        table: int32 (regions, regions), distances at the stage below.
        shares, limits: float64 (regions), what each should hold, and the most that it may.
        repeats: runs of the bisection of a region, of which the best is kept.

    A vertex pays for its neighbours outside of its region by their distances from both halves; where such a neighbour's
    region is not cut yet, by the mean over its halves. O(edges · repeats · log).
    """
    n, count = graph.loads.size, parent.size
    above = np.int64(parent[-1]) + 1
    kids = np.zeros(above + 1, np.int64)
    for region in range(count):
        kids[parent[region] + 1] = region + 1
    starts, members, local = _members(old, above)
    new = np.full(n, NONE, np.uint32)
    zero, one = heap_of(n), heap_of(n)
    state = mixed(np.uint64(seed))
    for region in range(above):
        first, other = kids[region], kids[region + 1] - 1
        mine = members[starts[region] : starts[region + 1]]
        if first == other:
            for v in mine:
                new[v] = first
            continue
        if mine.size == 0:
            continue
        part = _part(graph, old, new, kids, table, mine, local, first, other)
        load = part.loads.sum()
        wanted = load * shares[other] / (shares[first] + shares[other])
        state = mixed(state)
        side = bisected(part, wanted, limits[first : other + 1], np.int64(state >> np.uint64(33)), repeats, zero, one)
        for place in range(mine.size):
            new[mine[place]] = other if side[place] else first
    return new


@kept
def _members(old: Words, regions: Any) -> tuple[Longs, Words, Words]:
    """Where the vertices of each region begin, the vertices, and the place of each within its region."""
    starts = np.zeros(regions + 1, np.int64)
    for region in old:
        starts[region + np.uint32(1)] += 1
    for region in range(regions):
        starts[region + 1] += starts[region]
    members, local, count = np.empty(old.size, np.uint32), np.empty(old.size, np.uint32), np.zeros(regions, np.int64)
    for v in range(old.size):
        local[v] = count[old[v]]
        members[starts[old[v]] + count[old[v]]] = v
        count[old[v]] += 1
    return starts, members, local


@kept
def _part(
    graph: Weighted, old: Words, new: Words, kids: Longs, table: Table, mine: Words, local: Words, one: Any, other: Any
) -> Part:
    """A region by itself: edges cost their weight times the distance of the halves, ties to the outside are biases."""
    offsets, near, edges, loads = graph
    most = 0
    for v in mine:
        most += offsets[v + np.uint32(1)] - offsets[v]
    apart = np.int64(table[one, other])
    begins, inside, costs = np.zeros(mine.size + 1, np.int64), np.empty(most, np.uint32), np.empty(most, np.int64)
    weights, bias = np.empty(mine.size), np.zeros(mine.size, np.int64)
    count = 0
    for place in range(mine.size):
        v = mine[place]
        region, total = old[v], np.int64(0)
        for i in range(offsets[v], offsets[v + np.uint32(1)]):
            u = near[i]
            if old[u] == region:
                inside[count], costs[count] = local[u], apart * edges[i]
                count += 1
            elif new[u] != NONE:
                total += edges[i] * (np.int64(table[other, new[u]]) - np.int64(table[one, new[u]]))
            else:
                first, last = kids[old[u]], kids[old[u] + np.uint32(1)] - 1
                gap = np.int64(table[other, first]) + np.int64(table[other, last])
                gap -= np.int64(table[one, first]) + np.int64(table[one, last])
                total += edges[i] * gap // 2
        begins[place + 1], weights[place], bias[place] = count, loads[v], total
    return Part(begins, inside[:count], costs[:count], weights, bias)
