"""Which clusters hold pins of each net, and the gains of moves: the state of km1 refinement.

The cost is Σ over nets of weight · (clusters with a pin - 1). A net has a list of `(cluster, pins)`, not longer
than the minimum of its size and k, so all lists together need no more memory than the pins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.partition.coarsening.hypergraph_levels import Level
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

Pairs = npt.NDArray[np.uint32]  # (entries, 2): cluster, pins
CLUSTER, PINS = range(2)


class ClusterState(NamedTuple):
    """A partition of the nodes of a `Level`, as serial and parallel FM keep it move by move.

    Attributes:
        begins: int64 (nets + 1), where the list of clusters of each net begins.
        lengths: uint32 (nets), the connectivity λ of each net: how many clusters hold pins of it.
        entries: uint32 (entries, 2), cluster and number of pins.
        labels: uint32 (nodes), the cluster of each node.
        loads: float64 (k), the load of each cluster.
        limits: float64 (k), the balance constraint: no move takes a cluster above its limit.
    """

    begins: Longs
    lengths: Words
    entries: Pairs
    labels: Words
    loads: Floats
    limits: Floats


@kept
def list_begins(net_offsets: Longs, k: int) -> Longs:
    """Where the list of each net begins, int64 (nets + 1). O(nets)."""
    nets = net_offsets.size - 1
    begins = np.zeros(nets + 1, np.int64)
    for net in range(nets):
        begins[net + 1] = begins[net] + min(k, net_offsets[net + 1] - net_offsets[net])
    return begins


@kept
def fill_lists(level: Level, state: ClusterState, first: int, last: int) -> None:
    """Fill the lists of the nets in [first, last); their `lengths` must be 0. O(pins · λ)."""
    for net in range(first, last):
        for i in range(level.net_offsets[net], level.net_offsets[net + 1]):
            add_pin(state, net, state.labels[level.net_nodes[i]])


@kept
def cluster_state(level: Level, labels: Words, limits: Floats) -> ClusterState:
    """The lists and loads of a partition, of which `labels` and `limits` are kept. O(nodes + pins · λ)."""
    begins = list_begins(level.net_offsets, limits.size)
    lengths, entries = np.zeros(level.net_weights.size, np.uint32), np.empty((begins[-1], 2), np.uint32)
    loads = np.zeros(limits.size)
    for u in range(labels.size):
        loads[labels[u]] += level.node_weights[u]
    state = ClusterState(begins, lengths, entries, labels, loads, limits)
    fill_lists(level, state, 0, lengths.size)
    return state


@njit(cache=True, nogil=True, inline="always")
def add_pin(state: ClusterState, net: int, cluster: np.uint32) -> int:
    """Count one more pin of the net in the cluster; returns the new number."""
    begins, lengths, entries = state.begins, state.lengths, state.entries
    begin = begins[net]
    end = begin + int(lengths[net])
    now = 0
    for i in range(begin, end):
        if entries[i, CLUSTER] == cluster:
            now = int(entries[i, PINS]) + 1
            entries[i, PINS] = now
            break
    if now == 0:
        entries[end, CLUSTER] = cluster
        entries[end, PINS] = 1
        lengths[net] += np.uint32(1)
        now = 1
    return now


@njit(cache=True, nogil=True, inline="always")
def drop_pin(state: ClusterState, net: int, cluster: np.uint32) -> int:
    """Count one pin less of the net in the cluster; returns the new number."""
    begins, lengths, entries = state.begins, state.lengths, state.entries
    begin = begins[net]
    end = begin + int(lengths[net])
    i = begin
    while entries[i, CLUSTER] != cluster:
        i += 1
    left = int(entries[i, PINS]) - 1
    if left == 0:
        entries[i, CLUSTER] = entries[end - 1, CLUSTER]
        entries[i, PINS] = entries[end - 1, PINS]
        lengths[net] -= np.uint32(1)
    else:
        entries[i, PINS] = left
    return left


@kept
def cost_of(lengths: Words, net_weights: Ints) -> int:
    """The cost by the lists. O(nets)."""
    cost = 0
    for net in range(lengths.size):
        if lengths[net] > 1:
            cost += int(net_weights[net]) * (int(lengths[net]) - 1)
    return cost


@kept
def cost_of_nets(level: Level, labels: Words, k: int, first: int, last: int) -> int:
    """The cost of the nets in [first, last). O(pins)."""
    net_offsets, net_nodes, net_weights = level.net_offsets, level.net_nodes, level.net_weights
    met = np.full(k, -1, np.int64)  # the last net that had a pin in the cluster
    cost = 0
    for net in range(first, last):
        count = -1
        for i in range(net_offsets[net], net_offsets[net + 1]):
            cluster = labels[net_nodes[i]]
            if met[cluster] != net:
                met[cluster] = net
                count += 1
        cost += int(net_weights[net]) * max(count, 0)
    return cost


@kept
def best_move(u: np.uint32, level: Level, state: ClusterState, joint: Ints, clusters: Words) -> tuple[int, int]:
    """The gain of the best move of node u to a cluster with room, and that cluster; -1 if there is none.

    Only clusters that share a net with u are candidates; ties go to the one with the most room for its limit, then to
    the lowest: the order of the lists does not matter. `joint` is int32 (k), zero before and after; `clusters` has room
    for k.
    """
    node_offsets, node_nets, net_weights = level.node_offsets, level.node_nets, level.net_weights
    begins, lengths, entries, labels, loads, limits = state
    weight_of_u = level.node_weights[u]
    own = labels[u]
    total, leaving, count = np.int32(0), np.int32(0), 0
    for i in range(node_offsets[u], node_offsets[u + np.uint32(1)]):
        net = node_nets[i]
        weight = net_weights[net]
        total += weight
        length = int(lengths[net])
        if length == 1:
            continue
        begin = begins[net]
        for j in range(begin, begin + length):
            cluster = entries[j, CLUSTER]
            if cluster == own:
                if entries[j, PINS] == 1:  # the last pin there: leaving saves a copy
                    leaving += weight
            else:
                if joint[cluster] == 0:
                    clusters[count] = cluster
                    count += 1
                joint[cluster] += weight
    best, most, fullest = -1, np.int32(0), 0.0
    for i in range(count):
        cluster = clusters[i]
        value = joint[cluster]
        joint[cluster] = 0
        if value < most:  # most candidates are discarded here, before their loads are read
            continue
        after = loads[cluster] + weight_of_u
        if after > limits[cluster]:
            continue
        full = after / limits[cluster]
        if value > most or full < fullest or (full == fullest and int(cluster) < best):
            best, most, fullest = int(cluster), value, full
    return int(leaving + most - total), best
