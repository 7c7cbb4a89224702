"""Placement by recursive bisection: regions of the machine are halved, and the clusters with them.

Each half gets as many clusters as its cores can take by their speeds. What the clusters of a region send to those of
other regions draws them to the nearer half. A half begins as what grows from one cluster, and pairs of clusters then
change places while that helps (Kernighan and Lin 1970, with the gains of Fiduccia and Mattheyses 1982).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Bytes, Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

from .costs import Layout
from .pair_heap import drop_first, push


class Room(NamedTuple):
    """Memory of the searches: two heaps, which clusters have moved, and in which order."""

    keys: Floats
    numbers: Longs
    locked: npt.NDArray[np.bool_]
    moved: Longs


class Traffic(NamedTuple):
    """What each cluster sends to others: `others[offsets[i]:offsets[i + 1]]` get `messages` of cluster i."""

    offsets: Longs
    others: Ints
    messages: Floats


PATIENCE = 40  # exchanges in vain before it ends


def hierarchical(layout: Layout, regions: Ints) -> Ints:
    """Core of each cluster, int32 (k), at most ⌈k / cores⌉ on each.

    Args:
        regions: int32 (cores), cores such that parts of the order are regions.

    O((k + m) log cores · log k).
    """
    return _bisected(*(layout.offsets, layout.others, layout.messages, layout.hops, layout.speed, regions, layout.most))


@kept
def _bisected(
    offsets: Longs, others: Ints, messages: Floats, hops: Ints, speed: Floats, regions: Ints, most: int
) -> Ints:
    k, cores = offsets.size - 1, regions.size
    members = np.arange(k)  # clusters, those of a region next to each other
    middle = np.full(k, regions[cores // 2], np.int32)  # a core in the middle of each cluster's region
    home = np.zeros(k, np.int64)  # first core, in `regions`, of each cluster's region
    side = np.zeros(k, np.uint8)
    gain = np.zeros(k)
    most_pairs = k + others.size + 1  # a heap gets one for each cluster and one for each message that changes a gain
    room = Room(
        np.empty((2, most_pairs)), np.empty((2, most_pairs), np.int64), np.zeros(k, np.bool_), np.empty(k, np.int64)
    )
    traffic = Traffic(offsets, others, messages)
    core_of = np.empty(k, np.int32)
    stack = [(0, cores, 0, k)]
    while stack:
        low, high, begin, end = stack.pop(0)  # breadth first: all regions of a level before the next level
        if high - low == 1 or begin == end:
            for i in range(begin, end):
                core_of[members[i]] = regions[low]
            continue
        cut = (low + high) // 2
        left, right = 0.0, 0.0
        for i in range(low, cut):
            left += speed[regions[i]]
        for i in range(cut, high):
            right += speed[regions[i]]
        size = end - begin
        first = round(size * left / (left + right))
        first = min(max(first, size - (high - cut) * most), (cut - low) * most)
        near, far = regions[(low + cut) // 2], regions[(cut + high) // 2]
        own = members[begin:end].copy()
        _halve(own, first, near, far, traffic, hops, middle, home, low, side, gain, room)
        at, behind = begin, begin + first
        for i in range(size):
            cluster = own[i]
            if side[cluster] == 0:
                members[at] = cluster
                middle[cluster] = near
                at += 1
            else:
                members[behind] = cluster
                middle[cluster], home[cluster] = far, cut
                behind += 1
        stack.append((low, cut, begin, begin + first))
        stack.append((cut, high, begin + first, end))
    return core_of


@kept
def _halve(
    members: Longs,
    first: int,
    near: int,
    far: int,
    traffic: Traffic,
    hops: Ints,
    middle: Ints,
    home: Longs,
    region: int,
    side: Bytes,
    gain: Floats,
    room: Room,
) -> None:
    """Give `first` of the members side 0 (around core `near`) and the others side 1 (around `far`)."""
    offsets, others, messages = traffic.offsets, traffic.others, traffic.messages
    between = float(max(1, hops[near, far]))
    draw = np.zeros(members.size)  # how much less the messages to other regions cost on side 0
    for i in range(members.size):
        cluster = members[i]
        side[cluster] = 1
        for j in range(offsets[cluster], offsets[cluster + 1]):
            other = np.int64(others[j])
            if home[other] != region:
                draw[i] += messages[j] * (hops[far, middle[other]] - hops[near, middle[other]])
    seed = members[np.argmax(draw)]
    _grow(members, first, seed, draw, between, traffic, home, region, side, gain, room)
    _exchange(members, draw, between, traffic, home, region, side, gain, room)


@kept
def _grow(
    members: Longs,
    first: int,
    seed: int,
    draw: Floats,
    between: float,
    traffic: Traffic,
    home: Longs,
    region: int,
    side: Bytes,
    gain: Floats,
    room: Room,
) -> None:
    """Side 0 takes the seed, then `first` − 1 times what gains most; what gains nothing in the order of `members`."""
    offsets, others, messages = traffic.offsets, traffic.others, traffic.messages
    for i in range(members.size):
        side[members[i]] = 1
        gain[members[i]] = draw[i]
    keys, numbers = room.keys[0], room.numbers[0]
    size = 0
    for i in range(members.size):
        size = push(keys, numbers, size, -gain[members[i]], members[i])
    gain[seed] = np.inf
    size = push(keys, numbers, size, -np.inf, seed)
    taken = 0
    while taken < first:
        key, cluster = keys[0], numbers[0]
        size = drop_first(keys, numbers, size)
        if side[cluster] != 1 or -key != gain[cluster]:
            continue
        side[cluster] = 0
        taken += 1
        for j in range(offsets[cluster], offsets[cluster + 1]):
            other = np.int64(others[j])
            if home[other] == region and side[other] == 1:
                gain[other] += 2 * between * messages[j]
                size = push(keys, numbers, size, -gain[other], other)


@kept
def _exchange(
    members: Longs,
    draw: Floats,
    between: float,
    traffic: Traffic,
    home: Longs,
    region: int,
    side: Bytes,
    gain: Floats,
    room: Room,
) -> None:
    """One pass of exchanges, undone behind the best. `gain`: of moving a cluster over."""
    offsets, others, messages = traffic.offsets, traffic.others, traffic.messages
    locked, moved = room.locked, room.moved
    sizes = [0, 0]
    for i in range(members.size):
        cluster = members[i]
        value = draw[i] if side[cluster] == 1 else -draw[i]
        for j in range(offsets[cluster], offsets[cluster + 1]):
            other = np.int64(others[j])
            if home[other] == region:
                value += between * messages[j] * (1 if side[other] != side[cluster] else -1)
        gain[cluster] = value
        own = side[cluster]
        sizes[own] = push(room.keys[own], room.numbers[own], sizes[own], -value, cluster)
    count = 0
    total, best, kept = 0.0, 1e-9, 0
    while sizes[0] and sizes[1] and count - 2 * kept < 2 * PATIENCE:
        done = True
        for own in range(2):
            cluster = np.int64(-1)
            while sizes[own]:
                key, cluster = room.keys[own, 0], room.numbers[own, 0]
                sizes[own] = drop_first(room.keys[own], room.numbers[own], sizes[own])
                if not locked[cluster] and -key == gain[cluster]:
                    break
                cluster = np.int64(-1)
            if cluster < 0:
                done = False
                break
            total += gain[cluster]
            side[cluster] = 1 - side[cluster]
            locked[cluster] = True
            moved[count] = cluster
            count += 1
            for j in range(offsets[cluster], offsets[cluster + 1]):
                other = np.int64(others[j])
                if home[other] == region and not locked[other]:
                    change = 2 * between * messages[j]
                    gain[other] += change if side[other] != side[cluster] else -change
                    at = side[other]
                    sizes[at] = push(room.keys[at], room.numbers[at], sizes[at], -gain[other], other)
        if not done:
            break
        if total > best:
            best, kept = total, count // 2
    for i in range(count):
        locked[moved[i]] = False
        if i >= 2 * kept:
            side[moved[i]] = 1 - side[moved[i]]
