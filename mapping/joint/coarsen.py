"""Coarser levels of a weighted graph, for mapping: heavy edges, then vertices of a common neighbour, become one."""

from __future__ import annotations

import numpy as np
from numba import njit
from tracecut.partition.coarsening.edge_matching import LIGHT, NONE, Weighted, contracted
from tracecut.partition.datastructures.shuffle import shuffle
from tracecut.partition.datastructures.typed_views import Words
from tracecut.partition.parallel.thread_pool import ThreadPool

LEAST_STEP = 0.95  # a step that leaves more of the vertices is the last
HEAVIEST = 2.5  # of a mean coarse vertex: what a pair may weigh


def coarsened(
    graph: Weighted, labels: Words, least: int, heaviest: float, seed: int, pool: ThreadPool
) -> tuple[list[Weighted], list[Words]]:
    """Levels of a graph, the finest first, and the coarse vertex of each vertex of all but the last.

    Args:
        graph: the finest level.
        labels: uint32 (vertices), only vertices of one label are joined; none for no such bound.
        least: number of vertices at which coarsening ends.
        heaviest: load that no coarse vertex exceeds.
        seed: of the order in which vertices choose.
        pool: the threads; the result does not depend on them.

    O(edges · levels), of which each has about half of the one before.
    """
    levels, maps = [graph], []
    total = float(graph.loads.sum())
    while levels[-1].size > least:
        fine = levels[-1]
        order = np.arange(fine.size, dtype=np.uint32)
        shuffle(order, seed + len(levels))
        mates = np.full(fine.size, NONE, np.uint32)
        most = min(heaviest, max(HEAVIEST * total / max(1, fine.size // 2), 0.0))
        pair_up(fine, labels, order, most, mates)
        coarse, names = contracted(fine, mates, pool)
        if coarse.size > LEAST_STEP * fine.size:
            break
        if labels.size:
            kept = np.empty(coarse.size, np.uint32)
            kept[names] = labels
            labels = kept
        levels.append(coarse)
        maps.append(names)
    return levels, maps


@njit(cache=True, nogil=True)
def pair_up(graph: Weighted, labels: Words, order: Words, heaviest: float, mates: Words) -> None:
    """Mates of vertices, an involution, written into `mates`, which is NONE everywhere.

    In `order`, each chooses the free neighbour of most weight² over its load. What is left is paired with what is left
    beside the same neighbour, as leaves of a hub are, and vertices without a neighbour with each other. O(edges).
    """
    offsets, near, edges, loads = graph
    waiting = np.full(loads.size + 1, NONE, np.uint32)
    for v in order:
        if mates[v] != NONE:
            continue
        best, most = NONE, 0.0
        for i in range(offsets[v], offsets[v + np.uint32(1)]):
            u = near[i]
            if mates[u] != NONE or loads[u] + loads[v] > heaviest or (labels.size and labels[u] != labels[v]):
                continue
            value = float(edges[i]) * float(edges[i]) / max(loads[u], LIGHT)
            if value > most:
                best, most = u, value
        if best != NONE:
            mates[v] = best
            mates[best] = v
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
        elif loads[other] + loads[v] <= heaviest and (labels.size == 0 or labels[other] == labels[v]):
            mates[v] = other
            mates[other] = v
            waiting[best] = NONE
        else:
            waiting[best] = v
