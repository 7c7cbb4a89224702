"""Pins while a locality graph is made: pairs of equally long arrays, of jobs and of what they touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import compiled

Pins = tuple[npt.NDArray[Any], npt.NDArray[Any]]
MOST = 1 << 62  # of what is a datum, or a record
Bools = npt.NDArray[np.bool_]
LONGS, BOOLS = "Array(int64, 1, 'A', True)", "Array(boolean, 1, 'A', True)"  # Numba's words: one number for all, too


def without_repeats(jobs: Longs, data: Longs) -> Pins:
    """Pins of which none is the one before: an inner loop over the pieces of a record makes many. O(pins)."""
    kept = _kept(jobs, data, np.broadcast_to(np.True_, jobs.size), (-MOST, MOST))
    return (jobs, data) if kept is None else (jobs[kept], data[kept])


def pins_within(jobs: Longs | None, values: Longs, valid: Bools, bounds: tuple[int, int], first: int) -> Pins:
    """The pins of values that are valid and lie in [low, high), without repeats, both int32; `first`: the datum of the
    lowest.

    `jobs`: None where each value is of a job of its own, in sequence. O(values).
    """
    low, high = bounds
    if jobs is None:
        kept = np.logical_and(values >= low, values < high)
        kept &= valid
        jobs = np.arange(values.size, dtype=np.int32)
        if not kept.all():
            jobs, values = jobs[kept], values[kept]
    else:
        some = _kept(jobs, values, valid, bounds)
        if some is not None:
            jobs, values = jobs[some], values[some]
    data = np.empty(values.size, np.int32)
    np.subtract(values, low - first, out=data, casting="unsafe")  # data are below 2^31: it is only how they are stored
    return jobs.astype(np.int32, copy=False), data


def _kept(jobs: Longs, values: Longs, valid: Bools, bounds: tuple[int, int]) -> Bools | None:
    """Which pins stay; None: all of them."""
    kept = np.empty(jobs.size, np.bool_)
    return None if _within(jobs, values, valid, *bounds, kept) == jobs.size else kept


def together(parts: Sequence[Pins]) -> Pins:
    """The pins of all parts, each once, by job and then by datum, int32. O(pins) and the sorting of each job's own."""
    jobs, data = (np.concatenate([part[side] for part in parts], dtype=np.int64) for side in (0, 1))
    if not jobs.size:
        return jobs.astype(np.int32), data.astype(np.int32)
    ends = np.cumsum(np.bincount(jobs))
    by_job = _by_job(jobs, data, ends)
    kept = _each_once(by_job, ends)
    return np.repeat(np.arange(ends.size, dtype=np.int32), kept), by_job[: int(kept.sum())].astype(np.int32)


@compiled(f"int64({LONGS}, {LONGS}, {BOOLS}, int64, int64, boolean[::1])", cache=True, nogil=True)
def _within(jobs: Any, values: Any, valid: Any, low: int, high: int, kept: Any) -> int:
    count, last = 0, -1  # `last`: the pin that was kept last
    for item in range(jobs.size):
        value = values[item]
        kept[item] = False
        if not (valid[item] and low <= value < high):
            continue
        if last >= 0 and jobs[last] == jobs[item] and values[last] == value:
            continue
        kept[item] = True
        last = item
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
