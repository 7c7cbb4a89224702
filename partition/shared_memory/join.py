"""ParCubed's join on several threads: clusters matched along heavy edges, level by level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tracecut.partition.coarsening.edge_matching import NONE, Rows, contract, match, number_pairs
from tracecut.partition.datastructures.typed_views import Words
from tracecut.partition.parallel import ordered_pieces as sync
from tracecut.partition.parallel.barrier import wait_all
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

from .cluster_graph import Halves, mirror

LEAST = 1 << 10  # least row entries of a piece
PIECES = 16  # most pieces
ROOM = 4  # initial memory for all levels, as a multiple of the finest level,
ROOMIER, MANY = 12, 10  # or ROOMIER if vertices have MANY neighbours: then few edges are merged
LEVELS = 256  # most levels: each is smaller by at least a tenth
LEVEL, FULL, GO = range(3)  # shared state of the threads: coarsest level, whether memory is short, whether to continue


class Levels(NamedTuple):
    """A graph and its coarser levels, stored one after the other in the same arrays.

    Attributes:
        bounds: int64 (levels + 1): level i owns the vertices of [bounds[i], bounds[i + 1]), the finest is level 0.
        first, last, near, edges, loads: as in `Rows`, for all levels; neighbours are numbered within their level.
        coarse: uint32 (vertices): the coarse vertex of each vertex, numbered within the next level.
    """

    bounds: Longs
    first: Longs
    last: Longs
    near: Words
    edges: Longs
    loads: Floats
    coarse: Words

    @property
    def rows(self) -> Rows:
        """The rows of all levels together."""
        return Rows(self.first, self.last, self.near, self.edges, self.loads)

    @property
    def n_levels(self) -> int:
        return self.bounds.size - 1

    def level(self, i: int) -> Rows:
        own = slice(int(self.bounds[i]), int(self.bounds[i + 1]))
        return Rows(self.first[own], self.last[own], self.near, self.edges, self.loads[own])


class JoinSpace(NamedTuple):
    """Data that the threads of `joined` share in addition to the levels.

    Attributes:
        mates: uint32 (vertices of the finest level), the matching of the present level.
        heads, begins: uint32, int64 (vertices + 1), of its contraction: see `edge_matching.number_pairs`.
        state: int64 (3), decisions: the coarsest level, whether memory is short, whether to continue.
    """

    mates: Words
    heads: Words
    begins: Longs
    state: Longs


def joined(graph: Halves, loads: Floats, heaviest: float, goal: int, pool: ThreadPool) -> Levels:
    """Coarsen a graph of clusters level by level, until a level has at most `goal` vertices or is hardly smaller.

    Each vertex, in order, is matched with the free neighbour of largest weight² / load, if both together weigh at most
    `heaviest`; coarse vertices are numbered by their first members. Matching in parallel within ranges of vertices gave
    cuts 3 to 10 % larger where neighbours have distant numbers, so one thread matches while the others make the rows.
    O(edges).
    """
    n = loads.size
    entries = int(graph.last[-1]) if n else 0
    room, space = ROOM * n, (ROOM if entries < MANY * n else ROOMIER) * entries
    near, edges = np.empty(space, np.uint32), np.empty(space, np.int64)
    first, last, own = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    first[:n], last[:n], own[:n] = graph.first, graph.last, loads
    coarse, bounds = np.empty(room, np.uint32), np.zeros(LEVELS + 1, np.int64)
    bounds[1], state = n, np.zeros(3, np.int64)
    levels = Levels(bounds, first, last, near, edges, own, coarse)
    shared = JoinSpace(np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n + 1, np.int64), state)
    while True:
        sync.side_by_side(pool, _join, (graph, levels, shared, heaviest, goal, LEAST))
        if state[FULL] == 0:
            return levels._replace(bounds=bounds[: state[LEVEL] + 2].copy())
        graph = graph._replace(cuts=np.zeros(1, np.int64))
        levels = Levels(bounds, *(np.concatenate([values, np.empty_like(values)]) for values in levels[1:]))


@kept
def _join(
    halves: Halves, levels: Levels, shared: JoinSpace, heaviest: float, goal: int, least: int, barrier: Longs,
    rank: int, n_threads: int,
) -> None:  # fmt: skip
    """Make the finest rows from `Halves`, unless `cuts` shows that they exist; then coarsen while memory lasts."""
    bounds, first, last, near, edges, loads, coarse = levels
    mates, heads, begins, state = shared
    cuts, no_labels = halves.cuts, np.empty(0, np.uint32)
    chain, size = 0, bounds[1]
    if rank == 0:
        mates[:] = NONE
    if cuts.size > 1:
        fine = Rows(first[:size], last[:size], near, edges, loads[:size])
        while True:
            if rank == 0:
                while chain < cuts.size - 1 and sync.ready(barrier, chain) >= 0:
                    match(fine, no_labels, heaviest, mates, cuts[chain], cuts[chain + 1])
                    chain += 1
            i = sync.piece(barrier)
            if i >= cuts.size - 1:
                break
            mirror(halves, halves.lower[i], near, edges, cuts[i], cuts[i + 1])
            sync.finish(barrier, i, 0)
        while rank == 0 and chain < cuts.size - 1:
            if sync.wait(barrier, chain) < 0:
                return
            match(fine, no_labels, heaviest, mates, cuts[chain], cuts[chain + 1])
            chain += 1
    elif rank == 0:
        begin, end = bounds[state[LEVEL]], bounds[state[LEVEL] + 1]
        fine = Rows(first[begin:end], last[begin:end], near, edges, loads[begin:end])
        match(fine, no_labels, heaviest, mates, 0, end - begin)
    if not wait_all(barrier, n_threads):
        return
    spot = np.zeros(bounds[1], np.int64)
    while True:
        # All other threads wait for the decision of the first.
        if rank == 0:
            state[GO] = 0
            state[FULL] = 0
            level = state[LEVEL]
            begin, end = bounds[level], bounds[level + 1]
            if end - begin > goal:
                if 2 * end - begin > loads.size or 2 * last[end - 1] - first[begin] > near.size:
                    state[FULL] = 1
                else:
                    fine = Rows(first[begin:end], last[begin:end], near, edges, loads[begin:end])
                    count = number_pairs(fine, mates, coarse[begin:end], heads, begins, loads[end:])
                    if count <= 0.9 * (end - begin):
                        bounds[level + 2] = end + count
                        state[GO] = 1
                        sync.restart(barrier)
        if not wait_all(barrier, n_threads) or state[GO] == 0:
            return
        level = state[LEVEL]
        begin, end, top = bounds[level], bounds[level + 1], bounds[level + 2]
        count = top - end
        base, entries = last[end - 1], begins[count]
        pieces = sync.parts(entries, least, PIECES)
        fine = Rows(first[begin:end], last[begin:end], near, edges, loads[begin:end])
        coarser = Rows(first[end:top], last[end:top], near, edges, loads[end:top])
        further, chain = count > goal, 0
        # All threads make rows of the coarser graph; the first thread matches rows as soon as they are complete.
        # Contraction
        # still reads the old mates, so new mates are written to the unused part of the array behind them.
        fresh = coarse[end:top]
        if rank == 0:
            fresh[:] = NONE
        while True:
            if rank == 0 and further:
                while chain < pieces and sync.ready(barrier, chain) >= 0:
                    low, high = sync.row_range(begins[:count], entries, chain, pieces)
                    match(coarser, no_labels, heaviest, fresh, low, high)
                    chain += 1
            i = sync.piece(barrier)
            if i >= pieces:
                break
            low, high = sync.row_range(begins[:count], entries, i, pieces)
            contract(fine, mates, coarse[begin:end], heads, coarser, base + begins[low], low, high, spot)
            sync.finish(barrier, i, 0)
        while rank == 0 and further and chain < pieces:
            if sync.wait(barrier, chain) < 0:
                return
            low, high = sync.row_range(begins[:count], entries, chain, pieces)
            match(coarser, no_labels, heaviest, fresh, low, high)
            chain += 1
        if not wait_all(barrier, n_threads):
            return
        if rank == 0:
            mates[:count] = fresh
            state[LEVEL] = level + 1
