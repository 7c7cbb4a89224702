"""The values that clusters of a locality graph exchange in one pass over all jobs."""

from __future__ import annotations

import numpy as np
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.metrics import loads, members_of
from tracecut.support.arrays import Ints, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import compiled

from .cluster_graph import ClusterGraph


def clusters_of_locality(graph: LocalityGraph, clustering: Clustering) -> ClusterGraph:
    """Loads of clusters and the values that they exchange.

    Data clusters: a job runs in the cluster of its first datum; the others that own data of it send their values
    there, each value once. Job clusters: the cluster with most jobs of a datum owns it (the smallest number of those
    that tie) and sends it to all others that touch it, each once. VertexCut counts a word for every cut edge, here
    every datum that a job gets from elsewhere, and for every replica. A cluster is ready with its first member.
    O(pins + jobs + data + pairs log pairs); a few numbers a job and a datum are made, none a pin.
    """
    k = clustering.k
    size = graph.n_data if clustering.kind == "data" else graph.n_jobs
    if clustering.labels.size != size:
        raise ArgumentError(f"the clustering labels {clustering.labels.size} {clustering.kind}, the graph has {size}")
    labels = np.ascontiguousarray(clustering.labels, np.int32)
    runs = _runs(graph.offsets, graph.data, labels) if clustering.kind == "data" else labels
    jobs, ends = members_of(runs, k)
    owner = labels if clustering.kind == "data" else _owners(graph.offsets, graph.data, jobs, ends, graph.n_data)
    pairs, messages, words = _exchanged(graph.offsets, graph.data, jobs, ends, owner)
    order = np.argsort(pairs)
    pairs, messages, words = pairs[order], messages[order], words[order]
    if clustering.kind == "jobs":
        words = messages
    src, dst = (pairs // k).astype(np.int32), (pairs % k).astype(np.int32)
    messages, words = messages.astype(np.float64), words.astype(np.float64)
    return ClusterGraph(loads(graph, clustering), _first(labels, k), src, dst, messages, words)


@compiled(cache=True, nogil=True)
def _runs(offsets: Longs, data: Ints, labels: Ints) -> Ints:
    """The cluster that each job runs in: that of its first datum, 0 for a job without data."""
    runs = np.zeros(offsets.size - 1, np.int32)
    for job in range(runs.size):
        if offsets[job] < offsets[job + 1]:
            runs[job] = labels[data[offsets[job]]]
    return runs


@compiled(cache=True, nogil=True)
def _owners(offsets: Longs, data: Ints, jobs: Ints, ends: Longs, n_data: int) -> Ints:
    """The cluster with most pins of each datum, the smallest number of those that tie; 0 for isolated data."""
    owner, most = np.zeros(n_data, np.int32), np.zeros(n_data, np.int32)
    count = np.zeros(n_data, np.int32)  # of pins in the cluster that is looked at
    for cluster in range(ends.size - 1):
        for place in range(ends[cluster], ends[cluster + 1]):
            for pin in range(offsets[jobs[place]], offsets[jobs[place] + 1]):
                count[data[pin]] += 1
        for place in range(ends[cluster], ends[cluster + 1]):
            for pin in range(offsets[jobs[place]], offsets[jobs[place] + 1]):
                datum = data[pin]
                if count[datum] > most[datum]:
                    owner[datum], most[datum] = cluster, count[datum]
                count[datum] = 0
    return owner


@compiled(cache=True, nogil=True)
def _exchanged(offsets: Longs, data: Ints, jobs: Ints, ends: Longs, owner: Ints) -> tuple[Longs, Longs, Longs]:
    """Pairs of clusters, as owner · k + user, the data that the one has for the other, and the pins that ask for them.

    The pairs are in no particular order.
    """
    k = ends.size - 1
    pairs, messages, words = np.empty(k + 1, np.int64), np.empty(k + 1, np.int64), np.empty(k + 1, np.int64)
    count = 0
    user = np.full(owner.size, -1, np.int32)  # of each datum, the last one that it was sent to
    pair_of = np.full(k, -1, np.int64)  # of each owner, its pair with the cluster that is looked at
    for cluster in range(k):
        first = count
        for place in range(ends[cluster], ends[cluster + 1]):
            for pin in range(offsets[jobs[place]], offsets[jobs[place] + 1]):
                datum = data[pin]
                sender = owner[datum]
                if sender == cluster:
                    continue
                if pair_of[sender] < first:
                    if count == pairs.size:
                        pairs = np.concatenate((pairs, np.empty(count, np.int64)))
                        messages = np.concatenate((messages, np.empty(count, np.int64)))
                        words = np.concatenate((words, np.empty(count, np.int64)))
                    pair_of[sender] = count
                    pairs[count], messages[count], words[count] = sender * k + cluster, 0, 0
                    count += 1
                words[pair_of[sender]] += 1
                if user[datum] != cluster:
                    user[datum] = cluster
                    messages[pair_of[sender]] += 1
    return pairs[:count].copy(), messages[:count].copy(), words[:count].copy()


@compiled(cache=True, nogil=True)
def _first(labels: Ints, k: int) -> Longs:
    """The first member of each cluster; the largest number where there is none."""
    first = np.full(k, np.iinfo(np.int64).max, np.int64)
    for member in range(labels.size - 1, -1, -1):
        first[labels[member]] = member
    return first
