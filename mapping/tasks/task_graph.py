"""Defines which cluster runs which instruction of a clustered dependence graph, for edge cuts and vertex cuts.

Tasks are the instructions. Task v takes `time[v]` cycles on the core of its home cluster.

- **Edge cut** (`kind="data"`, a label of each vertex): the home of v is its label.
- **Vertex cut** (`kind="jobs"`, a label of each edge): a vertex has a replica in every cluster that has one of its
  edges, and one of them runs it: the one with most weight of edges into it (of edges out of it where none lead in; the
  smallest number of those that tie). A memory access is done in the clusters of its memory edges, each of which spends
  the edge's weight; where none of them is the home, the home spends that much less.

A value moves as a word of 8 bytes, in two kinds of messages. **Scatter**: from the home of u to another cluster with an
edge out of u, once however many of those edges it has. **Gather**, in vertex cuts: from a cluster with edges into v to
the home of v, once. VertexCut does not define which replica runs (§4 only counts replicas), nor the bytes of its Figure
10: it compares cut edges of edge cuts with replicas of vertex cuts. `Traffic` has both: `messages` counts what is said
above, `words` what the seed counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import MEMORY, DependenceGraph, Ids
from tracecut.support.arrays import Bytes, Floats, Ints, frozen
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .cluster_graph import ClusterGraph

WORD = 8  # bytes of a value


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """A dependence graph with its work in clusters.

    Attributes:
        graph: the instructions.
        k: number of clusters.
        home: int32 (n), cluster that runs each instruction.
        at: int32 (m), cluster of each edge; `home[dst]` in an edge cut.
        kind: `"data"` for an edge cut, `"jobs"` for a vertex cut.
    """

    graph: DependenceGraph
    k: int
    home: Ints
    at: Ints
    kind: str


@dataclass(frozen=True)
class Traffic:
    """Values moved between clusters: `messages` each once per remote cluster, `words` as the seed counts them."""

    messages: int
    words: int

    @property
    def bytes_moved(self) -> int:
        return WORD * self.messages


def task_graph(graph: DependenceGraph, clustering: Clustering) -> TaskGraph:
    """Which cluster runs what. O(n + m). Raises ArgumentError when the labels are not those of the graph."""
    of, size = ("vertices", graph.n) if clustering.kind == "data" else ("edges", graph.m)
    if clustering.labels.size != size:
        raise ArgumentError(f"the clustering labels {clustering.labels.size}, the graph has {size} {of}")
    if clustering.kind == "data":
        home = clustering.labels
        at = home[graph.dst]
    else:
        at = clustering.labels
        home = _homes(graph.src, graph.dst, graph.weight, at, graph.n, clustering.k)
    return TaskGraph(graph, clustering.k, frozen("home", home, np.int32), frozen("at", at, np.int32), clustering.kind)


def cluster_graph(tasks: TaskGraph) -> ClusterGraph:
    """Loads of the clusters and what they send each other. O(n + m log m)."""
    graph, k = tasks.graph, tasks.k
    load = _loads(graph.dst, graph.weight, graph.kind, graph.time, tasks.home, tasks.at, k)
    first = np.full(k, np.iinfo(np.int64).max)
    np.minimum.at(first, tasks.home, np.arange(graph.n))
    np.minimum.at(first, tasks.at, graph.dst)
    sent, seen = _message_ends(tasks), _word_ends(tasks)
    pairs, messages = np.unique(sent[0].astype(np.int64) * k + sent[1], return_counts=True)
    also, words = np.unique(seen[0].astype(np.int64) * k + seen[1], return_counts=True)
    every = np.union1d(pairs, also)
    count = np.zeros((2, every.size))
    count[0, np.searchsorted(every, pairs)] = messages
    count[1, np.searchsorted(every, also)] = words
    src, dst = (every // k).astype(np.int32), (every % k).astype(np.int32)
    return ClusterGraph(load, first, src, dst, count[0], count[1])


def traffic(tasks: TaskGraph) -> Traffic:
    """What moves between clusters, counted both ways. O(n + m)."""
    return Traffic(int(_message_ends(tasks)[0].size), int(_word_ends(tasks)[0].size))


def _message_ends(tasks: TaskGraph) -> tuple[Ints, Ints]:
    """Sending and receiving cluster of every message, int32 each."""
    ends = _ends(tasks.graph.src, tasks.graph.dst, tasks.home, tasks.at, tasks.k, False)
    return ends[0], ends[1]


def _word_ends(tasks: TaskGraph) -> tuple[Ints, Ints]:
    """Clusters between which the seed counts a word: ends of every cut edge, or home and each replica."""
    if tasks.kind == "data":
        source = tasks.home[tasks.graph.src]
        apart = source != tasks.at
        return source[apart], tasks.at[apart]
    ends = _ends(tasks.graph.src, tasks.graph.dst, tasks.home, tasks.at, tasks.k, True)
    return ends[0], ends[1]


@kept
def _ends(src: Ids, dst: Ids, home: Ints, at: Ints, k: int, replicas: bool) -> tuple[Ints, Ints]:
    """Ends of the messages, or of home and replicas; of each instruction those of its users first."""
    n, m = home.size, src.size
    begin = np.zeros(n + 1, np.int64)
    for edge in range(m):
        begin[src[edge] + 1] += 1
    for v in range(n):
        begin[v + 1] += begin[v]
    order, place = np.empty(m, np.int32), begin[:n].copy()
    for edge in range(m):
        v = src[edge]
        order[place[v]] = at[edge]
        place[v] += 1
    sent, got = np.empty(2 * m, np.int32), np.empty(2 * m, np.int32)
    out, into = np.full(k, -1, np.int64), np.full(k, -1, np.int64)
    found, edge = 0, 0
    for v in range(n):
        mine = home[v]
        for i in range(begin[v], begin[v + 1]):
            other = order[i]
            if other != mine and out[other] != v:
                out[other] = v
                sent[found], got[found] = mine, other
                found += 1
        while edge < m and dst[edge] == v:
            other = at[edge]
            if other != mine and into[other] != v and not (replicas and out[other] == v):
                into[other] = v
                sent[found], got[found] = (mine, other) if replicas else (other, mine)
                found += 1
            edge += 1
    return sent[:found].copy(), got[:found].copy()


@kept
def _homes(src: Ids, dst: Ids, weight: Ints, at: Ints, n: int, k: int) -> Ints:
    """Home of each vertex of a vertex cut; a vertex without edges runs in the cluster of the vertex before it."""
    m = src.size
    begin = np.zeros(n + 1, np.int64)
    for edge in range(m):
        begin[src[edge] + 1] += 1
    for v in range(n):
        begin[v + 1] += begin[v]
    order, place = np.empty(m, np.int32), begin[:n].copy()
    for edge in range(m):
        v = src[edge]
        order[place[v]] = edge
        place[v] += 1
    home = np.empty(n, np.int32)
    total, stamp = np.zeros(k, np.int64), np.full(k, -1, np.int64)
    edge, last = 0, 0
    for v in range(n):
        first = edge
        while edge < m and dst[edge] == v:
            edge += 1
        inward = edge > first
        low, high = (first, edge) if inward else (begin[v], begin[v + 1])
        best = -1
        for i in range(low, high):
            one = i if inward else order[i]
            cluster = at[one]
            if stamp[cluster] != v:
                stamp[cluster], total[cluster] = v, 0
            total[cluster] += weight[one]
        for i in range(low, high):
            cluster = at[i if inward else order[i]]
            if best < 0 or total[cluster] > total[best] or (total[cluster] == total[best] and cluster < best):
                best = cluster
        last = best if best >= 0 else last
        home[v] = last
    return home


@kept
def _loads(dst: Ids, weight: Ints, kind: Bytes, time: Ints, home: Ints, at: Ints, k: int) -> Floats:
    """Cycles that each cluster spends."""
    load = np.zeros(k)
    most = np.zeros(k)  # by cluster, of the accesses of the present instruction
    edge = 0
    for v in range(home.size):
        begin, here, memory = edge, False, False
        paid = 0.0
        while edge < dst.size and dst[edge] == v:
            if kind[edge] == MEMORY:
                memory, paid = True, max(paid, weight[edge])
                here |= at[edge] == home[v]
                most[at[edge]] = max(most[at[edge]], weight[edge])
            edge += 1
        for i in range(begin, edge):
            if at[i] != home[v]:
                load[at[i]] += most[at[i]]
            most[at[i]] = 0.0
        load[home[v]] += time[v] - (paid if memory and not here else 0.0)
    return load
