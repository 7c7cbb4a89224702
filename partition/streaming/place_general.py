"""The placement rules of `streaming` on lists, for any jobs, weights and targets; and further passes over the stream.

Each datum has a list of the clusters that have a job of it, not longer than its number of pins, so memory stays O(pins)
for any k. Loads are compared after multiplication by `scale`, which is 1 for equal targets and larger for small
targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

NOBODY = np.uint32(0xFFFFFFFF)


def list_offsets(degree: Words, k: int) -> Longs:
    """Where the list of each datum begins: space for one cluster per pin, at most k; int64 (data + 1). O(data)."""
    return np.concatenate([[0], np.cumsum(np.minimum(degree, np.uint32(min(k, 2**31))), dtype=np.int64)])


@kept
def place_lists(
    offsets: Longs,
    data: Words,
    order: Words,
    rooms: Longs,
    degree: Words,
    libra: bool,
    either: bool,
    weights: Floats,
    scale: Floats,
    limits: Floats,
) -> Words:
    """Labels by the rules of `streaming`, uint32 (jobs). O(Σ over pins of the copies so far + jobs · log k).

    Args:
        offsets, data: the incidence. order: uint32, the stream.
        rooms: int64 (data + 1), see `list_offsets`. degree: uint32 (data), pins of each datum. Overwritten.
        libra: prefer the datum of the lowest degree; else that of most unassigned pins.
        either: candidates are all clusters of any of the data (the simple rule).
        weights: float64 (jobs). scale: float64 (k). limits: float64 (k), largest load of each; infinite for unbounded.
    """
    k = limits.size
    labels = np.empty(order.size, np.uint32)
    loads, tree = np.zeros(k), _tree(k)
    members, sizes = np.empty(rooms[rooms.size - 1], np.uint32), np.zeros(degree.size, np.int64)
    met, touched, visits = np.zeros(degree.size, np.uint32), np.empty(k, np.uint32), np.zeros(k, np.int64)
    for job in order:
        begin, end = offsets[job], offsets[job + 1]
        weight, stamp = weights[job], job + np.uint32(1)
        lists, count, chosen = 0, 0, NOBODY
        for pin in range(begin, end):
            v = data[pin]
            if met[v] == stamp or sizes[v] == 0:
                continue
            met[v] = stamp
            lists += 1
            if chosen == NOBODY or (degree[v] < degree[chosen] if libra else degree[v] > degree[chosen]):
                chosen = v
            for i in range(rooms[v], rooms[v] + sizes[v]):
                cluster = members[i]
                if visits[cluster] == 0:
                    touched[count] = cluster
                    count += 1
                visits[cluster] += 1
        shared, best = False, NOBODY
        for i in range(count):
            if either or visits[touched[i]] == lists:
                shared = True
                best = _lesser(touched[i], best, weight, loads, scale, limits)
        if not shared and chosen != NOBODY:
            for i in range(rooms[chosen], rooms[chosen] + sizes[chosen]):
                best = _lesser(members[i], best, weight, loads, scale, limits)
        if best == NOBODY:
            for i in range(count):
                best = _lesser(touched[i], best, weight, loads, scale, limits)
        for i in range(count):
            visits[touched[i]] = 0
        if best == NOBODY:
            best = tree[1]
        labels[job] = best
        loads[best] += weight
        _climb(tree, best, loads, scale)
        for pin in range(begin, end):
            v = data[pin]
            if not libra:
                degree[v] -= np.uint32(1)
            at, last = rooms[v], rooms[v] + sizes[v]
            while at < last and members[at] != best:
                at += 1
            if at == last:
                members[at] = best
                sizes[v] += 1
    return labels


@kept
def tally(offsets: Longs, data: Words, labels: Words, rooms: Longs) -> tuple[Words, Words, Longs]:
    """For each datum: its clusters and its pins in each (`members`, `counts`, in its list), and their number
    (`sizes`)."""
    members = np.empty(rooms[rooms.size - 1], np.uint32)
    counts = np.zeros(members.size, np.uint32)
    sizes = np.zeros(rooms.size - 1, np.int64)
    for job in range(labels.size):
        for pin in range(offsets[job], offsets[job + 1]):
            _enter(data[pin], labels[job], rooms, members, counts, sizes)
    return members, counts, sizes


@kept
def place_again(
    offsets: Longs,
    data: Words,
    order: Words,
    rooms: Longs,
    members: Words,
    counts: Words,
    sizes: Longs,
    degree: Words,
    weights: Floats,
    scale: Floats,
    limits: Floats,
    labels: Words,
) -> None:
    """One more pass over the stream: each job is removed and placed again. Overwrites its arguments.

    The job goes to the cluster that has most of its data; among those, to the one with most pins of these data (sum
    over the data of their share there); then to the least loaded, then to the lowest number. Clusters without room are
    skipped, except the job's present one. So the cost never increases. O(Σ over pins of the copies).

    Args:
        members, counts, sizes: from `tally`. labels: uint32 (jobs).
        others: as in `place_lists`.
    """
    k = limits.size
    loads = np.zeros(k)
    for job in range(labels.size):
        loads[labels[job]] += weights[job]
    met, touched = np.zeros(degree.size, np.uint32), np.empty(k + 1, np.uint32)
    visits, shares = np.zeros(k, np.int64), np.zeros(k)
    for job in order:
        begin, end = offsets[job], offsets[job + 1]
        weight, here, stamp = weights[job], labels[job], job + np.uint32(1)
        loads[here] -= weight
        for pin in range(begin, end):
            _leave(data[pin], here, rooms, members, counts, sizes)
        count = 0
        for pin in range(begin, end):
            v = data[pin]
            if met[v] == stamp:
                continue
            met[v] = stamp
            part = 1.0 / degree[v]
            for i in range(rooms[v], rooms[v] + sizes[v]):
                cluster = members[i]
                # always written, and kept only if it is new: without a branch, which would be unpredictable
                touched[count] = cluster
                count += visits[cluster] == 0
                visits[cluster] += 1
                shares[cluster] += counts[i] * part
        best, most, share = here, visits[here], shares[here]
        for i in range(count):
            cluster = touched[i]
            if cluster == here or loads[cluster] + weight > limits[cluster]:
                continue
            visit, own = visits[cluster], shares[cluster]
            better = visit > most or (visit == most and own > share)
            if visit == most and own == share:
                load, least = loads[cluster] * scale[cluster], loads[best] * scale[best]
                better = load < least or (load == least and cluster < best)
            if better:
                best, most, share = cluster, visit, own
        for i in range(count):
            visits[touched[i]], shares[touched[i]] = 0, 0.0
        labels[job] = best
        loads[best] += weight
        for pin in range(begin, end):
            _enter(data[pin], best, rooms, members, counts, sizes)


@njit(inline="always")
def _enter(v: Any, cluster: Any, rooms: Longs, members: Words, counts: Words, sizes: Longs) -> None:
    at, last = rooms[v], rooms[v] + sizes[v]
    while at < last and members[at] != cluster:
        at += 1
    if at == last:
        members[at], counts[at] = cluster, 0
        sizes[v] += 1
    counts[at] += np.uint32(1)


@njit(inline="always")
def _leave(v: Any, cluster: Any, rooms: Longs, members: Words, counts: Words, sizes: Longs) -> None:
    at, last = rooms[v], rooms[v] + sizes[v] - 1
    while members[at] != cluster:
        at += 1
    counts[at] -= np.uint32(1)
    if counts[at] == 0:
        members[at], counts[at] = members[last], counts[last]
        sizes[v] -= 1


@njit(inline="always")
def _lesser(cluster: Any, best: Any, weight: Any, loads: Floats, scale: Floats, limits: Floats) -> Any:
    """`cluster` if it takes the weight and is less loaded than `best` (lower numbers win ties), else `best`."""
    if loads[cluster] + weight > limits[cluster]:
        return best
    if best == NOBODY:
        return cluster
    load, least = loads[cluster] * scale[cluster], loads[best] * scale[best]
    return cluster if load < least or (load == least and cluster < best) else best


@kept
def _tree(k: int) -> Words:
    """A tournament tree of k clusters without load: node 1 is the winner, leaves begin at the first power of 2 ≥ k."""
    width = 1
    while width < k:
        width *= 2
    tree = np.full(2 * width, NOBODY)
    for cluster in range(k):
        tree[width + cluster] = cluster
    for node in range(width - 1, 0, -1):
        tree[node] = tree[2 * node]
    return tree


@njit(inline="always")
def _climb(tree: Words, cluster: Any, loads: Floats, scale: Floats) -> None:
    """Update the winners on the path from `cluster` to the root."""
    node = (tree.size // 2 + np.int64(cluster)) // 2
    while node > 0:
        left, right = tree[2 * node], tree[2 * node + 1]
        tree[node] = left
        if right != NOBODY and loads[right] * scale[right] < loads[left] * scale[left]:
            tree[node] = right
        node //= 2
