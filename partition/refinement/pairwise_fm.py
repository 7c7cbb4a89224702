"""Fiduccia-Mattheyses search on pairs of neighbouring parts; pairs that share no part are searched concurrently."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.partition.coarsening.edge_matching import Weighted
from tracecut.partition.datastructures.typed_views import Words, longs
from tracecut.partition.parallel.barrier import new_barrier, next_item, run_threads, wait_all
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

from .quotient_graph import QuotientGraph, coloured, quotient_graph

NONE = np.uint32(0xFFFFFFFF)
FEW = 512  # least boundary vertices for threads: with fewer, one thread finishes before another has started
SEARCHES = 2  # searches per pair: one for each of its two processors, the better one is kept (Hetero §V)


class PairState(NamedTuple):
    """The state of a partition, which concurrent searches on disjoint pairs of parts change.

    Attributes:
        labels: uint32 (vertices), the part of each vertex.
        held: float64 (k), the load of each part.
        limits: float64 (k), the balance constraint.
        place: uint32 (vertices), the place of a vertex among the candidates of the search that it is in, else NONE.
        changed: bool (k), the parts that changed in this sweep.
    """

    labels: Words
    held: Floats
    limits: Floats
    place: Words
    changed: npt.NDArray[np.bool_]


def refine_pairs(
    graph: Weighted,
    labels: Words,
    held: Floats,
    limits: Floats,
    pool: ThreadPool,
    *,
    sweeps: int,
    layers: int,
    patience: int,
) -> int:
    """Move vertices between neighbouring parts to reduce the edge cut.

    In each sweep the pairs of parts that share cut edges are coloured so that pairs of one colour share no part; the
    pairs of one colour are refined at the same time. Moving a vertex between two parts changes no other pair's gains,
    so the result does not depend on the threads. Pairs whose parts did not change in the last sweep are skipped.

    Args:
        graph: the graph.
        labels: uint32 (vertices), in [0, k); overwritten.
        held: float64 (k), the loads; overwritten.
        limits: float64 (k); parts above their limit only shrink, others never exceed it.
        pool: the threads.
        sweeps: largest number of sweeps.
        layers: of a breadth-first search from the boundary whose vertices may move.
        patience: moves without a better state after which a search ends.

    Returns:
        The reduction of the edge cut. O(sweeps · edges + moves · degree · log).

    Source: Geographer-R (Hetero §V); Fiduccia and Mattheyses 1982; rounds as in Holtgrewe et al. 2010.
    """
    k = limits.size
    place = np.full(graph.size, NONE, np.uint32)
    changed = np.ones(k, np.bool_)
    total = 0
    for _ in range(sweeps):
        quotient = quotient_graph(graph, labels, k, pool)
        heavy_first = np.argsort(-quotient.weight, kind="stable")
        pairs = heavy_first[changed[quotient.first[heavy_first]] | changed[quotient.second[heavy_first]]]
        if pairs.size == 0:
            break
        colours = coloured(longs(pairs), quotient.first, quotient.second, k)
        in_turn = longs(pairs[np.argsort(colours, kind="stable")])
        rounds = longs(np.concatenate([[0], np.cumsum(np.bincount(colours))]))
        changed = np.zeros(k, np.bool_)
        gains = np.zeros(pairs.size, np.int64)
        state = PairState(labels, held, limits, place, changed)
        n_threads = pool.threads if quotient.seeds.size >= FEW else 1
        given = (graph, state, quotient, in_turn, rounds, gains, layers, patience)
        run_threads(_refine_rounds, given, n_threads, new_barrier())
        before, total = total, total + int(gains.sum())
        if total == before:
            break
    return total


@kept
def _refine_rounds(
    graph: Weighted, state: PairState, quotient: QuotientGraph, in_turn: Longs, rounds: Longs, gains: Longs,
    layers: int, patience: int, barrier: Longs, rank: int, n_threads: int,
) -> None:  # fmt: skip
    """The work of one thread: refines pairs of one colour until none is left, then waits for the others."""
    for colour in range(rounds.size - 1):
        while True:
            turn = rounds[colour] + next_item(barrier, rounds[colour] + colour * n_threads)
            if turn >= rounds[colour + 1]:
                break
            pair = in_turn[turn]
            a, b = np.uint32(quotient.first[pair]), np.uint32(quotient.second[pair])
            seeds = quotient.seeds[quotient.starts[pair] : quotient.starts[pair + 1]]
            gains[turn] = _refine_pair(graph, state, seeds, a, b, layers, patience)
        if not wait_all(barrier, n_threads):
            return


@kept
def _refine_pair(
    graph: Weighted, state: PairState, seeds: Words, a: np.uint32, b: np.uint32, layers: int, patience: int
) -> int:
    """Apply the moves of the best of several searches between parts a and b; returns their gain."""
    labels, held, _, place, changed = state
    loads = graph.loads
    members = _candidates(graph, state, seeds, a, b, layers)
    best_gain, best_over, best_moves = 0, np.inf, np.empty(0, np.uint32)
    for salt in range(SEARCHES):
        gain, over, moves = _search(graph, state, members, a, b, patience, salt)
        if salt == 0 or over < best_over or (over == best_over and gain > best_gain):
            best_gain, best_over, best_moves = gain, over, moves
    for m in best_moves:
        v = members[m]
        here = labels[v]
        there = b if here == a else a
        labels[v] = there
        held[here] -= loads[v]
        held[there] += loads[v]
    if best_moves.size > 0:
        changed[a] = changed[b] = True
    for v in members:
        place[v] = NONE
    return best_gain


@kept
def _candidates(graph: Weighted, state: PairState, seeds: Words, a: np.uint32, b: np.uint32, layers: int) -> Words:
    """Vertices of a and b up to `layers` steps from their boundary; `place` becomes their place in the result."""
    offsets, near, labels, place = graph.offsets, graph.near, state.labels, state.place
    members = np.empty(4 * seeds.size + 16, np.uint32)
    count = 0
    for v in seeds:
        if labels[v] == a or labels[v] == b:
            members[count] = v
            place[v] = count
            count += 1
    begin = 0
    for _ in range(layers):
        end = count
        for m in range(begin, end):
            v = members[m]
            for i in range(offsets[v], offsets[v + np.uint32(1)]):
                u = near[i]
                if (labels[u] == a or labels[u] == b) and place[u] == NONE:
                    if count == members.size:
                        larger = np.empty(2 * count, np.uint32)
                        larger[:count] = members
                        members = larger
                    members[count] = u
                    place[u] = count
                    count += 1
        begin = end
    return members[:count].copy()


@kept
def _search(
    graph: Weighted, state: PairState, members: Words, a: np.uint32, b: np.uint32, patience: int, salt: int
) -> tuple[int, float, Words]:
    """One search: its gain, the load above the limits in its best state, and the moves that lead there; no side
    effects."""
    offsets, near, edges, loads = graph
    labels, held, limits, place, _ = state
    size = members.size
    side = np.empty(size, np.uint8)
    gains = np.zeros(size, np.int64)
    for m in range(size):
        v = members[m]
        own = labels[v]
        other = b if own == a else a
        side[m] = 0 if own == a else 1
        for i in range(offsets[v], offsets[v + np.uint32(1)]):
            label = labels[near[i]]
            if label == other:
                gains[m] += edges[i]
            elif label == own:
                gains[m] -= edges[i]
    heaps = np.empty((2, size), np.uint32)
    spots = np.empty(size, np.uint32)
    counts = np.zeros(2, np.int64)
    for m in range(size):
        s = side[m]
        heaps[s, counts[s]] = m
        spots[m] = counts[s]
        counts[s] += 1
        _lift(heaps[s], spots, gains, spots[m], salt)
    load = np.array([held[a], held[b]])
    limit = np.array([limits[a], limits[b]])
    moves = np.empty(size, np.uint32)
    count, kept = 0, 0
    gain, best_gain = 0, 0
    over = max(0.0, load[0] - limit[0]) + max(0.0, load[1] - limit[1])
    best_over = over
    best_full = max(load[0] / limit[0], load[1] / limit[1])
    while count - kept < patience:
        s = _side(heaps, counts, gains, loads, members, load, limit, salt)
        if s < 0:
            break
        m = heaps[s, 0]
        _drop(heaps[s], spots, gains, counts, s, salt)
        v = members[m]
        load[s] -= loads[v]
        load[1 - s] += loads[v]
        gain += gains[m]
        side[m] = 2 + s  # moved, from s
        moves[count] = m
        count += 1
        for i in range(offsets[v], offsets[v + np.uint32(1)]):
            u = near[i]
            if labels[u] != a and labels[u] != b:
                continue
            p = place[u]
            if p == NONE or side[p] > 1 or spots[p] == NONE:
                continue
            t = side[p]
            gains[p] += 2 * edges[i] if t == s else -2 * edges[i]
            _lift(heaps[t], spots, gains, spots[p], salt)
            _sink(heaps[t], spots, gains, counts[t], spots[p], salt)
        over = max(0.0, load[0] - limit[0]) + max(0.0, load[1] - limit[1])
        full = max(load[0] / limit[0], load[1] / limit[1])
        if over < best_over or (over == best_over and (gain > best_gain or (gain == best_gain and full < best_full))):
            best_gain, best_over, best_full, kept = gain, over, full, count
    return best_gain, best_over, moves[:kept].copy()


@kept
def _side(
    heaps: Words, counts: Longs, gains: Longs, loads: Floats, members: Words, load: Floats, limit: Floats, salt: int
) -> int:
    """The side to move from: an overfull one, else the one with the best gain that fits; -1 if nothing can move."""
    best, most = -1, 0
    for s in range(2):
        if counts[s] == 0:
            continue
        m = heaps[s, 0]
        fits = load[1 - s] + loads[members[m]] <= limit[1 - s]
        if load[s] > limit[s] and (fits or load[1 - s] <= limit[1 - s]):
            return s
        if not fits:
            continue
        if best < 0 or gains[m] > most or (gains[m] == most and (load[s] * limit[1 - s] > load[1 - s] * limit[s])):
            best, most = s, gains[m]
    return best


@njit(cache=True, nogil=True, inline="always")
def _before(m: int, n: int, gains: Longs, salt: int) -> bool:
    """Whether m leaves the heap before n: larger gain; on ties the earlier one, or with `salt` the later."""
    if gains[m] != gains[n]:
        return gains[m] > gains[n]
    return m < n if salt == 0 else m > n


@kept
def _lift(heap: Words, spots: Words, gains: Longs, spot: int, salt: int) -> None:
    m = heap[spot]
    i = np.int64(spot)
    while i > 0:
        parent = (i - 1) >> 1
        if not _before(m, heap[parent], gains, salt):
            break
        heap[i] = heap[parent]
        spots[heap[i]] = i
        i = parent
    heap[i] = m
    spots[m] = i


@kept
def _sink(heap: Words, spots: Words, gains: Longs, count: int, spot: int, salt: int) -> None:
    m = heap[spot]
    i = np.int64(spot)
    while True:
        child = 2 * i + 1
        if child >= count:
            break
        if child + 1 < count and _before(heap[child + 1], heap[child], gains, salt):
            child += 1
        if not _before(heap[child], m, gains, salt):
            break
        heap[i] = heap[child]
        spots[heap[i]] = i
        i = child
    heap[i] = m
    spots[m] = i


@kept
def _drop(heap: Words, spots: Words, gains: Longs, counts: Longs, s: int, salt: int) -> None:
    """Remove the first entry of the heap."""
    spots[heap[0]] = NONE
    counts[s] -= 1
    if counts[s] > 0:
        heap[0] = heap[counts[s]]
        spots[heap[0]] = 0
        _sink(heap, spots, gains, counts[s], 0, salt)
