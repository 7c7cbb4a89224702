"""Levels of a weighted graph: a matching along heavy edges, of which each pair is contracted to one vertex."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.partition.parallel.thread_pool import ThreadPool, blocks
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

NONE = np.uint32(0xFFFFFFFF)
LIGHT = 1e-200  # what a vertex without load counts for where something is divided by it


class Rows(NamedTuple):
    """An undirected graph with weights on vertices and edges, whose rows may have gaps between them.

    Attributes:
        first, last: int64 (vertices): where the row of each vertex begins and ends; rows lie in their order.
        near: uint32, both directions of each edge; edges: int64, weights as `near`.
        loads: float64 (vertices).
    """

    first: Longs
    last: Longs
    near: Words
    edges: Longs
    loads: Floats

    @property
    def size(self) -> int:
        return self.loads.size

    @property
    def entries(self) -> int:
        """Number of entries of the rows, including gaps."""
        return int(self.last[-1] - self.first[0]) if self.size else 0

    def tight(self, pool: ThreadPool) -> Weighted:
        """The same graph with no gap between rows. O(edges)."""
        offsets = np.concatenate([[0], np.cumsum(self.last - self.first)])
        near, edges = np.empty(int(offsets[-1]), np.uint32), np.empty(int(offsets[-1]), np.int64)
        pool.each(_close_gaps, [(self, offsets, near, edges, *part) for part in blocks(self.size)])
        return Weighted(longs(offsets), words(near), longs(edges), floats(self.loads))


class Weighted(NamedTuple):
    """An undirected graph with weights on vertices and edges.

    Attributes:
        offsets: int64 (vertices + 1); near: uint32, both directions of each edge; edges: int64, weights as `near`.
        loads: float64 (vertices).
    """

    offsets: Longs
    near: Words
    edges: Longs
    loads: Floats

    @property
    def size(self) -> int:
        return self.loads.size

    @property
    def rows(self) -> Rows:
        return Rows(self.offsets[:-1], self.offsets[1:], self.near, self.edges, self.loads)


def halved(graph: Weighted, labels: Words, parts: Longs, heaviest: float, pool: ThreadPool) -> tuple[Weighted, Words]:
    """One step of coarsening.

    Args:
        graph: whose vertices are sorted by label.
        labels: uint32 (vertices).
        parts: int64 (k + 1), the vertices of each label.
        heaviest: load that no matched pair exceeds.
        pool: the threads; the result does not depend on them.

    Returns:
        The coarser graph, in the same order, and the coarse vertex of each vertex, uint32. O(edges).
    """
    mates = np.full(graph.size, NONE, np.uint32)
    # Ranges of whole parts, since vertices are not matched across parts.
    cuts = np.searchsorted(parts, [begin for begin, _ in blocks(graph.size)])
    ends = [int(parts[c]) for c in np.unique([*cuts, 0, parts.size - 1])]
    pool.each(match, [(graph.rows, labels, heaviest, mates, *part) for part in pairwise(ends)])
    return contracted(graph, mates, pool)


def contracted(graph: Weighted, mates: Words, pool: ThreadPool) -> tuple[Weighted, Words]:
    """The graph in which each vertex and its mate are one, and the coarse vertex of each vertex.

    `mates` is uint32 (vertices), an involution; a vertex without a mate is its own. O(edges).
    """
    n = graph.size
    coarse, heads = np.empty(n, np.uint32), np.empty(n, np.uint32)
    begins, loads = np.empty(n + 1, np.int64), np.empty(n)
    count = number_pairs(graph.rows, mates, coarse, heads, begins, loads)
    near, edges = np.empty(graph.near.size, np.uint32), np.empty(graph.near.size, np.int64)
    rows = Rows(np.empty(count, np.int64), np.empty(count, np.int64), near, edges, loads[:count])
    pairs = (graph.rows, mates, coarse, heads, rows)
    positions = pool.workspaces(lambda: (np.zeros(count, np.int64),))
    positions.each(contract, [(*pairs, int(begins[begin]), begin, end) for begin, end in blocks(count)])
    return rows.tight(pool), coarse


@kept
def match(rows: Rows, labels: Words, heaviest: float, mates: Words, begin: int, end: int) -> None:
    """Match free vertices of [begin, end), in order, with the free neighbour of most weight² over its load.

    Both have the same label, unless `labels` are empty, and weigh at most `heaviest` together. `mates` becomes the mate
    of each, the vertex itself where none is left. O(their edges).
    """
    first, last, near, edges, loads = rows
    for v in range(begin, end):
        if mates[v] != NONE:
            continue
        best, most = np.uint32(v), 0.0
        for i in range(first[v], last[v]):
            u = near[i]
            if mates[u] != NONE or loads[u] + loads[v] > heaviest or (labels.size and labels[u] != labels[v]):
                continue
            value = float(edges[i]) * float(edges[i]) / max(loads[u], LIGHT)
            if value > most:
                best, most = u, value
        mates[v] = best
        mates[best] = np.uint32(v)


@kept
def number_pairs(rows: Rows, mates: Words, coarse: Words, heads: Words, begins: Longs, sums: Floats) -> int:
    """The number of coarse vertices, which are numbered by their first member.

    Overwrites `coarse`, uint32 (vertices), the coarse vertex of each; `heads`, uint32, the first member of each coarse
    vertex; `begins`, int64 (coarse + 1), where its row may begin: after as many entries as all members before it have;
    and `sums`, float64, its load.
    """
    first, last, _, _, loads = rows
    count = 0
    begins[0] = 0
    for v in range(loads.size):
        pair = mates[v]
        if pair >= v:
            heads[count] = v
            coarse[v] = count
            length, load = last[v] - first[v], loads[v]
            if pair != v:
                coarse[pair] = count
                length += last[pair] - first[pair]
                load += loads[pair]
            begins[count + 1] = begins[count] + length
            sums[count] = load
            count += 1
    return count


@kept
def contract(
    fine: Rows, mates: Words, coarse: Words, heads: Words, rows: Rows, place: int, begin: int, end: int, position: Longs
) -> None:
    """The rows of the coarse vertices of [begin, end), written into `rows` one after the other from `place` on.

    Parallel edges are merged, neighbours come as they are first met. `position`, int64 (coarse vertices), may hold
    anything: an entry counts only where it points into the row at hand, to the neighbour itself.
    """
    first, last, fine_near, fine_edges, _ = fine
    new_first, new_last, near, edges, _ = rows
    for c in range(begin, end):
        start = place
        head = heads[c]
        pair = mates[head]
        for member in range(1 if pair == head else 2):
            v = head if member == 0 else pair
            for i in range(first[v], last[v]):
                u = coarse[fine_near[i]]
                if u == c:
                    continue
                seen = position[u]
                if start <= seen < place and near[seen] == u:
                    edges[seen] += fine_edges[i]
                else:
                    position[u] = place
                    near[place], edges[place] = u, fine_edges[i]
                    place += 1
        new_first[c], new_last[c] = start, place


@kept
def _close_gaps(rows: Rows, offsets: Longs, near: Words, edges: Longs, begin: int, end: int) -> None:
    for v in range(begin, end):
        shift = rows.first[v] - offsets[v]
        for i in range(offsets[v], offsets[v + 1]):
            near[i], edges[i] = rows.near[i + shift], rows.edges[i + shift]
