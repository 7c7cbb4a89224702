"""Each region of a level cut in two: grown from several vertices, refined, with what lies around it in view."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from tracecut.partition.coarsening.edge_matching import NONE, Weighted
from tracecut.partition.datastructures.shuffle import mixed
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Bytes, Floats, Longs

from .core_regions import Layout, Table
from .vertex_heap import Heap, put, take

TRIES = 6  # growths of each region
ROUNDS = 6  # of refinement of each, at most


@njit(cache=True, nogil=True)
def split(
    graph: Weighted, old: Words, parent: Longs, layout: Layout, shares: Floats, seed: int, found: Heap
) -> tuple[Words, Floats]:
    """Labels of the stage below, and what each region then holds.

    Args:
        graph: the level. old: uint32 (vertices), regions of the stage above.
        parent: int64 (regions), of each region of the stage below; siblings follow each other, one or two.
        layout: the regions of the stage below.
        shares: float64 (regions), what each should hold.
        seed: of the vertices that growth starts from.
        found: an empty heap, empty again in the end.

    Each of the two halves is grown until it has its share, by the gain of every vertex: what it has in common with the
    half, against what it has with the rest and with the regions outside, each counted by its distance. O(edges ·
    tries · log).
    """
    n, count = graph.loads.size, parent.size
    above = np.int64(parent[-1]) + 1
    kids = np.zeros(above + 1, np.int64)
    for region in range(count):
        kids[parent[region] + 1] = region + 1
    starts = np.zeros(above + 1, np.int64)
    for v in range(n):
        starts[old[v] + np.uint32(1)] += 1
    for region in range(above):
        starts[region + 1] += starts[region]
    members, place = np.empty(n, np.uint32), starts[:above].copy()
    for v in range(n):
        members[place[old[v]]] = v
        place[old[v]] += 1
    new = np.full(n, NONE, np.uint32)
    held = np.zeros(count)
    state = mixed(np.uint64(seed))
    side, best_side = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    bias = np.zeros(n, np.int64)
    for region in range(above):
        one, other = kids[region], kids[region + 1] - 1
        mine = members[starts[region] : starts[region + 1]]
        if one == other or mine.size == 0:
            for v in mine:
                new[v] = one
                held[one] += graph.loads[v]
            continue
        _biases(graph, old, new, kids, layout.table, mine, one, other, bias)
        load, heaviest = 0.0, 0.0
        for v in mine:
            load += graph.loads[v]
            heaviest = max(heaviest, graph.loads[v])
        wanted = load * shares[one] / (shares[one] + shares[other])
        slack = max(0.02 * min(wanted, load - wanted), 0.75 * heaviest)
        least: Any = np.int64(2**62)
        off = 0.0
        for attempt in range(TRIES):
            state = mixed(state)
            start = mine[np.int64(state % np.uint64(mine.size))]
            if attempt == 0:
                for v in mine:
                    if bias[v] < bias[start]:
                        start = v
            cost, miss = _grow(
                graph, old, mine, bias, np.int64(layout.table[one, other]), start, wanted, slack, side, found
            )
            better = miss < off if abs(miss - off) > slack and max(miss, off) > slack else cost < least
            if attempt == 0 or better:
                least, off = cost, miss
                for v in mine:
                    best_side[v] = side[v]
        for v in mine:
            new[v] = one if best_side[v] else other
            held[new[v]] += graph.loads[v]
    return new, held


@njit(cache=True, nogil=True)
def _biases(
    graph: Weighted, old: Words, new: Words, kids: Longs, table: Table, mine: Words, one: int, other: int, bias: Longs
) -> None:
    """What each vertex of a region pays for its neighbours outside in half `one`, less what it pays in the other."""
    for v in mine:
        total = np.int64(0)
        for i in range(graph.offsets[v], graph.offsets[v + np.uint32(1)]):
            u = graph.near[i]
            if old[u] == old[v]:
                continue
            if new[u] != NONE:
                total += graph.edges[i] * (np.int64(table[one, new[u]]) - np.int64(table[other, new[u]]))
            else:
                first, last = kids[old[u]], kids[old[u] + np.uint32(1)] - 1
                gap = np.int64(table[one, first]) + np.int64(table[one, last])
                gap -= np.int64(table[other, first]) + np.int64(table[other, last])
                total += graph.edges[i] * gap // 2
        bias[v] = total


@njit(cache=True, nogil=True)
def _grow(
    graph: Weighted,
    old: Words,
    mine: Words,
    bias: Longs,
    apart: Any,
    start: np.uint32,
    wanted: float,
    slack: float,
    side: Bytes,
    found: Heap,
) -> tuple[Any, float]:
    """Side 1 of the vertices of a region, written into `side`; its cost and how far its load is from `wanted`."""
    offsets, near, edges, loads = graph
    for v in mine:
        side[v] = 0
    grown, next_free = 0.0, 0
    v = start
    while grown < wanted:
        if grown + loads[v] - wanted > wanted - grown and grown > 0.0:
            break
        side[v] = 1
        grown += loads[v]
        take(found, v)
        for i in range(offsets[v], offsets[v + np.uint32(1)]):
            u = near[i]
            if old[u] == old[v] and side[u] == 0:
                if found.places[u] == NONE:
                    put(found, u, _gain(graph, old, bias, apart, u, side))
                else:
                    put(found, u, found.gains[u] + 2 * apart * edges[i])
        if found.size[0] > 0:
            v = found.vertices[0]
            continue
        while next_free < mine.size and side[mine[next_free]] == 1:
            next_free += 1
        if next_free == mine.size:
            break
        v = mine[next_free]
    while found.size[0] > 0:
        take(found, found.vertices[0])
    return _refine(graph, old, mine, bias, apart, grown, wanted, slack, side, found)


@njit(cache=True, nogil=True)
def _gain(graph: Weighted, old: Words, bias: Longs, apart: int, v: np.uint32, side: Bytes) -> np.int64:
    """What it saves to bring a vertex to the other side."""
    total = np.int64(0)
    for i in range(graph.offsets[v], graph.offsets[v + np.uint32(1)]):
        u = graph.near[i]
        if old[u] == old[v]:
            total += -graph.edges[i] if side[u] == side[v] else graph.edges[i]
    return apart * total + (bias[v] if side[v] else -bias[v])


@njit(cache=True, nogil=True)
def _refine(
    graph: Weighted,
    old: Words,
    mine: Words,
    bias: Longs,
    apart: Any,
    grown: float,
    wanted: float,
    slack: float,
    side: Bytes,
    found: Heap,
) -> tuple[Any, float]:
    """Rounds of Fiduccia and Mattheyses on the two sides: each takes the best prefix of a sequence of best moves."""
    offsets, near, edges, loads = graph
    trail = np.empty(mine.size, np.uint32)
    patience = 25 + mine.size // 4
    for _ in range(ROUNDS):
        heaviest = 0.0
        for v in mine:
            put(found, v, _gain(graph, old, bias, apart, v, side))
            heaviest = max(heaviest, loads[v])
        now, best, kept, count, idle = np.int64(0), np.int64(0), 0, 0, 0
        off = abs(grown - wanted)
        while found.size[0] > 0 and idle < patience:
            v = found.vertices[0]
            take(found, v)
            change = -loads[v] if side[v] else loads[v]
            miss = abs(grown + change - wanted)
            if miss > max(slack, heaviest) and miss > abs(grown - wanted):
                continue
            now += found.gains[v]
            side[v] = 1 - side[v]
            grown += change
            trail[count] = v
            count += 1
            idle += 1
            fits, better = miss <= max(slack, 0.5 * heaviest), miss < off
            if (now > best and (fits or better)) or (now == best and better):
                best, kept, idle, off = now, count, 0, miss
            for i in range(offsets[v], offsets[v + np.uint32(1)]):
                u = near[i]
                if found.places[u] != NONE:
                    step = 2 * apart * edges[i]
                    put(found, u, found.gains[u] + (-step if side[u] == side[v] else step))
        while found.size[0] > 0:
            take(found, found.vertices[found.size[0] - 1])
        for step in range(count - 1, kept - 1, -1):
            v = trail[step]
            grown += -loads[v] if side[v] else loads[v]
            side[v] = 1 - side[v]
        if kept == 0:
            break
    total = np.int64(0)
    for v in mine:
        if side[v]:
            total += bias[v]
        for i in range(offsets[v], offsets[v + np.uint32(1)]):
            if old[near[i]] == old[v] and side[near[i]] != side[v] and side[v]:
                total += apart * edges[i]
    return total, abs(grown - wanted)
