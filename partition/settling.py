"""Greedy moves of single vertices between parts, found side by side and made one after the other."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..ir.arrays import Floats, Longs
from .crew import Crew
from .growing import choose
from .joining import Rows, ranges
from .views import Words, words


def settled(graph: Rows, limits: Floats, labels: Words, sweeps: int, crew: Crew) -> None:
    """Move vertices by the rule of `growing.improve`, in two steps a sweep, the same for any number of threads.

    First every vertex is asked whether it would move if it were the only one; then those that would are asked again, in
    their order, and move. To ask only the neighbours of what moved before is faster, but parts change what they hold,
    and cuts were 1 to 3 % larger. Overwrites `labels`, uint32 (n). Ends after `sweeps`, or one that moved nothing.
    O(edges · sweeps); serial is only what is asked again.
    """
    held, sizes = filled(graph.loads, labels, limits.size)
    given = (*graph.arrays, limits, labels, held, sizes)
    parts = ranges(graph.first, graph.entries)
    for _ in range(sweeps):
        wishes = crew.each(propose, [(*given, *part) for part in parts])
        if sum([commit(*given, words(wish)) for wish in wishes]) == 0:
            break


@njit(cache=True, nogil=True)
def filled(loads: Floats, labels: Words, k: int) -> tuple[Floats, Longs]:
    """Loads and members of each part. O(n + k)."""
    held, sizes = np.zeros(k), np.zeros(k, np.int64)
    for v in range(loads.size):
        held[labels[v]] += loads[v]
        sizes[labels[v]] += 1
    return held, sizes


@njit(cache=True, nogil=True)
def propose(
    first: Longs, last: Longs, near: Words, edges: Longs, loads: Floats, limits: Floats, labels: Words, held: Floats,
    sizes: Longs, begin: int, end: int,
) -> Words:  # fmt: skip
    """The vertices of [begin, end) that would move, as things are. O(their edges)."""
    links, met = np.zeros(limits.size, np.int64), np.empty(limits.size, np.uint32)
    found, size = np.empty(end - begin, np.uint32), 0
    for v in range(begin, end):
        own, i = labels[v], first[v]
        while i < last[v] and labels[near[i]] == own:
            i += 1
        if i == last[v] or sizes[own] == 1:
            continue
        count = 0
        for j in range(first[v], last[v]):
            label = labels[near[j]]
            if links[label] == 0:
                met[count] = label
                count += 1
            links[label] += edges[j]
        best = choose(links, met, count, own, loads[v], limits, held)
        for j in range(count):
            links[met[j]] = 0
        found[size] = v
        size += best != own
    return found[:size]


@njit(cache=True, nogil=True)
def commit(
    first: Longs, last: Longs, near: Words, edges: Longs, loads: Floats, limits: Floats, labels: Words, held: Floats,
    sizes: Longs, chosen: Words,
) -> int:  # fmt: skip
    """Move each of `chosen`, in that order, to where it should be by then; how many moved. O(their edges)."""
    links, met = np.zeros(limits.size, np.int64), np.empty(limits.size, np.uint32)
    moved = 0
    for v in chosen:
        own, count = labels[v], 0
        for j in range(first[v], last[v]):
            label = labels[near[j]]
            if links[label] == 0:
                met[count] = label
                count += 1
            links[label] += edges[j]
        best = choose(links, met, count, own, loads[v], limits, held) if sizes[own] > 1 else own
        for j in range(count):
            links[met[j]] = 0
        if best != own:
            labels[v] = best
            held[own] -= loads[v]
            held[best] += loads[v]
            sizes[own] -= 1
            sizes[best] += 1
            moved += 1
    return moved
