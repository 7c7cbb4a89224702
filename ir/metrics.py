"""Quality metrics of a partition, each a plain function.

Two kinds of partition have quality numbers (`Clustering.kind`):

- of **jobs** (an edge partition, a vertex cut): p(v) is the number of clusters whose jobs touch datum v, and v is
  copied to all of them. Data that no job touches are isolated and count nowhere. Copies are counted, but for
  `copy_weight`, which charges each its datum's weight.
- of **data** (a vertex partition, an edge cut): a job is cut when its data lie in more than one cluster, and two
  data are neighbours when a job touches both.

Every function takes `(graph, clustering)` and is O(pins + data + k) unless it says otherwise. A clustering of the wrong
kind or length raises ArgumentError. The tests have a slow reference of each, written from the definitions.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import compiled

from .locality_graph import LocalityGraph


class Partition(Protocol):
    """What the numbers ask of a `Clustering`, which hands them out as its own."""

    @property
    def labels(self) -> Ints: ...
    @property
    def k(self) -> int: ...
    @property
    def kind(self) -> str: ...
    def sizes(self) -> Longs: ...


OF_BOTH = ("load_imbalance", "weight_imbalance", "oversized_share")
# Numbers that a job partition has, and those of a data partition; each a function here of `(graph, clustering)`.
OF_JOBS = (
    *("vertex_copies", "copy_weight", "replication_factor", "extra_copy_share", "average_cut_degree"),
    *("communication_volume", "max_communication_volume", "boundary", *OF_BOTH),
)
OF_DATA = ("edge_cut", "communication_volume", "max_communication_volume", "boundary", *OF_BOTH)


def parts_per_datum(graph: LocalityGraph, clustering: Partition) -> Longs:
    """p(v) of each datum, int64 (data): clusters whose jobs touch it; 0 for isolated data. Jobs only."""
    _check(graph, clustering, "jobs")
    if "transpose" not in graph.__dict__:
        jobs, ends = members_of(clustering.labels, clustering.k)
        return _touching(graph.offsets, graph.data, jobs, ends, graph.n_data)
    starts, jobs = graph.transpose
    return _distinct(starts, jobs, clustering.labels, clustering.k)


def vertex_copies(graph: LocalityGraph, clustering: Partition) -> int:
    """The cost of a job partition: Σ over non-isolated data of (p(v) − 1). SPAC §3.1, equation 1."""
    parts = parts_per_datum(graph, clustering)
    return int(parts.sum() - np.count_nonzero(parts))


def copy_weight(graph: LocalityGraph, clustering: Partition) -> float:
    """The weight of all vertex copies, Σ over non-isolated data of weight · (p(v) − 1); `vertex_copies` if all are 1.

    This is the connectivity metric (km1) of the hypergraph whose nets are the data.
    """
    if not graph.data_weights.size:
        return float(vertex_copies(graph, clustering))
    return float((graph.data_weights * np.maximum(parts_per_datum(graph, clustering) - 1, 0)).sum())


def replication_factor(graph: LocalityGraph, clustering: Partition) -> float:
    """1 + vertex copies / non-isolated data; 1 for a graph without pins. VertexCut §4.2."""
    return 1.0 + extra_copy_share(graph, clustering)


def extra_copy_share(graph: LocalityGraph, clustering: Partition) -> float:
    """Vertex copies / non-isolated data: loads beyond the ideal of one per datum, over that ideal. SPAC §3.3.1."""
    parts = parts_per_datum(graph, clustering)
    touched = int(np.count_nonzero(parts))
    return float(parts.sum() - touched) / touched if touched else 0.0


def average_cut_degree(graph: LocalityGraph, clustering: Partition) -> float:
    """Mean number of pins of the data with p(v) > 1; 0 when none is cut. Jobs only. SPAC table 1."""
    cut = parts_per_datum(graph, clustering) > 1
    return float(graph.degrees()[cut].mean()) if cut.any() else 0.0


def edge_cut(graph: LocalityGraph, clustering: Partition) -> float:
    """Weight of the jobs whose data lie in more than one cluster (1 each without job weights). Data only."""
    _check(graph, clustering, "data")
    cut = _distinct(graph.offsets, graph.data, clustering.labels, clustering.k) > 1
    return float(graph.job_weights[cut].sum()) if graph.job_weights.size else float(np.count_nonzero(cut))


def communication_volume(graph: LocalityGraph, clustering: Partition) -> int:
    """Data sent in one exchange.

    Data partition: Σ over data of the clusters other than its own that hold a neighbour of it (Hetero §II). Job
    partition: one of the clusters that touch a datum owns it and the others get it, which is `vertex_copies`.
    """
    if clustering.kind == "jobs":
        return vertex_copies(graph, clustering)
    return int(_foreign_clusters(graph, clustering).sum())


def max_communication_volume(graph: LocalityGraph, clustering: Partition) -> int:
    """Largest share of one cluster in the exchange.

    Data partition: the volume that the cluster's own data send. Job partition: the data that it shares with others,
    each of which it sends or gets.
    """
    if clustering.kind == "jobs":
        _check(graph, clustering, "jobs")
        starts, jobs = graph.transpose
        return int(_shared(starts, jobs, clustering.labels, clustering.k).max())
    sent = np.bincount(clustering.labels, _foreign_clusters(graph, clustering), clustering.k)
    return int(sent.max())


def boundary(graph: LocalityGraph, clustering: Partition) -> int:
    """Data on the border: with a neighbour in another cluster (data), or touched by several clusters (jobs)."""
    if clustering.kind == "jobs":
        return int(np.count_nonzero(parts_per_datum(graph, clustering) > 1))
    return int(np.count_nonzero(_foreign_clusters(graph, clustering)))


def loads(graph: LocalityGraph, clustering: Partition, *, weighted: bool = True) -> Floats:
    """Load of each cluster, float64 (k): the weights of its jobs or data, or their number."""
    _check(graph, clustering, clustering.kind)
    weights = graph.job_weights if clustering.kind == "jobs" else graph.data_weights
    if weighted and weights.size:
        return np.bincount(clustering.labels, weights, clustering.k).astype(np.float64)
    return clustering.sizes().astype(np.float64)


def load_imbalance(graph: LocalityGraph, clustering: Partition) -> float:
    """Largest / mean number of members of a cluster, at least 1; 1 when there are none."""
    return _imbalance(loads(graph, clustering, weighted=False))


def weight_imbalance(graph: LocalityGraph, clustering: Partition) -> float:
    """Largest / mean weight of a cluster: VertexCut's edge weight imbalance (§6.2.2) for jobs.

    For data with several weights each, the largest of their imbalances.
    """
    found = [_imbalance(loads(graph, clustering))]
    if clustering.kind == "data":
        labels, k = clustering.labels, clustering.k
        found += [_imbalance(np.bincount(labels, each, k).astype(np.float64)) for each in graph.more_data_weights.T]
    return max(found)


def target_imbalance(graph: LocalityGraph, clustering: Partition, targets: Floats) -> float:
    """Largest load over its target, for k positive `targets` of any sum; equals `weight_imbalance` for equal ones."""
    _check(graph, clustering, clustering.kind)
    shares = np.asarray(targets, np.float64)
    if shares.shape != (clustering.k,) or not (np.isfinite(shares) & (shares > 0)).all():
        raise ArgumentError(f"targets must be {clustering.k} positive numbers")
    load = loads(graph, clustering)
    total = float(load.sum())
    return float((load / (shares / shares.sum() * total)).max()) if total else 1.0


def hop_cost(graph: LocalityGraph, clustering: Partition, distances: npt.NDArray[np.int32]) -> float:
    """Σ over jobs of weight · hops, from the cluster of the job's first datum to those of its others. Data only.

    `distances`: int32 (k, k), hops between the cores of the clusters. Of a graph, whose jobs are edges, this is the
    hop-bytes metric of process mapping.
    """
    _check(graph, clustering, "data")
    if distances.shape != (clustering.k, clustering.k):
        raise ArgumentError(f"distances are {distances.shape}, ({clustering.k}, {clustering.k}) was expected")
    count = np.diff(graph.offsets)
    job = np.repeat(np.arange(graph.n_jobs), count)
    first = clustering.labels[graph.data[graph.offsets[job]]]
    hops = distances[first, clustering.labels[graph.data]]
    weight = graph.job_weights[job] if graph.job_weights.size else 1.0
    return float((hops * weight).sum())


def memory_violations(graph: LocalityGraph, clustering: Partition, capacities: Floats) -> int:
    """Clusters whose load exceeds their capacity, of k in `capacities`; infinity is no limit. Hetero Eq. 3."""
    room = np.asarray(capacities, np.float64)
    if room.shape != (clustering.k,) or not (room >= 0).all():
        raise ArgumentError(f"capacities must be {clustering.k} numbers of at least 0")
    return int(np.count_nonzero(loads(graph, clustering) > room * (1 + 1e-12)))


def oversized_share(graph: LocalityGraph, clustering: Partition, limit: float = 1.0) -> float:
    """Share of the clusters whose load exceeds `limit` times the mean (ParCubed §2 counts those over 1)."""
    load = loads(graph, clustering)
    return float(np.count_nonzero(load > limit * load.mean() * (1 + 1e-12))) / clustering.k


def empty_parts(clustering: Partition) -> int:
    """Number of clusters without a member. O(labels + k)."""
    return int(np.count_nonzero(clustering.sizes() == 0))


def _check(graph: LocalityGraph, clustering: Partition, kind: str) -> None:
    if clustering.kind != kind:
        raise ArgumentError(
            f"this number is defined for a partition of {kind}, one of {clustering.kind} was given",
            hint=f"partition(..., of={kind!r}) makes one.",
        )
    size = graph.n_jobs if kind == "jobs" else graph.n_data
    if clustering.labels.size != size:
        raise ArgumentError(f"the clustering labels {clustering.labels.size} {kind}, the graph has {size}")


def _imbalance(load: Floats) -> float:
    total = float(load.sum())
    return float(load.max()) * load.size / total if total else 1.0


def _foreign_clusters(graph: LocalityGraph, clustering: Partition) -> Longs:
    """Clusters other than its own among the neighbours of each datum, int64 (data). O(Σ pins of a job, squared)."""
    _check(graph, clustering, "data")
    starts, jobs = graph.transpose
    return _foreign(starts, jobs, graph.offsets, graph.data, clustering.labels, clustering.k)


@compiled(cache=True, nogil=True)
def members_of(labels: Ints, k: int) -> tuple[Ints, Longs]:
    """The members of each cluster, ascending, int32, one cluster after the other, and int64 (k + 1) where each begins.

    O(members + k).
    """
    ends = np.zeros(k + 1, np.int64)
    for member in range(labels.size):
        ends[labels[member] + 1] += 1
    for cluster in range(k):
        ends[cluster + 1] += ends[cluster]
    place, members = ends[:-1].copy(), np.empty(labels.size, np.int32)
    for member in range(labels.size):
        members[place[labels[member]]] = member
        place[labels[member]] += 1
    return members, ends


@compiled(cache=True, nogil=True)
def _touching(offsets: Longs, data: Ints, jobs: Ints, ends: Longs, n_data: int) -> Longs:
    """Clusters that touch each datum; `jobs`, `ends`: of `members_of`."""
    counts, seen = np.zeros(n_data, np.int64), np.full(n_data, -1, np.int32)
    for cluster in range(ends.size - 1):
        for place in range(ends[cluster], ends[cluster + 1]):
            for pin in range(offsets[jobs[place]], offsets[jobs[place] + 1]):
                if seen[data[pin]] != cluster:
                    seen[data[pin]] = cluster
                    counts[data[pin]] += 1
    return counts


@compiled(cache=True, nogil=True)
def _distinct(offsets: Longs, members: Ints, labels: Ints, k: int) -> Longs:
    """Number of distinct labels in each row."""
    counts = np.zeros(offsets.size - 1, np.int64)
    seen = np.full(k, -1, np.int64)
    for row in range(counts.size):
        for i in range(offsets[row], offsets[row + 1]):
            label = labels[members[i]]
            if seen[label] != row:
                seen[label] = row
                counts[row] += 1
    return counts


@compiled(cache=True, nogil=True)
def _shared(offsets: Longs, members: Ints, labels: Ints, k: int) -> Longs:
    """Rows with several labels that each label stands in."""
    counts = np.zeros(k, np.int64)
    seen = np.full(k, -1, np.int64)
    for row in range(offsets.size - 1):
        begin, end = offsets[row], offsets[row + 1]
        several = False
        for i in range(begin, end):
            several |= labels[members[i]] != labels[members[begin]]
        if several:
            for i in range(begin, end):
                label = labels[members[i]]
                if seen[label] != row:
                    seen[label] = row
                    counts[label] += 1
    return counts


@compiled(cache=True, nogil=True)
def _foreign(starts: Longs, jobs: Ints, offsets: Longs, data: Ints, labels: Ints, k: int) -> Longs:
    counts = np.zeros(starts.size - 1, np.int64)
    seen = np.full(k, -1, np.int64)
    for datum in range(counts.size):
        seen[labels[datum]] = datum
        for i in range(starts[datum], starts[datum + 1]):
            for pin in range(offsets[jobs[i]], offsets[jobs[i] + 1]):
                label = labels[data[pin]]
                if seen[label] != datum:
                    seen[label] = datum
                    counts[datum] += 1
    return counts
