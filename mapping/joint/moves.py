"""The gain of moving a vertex to another region, and the best move of a vertex."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tracecut.partition.coarsening.edge_matching import NONE, Weighted
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

from .core_regions import Layout

FEW = 16  # regions around a vertex up to which those next to them are tried, too


class Scratch(NamedTuple):
    """Room for the regions around one vertex.

    Attributes:
        ties: int64 (r), weight of the edges to each, 0 between calls.
        around: uint32 (r), the regions with such edges.
        tried: int64 (r + 1), the call in which each was tried last; at the end the number of calls.
    """

    ties: Longs
    around: Words
    tried: Longs


def scratch(regions: int) -> Scratch:
    return Scratch(np.zeros(regions, np.int64), np.empty(regions, np.uint32), np.zeros(regions + 1, np.int64))


@kept
def best_move(
    graph: Weighted, labels: Words, v: Any, layout: Layout, held: Floats, work: Scratch, inside: bool
) -> tuple[np.uint32, np.int64]:
    """The region with room where vertex v costs least, not its own, and what the cost falls by; NONE if there is none.

    Tried are the regions of its neighbours and those next to them. A vertex with no neighbour in another region has no
    move, unless `inside`. O(degree + (regions around)²).
    """
    offsets, near, edges, loads = graph
    table, first, nearest, limits = layout
    ties, around, tried = work
    own = labels[v]
    count = 0
    for i in range(offsets[v], offsets[v + 1]):
        region = labels[near[i]]
        if ties[region] == 0:
            around[count] = region
            count += 1
        ties[region] += edges[i]
    best, least = NONE, np.int64(2**62)
    if inside or count > 1 or (count == 1 and around[0] != own):
        tried[-1] += 1
        now = tried[-1]
        tried[own] = now
        load = loads[v]
        for j in range(-1, count):
            if j < 0 and not inside:
                continue
            centre = own if j < 0 else around[j]
            end = first[centre + np.uint32(1)] if count <= FEW else first[centre]
            for i in range(first[centre] - 1, end):
                region = centre if i < first[centre] else nearest[i]
                if tried[region] == now:
                    continue
                tried[region] = now
                if held[region] + load > limits[region]:
                    continue
                cost = np.int64(0)
                for m in range(count):
                    cost += ties[around[m]] * np.int64(table[region, around[m]])
                    if cost > least:
                        break
                if cost < least or (cost == least and held[region] < held[best]):
                    best, least = region, cost
    gain = np.int64(0)
    for m in range(count):
        gain += ties[around[m]] * np.int64(table[own, around[m]])
        ties[around[m]] = 0
    return best, gain - least


@kept
def relieve(graph: Weighted, labels: Words, layout: Layout, held: Floats, work: Scratch) -> None:
    """Moves vertices out of regions that hold more than their limit, those first that lose least for their load.

    Where no region near has room, the nearest that has takes them. What still is over its limit has only vertices that
    fit nowhere. O(rounds · (edges of the vertices of these regions + regions)).
    """
    limits = layout.limits
    for _ in range(8):
        over = np.zeros(limits.size, np.bool_)
        some = False
        for region in range(limits.size):
            over[region] = held[region] > limits[region]
            some |= over[region]
        if not some:
            return
        members = np.empty(graph.loads.size, np.uint32)
        worth = np.empty(graph.loads.size)
        count = 0
        for v in range(graph.loads.size):
            if over[labels[v]] and graph.loads[v] > 0.0:
                to, gain = best_move(graph, labels, v, layout, held, work, True)
                members[count] = v
                worth[count] = -float(gain) / graph.loads[v] if to != NONE else 1e300
                count += 1
        moved = False
        for place in np.argsort(worth[:count], kind="mergesort"):
            v = members[place]
            own = labels[v]
            if held[own] <= limits[own]:
                continue
            to, _ = best_move(graph, labels, np.int64(v), layout, held, work, True)
            if to == NONE:
                near = np.int64(2**62)
                for region in range(limits.size):
                    if held[region] + graph.loads[v] <= limits[region] and layout.table[own, region] < near:
                        to, near = np.uint32(region), np.int64(layout.table[own, region])
            if to != NONE and to != own:
                held[own] -= graph.loads[v]
                held[to] += graph.loads[v]
                labels[v] = to
                moved = True
        if not moved:
            return
