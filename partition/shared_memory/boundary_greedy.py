"""The last step after parts of clusters: greedy moves of the vertices at borders, which are read through the edges."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.partition.datastructures.bit_operations import prefetch_row
from tracecut.partition.datastructures.plain_graphs import EdgeStream
from tracecut.partition.datastructures.typed_views import Words, words
from tracecut.partition.initial.greedy_growing import choose
from tracecut.partition.parallel.barrier import meet
from tracecut.partition.parallel.ordered_pieces import finish, piece, ready, side_by_side, span, wait
from tracecut.partition.parallel.thread_pool import Crew
from tracecut.support.arrays import Bytes, Floats, Longs

Margins = npt.NDArray[np.int8]

SAMPLE = 1 << 8  # vertices that are asked whether they would move,
FEW = 1 << 12  # out of as many at least,
SHARE = 0.2  # and may be those that would for all the others to be asked as well,
MOST_PIECES = 16  # in so many pieces at most
BATCH = 128  # vertices whose rows are fetched together: every read is asked for before it is waited for
AHEAD = 16
LINE = np.uint64(0)
ONE, TWO = np.uint64(1), np.uint64(2)
MOST = 120  # what a margin, int8, counts at most


def border(
    stream: EdgeStream, pairs: Words, names: Words, spans: Longs, labels: Words, full: Bytes, groups: Words,
    part: Words, crew: Crew,
) -> tuple[Words, Margins]:  # fmt: skip
    """The vertices that may gain by a move, in the order of the cut edges: more than half of their edges are cut.

    Args:
        stream: the edges.
        pairs, names, spans: edges between clusters, as `inflating` hands them on.
        labels: uint32 (clusters), their parts.
        full: uint8 (parts): of parts where it is not 0 all vertices at the border are taken.
        groups: uint32 (n), overwritten with the part of each vertex, by
        part: uint32, the part of what `groups` says.
        crew: the threads; the result does not depend on them.

    Returns:
        The vertices, and the margin of each, int8 (n): its edges less twice those that are cut, below 0 for what is
        returned. O(n + edges between clusters).
    """
    count = int((spans[:, 1] - spans[:, 0]).sum())
    margin = np.empty(stream.size, np.int8)
    cut, owners = np.empty(names.size, np.uint32), np.empty(names.size, np.uint8)
    found, size = np.empty(2 * count + 1, np.uint32), np.zeros(1, np.int64)
    given = (stream.starts, stream.ends, pairs, names, spans, labels, full, margin, cut, owners, groups, part)
    side_by_side(crew, _border, (*given, found, size))
    return found[: int(size[0])], margin


@njit(cache=True, nogil=True)
def _border(
    starts: Longs, stream: Words, pairs: Words, names: Words, spans: Longs, labels: Words, full: Bytes, margin: Margins,
    cut: Words, owners: Bytes, groups: Words, part: Words, found: Words, sizes: Longs, own: Longs, rank: int,
    parties: int,
) -> None:  # fmt: skip
    low, high = span(margin.size, rank, parties)
    _margins(starts, margin, low, high)
    if not meet(own, parties):
        return
    pieces, chain, size = spans.shape[0], 0, 0
    while True:
        if rank == 0:
            while chain < pieces and ready(own, chain) >= 0:
                begin, end = spans[chain, 0], spans[chain, 0] + ready(own, chain)
                size = _beyond(cut[begin:end], owners[begin:end], stream, margin, found, size)
                chain += 1
        i = piece(own)
        if i >= 2 * pieces:
            break
        if i < pieces:
            finish(own, i, _cut(pairs, names, labels, full, cut, owners, spans[i, 0], spans[i, 1]))
        else:  # what nobody waits for
            low, high = span(groups.size, i - pieces, pieces)
            relabel(groups, part, low, high)
    while rank == 0 and chain < pieces:
        if wait(own, chain) < 0:
            return
        begin, end = spans[chain, 0], spans[chain, 0] + ready(own, chain)
        size = _beyond(cut[begin:end], owners[begin:end], stream, margin, found, size)
        chain += 1
    if rank == 0:
        sizes[0] = size
    meet(own, parties)


@njit(cache=True, nogil=True)
def relabel(groups: Words, labels: Words, begin: int, end: int) -> None:
    """Overwrite the cluster of each vertex of [begin, end) with the label of the cluster."""
    own = groups[begin:end]
    for v in range(own.size):
        own[v] = labels[own[v]]


@njit(cache=True, nogil=True)
def _margins(starts: Longs, found: Margins, begin: int, end: int) -> None:
    rows, own = starts[begin : end + 1], found[begin:end]
    for v in range(own.size):
        own[v] = min(rows[v + 1] - rows[v], MOST)


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


def asked(
    stream: EdgeStream, loads: Floats, limits: Floats, labels: Words, held: Floats, sizes: Longs, chosen: Words,
    crew: Crew,
) -> Words:  # fmt: skip
    """Of many vertices of which hardly any would move, those that would if each were the only one; else all.

    Where many move, some only do after their neighbours, and cuts would be up to 4 % larger without these.

    Args: as those of `polish`. O(edges of `chosen`), on all threads.
    """
    given = (stream.starts, stream.names, stream.ends, stream.weights, loads, limits, labels, held, sizes)
    if chosen.size < FEW:
        return chosen
    some = words(chosen[:: chosen.size // SAMPLE].copy())
    if _ask(*given, some).size > SHARE * some.size:
        return chosen
    pieces = min(MOST_PIECES, chosen.size // SAMPLE)
    cuts = [chosen.size * i // pieces for i in range(pieces + 1)]
    return np.concatenate(crew.each(_ask, [(*given, words(chosen[a:b])) for a, b in pairwise(cuts)]))


@njit(cache=True, nogil=True)
def _ask(
    starts: Longs, names: Words, stream: Words, weights: Longs, loads: Floats, limits: Floats, labels: Words,
    held: Floats, sizes: Longs, chosen: Words,
) -> Words:  # fmt: skip
    links, met = np.zeros(limits.size, np.int64), np.empty(limits.size, np.uint32)
    first, last = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    near, called = np.empty(4096, np.uint32), np.empty(4096, np.uint32)
    found, count = np.empty(chosen.size, np.uint32), 0
    for begin in range(0, chosen.size, BATCH):
        near, called = _fetch(starts, names, stream, labels, chosen, begin, first, last, near, called)
        place = 0
        for i in range(min(chosen.size - begin, BATCH)):
            v = chosen[begin + i]
            end = place + last[i] - first[i]
            best = _where(v, near, called, place, end, weights, loads, limits, labels, held, sizes, links, met)
            found[count] = v
            count += best != labels[v]
            place = end
    return found[:count]


@njit(cache=True, nogil=True)
def _fetch(
    starts: Longs, names: Words, stream: Words, labels: Words, chosen: Words, begin: int, first: Longs, last: Longs,
    near: Words, called: Words,
) -> tuple[Words, Words]:  # fmt: skip
    """The other ends and the names of the edges of a batch, in `near` and `called` or, where these are short, longer
    ones; every read is asked for before it is waited for.
    """
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
    return near, called


@njit(cache=True, nogil=True, inline="always")
def _where(
    v: int, near: Words, called: Words, begin: int, end: int, weights: Longs, loads: Floats, limits: Floats,
    labels: Words, held: Floats, sizes: Longs, links: Longs, met: Words,
) -> int:  # fmt: skip
    """The part where a vertex with the edges of [begin, end) should be; `links`, int64 (k), stays 0."""
    own, count = labels[v], 0
    for j in range(begin, end):
        if near[j] == v:
            continue
        label = labels[near[j]]
        if links[label] == 0:
            met[count] = label
            count += 1
        links[label] += weights[called[j]] if weights.size else 1
    load = loads[v] if loads.size else 1.0
    best = choose(links, met, count, own, load, limits, held) if sizes[own] > 1 else own
    for j in range(count):
        links[met[j]] = 0
    return best


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
    """Move each vertex of `chosen`, in that order, by the rule of `greedy_growing.improve`.

    Args:
        starts, names: int64 (n + 1), uint32: the edges of each vertex by name.
        stream: uint32, the ends of the edges by name; weights: int64, by name, empty for 1 each.
        loads: float64 (n), empty for 1 each.
        limits: float64 (k). labels: uint32 (n), held: float64 (k), sizes: int64 (k), all kept up to date.
        margin: int8 (n), as `border` gives it, kept up to date.

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
        near, called = _fetch(starts, names, stream, labels, chosen, begin, first, last, near, called)
        if found + near.size > following.size:
            following = _longer(following, 2 * (found + near.size))
        stop = 0
        for i in range(min(chosen.size - begin, BATCH)):
            v = chosen[begin + i]
            place, stop = stop, stop + last[i] - first[i]
            own = labels[v]
            best = _where(v, near, called, place, stop, weights, loads, limits, labels, held, sizes, links, met)
            if best == own:
                continue
            load = loads[v] if loads.size else 1.0
            labels[v] = best
            held[own] -= load
            held[best] += load
            sizes[own] -= 1
            sizes[best] += 1
            for j in range(place, stop):
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
    return following[:found]


@njit(cache=True, nogil=True)
def _longer(values: Words, size: int) -> Words:
    longer = np.empty(size, np.uint32)
    longer[: values.size] = values
    return longer
