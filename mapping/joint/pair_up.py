"""Pairs of vertices that become one on a coarser level: along heavy edges, then beside a common neighbour."""

from __future__ import annotations

import numpy as np
from tracecut.partition.coarsening.edge_matching import LIGHT, NONE, Weighted
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.lazy_kernels import kept


@kept
def pair_up(graph: Weighted, order: Words, heaviest: float, mates: Words) -> None:
    """Mates of vertices, an involution, written into `mates`, which is NONE everywhere.

    In `order`, each chooses the free neighbour of most weight² over its load. What is left is paired with what is left
    beside the same neighbour, as leaves of a hub are, and vertices without a neighbour with each other. No pair weighs
    more than `heaviest`. O(edges).
    """
    offsets, near, edges, loads = graph
    for v in order:
        if mates[v] != NONE:
            continue
        best, most = NONE, 0.0
        for i in range(offsets[v], offsets[v + np.uint32(1)]):
            u = near[i]
            if mates[u] != NONE or loads[u] + loads[v] > heaviest:
                continue
            value = float(edges[i]) * float(edges[i]) / max(loads[u], LIGHT)
            if value > most:
                best, most = u, value
        if best != NONE:
            mates[v] = best
            mates[best] = v
    waiting = np.full(loads.size + 1, NONE, np.uint32)
    for v in order:
        if mates[v] != NONE:
            continue
        mates[v] = v
        best, heavy = np.uint32(loads.size), np.int64(0)
        for i in range(offsets[v], offsets[v + np.uint32(1)]):
            if edges[i] > heavy:
                best, heavy = near[i], edges[i]
        other = waiting[best]
        if other == NONE:
            waiting[best] = v
        elif loads[other] + loads[v] <= heaviest:
            mates[v] = other
            mates[other] = v
            waiting[best] = NONE
        else:
            waiting[best] = v
