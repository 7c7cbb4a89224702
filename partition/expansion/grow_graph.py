"""Neighbourhood expansion of jobs that touch two data each: a job is an edge, and adjacency lists store its other
end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.partition.datastructures.bit_operations import prefetch_row
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

from . import bucket_queue as bq

MOST_CLUSTERS = 1 << 15  # largest k: twice the cluster plus a flag must fit 16 bits
OUTSIDE = np.uint16(0xFFFF)

Bits = npt.NDArray[np.uint64]


@kept
def grow_pairs(pins: Words, n_data: int, weights: Floats, ends: Floats, even: bool) -> tuple[Words, Words]:
    """Labels and jobs in the order of placement, equal to those of the general kernel in `grow_hypergraph`.

    On random graphs of 700,000 jobs it takes 0.7 of the time of the general kernel, on meshes about the same.

    A job is complete when both its ends have joined, which follows from the state of the other end, so that a job
    needs only one bit. Visiting a list reads at random that bit and two bytes of the other end: both arrays stay in the
    cache, where the records of the general kernel would not.

    Args:
        pins: uint32 (2 · jobs), pin 2i and 2i + 1 of job i; n_data: number of data; weights: float64 (jobs) or
            empty for 1 each; ends: float64 (k), the cumulative target after each cluster; even: the border rule.

    Returns:
        uint32 (jobs) twice.
    """
    n_jobs, k = pins.size // 2, ends.size
    starts, near = _rows(pins, n_data)
    data = bq.data_table(starts)
    # twice the last cluster whose set had the datum, + 1 if it has joined the core
    state = np.full(n_data, OUTSIDE, np.uint16)
    done = np.zeros(n_jobs // 64 + 1, np.uint64)
    heads, tails = np.full(bq.BUCKETS, bq.NONE, np.uint32), np.full(bq.BUCKETS, bq.NONE, np.uint32)
    queue = bq.Queue(data, heads, tails)
    members, border = np.empty(n_data, np.uint32), np.empty(0, np.uint32)
    labels, order = np.empty(n_jobs, np.uint32), np.empty(n_jobs, np.uint32)
    load, lowest, taken, placed = 0.0, np.int64(0), 0, 0
    mean = ends[k - 1] / max(n_jobs, 1)
    for cluster in range(k - 1):
        inside, joined = np.uint16(2 * cluster), np.uint16(2 * cluster + 1)
        used = np.uint64(0)
        n_members = 0
        full = False
        while not full:
            waits = False
            if used == bq.HUBS and not even:
                x = tails[bq.BUCKETS - 1]
                if bq.PATIENCE * mean * data[x, bq.OPEN] > ends[cluster] - load:
                    place, last_place = data[x, bq.CURSOR], data[x, bq.END]
                    while place < last_place and not waits:
                        y, job = near[place, 0], near[place, 1]
                        waits = (
                            state[y] | np.uint16(1) != joined
                            and data[y, bq.OPEN] < bq.BUCKETS
                            and not _is_done(done, job)
                        )
                        place += np.uint32(not waits)
                    data[x, bq.CURSOR] = place
            if waits:
                first = n_members
                state[y] = inside
                members[n_members] = y
                n_members += 1
            elif used != 0:
                x, used = bq.pop(queue, used)
                if data[x, bq.OPEN] == 0:
                    continue
                first = n_members
                for i in range(data[x, bq.BEGIN], data[x, bq.END]):
                    y, job = near[i, 0], near[i, 1]
                    if state[y] | np.uint16(1) != joined and not _is_done(done, job):
                        state[y] = inside
                        members[n_members] = y
                        n_members += 1
                        prefetch_row(data, np.uint64(y), np.uint64(0))
            else:
                while taken < border.size and (
                    data[border[taken], bq.OPEN] == 0 or state[border[taken]] | np.uint16(1) == joined
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
                state[x] = inside
                members[n_members] = x
                n_members += 1
            while first < n_members and not full:
                y = members[first]
                first += 1
                if first < n_members:
                    prefetch_row(near, np.uint64(data[members[first], bq.BEGIN]), np.uint64(0))
                state[y] = joined
                out = data[y, bq.BEGIN]
                for i in range(out, data[y, bq.END]):
                    if state[near[i, 0]] == joined:
                        prefetch_row(data, np.uint64(near[i, 0]), np.uint64(0))
                for i in range(out, data[y, bq.END]):
                    z, job = near[i, 0], near[i, 1]
                    if _is_done(done, job):
                        continue
                    if state[z] == joined and not full:
                        weight = weights[job] if weights.size else 1.0
                        full = load + 0.5 * weight > ends[cluster]
                        if not full:
                            load += weight
                            done[job >> np.uint32(6)] |= np.uint64(1) << np.uint64(job & np.uint32(63))
                            labels[job] = cluster
                            order[placed] = job
                            placed += 1
                            data[y, bq.OPEN] -= np.uint32(1)
                            used = bq.close_job(queue, z, used, even)
                            continue
                    near[out, 0], near[out, 1] = z, job
                    out += np.uint32(1)
                data[y, bq.END] = out
                data[y, bq.CURSOR] = data[y, bq.BEGIN]
                used = bq.push(queue, y, used)
        if not full:
            break
        if even:
            for i in range(n_members):
                data[members[i], bq.BUCKET] = bq.NONE
        else:
            border = bq.sorted_border(data, members[:n_members])
            taken = 0
        heads[:] = bq.NONE
        tails[:] = bq.NONE
    last = 0
    for job in range(n_jobs):
        if not _is_done(done, np.uint32(job)):
            weight = weights[job] if weights.size else 1.0
            while last < k - 1 and load + 0.5 * weight > ends[last]:
                last += 1
            load += weight
            labels[job] = last
            order[placed] = job
            placed += 1
    return labels, order


@njit(cache=True, nogil=True, inline="always")
def _is_done(done: Bits, job: np.uint32) -> bool:
    """Whether the job has been placed."""
    return (done[job >> np.uint32(6)] >> np.uint64(job & np.uint32(63))) & np.uint64(1) != 0


@kept
def _rows(pins: Words, n_data: int) -> tuple[Longs, bq.Table]:
    """Where the list of each datum begins, int64 (data + 1), and the lists: other end and job, uint32 (pins, 2)."""
    starts = np.zeros(n_data + 1, np.int64)
    for datum in pins:
        starts[datum + np.uint32(1)] += 1
    for datum in range(n_data):
        starts[datum + 1] += starts[datum]
    place = starts[:-1].copy()
    near = np.empty((pins.size, 2), np.uint32)
    for job in range(pins.size // 2):
        u, v = pins[2 * job], pins[2 * job + 1]
        near[place[u], 0], near[place[u], 1] = v, job
        place[u] += 1
        near[place[v], 0], near[place[v], 1] = u, job
        place[v] += 1
    return starts, near
