"""Multilevel mapping: each stage halves the regions of a machine, down to single cores, and then refines all of
them."""

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

PER = 100  # vertices of a level for each region that is cut or refined on it, at least
SMALL, LARGE = 20_000, 8_000  # and so many more on machines of at most MANY cores, and on larger ones
MANY = 64
REPEATS = 3  # runs of each bisection, of which the best is kept, where no more than MANY² / cores regions come of it
SWEEPS = 6  # over a level, at most
EARLY = 0.5  # of the room above the targets that the first stages leave unused, less and less of it


def mapped(graph: Weighted, found: Sequence[Stage], targets: Floats, limits: Floats, seed: int) -> Words:
    """A region of the last stage for each vertex, uint32 (vertices).

    Args:
        graph: the graph. found: the stages of the machine, at least one.
        targets: float64 (cores), loads that each should have; limits: float64 (cores), the most that it may, as far as
            single vertices allow.
        seed: the same gives the same mapping.

    Regions and vertices are refined together: a stage is cut on a level with vertices enough for its regions, so that
    the first stages see small graphs. O(edges · log) and O(stages · edges · log) where vertices are few for the cores.
    """
    base, often = LARGE if targets.size > MANY else SMALL, MANY * MANY // targets.size
    levels, coarse_of = levels_of(graph, base + 2 * PER, seed)
    level = len(levels) - 1
    labels, regions = np.zeros(levels[level].size, np.uint32), layout(np.zeros((1, 1), np.int32), np.full(1, np.inf))
    for depth, stage in enumerate(found):
        count, part = stage.parent.size, (depth + 1) / len(found)
        while level and levels[level].size < base + PER * count:
            level, labels = level - 1, labels[coarse_of[level - 1]]
            if depth:
                refine(levels[level], labels, regions, seed + depth)
        here = levels[level]
        shares = np.bincount(stage.region_of, targets, count).astype(np.float64)
        room = np.bincount(stage.region_of, limits, count).astype(np.float64)
        room = loosened(here, level, shares, room, 1 - EARLY * (1 - part))
        repeats = REPEATS if count <= often else 1
        labels = split(here, labels, stage.parent, stage.table, shares, room, seed + depth, repeats)
        regions = layout(stage.table, room)
        if depth:
            refine(here, labels, regions, seed + depth)
    while level:
        level, labels = level - 1, labels[coarse_of[level - 1]]
        room = loosened(levels[level], level, targets, limits, 1.0)
        refine(levels[level], labels, layout(found[-1].table, room), seed + level)
    return labels


def loosened(graph: Weighted, level: int, shares: Floats, room: Floats, used: float) -> Floats:
    """What regions may hold on a level, float64 (regions): a part of their room, or one vertex more than their share.

    On level 0 it is never more than their room; on coarser ones it may be, since vertices are heavy there.
    """
    found = np.maximum(shares + (room - shares) * used, shares + float(graph.loads.max(initial=0.0)))
    return found if level else np.minimum(found, room)


def refine(graph: Weighted, labels: Words, regions: Layout, seed: int) -> None:
    """Labels, uint32 (vertices), brought within the limits as far as can be, and improved; changed in place."""
    held = np.bincount(labels, graph.loads, regions.limits.size).astype(np.float64)
    work = scratch(regions.limits.size)
    if (held > regions.limits).any():
        relieve(graph, labels, regions, held, work)
    sweep(graph, labels, regions, held, work, SWEEPS, seed)
