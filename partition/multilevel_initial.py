"""First partitions of small hypergraphs: recursive bisection, each by its own small multilevel hierarchy."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ..ir.arrays import Floats, Ints, Longs
from .coarsen import Level, coarsen, part_level
from .km1 import Effort, refine
from .views import Words

SMALL = 120  # nodes that are bisected without coarsening further
TRIES = 6  # first bisections, of which the best is kept
PAIR = Effort(sweeps=1, passes=2, least=0.01, together=25, patience=1.0)


def first_partition(level: Level, targets: Floats, limits: Floats, seed: int, repeats: int = 1) -> Words:
    """Labels of a hypergraph by recursive bisection of its nodes and of the clusters; uint32 (nodes).

    Each half may take its share of the slack that its clusters' `limits` leave above their `targets` (both float64
    (k), as loads), spread evenly over the bisections still to come. The best of `repeats` bisections is kept each
    time. O(pins · log k · levels · repeats). Heavy nodes may leave a cluster above its limit.
    """
    labels = np.zeros(level.n_nodes, np.uint32)
    _split(level, np.arange(level.n_nodes, dtype=np.uint32), 0, targets, limits, labels, seed, repeats)
    return labels


def _split(
    level: Level,
    nodes: Words,
    first: int,
    targets: Floats,
    limits: Floats,
    labels: Words,
    seed: int,
    repeats: int,
) -> None:
    """Write the labels `first`, `first` + 1, … of the nodes of a part."""
    k = targets.size
    if k == 1 or nodes.size == 0:
        labels[nodes] = first
        return
    half = k // 2
    load = float(level.node_weights.sum())
    sums = np.array([targets[:half].sum(), targets[half:].sum()])
    room = np.array([limits[:half].sum(), limits[half:].sum()])
    shares = sums / sums.sum() * load
    slack = max(1.0, float(room.sum()) / load) ** (1.0 / math.ceil(math.log2(k)))
    allowed = np.minimum(shares * slack, room)
    found = [bisect(level, shares, allowed, (seed + 977 * trial) % 2**31) for trial in range(repeats)]
    sides, _, _ = min(found, key=lambda result: result[1:])
    for side, (begin, end) in enumerate(((0, half), (half, k))):
        if end - begin == 1:
            labels[nodes[sides == side]] = first + begin
            continue
        part, chosen = part_level(level, sides, side)
        own = (targets[begin:end], limits[begin:end])
        _split(part, nodes[chosen], first + begin, *own, labels, 2 * seed + side + 1, repeats)


def bisect(level: Level, shares: Floats, limits: Floats, seed: int) -> tuple[Words, float, int]:
    """Two sides of the loads `shares`, at most `limits` where nodes allow; both float64 (2).

    Returns uint32 (nodes), the load above the limits, and the cost.
    """
    levels, groupings = [level], []
    heaviest = float(level.node_weights.sum()) / SMALL * 1.5
    while levels[-1].n_nodes > SMALL:
        coarser, groups = coarsen(levels[-1], heaviest, seed + len(levels), enough=SMALL)
        if coarser.n_nodes > 0.95 * levels[-1].n_nodes:
            break
        levels.append(coarser)
        groupings.append(groups)
    sides, excess, cost = _first_sides(levels[-1], shares, limits, seed)
    for finer, groups in zip(reversed(levels[:-1]), reversed(groupings), strict=True):
        sides, cost = refine(finer, sides[groups], limits, PAIR, seed)
    return sides, excess, cost


def _first_sides(level: Level, shares: Floats, limits: Floats, seed: int) -> tuple[Words, float, int]:
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(TRIES):
        order = draw.permutation(level.n_nodes).astype(np.uint32)
        grown = _grow_side(*level.arrays, order, float(shares[0]), float(limits[0]))
        sides, cost = refine(level, grown, limits, PAIR, seed)
        excess = np.maximum(np.bincount(sides, level.node_weights, 2) - limits, 0.0)
        found.append((sides, float(excess.sum()), cost))
    return min(found, key=lambda result: result[1:])


@njit(cache=True, nogil=True)
def _grow_side(
    node_offsets: Longs,
    node_nets: Words,
    net_offsets: Longs,
    net_nodes: Words,
    node_weights: Floats,
    net_weights: Ints,
    order: Words,
    share: float,
    limit: float,
) -> Words:
    """Side 0 grows from `order[0]` to `share`: the node whose move costs least joins, ties to the earliest.

    O(nodes² + Σ over nets of size²); the graphs are small.
    """
    n = node_weights.size
    sides = np.ones(n, np.uint32)
    inside = np.zeros(net_weights.size, np.int64)
    gain = np.zeros(n, np.int64)
    for u in range(n):
        for i in range(node_offsets[u], node_offsets[u + 1]):
            gain[u] -= net_weights[node_nets[i]]
    reached = np.zeros(n, np.bool_)
    load = 0.0
    while load < share:
        best = -1
        for near in (True, False):  # a node that shares a net, or, from an exhausted component, any
            for place in range(n):
                u = int(order[place])
                if sides[u] == 1 and reached[u] == near and load + node_weights[u] <= limit:
                    if best < 0 or (near and gain[u] > gain[best]):
                        best = u
                    if not near:
                        break
            if best >= 0:
                break
        if best < 0 or load + node_weights[best] * 0.5 > share:
            break
        sides[best] = 0
        load += node_weights[best]
        for i in range(node_offsets[best], node_offsets[best + 1]):
            net = node_nets[i]
            inside[net] += 1
            size = net_offsets[net + np.uint32(1)] - net_offsets[net]
            if inside[net] != 1 and inside[net] != size - 1:
                continue
            for j in range(net_offsets[net], net_offsets[net + np.uint32(1)]):
                v = net_nodes[j]
                reached[v] = True
                if inside[net] == 1:
                    gain[v] += net_weights[net]
                if inside[net] == size - 1 and sides[v] == 1:
                    gain[v] += net_weights[net]
    return sides
