"""Initial labels along paths: consecutive jobs of a datum stay together."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.coarsening.edge_matching import Weighted, halved
from tracecut.partition.datastructures.plain_graphs import job_graph
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Floats

from .greedy_growing import Parts, attempts, fill_parts, improve

COARSEST = 40  # vertices a cluster, from which clusters are grown,
STARTS = 4  # partitions that are grown, of which the best is kept
HEAVIEST = 0.25  # of a cluster's mean load, that a vertex holds at most
STUCK = 0.9  # matching that leaves more than this share of the vertices has ended
SWEEPS = 6  # of greedy moves on each level, at most


def along_paths(graph: LocalityGraph, weights: Floats, shares: Floats, limits: Floats, pool: ThreadPool) -> Words:
    """Labels of the jobs from a small multilevel partition of SPAC's contracted graph; uint32 (jobs).

    Where jobs stand in an order of good locality, so do the jobs of a hub: their path tells which of its many jobs
    belong together, which the hub itself does not. Circuits gain most.

    Args:
        graph: the locality graph.
        weights: float64 (jobs), positive.
        shares: float64 (k), of the load, summing to 1.
        limits: float64 (k), loads that clusters are kept below where greedy moves can.
        pool: the threads; the result does not depend on them.

    Returns:
        Labels in [0, k). O(pins · levels).

    Source: SPAC §3.2 for the graph; matching, growing and greedy moves as in `parcubed_det`.
    """
    k = shares.size
    plain = job_graph(graph)
    finest = Weighted(longs(plain.offsets), words(plain.neighbours), longs(plain.edge_weights), floats(weights))
    levels, coarse_of = [finest], []
    heaviest = float(weights.sum()) * HEAVIEST / k
    while levels[-1].size > COARSEST * k:
        level = levels[-1]
        whole = longs(np.array([0, level.size]))
        coarser, coarse = halved(level, words(np.zeros(level.size, np.uint32)), whole, heaviest, pool)
        if coarser.size > STUCK * level.size:
            break
        levels.append(coarser)
        coarse_of.append(coarse)
    last = levels[-1]
    starts = longs(last.size * np.arange(STARTS) // STARTS)
    room = floats(limits)
    labels, _ = attempts(last, floats(shares), room, starts, SWEEPS)
    for level, coarse in zip(reversed(levels[:-1]), reversed(coarse_of), strict=True):
        labels = labels[coarse]
        parts = Parts(labels, np.empty(k), np.empty(k, np.int64), room)
        fill_parts(level.loads, parts)
        improve(level.rows, parts, SWEEPS)
    return labels
