"""The last step after parts of clusters: greedy moves of the vertices at borders, which are read through the edges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from ..ir.arrays import Bytes, Floats, Longs
from .bits import prefetch_row
from .crew import Crew, blocks
from .growing import choose
from .linking import pieces
from .views import Words

Margins = npt.NDArray[np.int8]

BATCH = 128  # vertices whose rows are fetched together: every read is asked for before it is waited for
AHEAD = 16
LINE = np.uint64(0)
ONE, TWO = np.uint64(1), np.uint64(2)
MOST = 120  # what a margin, int8, counts at most


def margins(starts: Longs, crew: Crew) -> Margins:
    """The number of edges of each vertex, int8 (n): what is cut of them is to be taken off twice. O(n)."""
    found = np.empty(starts.size - 1, np.int8)
    crew.each(_margins, [(starts, found, *block) for block in blocks(found.size)])
    return found


@njit(cache=True, nogil=True)
def _margins(starts: Longs, found: Margins, begin: int, end: int) -> None:
    rows, own = starts[begin : end + 1], found[begin:end]
    for v in range(own.size):
        own[v] = min(rows[v + 1] - rows[v], MOST)


def border(pairs: Words, names: Words, part: Words, stream: Words, full: Bytes, margin: Margins, crew: Crew) -> Words:
    """The vertices that may gain by a move, in the order of the cut edges: more than half of their edges are cut.

    Args:
        pairs, names: edges between clusters, as `claim` hands them on.
        part: uint32 (clusters).
        stream: uint32, the ends of the edges by name.
        full: uint8 (parts): of parts where it is not 0 all vertices at the border are taken.
        margin: int8 (n), from `margins`; overwritten with what is left of it, below 0 for what is returned.
        crew: the threads; the result does not depend on them.

    O(edges between clusters).
    """
    cut, owners = np.empty(names.size, np.uint32), np.empty(names.size, np.uint8)
    spans = pieces(names.size)
    counts = crew.each(_cut, [(pairs, names, part, full, cut, owners, *span) for span in spans])
    found, size = np.empty(2 * sum(counts), np.uint32), 0
    for (begin, _), count in zip(spans, counts, strict=True):
        size = _beyond(cut[begin : begin + count], owners[begin : begin + count], stream, margin, found, size)
    return found[:size]


@njit(cache=True, nogil=True)
def _cut(pairs: Words, names: Words, part: Words, full: Bytes, cut: Words, owners: Bytes, begin: int, end: int) -> int:
    """The names of the cut edges of [begin, end), written from `begin` on, and whether a part of either end is full."""
    own, called = pairs[2 * begin : 2 * end], names[begin:end]
    out, flags = cut[begin:end], owners[begin:end]
    place = 0
    for i in range(called.size):
        a, b = part[own[2 * i]], part[own[2 * i + 1]]
        out[place], flags[place] = called[i], full[a] | full[b]
        place += a != b
    return place


@njit(cache=True, nogil=True)
def _beyond(cut: Words, owners: Bytes, stream: Words, margin: Margins, found: Words, size: int) -> int:
    """Take cut edges off the margins of their ends; those that get below 0 are put behind the first `size` found."""
    for i in range(cut.size):
        if i + 2 * AHEAD < cut.size:
            prefetch_row(stream, TWO * np.uint64(cut[i + 2 * AHEAD]), LINE)
        if i + AHEAD < cut.size:
            prefetch_row(margin, np.uint64(stream[TWO * np.uint64(cut[i + AHEAD]) + ONE]), LINE)
        for side in range(2):
            v = stream[TWO * np.uint64(cut[i]) + np.uint64(side)]
            before = margin[v]
            margin[v] = max(before - 2, -MOST) if owners[i] == 0 else -MOST
            found[size] = v
            size += before >= 0 and margin[v] < 0
    return size


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
