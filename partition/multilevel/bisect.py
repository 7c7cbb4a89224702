"""One bisection of a small hypergraph through a small hierarchy of its own, in one kernel: many run side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from tracecut.partition.coarsening import heavy_pins as hp
from tracecut.partition.coarsening.hypergraph_levels import NONE, Level, flip
from tracecut.partition.datastructures.read_only_in_kernels import read_only
from tracecut.partition.datastructures.shuffle import shuffle
from tracecut.partition.datastructures.typed_views import Words
from tracecut.partition.refinement.km1 import refine_serial
from tracecut.partition.refinement.km1_fm import compiled_workspace
from tracecut.support.arrays import Floats
from tracecut.support.lazy_kernels import kept

SMALL = 120  # nodes that are bisected without coarsening further
HEAVIEST = 1.5  # largest load of a node, as a multiple of total load / SMALL
LARGE = 32  # pins; nets of more say little, and there are many bisections
ENDED = 0.95  # coarsening that leaves more than this share of the nodes has ended
TRIES = 6  # first bisections, of which the best is kept
# The effort of refinement, as `km1.Effort`; literals would have `refine_serial` compiled for them alone.
SWEEPS: Any = np.int64(1)
PASSES: Any = np.int64(2)
BATCH: Any = np.int64(25)
LEAST, PATIENCE = 0.01, 1.0


@kept
def bisect_nodes(level: Level, shares: Floats, limits: Floats, seed: int) -> tuple[Words, float, int]:
    """Two sides of the loads `shares`, at most `limits` where nodes allow; both float64 (2).

    Returns uint32 (nodes), the load above the limits, and the cost. O(pins · levels).
    """
    levels = [level]
    groupings = [np.zeros(0, np.uint32)]
    heaviest = level.node_weights.sum() / SMALL * HEAVIEST
    work = compiled_workspace(level.node_weights.size)
    while levels[-1].node_weights.size > SMALL:
        n = levels[-1].node_weights.size
        groups, n_groups = _grouped(levels[-1], heaviest, seed + len(levels))
        if n_groups > ENDED * n:
            break
        levels.append(_contracted(levels[-1], groups, n_groups))
        groupings.append(groups)
    last = levels[-1]
    sides, excess, cost = np.zeros(0, np.uint32), np.inf, 0
    order = np.arange(last.node_weights.size).astype(np.uint32)
    for attempt in range(TRIES):
        shuffle(order, seed + attempt)
        own = _grow_side(last, order, shares[0], limits[0])
        found = refine_serial(last, own, limits, work, SWEEPS, PASSES, LEAST, BATCH, PATIENCE, seed)
        loads = np.zeros(2)
        for u in range(own.size):
            loads[own[u]] += last.node_weights[u]
        above = max(loads[0] - limits[0], 0.0) + max(loads[1] - limits[1], 0.0)
        if above < excess or (above == excess and found < cost):
            sides, excess, cost = own, above, found
    for i in range(len(levels) - 2, -1, -1):
        finer, groups = levels[i], groupings[i + 1]
        wider = np.empty(groups.size, np.uint32)
        for u in range(groups.size):
            wider[u] = sides[groups[u]]
        sides = wider
        cost = refine_serial(finer, sides, limits, work, SWEEPS, PASSES, LEAST, BATCH, PATIENCE, seed)
    return sides, excess, cost


@kept
def _grouped(level: Level, heaviest: float, seed: int) -> tuple[Words, int]:
    """The group of each node, and how many there are; one step of `heavy_pins.coarsen`."""
    weights = level.node_weights
    n = weights.size
    order = np.arange(n).astype(np.uint32)
    shuffle(order, seed)
    leader, load, single = np.arange(n).astype(np.uint32), weights.copy(), np.ones(n, np.bool_)
    none = np.zeros(0, np.uint32)
    score, touched = np.zeros(n, np.float32), np.empty(n, np.uint32)
    hp.group_nodes(level, heaviest, none, leader, load, single, order, LARGE, score, touched)
    if n > hp.MANY * SMALL and single.sum() > hp.STUCK * n:
        hp.pair_unmatched(weights, order, heaviest, none, single, leader, load)
    return hp.numbered(leader)


@kept
def _contracted(level: Level, groups: Words, n_groups: int) -> Level:
    """As `heavy_pins.contract`, on the arrays."""
    offsets, nodes = level.net_offsets, level.net_nodes
    nets = offsets.size - 1
    pins, sizes, keys = np.empty(nodes.size, np.uint32), np.empty(nets, np.uint32), np.empty(nets, np.uint64)
    hp.map_nets(offsets, nodes, groups, pins, sizes, keys, 0, nets, np.full(n_groups, NONE, np.uint32))
    number, rows, sums = hp.equal_nets(sizes, keys, level.net_weights)
    tight = np.empty(rows[-1], np.uint32)
    hp.keep_nets(offsets, pins, number, rows, tight, 0, nets)
    weights = np.zeros(n_groups)
    for u in range(groups.size):
        weights[groups[u]] += level.node_weights[u]
    node_offsets, node_nets = flip(rows, tight, n_groups)
    return Level(
        read_only(node_offsets), read_only(node_nets), read_only(rows), read_only(tight), read_only(weights),
        read_only(sums),
    )  # fmt: skip


@kept
def _grow_side(level: Level, order: Words, share: float, limit: float) -> Words:
    """Side 0 grows from `order[0]` to `share`: the node whose move costs least joins, ties to the earliest.

    O(nodes² + Σ over nets of size²); the graphs are small.
    """
    node_offsets, node_nets, net_offsets, net_nodes, node_weights, net_weights = level
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
