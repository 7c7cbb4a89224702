"""Multilevel mapping: each stage halves the regions of a machine, down to single cores, and then refines all of
them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tracecut.partition.coarsening.edge_matching import Weighted
from tracecut.partition.datastructures.shuffle import shuffle
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats

from .core_regions import Layout, Stage, layout
from .hop_fm import border, search
from .moves import cost_of, relieve, scratch
from .split import split
from .vertex_heap import heap_of

REPEATS = 3  # runs of each bisection from its middle level on, of which the best is kept
LEAST, MOST = 2, 20  # moves without a new best after which a search ends, fewer on denser graphs:
EDGES = 120  # that these moves see, about
ROUNDS = 1  # of searches after a stage
LAST = 2  # after the last
WORTH = 2e-3  # of the cost: a round that gains less is the last
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
    labels = np.zeros(graph.size, np.uint32)
    for depth, stage in enumerate(found):
        count, part = stage.parent.size, (depth + 1) / len(found)
        shares = np.bincount(stage.region_of, targets, count).astype(np.float64)
        room = np.bincount(stage.region_of, limits, count).astype(np.float64)
        room = np.minimum(room, shares + (room - shares) * (1 - EARLY * (1 - part)))
        labels = split(graph, labels, stage.parent, stage.table, shares, room, seed + depth, REPEATS)
        if depth:
            rounds = LAST if depth + 1 == len(found) else ROUNDS
            refine(graph, labels, layout(stage.table, room), seed + depth, rounds)
    return labels


def refine(graph: Weighted, labels: Words, regions: Layout, seed: int, rounds: int) -> None:
    """Labels, uint32 (vertices), brought within the limits as far as can be, and improved; changed in place."""
    held = np.bincount(labels, graph.loads, regions.limits.size).astype(np.float64)
    work, found = scratch(regions.limits.size), heap_of(graph.size)
    if (held > regions.limits).any():
        relieve(graph, labels, regions, held, work)
    patience, cost = int(np.clip(EDGES * graph.size / max(1, graph.near.size), LEAST, MOST)), 0
    for turn in range(rounds):
        order = border(graph, labels)
        shuffle(order, seed + 31 * turn)
        gain = search(graph, labels, regions, held, order, patience, work, found)
        cost = cost or cost_of(graph, labels, regions.table)
        if gain <= WORTH * cost:
            break
