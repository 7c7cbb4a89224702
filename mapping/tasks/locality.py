"""The values that clusters of a locality graph exchange in one pass over all jobs."""

from __future__ import annotations

import numpy as np
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.metrics import loads
from tracecut.support.arrays import Longs
from tracecut.support.errors import ArgumentError

from .cluster_graph import ClusterGraph

DENSE = 8  # times as many possible numbers as there are, up to which they are counted instead of sorted


def clusters_of_locality(graph: LocalityGraph, clustering: Clustering) -> ClusterGraph:
    """Loads of clusters and the values that they exchange.

    Data clusters: a job runs in the cluster of its first datum; the others that own data of it send their values
    there, each value once. Job clusters: the cluster with most jobs of a datum owns it (the smallest number of those
    that tie) and sends it to all others that touch it, each once. VertexCut counts a word for every cut edge, here
    every datum that a job gets from elsewhere, and for every replica. A cluster is ready with its first member.
    O(pins log pins).
    """
    k = clustering.k
    size = graph.n_data if clustering.kind == "data" else graph.n_jobs
    if clustering.labels.size != size:
        raise ArgumentError(f"the clustering labels {clustering.labels.size} {clustering.kind}, the graph has {size}")
    labels = clustering.labels.astype(np.int64)
    pins = np.repeat(np.arange(graph.n_jobs), np.diff(graph.offsets))
    data = graph.data.astype(np.int64)
    if clustering.kind == "data":
        begins = graph.offsets[:-1]
        filled = np.diff(graph.offsets) > 0
        runs = np.zeros(graph.n_jobs, np.int64)
        runs[filled] = labels[data[begins[filled]]]
        values = np.unique(data * k + runs[pins])  # of each datum, the clusters that need it
        src, dst = labels[values // k], values % k
    else:
        held, count = _counted(data * k + labels[pins], graph.n_data * k)
        datum, cluster = held // k, held % k
        order = np.lexsort((cluster, -count, datum))
        datum, cluster = datum[order], cluster[order]
        leads = np.concatenate([[True], datum[1:] != datum[:-1]])[: datum.size]
        owner = cluster[leads][np.cumsum(leads) - 1]
        src, dst = owner, cluster
    apart = src != dst
    pairs, messages = np.unique(src[apart] * k + dst[apart], return_counts=True)
    words = messages
    if clustering.kind == "data":  # the same pairs, each as often as a job needs a datum of another cluster
        owner, needs = labels[data], runs[pins]
        words = np.unique((owner * k + needs)[owner != needs], return_counts=True)[1]
    first = _first(labels, k)
    ends = (pairs // k).astype(np.int32), (pairs % k).astype(np.int32)
    return ClusterGraph(loads(graph, clustering), first, *ends, messages.astype(np.float64), words.astype(np.float64))


def _counted(numbers: Longs, most: int) -> tuple[Longs, Longs]:
    """The different numbers below `most`, ascending, and how often each is there. O(most), or sorted where that is much
    more than there are."""
    if most > DENSE * numbers.size:
        return np.unique(numbers, return_counts=True)
    counts = np.bincount(numbers, minlength=1)
    found = np.flatnonzero(counts)
    return found, counts[found]


def _first(labels: Longs, k: int) -> Longs:
    first = np.full(k, np.iinfo(np.int64).max)
    np.minimum.at(first, labels, np.arange(labels.size))
    return first
