"""Greedy moves of boundary vertices on the finest graph, which reads adjacency lists from the edge stream."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.partition.datastructures.bit_operations import prefetch_row
from tracecut.partition.datastructures.plain_graphs import EdgeStream
from tracecut.partition.datastructures.typed_views import Words, words
from tracecut.partition.initial.greedy_growing import Connections, Parts, choose, connections, move
from tracecut.partition.parallel.barrier import wait_all
from tracecut.partition.parallel.ordered_pieces import finish, piece, ready, side_by_side, span, wait
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Bytes, Floats, Longs
from tracecut.support.lazy_kernels import kept

from .cluster_graph import ClusterEdges

Margins = npt.NDArray[np.int8]

SAMPLE = 1 << 8  # size of the sample of vertices that estimates how many would move,
FEW = 1 << 12  # taken if there are at least this many;
SHARE = 0.2  # if at most this share of the sample would move, all vertices are tested,
MOST_PIECES = 16  # in at most this many pieces
BATCH = 128  # vertices whose rows are prefetched together
AHEAD = 16
LINE = np.uint64(0)
ONE, TWO = np.uint64(1), np.uint64(2)
MOST = 120  # largest value of a margin (int8)


class Batch(NamedTuple):
    """The edges of some vertices, fetched together.

    Attributes:
        first, last: int64 (BATCH), where the edges of each vertex begin and end among all names.
        near, called: uint32, the other ends and the names of all these edges.
    """

    first: Longs
    last: Longs
    near: Words
    called: Words


class CutEdges(NamedTuple):
    """The cut edges of each piece, written at its beginning, and the vertices found from them.

    Attributes:
        cut: uint32 (edges), their names.
        forced: uint8 (edges), not 0 if the part of either end is above its limit.
        margin: int8 (n), edges of each vertex minus twice its cut edges counted so far.
        found: uint32 (2 · edges + 1), the vertices with a negative margin.
        size: int64 (1), their number.
    """

    cut: Words
    forced: Bytes
    margin: Margins
    found: Words
    size: Longs


def boundary(
    stream: EdgeStream, links: ClusterEdges, labels: Words, full: Bytes, groups: Words, part: Words, pool: ThreadPool
) -> tuple[Words, Margins]:
    """The vertices with a possible gain, in the order of the cut edges: more than half of their edges are cut.

    Args:
        stream: the edges.
        links: the edges between clusters.
        labels: uint32 (clusters), their parts.
        full: uint8 (parts): of parts with a value other than 0, all boundary vertices are returned.
        groups: uint32 (n), the cluster of each vertex, overwritten with its part.
        part: uint32, the part of each cluster.
        pool: the threads; the result does not depend on them.

    Returns:
        The vertices, and the margin of each, int8 (n): its edges minus twice its cut edges, negative for the returned
        vertices. O(n + edges between clusters).
    """
    count, names = int((links.spans[:, 1] - links.spans[:, 0]).sum()), links.names.size
    margin, found, size = np.empty(stream.size, np.int8), np.empty(2 * count + 1, np.uint32), np.zeros(1, np.int64)
    cuts = CutEdges(np.empty(names, np.uint32), np.empty(names, np.uint8), margin, found, size)
    side_by_side(pool, _boundary, (stream.starts, stream.ends, links, labels, full, cuts, groups, part))
    return found[: int(size[0])], margin


@kept
def _boundary(
    starts: Longs, stream: Words, links: ClusterEdges, labels: Words, full: Bytes, cuts: CutEdges, groups: Words,
    part: Words, barrier: Longs, rank: int, n_threads: int,
) -> None:  # fmt: skip
    spans, margin = links.spans, cuts.margin
    low, high = span(margin.size, rank, n_threads)
    _margins(starts, margin, low, high)
    if not wait_all(barrier, n_threads):
        return
    pieces, chain, size = spans.shape[0], 0, 0
    while True:
        if rank == 0:
            while chain < pieces and ready(barrier, chain) >= 0:
                size = _take_off_margins(cuts, spans[chain, 0], spans[chain, 0] + ready(barrier, chain), stream, size)
                chain += 1
        i = piece(barrier)
        if i >= 2 * pieces:
            break
        if i < pieces:
            finish(barrier, i, _cut(links, labels, full, cuts, spans[i, 0], spans[i, 1]))
        else:  # so that no thread waits for labels
            low, high = span(groups.size, i - pieces, pieces)
            relabel(groups, part, low, high)
    while rank == 0 and chain < pieces:
        if wait(barrier, chain) < 0:
            return
        size = _take_off_margins(cuts, spans[chain, 0], spans[chain, 0] + ready(barrier, chain), stream, size)
        chain += 1
    if rank == 0:
        cuts.size[0] = size
    wait_all(barrier, n_threads)


@kept
def relabel(groups: Words, labels: Words, begin: int, end: int) -> None:
    """Overwrite the cluster of each vertex of [begin, end) with the label of the cluster."""
    own = groups[begin:end]
    for v in range(own.size):
        own[v] = labels[own[v]]


@kept
def _margins(starts: Longs, found: Margins, begin: int, end: int) -> None:
    rows, own = starts[begin : end + 1], found[begin:end]
    for v in range(own.size):
        own[v] = min(rows[v + 1] - rows[v], MOST)


@kept
def _cut(links: ClusterEdges, part: Words, full: Bytes, cuts: CutEdges, begin: int, end: int) -> int:
    """The names of the cut edges of [begin, end), written from `begin` on, and whether a part of either end is full."""
    own, called = links.pairs[2 * begin : 2 * end], links.names[begin:end]
    out, flags = cuts.cut[begin:end], cuts.forced[begin:end]
    place = 0
    for i in range(called.size):
        a, b = part[own[2 * i]], part[own[2 * i + 1]]
        out[place], flags[place] = called[i], full[a] | full[b]
        place += a != b
    return place


@kept
def _take_off_margins(cuts: CutEdges, begin: int, end: int, stream: Words, size: int) -> int:
    """Subtract the cut edges of [begin, end) from the margins of their ends.

    Vertices whose margin becomes negative are appended to the first `size` found. Returns their new number.
    """
    cut, forced, margin, found = cuts.cut[begin:end], cuts.forced[begin:end], cuts.margin, cuts.found
    for i in range(cut.size):
        if i + 2 * AHEAD < cut.size:
            prefetch_row(stream, TWO * np.uint64(cut[i + 2 * AHEAD]), LINE)
        if i + AHEAD < cut.size:
            prefetch_row(margin, np.uint64(stream[TWO * np.uint64(cut[i + AHEAD]) + ONE]), LINE)
        for side in range(2):
            v = stream[TWO * np.uint64(cut[i]) + np.uint64(side)]
            before = margin[v]
            margin[v] = max(before - 2, -MOST) if forced[i] == 0 else -MOST
            found[size] = v
            size += before >= 0 and margin[v] < 0
    return size


def movable(stream: EdgeStream, loads: Floats, parts: Parts, chosen: Words, pool: ThreadPool) -> Words:
    """The vertices of `chosen` that would move in the present state; all of `chosen` if many would.

    If many move, others gain only after their neighbours have moved: without these, cuts were up to 4 % larger.

    Args: as those of `polish`. O(edges of `chosen`), on all threads.
    """
    given = (stream, loads, parts)
    if chosen.size < FEW:
        return chosen
    some = words(chosen[:: chosen.size // SAMPLE].copy())
    if _ask(*given, some).size > SHARE * some.size:
        return chosen
    pieces = min(MOST_PIECES, chosen.size // SAMPLE)
    cuts = [chosen.size * i // pieces for i in range(pieces + 1)]
    return np.concatenate(pool.each(_ask, [(*given, words(chosen[a:b])) for a, b in pairwise(cuts)]))


@kept
def _ask(stream: EdgeStream, loads: Floats, parts: Parts, chosen: Words) -> Words:
    connected, batch = connections(parts.limits.size), _new_batch(4096)
    found, count = np.empty(chosen.size, np.uint32), 0
    for begin in range(0, chosen.size, BATCH):
        batch = _fetch(stream, parts.labels, chosen, begin, batch)
        place = 0
        for i in range(min(chosen.size - begin, BATCH)):
            v = chosen[begin + i]
            end = place + batch.last[i] - batch.first[i]
            found[count] = v
            count += _best_part(v, batch, place, end, stream.weights, loads, parts, connected) != parts.labels[v]
            place = end
    return found[:count]


@kept
def _new_batch(edges: int) -> Batch:
    return Batch(
        np.empty(BATCH, np.int64), np.empty(BATCH, np.int64), np.empty(edges, np.uint32), np.empty(edges, np.uint32)
    )


@kept
def _fetch(edges: EdgeStream, labels: Words, chosen: Words, begin: int, batch: Batch) -> Batch:
    """Fetch the edges of the vertices of `chosen` from `begin` on into the memory of `batch`, enlarged if too short.

    Rows are prefetched before they are read, to overlap cache misses.
    """
    starts, names, stream = edges.starts, edges.names, edges.ends
    size = min(chosen.size - begin, BATCH)
    for i in range(begin + BATCH, min(chosen.size, begin + 2 * BATCH)):
        prefetch_row(starts, np.uint64(chosen[i]), LINE)
    first, last = batch.first, batch.last
    ends = 0
    for i in range(size):
        v = chosen[begin + i]
        first[i], last[i] = starts[v], starts[v + np.uint32(1)]
        ends += last[i] - first[i]
        prefetch_row(names, np.uint64(first[i]), LINE)
    if ends > batch.near.size:
        batch = Batch(first, last, np.empty(2 * ends, np.uint32), np.empty(2 * ends, np.uint32))
    near, called = batch.near, batch.called
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
    return batch


@njit(cache=True, nogil=True, inline="always")
def _best_part(
    v: int, batch: Batch, begin: int, end: int, weights: Longs, loads: Floats, parts: Parts, connected: Connections
) -> int:
    """As `greedy_growing.best_part`, for a vertex whose edges are those of [begin, end) in the batch."""
    near, called = batch.near, batch.called
    labels, held, sizes, limits = parts
    links, met = connected
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


@kept
def polish(stream: EdgeStream, loads: Floats, parts: Parts, margin: Margins, chosen: Words) -> Words:
    """Move each vertex of `chosen`, in that order, by the rule of `greedy_growing.improve`.

    Args:
        stream: the edges.
        loads: float64 (n), empty for 1 each.
        parts: kept up to date.
        margin: int8 (n), as `boundary` gives it, kept up to date.

    Returns:
        The vertices with a possible gain after these moves. O(edges of `chosen`).
    """
    labels = parts.labels
    connected, batch = connections(parts.limits.size), _new_batch(4096)
    following = np.empty(1024, np.uint32)
    found = 0
    for begin in range(0, chosen.size, BATCH):
        batch = _fetch(stream, labels, chosen, begin, batch)
        first, last, near, _ = batch
        if found + near.size > following.size:
            following = _longer(following, 2 * (found + near.size))
        stop = 0
        for i in range(min(chosen.size - begin, BATCH)):
            v = chosen[begin + i]
            place, stop = stop, stop + last[i] - first[i]
            own = labels[v]
            best = _best_part(v, batch, place, stop, stream.weights, loads, parts, connected)
            if best == own:
                continue
            move(v, best, loads[v] if loads.size else 1.0, parts)
            for j in range(place, stop):
                u = near[j]
                if u == v:
                    continue
                if labels[u] == own:
                    margin[u] = max(margin[u] - 2, -MOST)
                    margin[v] = max(margin[v] - 2, -MOST)
                    if margin[u] < 0:  # may gain now; listed several times, it moves at its first occurrence
                        following[found] = u
                        found += 1
                elif labels[u] == best:
                    margin[u] = min(margin[u] + 2, MOST)
                    margin[v] = min(margin[v] + 2, MOST)
    return following[:found]


@kept
def _longer(values: Words, size: int) -> Words:
    longer = np.empty(size, np.uint32)
    longer[: values.size] = values
    return longer
