"""The two plain graphs that a vertex partitioner can be given instead of a locality graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from ..ir.arrays import Floats, Ints, Longs
from ..ir.graph import LocalityGraph
from .views import Words, longs, words

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
    Parallel edges are merged, weights added. O(pins · 8).
    """
    sizes = np.diff(graph.offsets)
    plain = bool((sizes <= 2).all())
    pairs = _count_pairs(longs(graph.offsets))
    u, v, weight = np.empty(pairs, np.uint32), np.empty(pairs, np.uint32), np.empty(pairs, np.uint32)
    _expand_jobs(longs(graph.offsets), words(graph.data), 1 if plain else UNIT, u, v, weight)
    return merged(u, v, weight, graph.n_data)


def job_graph(graph: LocalityGraph, *, ring: bool = False) -> PlainGraph:
    """The contracted split-and-connect graph: one vertex per job, a path through the jobs of each datum.

    This is SPAC's graph (§3.2, definition 3.2) with both ends of every dominant edge merged: no dominant edge can
    be cut, no infinite weight is needed, and any number of data per job works. Jobs stand on a datum's path in job
    order; `ring` also joins its last job to its first, as the seed's experiments do. Weights count merged edges.

    Returns:
        A PlainGraph of `n_jobs` vertices. O(pins).
    """
    starts, jobs = graph.transpose
    u, v = _link_jobs(longs(starts), words(jobs), ring)
    return merged(u, v, np.ones(u.size, np.uint32), graph.n_jobs)


def whole(weights: Floats, mean: int = 1000) -> Longs:
    """Positive integers proportional to `weights`: exactly where these are small integers, else `mean` on average."""
    if weights.size == 0:
        return np.zeros(0, np.int64)
    if (weights == np.rint(weights)).all() and weights.max() <= 1 << 20:
        return weights.astype(np.int64)
    return np.maximum(1, np.rint(weights * (mean / weights.mean()))).astype(np.int64)


def merged(u: Words, v: Words, weight: Words, size: int) -> PlainGraph:
    """The graph of these edges on `size` vertices: self-loops dropped, weights of parallel edges added. O(edges)."""
    offsets, near, weights = _merge(words(u), words(v), weight, size)
    return PlainGraph(offsets, near.view(np.int32), weights)


@njit(cache=True, nogil=True)
def _count_pairs(offsets: Longs) -> int:
    total = 0
    for job in range(offsets.size - 1):
        d = offsets[job + 1] - offsets[job]
        total += d * (d - 1) // 2 if d <= CLIQUE else d - 1
    return total


@njit(cache=True, nogil=True)
def _expand_jobs(offsets: Longs, data: Words, unit: int, u: Words, v: Words, weight: Words) -> None:
    count = 0
    for job in range(offsets.size - 1):
        begin, end = offsets[job], offsets[job + 1]
        clique = end - begin <= CLIQUE
        for i in range(begin, end - 1):
            for j in range(i + 1, end if clique else i + 2):
                u[count], v[count] = data[i], data[j]
                weight[count] = unit // (end - begin - 1) if clique else unit
                count += 1


@njit(cache=True, nogil=True)
def _link_jobs(starts: Longs, jobs: Words, ring: bool) -> tuple[Words, Words]:
    u, v = np.empty(jobs.size, np.uint32), np.empty(jobs.size, np.uint32)
    count = 0
    for datum in range(starts.size - 1):
        begin, end = starts[datum], starts[datum + 1]
        for i in range(begin, end - 1):
            if jobs[i] != jobs[i + 1]:
                u[count], v[count] = jobs[i], jobs[i + 1]
                count += 1
        if ring and end - begin > 2 and jobs[begin] != jobs[end - 1]:
            u[count], v[count] = jobs[begin], jobs[end - 1]
            count += 1
    return u[:count], v[:count]


@njit(cache=True, nogil=True)
def _merge(u: Words, v: Words, weight: Words, size: int) -> tuple[Longs, Words, Longs]:
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
