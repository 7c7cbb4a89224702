"""ParCubed as published, and GPart with the three passes of its experiments."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.fill_empty import fill_empty
from tracecut.partition.datastructures.plain_graphs import PlainGraph, data_graph
from tracecut.partition.datastructures.typed_views import Words, longs, words
from tracecut.partition.datastructures.union_find import depth, find, join, swap
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Ints, Longs
from tracecut.support.lazy_kernels import kept

GROWING = -(1 << 62)  # mark of a seed: a root, and not a singleton
GPART_PASSES = (0.5, 0.75, 1.25)  # largest parts of each pass, relative to the final size, ParCubed §4


@dataclass(frozen=True, eq=False)
class Phases:
    """The results of the phases (ParCubed figure 6).

    Attributes:
        labels: int32 (vertices) in [0, k).
        inflated, joined, folded: parts after each phase; the last counts before empty parts were filled.
        depth: of the union-find trees before folding.
    """

    labels: Ints
    inflated: int
    joined: int
    folded: int
    depth: int


def parcubed(
    graph: LocalityGraph, k: int, *, threads: int | None = None, inflate: float = 1.0, join: float = 1.0
) -> Ints:
    """Inflate, join, fold: a very fast partition into parts of similar size that ignores weights and the balance bound.

    Each thread inflates from the vertices of its block, then joins parts along edges in its block; the fold is serial
    and pairs parts by size. On several threads labels differ between runs, as in the published algorithm.

    Args:
        graph: the locality graph; `plain_graphs.data_graph` says how jobs of many data are modelled.
        k: number of clusters.
        threads: threads at most, None takes all cores.
        inflate: largest part that inflation makes, in units of data / k.
        join: largest part that joining makes, in the same units. Folding has no limit.

    Returns:
        int32 (data), labels in [0, k). If there are fewer than k parts, the rest are single data. O(pins · depth).

    Source: ParCubed §2, §3; counting the seed once and comparing roots before a join, which its figures omit.
    """
    with ThreadPool(threads, graph.n_data) as pool:
        return parcubed_phases(data_graph(graph), k, pool, inflate, join).labels


def gpart(graph: LocalityGraph, k: int) -> Ints:
    """Parts merged along edges in three passes of up to 50, 75 and 125 % of the final size.

    Args: the locality graph, the number of clusters. More than k parts are folded as in `parcubed`; missing parts are
    single data. Returns int32 (data), labels in [0, k). O(pins · depth).

    Source: GPart of Han and Tseng 2001, as run in ParCubed §4.
    """
    return gpart_phases(data_graph(graph), k).labels


def parcubed_phases(plain: PlainGraph, k: int, pool: ThreadPool, inflate: float = 1.0, join: float = 1.0) -> Phases:
    """`parcubed` on a plain graph, with the counts of its phases."""
    n = plain.size
    parents = np.full(n, -1, np.int64)
    rows = (longs(plain.offsets), words(plain.neighbours))
    cuts = [n * i // pool.threads for i in range(pool.threads + 1)]
    bounds = list(pairwise(cuts))
    pool.each(_inflate, [(*rows, parents, _size(inflate, n, k), *part) for part in bounds])
    inflated = int(np.count_nonzero(parents < 0))
    pool.each(_join, [(*rows, parents, _size(join, n, k), *part) for part in bounds])
    return _finished(parents, k, inflated)


def gpart_phases(plain: PlainGraph, k: int) -> Phases:
    """`gpart` on a plain graph; `inflated` counts the parts after the first two passes."""
    n = plain.size
    parents = np.full(n, -1, np.int64)
    counts = []
    for share in GPART_PASSES:
        _join(longs(plain.offsets), words(plain.neighbours), parents, _size(share, n, k), 0, n)
        counts.append(int(np.count_nonzero(parents < 0)))
    return _finished(parents, k, counts[1])


def _size(share: float, n: int, k: int) -> int:
    return max(1, int(share * n / k))


def _finished(parents: Longs, k: int, inflated: int) -> Phases:
    is_root = parents < 0
    number = np.cumsum(is_root) - 1
    part_of = number[_roots(parents)]
    joined = int(np.count_nonzero(is_root))
    deepest = int(depth(parents))
    folded = _fold(np.argsort(-parents[is_root], kind="stable"), k)
    labels = folded[part_of].astype(np.int32)
    filled = fill_empty(labels, k, np.ones(labels.size))
    return Phases(filled, inflated, joined, min(joined, k), deepest)


def _fold(by_size: Longs, k: int) -> Longs:
    """The new part of each part, given all parts in ascending size, by figure 5.

    The k largest parts absorb the others: in descending size, these go to ever larger parts, cyclically.
    """
    found = by_size.size
    extra = max(0, found - k)
    target = np.empty(found, np.int64)
    target[by_size[extra:]] = np.arange(found - extra)
    if extra:
        target[by_size[extra - 1 :: -1]] = np.arange(extra) % k
    return target


@kept
def _inflate(offsets: Longs, near: Words, parents: Longs, most: int, begin: int, end: int) -> None:
    """Figure 3 from each singleton vertex of [begin, end).

    A seed is marked while its part grows, and takes only vertices that are singletons at that moment (by
    compare-and-swap). So no other thread can take it or its members, and no part exceeds `most`.
    """
    queue = np.empty(1024, np.uint32)
    for seed in range(begin, end):
        if parents[seed] != -1 or not swap(parents, seed, -1, GROWING):
            continue
        size, head, tail = 1, 0, 0
        v = np.int64(seed)
        while True:
            for i in range(offsets[v], offsets[v + 1]):
                if parents[near[i]] != -1:
                    continue  # it would be skipped when it is taken from the queue
                if tail == queue.size:
                    longer = np.empty(2 * tail, np.uint32)
                    longer[:tail] = queue
                    queue = longer
                queue[tail] = near[i]
                tail += 1
            while head < tail and parents[queue[head]] != -1:
                head += 1
            if head == tail or size >= most:
                break
            v = np.int64(queue[head])
            head += 1
            if swap(parents, v, -1, seed):
                size += 1
        parents[seed] = -size


@kept
def _join(offsets: Longs, near: Words, parents: Longs, most: int, begin: int, end: int) -> None:
    """Figure 4 from each vertex of [begin, end)."""
    for v in range(begin, end):
        own = find(parents, v)
        for i in range(offsets[v], offsets[v + 1]):
            other = find(parents, np.int64(near[i]))
            own = find(parents, own)
            # Another thread may link a root at this moment; then a parent is read instead of a size, and the sum is
            # meaningless.
            first, second = parents[own], parents[other]
            if other != own and first < 0 and second < 0 and -(first + second) <= most:
                join(parents, own, other)


@kept
def _roots(parents: Longs) -> Longs:
    roots = np.empty(parents.size, np.int64)
    for item in range(parents.size):
        roots[item] = find(parents, item)
    return roots
