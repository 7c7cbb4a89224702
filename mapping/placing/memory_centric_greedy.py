"""The memory-centric greedy of VertexCut §5.2, Algorithm 2, as published: clusters in the order they become ready in.

Its listing and its cost are lost in the text at hand; the three factors and the threshold are stated. Each can be
switched off, to see what it is worth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

from .core_orders import nearest
from .costs import Layout

NEAR = 32  # cores around a talker that are looked at


@dataclass(frozen=True)
class Rules:
    """Which factors of §5.2 count.

    Attributes:
        shared: clusters that talk go onto one core where the estimate says so (factor 1).
        adjacent: clusters that talk go near each other (factor 2).
        apart: independent clusters go to distant regions (factor 3).
        most_per_core: clusters on a core, at most; more only where there are more than that for each core.
    """

    shared: bool = True
    adjacent: bool = True
    apart: bool = True
    most_per_core: int = 4


def memory_centric_greedy(layout: Layout, spread: Ints, rules: Rules | None = None) -> Ints:
    """Core of each cluster, int32 (k).

    A cluster that none of those placed talks to gets the next free core of `spread`, cores in an order in which
    neighbours lie far apart. Another one joins the core that it has most messages with if that takes less time: their
    loads one after the other, against the larger one and the messages over one hop. Else it gets the free core near its
    talkers with the least messages · hops. A core is free while it has fewer than ⌈k / cores⌉ clusters.
    O(k log k + m + k · NEAR + cores²), and O(cores) for each cluster whose near cores are all taken.
    """
    rules = rules or Rules()
    order = np.argsort(layout.first, kind="stable")
    near = nearest(layout.hops, NEAR)
    cores = spread if rules.apart else np.arange(layout.speed.size, dtype=np.int32)
    most = max(layout.most, rules.most_per_core)
    return _place(
        *(order, layout.offsets, layout.others, layout.messages, layout.load, layout.hops, near, cores, layout.speed),
        np.array([layout.most, most, rules.shared, rules.adjacent], np.int64),
        layout.cycles,
    )


@kept
def better_together(busy: float, load: float, messages: float, speed: float, cycles: float) -> bool:
    """Whether two loads one after the other on a core take no more time than the larger one alone and the messages
    between them over one hop (factor 1)."""
    return (busy + load) / speed <= max(busy, load) / speed + messages * cycles


@kept
def _place(
    order: Longs,
    offsets: Longs,
    others: Ints,
    messages: Floats,
    load: Floats,
    hops: Ints,
    near: Ints,
    spread: Ints,
    speed: Floats,
    limits: Longs,
    cycles: float,
) -> Ints:
    even, most, shared, adjacent = limits[0], limits[1], limits[2], limits[3]
    cores = speed.size
    core_of = np.full(load.size, -1, np.int32)
    count = np.zeros(cores, np.int64)
    busy = np.zeros(cores)
    talk = np.zeros(cores)  # messages of the present cluster with those on each core
    talkers = np.empty(cores, np.int64)
    turn = 0
    for place in range(order.size):
        cluster = order[place]
        found = 0
        for i in range(offsets[cluster], offsets[cluster + 1]):
            core = core_of[others[i]]
            if core >= 0:
                if talk[core] == 0.0:
                    talkers[found] = core
                    found += 1
                talk[core] += messages[i]
        target = -1
        if found and (shared or adjacent):
            best = talkers[0]
            for t in range(1, found):
                if talk[talkers[t]] > talk[best]:
                    best = talkers[t]
            joined = better_together(busy[best], load[cluster], talk[best], speed[best], cycles)
            if shared and count[best] < most and joined:
                target = best
            elif adjacent:
                least = np.inf
                for n in range(near.shape[1]):
                    core = near[best, n]
                    if count[core] >= even:
                        continue
                    cost = 0.0
                    for t in range(min(found, 16)):
                        cost += talk[talkers[t]] * hops[core, talkers[t]]
                    if cost < least:
                        least, target = cost, core
                if target < 0:  # all of these are taken: the nearest of the others
                    for core in range(cores):
                        if count[core] < even and hops[best, core] < least:
                            least, target = float(hops[best, core]), core
        if target < 0:
            while count[spread[turn % cores]] >= even:
                turn += 1
            target = spread[turn % cores]
            turn += 1
        for t in range(found):
            talk[talkers[t]] = 0.0
        core_of[cluster] = target
        count[target] += 1
        busy[target] += load[cluster]
    return core_of
