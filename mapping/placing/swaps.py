"""Refines a placement: clusters move to, or change places with those on, cores near the clusters they talk to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

from .core_orders import nearest
from .costs import Layout

ROUNDS = 6
AROUND = 5  # cores around a talker that are tried
TALKERS = 3  # of a cluster whose cores are tried, those with most messages


def swap_refined(layout: Layout, start: Ints, rounds: int = ROUNDS) -> Ints:
    """Core of each cluster, int32 (k), with at most the messages · hops of `start` and as many clusters on each core.

    Each round tries for every cluster whose neighbourhood changed the cores around its TALKERS: a move to a core with
    room, or an exchange with a cluster there, where the cluster itself gains. Ends after `rounds`, or when
    nothing helps. O(rounds · (k + m) · TALKERS · AROUND · ⌈k / cores⌉) at most; most clusters settle after two rounds.
    """
    core_of = start.astype(np.int32).copy()
    near = nearest(layout.hops, AROUND)
    most = max(layout.most, int(np.bincount(core_of, minlength=1).max(initial=0)))
    _refine(layout.offsets, layout.others, layout.messages, layout.hops, near, core_of, layout.speed, most, rounds)
    return core_of


@kept
def _refine(
    offsets: Longs,
    others: Ints,
    messages: Floats,
    hops: Ints,
    near: Ints,
    core_of: Ints,
    speed: Floats,
    most: int,
    rounds: int,
) -> None:
    k, cores = core_of.size, hops.shape[0]
    seats = np.full((cores, most), -1, np.int32)
    count = np.zeros(cores, np.int64)
    seat = np.empty(k, np.int64)
    for cluster in range(k):
        core = core_of[cluster]
        seats[core, count[core]] = cluster
        seat[cluster] = count[core]
        count[core] += 1
    active = np.ones(k, np.bool_)
    tried = np.zeros(cores, np.int64)
    turn = 0
    for _ in range(rounds):
        changed = False
        for cluster in range(k):
            if not active[cluster]:
                continue
            active[cluster] = False
            mine = core_of[cluster]
            best, target, partner = 1e-9, -1, -1
            heaviest = np.inf
            turn += 1
            for _talker in range(TALKERS):
                # The next lighter talker: few are looked at, so no order is made.
                weight, talker = 0.0, -1
                for i in range(offsets[cluster], offsets[cluster + 1]):
                    if weight < messages[i] < heaviest:
                        weight, talker = messages[i], others[i]
                if talker < 0:
                    break
                heaviest = weight
                for n in range(near.shape[1]):
                    core = near[core_of[talker], n]
                    if core == mine or tried[core] == turn:
                        continue
                    tried[core] = turn
                    out = _moved(cluster, core, -1, offsets, others, messages, hops, core_of)
                    if count[core] < most and speed[core] >= speed[mine] and out > best:
                        best, target, partner = out, core, -1
                    for place in range(count[core] if out > 0.0 else 0):
                        other = seats[core, place]
                        both = out + _moved(other, mine, cluster, offsets, others, messages, hops, core_of)
                        both -= _paired(cluster, other, offsets, others, messages, hops[core, mine])
                        if both > best:
                            best, target, partner = both, core, other
            if target < 0:
                continue
            changed = True
            if partner >= 0:
                core_of[partner] = mine
                seats[mine, seat[cluster]] = partner
                seats[target, seat[partner]] = cluster
                seat[cluster], seat[partner] = seat[partner], seat[cluster]
                _wake(partner, offsets, others, active)
            else:
                last = seats[mine, count[mine] - 1]
                seats[mine, seat[cluster]] = last
                seat[last] = seat[cluster]
                count[mine] -= 1
                seats[mine, count[mine]] = -1
                seats[target, count[target]] = cluster
                seat[cluster] = count[target]
                count[target] += 1
            core_of[cluster] = target
            _wake(cluster, offsets, others, active)
        if not changed:
            return


@kept
def _moved(
    cluster: int, core: int, without: int, offsets: Longs, others: Ints, messages: Floats, hops: Ints, core_of: Ints
) -> float:
    """Messages · hops that moving a cluster to a core saves; those with the cluster `without` are left out."""
    mine = core_of[cluster]
    saved = 0.0
    for i in range(offsets[cluster], offsets[cluster + 1]):
        if others[i] != without:
            there = core_of[others[i]]
            saved += messages[i] * (hops[mine, there] - hops[core, there])
    return saved


@kept
def _paired(cluster: int, other: int, offsets: Longs, others: Ints, messages: Floats, distance: int) -> float:
    """What `_moved` counts wrongly as saved between two clusters that change places."""
    for i in range(offsets[cluster], offsets[cluster + 1]):
        if others[i] == other:
            return messages[i] * distance
    return 0.0


@kept
def _wake(cluster: int, offsets: Longs, others: Ints, active: npt.NDArray[np.bool_]) -> None:
    for i in range(offsets[cluster], offsets[cluster + 1]):
        active[others[i]] = True
    active[cluster] = True
