"""km1 refinement: lower the number of vertex copies of any job partition, under the balance bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ir.arrays import Floats
from .coarsen import Level, shuffled
from .km1_search import border_nodes, search, sweep
from .km1_state import cost_of, fill_lists
from .views import Words, floats

THIN = 8  # a border of less than one node in so many is searched from one seed at a time


@dataclass(frozen=True)
class Effort:
    """How hard refinement tries.

    Attributes:
        sweeps: rounds of label propagation at most.
        passes: passes of FM at most.
        least: an FM pass that gains less than this share of the cost is the last, and ends as soon as
            half of that is out of sight.
        together: seeds of one local search where the border is not thin. Many share the cost of climbing out of a
            local optimum where most nodes lie on the border; on thin borders (meshes) single seeds find more.
        patience: how much variance of the gains a search bears; the factor of the stopping rule.
    """

    sweeps: int = 1
    passes: int = 2
    least: float = 0.002
    together: int = 50
    patience: float = 1.0


def refine(level: Level, labels: Words, limits: Floats, effort: Effort, seed: int) -> tuple[Words, int]:
    """Labels of a cost that is never higher, and that cost.

    Label propagation first, then localised FM; both keep the lists of `km1_state` up to date move by move, and move
    nothing into a cluster without room.

    Args:
        level: the hypergraph.
        labels: uint32 (nodes).
        limits: float64 (k), what a cluster may hold. One that holds more gets nothing, and may keep it.
        effort, seed: see above; the seed shuffles the nodes.

    Returns:
        uint32 (nodes) and the cost. A round is O(pins of the border · clusters of a net).
    """
    k = limits.size
    labels = labels.astype(np.uint32)
    loads = np.bincount(labels, level.node_weights, k).astype(np.float64)
    lists = fill_lists(level.net_offsets, level.net_nodes, labels, k)
    state = (*level.arrays, *lists, labels, loads, floats(limits))
    cost = int(cost_of(lists[1], level.net_weights))
    draw = np.random.default_rng(seed)
    active = border_nodes(level.net_offsets, level.net_nodes, lists[1], level.n_nodes)
    for _ in range(effort.sweeps):
        if active.size == 0:
            break
        gain, active = sweep(*state, shuffled(active, draw))
        cost -= int(gain)
    for _ in range(effort.passes):
        if cost == 0:
            break
        seeds = border_nodes(level.net_offsets, level.net_nodes, lists[1], level.n_nodes)
        together = 1 if THIN * seeds.size < level.n_nodes else effort.together
        gain = int(search(*state, shuffled(seeds, draw), together, effort.patience, effort.least * cost / 2))
        cost -= gain
        if gain <= effort.least * cost:
            break
    return labels, cost


def level_cost(level: Level, labels: Words, k: int) -> int:
    """The vertex-copy cost of labels, uint32 (nodes). O(pins · clusters of a net)."""
    lists = fill_lists(level.net_offsets, level.net_nodes, labels, k)
    return int(cost_of(lists[1], level.net_weights))
