"""Local searches that lower the vertex-copy cost of a partition by moving nodes, one at a time."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..ir.arrays import Floats, Ints, Longs
from .km1_state import Pairs, add_pin, best_move, drop_pin
from .views import Words

WIDE = 32  # pins; the other nodes of a larger net are not told that a move changed it
LONGEST = 1000  # moves without a new best sum after which a search ends in any case


@njit(cache=True, nogil=True)
def sweep(
    node_offsets: Longs,
    node_nets: Words,
    net_offsets: Longs,
    net_nodes: Words,
    node_weights: Floats,
    net_weights: Ints,
    begins: Longs,
    lengths: Words,
    entries: Pairs,
    labels: Words,
    loads: Floats,
    limits: Floats,
    active: Words,
) -> tuple[int, Words]:
    """One round of label propagation over `active` nodes: each makes its best move if that gains.

    Returns the gain and the nodes that moves brought into play, for the next round.
    """
    k = loads.size
    joint, clusters = np.zeros(k, np.int32), np.empty(k, np.uint32)
    told = np.zeros(labels.size, np.bool_)
    following = np.empty(labels.size, np.uint32)
    n_following, total = 0, 0
    for place in range(active.size):
        u = active[place]
        gain, target = best_move(
            u, node_offsets, node_nets, node_weights, net_weights, begins, lengths, entries, labels, loads, limits,
            joint, clusters,
        )  # fmt: skip
        if target < 0 or gain <= 0:
            continue
        total += gain
        own, there = labels[u], np.uint32(target)
        labels[u] = there
        loads[own] -= node_weights[u]
        loads[there] += node_weights[u]
        for i in range(node_offsets[u], node_offsets[u + np.uint32(1)]):
            net = node_nets[i]
            left = drop_pin(begins, lengths, entries, net, own)
            now = add_pin(begins, lengths, entries, net, there)
            if (left > 1 and now > 1) or net_offsets[net + np.uint32(1)] - net_offsets[net] > WIDE:
                continue
            for j in range(net_offsets[net], net_offsets[net + np.uint32(1)]):
                v = net_nodes[j]
                if not told[v]:
                    told[v] = True
                    following[n_following] = v
                    n_following += 1
    return total, following[:n_following]


@njit(cache=True, nogil=True)
def border_nodes(net_offsets: Longs, net_nodes: Words, lengths: Words, n_nodes: int) -> Words:
    """The nodes on nets of several clusters, ascending. O(pins)."""
    on = np.zeros(n_nodes, np.bool_)
    for net in range(lengths.size):
        if lengths[net] > 1:
            for i in range(net_offsets[net], net_offsets[net + 1]):
                on[net_nodes[i]] = True
    return np.flatnonzero(on).astype(np.uint32)


@njit(cache=True, nogil=True)
def search(
    node_offsets: Longs,
    node_nets: Words,
    net_offsets: Longs,
    net_nodes: Words,
    node_weights: Floats,
    net_weights: Ints,
    begins: Longs,
    lengths: Words,
    entries: Pairs,
    labels: Words,
    loads: Floats,
    limits: Floats,
    seeds: Words,
    together: int,
    patience: float,
    wanted: float,
) -> int:
    """One pass of localised FM; returns the gain, never negative.

    From `together` seeds at a time, the best move of any node in the queue is made, worse ones included, and the
    nodes that it touches enter the queue. A search ends when its gains promise no better sum than the best so far
    (the rule of Osipov and Sanders 2010, `patience` its factor), and what came after the best sum is taken back. A
    node moves at most once a pass. From the first eighth of the seeds on, the pass ends when it is not on its way to a
    gain of `wanted`.
    """
    n, k = labels.size, loads.size
    joint, clusters = np.zeros(k, np.int32), np.empty(k, np.uint32)
    moved = np.zeros(n, np.bool_)
    place = np.full(n, -1, np.int32)  # in the heap
    keys = np.empty(n, np.int32)
    heap = np.empty(n, np.uint32)
    told = np.full(n, -1, np.int64)
    near = np.empty(n, np.uint32)
    path, origin = np.empty(n, np.uint32), np.empty(n, np.uint32)
    beta = np.log(max(n, 2))
    step, total, first = np.int64(0), 0, 0
    while first < seeds.size:
        if first * 8 >= seeds.size and total * seeds.size < wanted * first:
            break
        size, n_path = 0, 0
        added = 0
        while first < seeds.size and added < together:
            u = seeds[first]
            first += 1
            if moved[u]:
                continue
            gain, target = best_move(
                u, node_offsets, node_nets, node_weights, net_weights, begins, lengths, entries, labels, loads,
                limits, joint, clusters,
            )  # fmt: skip
            if target >= 0:
                size = _put(heap, place, keys, size, u, gain)
                added += 1
        so_far, best, best_length = 0, 0, 0
        mean, squares, tried = 0.0, 0.0, 0
        while size > 0:
            u = heap[0]
            gain, target = best_move(
                u, node_offsets, node_nets, node_weights, net_weights, begins, lengths, entries, labels, loads,
                limits, joint, clusters,
            )  # fmt: skip
            if target < 0:
                size = _take(heap, place, keys, size)
                continue
            if gain < keys[u]:  # the keys of nodes that others' moves made worse are put right when they come up
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
            path[n_path], origin[n_path] = u, own
            n_path += 1
            so_far += gain
            step += 1
            n_near = 0
            for i in range(node_offsets[u], node_offsets[u + np.uint32(1)]):
                net = node_nets[i]
                left = drop_pin(begins, lengths, entries, net, own)
                now = add_pin(begins, lengths, entries, net, there)
                if (left != 1 and now != 1) or net_offsets[net + np.uint32(1)] - net_offsets[net] > WIDE:
                    continue
                for j in range(net_offsets[net], net_offsets[net + np.uint32(1)]):
                    v = net_nodes[j]
                    if moved[v] or told[v] == step or (now != 1 and labels[v] != own):
                        continue
                    told[v] = step
                    near[n_near] = v
                    n_near += 1
            for i in range(n_near):
                v = near[i]
                gain, target = best_move(
                    v, node_offsets, node_nets, node_weights, net_weights, begins, lengths, entries, labels, loads,
                    limits, joint, clusters,
                )  # fmt: skip
                if target < 0:
                    continue
                if place[v] < 0:
                    size = _put(heap, place, keys, size, v, gain)
                elif gain > keys[v]:
                    keys[v] = gain
                    _up(heap, place, keys, place[v])
            if so_far > best:
                best, best_length = so_far, n_path
                mean, squares, tried = 0.0, 0.0, 0
                continue
            tried += 1
            change = keys[u] - mean
            mean += change / tried
            squares += change * (keys[u] - mean)
            if tried > 1 and mean < 0 and tried * mean * mean > patience * squares / (tried - 1) + beta:
                break
            if tried > LONGEST:
                break
        for i in range(size):
            place[heap[i]] = -1
        for i in range(n_path - 1, best_length - 1, -1):
            u, own = path[i], origin[i]
            here = labels[u]
            labels[u] = own
            loads[here] -= node_weights[u]
            loads[own] += node_weights[u]
            for j in range(node_offsets[u], node_offsets[u + np.uint32(1)]):
                drop_pin(begins, lengths, entries, node_nets[j], here)
                add_pin(begins, lengths, entries, node_nets[j], own)
        total += best
    return total


@njit(cache=True, nogil=True)
def _put(heap: Words, place: Ints, keys: Ints, size: int, u: np.uint32, key: int) -> int:
    heap[size] = u
    place[u] = size
    keys[u] = key
    _up(heap, place, keys, size)
    return size + 1


@njit(cache=True, nogil=True)
def _take(heap: Words, place: Ints, keys: Ints, size: int) -> int:
    """Remove the first node."""
    place[heap[0]] = -1
    size -= 1
    if size > 0:
        heap[0] = heap[size]
        place[heap[0]] = 0
        _down(heap, place, keys, size, 0)
    return size


@njit(cache=True, nogil=True)
def _up(heap: Words, place: Ints, keys: Ints, spot: int) -> None:
    u = heap[spot]
    while spot > 0:
        above = (spot - 1) >> 1
        v = heap[above]
        if keys[v] >= keys[u]:
            break
        heap[spot] = v
        place[v] = spot
        spot = above
    heap[spot] = u
    place[u] = spot


@njit(cache=True, nogil=True)
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
        place[v] = spot
        spot = child
    heap[spot] = u
    place[u] = spot
