"""Neighbourhood expansion: clusters grow one after the other, each along its own border.

A cluster has a set of data. The datum on its border with the fewest open jobs (jobs without a cluster) moves to the
core: all data of its open jobs join the set, and each job whose data are all in the set is placed in the cluster. A
full cluster is closed and the next one starts. Data that still have open jobs at that time are the ones that are
copied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.rebalance import equal_targets
from tracecut.partition.datastructures.plain_graphs import has_pairs
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from . import bucket_queue as bq
from .grow_graph import MOST_CLUSTERS, grow_pairs

SKEWED = 16  # the graph has hubs if its largest degree is above this many times the mean
HUGE = 1 << 10  # least pins of a job that is set apart
ASSIGNED = np.uint32(0x80000000)  # flag in the state of a job; the other bits are its cluster

STATE, MISSING, FIRST, SIZE = range(4)  # columns of the record table of the jobs


class Hypergraph(NamedTuple):
    """The jobs and their data, as clusters grow.

    Attributes:
        jobs: uint32 (jobs, 4), the record of each job.
        pins: uint32 (pins), the data of each job, from FIRST on.
        near: uint32 (pins), the jobs of each datum, from BEGIN to END; shrinks as jobs are assigned.
        weights: float64 (jobs), empty for 1 each.
    """

    jobs: bq.Table
    pins: Words
    near: Words
    weights: Floats


def expansion(graph: LocalityGraph, k: int, *, weights: Floats | None = None, targets: Floats | None = None) -> Ints:
    """Grow k clusters of jobs, each from the border of the one before; int32 (jobs).

    Deterministic. The cumulative load is cut where it is nearest to the cumulative target, so loads are exact up to one
    job. Without hubs, ties on the border are first in, first out, and each cluster starts at the lowest datum with open
    jobs, which keeps fronts round. With hubs, ties are last in, first out, and a cluster starts at the border datum of
    the previous cluster with the fewest open jobs. If a border has only hubs, and the first would fill more than a
    sixteenth of the room left in the cluster, one small datum next to it joins instead, and the cluster grows from
    there: the jobs of a hub are divided by their other data, not by their position in its list.

    Args:
        graph: the locality graph; jobs may touch any number of data. Those that touch none go to the last clusters.
        k: number of clusters.
        weights: float64 (jobs), positive; None means 1 each.
        targets: float64 (k), shares of the load summing to 1; None means equal.

    Jobs with more pins than the mean of a cluster (and than `HUGE`) would pull most data into every border that they
    touch. They are set apart and fill the first clusters, which get fewer of the other jobs.

    Returns:
        Labels in [0, k). O(Σ over data of p(v) · open jobs of v), which is O(pins · k) at worst and nearly linear in
        practice: the list of open jobs of a hub shrinks with every cluster.

    Raises:
        ArgumentError: 2**31 pins or more.

    Source: neighbourhood expansion (Zhang et al. 2017) with the shrinking lists of NE++ (Mayer and Jacobsen 2021);
    jobs of any number of data, weights, targets and the two border rules are ours.
    """
    labels, _ = grow(graph, k, weights=weights, targets=targets)
    return labels


def grow(
    graph: LocalityGraph, k: int, *, weights: Floats | None = None, targets: Floats | None = None
) -> tuple[Ints, Ints]:
    """The labels of `expansion`, and the jobs in the order of placement, which has good locality."""
    if graph.n_pins >= 2**31:
        raise ArgumentError(f"the graph has {graph.n_pins} pins, expansion takes fewer than 2**31")
    shares = equal_targets(k) if targets is None else targets
    loads = floats(np.zeros(0) if weights is None or (weights == 1.0).all() else weights)
    huge = _huge_jobs(graph, k)
    return _beside(graph, huge, loads, shares) if huge.any() else _grown(graph, loads, shares)


def _grown(graph: LocalityGraph, loads: Floats, shares: Floats) -> tuple[Ints, Ints]:
    """`grow` if no job is set apart; no `loads` mean 1 each."""
    k, total = shares.size, float(loads.sum()) if loads.size else float(graph.n_jobs)
    even = int(graph.degrees().max(initial=0)) * graph.n_data <= SKEWED * graph.n_pins
    ends = floats(np.cumsum(shares) * total)
    if k <= MOST_CLUSTERS and has_pairs(graph):
        labels, order = grow_pairs(words(graph.data), graph.n_data, loads, ends, even)
    else:
        starts, near = graph.transpose
        labels, order = _grow(
            longs(graph.offsets), words(graph.data), longs(starts), near.view(np.uint32).copy(), loads, ends, even
        )
    return labels.view(np.int32), order.view(np.int32)


def _huge_jobs(graph: LocalityGraph, k: int) -> npt.NDArray[np.bool_]:
    """Which jobs are set apart, bool (jobs); empty if none is. O(jobs)."""
    sizes = np.diff(graph.offsets)
    least = max(HUGE, graph.n_pins // k)
    return sizes > least if k > 1 and int(sizes.max(initial=0)) > least else np.zeros(0, np.bool_)


def _beside(graph: LocalityGraph, huge: npt.NDArray[np.bool_], loads: Floats, shares: Floats) -> tuple[Ints, Ints]:
    """`grow` if some jobs are set apart: they are placed last, and their load is subtracted from the targets first."""
    apart, others = np.flatnonzero(huge), np.flatnonzero(~huge)
    weights = loads if loads.size else np.ones(graph.n_jobs)
    wanted = shares * weights.sum()
    labels, held = _packed(floats(weights[apart]), floats(wanted))
    room = np.maximum(wanted - held, 0.0)
    sizes = np.diff(graph.offsets)
    pins = graph.data[np.repeat(~huge, sizes)]
    rest = LocalityGraph(np.concatenate([[0], np.cumsum(sizes[others])]), pins, graph.n_data)
    found, order = _grown(rest, loads[others] if loads.size else loads, room / room.sum() if room.any() else shares)
    both = np.empty(graph.n_jobs, np.int32)
    both[apart], both[others] = labels, found
    return both, np.concatenate([others[order], apart]).astype(np.int32)


@kept
def _packed(weights: Floats, wanted: Floats) -> tuple[Ints, Floats]:
    """Each cluster in turn takes at least one job, until its load is nearest to its target. int32 (jobs), and the
    loads."""
    labels, held = np.empty(weights.size, np.int32), np.zeros(wanted.size)
    cluster = 0
    for job in range(weights.size):
        if held[cluster] > 0 and held[cluster] + 0.5 * weights[job] > wanted[cluster]:
            cluster = min(cluster + 1, wanted.size - 1)
        labels[job] = cluster
        held[cluster] += weights[job]
    return labels, held


@kept
def _grow(
    offsets: Longs, pins: Words, starts: Longs, near: Words, weights: Floats, ends: Floats, even: bool
) -> tuple[Words, Words]:
    """Labels and jobs in the order of placement. `near` is overwritten; `ends`: the cumulative target after each
    cluster, `weights` empty for 1 each."""
    n_jobs, n_data, k = offsets.size - 1, starts.size - 1, ends.size
    jobs, data = _job_table(offsets), bq.data_table(starts)
    heads, tails = np.full(bq.BUCKETS, bq.NONE, np.uint32), np.full(bq.BUCKETS, bq.NONE, np.uint32)
    queue = bq.Queue(data, heads, tails)
    members, border = np.empty(n_data, np.uint32), np.empty(0, np.uint32)
    order = np.empty(n_jobs, np.uint32)
    hypergraph = Hypergraph(jobs, pins, near, weights)
    load, lowest, taken, placed = 0.0, np.int64(0), 0, 0
    mean = ends[k - 1] / max(n_jobs, 1)
    for cluster in range(k - 1):
        part = np.uint32(cluster)
        used = np.uint64(0)
        n_members = 0
        full = False
        while not full:
            waits = False
            if used == bq.HUBS and not even:
                x = tails[bq.BUCKETS - 1]
                if bq.PATIENCE * mean * data[x, bq.OPEN] > ends[cluster] - load:
                    y = _next_small(x, part, jobs, data, pins, near)
                    waits = y != bq.NONE
            if waits:
                first = n_members
                data[y, bq.SET] = part
                members[n_members] = y
                n_members += 1
            elif used != 0:
                x, used = bq.pop(queue, used)
                if data[x, bq.OPEN] == 0:
                    continue
                first = n_members
                for i in range(data[x, bq.BEGIN], data[x, bq.END]):
                    job = near[i]
                    if jobs[job, STATE] & ASSIGNED:
                        continue
                    for pin in range(jobs[job, FIRST], jobs[job, FIRST] + jobs[job, SIZE]):
                        y = pins[pin]
                        if data[y, bq.SET] != part:
                            data[y, bq.SET] = part
                            members[n_members] = y
                            n_members += 1
            else:
                while taken < border.size and (
                    data[border[taken], bq.OPEN] == 0 or data[border[taken], bq.SET] == part
                ):
                    taken += 1
                while lowest < n_data and data[lowest, bq.OPEN] == 0:
                    lowest += 1
                if taken < border.size:
                    x = border[taken]
                elif lowest < n_data:
                    x = np.uint32(lowest)
                else:
                    break
                first = n_members
                data[x, bq.SET] = part
                members[n_members] = x
                n_members += 1
            while first < n_members and not full:
                full, load, used, placed = _join(
                    members[first], part, hypergraph, queue, ends[cluster], load, used, even, order, placed
                )
                first += 1
        if not full:  # only jobs without data are left
            break
        if even:
            for i in range(n_members):
                data[members[i], bq.BUCKET] = bq.NONE
        else:
            border = bq.sorted_border(data, members[:n_members])
            taken = 0
        heads[:] = bq.NONE
        tails[:] = bq.NONE
    return _finish(jobs, weights, ends, load, order, placed), order


@kept
def _next_small(x: np.uint32, part: np.uint32, jobs: bq.Table, data: bq.Table, pins: Words, near: Words) -> np.uint32:
    """A datum outside the set that shares an open job with x and has fewer than `BUCKETS` open jobs; NONE if there is
    none.

    A datum that was skipped can be skipped until the cluster is full, since the open jobs of data outside the set do
    not decrease.
    """
    for i in range(data[x, bq.CURSOR], data[x, bq.END]):
        job = near[i]
        if jobs[job, STATE] & ASSIGNED:
            continue
        for pin in range(jobs[job, FIRST], jobs[job, FIRST] + jobs[job, SIZE]):
            y = pins[pin]
            if data[y, bq.SET] != part and data[y, bq.OPEN] < bq.BUCKETS:
                data[x, bq.CURSOR] = i
                return y
    data[x, bq.CURSOR] = data[x, bq.END]
    return bq.NONE


@njit(cache=True, nogil=True, inline="always")
def _join(
    y: np.uint32, part: np.uint32, hypergraph: Hypergraph, queue: bq.Queue, end: float, load: float, used: np.uint64,
    even: bool, order: Words, placed: int,
) -> tuple[bool, float, np.uint64, int]:  # fmt: skip
    """Datum y joins the set: place its complete jobs, drop placed jobs from its list, queue it if some are open.

    Returns whether the cluster is full, the running load, the set of used buckets and the number of placed jobs.
    """
    jobs, pins, near, weights = hypergraph
    data = queue.data
    out = data[y, bq.BEGIN]
    full = False
    for i in range(data[y, bq.BEGIN], data[y, bq.END]):
        job = near[i]
        state = jobs[job, STATE]
        if state & ASSIGNED:
            continue
        if state != part:
            jobs[job, STATE] = part
            jobs[job, MISSING] = jobs[job, SIZE]
        left = jobs[job, MISSING] - np.uint32(1)
        jobs[job, MISSING] = left
        weight = weights[job] if weights.size else 1.0
        full |= left == 0 and load + 0.5 * weight > end
        if left != 0 or full:
            near[out] = job
            out += np.uint32(1)
            continue
        load += weight
        jobs[job, STATE] = part | ASSIGNED
        order[placed] = job
        placed += 1
        for pin in range(jobs[job, FIRST], jobs[job, FIRST] + jobs[job, SIZE]):
            used = bq.close_job(queue, pins[pin], used, even)
    data[y, bq.END] = out
    data[y, bq.CURSOR] = data[y, bq.BEGIN]
    return full, load, bq.push(queue, y, used), placed


@kept
def _finish(jobs: bq.Table, weights: Floats, ends: Floats, load: float, order: Words, placed: int) -> Words:
    """Extract the labels; remaining jobs fill the clusters in turn up to the cumulative targets."""
    labels = np.empty(order.size, np.uint32)
    cluster = 0
    for job in range(order.size):
        state = jobs[job, STATE]
        if state & ASSIGNED:
            labels[job] = state & ~ASSIGNED
            continue
        weight = weights[job] if weights.size else 1.0
        while cluster < ends.size - 1 and load + 0.5 * weight > ends[cluster]:
            cluster += 1
        load += weight
        labels[job] = cluster
        order[placed] = job
        placed += 1
    return labels


@kept
def _job_table(offsets: Longs) -> bq.Table:
    table = np.empty((offsets.size - 1, 4), np.uint32)
    for job in range(offsets.size - 1):
        table[job, STATE] = bq.NONE & ~ASSIGNED
        table[job, MISSING] = 0
        table[job, FIRST] = offsets[job]
        table[job, SIZE] = offsets[job + 1] - offsets[job]
    return table
