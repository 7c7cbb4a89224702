"""The two plain graphs that a vertex partitioner can be given instead of a locality graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.support.arrays import Ints, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .integer_weights import copy_costs, cut_costs
from .typed_views import Words, longs, words

CLIQUE = 8
UNIT = 420  # divisible by 1 … 7, so that clique weights UNIT / (d - 1) are whole numbers


@dataclass(frozen=True, eq=False)
class PlainGraph:
    """A simple undirected graph with positive integer edge weights, as METIS wants it.

    Attributes:
        offsets: int64 (vertices + 1).
        neighbours: int32, both directions of each edge stored.
        edge_weights: int64, one per entry of `neighbours`.
    """

    offsets: Longs
    neighbours: Ints
    edge_weights: Longs

    @property
    def size(self) -> int:
        return self.offsets.size - 1


def data_graph(graph: LocalityGraph) -> PlainGraph:
    """Data are vertices, joined where a job touches both.

    A job of two data gives one edge; of 3 to 8 data a clique whose weights sum, over any single datum cut off, to
    the same unit; of more data a path in program order, since a clique would cost d² and a star an artificial hub.
    All of it times what it costs to cut the job (`integer_weights.cut_costs`); jobs that cost nothing give no edge.
    Parallel edges are merged, weights added. O(pins · 8).
    """
    return merged(*_pairs(graph), graph.n_data)


class EdgeStream(NamedTuple):
    """The edges of a data graph in the order of the jobs, neither merged nor free of loops.

    Attributes:
        size: number of vertices.
        ends: uint32, both ends of edge i at 2 i and 2 i + 1.
        weights: int64, of each edge; empty means 1 each.
        starts, names: int64 (size + 1), uint32: the edges of each vertex, loops twice.
    """

    size: int
    ends: Words
    weights: Longs
    starts: Longs
    names: Words


def edge_stream(graph: LocalityGraph) -> EdgeStream:
    """`data_graph` without the work of making rows of neighbours: where every job has two data it is the graph itself.

    O(pins · 8); O(jobs) where every job has two data, none costs nothing, and the graph knows its transpose. Raises
    ArgumentError where the ends of all edges are 2**32 or more.
    """
    costs = cut_costs(graph)
    if has_pairs(graph) and costs.min(initial=1) > 0:
        starts, jobs = graph.transpose
        return EdgeStream(graph.n_data, words(graph.data), longs(costs), longs(starts), words(jobs))
    u, v, weight = _pairs(graph)
    if 2 * u.size >= 2**32:
        raise ArgumentError(f"the graph of the data has {u.size} edges with two ends each, fewer than 2**32 ends fit")
    ends = np.stack([u, v], axis=1).ravel()
    starts, names = _incidence(words(ends), graph.n_data)
    return EdgeStream(graph.n_data, words(ends), longs(weight), longs(starts), words(names))


def has_pairs(graph: LocalityGraph) -> bool:
    """Whether every job touches two data (which may be the same). O(jobs)."""
    return graph.n_pins == 2 * graph.n_jobs and bool(_all_two(longs(graph.offsets)))


def job_graph(graph: LocalityGraph, *, ring: bool = False) -> PlainGraph:
    """The contracted split-and-connect graph: one vertex per job, a path through the jobs of each datum.

    This is SPAC's graph (§3.2, definition 3.2) with both ends of every dominant edge merged: no dominant edge can
    be cut, no infinite weight is needed, and any number of data per job works. Jobs stand on a datum's path in job
    order; `ring` also joins its last job to its first, as the seed's experiments do. An edge weighs what a copy of the
    datum costs (`integer_weights.copy_costs`), merged ones their sum.

    Returns:
        A PlainGraph of `n_jobs` vertices. O(pins).
    """
    starts, jobs = graph.transpose
    return merged(*_link_jobs(longs(starts), words(jobs), longs(copy_costs(graph)), ring), graph.n_jobs)


def merged(u: Words, v: Words, weight: Longs, size: int) -> PlainGraph:
    """The graph of these edges on `size` vertices: self-loops dropped, weights of parallel edges added. O(edges)."""
    offsets, near, weights = _merge(words(u), words(v), longs(weight), size)
    return PlainGraph(offsets, near.view(np.int32), weights)


def _pairs(graph: LocalityGraph) -> tuple[Words, Words, Longs]:
    """Both ends and the weight of each edge of the data graph, parallel ones one by one."""
    plain = bool((np.diff(graph.offsets) <= 2).all())
    pairs = _count_pairs(longs(graph.offsets))
    u, v, weight = np.empty(pairs, np.uint32), np.empty(pairs, np.uint32), np.empty(pairs, np.int64)
    costs = longs(cut_costs(graph))
    count = _expand_jobs(longs(graph.offsets), words(graph.data), costs, 1 if plain else UNIT, u, v, weight)
    return u[:count], v[:count], weight[:count]


@kept
def _all_two(offsets: Longs) -> bool:
    other = 0
    for job in range(offsets.size):
        other |= offsets[job] ^ 2 * job
    return other == 0


@kept
def _incidence(ends: Words, size: int) -> tuple[Longs, Words]:
    """The edges of each vertex, rising."""
    starts = np.zeros(size + 2, np.int64)
    for i in range(ends.size):
        starts[ends[i] + np.uint32(2)] += 1
    for v in range(size):
        starts[v + 2] += starts[v + 1]
    names = np.empty(ends.size, np.uint32)
    for i in range(ends.size):
        place = starts[ends[i] + np.uint32(1)]
        names[place] = i >> 1
        starts[ends[i] + np.uint32(1)] = place + 1
    return starts[: size + 1].copy(), names


@kept
def _count_pairs(offsets: Longs) -> int:
    total = 0
    for job in range(offsets.size - 1):
        d = offsets[job + 1] - offsets[job]
        total += d * (d - 1) // 2 if d <= CLIQUE else d - 1
    return total


@kept
def _expand_jobs(offsets: Longs, data: Words, costs: Longs, unit: int, u: Words, v: Words, weight: Longs) -> int:
    count = 0
    for job in range(offsets.size - 1):
        begin, end = offsets[job], offsets[job + 1]
        clique = end - begin <= CLIQUE
        cost = costs[job] if costs.size else 1
        if cost == 0:
            continue
        for i in range(begin, end - 1):
            for j in range(i + 1, end if clique else i + 2):
                u[count], v[count] = data[i], data[j]
                weight[count] = (unit // (end - begin - 1) if clique else unit) * cost
                count += 1
    return count


@kept
def _link_jobs(starts: Longs, jobs: Words, costs: Longs, ring: bool) -> tuple[Words, Words, Longs]:
    u, v = np.empty(jobs.size, np.uint32), np.empty(jobs.size, np.uint32)
    weight = np.empty(jobs.size, np.int64)
    count = 0
    for datum in range(starts.size - 1):
        begin, end = starts[datum], starts[datum + 1]
        cost = costs[datum] if costs.size else 1
        if cost == 0:
            continue
        for i in range(begin, end - 1):
            if jobs[i] != jobs[i + 1]:
                u[count], v[count], weight[count] = jobs[i], jobs[i + 1], cost
                count += 1
        if ring and end - begin > 2 and jobs[begin] != jobs[end - 1]:
            u[count], v[count], weight[count] = jobs[begin], jobs[end - 1], cost
            count += 1
    return u[:count], v[:count], weight[:count]


@kept
def _merge(u: Words, v: Words, weight: Longs, size: int) -> tuple[Longs, Words, Longs]:
    """Symmetric CSR of the pairs: self-loops dropped, parallel edges merged, neighbours in order of first mention."""
    starts = np.zeros(size + 1, np.int64)
    for i in range(u.size):
        if u[i] != v[i]:
            starts[u[i] + 1] += 1
            starts[v[i] + 1] += 1
    for vertex in range(size):
        starts[vertex + 1] += starts[vertex]
    near = np.empty(starts[size], np.uint32)
    weights = np.empty(starts[size], np.int64)
    place = starts[:size].copy()
    for i in range(u.size):
        if u[i] != v[i]:
            near[place[u[i]]], weights[place[u[i]]] = v[i], weight[i]
            place[u[i]] += 1
            near[place[v[i]]], weights[place[v[i]]] = u[i], weight[i]
            place[v[i]] += 1
    # Rows shrink in place: the write position never overtakes the read position.
    offsets = np.zeros(size + 1, np.int64)
    found = np.full(size, -1, np.int64)
    count = 0
    for vertex in range(size):
        first = count
        for i in range(starts[vertex], starts[vertex + 1]):
            other = near[i]
            if found[other] >= first:
                weights[found[other]] += weights[i]
            else:
                found[other] = count
                near[count], weights[count] = other, weights[i]
                count += 1
        offsets[vertex + 1] = count
    return offsets, near[:count].copy(), weights[:count].copy()
