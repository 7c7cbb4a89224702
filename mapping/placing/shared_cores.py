"""Clusters that share a core (VertexCut §5.2, factor 1), found before any of them has a place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

from .costs import Layout
from .memory_centric_greedy import better_together


def units_of(layout: Layout, most_per_core: int) -> tuple[Ints, Layout]:
    """The unit of each cluster, int32 (k), and the units as a layout. The clusters of a unit share a core.

    In the order in which they become ready, as in Algorithm 2, clusters join the unit that they have most messages
    with, if that takes less time by the estimate of the greedy, on a core of mean speed. However the units are spread
    evenly over the cores, none gets more than `most_per_core` clusters, or ⌈k / cores⌉ if that is more: where even
    spreading fills the cores, nothing is joined. O(k log k + m).
    """
    most = max(layout.most, most_per_core) // layout.most
    order = np.argsort(layout.first, kind="stable")
    graph = layout.offsets, layout.others, layout.messages
    unit_of, count = _joined(order, *graph, layout.load, float(layout.speed.mean()), layout.cycles, most)
    if count == layout.load.size:
        return np.arange(count, dtype=np.int32), layout
    offsets, others, messages = _messages(*graph, unit_of, count)
    return unit_of, replace(
        layout,
        offsets=offsets,
        others=others,
        messages=messages,
        load=np.bincount(unit_of, layout.load, count).astype(np.float64),
        first=np.arange(count),
        most=-(-count // layout.speed.size),
    )


@kept
def _joined(
    order: Longs, offsets: Longs, others: Ints, messages: Floats, load: Floats, speed: float, cycles: float, most: Any
) -> tuple[Ints, int]:
    """Units, numbered in the order of their first clusters, and how many there are."""
    k = load.size
    unit_of = np.full(k, -1, np.int32)
    sizes, busy = np.zeros(k, np.int64), np.zeros(k)
    talk = np.zeros(k)  # messages of the present cluster with each unit
    count = 0
    for cluster in order:
        best = -1
        for i in range(offsets[cluster], offsets[cluster + 1]):
            unit = unit_of[others[i]]
            if unit >= 0:
                talk[unit] += messages[i]
                if best < 0 or talk[unit] > talk[best]:
                    best = unit
        target = count
        if best >= 0 and sizes[best] < most and better_together(busy[best], load[cluster], talk[best], speed, cycles):
            target = best
        for i in range(offsets[cluster], offsets[cluster + 1]):
            if unit_of[others[i]] >= 0:
                talk[unit_of[others[i]]] = 0.0
        unit_of[cluster] = target
        sizes[target] += 1
        busy[target] += load[cluster]
        count = max(count, target + 1)
    return unit_of, count


@kept
def _messages(offsets: Longs, others: Ints, messages: Floats, unit_of: Ints, count: int) -> tuple[Longs, Ints, Floats]:
    """The messages between units, as a layout has them."""
    starts = np.zeros(count + 1, np.int64)
    for unit in unit_of:
        starts[unit + 1] += 1
    for unit in range(count):
        starts[unit + 1] += starts[unit]
    members, free = np.empty(unit_of.size, np.int64), starts.copy()
    for cluster in range(unit_of.size):
        members[free[unit_of[cluster]]] = cluster
        free[unit_of[cluster]] += 1
    ends, near, sums = np.zeros(count + 1, np.int64), np.empty(others.size, np.int32), np.empty(others.size)
    place = np.full(count, -1, np.int64)  # where the present unit has its messages with each other one
    size = 0
    for unit in range(count):
        for cluster in members[starts[unit] : starts[unit + 1]]:
            for i in range(offsets[cluster], offsets[cluster + 1]):
                other = unit_of[others[i]]
                if other == unit:
                    continue
                if place[other] < ends[unit]:
                    place[other], near[size], sums[size] = size, other, 0.0
                    size += 1
                sums[place[other]] += messages[i]
        ends[unit + 1] = size
    return ends, near[:size].copy(), sums[:size].copy()
