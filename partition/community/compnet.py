"""A stand-in for CompNet: communities of even load, exactly k of them, by merging.

Stand-in: the VertexCut paper compares with the complex-network partitioner of Xiao et al. 2017 and only names it. What
follows is an objective of the same kind, not that program.
"""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.fill_empty import fill_empty
from tracecut.partition.balance.rebalance import capacities, loads_and_shares
from tracecut.partition.coarsening.edge_matching import Weighted, contracted
from tracecut.partition.datastructures.plain_graphs import data_graph
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

SWEEPS = 8  # of single moves between the k communities
LEAST = 1 / 32  # of these: where fewer do not meet, the others merge with the next by load
SHARE = 0.5  # of the proposed merges that one round makes at most, the best ones


def compnet(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    evenness: float = 2.0,
) -> Ints:
    """Stand-in for CompNet: k communities of the data by merging, then single moves.

    The objective, to be largest, over communities c:

        Σ_c ( inside_c / M − (volume_c / 2M)² ) − evenness · Σ_c (load_c / load)²

    where M is the weight of all edges, inside_c that of the edges within c, volume_c the sum of its degrees: this is
    modularity minus a penalty that is least when all loads are the same.

    Every datum starts alone. Each round, communities propose the merge that gains most (or costs least): with a
    neighbour, or with the one next to them by load, from the lightest pair up. The best proposals that do not meet are
    made, as long as more than k are left; where nearly all meet at a few hubs, the others merge with the next by load.
    Then single data move to the neighbouring community with the largest gain that has room.

    Args:
        graph: the locality graph; `plain_graphs.data_graph` says how jobs of many data are modelled.
        k: number of clusters.
        weights: float64 (data), positive; None means 1 each.
        targets: float64 (k), shares summing to 1, for moves and `balance`; the largest community gets the largest.
        balance: largest load of a cluster over its target.
        evenness: weight of the load penalty.

    Returns:
        int32 (data), labels in [0, k); no cluster is empty when k ≤ data. O(pins · log data).

    Source: stand-in for Xiao et al. 2017 (VertexCut §6); modularity of Newman and Girvan 2004.
    """
    loads, shares = loads_and_shares(graph.n_data, k, weights, targets)
    n = graph.n_data
    if k == 1 or n <= k:
        return np.arange(n, dtype=np.int32) % np.int32(k)
    plain = data_graph(graph)
    finest = Weighted(longs(plain.offsets), words(plain.neighbours), longs(plain.edge_weights), floats(loads))
    volumes = _degrees(finest.offsets, finest.edges)
    twice, total = max(float(volumes.sum()), 1.0), float(loads.sum())
    labels, level, volume = np.arange(n, dtype=np.uint32), finest, volumes
    with ThreadPool(1, n) as pool:
        while level.size > k:
            mates = _proposed(level, volume, twice, total, evenness, level.size - k)
            level, coarse = contracted(level, mates, pool)
            volume = np.bincount(coarse, volume, level.size).astype(np.float64)
            labels = coarse[labels]
    # The heaviest community takes the largest target.
    place = np.empty(k, np.uint32)
    place[np.argsort(-level.loads, kind="stable")] = np.argsort(-shares, kind="stable")
    labels = place[labels]
    limits = floats(capacities(loads, shares, balance))
    for _ in range(SWEEPS):
        if _move(finest, floats(volumes), labels, limits, twice, total, evenness) == 0:
            break
    return fill_empty(labels.view(np.int32), k, loads)


def _proposed(level: Weighted, volume: Floats, twice: float, total: float, evenness: float, most: int) -> Words:
    """The mate of each community in one round of at most `most` merges; itself where it has none."""
    lightest = np.argsort(level.loads, kind="stable")
    partners = np.empty(level.size, np.uint32)  # the next lightest; of an odd number the last one, with the one before
    partners[lightest] = lightest[np.minimum(np.arange(level.size) ^ 1, level.size - 1)]
    partners[lightest[-1]] = lightest[-2]
    best, gain = _best_merges(level, floats(volume), words(partners), twice, total, evenness)
    order = np.argsort(-gain, kind="stable").astype(np.uint32)
    mates = np.arange(level.size, dtype=np.uint32)
    some = min(most, max(1, int(SHARE * order.size)))
    made = _pair(words(order), best, mates, some)
    if made < some * LEAST:  # most proposals are for the same few communities: hubs
        _pair(words(order), words(partners), mates, some - made)
    return mates


