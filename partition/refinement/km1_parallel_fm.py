"""Deterministic parallel FM: several concurrent searches, whose moves are applied in the order of the searches."""

from __future__ import annotations

from itertools import pairwise
from operator import itemgetter
from queue import SimpleQueue
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from tracecut.partition.coarsening.hypergraph_levels import Level
from tracecut.partition.datastructures.typed_views import Words
from tracecut.partition.parallel.thread_pool import ThreadPool, blocks
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

from .km1_fm import Flags, Workspace, begin_pass, move_back, search, workspace
from .km1_gains import ClusterState, add_pin, drop_pin

SEARCHES = 4  # concurrent searches, on any number of threads,
NODES_PER_SEARCH = 8192  # each with at least this many nodes, by default;
ROUNDS = 8  # least rounds of a pass, after each of which the moves are applied to all replicas
# Of the ranges of nodes in each pass, so that nodes at a border of ranges can move in another pass
OFFSETS = (0.0, 0.5, 0.25, 0.75)
SHARE = 32  # a search ends its round after it has moved one in this many of its nodes


Spare: TypeAlias = list[tuple[npt.NDArray[Any], ...]]


class Replica:
    """A copy of the state of a refinement, used by one thread at a time, and the number of search logs applied to it.

    `level` and `state` are as `km1_fm.search` takes them.
    """

    def __init__(self, level: Level, state: ClusterState) -> None:
        self.level, self.state = level, state
        self.work = workspace(state.labels.size)
        self.done, self.gain = 0, 0

    def copies(self, spare: Spare, pool: ThreadPool) -> list[Replica]:
        """Copies for other threads, in memory from `spare_state`."""
        changing: list[Any] = list(self.state[1:5])
        copied = [tuple(part[: len(own)] for part, own in zip(parts, changing, strict=True)) for parts in spare]
        pairs = [pair for parts in copied for pair in zip(parts, changing, strict=True)]
        pool.each(np.copyto, [(to[a:b], part[a:b]) for to, part in pairs for a, b in blocks(len(part))])
        return [
            Replica(self.level, self.state._replace(lengths=own[0], entries=own[1], labels=own[2], loads=own[3]))
            for own in copied
        ]

    def start(self) -> None:
        """Begin a pass."""
        begin_pass(self.level.node_offsets, self.work.moved)
        self.done, self.gain = 0, 0

    def catch_up(self, found: list[Any]) -> None:
        """Apply the new logs in `found`."""
        for log in found[self.done :]:
            self.gain += int(commit(self.level, self.state, self.work.moved, *log))
        self.done = len(found)


def spare_state(level: Level, k: int, pool: ThreadPool) -> Spare:
    """Memory for all replicas but the first, of this level or a coarser one.

    The first write to new memory costs a page fault, so a caller that refines level after level allocates once.
    """
    pins, nets, nodes = level.net_nodes.size, level.n_nets, level.n_nodes
    return [
        (np.empty(nets, np.uint32), np.empty((pins, 2), np.uint32), np.empty(nodes, np.uint32), np.empty(k))
        for _ in range(min(pool.threads, SEARCHES) - 1)
    ]


