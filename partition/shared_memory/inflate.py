"""Inflation along a stream of edges: small clusters, and the edges between them, in one look at each edge."""

from __future__ import annotations

import numpy as np
from numba import njit
from tracecut.partition.datastructures.bit_operations import prefetch_row
from tracecut.partition.datastructures.plain_graphs import EdgeStream
from tracecut.partition.datastructures.typed_views import Words, words
from tracecut.partition.parallel.barrier import add, look, passed, wait_all
from tracecut.partition.parallel.ordered_pieces import finish, parts, piece, ready, side_by_side, span, wait
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Bytes, Floats, Longs

from .cluster_graph import ClusterEdges

NONE = np.uint32(0xFFFFFFFF)
AHEAD = 16  # edges between asking for a label and reading it
LINE = np.uint64(0)
LEAST = 1 << 12  # edges of a piece
PIECES = 32  # at most
LAG = 8  # pieces between both: memory that one thread writes costs time to read
LOOPS, ASSIGNED = 33, 34  # places of a barrier: loops in the stream, pieces whose vertices all have their cluster


def inflated(
    stream: EdgeStream, loads: Floats, most: float, wide: bool, groups: Words, held: Floats, out: Words,
    out_names: Words, pool: ThreadPool,
) -> tuple[int, ClusterEdges]:  # fmt: skip
    """`claim` on a whole stream, on any number of threads.

    The cluster of a vertex depends on its first edge to another vertex alone. Threads find these edges, one thread
    assigns clusters along them in stream order, and the others follow and write the edges between clusters.

    Args:
        stream: the edges.
        loads, most, wide, groups, held, out, out_names: as in `claim`.
        pool: the threads; clusters and edges do not depend on them, only gaps between pieces do.

    Returns:
        The number of clusters, and the edges between them, in `out` and `out_names`. O(edges + n).
    """
    count = stream.ends.size // 2
    if pool.threads == 1:
        no_names = words(np.zeros(0, np.uint32))
        clusters, links = claim(stream.ends, count, no_names, loads, most, wide, groups, held, out, out_names)
        return clusters, ClusterEdges(out, out_names, np.array([[0, links]]), stream.weights)
    spans, clusters_found = np.empty((parts(count, LEAST, PIECES), 2), np.int64), np.zeros(1, np.int64)
    edges = ClusterEdges(out, out_names, spans, stream.weights)
    marks = np.empty(count, np.uint8)
    side_by_side(pool, _inflate, (stream, loads, most, wide, marks, groups, held, edges, clusters_found))
    return int(clusters_found[0]), edges


@njit(cache=True, nogil=True)
def _inflate(
    stream: EdgeStream, loads: Floats, most: float, wide: bool, marks: Bytes, groups: Words, held: Floats,
    edges: ClusterEdges, clusters_found: Longs, barrier: Longs, rank: int, n_threads: int,
) -> None:  # fmt: skip
    pairs, out_names, spans = stream.ends, edges.names, edges.spans
    pieces = spans.shape[0]
    low, high = span(marks.size, rank, n_threads)
    marks[low:high] = 0
    add(barrier, LOOPS, _loops(pairs[2 * low : 2 * high]))
    low, high = span(groups.size, rank, n_threads)
    groups[low:high] = NONE
    if not wait_all(barrier, n_threads):
        return
    _mark(stream, look(barrier, LOOPS) > 0, marks, low, high)
    if not wait_all(barrier, n_threads):
        return
    found, chain = 0, 0
    i = piece(barrier)
    while i < 2 * pieces:
        low, high = span(marks.size, i % pieces, pieces)
        if i < pieces:
            finish(barrier, i, _pack(marks, out_names, low, high))
        # The first thread assigns the pieces that are packed; before it writes links, it assigns all.
        while rank == 0 and chain < pieces and (i >= pieces or ready(barrier, chain) >= 0):
            begin = span(marks.size, chain, pieces)[0]
            found = _assign_piece(pairs, loads, most, wide, out_names[begin:], groups, held, found, barrier, chain)
            if found < 0:
                return
            chain += 1
        if i >= pieces:
            if not passed(barrier, ASSIGNED, min(i - pieces + LAG, pieces - 1)):
                return
            spans[i - pieces, 0] = low
            spans[i - pieces, 1] = _write_links(pairs, wide, groups, edges.pairs, out_names, low, high)
        i = piece(barrier)
    if rank == 0:
        while chain < pieces:
            begin = span(marks.size, chain, pieces)[0]
            found = _assign_piece(pairs, loads, most, wide, out_names[begin:], groups, held, found, barrier, chain)
            if found < 0:
                return
            chain += 1
        clusters_found[0] = _gather(loads, most, groups, held, found)
    wait_all(barrier, n_threads)


