"""Local searches that lower the vertex-copy cost of a partition by moving nodes, one at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.partition.coarsening.hypergraph_levels import Level
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Ints, Longs
from tracecut.support.lazy_kernels import kept

from .km1_gains import CLUSTER, PINS, ClusterState, add_pin, best_move, drop_pin

Flags = npt.NDArray[np.bool_]

WIDE = 32  # most pins of a net whose other nodes get new gains after a move; in larger nets gains change least
CAUTION = 0.3  # β of the stopping rule divided by ln(nodes): the loss that a search tolerates if its gains do not vary
# Most nets of a node that FM moves, absolute and over the mean; label propagation has no limit
BROAD, SKEWED = 1 << 10, 256
LONGEST = 1000  # a search always ends after this many moves without a new best sum


class Workspace(NamedTuple):
    """Working memory of `search`, one per thread. Nodes of a coarser level use the front of each array.

    Attributes:
        clock: int64 (1), the number of moves made so far.
        moved: bool (nodes), nodes that this pass moved, or that it may not move.
        place: int32 (nodes), 1 + the position in the queue; 0 outside of it.
        keys: int32 (nodes), the gain with which a node stands in the queue.
        heap: uint32 (nodes), the queue: a binary max-heap of nodes by `keys`.
        stamps: int64 (nodes), the move after which a node was last visited.
        touched: uint32 (nodes), the nodes whose gains the last move changed.
        path: uint32 (nodes), the nodes moved, in order.
    """

    clock: Longs
    moved: Flags
    place: Ints
    keys: Ints
    heap: Words
    stamps: Longs
    touched: Words
    path: Words


def workspace(nodes: int) -> Workspace:
    """A clean workspace.

    Allocated with NumPy, whose zero pages cost nothing until they are touched; a search touches little. A kernel would
    write all zeros.
    """
    return Workspace(
        np.zeros(1, np.int64), np.zeros(nodes, np.bool_), np.zeros(nodes, np.int32), np.empty(nodes, np.int32),
        np.empty(nodes, np.uint32), np.zeros(nodes, np.int64), np.empty(nodes, np.uint32), np.empty(nodes, np.uint32),
    )  # fmt: skip


compiled_workspace = kept(workspace)


@kept
def begin_pass(node_offsets: Longs, moved: Flags) -> None:
    """Clear `moved`, but set it for nodes of very many nets, whose gains would be recomputed after each move near them.

    O(nodes).
    """
    n = node_offsets.size - 1  # `moved` may be longer than this level
    least = max(BROAD, SKEWED * node_offsets[n] // max(n, 1))
    for u in range(n):
        moved[u] = node_offsets[u + 1] - node_offsets[u] > least


@kept
def improving_nodes(level: Level, state: ClusterState, nodes: Words) -> Words:
    """Those of `nodes` whose best move has a positive gain; no side effects."""
    k = state.loads.size
    joint, clusters = np.zeros(k, np.int32), np.empty(k, np.uint32)
    found = np.empty(nodes.size, np.uint32)
    count = 0
    for u in nodes:
        if not _frees_a_net(u, level, state):
            continue
        gain, target = best_move(u, level, state, joint, clusters)
        if target >= 0 and gain > 0:
            found[count] = u
            count += 1
    return found[:count].copy()


@njit(cache=True, nogil=True, inline="always")
def _frees_a_net(u: np.uint32, level: Level, state: ClusterState) -> bool:
    """Whether node u is the only pin of a net in its cluster; without one, no move of u has a positive gain."""
    node_offsets, node_nets = level.node_offsets, level.node_nets
    begins, lengths, entries, labels, _, _ = state
    own = labels[u]
    for i in range(node_offsets[u], node_offsets[u + np.uint32(1)]):
        net = node_nets[i]
        if lengths[net] == 1:
            continue
        j = begins[net]
        while entries[j, CLUSTER] != own:
            j += 1
        if entries[j, PINS] == 1:
            return True
    return False


@kept
def propagate_labels(level: Level, state: ClusterState, nodes: Words, active: Flags) -> int:
    """Make the best move of each of `nodes`, one after the other, where its gain is positive. Returns the gain.

    Sets `active` for the nodes whose gains the moves changed: those that the next round visits.
    """
    node_offsets, node_nets, net_offsets, net_nodes, node_weights, _ = level
    labels, loads = state.labels, state.loads
    joint, clusters = np.zeros(loads.size, np.int32), np.empty(loads.size, np.uint32)
    total = 0
    for u in nodes:
        gain, target = best_move(u, level, state, joint, clusters)
        if target < 0 or gain <= 0:
            continue
        total += gain
        own, there = labels[u], np.uint32(target)
        labels[u] = there
        loads[own] -= node_weights[u]
        loads[there] += node_weights[u]
        for i in range(node_offsets[u], node_offsets[u + np.uint32(1)]):
            net = node_nets[i]
            left = drop_pin(state, net, own)
            now = add_pin(state, net, there)
            # A move from a cluster with several other pins to one with pins cannot increase the gain of another pin.
            if (left > 1 and now > 1) or net_offsets[net + np.uint32(1)] - net_offsets[net] > WIDE:
                continue
            for j in range(net_offsets[net], net_offsets[net + np.uint32(1)]):
                active[net_nodes[j]] = True
    return total


@kept
def mark_boundary(level: Level, lengths: Words, on: Flags, first: int, last: int) -> None:
    """Set `on` for the boundary nodes: those on cut nets, of the nets in [first, last). O(pins)."""
    net_offsets, net_nodes = level.net_offsets, level.net_nodes
    for net in range(first, last):
        if lengths[net] > 1:
            for i in range(net_offsets[net], net_offsets[net + 1]):
                on[net_nodes[i]] = True


@kept
def search(
    level: Level,
    state: ClusterState,
    work: Workspace,
    seeds: Words,
    batch: int,
    patience: float,
    wanted: float,
    most: int,
    low: int,
    high: int,
) -> tuple[int, int, Words, Words, Longs]:
    """One pass of localised FM from `seeds`.

    From `batch` seeds at a time, the best move of any node in the queue is made, even where its gain is negative, and
    the nodes whose gains it changes enter the queue. A search ends when a better sum of gains than the best so far is
    unlikely (the rule of Osipov and Sanders 2010, `patience` its factor), and the moves after the best sum are undone.
    A node moves at most once a pass, and not at all where `begin_pass` has marked it so. After an eighth of the seeds,
    the pass ends where the gain so far, extrapolated to all seeds, is below `wanted`.

    Args:
        level, state: the hypergraph and its partition, which is kept up to date.
        work: of this thread; left clean but for `moved`.
        seeds, batch, patience, wanted: see above.
        most: number of moves after which no further search begins.
        low, high: nodes in [low, high) enter the queue.

    Returns:
        The gain, never negative; how many seeds were used, all unless `most` nodes were moved before; every node that
        was moved, uint32, those that moved back included; the clusters from which they came, uint32; and for each
        search three int64: where in these its nodes begin, where those that came back begin, and where they end.
    """
    node_offsets, node_nets, net_offsets, net_nodes, node_weights, _ = level
    labels, loads = state.labels, state.loads
    clock, moved, place, keys, heap, stamps, touched, path = work
    k = loads.size
    joint, clusters = np.zeros(k, np.int32), np.empty(k, np.uint32)
    origin, cuts = np.empty(1024, np.uint32), np.empty((64, 3), np.int64)
    beta = CAUTION * np.log(max(labels.size, 2))
    step = clock[0]
    total, first, n_path, n_cuts = 0, 0, 0, 0
    while first < seeds.size and n_path < most:
        if first * 8 >= seeds.size and total * seeds.size < wanted * first:
            break
        size, begin = 0, n_path
        added = 0
        while first < seeds.size and added < batch:
            u = seeds[first]
            first += 1
            if moved[u]:
                continue
            gain, target = best_move(u, level, state, joint, clusters)
            if target >= 0:
                size = _put(heap, place, keys, size, u, gain)
                added += 1
        so_far, best, best_length = 0, 0, begin
        mean, squares, tried = 0.0, 0.0, 0
        while size > 0:
            u = heap[0]
            gain, target = best_move(u, level, state, joint, clusters)
            if target < 0:
                size = _take(heap, place, keys, size)
                continue
            if gain < keys[u]:  # keys are lowered lazily, only here: moves of other nodes may have reduced this gain
                keys[u] = gain
                _down(heap, place, keys, size, 0)
                continue
            size = _take(heap, place, keys, size)
            keys[u] = gain
            own, there = labels[u], np.uint32(target)
            labels[u] = there
            loads[own] -= node_weights[u]
            loads[there] += node_weights[u]
            moved[u] = True
            if n_path == origin.size:
                longer = np.empty(2 * n_path, np.uint32)
                longer[:n_path] = origin
                origin = longer
            path[n_path], origin[n_path] = u, own
            n_path += 1
            so_far += gain
            step += 1
            n_touched = 0
            for i in range(node_offsets[u], node_offsets[u + np.uint32(1)]):
                net = node_nets[i]
                left = drop_pin(state, net, own)
                now = add_pin(state, net, there)
                # Gains of other pins can increase only if one pin is left behind (moving it would free the net) or if
                # the first
                # pin has arrived (a new target cluster); all other changes only lower gains.
                if (left != 1 and now != 1) or net_offsets[net + np.uint32(1)] - net_offsets[net] > WIDE:
                    continue
                for j in range(net_offsets[net], net_offsets[net + np.uint32(1)]):
                    v = net_nodes[j]
                    if v < low or v >= high or moved[v] or stamps[v] == step or (now != 1 and labels[v] != own):
                        continue
                    stamps[v] = step
                    touched[n_touched] = v
                    n_touched += 1
            for i in range(n_touched):
                v = touched[i]
                gain, target = best_move(v, level, state, joint, clusters)
                if target < 0:
                    continue
                if place[v] == 0:
                    size = _put(heap, place, keys, size, v, gain)
                elif gain > keys[v]:
                    keys[v] = gain
                    _up(heap, place, keys, place[v] - 1)
            if so_far > best:
                best, best_length = so_far, n_path
                mean, squares, tried = 0.0, 0.0, 0
                continue
            tried += 1
            change = keys[u] - mean
            mean += change / tried
            squares += change * (keys[u] - mean)
            # Mean and variance of the gains since the best sum (Welford's update); stop if a random walk with these is
            # unlikely to exceed it.
            if tried > 1 and mean < 0 and tried * mean * mean > patience * squares / (tried - 1) + beta:
                break
            if tried > LONGEST:
                break
        for i in range(size):
            place[heap[i]] = 0
        # Undone in reverse order, so that loads and lists pass through the same states.
        for i in range(n_path - 1, best_length - 1, -1):
            move_back(path[i], origin[i], level, state)
        total += best
        if n_path > begin:
            if n_cuts == len(cuts):
                more = np.empty((2 * n_cuts, 3), np.int64)
                more[:n_cuts] = cuts
                cuts = more
            cuts[n_cuts] = begin, best_length, n_path
            n_cuts += 1
    clock[0] = step
    return total, first, path[:n_path].copy(), origin[:n_path].copy(), cuts[:n_cuts].copy()


@njit(cache=True, nogil=True, inline="always")
def move_back(u: np.uint32, own: np.uint32, level: Level, state: ClusterState) -> None:
    """Move node u back to the cluster `own`."""
    node_offsets, node_nets, node_weights = level.node_offsets, level.node_nets, level.node_weights
    labels, loads = state.labels, state.loads
    here = labels[u]
    labels[u] = own
    loads[here] -= node_weights[u]
    loads[own] += node_weights[u]
    for i in range(node_offsets[u], node_offsets[u + np.uint32(1)]):
        drop_pin(state, node_nets[i], here)
        add_pin(state, node_nets[i], own)


@kept
def _put(heap: Words, place: Ints, keys: Ints, size: int, u: np.uint32, key: int) -> int:
    heap[size] = u
    keys[u] = key
    _up(heap, place, keys, size)
    return size + 1


@kept
def _take(heap: Words, place: Ints, keys: Ints, size: int) -> int:
    """Remove the first node."""
    place[heap[0]] = 0
    size -= 1
    if size > 0:
        heap[0] = heap[size]
        place[heap[0]] = 1
        _down(heap, place, keys, size, 0)
    return size


@kept
def _up(heap: Words, place: Ints, keys: Ints, spot: int) -> None:
    u = heap[spot]
    while spot > 0:
        above = (spot - 1) >> 1
        v = heap[above]
        if keys[v] >= keys[u]:
            break
        heap[spot] = v
        place[v] = spot + 1
        spot = above
    heap[spot] = u
    place[u] = spot + 1


@kept
def _down(heap: Words, place: Ints, keys: Ints, size: int, spot: int) -> None:
    u = heap[spot]
    while True:
        child = 2 * spot + 1
        if child >= size:
            break
        if child + 1 < size and keys[heap[child + 1]] > keys[heap[child]]:
            child += 1
        v = heap[child]
        if keys[v] <= keys[u]:
            break
        heap[spot] = v
        place[v] = spot + 1
        spot = child
    heap[spot] = u
    place[u] = spot + 1
