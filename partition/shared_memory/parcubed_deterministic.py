"""Deterministic ParCubed: inflate once, join and fold on the graph of clusters, then refine the boundary."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.fill_empty import fill_empty
from tracecut.partition.balance.rebalance import equal_targets, limits_of
from tracecut.partition.datastructures.plain_graphs import EdgeStream, edge_stream
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.partition.initial.greedy_growing import Parts, attempts
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Floats, Ints, Longs

from .boundary_greedy import boundary, movable, polish
from .cluster_graph import ClusterEdges, Halves, linked
from .inflate import claim, inflated
from .join import joined
from .parallel_greedy import improve_levels

LARGEST = 32  # most vertices of a cluster
PIECES = 16  # least clusters per part, so that parts can be balanced
SECOND = 160  # vertices of a cluster of clusters, if the stream has no locality
FEWEST = 7  # least such clusters per part
PLENTY = 40  # clusters per part, and
MANY = 1 << 16  # clusters, from which on they are clustered again if the order allows it
SAMPLE = 8192  # ends of edges that are sampled to find out whether the stream has locality
COARSEST = 14  # most vertices per part on the coarsest level: clusters of a stream with locality are long and thin
COARSER = 24  # the same if they were clustered again
TRIES = 24  # initial partitions of a small graph
SMALL = 1 << 14  # most ends of edges of a small graph
SPANS = 16  # pieces of a list of edges
BATCHES = 12  # batches that these are divided into, for at most as many threads
FINAL = 4  # passes over boundary vertices, each mostly near the moves of the last pass
FIRST = 3  # sweeps over a newly partitioned small graph,
SWEEPS = 2  # over a large one,
ROUNDS = 3  # over each level during uncoarsening


def parcubed_det(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    threads: int | None = None,
) -> Ints:
    """ParCubed's phases with improvements: exactly k balanced parts, the same labels for any number of threads.

    Inflate: small clusters and the edges between them, in one pass over the edges in the order of the jobs; if that
    order has no locality and leaves very many clusters, these are clustered once more. Join: clusters are matched along
    heavy edges, level by level. Fold: parts grow on the coarsest level, by adjacency instead of by size, and greedy
    moves improve them on every level. Finally, greedy passes over the boundary vertices.

    Args:
        graph: the locality graph; `plain_graphs.data_graph` says how jobs of many data are modelled.
        k: number of clusters.
        weights: float64 (data), positive; None means 1 each.
        targets: float64 (k), shares summing to 1; None means equal.
        balance: largest load of a cluster over its target.
        threads: threads at most; the labels do not depend on it.

    Returns:
        int32 (data), labels in [0, k); no cluster is empty when k ≤ data. O(pins).

    Source: ParCubed §2 and the improvement that its §2.3 suggests.
    """
    shares = equal_targets(k) if targets is None else targets
    if k == 1 or graph.n_data <= k:
        return np.arange(graph.n_data, dtype=np.int32) % np.int32(k)
    loads = floats(np.zeros(0) if weights is None or weights.min() == weights.max() else weights)
    with ThreadPool(threads, graph.n_data) as pool:
        return split(edge_stream(graph), k, loads, shares, balance, pool)


def split(stream: EdgeStream, k: int, loads: Floats, shares: Floats, balance: float, pool: ThreadPool) -> Ints:
    """`parcubed_det` on a graph of more vertices than parts; empty `loads` mean 1 each. int32 (vertices). O(edges)."""
    n = stream.size
    total = float(loads.sum()) if loads.size else float(n)
    mean = total / n
    limits = floats(limits_of(total, float(loads.max()) if loads.size else 1.0, shares, balance))
    pairs, names = np.empty(stream.ends.size, np.uint32), np.empty(stream.ends.size // 2, np.uint32)
    groups, held, links = _inflated(stream, loads, min(LARGEST, n / (PIECES * k)) * mean, pairs, names, pool)
    second = None
    if held.size > max(PLENTY * k, MANY) and _jumps(stream, groups, held.size):
        most = min(SECOND, n / (FEWEST * k)) * mean
        second, held, links = _gathered(links, held, most)
    halves = linked(links, held.size, pool)
    if held.size > k:
        found = _fold(halves, held, COARSEST if second is None else COARSER, shares, limits, pool)
    else:
        found = fill_empty(np.arange(held.size, dtype=np.int32), k, floats(held)).view(np.uint32)
    own = np.bincount(found, held, k).astype(np.float64)
    full = (own > limits).astype(np.uint8)
    labels = found if second is None else found[second]
    chosen, margin = boundary(stream, links, found, full, groups, labels, pool)
    sizes = (np.bincount(groups, minlength=k) if loads.size else np.rint(own)).astype(np.int64)
    parts = Parts(groups, own, sizes, limits)
    for _ in range(FINAL):
        if chosen.size == 0:
            break
        chosen = movable(stream, loads, parts, chosen, pool)
        chosen = polish(stream, loads, parts, margin, words(chosen))
    if sizes.min() > 0:
        return groups.view(np.int32)
    return fill_empty(groups.view(np.int32), k, loads if loads.size else None)


def _jumps(stream: EdgeStream, groups: Words, clusters: int) -> bool:
    """Whether edges join clusters with distant numbers; `groups`: the clusters of the vertices.

    If consecutive clusters are neighbours, clustering them again in stream order makes long, thin clusters; if the
    order has no locality, it makes good ones.
    """
    some = groups[_sample(stream.ends)].astype(np.int64)
    apart = np.abs(some[:, 0] - some[:, 1])
    return bool((apart > 0).any()) and float(apart[apart > 0].mean()) > clusters / 8


def _scattered(pairs: Words, n: int) -> bool:
    """Whether consecutive edges begin at distant vertices."""
    some, following = _sample(pairs[:-2]), _sample(pairs[2:])
    return some.size > 0 and float(np.abs(some[:, 0] - following[:, 0]).mean()) > n / 8


def _sample(pairs: Words) -> Longs:
    """A sample of these edges, int64 (sample, 2)."""
    return pairs.reshape(-1, 2)[:: max(1, pairs.size // SAMPLE)].astype(np.int64)


def _inflated(
    stream: EdgeStream, loads: Floats, most: float, out: Words, out_names: Words, pool: ThreadPool
) -> tuple[Words, Floats, ClusterEdges]:
    """The cluster of each vertex, the loads of the clusters, and the edges between them; see `inflated`."""
    groups, held = np.empty(stream.size, np.uint32), np.empty(stream.size)
    wide = _scattered(stream.ends, stream.size)
    clusters, links = inflated(stream, loads, most, wide, groups, held, out, out_names, pool)
    return groups, held[:clusters], links


def _gathered(links: ClusterEdges, loads: Floats, most: float) -> tuple[Words, Floats, ClusterEdges]:
    """The same for clusters of clusters, from the edges between them, which are overwritten; see `claim`.

    This uses one stream on one thread. Two ranges of vertices with half of the stream each would be deterministic as
    well, but without locality half of all edges cross between the ranges, and cuts were 2 to 3 % larger.
    """
    pairs, names, count = links.pairs, links.names, 0
    for begin, end in links.spans.tolist():
        stop = count + end - begin
        if begin > count:  # without gaps
            pairs[2 * count : 2 * stop], names[count:stop] = pairs[2 * begin : 2 * end], names[begin:end]
        count = stop
    groups, held = np.empty(loads.size, np.uint32), np.empty(loads.size)
    wide = _scattered(pairs[: 2 * count], loads.size)
    clusters, kept = claim(words(pairs), count, words(names), floats(loads), most, wide, groups, held, pairs, names)
    cuts = kept * np.arange(SPANS + 1) // SPANS
    return groups, held[:clusters], links._replace(spans=np.stack([cuts[:-1], cuts[1:]], 1))


def _fold(halves: Halves, loads: Floats, coarsest: int, shares: Floats, limits: Floats, pool: ThreadPool) -> Words:
    """Labels of the clusters: join level by level, grow several partitions, improve the best during uncoarsening."""
    k = shares.size
    levels = joined(halves, loads, float(loads.sum()) / (4 * k), coarsest * k, pool)
    level = levels.level(levels.n_levels - 1)
    # Small graphs: all initial partitions are improved and the best is taken; large graphs have only one.
    small = level.entries <= SMALL
    tries, batches, sweeps = (TRIES, BATCHES, FIRST) if small else (1, 1, SWEEPS)
    starts = level.size * np.arange(tries) // tries
    given = (level.tight(pool), floats(shares), limits)
    found = pool.each(attempts, [(*given, longs(starts[i::batches]), sweeps) for i in range(batches)])
    first = min(found, key=lambda attempt: attempt[1])[0]
    return improve_levels(levels, limits, first, ROUNDS, pool)
