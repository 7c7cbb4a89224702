"""ParCubed made deterministic: inflate once, join and fold on the graph of clusters, a few passes over the border."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..ir.arrays import Floats, Ints, Longs
from ..ir.graph import LocalityGraph
from .crew import Crew
from .expand import PlainGraph, data_graph
from .filling import fill_empty
from .growing import grow, improve
from .inflating import inflate
from .loads import capacities, equal_targets
from .matching import Weighted, halved
from .views import Words, floats, longs, words

PIECES = 64  # clusters a part at least, to balance with
LARGEST = 16  # vertices of a cluster, about: parts made of larger ones have rough borders
COARSEST = 10  # vertices a part on the coarsest graph of clusters
FINAL = 3  # passes over the vertices at borders
SWEEPS = 6  # over the graph of clusters, on each level


def parcubed_det(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    threads: int | None = None,
) -> Ints:
    """ParCubed's phases, each the better way: exactly k parts, balanced, the same labels for any number of threads.

    Inflate: breadth-first clusters of up to 16 vertices, each begun at the border of those before, and the graph
    of clusters, all in one look at each edge. Join: clusters are matched along heavy edges, level by level. Fold: parts
    grow over what is left, by adjacency instead of by size, and greedy moves improve them on every level. Last,
    greedy passes over the vertices of clusters at a border.

    Args:
        graph: the locality graph; `expand.data_graph` says how jobs of many data are modelled.
        k: number of clusters.
        weights: float64 (data), positive; None means 1 each.
        targets: float64 (k), shares summing to 1; None means equal.
        balance: largest load of a cluster over its target.
        threads: threads at most; the labels do not depend on it.

    Returns:
        int32 (data), labels in [0, k); no cluster is empty when k ≤ data. O(pins).

    Source: ParCubed §2 and the improvement that its §2.3 suggests.
    """
    loads = np.ones(graph.n_data) if weights is None else weights
    shares = equal_targets(k) if targets is None else targets
    if k == 1 or graph.n_data <= k:
        return np.arange(graph.n_data, dtype=np.int32) % np.int32(k)
    with Crew(threads, graph.n_data) as crew:
        return split(data_graph(graph), k, loads, shares, balance, crew)


def split(plain: PlainGraph, k: int, loads: Floats, shares: Floats, balance: float, crew: Crew) -> Ints:
    """`parcubed_det` on a graph of more vertices than parts; int32 (vertices). O(edges)."""
    n = plain.size
    offsets, near = longs(plain.offsets), words(plain.neighbours)
    same = plain.edge_weights.size == 0 or plain.edge_weights.min() == plain.edge_weights.max()
    edges = longs(np.zeros(0, np.int64) if same else plain.edge_weights)
    even = loads.min() == loads.max()
    own = floats(np.zeros(0) if even else loads)
    total = float(loads.sum())
    most = min(float(LARGEST), max(1.0, n / (PIECES * k))) * (1.0 if even else total / n)
    groups, order = np.empty(n, np.uint32), np.empty(n, np.uint32)
    starts, held, tails, other, weight = inflate(offsets, near, edges, own, most, groups, order)
    if even:
        held = held * loads[0]
    rows, ends, between = _both_ways(tails, other, weight)
    clusters = Weighted(longs(rows), words(ends), longs(between), floats(held))
    limits = capacities(loads, shares, balance)
    if clusters.size > k:
        found = _fold(clusters, shares, floats(limits), crew)
    else:
        found = fill_empty(np.arange(clusters.size, dtype=np.int32), k, held).view(np.uint32)
    labels = found[groups]
    border = _border(clusters.offsets, clusters.near, found, starts, words(order))
    sums = np.bincount(found, held, k).astype(np.float64)
    unit = loads[0] if even else 1.0
    room, sums = floats(limits / unit), sums / unit
    sizes = np.bincount(found, np.diff(starts), k).astype(np.int64)
    for _ in range(FINAL):
        if improve(offsets, near, edges, own, room, labels, sums, sizes, words(border)) == 0:
            break
    return fill_empty(labels.view(np.int32), k, loads)


def _fold(finest: Weighted, shares: Floats, limits: Floats, crew: Crew) -> Words:
    """Labels of the clusters: join down to ten a part, grow the parts, and improve them on the way back."""
    k = shares.size
    levels, coarse_of = [finest], []
    heaviest = float(finest.loads.sum()) / (4 * k)
    while levels[-1].size > COARSEST * k:
        level = levels[-1]
        everywhere = longs(np.array([0, level.size]))
        coarser, coarse = halved(level, words(np.zeros(level.size, np.uint32)), everywhere, heaviest, crew)
        if coarser.size > 0.9 * level.size:
            break
        levels.append(coarser)
        coarse_of.append(coarse)
    last = levels[-1]
    labels = grow(last.offsets, last.near, last.edges, last.loads, floats(shares))
    for place in range(len(levels) - 1, -1, -1):
        level = levels[place]
        if place < len(levels) - 1:
            labels = labels[coarse_of[place]]
        held = np.bincount(labels, level.loads, k).astype(np.float64)
        everyone = words(np.arange(level.size, dtype=np.uint32))
        sizes = np.bincount(labels, minlength=k).astype(np.int64)
        arrays = (level.offsets, level.near, level.edges, level.loads)
        for _ in range(SWEEPS):
            if improve(*arrays, limits, labels, held, sizes, everyone) == 0:
                break
    return labels


@njit(cache=True, nogil=True)
def _both_ways(tails: Longs, other: Words, weight: Longs) -> tuple[Longs, Words, Longs]:
    """The symmetric rows of links that are stored at their later end."""
    n = tails.size - 1
    offsets = np.zeros(n + 1, np.int64)
    for v in range(n):
        offsets[v + 1] += tails[v + 1] - tails[v]
        for i in range(tails[v], tails[v + 1]):
            offsets[other[i] + np.uint32(1)] += 1
    for v in range(n):
        offsets[v + 1] += offsets[v]
    place = offsets[:-1].copy()
    near, edges = np.empty(offsets[n], np.uint32), np.empty(offsets[n], np.int64)
    for v in range(n):
        for i in range(tails[v], tails[v + 1]):
            u = other[i]
            near[place[v]], edges[place[v]] = u, weight[i]
            place[v] += 1
            near[place[u]], edges[place[u]] = v, weight[i]
            place[u] += 1
    return offsets, near, edges


@njit(cache=True, nogil=True)
def _border(offsets: Longs, near: Words, labels: Words, starts: Longs, order: Words) -> Words:
    """The vertices of all clusters that are linked to another part, cluster by cluster."""
    found = np.empty(order.size, np.uint32)
    count = 0
    for c in range(labels.size):
        for i in range(offsets[c], offsets[c + 1]):
            if labels[near[i]] != labels[c]:
                for j in range(starts[c], starts[c + 1]):
                    found[count] = order[j]
                    count += 1
                break
    return found[:count].copy()
