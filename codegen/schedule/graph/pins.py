"""Pins while a locality graph is made: pairs of equally long arrays, of jobs and of what they touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import compiled

Pins = tuple[Longs, Longs]


def without_repeats(jobs: Longs, data: Longs) -> Pins:
    """Pins of which none is the one before: an inner loop over the pieces of a record makes many."""
    if jobs.size < 2:
        return jobs, data
    other = np.empty(jobs.size, bool)
    other[0] = True
    np.not_equal(jobs[1:], jobs[:-1], out=other[1:])
    other[1:] |= data[1:] != data[:-1]
    return (jobs, data) if other.all() else (jobs[other], data[other])


def together(parts: Sequence[Pins]) -> Pins:
    """The pins of all parts, each once, by job and then by datum. O(pins) and the sorting of each job's own."""
    jobs, data = (np.concatenate([part[side] for part in parts], dtype=np.int64) for side in (0, 1))
    if not jobs.size:
        return jobs, data
    ends = np.cumsum(np.bincount(jobs))
    by_job = _by_job(jobs, data, ends)
    kept = _each_once(by_job, ends)
    return np.repeat(np.arange(ends.size, dtype=np.int64), kept), by_job[: int(kept.sum())]


@compiled("int64[:](int64[:], int64[:], int64[:])", cache=True, nogil=True)
def _by_job(jobs: Any, data: Any, ends: Any) -> Any:
    """The data of each job beside each other. `ends`: how many pins there are up to each job, this one included."""
    place = np.zeros(ends.size, np.int64)
    place[1:] = ends[:-1]
    result = np.empty_like(data)
    for pin in range(jobs.size):
        job = jobs[pin]
        result[place[job]] = data[pin]
        place[job] += 1
    return result


@compiled("int64[:](int64[:], int64[:])", cache=True, nogil=True)
def _each_once(data: Any, ends: Any) -> Any:
    """Sort the data of each job and move those that are not repeated to the front; int64 (jobs), how many of each."""
    kept = np.zeros(ends.size, np.int64)
    low = count = 0
    for job in range(ends.size):
        high = ends[job]
        data[low:high].sort()
        first = count
        for pin in range(low, high):
            if pin == low or data[pin] != data[pin - 1]:
                data[count] = data[pin]
                count += 1
        kept[job] = count - first
        low = high
    return kept
