"""The last step after parts of clusters: greedy moves of the vertices at borders, which are read through the edges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from ..ir.arrays import Bytes, Floats, Longs
from .bits import prefetch_row
from .growing import choose
from .views import Words

Margins = npt.NDArray[np.int8]

BATCH = 128  # vertices whose rows are fetched together: every read is asked for before it is waited for
AHEAD = 16
LINE = np.uint64(0)
ONE, TWO = np.uint64(1), np.uint64(2)
MOST = 120  # what a margin, int8, counts at most


@njit(cache=True, nogil=True)
def margins(starts: Longs) -> Margins:
    """The number of edges of each vertex, int8 (n): what is cut of them is to be taken off twice. O(n)."""
    found = np.empty(starts.size - 1, np.int8)
    for v in range(found.size):
        found[v] = min(starts[v + 1] - starts[v], MOST)
    return found


@njit(cache=True, nogil=True)
def border(pairs: Words, count: int, names: Words, part: Words, stream: Words, full: Bytes, margin: Margins) -> Words:
    """The vertices that may gain by a move, in the order of the cut edges: more than half of their edges are cut.

    Args:
        pairs, names: `count` edges between clusters, as `claim` hands them on.
        part: uint32 (clusters).
        stream: uint32, the ends of the edges by name.
        full: uint8 (parts): of parts where it is not 0 all vertices at the border are taken.
        margin: int8 (n), from `margins`; overwritten with what is left of it, below 0 for what is returned.
            O(edges between clusters).
    """
    cut, owners = np.empty(count, np.uint32), np.empty(count, np.uint8)
    found_cuts = 0
    for i in range(count):
        a, b = part[pairs[2 * i]], part[pairs[2 * i + 1]]
        cut[found_cuts], owners[found_cuts] = names[i], full[a] | full[b]
        found_cuts += a != b
    found = np.empty(2 * found_cuts, np.uint32)
    size = 0
    for i in range(found_cuts):
        if i + 2 * AHEAD < found_cuts:
            prefetch_row(stream, TWO * np.uint64(cut[i + 2 * AHEAD]), LINE)
        if i + AHEAD < found_cuts:
            prefetch_row(margin, np.uint64(stream[TWO * np.uint64(cut[i + AHEAD]) + ONE]), LINE)
        for side in range(2):
            v = stream[TWO * np.uint64(cut[i]) + np.uint64(side)]
            before = margin[v]
            margin[v] = max(before - 2, -MOST) if owners[i] == 0 else -MOST
            found[size] = v
            size += before >= 0 and margin[v] < 0
    return found[:size]


@njit(cache=True, nogil=True)
def polish(
    starts: Longs,
    names: Words,
    stream: Words,
    weights: Longs,
    loads: Floats,
    limits: Floats,
    labels: Words,
    held: Floats,
    sizes: Longs,
    margin: Margins,
    chosen: Words,
) -> Words:
    """Move each vertex of `chosen`, in that order, by the rule of `growing.improve`.

    Args:
        starts, names: int64 (n + 1), uint32: the edges of each vertex by name.
        stream: uint32, the ends of the edges by name; weights: int64, by name, empty for 1 each.
        loads: float64 (n), empty for 1 each.
        limits: float64 (k). labels: uint32 (n), held: float64 (k), sizes: int64 (k), all kept up to date.
        margin: int8 (n), as `border` leaves it, kept up to date.

    Returns:
        The vertices that may gain by a move after those that were made here. O(edges of `chosen`).
    """
    k = limits.size
    links, met = np.zeros(k, np.int64), np.empty(k, np.uint32)
    first, last = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    near, called = np.empty(4096, np.uint32), np.empty(4096, np.uint32)
    following = np.empty(1024, np.uint32)
    found = 0
    for begin in range(0, chosen.size, BATCH):
        size = min(chosen.size - begin, BATCH)
        for i in range(begin + BATCH, min(chosen.size, begin + 2 * BATCH)):
            prefetch_row(starts, np.uint64(chosen[i]), LINE)
        ends = 0
        for i in range(size):
            v = chosen[begin + i]
            first[i], last[i] = starts[v], starts[v + np.uint32(1)]
            ends += last[i] - first[i]
            prefetch_row(names, np.uint64(first[i]), LINE)
        if ends > near.size:
            near, called = np.empty(2 * ends, np.uint32), np.empty(2 * ends, np.uint32)
        if found + ends > following.size:
            following = _longer(following, 2 * (found + ends))
        place = 0
        for i in range(size):
            for j in range(first[i], last[i]):
                called[place] = names[j]
                prefetch_row(stream, TWO * np.uint64(names[j]), LINE)
                place += 1
        place = 0
        for i in range(size):
            for _ in range(first[i], last[i]):
                name = TWO * np.uint64(called[place])
                near[place] = stream[name] ^ stream[name + ONE] ^ chosen[begin + i]
                prefetch_row(labels, np.uint64(near[place]), LINE)
                place += 1
        place = 0
        for i in range(size):
            v = chosen[begin + i]
            own, degree = labels[v], last[i] - first[i]
            count = 0
            for j in range(place, place + degree):
                if near[j] == v:
                    continue
                label = labels[near[j]]
                if links[label] == 0:
                    met[count] = label
                    count += 1
                links[label] += weights[called[j]] if weights.size else 1
            load = loads[v] if loads.size else 1.0
            best = choose(links, met, count, own, load, limits, held) if sizes[own] > 1 else own
            if best != own:
                labels[v] = best
                held[own] -= load
                held[best] += load
                sizes[own] -= 1
                sizes[best] += 1
                for j in range(place, place + degree):
                    u = near[j]
                    if u == v:
                        continue
                    if labels[u] == own:
                        margin[u] = max(margin[u] - 2, -MOST)
                        margin[v] = max(margin[v] - 2, -MOST)
                        if margin[u] < 0:  # perhaps once more: whoever comes first moves it
                            following[found] = u
                            found += 1
                    elif labels[u] == best:
                        margin[u] = min(margin[u] + 2, MOST)
                        margin[v] = min(margin[v] + 2, MOST)
            for j in range(count):
                links[met[j]] = 0
            place += degree
    return following[:found]


@njit(cache=True, nogil=True)
def _longer(values: Words, size: int) -> Words:
    longer = np.empty(size, np.uint32)
    longer[: values.size] = values
    return longer
