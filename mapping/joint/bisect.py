"""Bisection of one region of a graph, taking its surroundings into account: a small multilevel method in one kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tracecut.partition.coarsening.edge_matching import NONE, Weighted
from tracecut.partition.datastructures.shuffle import mixed
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Bytes, Floats, Longs
from tracecut.support.lazy_kernels import kept

from .levels import halved
from .vertex_heap import Heap, put, take

SMALL = 80  # vertices that are cut without coarsening further
MIDDLE = 3000  # vertices of the level from which a region is cut several times
HEAVIEST = 1.5  # largest load of a coarse vertex, as a multiple of total load / SMALL
ENDED = 0.95  # coarsening that leaves more than this share of the vertices has ended
TRIES = 3  # first cuts of the coarsest level, of which the best is kept
PASSES = 4  # of refinement on a level, at most; one after each first cut
PATIENCE = 30  # moves without a new best after which a pass ends


class Part(NamedTuple):
    """A region by itself, its vertices numbered anew.

    Attributes:
        offsets: int64 (vertices + 1); near: uint32, both directions of each edge.
        edges: int64, as `near`, what it costs to cut each.
        loads: float64 (vertices).
        bias: int64 (vertices), what each costs more on side 1 than on side 0, for what it is tied to outside.
    """

    offsets: Longs
    near: Words
    edges: Longs
    loads: Floats
    bias: Longs


@kept
def bisected(part: Part, wanted: float, limits: Floats, seed: Any, repeats: int, zero: Heap, one: Heap) -> Bytes:
    """Side 0 or 1 of each vertex, uint8 (vertices).

    Levels of more than MIDDLE vertices are made and refined once; what lies below them is cut in `repeats` runs of its
    own coarsening, of which the best goes up: large levels take most of the time and decide least.

    Args:
        part: the region. wanted: load of side 1 that growth aims at.
        limits: float64 (2), the most that each side may hold, kept where vertices allow.
        zero, one: empty heaps of as many vertices, empty again in the end.

    O((edges + repeats · edges of the middle level) · log).
    """
    heaviest = HEAVIEST * part.loads.sum() / SMALL
    state = mixed(np.uint64(seed))
    levels, maps = _levels(part, MIDDLE, heaviest, state)
    middle = levels[-1]
    best, least_over, least = np.zeros(middle.loads.size, np.uint8), np.inf, np.int64(0)
    for _ in range(repeats):
        state = mixed(state)
        side = _run(middle, wanted, limits, heaviest, state, zero, one)
        over, cost = over_sides(middle, side, limits), cost_of_sides(middle, side)
        if over < least_over or (over == least_over and cost < least):
            best, least_over, least = side, over, cost
    return _lifted(levels, maps, best, limits, zero, one)


@kept
def _run(part: Part, wanted: float, limits: Floats, heaviest: float, state: np.uint64, zero: Heap, one: Heap) -> Bytes:
    """Coarsening to the end, first cuts, and the best of them refined on each level."""
    levels, maps = _levels(part, SMALL, heaviest, state)
    side, least_over, least = np.zeros(levels[-1].loads.size, np.uint8), np.inf, np.int64(0)
    last = levels[-1]
    for attempt in range(TRIES):
        state = mixed(state)
        start = _first(last, attempt, state)
        grown = _grown(last, start, wanted, one)
        refined(last, grown, limits, 1, zero, one)
        over, cost = over_sides(last, grown, limits), cost_of_sides(last, grown)
        if over < least_over or (over == least_over and cost < least):
            side, least_over, least = grown, over, cost
    refined(last, side, limits, PASSES, zero, one)
    return _lifted(levels, maps, side, limits, zero, one)


@kept
def _levels(part: Part, size: int, heaviest: float, state: np.uint64) -> tuple[list[Part], list[Words]]:
    """The part and coarser ones of it down to `size` vertices, and the vertex of the next one that each goes to."""
    levels, maps = [part], [np.zeros(0, np.uint32)]
    while levels[-1].loads.size > size:
        state = mixed(state)
        coarse, names = _coarser(levels[-1], heaviest, np.int64(state >> np.uint64(33)))
        if coarse.loads.size > ENDED * levels[-1].loads.size:
            break
        levels.append(coarse)
        maps.append(names)
    return levels, maps


@kept
def _lifted(levels: list[Part], maps: list[Words], side: Bytes, limits: Floats, zero: Heap, one: Heap) -> Bytes:
    """Sides of the last level brought to the first one, refined on each."""
    for level in range(len(levels) - 2, -1, -1):
        names = maps[level + 1]
        finer = np.empty(names.size, np.uint8)
        for v in range(names.size):
            finer[v] = side[names[v]]
        side = finer
        refined(levels[level], side, limits, PASSES, zero, one)
    return side


@kept
def _coarser(part: Part, heaviest: float, seed: Any) -> tuple[Part, Words]:
    """A level of about half the vertices, and the coarse vertex of each."""
    offsets, near, edges, loads, bias = part
    found, coarse = halved(Weighted(offsets, near, edges, loads), heaviest, seed)
    biases = np.zeros(found.loads.size, np.int64)
    for v in range(loads.size):
        biases[coarse[v]] += bias[v]
    return Part(found.offsets, found.near, found.edges, found.loads, biases), coarse


@kept
def _first(part: Part, attempt: int, state: np.uint64) -> np.uint32:
    """Where side 1 grows from: first where the surroundings want it most, then anywhere."""
    start = np.uint32(state % np.uint64(part.loads.size))
    if attempt == 0:
        for v in range(part.loads.size):
            if part.bias[v] < part.bias[start]:
                start = np.uint32(v)
    return start


@kept
def _grown(part: Part, start: np.uint32, wanted: float, found: Heap) -> Bytes:
    """Side 1 grown from one vertex, by the gain of each, until it has its load. O(edges · log)."""
    offsets, near, edges, loads, _ = part
    side = np.zeros(loads.size, np.uint8)
    held, free = 0.0, 0
    v = start
    while True:
        if held + loads[v] - wanted > wanted - held and held > 0.0:
            break
        side[v] = 1
        held += loads[v]
        if held >= wanted:
            break
        take(found, v)
        for i in range(offsets[v], offsets[v + np.uint32(1)]):
            u = near[i]
            if side[u] == 0:
                if found.places[u] == NONE:
                    put(found, u, gain_of(part, u, side))
                else:
                    put(found, u, found.gains[u] + 2 * edges[i])
        if found.size[0] > 0:
            v = found.vertices[0]
            continue
        while free < loads.size and side[free] == 1:
            free += 1
        if free == loads.size:
            break
        v = np.uint32(free)
    emptied(found)
    return side


@kept
def refined(part: Part, side: Bytes, limits: Floats, passes: int, zero: Heap, one: Heap) -> None:
    """Passes of Fiduccia and Mattheyses on the two sides, each of which keeps the best prefix of its moves.

    Better is less load above the limits, then less cost. While a pass goes on, a side may hold one vertex more than its
    limit. `side`, uint8 (vertices), is changed in place.
    """
    offsets, near, edges, loads, _ = part
    n = loads.size
    held, heaviest = np.zeros(2), 0.0
    for v in range(n):
        held[side[v]] += loads[v]
        heaviest = max(heaviest, loads[v])
    trail, moved = np.empty(n, np.uint32), np.zeros(n, np.uint8)
    for turn in range(1, passes + 1):
        for v in range(n):
            own, gain, cut = side[v], part.bias[v] if side[v] else -part.bias[v], False
            for i in range(offsets[v], offsets[v + 1]):
                if side[near[i]] == own:
                    gain -= edges[i]
                else:
                    gain += edges[i]
                    cut = True
            if cut or gain >= 0:
                put(one if own else zero, np.uint32(v), gain)
        now, best, count, kept, idle = np.int64(0), np.int64(0), 0, 0, 0
        over = max(held[0] - limits[0], 0.0) + max(held[1] - limits[1], 0.0)
        while idle < PATIENCE:
            own = _next_side(loads, held, limits, heaviest, zero, one)
            if own == 2:
                break
            if own == 3:
                continue
            v = one.vertices[0] if own else zero.vertices[0]
            now += one.gains[v] if own else zero.gains[v]
            take(one if own else zero, v)
            side[v] = 1 - own
            held[own] -= loads[v]
            held[1 - own] += loads[v]
            trail[count] = v
            moved[v] = turn
            count += 1
            idle += 1
            above = max(held[0] - limits[0], 0.0) + max(held[1] - limits[1], 0.0)
            if above < over or (above == over and now > best):
                over, best, kept, idle = above, now, count, 0
            for i in range(offsets[v], offsets[v + np.uint32(1)]):
                u = near[i]
                if moved[u] == turn:
                    continue
                its = one if side[u] else zero
                if its.places[u] == NONE:
                    put(its, u, gain_of(part, u, side))
                else:
                    put(its, u, its.gains[u] + (-2 * edges[i] if side[u] == side[v] else 2 * edges[i]))
        emptied(zero)
        emptied(one)
        for step in range(count - 1, kept - 1, -1):
            v = trail[step]
            held[side[v]] -= loads[v]
            side[v] = 1 - side[v]
            held[side[v]] += loads[v]
        if kept == 0:
            break


@kept
def _next_side(loads: Floats, held: Floats, limits: Floats, heaviest: float, zero: Heap, one: Heap) -> Any:
    """The side that the next vertex leaves; 2 if all is done, 3 if the first of both fit nowhere and are dropped."""
    some_zero, some_one = zero.size[0] > 0, one.size[0] > 0
    if not some_zero and not some_one:
        return 2
    if held[0] > limits[0] and some_zero and held[0] - limits[0] >= held[1] - limits[1]:
        return 0
    if held[1] > limits[1] and some_one:
        return 1
    fits_zero = some_zero and held[1] + loads[zero.vertices[0]] <= limits[1] + heaviest
    fits_one = some_one and held[0] + loads[one.vertices[0]] <= limits[0] + heaviest
    if fits_zero and fits_one:
        gain_zero, gain_one = zero.gains[zero.vertices[0]], one.gains[one.vertices[0]]
        if gain_zero == gain_one:
            return 0 if held[0] - limits[0] >= held[1] - limits[1] else 1
        return 0 if gain_zero > gain_one else 1
    if fits_zero:
        return 0
    if fits_one:
        return 1
    if some_zero:
        take(zero, zero.vertices[0])
    if some_one:
        take(one, one.vertices[0])
    return 3


@kept
def gain_of(part: Part, v: Any, side: Bytes) -> Any:
    """What it saves to bring a vertex to the other side. O(degree)."""
    total = part.bias[v] if side[v] else -part.bias[v]
    for i in range(part.offsets[v], part.offsets[v + np.uint32(1)]):
        total += -part.edges[i] if side[part.near[i]] == side[v] else part.edges[i]
    return total


@kept
def cost_of_sides(part: Part, side: Bytes) -> Any:
    """Σ of the edges cut and of the biases on side 1. O(edges)."""
    total = np.int64(0)
    for v in range(part.loads.size):
        if side[v]:
            total += part.bias[v]
            for i in range(part.offsets[v], part.offsets[v + 1]):
                if not side[part.near[i]]:
                    total += part.edges[i]
    return total


@kept
def over_sides(part: Part, side: Bytes, limits: Floats) -> float:
    """Load above the limits. O(vertices)."""
    held = np.zeros(2)
    for v in range(part.loads.size):
        held[side[v]] += part.loads[v]
    return max(held[0] - limits[0], 0.0) + max(held[1] - limits[1], 0.0)


@kept
def emptied(found: Heap) -> None:
    """Takes all out. O(size)."""
    while found.size[0] > 0:
        found.size[0] -= 1
        found.places[found.vertices[found.size[0]]] = NONE
