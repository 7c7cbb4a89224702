"""Levels of a weighted graph: neighbours inside one part are matched along heavy edges and become one vertex."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numba import njit
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.partition.parallel.thread_pool import Crew, blocks
from tracecut.support.arrays import Floats, Longs

NONE = np.uint32(0xFFFFFFFF)
LIGHT = 1e-200  # what a vertex without load counts for where something is divided by it


@dataclass(frozen=True, eq=False)
class Weighted:
    """An undirected graph with weights on vertices and edges.

    Attributes:
        offsets: int64 (vertices + 1); near: uint32, both directions of each edge; edges: int64, weights as `near`.
        loads: float64 (vertices).
    """

    offsets: Longs
    near: Words
    edges: Longs
    loads: Floats

    @property
    def size(self) -> int:
        return self.loads.size


def halved(graph: Weighted, labels: Words, parts: Longs, heaviest: float, crew: Crew) -> tuple[Weighted, Words]:
    """One step of coarsening.

    Args:
        graph: whose vertices are sorted by label.
        labels: uint32 (vertices).
        parts: int64 (k + 1), the vertices of each label.
        heaviest: load that no matched pair exceeds.
        crew: the threads; the result does not depend on them.

    Returns:
        The coarser graph, in the same order, and the coarse vertex of each vertex, uint32. O(edges).
    """
    mates = np.full(graph.size, NONE, np.uint32)
    arrays = (graph.offsets, graph.near, graph.edges, graph.loads)
    # Whole parts at a time, since nothing is matched across parts.
    cuts = np.searchsorted(parts, [begin for begin, _ in blocks(graph.size)])
    ends = [int(parts[c]) for c in np.unique([*cuts, 0, parts.size - 1])]
    crew.each(_match, [(*arrays, labels, heaviest, mates, *part) for part in pairwise(ends)])
    return contracted(graph, mates, crew)


def contracted(graph: Weighted, mates: Words, crew: Crew) -> tuple[Weighted, Words]:
    """The graph in which each vertex and its mate are one, and the coarse vertex of each vertex.

    `mates` is uint32 (vertices), an involution; a vertex without a mate is its own. O(edges).
    """
    arrays = (graph.offsets, graph.near, graph.edges, graph.loads)
    coarse, heads = _number(mates)
    count = heads.size
    space = _spaces(graph.offsets, mates, heads)
    near, edges = np.empty(graph.near.size, np.uint32), np.empty(graph.near.size, np.int64)
    sizes, loads = np.zeros(count + 1, np.int64), np.empty(count)
    crew.each(
        _contract,
        [(*arrays, mates, coarse, heads, space, near, edges, sizes, loads, *part) for part in blocks(count)],
    )
    offsets = longs(np.cumsum(sizes))
    tight_near, tight_edges = np.empty(int(offsets[-1]), np.uint32), np.empty(int(offsets[-1]), np.int64)
    crew.each(_compact, [(space, offsets, near, edges, tight_near, tight_edges, *part) for part in blocks(count)])
    return Weighted(offsets, words(tight_near), longs(tight_edges), floats(loads)), coarse


@njit(cache=True, nogil=True)
def _match(
    offsets: Longs,
    near: Words,
    edges: Longs,
    loads: Floats,
    labels: Words,
    heaviest: float,
    mates: Words,
    begin: int,
    end: int,
) -> None:
    """Each vertex of [begin, end), in order, takes the free neighbour of its label with most weight² over loads."""
    for v in range(begin, end):
        if mates[v] != NONE:
            continue
        best, most = np.uint32(v), 0.0
        for i in range(offsets[v], offsets[v + 1]):
            u = near[i]
            if labels[u] != labels[v] or mates[u] != NONE or loads[u] + loads[v] > heaviest:
                continue
            value = float(edges[i]) * float(edges[i]) / max(loads[u], LIGHT)
            if value > most:
                best, most = u, value
        mates[v] = best
        mates[best] = np.uint32(v)


@njit(cache=True, nogil=True)
def _number(mates: Words) -> tuple[Words, Words]:
    """The coarse vertex of each vertex, by rising first member, and the first members."""
    coarse = np.empty(mates.size, np.uint32)
    heads = np.empty(mates.size, np.uint32)
    count = 0
    for v in range(mates.size):
        if mates[v] >= v:
            heads[count] = v
            coarse[v] = count
            coarse[mates[v]] = count
            count += 1
    return coarse, heads[:count].copy()


@njit(cache=True, nogil=True)
def _spaces(offsets: Longs, mates: Words, heads: Words) -> Longs:
    """Where each coarse vertex may write: after the neighbours of all members before it."""
    space = np.zeros(heads.size + 1, np.int64)
    for c in range(heads.size):
        v = heads[c]
        u = mates[v]
        size = offsets[v + np.uint32(1)] - offsets[v]
        if u != v:
            size += offsets[u + np.uint32(1)] - offsets[u]
        space[c + 1] = space[c] + size
    return space


@njit(cache=True, nogil=True)
def _contract(
    offsets: Longs,
    fine_near: Words,
    fine_edges: Longs,
    fine_loads: Floats,
    mates: Words,
    coarse: Words,
    heads: Words,
    space: Longs,
    near: Words,
    edges: Longs,
    sizes: Longs,
    loads: Floats,
    begin: int,
    end: int,
) -> None:
    widest = 1
    for c in range(begin, end):
        widest = max(widest, space[c + 1] - space[c])
    slots = 4
    while slots < 2 * widest:
        slots *= 2
    table = np.full(slots, -1, np.int64)
    for c in range(begin, end):
        first = out = space[c]
        head = heads[c]
        pair = mates[head]
        loads[c] = fine_loads[head] + (fine_loads[pair] if pair != head else 0.0)
        size = 4
        while size < 2 * (space[c + 1] - first):
            size *= 2
        mask = size - 1
        for member in range(1 if pair == head else 2):
            v = head if member == 0 else pair
            for i in range(offsets[v], offsets[v + np.uint32(1)]):
                u = coarse[fine_near[i]]
                if u == c:
                    continue
                slot = (np.int64(u) * 0x9E3779B1 >> 7) & mask
                while table[slot] >= 0 and near[table[slot]] != u:
                    slot = (slot + 1) & mask
                if table[slot] >= 0:
                    edges[table[slot]] += fine_edges[i]
                else:
                    table[slot] = out
                    near[out], edges[out] = u, fine_edges[i]
                    out += 1
        sizes[c + 1] = out - first
        table[:size] = -1


@njit(cache=True, nogil=True)
def _compact(
    space: Longs, offsets: Longs, near: Words, edges: Longs, new_near: Words, new_edges: Longs, begin: int, end: int
) -> None:
    for c in range(begin, end):
        shift = space[c] - offsets[c]
        for i in range(offsets[c], offsets[c + 1]):
            new_near[i] = near[i + shift]
            new_edges[i] = edges[i + shift]
