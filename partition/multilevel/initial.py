"""First partitions of small hypergraphs: recursive bisection, each by its own small multilevel hierarchy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from tracecut.partition.coarsening.hypergraph_levels import Level, part_level
from tracecut.partition.datastructures.typed_views import Words, floats
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.partition.refinement.km1 import level_cost
from tracecut.support.arrays import Floats

from .bisect import bisect_nodes

HOPELESS = 1.17  # cost, over that of other labels, from which bisection is given up,
STEP = 0.06  # and by so much earlier for each depth that is still to come
LIGHT = 1e-9  # what nodes without load count for batch


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
        load = max(float(self.level.node_weights.sum()), LIGHT)
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
    level: Level, targets: Floats, limits: Floats, seed: int, repeats: int = 1, pool: ThreadPool | None = None
) -> Words:
    """Labels of a hypergraph by recursive bisection of its nodes and of the clusters; uint32 (nodes).

    Each half may take its share of the slack that its clusters' `limits` leave above their `targets` (both float64
    (k), as loads), spread evenly over the bisections still to come. The best of `repeats` bisections is kept each
    time. Bisections of one depth are shared out among the `pool`. O(pins · log k · levels · repeats). Heavy nodes may
    leave a cluster above its limit.
    """
    if pool is None:
        with ThreadPool(1, 0) as alone:
            return first_partition(level, targets, limits, seed, repeats, alone)
    labels = np.zeros(level.n_nodes, np.uint32)
    parts = _roots(level, targets, limits, seed)
    while parts:
        parts = _halved(parts, pool.all(*_bisections(parts, repeats)), repeats, labels, pool)
    return labels


def contest(
    level: Level,
    targets: Floats,
    limits: Floats,
    seed: int,
    repeats: int,
    pool: ThreadPool,
    rival: Callable[[], tuple[Words, int]],
) -> tuple[Words, int, Words | None]:
    """The result of `rival` (labels and their cost), and that of `first_partition`, or None if it was given up.

    The rival is found while the first bisection runs. After each depth the cost is compared with that of the rival, of
    which clusters that are still to be parted count as one. Bisection is strongest at first: it may cost `HOPELESS`
    times as much at the end, and less before.
    """
    labels, k = np.zeros(level.n_nodes, np.uint32), targets.size
    parts = _roots(level, targets, limits, seed)
    depths = math.ceil(math.log2(k))
    (others, cost), *found = pool.all(rival, *_bisections(parts, repeats))
    while parts:
        parts = _halved(parts, found, repeats, labels, pool)
        depths -= 1
        firsts = np.unique(np.append(labels, np.uint32(0)))  # 0 may have got no node
        merged = (np.searchsorted(firsts, others, side="right") - 1).astype(np.uint32)
        if level_cost(level, labels, k, pool) > (HOPELESS - STEP * depths) * level_cost(level, merged, k, pool):
            return others, cost, None
        found = pool.all(*_bisections(parts, repeats))
    return others, cost, labels


def _roots(level: Level, targets: Floats, limits: Floats, seed: int) -> list[_Part]:
    whole = _Part(level, np.arange(level.n_nodes, dtype=np.uint32), 0, targets, limits, seed)
    return [whole] if targets.size > 1 and level.n_nodes else []


def _bisections(parts: list[_Part], repeats: int) -> list[Callable[[], tuple[Words, float, int]]]:
    """Tasks for a pool, `repeats` a part."""
    return [
        partial(bisect, part.level, *loads, (part.seed + 977 * trial) % 2**31)
        for part, loads in [(part, part.shares()) for part in parts]
        for trial in range(repeats)
    ]


def _halved(
    parts: list[_Part], found: list[tuple[Words, float, int]], repeats: int, labels: Words, pool: ThreadPool
) -> list[_Part]:
    """Write the `labels` of the best bisection of each part; the halves that are to be parted further."""
    best = [min(found[i : i + repeats], key=lambda result: result[1:]) for i in range(0, len(found), repeats)]
    halves = pool.each(
        _Part.side, [(part, sides[0], i) for part, sides in zip(parts, best, strict=True) for i in (0, 1)]
    )
    for half in halves:
        labels[half.nodes] = half.first
    return [half for half in halves if half.targets.size > 1 and half.nodes.size]


def bisect(level: Level, shares: Floats, limits: Floats, seed: int) -> tuple[Words, float, int]:
    """`bisect.bisect_nodes` on a level."""
    sides, excess, cost = bisect_nodes(level, floats(shares), floats(limits), seed)
    return sides, float(excess), int(cost)
