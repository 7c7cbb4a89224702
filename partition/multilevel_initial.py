"""First partitions of small hypergraphs: recursive bisection, each by its own small multilevel hierarchy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from ..ir.arrays import Floats, Ints, Longs
from .coarsen import coarsen
from .crew import Crew
from .km1 import Effort, refine
from .levels import Level, part_level
from .views import Words

SMALL = 120  # nodes that are bisected without coarsening further
TRIES = 6  # first bisections, of which the best is kept
PAIR = Effort(sweeps=1, passes=2, least=0.01, together=25, patience=1.0)


@dataclass(frozen=True, eq=False)
class _Part:
    """Nodes, uint32, of the clusters from `first` on; the level that they make, and what their clusters should hold."""

    level: Level
    nodes: Words
    first: int
    targets: Floats
    limits: Floats
    seed: int

    def shares(self) -> tuple[Floats, Floats]:
        """The loads that the two halves should have, and may have; float64 (2) each."""
        half = self.targets.size // 2
        load = float(self.level.node_weights.sum())
        sums = np.array([self.targets[:half].sum(), self.targets[half:].sum()])
        room = np.array([self.limits[:half].sum(), self.limits[half:].sum()])
        shares = sums / sums.sum() * load
        slack = max(1.0, float(room.sum()) / load) ** (1.0 / math.ceil(math.log2(self.targets.size)))
        return shares, np.minimum(shares * slack, room)

    def side(self, sides: Words, side: int) -> _Part:
        half = self.targets.size // 2
        own = slice(half, None) if side else slice(half)
        level, chosen = part_level(self.level, sides, side)
        first = self.first + side * half
        return _Part(level, self.nodes[chosen], first, self.targets[own], self.limits[own], 2 * self.seed + side + 1)


def first_partition(
    level: Level, targets: Floats, limits: Floats, seed: int, repeats: int = 1, crew: Crew | None = None
) -> Words:
    """Labels of a hypergraph by recursive bisection of its nodes and of the clusters; uint32 (nodes).

    Each half may take its share of the slack that its clusters' `limits` leave above their `targets` (both float64
    (k), as loads), spread evenly over the bisections still to come. The best of `repeats` bisections is kept each
    time. Bisections of one depth are shared out among the `crew`. O(pins · log k · levels · repeats). Heavy nodes may
    leave a cluster above its limit.
    """
    if crew is None:
        with Crew(1, 0) as alone:
            return first_partition(level, targets, limits, seed, repeats, alone)
    labels = np.zeros(level.n_nodes, np.uint32)
    parts = [_Part(level, np.arange(level.n_nodes, dtype=np.uint32), 0, targets, limits, seed)]
    while parts:
        for part in parts:
            labels[part.nodes] = part.first
        parts = [part for part in parts if part.targets.size > 1 and part.nodes.size]
        calls = [
            (part.level, *part.shares(), (part.seed + 977 * trial) % 2**31)
            for part in parts
            for trial in range(repeats)
        ]
        found = crew.each(bisect, calls)
        best = [min(found[i : i + repeats], key=lambda result: result[1:]) for i in range(0, len(found), repeats)]
        halves = [(part, result[0], side) for part, result in zip(parts, best, strict=True) for side in (0, 1)]
        parts = crew.each(_Part.side, halves)
    return labels


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
