"""Geographer-R: balanced k-means first, then multilevel pairwise refinement on the graph."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.fill_empty import fill_empty
from tracecut.partition.balance.rebalance import capacities, loads_and_shares
from tracecut.partition.coarsening.data_graph_levels import arranged
from tracecut.partition.coarsening.edge_matching import Weighted, halved
from tracecut.partition.datastructures.radix_sort import stable_order
from tracecut.partition.datastructures.typed_views import Words, longs, words
from tracecut.partition.initial.greedy_growing import Parts, improve
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.partition.refinement.pairwise_fm import refine_pairs
from tracecut.support.arrays import Floats, Ints
from tracecut.support.errors import ArgumentError

from .kmeans import along_curve, cluster
from .points import unit_points

SMALLEST = 40  # vertices per part on the coarsest level
SWEEPS = 4  # sweeps on each level
REFINEMENTS = ("pairs", "k-way")
PIECES = 20  # largest load of a coarse vertex: the mean load of a part divided by this


def geographer_r(
    graph: LocalityGraph,
    k: int,
    *,
    coords: Floats | None = None,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    threads: int | None = None,
    cycles: int = 1,
    layers: int = 1,
    refinement: str = "pairs",
) -> Ints:
    """k-means clusters, refined on the data graph from coarse to fine.

    Args:
        graph: the locality graph; `plain_graphs.data_graph` says how jobs of many data are modelled.
        k, coords, weights, targets, balance, threads: as in `kmeans.kmeans`.
        cycles: number of V-cycles: coarsening within parts, then refinement.
        layers: largest distance from a border, in edges, of data that move in one search.
        refinement: `"pairs"`, searches on pairs of parts; `"k-way"`, greedy moves to any neighbouring part, as ParMETIS
            refines the k-means clusters of Hetero's geoPMRef.

    Returns:
        int32 (data), labels in [0, k), the same for any `threads`. O(cycles · pins · log data + k-means).

    Raises:
        ArgumentError: there are no coordinates, or the refinement is unknown.

    Source: Hetero §V; for `"k-way"` Karypis and Kumar 1998.
    """
    if refinement not in REFINEMENTS:
        raise ArgumentError(f"refinement = {refinement!r}, one of {', '.join(REFINEMENTS)} was expected")
    points = unit_points(graph, coords, "geographer-r")
    loads, shares = loads_and_shares(graph.n_data, k, weights, targets)
    with ThreadPool(threads, graph.n_data) as pool:
        near = along_curve(points, pool)
        labels, _ = cluster(points, loads, shares, balance, pool, order=near)
        if k == 1 or graph.n_data <= k:
            return labels
        limits = capacities(loads, shares, balance)
        for _ in range(cycles):
            order = near[stable_order(labels[near])]
            finest = arranged(graph, loads, order, pool)
            found = _cycle(
                finest, np.ascontiguousarray(labels[order]).view(np.uint32), limits, layers, refinement, pool
            )
            labels = np.empty_like(labels)
            labels[order] = found.view(np.int32)
    return fill_empty(labels, k, loads)


def _cycle(finest: Weighted, labels: Words, limits: Floats, layers: int, refinement: str, pool: ThreadPool) -> Words:
    """One V-cycle: coarsen within the parts of the sorted `labels`, and refine during uncoarsening."""
    k = limits.size
    levels, coarse_of, fine_labels = [finest], [], words(labels)
    heaviest = float(finest.loads.sum()) / (PIECES * k)
    while levels[-1].size > SMALLEST * k:
        parts = longs(np.searchsorted(fine_labels, np.arange(k + 1)))
        coarser, coarse = halved(levels[-1], fine_labels, parts, heaviest, pool)
        if coarser.size > 0.9 * levels[-1].size:
            break
        down = np.empty(coarser.size, np.uint32)
        down[coarse] = fine_labels
        fine_labels = words(down)
        levels.append(coarser)
        coarse_of.append(coarse)
    held = np.bincount(labels, finest.loads, k).astype(np.float64)
    own = fine_labels.copy()
    for level in range(len(levels) - 1, -1, -1):
        if level < len(levels) - 1:
            own = own[coarse_of[level]]
        if refinement == "pairs":
            refine_pairs(levels[level], own, held, limits, pool, sweeps=SWEEPS, layers=layers, patience=100)
        else:
            improve(levels[level].rows, Parts(own, held, np.bincount(own, minlength=k), limits), SWEEPS)
    return own
