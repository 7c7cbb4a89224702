"""Multilevel job partitioning: coarsen by shared data, partition the little that is left, refine on the way back."""

from __future__ import annotations

import numpy as np

from ..ir.arrays import Floats, Ints
from ..ir.graph import LocalityGraph
from .coarsen import Level, coarsen, finest_level
from .km1 import Effort, refine
from .loads import capacities, equal_targets
from .multilevel_initial import first_partition
from .views import Words

NODES_PER_CLUSTER = 160
GROW = 1e9
UP = Effort(sweeps=2, passes=2, least=0.003, together=8, patience=2.0)


def multilevel(
    graph: LocalityGraph,
    k: int,
    *,
    balance: float = 1.03,
    targets: Floats | None = None,
    weights: Floats | None = None,
    seed: int = 0,
    cycles: int = 0,
) -> Ints:
    loads = np.ones(graph.n_jobs) if weights is None else weights
    shares = equal_targets(k) if targets is None else targets
    limits = capacities(loads, shares, balance)
    finest = finest_level(graph, loads)
    labels = v_cycle(finest, None, shares * loads.sum(), limits, seed)
    for cycle in range(cycles):
        labels = v_cycle(finest, labels, shares * loads.sum(), limits, seed + cycle + 1)
    return labels.view(np.int32)


def v_cycle(finest: Level, labels: Words | None, targets: Floats, limits: Floats, seed: int) -> Words:
    k = targets.size
    levels, groupings = [finest], []
    heaviest = float(finest.node_weights.sum()) / (NODES_PER_CLUSTER * k)
    while levels[-1].n_nodes > NODES_PER_CLUSTER * k:
        coarser, groups = coarsen(levels[-1], min(heaviest, GROW * levels[-1].node_weights.mean()), seed + len(levels), labels)
        if coarser.n_nodes > 0.95 * levels[-1].n_nodes :
            break
        if labels is not None:
            down = np.empty(coarser.n_nodes, np.uint32)
            down[groups] = labels
            labels = down
        levels.append(coarser)
        groupings.append(groups)
    if labels is None:
        labels = first_partition(levels[-1], targets, limits, seed)
    labels, _ = refine(levels[-1], labels, limits, UP, seed)
    for finer, groups in zip(reversed(levels[:-1]), reversed(groupings), strict=True):
        labels, _ = refine(finer, labels[groups], limits, UP, seed)
    return labels
