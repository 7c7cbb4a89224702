"""ParCubed's join on several threads: clusters matched along heavy edges, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numba import njit

from ..ir.arrays import Floats, Longs
from .crew import Crew
from .views import Words, floats, longs, words

NONE = np.uint32(0xFFFFFFFF)
LEAST = 8192  # entries of rows: below that, handing them over costs more than reading them
PIECES = 8  # ranges at most


@dataclass(frozen=True, eq=False)
class Rows:
    """An undirected graph with weights on vertices and edges, whose rows may lie apart.

    Attributes:
        first, last: int64 (vertices): where the row of each vertex begins and ends; rows lie in their order.
        near: uint32, both directions of each edge; edges: int64, weights as `near`.
        loads: float64 (vertices).
    """

    first: Longs
    last: Longs
    near: Words
    edges: Longs
    loads: Floats

    @property
    def size(self) -> int:
        return self.loads.size

    @property
    def entries(self) -> int:
        """What the rows hold, and the gaps between them."""
        return int(self.last[-1]) if self.size else 0

    @property
    def arrays(self) -> tuple[Longs, Longs, Words, Longs, Floats]:
        return self.first, self.last, self.near, self.edges, self.loads

    def tight(self) -> tuple[Longs, Words, Longs, Floats]:
        """Offsets, neighbours, weights and loads, with no gap between rows."""
        offsets, near, edges = _tight(self.first, self.last, self.near, self.edges)
        return longs(offsets), words(near), longs(edges), self.loads


def ranges(begins: Longs, entries: int, most: int = PIECES) -> list[tuple[int, int]]:
    """All rows in at most `most` ranges of nearly equal work, whose number depends on the graph alone.

    Args: int64 (rows), where each row begins; where the last one ends.
    """
    pieces = max(1, min(most, entries // LEAST))
    if pieces == 1:
        return [(0, begins.size)]
    cuts = np.searchsorted(begins, [entries * i // pieces for i in range(1, pieces)])
    return list(pairwise([0, *(int(cut) for cut in cuts), begins.size]))


def joined(graph: Rows, heaviest: float, crew: Crew) -> tuple[Rows, Words]:
    """The graph with matched vertices as one, and the coarse vertex of each vertex, uint32, by rising first member.

    Each vertex, one after the other, takes the free neighbour with the most weight² for its load, so that both weigh up
    to `heaviest`. Whoever is matched within a range of its own only, for the sake of threads, gets worse mates: where
    neighbours have numbers far apart, cuts were 3 to 10 % larger. O(edges), of which the merging of rows is shared.
    """
    mates = match(*graph.arrays, heaviest)
    coarse, heads, space = _number(graph.first, graph.last, mates)
    near, edges = np.empty(int(space[-1]), np.uint32), np.empty(int(space[-1]), np.int64)
    first, last, loads = np.empty(heads.size, np.int64), np.empty(heads.size, np.int64), np.empty(heads.size)
    given = (*graph.arrays, mates, coarse, heads, first, last, near, edges, loads)
    parts = ranges(space[:-1], int(space[-1]))
    crew.each(_contract, [(*given, int(space[begin]), begin, end) for begin, end in parts])
    return Rows(longs(first), longs(last), words(near), longs(edges), floats(loads)), coarse


@njit(cache=True, nogil=True)
def match(first: Longs, last: Longs, near: Words, edges: Longs, loads: Floats, heaviest: float) -> Words:
    """The mate of each vertex, uint32, itself where it has none. O(edges)."""
    mates = np.full(loads.size, NONE, np.uint32)
    for v in range(loads.size):
        if mates[v] != NONE:
            continue
        best, most = np.uint32(v), 0.0
        for i in range(first[v], last[v]):
            u = near[i]
            if mates[u] != NONE or loads[u] + loads[v] > heaviest:
                continue
            value = float(edges[i]) * float(edges[i]) / loads[u]
            if value > most:
                best, most = u, value
        mates[v] = best
        mates[best] = np.uint32(v)
    return mates


@njit(cache=True, nogil=True)
def _number(first: Longs, last: Longs, mates: Words) -> tuple[Words, Words, Longs]:
    """The coarse vertex of each vertex, the first members, and where each coarse vertex may write and the last ends."""
    coarse, heads = np.empty(mates.size, np.uint32), np.empty(mates.size, np.uint32)
    space = np.zeros(mates.size + 1, np.int64)
    count = 0
    for v in range(mates.size):
        pair = mates[v]
        if pair >= v:
            heads[count] = v
            coarse[v] = count
            coarse[pair] = count
            length = last[v] - first[v]
            if pair != v:
                length += last[pair] - first[pair]
            space[count + 1] = space[count] + length
            count += 1
    return coarse, heads[:count].copy(), space[: count + 1].copy()


@njit(cache=True, nogil=True)
def _contract(
    first: Longs, last: Longs, near: Words, edges: Longs, loads: Floats, mates: Words, coarse: Words, heads: Words,
    new_first: Longs, new_last: Longs, new_near: Words, new_edges: Longs, new_loads: Floats,
    place: int, begin: int, end: int,
) -> None:  # fmt: skip
    """The rows of the coarse vertices of [begin, end), written one after the other from `place` on."""
    spot = np.full(heads.size, -1, np.int64)
    for c in range(begin, end):
        start = place
        head = heads[c]
        pair = mates[head]
        load = loads[head]
        if pair != head:
            load += loads[pair]
        for member in range(1 if pair == head else 2):
            v = head if member == 0 else pair
            for i in range(first[v], last[v]):
                u = coarse[near[i]]
                if u == c:
                    continue
                seen = spot[u]
                if seen >= start:
                    new_edges[seen] += edges[i]
                else:
                    spot[u] = place
                    new_near[place], new_edges[place] = u, edges[i]
                    place += 1
        new_first[c], new_last[c], new_loads[c] = start, place, load


@njit(cache=True, nogil=True)
def _tight(first: Longs, last: Longs, near: Words, edges: Longs) -> tuple[Longs, Words, Longs]:
    offsets = np.zeros(first.size + 1, np.int64)
    for v in range(first.size):
        offsets[v + 1] = offsets[v] + last[v] - first[v]
    new_near, new_edges = np.empty(offsets[-1], np.uint32), np.empty(offsets[-1], np.int64)
    for v in range(first.size):
        shift = first[v] - offsets[v]
        for i in range(offsets[v], offsets[v + 1]):
            new_near[i], new_edges[i] = near[i + shift], edges[i + shift]
    return offsets, new_near, new_edges
