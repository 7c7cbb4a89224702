"""The regions of a machine filled from the whole to single cores: each stage halves them, then all are refined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tracecut.partition.coarsening.edge_matching import Weighted
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats

from .core_regions import Layout, Stage, layout
from .levels import levels_of
from .moves import relieve, scratch
from .split import split
from .sweeps import sweep

PER = 100
BASE = 0
SWEEPS = 6
REPEATS = 1
EARLY = 0.5  # of the room above the targets that the first stages leave unused, less and less of it


def mapped(graph: Weighted, found: Sequence[Stage], targets: Floats, limits: Floats, seed: int) -> Words:
    """A region of the last stage for each vertex, uint32 (vertices).

    Args:
        graph: the graph. found: the stages of the machine, at least one.
        targets: float64 (cores), loads that each should have; limits: float64 (cores), the most that it may, as far as
            single vertices allow.
        seed: the same gives the same mapping.

    O(stages · edges · log) for searches whose moves are as many as the vertices of borders.
    """
    levels, coarse_of = levels_of(graph, BASE + PER * 2, seed)
    level = len(levels) - 1
    labels, regions = np.zeros(levels[level].size, np.uint32), None
    limits = whole_limits(graph, limits)
    for depth, stage in enumerate(found):
        count, part = stage.parent.size, (depth + 1) / len(found)
        while level and levels[level].size < BASE + PER * count:
            level, labels = level - 1, labels[coarse_of[level - 1]]
            if regions is not None:
                refine(levels[level], labels, regions, seed + depth)
        here = levels[level]
        shares = np.bincount(stage.region_of, targets, count).astype(np.float64)
        room = np.bincount(stage.region_of, limits, count).astype(np.float64)
        heaviest = float(here.loads.max(initial=0.0))
        early = np.maximum(shares + (room - shares) * (1 - EARLY * (1 - part)), shares + heaviest)
        if level == 0:
            early = np.minimum(room, early)
        labels = split(here, labels, stage.parent, stage.table, shares, early, seed + depth, REPEATS)
        regions = layout(stage.table, early)
        if depth:
            refine(here, labels, regions, seed + depth)
    while level:
        level, labels = level - 1, labels[coarse_of[level - 1]]
        here = levels[level]
        heaviest = float(here.loads.max(initial=0.0)) if level else 0.0
        refine(here, labels, layout(found[-1].table, np.maximum(limits, targets + heaviest)), seed + level)
    return labels


def whole_limits(graph: Weighted, limits: Floats) -> Floats:
    """Limits rounded down to loads that can be, where all vertices weigh the same; float64 (cores)."""
    loads = graph.loads
    if not loads.size or loads.min() < loads.max() or not loads[0]:
        return limits
    return np.floor(limits / loads[0] * (1 + 1e-12)) * loads[0]


def refine(graph: Weighted, labels: Words, regions: Layout, seed: int) -> None:
    """Labels, uint32 (vertices), brought within the limits as far as can be, and improved; changed in place."""
    held = np.bincount(labels, graph.loads, regions.limits.size).astype(np.float64)
    work = scratch(regions.limits.size)
    if (held > regions.limits).any():
        relieve(graph, labels, regions, held, work)
    sweep(graph, labels, regions, held, work, SWEEPS, seed)
