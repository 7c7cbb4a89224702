"""The jobs of each cluster in breadth-first order: an order of good locality for labels that came without one."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.radix_sort import stable_order
from tracecut.partition.datastructures.typed_views import Words, longs, words
from tracecut.partition.expansion.grow_hypergraph import SKEWED
from tracecut.partition.parallel.thread_pool import MOST, ThreadPool
from tracecut.support.arrays import Ints, Longs
from tracecut.support.lazy_kernels import kept

NONE = np.uint32(0xFFFFFFFF)


def walk_clusters(graph: LocalityGraph, labels: Ints, k: int, pool: ThreadPool) -> Ints:
    """Jobs sorted by label and, inside each cluster, in breadth-first order over shared data; int32 (jobs).

    A search starts at the lowest job of its cluster that none has reached. Where there are hubs, all jobs of a
    cluster are near each other, and they stay in job order.

    Args:
        graph: the locality graph.
        labels: int32 (jobs), in [0, k).
        k: number of clusters.
        pool: the threads; the result does not depend on them.

    Returns:
        `result[new] = old`. O(Σ over data of its jobs · clusters that touch it); O(jobs) where there are hubs.
    """
    ordered = stable_order(labels)
    if int(graph.degrees().max(initial=0)) * graph.n_data > SKEWED * graph.n_pins:
        return ordered
    starts, near = graph.transpose
    begins = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=k))])
    left, order = labels.astype(np.uint32), np.empty(graph.n_jobs, np.uint32)
    arrays = (longs(graph.offsets), words(graph.data), longs(starts), words(near), words(ordered), longs(begins))
    lots = min(k, MOST)
    workspaces = pool.workspaces(lambda: (np.full(graph.n_data, NONE, np.uint32),))
    workspaces.each(_walk, [(*arrays, left, order, k * i // lots, k * (i + 1) // lots) for i in range(lots)])
    return order.view(np.int32)


@kept
def _walk(
    offsets: Longs,
    data: Words,
    starts: Longs,
    near: Words,
    ordered: Words,
    begins: Longs,
    left: Words,
    order: Words,
    first: int,
    last: int,
    seen: Words,
) -> None:
    """Place the jobs of the clusters in [first, last). `left` is the label of a job, NONE once it has its place."""
    for cluster in range(first, last):
        head = tail = begins[cluster]
        for i in range(begins[cluster], begins[cluster + 1]):
            root = ordered[i]
            if left[root] != cluster:
                continue
            left[root] = NONE
            order[tail] = root
            tail += 1
            while head < tail:
                job = order[head]
                head += 1
                for pin in range(offsets[job], offsets[job + np.uint32(1)]):
                    datum = data[pin]
                    if seen[datum] == cluster:
                        continue
                    seen[datum] = cluster
                    for j in range(starts[datum], starts[datum + np.uint32(1)]):
                        other = near[j]
                        if left[other] == cluster:
                            left[other] = NONE
                            order[tail] = other
                            tail += 1
