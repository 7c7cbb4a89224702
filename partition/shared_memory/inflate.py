"""Inflation along a stream of edges: makes small clusters and the edges between them in one pass over the edges."""

from __future__ import annotations

import numpy as np
from tracecut.partition.datastructures.bit_operations import prefetch_row
from tracecut.partition.datastructures.plain_graphs import EdgeStream
from tracecut.partition.datastructures.typed_views import Words, words
from tracecut.partition.parallel.barrier import add, look, passed, wait_all
from tracecut.partition.parallel.ordered_pieces import finish, parts, piece, ready, side_by_side, span, wait
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Bytes, Floats, Longs
from tracecut.support.lazy_kernels import kept

from .cluster_graph import ClusterEdges

NONE = np.uint32(0xFFFFFFFF)
AHEAD = 16  # prefetch distance in edges
LINE = np.uint64(0)
LEAST = 1 << 12  # least edges of a piece
PIECES = 32  # most pieces
LAG = 8  # pieces between the writing and the reading thread: reading lines that another core writes is slow
LOOPS, ASSIGNED = 33, 34  # slots of a barrier: loops in the stream, pieces whose vertices all have clusters


def inflated(
    stream: EdgeStream, loads: Floats, most: float, wide: bool, groups: Words, held: Floats, out: Words,
    out_names: Words, pool: ThreadPool,
) -> tuple[int, ClusterEdges]:  # fmt: skip
    """`claim` on a whole stream, on any number of threads.

    The cluster of a vertex depends only on its first edge to another vertex. All threads find these edges; then one
    thread assigns clusters along them in stream order, and the others follow and write the edges between clusters.

    Args:
        stream: the edges.
        loads, most, wide, groups, held, out, out_names: as in `claim`.
        pool: the threads; the result does not depend on them, except for gaps between pieces.

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


@kept
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
        # The first thread assigns clusters in packed pieces, and writes links only after it has assigned all pieces.
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


@kept
def _loops(pairs: Words) -> int:
    """Number of self-loops."""
    count = 0
    for i in range(pairs.size // 2):
        count += pairs[2 * i] == pairs[2 * i + 1]
    return count


@kept
def _mark(stream: EdgeStream, loops: bool, marks: Bytes, begin: int, end: int) -> None:
    """Mark the first edge of each vertex of [begin, end) that is not a loop."""
    pairs, starts, names = stream.ends, stream.starts, stream.names
    for v in range(begin, end):
        i = starts[v]
        while loops and i < starts[v + 1] and pairs[2 * np.int64(names[i])] == pairs[2 * np.int64(names[i]) + 1]:
            i += 1
        if i < starts[v + 1]:
            marks[names[i]] = 1


@kept
def _pack(marks: Bytes, out: Words, begin: int, end: int) -> int:
    """Write the marked edges of [begin, end) from `begin` on; returns their number."""
    given, called = marks[begin:end], out[begin:end]
    place = 0
    for i in range(given.size):
        called[place] = begin + i
        place += given[i]
    return place


@kept
def _assign_piece(
    pairs: Words, loads: Floats, most: float, wide: bool, packed: Words, groups: Words, held: Floats, found: int,
    barrier: Longs, i: int,
) -> int:  # fmt: skip
    """`_assign` for piece i, packed from its begin, as soon as it is ready; -1 if a thread failed."""
    count = wait(barrier, i)
    if count < 0:
        return -1
    found = _assign(pairs, loads, most, wide, packed[:count], groups, held, found)
    add(barrier, ASSIGNED, 1)
    return found


@kept
def _assign(
    pairs: Words, loads: Floats, most: float, wide: bool, packed: Words, groups: Words, held: Floats, found: int
) -> int:
    """Assign clusters to the ends of these edges, each of which has a free end; returns the new number of clusters."""
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


@kept
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
        # Always written, and kept only if the clusters differ: without a branch, which would be mispredicted.
        own[2 * place], own[2 * place + 1] = a, b
        called[place] = begin + i
        # The vertex of a loop may get its cluster between the two reads.
        place += (a != b) & (given[2 * i] != given[2 * i + 1])
    return begin + place


@kept
def _gather(loads: Floats, most: float, groups: Words, held: Floats, found: int) -> int:
    """Put the vertices without a cluster into clusters, in order; returns the new number of clusters."""
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


@kept
def claim(
    pairs: Words, count: int, names: Words, loads: Floats, most: float, wide: bool, groups: Words, held: Floats,
    out: Words, out_names: Words,
) -> tuple[int, int]:  # fmt: skip
    """Clusters of load up to `most`, grown edge by edge in stream order.

    An edge with two free ends starts a cluster of both. A free end joins the cluster of the other end if that has room,
    else it starts its own. So both ends of an edge have their final clusters once it is processed, and an edge between
    two clusters can be output at once: one pass suffices. Vertices without edges are clustered last, in order.

    Args:
        pairs: uint32 (at least 2 · count), the ends of edge i at 2 i and 2 i + 1; loops are skipped.
        names: uint32 (count), names of the edges; empty: their positions.
        loads: float64 (n); empty means 1 each.
        most: a vertex of larger load is a cluster of its own.
        wide: whether first ends are scattered in memory, too, and so need prefetching; affects only speed.
        groups: uint32 (n), overwritten with the cluster of each vertex.
        held: float64 (n), whose first entries are overwritten with the loads of the clusters.
        out, out_names: uint32 (2 · count), (count), overwritten with the clusters and names of output edges; may share
            the memory of `pairs` and `names`, which are read first.

    Returns:
        The number of clusters, and of output edges. O(edges + n).
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
        # Always written, and kept only if the clusters differ: without a branch, which would be mispredicted.
        out[2 * links], out[2 * links + 1] = a, b
        out_names[links] = i if unnamed else names[i]
        links += a != b
    if named < groups.size:
        return _gather(loads, most, groups, held, int(found)), links
    return int(found), links