def search_count(nodes: int, nodes_per_search: int = NODES_PER_SEARCH) -> int:
    """The number of searches of a pass over this number of nodes, each with at least about `nodes_per_search`.

    Below 2, one `search` runs on its own.
    """
    return min(SEARCHES, max(nodes // nodes_per_search, 2 if nodes >= nodes_per_search else 1))


def search_in_parallel(
    replicas: list[Replica],
    seeds: Words,
    batch: int,
    patience: float,
    wanted: float,
    turn: int,
    searches: int,
    pool: ThreadPool,
) -> int:
    """A pass of FM; the gain.

    Each search starts from its own stripe of the seeds, on its own replica, and undoes its moves. Then every replica
    applies the moves of all searches in order, as far as they still gain, so that all replicas end in the same state,
    including the first one, which has the arrays of the caller. If a search has many seeds, its paths are long and
    would be mostly the same in all searches; then a search moves only nodes of its own range of numbers.

    Args:
        replicas: equal ones, one a thread.
        seeds: uint32, nodes at the border, ascending.
        batch, patience: as in `km1_fm.search`.
        wanted: the pass ends if it is not expected to reach this gain.
        turn: number of the pass. searches: see `search_count`.
        pool: the threads; the result does not depend on them.
    """
    free: SimpleQueue[Replica] = SimpleQueue()
    for replica in replicas:
        replica.start()
        free.put(replica)
    found: list[Any] = []

    def run(own: Words, most: int, low: int, high: int) -> Any:
        replica = free.get()
        try:
            replica.catch_up(found)
            return explore(replica.level, replica.state, replica.work, own, batch, patience, most, low, high)
        finally:
            free.put(replica)

    nodes = replicas[0].work.moved.size
    if batch > 1:
        shift = OFFSETS[turn % len(OFFSETS)]
        bounds = [min(max(0, int(nodes * (i - shift) / searches)), nodes) for i in range(searches + 2)]
        ranges = list(pairwise(bounds))
        cuts = np.searchsorted(seeds, np.array(bounds, np.uint32))  # seeds ascend
        stripes = [seeds[first:last] for first, last in pairwise(cuts)]
    else:
        ranges = [(0, nodes)] * searches
        stripes = np.array_split(seeds, searches)
    shares, most = [-(-stripe.size // ROUNDS) for stripe in stripes], nodes // (searches * SHARE)
    claimed, left = 0, seeds.size
    length = [stripe.size for stripe in stripes]  # of the last path of each search: the longest begin
    while left:
        some = sorted((i for i, stripe in enumerate(stripes) if stripe.size), key=lambda i: -length[i])
        results = pool.each(run, [(stripes[i][: shares[i]], most, *ranges[i]) for i in some])
        for i, result in sorted(zip(some, results, strict=True), key=itemgetter(0)):
            found.append(result[2:])
            claimed += int(result[0])
            stripes[i], length[i] = stripes[i][result[1] :], result[2].size
        left = sum(stripe.size for stripe in stripes)
        tried = seeds.size - left
        if 8 * tried >= seeds.size and claimed * seeds.size < wanted * tried:
            break
    pool.each(Replica.catch_up, [(replica, found) for replica in replicas])
    return replicas[0].gain


@kept
def explore(
    level: Level,
    state: ClusterState,
    work: Workspace,
    seeds: Words,
    batch: int,
    patience: float,
    most: int,
    low: int,
    high: int,
) -> tuple[int, int, Words, Words, Words, Longs]:
    """As `search`, but undoes every move and also returns, before the last, the target of each move."""
    labels, loads = state.labels, state.loads
    before = loads.copy()
    total, used, nodes, origin, cuts = search(level, state, work, seeds, batch, patience, -1.0, most, low, high)
    targets = np.empty(nodes.size, np.uint32)
    for c in range(len(cuts) - 1, -1, -1):
        for i in range(cuts[c, 0], cuts[c, 1]):
            u = nodes[i]
            targets[i] = labels[u]
            move_back(u, origin[i], level, state)
    for u in nodes:
        work.moved[u] = False
    loads[:] = before  # undoing floating-point sums does not restore the same bits
    return total, used, nodes, origin, targets, cuts


@kept
def commit(
    level: Level, state: ClusterState, moved: Flags, nodes: Words, origin: Words, targets: Words, cuts: Longs
) -> int:
    """Apply the moves that `explore` found, as far as they still gain after other searches' moves; returns the gain.

    Of each search the moves up to its best sum are kept; moves of nodes that others moved, or to clusters that have
    become full, are skipped. Sets `moved` for all nodes of the log.
    """
    node_offsets, node_nets, node_weights = level.node_offsets, level.node_nets, level.node_weights
    net_weights, labels, loads, limits = level.net_weights, state.labels, state.loads, state.limits
    total = 0
    made = np.zeros(nodes.size, np.bool_)
    for c in range(len(cuts)):
        begin, end = cuts[c, 0], cuts[c, 1]
        so_far, best, best_end = 0, 0, begin
        for i in range(begin, end):
            u, own, there = nodes[i], origin[i], targets[i]
            if labels[u] != own or loads[there] + node_weights[u] > limits[there]:
                continue
            made[i] = True
            labels[u] = there
            loads[own] -= node_weights[u]
            loads[there] += node_weights[u]
            for j in range(node_offsets[u], node_offsets[u + np.uint32(1)]):
                net = node_nets[j]
                so_far += net_weights[net] * (drop_pin(state, net, own) == 0)
                so_far -= net_weights[net] * (add_pin(state, net, there) == 1)
            if so_far > best:
                best, best_end = so_far, i + 1
        for i in range(end - 1, best_end - 1, -1):
            if made[i]:
                move_back(nodes[i], origin[i], level, state)
        total += best
    for u in nodes:
        moved[u] = True
    return total
