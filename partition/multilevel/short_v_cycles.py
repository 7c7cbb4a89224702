"""Short V-cycles: save most of the vertex copies that refinement can save, in little time."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.rebalance import capacities
from tracecut.partition.coarsening.hypergraph_levels import Level, finest_level
from tracecut.partition.datastructures.radix_sort import stable_order
from tracecut.partition.datastructures.typed_views import Words, words
from tracecut.partition.parallel.gather import gathered, scattered
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.partition.refinement.km1 import Effort, refine
from tracecut.partition.refinement.km1_parallel_fm import spare_state
from tracecut.support.arrays import Floats, Ints

from .driver import NODES, hierarchy

SPEND = 0.65  # passes of FM on a level: at most what a pass over so large a share of the finest level's pins costs,
PASSES = 4  # and at most this many;
SWEEPS = 3  # larger levels get rounds of label propagation
MIDDLE = 1 / 3  # the inner cycles stand on the first level of so small a share of the pins
INNER_NODES = 40  # per cluster, at which an inner cycle stops coarsening
CYCLES = 5  # inner ones at most;
LEAST = 0.01  # one that saves less than this share of the cost is the last
WIDE = 1 << 16  # nodes that each of several searches side by side has at least: few passes have to find much
LARGE = 1 << 24  # pins above which label propagation is all that is done: hierarchies would take minutes


def short_cycles(
    graph: LocalityGraph,
    labels: Ints,
    *,
    weights: Floats,
    targets: Floats,
    balance: float = 1.03,
    seed: int = 0,
    threads: int | None = None,
    finest: Level | None = None,
) -> Ints:
    """Labels of jobs with no more vertex copies than those given; int32 (jobs).

    One hierarchy that keeps to the labels, refined during uncoarsening. At a level of about a third of the pins, inner
    V-cycles are run, which cost little there and save most. Each level gets as many passes of FM as its size allows,
    the largest levels only label propagation, so that all refinement together reads the pins a few times. Above `LARGE`
    pins there is only one round of label propagation.

    Args:
        graph, labels, weights, targets, balance, seed, threads: as in `driver.refine_km1`, which tries harder and
            takes two to three times as long.
        finest: above `LARGE` pins, `finest_level(graph, weights)` where it has been made already.

    Returns:
        Labels in [0, k), the same for any number of threads. O(pins · (levels + clusters of a datum)).
    """
    k = targets.size
    if k == 1 or graph.n_jobs == 0:
        return labels
    limits = capacities(weights, targets, balance)
    with ThreadPool(threads, graph.n_jobs) as pool:
        if graph.n_pins > LARGE:
            finest = finest_level(graph, weights, pool=pool) if finest is None else finest
            effort = Effort(sweeps=1, passes=0, more=0)
            return refine(finest, labels.view(np.uint32), limits, effort, seed, pool)[0].view(np.int32)
        order = stable_order(labels)
        finest = finest_level(graph, weights, order, pool)
        own = _cycle(finest, gathered(words(labels), words(order), pool), limits, seed, pool)
        return scattered(own, words(order), graph.n_jobs, pool).view(np.int32)


def _cycle(finest: Level, labels: Words, limits: Floats, seed: int, pool: ThreadPool) -> Words:
    """The cycle of `short_cycles` on the jobs; uint32 (jobs)."""
    k, pins = limits.size, finest.node_nets.size
    levels, groupings, labels = hierarchy(finest, labels, NODES * k, seed, pool)
    middle = next((i for i, level in enumerate(levels) if level.node_nets.size <= MIDDLE * pins), len(levels) - 1)
    labels, cost = _up(levels[middle:], groupings[middle:], labels, limits, pins, seed, pool)
    for cycle in range(CYCLES if levels[middle].n_nodes > 2 * INNER_NODES * k else 0):
        inner, joined, own = hierarchy(levels[middle], labels, INNER_NODES * k, seed + cycle + 1, pool)
        before = cost
        labels, cost = _up(inner, joined, own, limits, pins, seed + cycle + 1, pool)
        if before - cost <= LEAST * before:
            break
    if middle:
        labels = gathered(labels, groupings[middle - 1], pool)
        labels, _ = _up(levels[:middle], groupings[: middle - 1], labels, limits, pins, seed, pool)
    return labels


def _up(
    levels: list[Level], groupings: list[Words], labels: Words, limits: Floats, pins: int, seed: int, pool: ThreadPool
) -> tuple[Words, int]:
    """Labels of the last level brought to the first and refined on each; the cost there."""
    cost = 0
    spare = spare_state(levels[0], limits.size, pool)
    for i in range(len(levels) - 1, -1, -1):
        passes = min(PASSES, int(SPEND * pins / max(levels[i].node_nets.size, 1)))
        if i < len(groupings):
            labels = gathered(labels, groupings[i], pool)
        effort = Effort(sweeps=1 if passes else SWEEPS, passes=passes, more=0, nodes_per_search=WIDE)
        labels, cost = refine(levels[i], labels, limits, effort, seed, pool, spare)
    return labels, cost
