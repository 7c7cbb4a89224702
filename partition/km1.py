"""km1 refinement: lower the number of vertex copies of any job partition, under the balance bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ir.arrays import Floats
from .coarsen import Level
from .km1_search import border_nodes, search, sweep
from .km1_state import cost_of, fill_lists
from .views import Words, floats


@dataclass(frozen=True)
class Effort:
    """How hard refinement tries.

    Attributes:
        sweeps: rounds of label propagation at most.
        passes: passes of FM at most.
        least: an FM pass that gains less than this share of the cost is the last.
        together: seeds of one local search.
        patience: how much variance of the gains a search bears; the factor of the stopping rule.
    """

    sweeps: int = 4
    passes: int = 3
    least: float = 0.005
    together: int = 8
    patience: float = 4.0


def refine(level: Level, labels: Words, limits: Floats, effort: Effort, seed: int) -> tuple[Words, int]:
    """Labels of a cost that is never higher, and that cost.

    Args:
        level: the hypergraph.
        labels: uint32 (nodes).
        limits: float64 (k), what a cluster may hold. One that holds more gets nothing.
        effort, seed: see above; the seed shuffles the nodes.

    Returns:
        uint32 (nodes) and the cost. A round is O(pins of the border · clusters of a net).
    """
    k = limits.size
    labels = labels.astype(np.uint32)
    limits = floats(limits)
    loads = np.bincount(labels, level.node_weights, k).astype(np.float64)
    lists = fill_lists(level.net_offsets, level.net_nodes, labels, k)
    state = (*level.arrays, *lists, labels, loads, limits)
    cost = int(cost_of(lists[1], level.net_weights))
    draw = np.random.default_rng(seed)
    active = border_nodes(level.net_offsets, level.net_nodes, lists[1], level.n_nodes)
    for _ in range(effort.sweeps):
        if cost == 0 or active.size == 0:
            break
        gain, active = sweep(*state, draw.permutation(active))
        cost -= int(gain)
    for _ in range(effort.passes):
        if cost == 0:
            break
        seeds = border_nodes(level.net_offsets, level.net_nodes, lists[1], level.n_nodes)
        gain = int(search(*state, draw.permutation(seeds), effort.together, effort.patience))
        cost -= gain
        if gain <= effort.least * cost:
            break
    return labels, cost
