"""Inflation along a stream of edges: small clusters, and the edges between them, in one look at each edge."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..ir.arrays import Floats
from .bits import prefetch_row
from .views import Words

NONE = np.uint32(0xFFFFFFFF)
AHEAD = 16  # edges between asking for a label and reading it
LINE = np.uint64(0)


@njit(cache=True, nogil=True)
def claim(
    pairs: Words, count: int, names: Words, loads: Floats, most: float, wide: bool, groups: Words, held: Floats,
    out: Words, out_names: Words,
) -> tuple[int, int]:  # fmt: skip
    """Clusters of a load up to `most`, grown edge by edge in the order of the stream.

    An edge founds a cluster of its two ends if both are free. A free end joins the cluster of the other one while that
    has room, and else founds one of its own. So after an edge both its ends have their cluster for good, and an edge
    between two clusters is handed on at once. Vertices without edges are gathered last, in their order.

    Args:
        pairs: uint32 (2 · count at least), the ends of edge i at 2 i and 2 i + 1; loops are passed over.
        names: uint32 (count), what the edges are called; empty means by their place.
        loads: float64 (n); empty means 1 each.
        most: a vertex of more load stands alone.
        wide: whether first ends, too, are mostly far from those before; a matter of speed alone.
        groups: uint32 (n), overwritten with the cluster of each vertex.
        held: float64 (n), whose first entries are overwritten with the loads of the clusters.
        out, out_names: uint32 (2 · count), (count), overwritten with the clusters and the names of edges handed on;
            they may be the memory of `pairs` and `names`, which are read before.

    Returns:
        The number of clusters, and of edges handed on. O(edges + n).
    """
    found, links, named = np.uint32(0), 0, 0
    even, unnamed = loads.size == 0, names.size == 0
    for v in range(groups.size):
        groups[v] = NONE
    for i in range(count):
        if i + AHEAD < count:
            prefetch_row(groups, np.uint64(pairs[2 * (i + AHEAD) + 1]), LINE)
            if wide:
                prefetch_row(groups, np.uint64(pairs[2 * (i + AHEAD)]), LINE)
        u, v = pairs[2 * i], pairs[2 * i + 1]
        a, b = groups[u], groups[v]
        if a == NONE or b == NONE:
            if u == v:
                continue
            if a == NONE and b == NONE:
                a = found
                found += np.uint32(1)
                groups[u], held[a] = a, 1.0 if even else loads[u]
                named += 1
            free, other = (v, a) if b == NONE else (u, b)
            load = 1.0 if even else loads[free]
            named += 1
            if held[other] + load <= most:
                groups[free] = other
                held[other] += load
                continue
            groups[free], held[found] = found, load
            a, b = other, found
            found += np.uint32(1)
        # Written in any case, and kept where the clusters differ: this is no branch to predict.
        out[2 * links], out[2 * links + 1] = a, b
        out_names[links] = i if unnamed else names[i]
        links += a != b
    last = NONE
    for v in range(groups.size if named < groups.size else 0):
        if groups[v] == NONE:
            load = 1.0 if even else loads[v]
            if last == NONE or held[last] + load > most:
                last = found
                found += np.uint32(1)
                held[last] = 0.0
            groups[v] = last
            held[last] += load
    return int(found), links


@njit(cache=True, nogil=True)
def relabel(groups: Words, labels: Words, begin: int, end: int) -> None:
    """Overwrite the cluster of each vertex of [begin, end) with the label of the cluster."""
    own = groups[begin:end]
    for v in range(own.size):
        own[v] = labels[own[v]]
