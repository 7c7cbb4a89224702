"""Loads: contiguous chunks of equal load, and moving jobs out of overfull clusters.

`targets` is everywhere float64 (k), positive, summing to 1: the share of the total load that each cluster should get.
"""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.datastructures.integer_weights import uneven
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

from .fill_empty import counted, fill_empty
from .least_imbalance import best_balance, seated
from .target_sizes import ROUND

LOOK = 32  # number of jobs of a datum that are examined; without a limit hubs take quadratic time


def equal_targets(k: int) -> Floats:
    """The same share for each of k clusters; float64 (k)."""
    return np.full(k, 1.0 / k)


def loads_and_shares(n: int, k: int, weights: Floats | None, targets: Floats | None) -> tuple[Floats, Floats]:
    """Weights of n members and targets of k clusters, float64: those that are given, else 1 each and equal shares."""
    return np.ones(n) if weights is None else weights, equal_targets(k) if targets is None else targets


def capacities(weights: Floats, targets: Floats, balance: float) -> Floats:
    """Limits on the loads of clusters for methods, which `limits_of` guarantees for any order of items. float64 (k)."""
    return limits_of(float(weights.sum()), float(weights.max(initial=0.0)), targets, balance)


def limits_of(total: float, heaviest: float, targets: Floats, balance: float) -> Floats:
    """Limits that any weights with this sum and maximum can keep, in any order. O(k).

    If every cluster is below `target + heaviest · (1 - share)`, the one with the most room can take another job.
    """
    return np.maximum(balance * total * targets, total * targets + heaviest * (1.0 - targets)) * ROUND


def bounds(weights: Floats, targets: Floats, balance: float) -> Floats:
    """Final limits on the loads of clusters: `balance` times the target or, if weights allow no such partition, the
    least multiple that allows one (`least_imbalance.best_balance`). float64 (k).

    If all weights and all targets are equal, these are the `capacities`, since loads are multiples of the weight.
    """
    limits = capacities(weights, targets, balance)
    total = float(weights.sum())
    if (limits <= balance * total * targets * ROUND * ROUND).all():
        return limits
    if float(weights.min()) == float(weights.max()) and targets.min() == targets.max():
        return limits
    return targets * (total * best_balance(weights, targets, balance) * ROUND)


def chunk_offsets(weights: Floats, targets: Floats) -> Longs:
    """Cut a sequence where its cumulative load is nearest to the cumulative target.

    Args:
        weights: float64 (n), the loads in sequence.
        targets: float64 (k).

    Returns:
        int64 (k + 1): chunk c is `[result[c], result[c + 1])`. The load of each chunk differs from its target by at
        most the heaviest item. O(n + k · log n).
    """
    running = np.concatenate([[0.0], np.cumsum(weights)])
    wanted = np.cumsum(targets)[:-1] * running[-1]
    after = np.minimum(np.searchsorted(running, wanted), weights.size)
    before = np.maximum(after - 1, 0)
    cuts = np.where(wanted - running[before] < running[after] - wanted, before, after)
    return np.concatenate([[0], np.maximum.accumulate(cuts), [weights.size]]).astype(np.int64)


def chunk_labels(order: Ints, weights: Floats, targets: Floats) -> Ints:
    """Label c for the jobs of the c-th chunk of `order`; int32 (jobs). `weights` is by old job number. O(jobs)."""
    cuts = chunk_offsets(weights[order], targets)
    labels = np.empty(order.size, np.int32)
    labels[order] = np.repeat(np.arange(targets.size, dtype=np.int32), np.diff(cuts))
    return labels


def chunks(
    graph: LocalityGraph,
    k: int,
    *,
    weights: Floats | None = None,
    targets: Floats | None = None,
    order: Ints | None = None,
) -> Ints:
    """Contiguous chunks of equal load out of the job order, or out of the given `order`; int32 (jobs). O(jobs)."""
    jobs = np.arange(graph.n_jobs, dtype=np.int32) if order is None else order
    return chunk_labels(jobs, *loads_and_shares(graph.n_jobs, k, weights, targets))


def work_on_data(graph: LocalityGraph, weights: Floats) -> Floats:
    """The weight of each job, spread evenly over its pins; untouched data get the smallest weight of the others.

    `weights` is float64 (jobs), empty for 1 each. Returns float64 (data). O(pins).
    """
    sizes = np.diff(graph.offsets)
    each = (weights if weights.size else np.ones(graph.n_jobs)) / np.maximum(sizes, 1)
    work = np.bincount(graph.data, np.repeat(each, sizes), graph.n_data).astype(np.float64)
    some = work[work > 0]
    return np.where(graph.degrees() > 0, work, some.min() if some.size else 1.0)


def rebalance(
    graph: LocalityGraph, labels: Ints, weights: Floats | None, targets: Floats, balance: float, of: str = "jobs"
) -> Ints:
    """Labels of jobs, or of data, in which no cluster exceeds its bound; unchanged if none does.

    Jobs leave an overfull cluster from the last to the first: preferably to the cluster of another job that shares a
    datum (the first 32 jobs of each datum are examined), else to any. For data, jobs and data change roles. If heavy
    members find no room, they are placed first. No `weights` mean 1 each. O(jobs + pins of overfull clusters).
    """
    even = targets.size == 0 or targets.min() == targets.max()
    if weights is None and not even:
        weights = np.ones(labels.size)
    if weights is None:
        limits = floats(limits_of(float(labels.size), float(labels.size > 0), targets, balance))
        loads = counted(words(labels), targets.size).astype(np.float64)
    else:
        limits = floats(bounds(weights, targets, balance))
        loads = sum_loads(words(labels), floats(weights), targets.size)
    if (loads <= limits).all():
        return labels
    weights = np.ones(labels.size) if weights is None else weights
    starts, near = graph.transpose
    rows = (longs(graph.offsets), words(graph.data), longs(starts), words(near))
    settled = labels.copy()
    _rebalance(*(rows if of == "jobs" else rows[2:] + rows[:2]), floats(weights), limits, settled, loads)
    if (loads > limits).any():
        return seated(settled, weights, targets, limits, balance)
    return settled


