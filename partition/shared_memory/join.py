"""ParCubed's join on several threads: clusters matched along heavy edges, level by level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from tracecut.partition.coarsening.edge_matching import LIGHT
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.partition.parallel.barrier import meet
from tracecut.partition.parallel.ordered_pieces import finish, parts, piece, ready, restart, rows, side_by_side, wait
from tracecut.partition.parallel.thread_pool import Crew
from tracecut.support.arrays import Floats, Longs

from .cluster_graph import Halves, mirror

NONE = np.uint32(0xFFFFFFFF)
LEAST = 1 << 10  # entries of rows in a piece
PIECES = 16  # at most
ROOM = 4  # times the finest level that all levels have room for, before more is made,
ROOMIER, MANY = 12, 10  # or as many where a vertex has that many neighbours: hardly any edges fall together
LEVELS = 256  # at most: each is smaller by a tenth
LEVEL, FULL, GO = range(3)  # what threads agree on: the coarsest level, whether room is short, whether to go on


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
        return int(self.last[-1] - self.first[0]) if self.size else 0

    def tight(self) -> tuple[Longs, Words, Longs, Floats]:
        """Offsets, neighbours, weights and loads, with no gap between rows."""
        offsets, near, edges = _tight(self.first, self.last, self.near, self.edges)
        return longs(offsets), words(near), longs(edges), floats(self.loads)


@dataclass(frozen=True, eq=False)
class Levels:
    """A graph and coarser ones, one behind the other in the same arrays.

    Attributes:
        bounds: int64 (levels + 1): level i owns the vertices of [bounds[i], bounds[i + 1]), the finest is level 0.
        first, last, near, edges, loads: as in `Rows`, all levels together; neighbours are counted within a level.
        coarse: uint32 (vertices): the vertex of the next level that each became, counted within that.
    """

    bounds: Longs
    first: Longs
    last: Longs
    near: Words
    edges: Longs
    loads: Floats
    coarse: Words

    @property
    def count(self) -> int:
        return self.bounds.size - 1

    def level(self, i: int) -> Rows:
        own = slice(int(self.bounds[i]), int(self.bounds[i + 1]))
        return Rows(self.first[own], self.last[own], self.near, self.edges, self.loads[own])


def joined(graph: Halves, loads: Floats, heaviest: float, goal: int, crew: Crew) -> Levels:
    """A graph of clusters and ever coarser ones, until one has up to `goal` vertices or hardly fewer than the last.

    Each vertex, one after the other, takes the free neighbour with the most weight² for its load, so that both weigh up
    to `heaviest`; coarse vertices are numbered by rising first member. Whoever is matched within a range of its own
    only, for the sake of threads, gets worse mates: where neighbours have numbers far apart, cuts were 3 to 10 %
    larger. So one thread matches, behind those that make the rows. O(edges).
    """
    n = loads.size
    entries = int(graph.last[-1]) if n else 0
    room, space = ROOM * n, (ROOM if entries < MANY * n else ROOMIER) * entries
    near, edges = np.empty(space, np.uint32), np.empty(space, np.int64)
    first, last, own = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    first[:n], last[:n], own[:n] = graph.first, graph.last, loads
    coarse, bounds = np.empty(room, np.uint32), np.zeros(LEVELS + 1, np.int64)
    mates, heads, begins = np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n + 1, np.int64)
    bounds[1], state = n, np.zeros(3, np.int64)
    halves = graph.arrays
    while True:
        given = (first, last, near, edges, own, coarse, bounds, mates, heads, begins, heaviest, goal, LEAST, state)
        side_by_side(crew, _join, (*halves, *given))
        if state[FULL] == 0:
            break
        halves = (*halves[:-1], np.zeros(1, np.int64))
        near, edges = (np.concatenate([values, np.empty_like(values)]) for values in (near, edges))
        first, last, own, coarse = (
            np.concatenate([values, np.empty_like(values)]) for values in (first, last, own, coarse)
        )
    return Levels(bounds[: state[LEVEL] + 2].copy(), first, last, near, edges, own, coarse)


@njit(cache=True, nogil=True)
def _join(
    begun: Longs, ends: Longs, far: Words, merged: Longs, upper: Longs, lower: Words, cuts: Longs,
    first: Longs, last: Longs, near: Words, edges: Longs, loads: Floats, coarse: Words, bounds: Longs,
    mates: Words, heads: Words, begins: Longs, heaviest: float, goal: int, least: int, state: Longs,
    own: Longs, rank: int, parties: int,
) -> None:  # fmt: skip
    """The finest rows out of `Halves`, unless `cuts` says that they are there; then level after level while room is."""
    chain, size = 0, bounds[1]
    if rank == 0:
        mates[:] = NONE
    if cuts.size > 1:
        fine, fine_ends, fine_loads = first[:size], last[:size], loads[:size]
        while True:
            if rank == 0:
                while chain < cuts.size - 1 and ready(own, chain) >= 0:
                    match(fine, fine_ends, near, edges, fine_loads, heaviest, mates, cuts[chain], cuts[chain + 1])
                    chain += 1
            i = piece(own)
            if i >= cuts.size - 1:
                break
            mirror(begun, ends, far, merged, upper, lower[i], near, edges, cuts[i], cuts[i + 1])
            finish(own, i, 0)
        while rank == 0 and chain < cuts.size - 1:
            if wait(own, chain) < 0:
                return
            match(fine, fine_ends, near, edges, fine_loads, heaviest, mates, cuts[chain], cuts[chain + 1])
            chain += 1
    elif rank == 0:
        begin, end = bounds[state[LEVEL]], bounds[state[LEVEL] + 1]
        match(first[begin:end], last[begin:end], near, edges, loads[begin:end], heaviest, mates, 0, end - begin)
    if not meet(own, parties):
        return
    spot = np.full(bounds[1], -1, np.int64)
    while True:
        # All others wait for what the first thread decides.
        if rank == 0:
            state[GO] = 0
            state[FULL] = 0
            level = state[LEVEL]
            begin, end = bounds[level], bounds[level + 1]
            if end - begin > goal:
                if 2 * end - begin > loads.size or 2 * last[end - 1] - first[begin] > near.size:
                    state[FULL] = 1
                else:
                    count = _number(
                        first[begin:end], last[begin:end], loads[begin:end], mates, coarse[begin:end], heads, begins,
                        loads[end:],
                    )  # fmt: skip
                    if count <= 0.9 * (end - begin):
                        bounds[level + 2] = end + count
                        state[GO] = 1
                        restart(own)
        if not meet(own, parties) or state[GO] == 0:
            return
        level = state[LEVEL]
        begin, end, top = bounds[level], bounds[level + 1], bounds[level + 2]
        count = top - end
        base, entries = last[end - 1], begins[count]
        pieces = parts(entries, least, PIECES)
        old_first, old_last, old_coarse = first[begin:end], last[begin:end], coarse[begin:end]
        new_first, new_last, new_loads = first[end:top], last[end:top], loads[end:top]
        further, chain = count > goal, 0
        # Rows of the coarser graph by all; as they come, they are matched by the first. Old mates are still looked at,
        # so new ones are written where `heads` does not need them: behind, in the coarse numbers of the new level.
        fresh = coarse[end:top]
        if rank == 0:
            fresh[:] = NONE
        while True:
            if rank == 0 and further:
                while chain < pieces and ready(own, chain) >= 0:
                    low, high = rows(begins[:count], entries, chain, pieces)
                    match(new_first, new_last, near, edges, new_loads, heaviest, fresh, low, high)
                    chain += 1
            i = piece(own)
            if i >= pieces:
                break
            low, high = rows(begins[:count], entries, i, pieces)
            _contract(
                old_first, old_last, near, edges, mates, old_coarse, heads, spot, new_first, new_last,
                base + begins[low], low, high,
            )  # fmt: skip
            finish(own, i, 0)
        while rank == 0 and further and chain < pieces:
            if wait(own, chain) < 0:
                return
            low, high = rows(begins[:count], entries, chain, pieces)
            match(new_first, new_last, near, edges, new_loads, heaviest, fresh, low, high)
            chain += 1
        if not meet(own, parties):
            return
        if rank == 0:
            mates[:count] = fresh
            state[LEVEL] = level + 1


@njit(cache=True, nogil=True)
def match(
    first: Longs, last: Longs, near: Words, edges: Longs, loads: Floats, heaviest: float, mates: Words,
    begin: int, end: int,
) -> None:  # fmt: skip
    """The mates of free vertices of [begin, end), in their order, themselves where they have none. O(their edges)."""
    for v in range(begin, end):
        if mates[v] != NONE:
            continue
        best, most = np.uint32(v), 0.0
        for i in range(first[v], last[v]):
            u = near[i]
            if mates[u] != NONE or loads[u] + loads[v] > heaviest:
                continue
            value = float(edges[i]) * float(edges[i]) / max(loads[u], LIGHT)
            if value > most:
                best, most = u, value
        mates[v] = best
        mates[best] = np.uint32(v)


@njit(cache=True, nogil=True)
def _number(
    first: Longs, last: Longs, loads: Floats, mates: Words, coarse: Words, heads: Words, begins: Longs, sums: Floats
) -> int:
    """How many coarse vertices there are; overwritten are the coarse vertex of each, the first members, where each
    coarse vertex may write and the last ends, and loads of coarse vertices.
    """
    count = 0
    begins[0] = 0
    for v in range(loads.size):
        pair = mates[v]
        if pair >= v:
            heads[count] = v
            coarse[v] = count
            length, load = last[v] - first[v], loads[v]
            if pair != v:
                coarse[pair] = count
                length += last[pair] - first[pair]
                load += loads[pair]
            begins[count + 1] = begins[count] + length
            sums[count] = load
            count += 1
    return count


@njit(cache=True, nogil=True)
def _contract(
    first: Longs, last: Longs, near: Words, edges: Longs, mates: Words, coarse: Words, heads: Words, spot: Longs,
    new_first: Longs, new_last: Longs, place: int, begin: int, end: int,
) -> None:  # fmt: skip
    """The rows of the coarse vertices of [begin, end), written one after the other from `place` on.

    Nothing in `spot` is above `place`.
    """
    for c in range(begin, end):
        start = place
        head = heads[c]
        pair = mates[head]
        for member in range(1 if pair == head else 2):
            v = head if member == 0 else pair
            for i in range(first[v], last[v]):
                u = coarse[near[i]]
                if u == c:
                    continue
                seen = spot[u]
                if seen >= start:
                    edges[seen] += edges[i]
                else:
                    spot[u] = place
                    near[place], edges[place] = u, edges[i]
                    place += 1
        new_first[c], new_last[c] = start, place


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
