"""Coarser levels of a graph, which all regions share: pairs of vertices become one, again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
from tracecut.partition.coarsening.edge_matching import NONE, Rows, Weighted, contract, number_pairs
from tracecut.partition.datastructures.shuffle import shuffle
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.lazy_kernels import kept

from .pair_up import pair_up

HEAVY = 3.0  # of a coarse vertex, over the mean of its level
ENDED = 0.9  # a level that has more than this share of the vertices of the one before is the last


def levels_of(graph: Weighted, least: int, seed: int) -> tuple[list[Weighted], list[Words]]:
    """The graph and coarser ones, down to about `least` vertices; and the coarse vertex of each vertex of a level.

    The second list has one entry less. No pair weighs more than HEAVY times the mean of a level of half the vertices.
    O(edges).
    """
    levels, coarse_of = [graph], list[Words]()
    while levels[-1].size > 2 * least:
        fine = levels[-1]
        heaviest = HEAVY * 2 * float(fine.loads.sum()) / fine.size
        coarse, names = halved(fine, heaviest, seed + len(levels))
        if coarse.size > ENDED * fine.size:
            break
        levels.append(coarse)
        coarse_of.append(names)
    return levels, coarse_of


@kept
def halved(graph: Weighted, heaviest: float, seed: Any) -> tuple[Weighted, Words]:
    """A level of about half the vertices, and the coarse vertex of each, uint32 (vertices). O(edges)."""
    offsets, near, edges, loads = graph
    n = loads.size
    order = np.arange(n).astype(np.uint32)
    shuffle(order, seed)
    mates = np.full(n, NONE, np.uint32)
    pair_up(graph, order, heaviest, mates)
    rows = Rows(offsets[:-1], offsets[1:], near, edges, loads)
    coarse, heads = np.empty(n, np.uint32), np.empty(n, np.uint32)
    sums = np.empty(n)
    count = number_pairs(rows, mates, coarse, heads, np.empty(n + 1, np.int64), sums)
    ends, weights = np.zeros(count + 1, np.int64), np.empty(near.size, np.int64)
    found = Rows(np.empty(count, np.int64), ends[1:], np.empty(near.size, np.uint32), weights, sums[:count])
    contract(rows, mates, coarse, heads, found, 0, 0, count, np.zeros(count, np.int64))
    entries = ends[count]
    return Weighted(ends, found.near[:entries], weights[:entries], sums[:count]), coarse
