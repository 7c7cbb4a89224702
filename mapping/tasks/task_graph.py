"""What runs where, of a clustered dependence graph: the one definition, for edge cuts and vertex cuts.

Tasks are the instructions. Task v takes `time[v]` cycles on the core of its home cluster.

- **Edge cut** (`kind="data"`, a label of each vertex): the home of v is its label. What an edge weighs, the time of a
  memory access, is spent where its target runs.
- **Vertex cut** (`kind="jobs"`, a label of each edge): a vertex has a replica in every cluster that has one of its
  edges, and one of them runs it: the one with most weight of edges into it (of edges out of it where none lead in; the
  smallest number of those that tie). What an edge weighs is spent in the edge's own cluster, before its target can run.

A value moves as a word of 8 bytes, in two kinds of messages. **Scatter**: from the home of u to another cluster with an
edge out of u, once however many of those edges it has. **Gather**, in vertex cuts: from a cluster with edges into v to
the home of v, once. VertexCut does not define which replica runs (§4 only counts replicas), nor the bytes of its Figure
10: it compares cut edges of edge cuts with replicas of vertex cuts. `Traffic` has both: `messages` counts what is said
above, `words` what the seed counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import DependenceGraph, Ids
from tracecut.support.arrays import Ints, Longs, frozen
from tracecut.support.errors import ArgumentError

from .cluster_graph import ClusterGraph

WORD = 8  # bytes of a value


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """A dependence graph with its work in clusters.

    Attributes:
        graph: the instructions.
        k: number of clusters.
        home: int32 (n), cluster that runs each instruction.
        at: int32 (m), cluster that each edge's weight is spent in; `home[dst]` in an edge cut.
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
    load = np.bincount(tasks.home, graph.time, k) + np.bincount(tasks.at, graph.weight, k)
    first = np.full(k, np.iinfo(np.int64).max)
    np.minimum.at(first, tasks.home, np.arange(graph.n))
    np.minimum.at(first, tasks.at, graph.dst)
    source, target = message_ends(tasks)
    pairs, messages = np.unique(source * k + target, return_counts=True)
    home, cut = tasks.home.astype(np.int64), tasks.at.astype(np.int64)
    if tasks.kind == "data":
        ends = home[graph.src], cut
    else:
        vertex, replica = replicas(tasks)
        ends = home[vertex], replica
    apart = ends[0] != ends[1]
    seen, counted = np.unique(ends[0][apart] * k + ends[1][apart], return_counts=True)
    every = np.union1d(pairs, seen)
    sent, words = np.zeros(every.size), np.zeros(every.size)
    sent[np.searchsorted(every, pairs)] = messages
    words[np.searchsorted(every, seen)] = counted
    src, dst = (every // k).astype(np.int32), (every % k).astype(np.int32)
    return ClusterGraph(load.astype(np.float64), first, src, dst, sent, words)


def traffic(tasks: TaskGraph) -> Traffic:
    """What moves between clusters, counted both ways. O(n + m log m)."""
    source, _ = message_ends(tasks)
    if tasks.kind == "data":
        words = int(np.count_nonzero(tasks.home[tasks.graph.src] != tasks.at))
    else:
        vertex, replica = replicas(tasks)
        words = int(np.count_nonzero(tasks.home[vertex] != replica))
    return Traffic(int(source.size), words)


def message_ends(tasks: TaskGraph) -> tuple[Longs, Longs]:
    """Sending and receiving cluster of every message, int64 each."""
    graph, home, at = tasks.graph, tasks.home.astype(np.int64), tasks.at.astype(np.int64)
    scattered = np.unique(graph.src.astype(np.int64) * tasks.k + at)
    from_home, to = home[scattered // tasks.k], scattered % tasks.k
    apart = from_home != to
    gathered = np.unique(graph.dst.astype(np.int64) * tasks.k + at)
    part, to_home = gathered % tasks.k, home[gathered // tasks.k]
    inward = part != to_home
    return np.concatenate([from_home[apart], part[inward]]), np.concatenate([to[apart], to_home[inward]])


def replicas(tasks: TaskGraph) -> tuple[Longs, Longs]:
    """Vertex and cluster of every replica of a vertex cut, int64 each, sorted; vertices without edges have none."""
    graph, at = tasks.graph, tasks.at.astype(np.int64)
    both = np.concatenate([graph.src.astype(np.int64) * tasks.k + at, graph.dst.astype(np.int64) * tasks.k + at])
    found = np.unique(both)
    return found // tasks.k, found % tasks.k


def _homes(src: Ids, dst: Ids, weight: Ints, at: Ints, n: int, k: int) -> Ints:
    """Home of each vertex of a vertex cut; a vertex without edges runs in the cluster of the vertex before it."""
    inward = _heaviest(dst.astype(np.int64) * k + at, weight, n, k)
    outward = _heaviest(src.astype(np.int64) * k + at, weight, n, k)
    return _filled(np.where(inward >= 0, inward, outward))


def _heaviest(keys: Longs, weight: Ints, n: int, k: int) -> Ints:
    """Of keys vertex · k + cluster, the cluster with most weight of each vertex, −1 without any."""
    found, place = np.unique(keys, return_inverse=True)
    weights = np.bincount(place, weight, found.size)
    order = np.lexsort((found % k, -weights, found // k))
    vertices = found[order] // k
    leads = np.concatenate([[True], vertices[1:] != vertices[:-1]])[: vertices.size]
    result = np.full(n, -1, np.int32)
    result[vertices[leads]] = found[order][leads] % k
    return result


@njit(cache=True)
def _filled(home: Ints) -> Ints:
    last = 0
    for v in range(home.size):
        if home[v] < 0:
            home[v] = last
        last = home[v]
    return home
