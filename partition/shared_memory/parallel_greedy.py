"""Greedy moves of single vertices between parts, found side by side and made one after the other."""

from __future__ import annotations

import numpy as np
from numba import njit
from tracecut.partition.datastructures.typed_views import Words
from tracecut.partition.initial.greedy_growing import choose
from tracecut.partition.parallel.barrier import meet
from tracecut.partition.parallel.ordered_pieces import (
    finish,
    parts,
    piece,
    ready,
    restart,
    rows,
    side_by_side,
    span,
    wait,
)
from tracecut.partition.parallel.thread_pool import Crew
from tracecut.support.arrays import Floats, Longs

from .join import Levels

LEAST = 1 << 9  # entries of rows in a piece
PIECES = 24  # at most


def settled(graph: Levels, limits: Floats, coarsest: Words, sweeps: int, crew: Crew) -> Words:
    """Labels of the finest level out of those of the coarsest: moves by the rule of `greedy_growing.improve` on every
    level.

    A sweep has two steps, the same for any number of threads. Every vertex is asked whether it would move if it were
    the only one; then those that would are asked again, in their order, and move. One thread makes moves while the
    others still ask, as things were before the sweep. To ask only the neighbours of what moved before is faster, but
    parts change what they hold, and cuts were 1 to 3 % larger.

    Args:
        graph: the levels.
        limits: float64 (k).
        coarsest: uint32, labels of the coarsest level.
        sweeps: over each level but the coarsest; one that moved nothing is the last.
        crew: the threads.

    Returns:
        uint32, labels of the finest level. O(edges · sweeps).
    """
    k, n, room = limits.size, int(graph.bounds[1]), int(graph.bounds[-1])
    labels = np.empty(room, np.uint32)
    labels[int(graph.bounds[-2]) :] = coarsest
    before, wishes = np.empty(n, np.uint32), np.empty(n, np.uint32)
    held, sizes = np.empty((2, k)), np.empty((2, k), np.int64)
    arrays = (graph.bounds, graph.first, graph.last, graph.near, graph.edges, graph.loads, graph.coarse)
    state = np.zeros(1, np.int64)
    side_by_side(crew, _settle, (*arrays, limits, labels, before, wishes, held, sizes, sweeps, LEAST, state))
    return labels[:n]


@njit(cache=True, nogil=True)
def _settle(
    bounds: Longs, first: Longs, last: Longs, near: Words, edges: Longs, loads: Floats, coarse: Words,
    limits: Floats, labels: Words, before: Words, wishes: Words, held: Floats, sizes: Longs,
    sweeps: int, least: int, state: Longs, own: Longs, rank: int, parties: int,
) -> None:  # fmt: skip
    links, met = np.zeros(limits.size, np.int64), np.empty(limits.size, np.uint32)
    for level in range(bounds.size - 3, -1, -1):
        begin, end = bounds[level], bounds[level + 1]
        size = end - begin
        mine = labels[begin:end]
        low, high = span(size, rank, parties)
        _project(labels[end:], coarse[begin:end], mine, low, high)
        if not meet(own, parties):
            return
        if rank == 0:
            filled(loads[begin:end], mine, held[0], sizes[0])
        entries = last[end - 1] - first[begin]
        pieces = parts(entries, least, PIECES)
        starts, stops, weights = first[begin:end], last[begin:end], loads[begin:end]
        for _ in range(sweeps):
            if rank == 0:
                held[1], sizes[1] = held[0], sizes[0]
                restart(own)
            before[low:high] = mine[low:high]
            if not meet(own, parties):
                return
            chain, moved = 0, 0
            while True:
                if rank == 0:
                    while chain < pieces and ready(own, chain) >= 0:
                        start = rows(starts, entries, chain, pieces)[0]
                        chosen = wishes[start : start + ready(own, chain)]
                        moved += commit(
                            starts, stops, near, edges, weights, limits, mine, held[0], sizes[0], chosen, links, met
                        )
                        chain += 1
                i = piece(own)
                if i >= pieces:
                    break
                start, stop = rows(starts, entries, i, pieces)
                count = propose(
                    starts, stops, near, edges, weights, limits, before, held[1], sizes[1], start, stop, wishes, links,
                    met,
                )  # fmt: skip
                finish(own, i, count)
            while rank == 0 and chain < pieces:
                if wait(own, chain) < 0:
                    return
                start = rows(starts, entries, chain, pieces)[0]
                chosen = wishes[start : start + ready(own, chain)]
                moved += commit(
                    starts, stops, near, edges, weights, limits, mine, held[0], sizes[0], chosen, links, met
                )
                chain += 1
            if rank == 0:
                state[0] = moved
            if not meet(own, parties):
                return
            if state[0] == 0:
                break


@njit(cache=True, nogil=True)
def _project(labels: Words, coarse: Words, fine: Words, begin: int, end: int) -> None:
    for v in range(begin, end):
        fine[v] = labels[coarse[v]]


@njit(cache=True, nogil=True)
def filled(loads: Floats, labels: Words, held: Floats, sizes: Longs) -> None:
    """Overwrite loads and members of each part. O(n + k)."""
    held[:], sizes[:] = 0.0, 0
    for v in range(loads.size):
        held[labels[v]] += loads[v]
        sizes[labels[v]] += 1


@njit(cache=True, nogil=True)
def propose(
    first: Longs, last: Longs, near: Words, edges: Longs, loads: Floats, limits: Floats, labels: Words, held: Floats,
    sizes: Longs, begin: int, end: int, wishes: Words, links: Longs, met: Words,
) -> int:  # fmt: skip
    """How many of the vertices of [begin, end) would move, as things are; they are put in `wishes` from `begin` on.

    `links`, int64 (k), holds zeros before and after; `met` is uint32 (k). O(their edges).
    """
    size = begin
    for v in range(begin, end):
        mine, i = labels[v], first[v]
        while i < last[v] and labels[near[i]] == mine:
            i += 1
        if i == last[v] or sizes[mine] == 1:
            continue
        count = 0
        for j in range(first[v], last[v]):
            label = labels[near[j]]
            if links[label] == 0:
                met[count] = label
                count += 1
            links[label] += edges[j]
        best = choose(links, met, count, mine, loads[v], limits, held)
        for j in range(count):
            links[met[j]] = 0
        wishes[size] = v
        size += best != mine
    return size - begin


@njit(cache=True, nogil=True)
def commit(
    first: Longs, last: Longs, near: Words, edges: Longs, loads: Floats, limits: Floats, labels: Words, held: Floats,
    sizes: Longs, chosen: Words, links: Longs, met: Words,
) -> int:  # fmt: skip
    """Move each of `chosen`, in that order, to where it should be by then; how many moved. O(their edges)."""
    moved = 0
    for v in chosen:
        mine, count = labels[v], 0
        for j in range(first[v], last[v]):
            label = labels[near[j]]
            if links[label] == 0:
                met[count] = label
                count += 1
            links[label] += edges[j]
        best = choose(links, met, count, mine, loads[v], limits, held) if sizes[mine] > 1 else mine
        for j in range(count):
            links[met[j]] = 0
        if best != mine:
            labels[v] = best
            held[mine] -= loads[v]
            held[best] += loads[v]
            sizes[mine] -= 1
            sizes[best] += 1
            moved += 1
    return moved