@njit(cache=True, nogil=True)
def _loops(pairs: Words) -> int:
    """How many edges join a vertex to itself."""
    count = 0
    for i in range(pairs.size // 2):
        count += pairs[2 * i] == pairs[2 * i + 1]
    return count


@njit(cache=True, nogil=True)
def _mark(stream: EdgeStream, loops: bool, marks: Bytes, begin: int, end: int) -> None:
    """Mark the first edge of each vertex of [begin, end) that is no loop."""
    pairs, starts, names = stream.ends, stream.starts, stream.names
    for v in range(begin, end):
        i = starts[v]
        while loops and i < starts[v + 1] and pairs[2 * np.int64(names[i])] == pairs[2 * np.int64(names[i]) + 1]:
            i += 1
        if i < starts[v + 1]:
            marks[names[i]] = 1


@njit(cache=True, nogil=True)
def _pack(marks: Bytes, out: Words, begin: int, end: int) -> int:
    """How many edges of [begin, end) are marked; they are written from `begin` on."""
    given, called = marks[begin:end], out[begin:end]
    place = 0
    for i in range(given.size):
        called[place] = begin + i
        place += given[i]
    return place


@njit(cache=True, nogil=True)
def _assign_piece(
    pairs: Words, loads: Floats, most: float, wide: bool, packed: Words, groups: Words, held: Floats, found: int,
    barrier: Longs, i: int,
) -> int:  # fmt: skip
    """`_assign` for piece i, which begins `packed`, as soon as it is there; -1 when a thread failed."""
    count = wait(barrier, i)
    if count < 0:
        return -1
    found = _assign(pairs, loads, most, wide, packed[:count], groups, held, found)
    add(barrier, ASSIGNED, 1)
    return found


@njit(cache=True, nogil=True)
def _assign(
    pairs: Words, loads: Floats, most: float, wide: bool, packed: Words, groups: Words, held: Floats, found: int
) -> int:
    """The clusters of all ends of these edges, each of which has a free end; how many clusters there are now."""
    even = loads.size == 0
    clusters = np.uint32(found)
    for j in range(packed.size):
        if wide and j + AHEAD < packed.size:
            prefetch_row(groups, np.uint64(pairs[2 * np.int64(packed[j + AHEAD])]), LINE)
            prefetch_row(groups, np.uint64(pairs[2 * np.int64(packed[j + AHEAD]) + 1]), LINE)
        u, v = pairs[2 * np.int64(packed[j])], pairs[2 * np.int64(packed[j]) + 1]
        a, b = groups[u], groups[v]
        if a == NONE and b == NONE:
            a = clusters
            clusters += np.uint32(1)
            groups[u], held[a] = a, 1.0 if even else loads[u]
        free, other = (v, a) if b == NONE else (u, b)
        load = 1.0 if even else loads[free]
        if held[other] + load <= most:
            groups[free] = other
            held[other] += load
        else:
            groups[free], held[clusters] = clusters, load
            clusters += np.uint32(1)
    return int(clusters)


@njit(cache=True, nogil=True)
def _write_links(pairs: Words, wide: bool, groups: Words, out: Words, out_names: Words, begin: int, end: int) -> int:
    """Write the edges of [begin, end) that join two clusters, from `begin` on; returns where they end."""
    given = pairs[2 * begin : 2 * end]
    own, called = out[2 * begin : 2 * end], out_names[begin:end]
    place = 0
    for i in range(end - begin):
        if wide and i + AHEAD < end - begin:
            prefetch_row(groups, np.uint64(given[2 * (i + AHEAD)]), LINE)
            prefetch_row(groups, np.uint64(given[2 * (i + AHEAD) + 1]), LINE)
        a, b = groups[given[2 * i]], groups[given[2 * i + 1]]
        # Written in any case, and kept where the clusters differ: there is no branch to mispredict.
        own[2 * place], own[2 * place + 1] = a, b
        called[place] = begin + i
        # The end of a loop may get its cluster between both reads.
        place += (a != b) & (given[2 * i] != given[2 * i + 1])
    return begin + place


@njit(cache=True, nogil=True)
def _gather(loads: Floats, most: float, groups: Words, held: Floats, found: int) -> int:
    """Clusters of the vertices that have none, in their order; how many clusters there are then."""
    last, clusters = NONE, np.uint32(found)
    for v in range(groups.size):
        if groups[v] == NONE:
            load = 1.0 if loads.size == 0 else loads[v]
            if last == NONE or held[last] + load > most:
                last = clusters
                clusters += np.uint32(1)
                held[last] = 0.0
            groups[v] = last
            held[last] += load
    return int(clusters)


@njit(cache=True, nogil=True)
def claim(
    pairs: Words, count: int, names: Words, loads: Floats, most: float, wide: bool, groups: Words, held: Floats,
    out: Words, out_names: Words,
) -> tuple[int, int]:  # fmt: skip
    """Clusters of a load up to `most`, grown edge by edge in the order of the stream.

    An edge founds a cluster of its two ends if both are free. A free end joins the cluster of the other one while that
    has room, and else founds one of its own. So after an edge both its ends have their cluster for good, and an edge
    between two clusters is handed on at once. Vertices without edges are gathered last, in their order.

    Args:
        pairs: uint32 (2 · count at least), the ends of edge i at 2 i and 2 i + 1; loops are passed over.
        names: uint32 (count), what the edges are called; empty means by their place.
        loads: float64 (n); empty means 1 each.
        most: a vertex of more load stands alone.
        wide: whether first ends, too, are mostly far from those before; a matter of speed alone.
        groups: uint32 (n), overwritten with the cluster of each vertex.
        held: float64 (n), whose first entries are overwritten with the loads of the clusters.
        out, out_names: uint32 (2 · count), (count), overwritten with the clusters and the names of edges handed on;
            they may be the memory of `pairs` and `names`, which are read before.

    Returns:
        The number of clusters, and of edges handed on. O(edges + n).
    """
    found, links, named = np.uint32(0), 0, 0
    even, unnamed = loads.size == 0, names.size == 0
    for v in range(groups.size):
        groups[v] = NONE
    for i in range(count):
        if i + AHEAD < count:
            prefetch_row(groups, np.uint64(pairs[2 * (i + AHEAD) + 1]), LINE)
            if wide:
                prefetch_row(groups, np.uint64(pairs[2 * (i + AHEAD)]), LINE)
        u, v = pairs[2 * i], pairs[2 * i + 1]
        a, b = groups[u], groups[v]
        if a == NONE or b == NONE:
            if u == v:
                continue
            if a == NONE and b == NONE:
                a = found
                found += np.uint32(1)
                groups[u], held[a] = a, 1.0 if even else loads[u]
                named += 1
            free, other = (v, a) if b == NONE else (u, b)
            load = 1.0 if even else loads[free]
            named += 1
            if held[other] + load <= most:
                groups[free] = other
                held[other] += load
                continue
            groups[free], held[found] = found, load
            a, b = other, found
            found += np.uint32(1)
        # Written in any case, and kept where the clusters differ: there is no branch to mispredict.
        out[2 * links], out[2 * links + 1] = a, b
        out_names[links] = i if unnamed else names[i]
        links += a != b
    if named < groups.size:
        return _gather(loads, most, groups, held, int(found)), links
    return int(found), links
