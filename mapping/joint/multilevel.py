"""The multilevel method of mapping: regions are halved as levels grow finer, and all of them refined at each level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tracecut.partition.coarsening.edge_matching import Weighted
from tracecut.partition.datastructures.shuffle import shuffle
from tracecut.partition.datastructures.typed_views import Words
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Floats, Longs

from .coarsen import coarsened
from .core_regions import Layout, Stage, layout
from .hop_fm import border, climb, search
from .moves import cost_of, relieve, scratch
from .split import split
from .vertex_heap import heap

NOTHING = np.empty(0, np.uint32)
BASE = 3000  # vertices, at most, of the level that the first stages work on
PER_REGION = 64  # vertices of the level that a stage works on, for each of its regions
VERTICES = 20  # for each region, of the coarsest level of a stage
CYCLES = 2  # further ones, within the mapping that is there
PATIENCE = 20
LOOSE = 2.0  # heaviest vertices beyond the limit that are allowed on coarse levels
ROUNDS = 3  # of searches on a level, at most
WORTH = 2e-3  # of the cost: a round that gains less is the last


def mapped(graph: Weighted, found: Sequence[Stage], targets: Floats, limits: Floats, seed: int) -> Words:
    """A region of the last stage for each vertex, uint32 (vertices).

    Args:
        graph: the graph. found: the stages of the machine, at least one.
        targets: float64 (cores), loads that each should have; limits: float64 (cores), the most that it may, as far as
            single vertices allow.
        seed: the same gives the same mapping.

    O((edges + vertices · log) · levels) for searches whose moves are as many as the vertices of borders.
    """
    with ThreadPool(1, graph.size) as pool:
        last = layout(found[-1].table, limits[np.argsort(found[-1].region_of)])
        labels = _first(graph, found, targets, limits, last, seed, pool)
        cost = cost_of(graph, labels, last.table)
        for cycle in range(CYCLES):
            again = _cycle(graph, labels, last, seed + 1000 * (cycle + 1), pool)
            value = cost_of(graph, again, last.table)
            if value <= cost:
                labels, cost = again, value
    return labels


def _first(
    graph: Weighted, found: Sequence[Stage], targets: Floats, limits: Floats, last: Layout, seed: int, pool: ThreadPool
) -> Words:
    """Labels of the last stage. Each stage begins with regions cut in two on a coarse level that keeps those above."""
    heaviest = max(float(graph.loads.max(initial=0.0)), float(graph.loads.sum()) / targets.size / 8)
    levels, maps = coarsened(graph, NOTHING, BASE, heaviest, seed, pool)
    level, labels, regions = len(maps), np.zeros(levels[-1].size, np.uint32), last
    for depth, below in enumerate(found):
        while level and levels[level].size < PER_REGION * below.parent.size:
            level -= 1
            labels = labels[maps[level]]
            if depth:
                refine(levels[level], labels, regions, seed + level, ROUNDS, LOOSE if level else 0.0)
        at = levels[level]
        shares = np.bincount(below.region_of, targets, below.parent.size).astype(np.float64)
        room = np.bincount(below.region_of, limits, below.parent.size).astype(np.float64)
        regions = (
            last
            if depth + 1 == len(found)
            else layout(
                below.table, np.minimum(room, shares + (room - shares) * (0.5 + 0.5 * (depth + 1) / len(found)))
            )
        )
        labels = _cycle(at, labels, regions, seed + depth, pool, level > 0, below.parent, shares)
    while level:
        level -= 1
        labels = labels[maps[level]]
        refine(levels[level], labels, regions, seed + level, ROUNDS, LOOSE if level else 0.0)
    return labels


def _cycle(
    graph: Weighted,
    labels: Words,
    regions: Layout,
    seed: int,
    pool: ThreadPool,
    coarse: bool = False,
    parent: Longs | None = None,
    shares: Floats | None = None,
) -> Words:
    """Labels after refinement on levels that keep them, or, with `parent`, the halves of their regions."""
    count = regions.limits.size
    heaviest = max(float(graph.loads.max(initial=0.0)), float(graph.loads.sum()) / (6 * count))
    levels, maps = coarsened(graph, labels, VERTICES * count, heaviest, seed, pool)
    for names, smaller in zip(maps, levels[1:], strict=True):
        kept = np.empty(smaller.size, np.uint32)
        kept[names] = labels
        labels = kept
    if parent is not None and shares is not None:
        labels, _ = split(levels[-1], labels, parent, regions, shares, seed, heap(levels[-1].size))
    else:
        labels = labels.copy()
    for level in range(len(levels) - 1, -1, -1):
        if level < len(maps):
            labels = labels[maps[level]]
        refine(levels[level], labels, regions, seed + level, ROUNDS, LOOSE if level or coarse else 0.0)
    return labels


def refine(graph: Weighted, labels: Words, regions: Layout, seed: int, rounds: int, loose: float = 0.0) -> None:
    """Labels, uint32 (vertices), brought within the limits as far as can be, and improved; changed in place."""
    held = np.bincount(labels, graph.loads, regions.limits.size).astype(np.float64)
    work, found = scratch(regions.limits.size), heap(graph.size)
    if loose:
        regions = regions._replace(limits=regions.limits + loose * float(graph.loads.max(initial=0.0)))
    if (held > regions.limits).any():
        relieve(graph, labels, regions, held, work)
    cost = 0
    for turn in range(rounds):
        order = border(graph, labels)
        if turn == 0:
            climb(graph, labels, regions, held, order, work, found)
            order = border(graph, labels)
        shuffle(order, seed + 31 * turn)
        gain = search(graph, labels, regions, held, order, PATIENCE, work, found)
        cost = cost or cost_of(graph, labels, regions.table)
        if gain <= WORTH * cost:
            break
