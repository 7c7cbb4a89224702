"""Pins while a locality graph is made: pairs of equally long arrays, of jobs and of what they touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import compiled

Pins = tuple[Longs, Longs]
MOST = 1 << 62  # of what is a datum, or a record
Bools = npt.NDArray[np.bool_]
LONGS, BOOLS = "Array(int64, 1, 'A', True)", "Array(boolean, 1, 'A', True)"  # Numba's words: one number for all, too


def without_repeats(jobs: Longs, data: Longs) -> Pins:
    """Pins of which none is the one before: an inner loop over the pieces of a record makes many. O(pins)."""
    return pins_within(jobs, data, np.broadcast_to(np.True_, jobs.size), (-MOST, MOST), -MOST)


def pins_within(jobs: Longs, values: Longs, valid: Bools, bounds: tuple[int, int], first: int) -> Pins:
    """The pins of values that are valid and lie in [low, high), without repeats; `first`: the datum of the lowest.

    O(values).
    """
    low, high = bounds
    kept_jobs, data = np.empty(jobs.size, np.int64), np.empty(jobs.size, np.int64)
    count = _within(jobs, values, valid, low, high, first, kept_jobs, data)
    if count == jobs.size:
        return jobs, data
    return kept_jobs[:count].copy(), data[:count].copy()


def together(parts: Sequence[Pins]) -> Pins:
    """The pins of all parts, each once, by job and then by datum. O(pins) and the sorting of each job's own."""
    jobs, data = (np.concatenate([part[side] for part in parts], dtype=np.int64) for side in (0, 1))
    if not jobs.size:
        return jobs, data
    ends = np.cumsum(np.bincount(jobs))
    by_job = _by_job(jobs, data, ends)
    kept = _each_once(by_job, ends)
    return np.repeat(np.arange(ends.size, dtype=np.int64), kept), by_job[: int(kept.sum())]


@compiled(f"int64({LONGS}, {LONGS}, {BOOLS}, int64, int64, int64, int64[::1], int64[::1])", cache=True, nogil=True)
def _within(jobs: Any, values: Any, valid: Any, low: int, high: int, first: int, kept_jobs: Any, data: Any) -> int:
    count = 0
    for item in range(jobs.size):
        value = values[item]
        if not (valid[item] and low <= value < high):
            continue
        job, datum = jobs[item], value - low + first
        if count and kept_jobs[count - 1] == job and data[count - 1] == datum:
            continue
        kept_jobs[count], data[count] = job, datum
        count += 1
    return count


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