def filled(labels: Ints, weights: Floats | None, targets: Floats, balance: float) -> Ints:
    """`fill_empty` for labels from `rebalance`, which does not exceed any bound. O(n + k)."""
    found = fill_empty(labels, targets.size, weights)
    if found is labels or weights is None or weights.min() == weights.max():
        return found
    return seated(found, weights, targets, floats(bounds(weights, targets, balance)), balance)


def jobs_of_data(graph: LocalityGraph, labels: Ints, weights: Floats, targets: Floats, balance: float) -> Ints:
    """A job partition from a data partition: each job goes to the cluster that has most of its data.

    Jobs with all data in one cluster go there. Then, in job order, each cut job goes to the cluster with most of its
    pins, weighted by their data, ties to the least loaded for its target, as in the greedy variant of degree-weighted
    vertex partition (Bourse et al. 2014, SPAC §3.3.3); clusters at their capacity are skipped. Jobs without data fill
    the remaining room.

    Args:
        graph: the locality graph.
        labels: int32 (data).
        weights: float64 (jobs).
        targets, balance: as above.

    Returns:
        int32 (jobs). O(pins + k).
    """
    shares, limits = floats(targets), floats(bounds(weights, targets, balance))
    rows, worth = (longs(graph.offsets), words(graph.data)), floats(uneven(graph.data_weights))
    own = _jobs_of_data(*rows, words(labels), floats(weights), worth, shares, limits)
    return rebalance(graph, own.view(np.int32), weights, targets, balance)


@kept
def _roomiest(weight: float, loads: Floats, limits: Floats, cursor: int) -> int:
    """The first cluster from `cursor` on with room for `weight`; the one with the most room if there is none."""
    for step in range(loads.size):
        place = (cursor + step) % loads.size
        if loads[place] + weight <= limits[place]:
            return place
    return int(np.argmax(limits - loads))


@kept
def sum_loads(labels: Words, weights: Floats, k: int) -> Floats:
    """The load of each cluster, added up in the order of the labels. O(labels)."""
    loads = np.zeros(k)
    for job in range(labels.size):
        loads[labels[job]] += weights[job]
    return loads


@kept
def _rebalance(
    offsets: Longs,
    data: Words,
    starts: Longs,
    near: Words,
    weights: Floats,
    limits: Floats,
    labels: Ints,
    loads: Floats,
) -> None:
    for job in range(labels.size - 1, -1, -1):
        here = labels[job]
        if loads[here] <= limits[here]:
            continue
        best, room = here, 0.0
        for pin in range(offsets[job], offsets[job + 1]):
            first = starts[data[pin]]
            for i in range(first, min(first + LOOK, starts[data[pin] + 1])):
                there = labels[near[i]]
                left = limits[there] - loads[there] - weights[job]
                if there != here and left >= 0.0 and left > room:
                    best, room = there, left
        if best != here:
            loads[here] -= weights[job]
            loads[best] += weights[job]
            labels[job] = best
    cursor = 0
    for job in range(labels.size - 1, -1, -1):
        here = labels[job]
        if loads[here] > limits[here]:
            loads[here] -= weights[job]
            cursor = _roomiest(weights[job], loads, limits, cursor)
            loads[cursor] += weights[job]
            labels[job] = cursor


@kept
def _jobs_of_data(
    offsets: Longs, data: Words, labels: Words, weights: Floats, worth: Floats, targets: Floats, limits: Floats
) -> Words:
    jobs = offsets.size - 1
    loads = np.zeros(limits.size)
    own = np.empty(jobs, np.uint32)
    cut = np.zeros(jobs, np.bool_)
    for job in range(jobs):
        begin, end = offsets[job], offsets[job + 1]
        cut[job] = begin == end
        for pin in range(begin + 1, end):
            if labels[data[pin]] != labels[data[begin]]:
                cut[job] = True
                break
        if not cut[job]:
            own[job] = labels[data[begin]]
            loads[own[job]] += weights[job]
    votes = np.zeros(limits.size)
    cursor = 0
    for job in range(jobs):
        if not cut[job]:
            continue
        begin, end = offsets[job], offsets[job + 1]
        for pin in range(begin, end):
            votes[labels[data[pin]]] += worth[data[pin]] if worth.size else 1.0
        best, most, fullness = -1, 0.0, 0.0
        for pin in range(begin, end):
            place = labels[data[pin]]
            if votes[place] == 0 or loads[place] + weights[job] > limits[place]:
                continue
            full = loads[place] / targets[place]
            if votes[place] > most or (votes[place] == most and full < fullness):
                best, most, fullness = place, votes[place], full
        for pin in range(begin, end):
            votes[labels[data[pin]]] = 0.0
        if best < 0:
            cursor = _roomiest(weights[job], loads, limits, cursor)
            best = cursor
        own[job] = best
        loads[best] += weights[job]
    return own
