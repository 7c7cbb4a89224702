"""Fiduccia-Mattheyses search on pairs of neighbouring parts, many pairs that share no part at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from ..ir.arrays import Floats, Longs
from .crew import Crew, blocks
from .matching import Weighted
from .views import Words, longs, words

NONE = np.uint32(0xFFFFFFFF)
SEARCHES = 2  # of each pair: one for each of its two processors, the better one is kept (Hetero §V)


def refine_pairs(
    graph: Weighted, labels: Words, held: Floats, limits: Floats, crew: Crew, *, sweeps: int, layers: int, patience: int
) -> int:
    """Move vertices between neighbouring parts where that cuts fewer edges.

    In each sweep the pairs of parts that share cut edges are coloured so that pairs of one colour share no part; the
    pairs of one colour are refined at the same time. Moving a vertex between two parts changes no other pair's gains,
    so the result does not depend on the threads. Pairs of two parts that nothing changed in the last sweep rest.

    Args:
        graph: the graph.
        labels: uint32 (vertices), in [0, k); overwritten.
        held: float64 (k), the loads; overwritten.
        limits: float64 (k); parts above theirs only shrink, others never come above.
        crew: the threads.
        sweeps: at most.
        layers: of a breadth-first search from the border whose vertices may move.
        patience: moves without a better state after which a search ends.

    Returns:
        By how much the weight of cut edges fell. O(sweeps · edges + moves · degree · log).

    Source: Geographer-R (Hetero §V); Fiduccia and Mattheyses 1982; rounds as in Holtgrewe et al. 2010.
    """
    k = limits.size
    place = np.full(graph.size, NONE, np.uint32)
    fresh = np.ones(k, np.bool_)
    arrays = (graph.offsets, graph.near, graph.edges, graph.loads)
    total = 0
    for _ in range(sweeps):
        cuts = crew.each(_cut_edges, [(*arrays[:3], labels, k, *part) for part in blocks(graph.size)])
        keys, ends, weights = (np.concatenate([found[i] for found in cuts]) for i in range(3))
        first, second, weight, starts, seeds = _pairs(keys, ends, weights, k)
        heavy_first = np.argsort(-weight, kind="stable")
        live = heavy_first[fresh[first[heavy_first]] | fresh[second[heavy_first]]]
        if live.size == 0:
            break
        colours = _coloured(longs(live), longs(first), longs(second), k)
        fresh = np.zeros(k, np.bool_)
        before = total
        for colour in range(int(colours.max()) + 1):
            chosen = live[colours == colour]
            chunks = np.array_split(chosen, min(chosen.size, 4 * crew.threads)) if crew.threads > 1 else [chosen]
            total += sum(
                crew.each(
                    _refine_all,
                    [
                        (*arrays, labels, held, limits, place, longs(chunk), longs(first), longs(second),
                         longs(starts), words(seeds), fresh, layers, patience)
                        for chunk in chunks
                    ],
                )
            )  # fmt: skip
        if total == before:
            break
    return total


@njit(cache=True, nogil=True)
def _cut_edges(
    offsets: Longs, near: Words, edges: Longs, labels: Words, k: int, begin: int, end: int
) -> tuple[Longs, Words, Longs]:
    """The vertices of [begin, end) once for each other part next to them: the pair of parts, who, the weight cut."""
    count = 0
    for v in range(begin, end):
        for i in range(offsets[v], offsets[v + 1]):
            count += labels[near[i]] != labels[v]
    keys, ends, weights = np.empty(count, np.int64), np.empty(count, np.uint32), np.empty(count, np.int64)
    count = 0
    for v in range(begin, end):
        first = count
        for i in range(offsets[v], offsets[v + 1]):
            a, b = np.int64(labels[v]), np.int64(labels[near[i]])
            if a == b:
                continue
            key = min(a, b) * k + max(a, b)
            for j in range(first, count):
                if keys[j] == key:
                    weights[j] += edges[i]
                    break
            else:
                keys[count], ends[count], weights[count] = key, v, edges[i]
                count += 1
    return keys[:count].copy(), ends[:count].copy(), weights[:count].copy()


@njit(cache=True, nogil=True)
def _pairs(keys: Longs, ends: Words, weights: Longs, k: int) -> tuple[Longs, Longs, Longs, Longs, Words]:
    """Pairs of parts with cut edges between them: both parts, cut weight, and the vertices on their borders."""
    count = keys.size
    order = np.argsort(keys, kind="mergesort")
    first, second = np.empty(count, np.int64), np.empty(count, np.int64)
    weight, starts, seeds = np.zeros(count, np.int64), np.empty(count + 1, np.int64), np.empty(count, np.uint32)
    pairs = 0
    last = np.int64(-1)
    for place in range(count):
        i = order[place]
        if keys[i] != last:
            last = keys[i]
            first[pairs], second[pairs], starts[pairs] = last // k, last % k, place
            pairs += 1
        weight[pairs - 1] += weights[i]
        seeds[place] = ends[i]
    starts[pairs] = count
    return first[:pairs].copy(), second[:pairs].copy(), weight[:pairs].copy(), starts[: pairs + 1].copy(), seeds


@njit(cache=True, nogil=True)
def _coloured(live: Longs, first: Longs, second: Longs, k: int) -> Longs:
    """Greedy colours of the edges `live` of the quotient graph, in that order: the least free at both ends."""
    degrees = np.zeros(k, np.int64)
    for pair in live:
        degrees[first[pair]] += 1
        degrees[second[pair]] += 1
    used = np.zeros((k, 2 * degrees.max()), np.bool_)
    colours = np.empty(live.size, np.int64)
    for i in range(live.size):
        a, b = first[live[i]], second[live[i]]
        colour = 0
        while used[a, colour] or used[b, colour]:
            colour += 1
        used[a, colour] = used[b, colour] = True
        colours[i] = colour
    return colours


@njit(cache=True, nogil=True)
def _refine_all(
    offsets: Longs,
    near: Words,
    edges: Longs,
    loads: Floats,
    labels: Words,
    held: Floats,
    limits: Floats,
    place: Words,
    chosen: Longs,
    first: Longs,
    second: Longs,
    starts: Longs,
    seeds: Words,
    fresh: npt.NDArray[np.bool_],
    layers: int,
    patience: int,
) -> int:
    total = 0
    for pair in chosen:
        a, b = np.uint32(first[pair]), np.uint32(second[pair])
        members = _candidates(offsets, near, labels, place, seeds[starts[pair] : starts[pair + 1]], a, b, layers)
        best_gain, best_over, best_moves = 0, np.inf, np.empty(0, np.uint32)
        for salt in range(SEARCHES):
            gain, over, moves = _search(
                offsets, near, edges, loads, labels, held, limits, place, members, a, b, patience, salt
            )
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
            fresh[a] = fresh[b] = True
        total += best_gain
        for v in members:
            place[v] = NONE
    return total


@njit(cache=True, nogil=True)
def _candidates(
    offsets: Longs, near: Words, labels: Words, place: Words, seeds: Words, a: np.uint32, b: np.uint32, layers: int
) -> Words:
    """Vertices of a and b up to `layers` steps from the border; `place` becomes their place in the result."""
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


@njit(cache=True, nogil=True)
def _search(
    offsets: Longs,
    near: Words,
    edges: Longs,
    loads: Floats,
    labels: Words,
    held: Floats,
    limits: Floats,
    place: Words,
    members: Words,
    a: np.uint32,
    b: np.uint32,
    patience: int,
    salt: int,
) -> tuple[int, float, Words]:
    """One search: gain, load above the limits at its best state, and the moves that lead there; changes nothing."""
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


@njit(cache=True, nogil=True)
def _side(
    heaps: Words, counts: Longs, gains: Longs, loads: Floats, members: Words, load: Floats, limit: Floats, salt: int
) -> int:
    """The side to move from: one that is too full, else the best gain that fits; -1 when nothing can move."""
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
    """Whether m comes off the heap before n: more gain; of equals the earlier one, or with `salt` the later."""
    if gains[m] != gains[n]:
        return gains[m] > gains[n]
    return m < n if salt == 0 else m > n


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _drop(heap: Words, spots: Words, gains: Longs, counts: Longs, s: int, salt: int) -> None:
    """Take the first off the heap."""
    spots[heap[0]] = NONE
    counts[s] -= 1
    if counts[s] > 0:
        heap[0] = heap[counts[s]]
        spots[heap[0]] = 0
        _sink(heap, spots, gains, counts[s], 0, salt)
