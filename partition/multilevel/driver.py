"""Multilevel job partitioning: coarsen by shared data, partition the coarsest level, refine during uncoarsening."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.rebalance import capacities, loads_and_shares, sum_loads
from tracecut.partition.coarsening.heavy_pins import coarsen
from tracecut.partition.coarsening.hypergraph_levels import Level, finest_level
from tracecut.partition.coarsening.visit_order import Visits, shuffled_visits
from tracecut.partition.datastructures.typed_views import Words, words
from tracecut.partition.expansion.grow_hypergraph import grow
from tracecut.partition.initial.along_paths import along_paths
from tracecut.partition.initial.bfs_within_clusters import walk_clusters
from tracecut.partition.parallel.gather import gathered, scattered
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.partition.refinement.km1 import Effort, level_cost, refine
from tracecut.partition.refinement.km1_parallel_fm import spare_state
from tracecut.support.arrays import Floats, Ints

from .initial import contest

NODES = 160  # per cluster, at which coarsening stops
FEW_NODES = 20  # per cluster, for the cycle inside the coarsest level
REPEATS = 4  # of each bisection, where that costs little beside the rest:
SHRUNK = 8  # the coarsest level has less than 1 / SHRUNK of the pins,
TINY = 1 << 16  # or there are fewer than these
STUCK = 0.95  # coarsening that leaves more than this share of the nodes has ended
# Expansion starts near a local optimum and bisection of the coarse hypergraph does not: it gains more on the way up.
BEHIND = 1.08  # cost up to which it is taken, over that of the other labels, both refined at the coarsest level
FEW_PINS = 1 << 18  # up to which labels along paths are tried as well
UP = Effort()
QUICK = Effort(passes=1, more=3)  # one pass of FM on thin borders, on levels of
LARGE = 0.25  # the finest level's pins and more, from a start that was refined below


def multilevel(
    graph: LocalityGraph,
    k: int,
    *,
    balance: float = 1.03,
    targets: Floats | None = None,
    weights: Floats | None = None,
    seed: int = 0,
    threads: int | None = None,
    cycles: int = 0,
) -> Ints:
    """A job partition of few vertex copies; int32 (jobs).

    Neighbourhood expansion labels the jobs; small graphs are labelled along the paths of SPAC's graph as well, and the
    labels of lower cost are taken. A hierarchy that keeps to them is built by joining jobs that share most. At its
    coarsest level recursive bisection makes a second partition, which is given up when it falls behind; the better of
    the two is refined there by a small hierarchy of its own, and then on every level back to the jobs.

    Args:
        graph: the locality graph; jobs may touch any number of data.
        k: number of clusters.
        balance: largest load of a cluster over its target; where weights leave no room for that, `capacities`.
        targets: float64 (k), shares of the load summing to 1; None means equal.
        weights: float64 (jobs), positive; None means 1 each.
        seed: breaks ties; the same seed gives the same labels.
        threads: threads at most; the labels do not depend on it.
        cycles: further V-cycles, each through a new hierarchy that keeps to the labels so far. None raises the cost.

    Returns:
        Labels in [0, k). O(pins · (levels + log k)) and refinement, O(border pins · clusters of a datum) a level.

    Source: the multilevel scheme of KaHyPar (Schlag et al. 2016; rating and stopping rules) and Mt-KaHyPar
    (Gottesbüren et al. 2021; clustering, label propagation and localised FM); the start by expansion, the
    numbering by its order, and the connectivity lists are ours.
    """
    loads, shares = loads_and_shares(graph.n_jobs, k, weights, targets)
    if k == 1 or graph.n_jobs == 0:
        return np.zeros(graph.n_jobs, np.int32)
    grown, order = grow(graph, k, weights=loads, targets=shares)
    with ThreadPool(threads, graph.n_jobs) as pool:
        return _cycles(graph, grown, order, loads, shares, balance, seed, cycles, True, pool)


def refine_km1(
    graph: LocalityGraph,
    labels: Ints,
    *,
    weights: Floats,
    targets: Floats,
    balance: float = 1.03,
    seed: int = 0,
    threads: int | None = None,
    cycles: int = 1,
) -> Ints:
    """Labels of jobs with no more vertex copies than those given; int32 (jobs).

    V-cycles: each builds a hierarchy that keeps to the labels and refines on the way back to the jobs, by label
    propagation and FM on the true cost.

    Args:
        graph: the locality graph.
        labels: int32 (jobs), of any method. A cluster above its capacity gets nothing more, and may keep what it has.
        weights: float64 (jobs), positive.
        targets: float64 (k), shares of the load summing to 1.
        balance, seed, threads, cycles: as in `multilevel`.

    Returns:
        As `multilevel`.
    """
    if targets.size == 1 or graph.n_jobs == 0:
        return labels
    with ThreadPool(threads, graph.n_jobs) as pool:
        order = walk_clusters(graph, labels, targets.size, pool)
        return _cycles(graph, labels, order, weights, targets, balance, seed, cycles, False, pool)


def _cycles(
    graph: LocalityGraph,
    labels: Ints,
    order: Ints,
    weights: Floats,
    shares: Floats,
    balance: float,
    seed: int,
    cycles: int,
    fresh: bool,
    pool: ThreadPool,
) -> Ints:
    """V-cycles on the jobs in `order`, the first of which may start anew where `fresh`."""
    limits = capacities(weights, shares, balance)
    targets = shares * weights.sum()

    def visited() -> tuple[Words, Visits]:
        placed = gathered(words(labels), words(order), pool)
        return placed, first_visits(placed, seed if fresh else seed + 1)

    finest, (own, visits) = pool.all(partial(finest_level, graph, weights, order, pool), visited)
    if level_cost(finest, own, shares.size, pool) == 0:
        return labels
    if fresh:
        if graph.n_pins <= FEW_PINS:
            other = along_paths(graph, weights, shares, limits, pool)[order]
            better = level_cost(finest, other, shares.size, pool) < level_cost(finest, own, shares.size, pool)
            if better and _fits(finest, other, limits):
                own, visits = other, None
        own = v_cycle(finest, own, targets, limits, seed, pool, visits=visits, fresh=True)
        visits = None
    for cycle in range(cycles):
        own = v_cycle(finest, own, targets, limits, seed + cycle + 1, pool, visits=visits)
        visits = None
    return scattered(own, words(order), graph.n_jobs, pool).view(np.int32)


def v_cycle(
    finest: Level,
    labels: Words,
    targets: Floats,
    limits: Floats,
    seed: int,
    pool: ThreadPool | None = None,
    *,
    nodes: int = NODES,
    visits: Visits | None = None,
    fresh: bool = False,
) -> Words:
    """Down a hierarchy that keeps to `labels`, uint32 (nodes), and up again with refinement.

    Args:
        finest: the hypergraph.
        labels: where to start; also what no group of nodes crosses.
        targets, limits: float64 (k), as loads.
        seed: breaks ties.
        pool: the threads, which change nothing but the time; None: one.
        nodes: nodes per cluster of the coarsest level.
        visits: `first_visits`, where they have been made before.
        fresh: try bisection at the coarsest level as well, and refine there by an inner cycle.

    Returns:
        uint32 (nodes), of no higher cost unless `fresh`.
    """
    if pool is None:
        with ThreadPool(1, 0) as alone:
            return v_cycle(finest, labels, targets, limits, seed, alone, nodes=nodes, visits=visits, fresh=fresh)
    k = targets.size
    levels, groupings, labels = hierarchy(finest, labels, nodes * k, seed, pool, visits)
    coarsest = levels[-1]
    if not fresh:
        labels, _ = refine(coarsest, labels, limits, UP, seed, pool)
    else:
        pins = finest.node_nets.size
        repeats = REPEATS if pins < TINY or pins > SHRUNK * coarsest.node_nets.size else 1
        keep = partial(refine, coarsest, labels, limits, UP, seed, pool)
        labels, cost, other = contest(coarsest, targets, limits, seed, repeats, pool, keep)
        if other is not None:
            other, second = refine(coarsest, other, limits, UP, seed, pool)
            if second < BEHIND * cost and _fits(coarsest, other, limits):
                labels = other
        labels = v_cycle(coarsest, labels, targets, limits, seed, pool, nodes=FEW_NODES)
    return _up(levels, groupings, labels, limits, seed, pool, LARGE * finest.node_nets.size if fresh else math.inf)


def first_visits(labels: Words, seed: int) -> Visits:
    """In which order a `hierarchy` by this seed begins with nodes of these labels."""
    return shuffled_visits(labels.size, labels, seed + 1)


def hierarchy(
    finest: Level, labels: Words, enough: int, seed: int, pool: ThreadPool, visits: Visits | None = None
) -> tuple[list[Level], list[Words], Words]:
    """(levels from `finest` down to about `enough` nodes, group of each node of all but the last, labels of that).

    `visits`: `first_visits`, where they have been made before.
    """
    levels, groupings = [finest], []
    heaviest = float(finest.node_weights.sum()) / enough
    while levels[-1].n_nodes > enough:
        step = coarsen(levels[-1], heaviest, seed + len(levels), labels, enough=enough, visits=visits, pool=pool)
        if step.labels is None or step.level.n_nodes > STUCK * levels[-1].n_nodes:
            break
        labels, visits = step.labels, step.visits
        levels.append(step.level)
        groupings.append(step.groups)
    return levels, groupings, labels


def _up(
    levels: list[Level],
    groupings: list[Words],
    labels: Words,
    limits: Floats,
    seed: int,
    pool: ThreadPool,
    large: float,
) -> Words:
    """Labels of the coarsest level brought to the finest, refined on each on the way, `QUICK` from `large` pins on."""
    spare = spare_state(levels[0], limits.size, pool)
    for finer, groups in zip(reversed(levels[:-1]), reversed(groupings), strict=True):
        effort = QUICK if finer.node_nets.size >= large else UP
        labels, _ = refine(finer, gathered(labels, groups, pool), limits, effort, seed, pool, spare)
    return labels


def _fits(level: Level, labels: Words, limits: Floats) -> bool:
    return bool((sum_loads(words(labels), level.node_weights, limits.size) <= limits).all())
