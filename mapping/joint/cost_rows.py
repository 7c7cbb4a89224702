"""The cost of each vertex in each region, kept up to date: for few regions faster than visiting its neighbours.

A move changes the rows of the neighbours by a difference of two rows of the distances, whatever their own degrees are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.partition.coarsening.edge_matching import NONE, Weighted
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats

from .core_regions import Layout, Table

REGIONS = 64  # more have no rows, nor have
ENTRIES = 1 << 25  # more than these (256 MiB)
Rows = npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def cost_rows(graph: Weighted, labels: Words, table: Table) -> Rows:
    """Σ over neighbours of weight · distance, int64 (vertices, regions); no rows where there are many. O(edges · r)."""
    r = table.shape[0]
    if r > REGIONS or labels.size * r > ENTRIES:
        return np.empty((0, 0), np.int64)
    rows = np.zeros((labels.size, r), np.int64)
    for v in range(labels.size):
        for i in range(graph.offsets[v], graph.offsets[v + 1]):
            weight, region = graph.edges[i], labels[graph.near[i]]
            for t in range(r):
                rows[v, t] += weight * np.int64(table[region, t])
    return rows


@njit(cache=True, nogil=True)
def moved_in_rows(graph: Weighted, v: Any, old: Any, new: Any, table: Table, rows: Rows) -> None:
    """Vertex v has gone from one region to another. O(degree · r)."""
    for i in range(graph.offsets[v], graph.offsets[v + np.uint32(1)]):
        u, weight = graph.near[i], graph.edges[i]
        for t in range(rows.shape[1]):
            rows[u, t] += weight * (np.int64(table[new, t]) - np.int64(table[old, t]))


@njit(cache=True, nogil=True)
def best_in_row(v: Any, own: Any, load: float, layout: Layout, held: Floats, rows: Rows) -> tuple[np.uint32, np.int64]:
    """The region with room where vertex v costs least, not its own, and what the cost falls by; NONE if there is none.

    A vertex with no neighbour in another region has no move. O(r).
    """
    now = rows[v, own]
    best, least = NONE, np.int64(2**62)
    if now == 0:
        return best, now - least
    for t in range(rows.shape[1]):
        cost = rows[v, t]
        if cost > least or t == own or held[t] + load > layout.limits[t]:
            continue
        if cost < least or held[t] < held[best]:
            best, least = np.uint32(t), cost
    return best, now - least
