"""km1 refinement: fewer vertex copies of any job partition, within the balance constraint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from tracecut.partition.balance.rebalance import sum_loads
from tracecut.partition.coarsening.hypergraph_levels import Level
from tracecut.partition.datastructures.shuffle import shuffle
from tracecut.partition.datastructures.typed_views import Words, floats, words
from tracecut.partition.parallel.thread_pool import ThreadPool, blocks
from tracecut.support.arrays import Floats
from tracecut.support.lazy_kernels import kept

from .km1_fm import Workspace, begin_pass, improving_nodes, mark_boundary, propagate_labels, search, workspace
from .km1_gains import ClusterState, cluster_state, cost_of, cost_of_nets, fill_lists, list_begins
from .km1_parallel_fm import NODES_PER_SEARCH, Replica, Spare, search_count, search_in_parallel, spare_state

THIN = 8  # if fewer than one node in this many is on the boundary, each search has one seed
FEW = 1024  # least boundary nodes for parallel searches
ASKED = 1024  # most nodes whose gains one thread computes; more are divided among the threads
NO_END = 1 << 62
SLICES = 4  # slices of the boundary: label propagation sees the moves of earlier slices


@dataclass(frozen=True)
class Effort:
    """How hard refinement tries.

    Attributes:
        sweeps: largest number of rounds of label propagation.
        passes: largest number of FM passes,
        more: and of further ones if the boundary is not thin.
        least: an FM pass that gains less than this share of the cost is the last, and ends early when
            half of that cannot be expected any more.
        batch: seeds of one local search where the boundary is not thin. Many share the cost of climbing out of a
            local optimum where most nodes are on the boundary; on thin boundaries (meshes) single seeds find more.
        patience: factor of the stopping rule: how much variance of the gains a search tolerates.
        nodes_per_search: nodes at least for each of several parallel searches: more searches use threads better, and
            find less.
    """

    sweeps: int = 1
    passes: int = 2
    more: int = 2
    least: float = 0.002
    batch: int = 5000
    patience: float = 1.0
    nodes_per_search: int = NODES_PER_SEARCH


def refine(
    level: Level,
    labels: Words,
    limits: Floats,
    effort: Effort,
    seed: int,
    pool: ThreadPool | None = None,
    spare: Spare | None = None,
) -> tuple[Words, int]:
    """Refined labels, whose cost is never higher, and their cost.

    Label propagation first, then localised FM. Both update the lists of `ClusterState` move by move, and no move breaks
    the balance constraint.

    Args:
        level: the hypergraph.
        labels: uint32 (nodes).
        limits: float64 (k), the balance constraint. A cluster above its limit receives no nodes, and may stay above it.
        effort, seed: see above; the seed shuffles the nodes.
        pool: the threads, for large hypergraphs; the result does not depend on them. None: one search after the other.
        spare: from `km1_parallel_fm.spare_state`, where one level is refined after the other.

    Returns:
        uint32 (nodes) and the cost. A round is O(pins of the boundary · connectivity).
    """
    labels = labels.astype(np.uint32)
    if pool is not None:
        return labels, _refine_parallel(level, labels, floats(limits), effort, seed, pool, spare)
    rules = (effort.sweeps, effort.passes, effort.least, effort.batch, effort.patience)
    return labels, int(refine_serial(level, labels, floats(limits), workspace(level.n_nodes), *rules, seed))


def level_cost(level: Level, labels: Words, k: int, pool: ThreadPool | None = None) -> int:
    """The vertex-copy cost of labels, uint32 (nodes). O(pins)."""
    if pool is None:
        return int(cost_of_nets(level, labels, k, 0, level.n_nets))
    return sum(pool.each(cost_of_nets, [(level, labels, k, *part) for part in blocks(level.n_nets)]))


def _refine_parallel(
    level: Level, labels: Words, limits: Floats, effort: Effort, seed: int, pool: ThreadPool, spare: Spare | None
) -> int:
    """`refine` on a pool; overwrites `labels`, returns the cost."""
    k = limits.size
    begins = list_begins(level.net_offsets, k)
    lengths, entries = np.zeros(level.n_nets, np.uint32), np.empty((int(begins[-1]), 2), np.uint32)
    state = ClusterState(begins, lengths, entries, labels, np.zeros(k), limits)
    fills = [(level, state, *part) for part in blocks(level.n_nets)]
    _, loads = pool.all(partial(pool.each, fill_lists, fills), partial(sum_loads, words(labels), level.node_weights, k))
    first = Replica(level, state._replace(loads=loads))
    cost = int(cost_of(lengths, level.net_weights))
    active = _boundary(level, lengths, pool)
    for turn in range(effort.sweeps):
        shuffle(active, seed + turn)
        touched = np.zeros(level.n_nodes, np.bool_)
        for piece in np.array_split(active, SLICES):
            # Computing gains has no side effects, so the result does not depend on how nodes are divided among threads.
            shares = np.array_split(piece, 2 * pool.threads if pool.threads > 1 and piece.size > ASKED else 1)
            for some in pool.each(improving_nodes, [(level, first.state, share) for share in shares]):
                cost -= int(propagate_labels(level, first.state, some, touched))
        active = np.flatnonzero(touched).astype(np.uint32)
    replicas = [first]
    for turn in range(effort.passes + effort.more if cost else 0):
        seeds = _boundary(level, lengths, pool)
        if turn >= effort.passes and THIN * seeds.size < level.n_nodes:
            break
        batch = 1 if THIN * seeds.size < level.n_nodes else effort.batch
        wanted = effort.least * cost / 2
        searches = search_count(level.n_nodes, effort.nodes_per_search)
        if searches < 2 or seeds.size < FEW:
            first.start()
            ways = (batch, effort.patience, wanted, NO_END, 0, NO_END)
            gain = int(search(level, first.state, first.work, seeds, *ways)[0])
            replicas = [first]  # a serial search changes only the first state, so the copies are made again
        else:
            if len(replicas) == 1:
                replicas += first.copies(spare_state(level, k, pool) if spare is None else spare, pool)
            gain = search_in_parallel(replicas, seeds, batch, effort.patience, wanted, turn, searches, pool)
        cost -= gain
        if gain <= effort.least * cost or cost == 0:
            break
    return cost


def _boundary(level: Level, lengths: Words, pool: ThreadPool) -> Words:
    """The boundary nodes, uint32, ascending."""
    on = np.zeros(level.n_nodes, np.bool_)
    pool.each(mark_boundary, [(level, lengths, on, *part) for part in blocks(level.n_nets)])
    return np.flatnonzero(on).astype(np.uint32)


@kept
def refine_serial(
    level: Level,
    labels: Words,
    limits: Floats,
    work: Workspace,
    sweeps: int,
    passes: int,
    least: float,
    batch: int,
    patience: float,
    seed: int,
) -> int:
    """`refine` without a pool, in one kernel; overwrites `labels`, returns the cost."""
    n = labels.size
    state = cluster_state(level, labels, limits)
    lengths = state.lengths
    cost = cost_of(lengths, level.net_weights)
    active = np.zeros(n, np.bool_)
    mark_boundary(level, lengths, active, 0, lengths.size)
    for turn in range(sweeps):
        asked = np.flatnonzero(active).astype(np.uint32)
        shuffle(asked, seed + turn)
        active[:] = False
        cost -= propagate_labels(level, state, asked, active)
    low: Any = np.int64(0)  # not literals: Numba would compile the search again for each value
    ever: Any = np.int64(NO_END)
    for turn in range(passes):
        if cost == 0:
            break
        active[:] = False
        begin_pass(level.node_offsets, work.moved)
        mark_boundary(level, lengths, active, 0, lengths.size)
        seeds = np.flatnonzero(active).astype(np.uint32)
        shuffle(seeds, seed + sweeps + turn)
        seeds_at_once = 1 if THIN * seeds.size < n else batch
        gain = search(level, state, work, seeds, seeds_at_once, patience, least * cost / 2, ever, low, ever)[0]
        cost -= gain
        if gain <= least * cost:
            break
    return cost