@kept
def _degrees(offsets: Longs, edges: Longs) -> Floats:
    degrees = np.zeros(offsets.size - 1)
    for v in range(degrees.size):
        for i in range(offsets[v], offsets[v + 1]):
            degrees[v] += edges[i]
    return degrees


@kept
def _best_merges(
    graph: Weighted, volumes: Floats, partners: Words, twice: float, total: float, evenness: float
) -> tuple[Words, Floats]:
    """The best merge of each community, with a neighbour or its partner, and its gain."""
    offsets, near, edges, loads = graph
    best, gain = partners.copy(), np.empty(loads.size)
    for c in range(loads.size):
        d = partners[c]
        gain[c] = -2.0 * volumes[c] * volumes[d] / (twice * twice) - 2.0 * evenness * loads[c] * loads[d] / (
            total * total
        )
        for i in range(offsets[c], offsets[c + 1]):
            d = near[i]
            change = 2.0 * edges[i] / twice - 2.0 * volumes[c] * volumes[d] / (twice * twice)
            change -= 2.0 * evenness * loads[c] * loads[d] / (total * total)
            if change > gain[c] or (change == gain[c] and loads[d] < loads[best[c]]):
                best[c], gain[c] = d, change
    return best, gain


@kept
def _pair(order: Words, best: Words, mates: Words, most: int) -> int:
    """Make up to `most` of the merges in `order`, each community in one at most; returns their number."""
    made = 0
    for c in order:
        if made == most:
            break
        d = best[c]
        if c != d and mates[c] == c and mates[d] == d:
            mates[c], mates[d] = d, c
            made += 1
    return made


@kept
def _move(
    graph: Weighted, volumes: Floats, labels: Words, limits: Floats, twice: float, total: float, evenness: float
) -> int:
    """One sweep of single moves that better the objective, or leave a community above its limit; how many."""
    offsets, near, edges, loads = graph
    k = limits.size
    held, volume, sizes = np.zeros(k), np.zeros(k), np.zeros(k, np.int64)
    for v in range(labels.size):
        held[labels[v]] += loads[v]
        volume[labels[v]] += volumes[v]
        sizes[labels[v]] += 1
    links, met = np.zeros(k), np.empty(k, np.uint32)
    moved = 0
    for v in range(labels.size):
        own = labels[v]
        count = 0
        for i in range(offsets[v], offsets[v + 1]):
            label = labels[near[i]]
            if links[label] == 0.0:
                met[count] = label
                count += 1
            links[label] += edges[i]
        stay = 2.0 * links[own] / twice - 2.0 * volumes[v] * (volume[own] - volumes[v]) / (twice * twice)
        stay -= 2.0 * evenness * loads[v] * (held[own] - loads[v]) / (total * total)
        most, best = (-np.inf if held[own] > limits[own] else stay + 1e-15), own
        for m in range(count):
            part = met[m]
            if part == own or held[part] + loads[v] > limits[part]:
                continue
            value = 2.0 * links[part] / twice - 2.0 * volumes[v] * volume[part] / (twice * twice)
            value -= 2.0 * evenness * loads[v] * held[part] / (total * total)
            if value > most:
                most, best = value, part
        for m in range(count):
            links[met[m]] = 0.0
        if best != own and sizes[own] > 1:
            labels[v] = best
            held[own] -= loads[v]
            held[best] += loads[v]
            volume[own] -= volumes[v]
            volume[best] += volumes[v]
            sizes[own] -= 1
            sizes[best] += 1
            moved += 1
    return moved
