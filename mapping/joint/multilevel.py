"""The multilevel method of mapping: regions are halved as levels grow finer, and all of them refined at each level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tracecut.partition.coarsening.edge_matching import Weighted
from tracecut.partition.datastructures.shuffle import shuffle
from tracecut.partition.datastructures.typed_views import Words
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Floats

from .coarsen import coarsened
from .core_regions import Layout, Stage, layout
from .hop_fm import border, search
from .moves import cost_of, relieve, scratch
from .split import split
from .vertex_heap import heap

VERTICES = 24  # of a level for each region that it is cut into
CYCLES = 2  # further ones, within the mapping that is there
PATIENCE = 20
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
    cores = targets.size
    heaviest = max(float(graph.loads.max(initial=0.0)), float(graph.loads.sum()) / 8)
    levels, maps = coarsened(graph, np.empty(0, np.uint32), 2 * VERTICES, heaviest, seed, pool)
    labels, stage, regions = np.zeros(levels[-1].size, np.uint32), -1, last
    for level in range(len(levels) - 1, -1, -1):
        at = levels[level]
        if level < len(maps):
            labels = labels[maps[level]]
        if stage >= 0:
            refine(at, labels, regions, seed + level, ROUNDS)
        while stage + 1 < len(found) and (level == 0 or at.size >= VERTICES * found[stage + 1].parent.size):
            stage += 1
            below = found[stage]
            shares = np.bincount(below.region_of, targets, below.parent.size).astype(np.float64)
            room = np.bincount(below.region_of, limits, below.parent.size).astype(np.float64)
            if stage + 1 < len(found):
                slack = (stage + 1) / len(found)
                room = np.minimum(room, shares + np.maximum((room - shares) * slack, float(at.loads.max()) / 2))
                regions = layout(below.table, room)
            else:
                regions = last
            labels, _ = split(at, labels, below.parent, regions, shares, seed + stage, heap(at.size))
            refine(at, labels, regions, seed + level, ROUNDS)
    return labels


def _cycle(graph: Weighted, labels: Words, last: Layout, seed: int, pool: ThreadPool) -> Words:
    """Labels after refinement on levels that keep them."""
    cores = last.limits.size
    heaviest = max(float(graph.loads.max(initial=0.0)), float(graph.loads.sum()) / (6 * cores))
    levels, maps = coarsened(graph, labels, VERTICES * cores // 2, heaviest, seed, pool)
    for names, coarse in zip(maps, levels[1:], strict=True):
        kept = np.empty(coarse.size, np.uint32)
        kept[names] = labels
        labels = kept
    labels = labels.copy()
    for level in range(len(levels) - 1, -1, -1):
        if level < len(maps):
            labels = labels[maps[level]]
        refine(levels[level], labels, last, seed + level, ROUNDS)
    return labels


def refine(graph: Weighted, labels: Words, regions: Layout, seed: int, rounds: int) -> None:
    """Labels, uint32 (vertices), brought within the limits as far as can be, and improved; changed in place."""
    held = np.bincount(labels, graph.loads, regions.limits.size).astype(np.float64)
    work, found = scratch(regions.limits.size), heap(graph.size)
    if (held > regions.limits).any():
        relieve(graph, labels, regions, held, work)
    cost = 0
    for turn in range(rounds):
        order = border(graph, labels)
        shuffle(order, seed + 31 * turn)
        gain = search(graph, labels, regions, held, order, PATIENCE, work, found)
        cost = cost or cost_of(graph, labels, regions.table)
        if gain <= WORTH * cost:
            break
