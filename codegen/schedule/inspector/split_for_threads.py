"""Sharing the jobs of a region out to threads without atomics.

The new job order is cut into one contiguous chunk a thread. Jobs of different chunks may meet in data that they
write or reduce: those few are taken out and run by one thread after the others (*tail*). Where too many of them
meet, reduced arrays get private slots instead: each thread but the first accumulates into zeroed memory of its
own, which is added afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.plan.scope_plan import ScopePlan
from tracecut.support.arrays import Ints
from tracecut.tracer.legality.access_patterns import DIRECT, INDIRECT, SCALAR, Array, Pattern
from tracecut.tracer.loops.pointer_rotation import split
from tracecut.tracer.runtime.binding import TYPES

MIN_JOBS = 256
MAX_TAIL = 0.15
SLACK = 0.03  # of a chunk, by which its end may move


@dataclass(frozen=True)
class Span:
    """A reduced array with private slots: bytes [low, high) of its object that each thread reaches."""

    array: int
    type: str
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Share:
    """Who runs which jobs.

    Attributes:
        offsets: int64; thread t runs positions [offsets[t], offsets[t + 1]), the last pair is the tail.
        threads: number of threads.
        order: the job order with the tail taken out, None when it is as it was.
        spans: arrays with private slots.
    """

    offsets: npt.NDArray[np.int64]
    threads: int
    order: Ints | None = None
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, eq=False)
class Meeting:
    """(jobs[i], records[i]): who touches which of the `size` records of an array that is written."""

    array: int
    jobs: npt.NDArray[np.int64]
    records: npt.NDArray[np.int64]
    size: int


def whole(jobs: int) -> Share:
    """Everything on one thread."""
    return Share(np.array([0, jobs, jobs], np.int64), 1)


def share_out(
    plan: ScopePlan,
    region: int,
    order: Ints,
    threads: int,
    *,
    work: npt.NDArray[np.int64] | None = None,
    breaks: npt.NDArray[np.int64] | None = None,
) -> Share:
    """Share the jobs of a region out. O(pins). One thread when they can not be kept apart.

    Args:
        plan, region: what is run. order: int32 (jobs), in which order. threads: how many may take part.
        work: int64 (jobs), what each job costs, by its number; None: all the same.
        breaks: positions in the order where little is shared, ascending: a chunk that nearly ends there ends there.
    """
    count = min(threads, order.size // MIN_JOBS)
    if count <= 1:
        return whole(order.size)
    offsets = chunk_ends(order, count, work, breaks)
    met = _meeting_places(plan, region)
    if met is None:
        return whole(order.size)
    if not met:
        return Share(np.append(offsets, order.size), count)
    team = np.empty(order.size, np.int32)
    for thread in range(count):
        team[order[offsets[thread] : offsets[thread + 1]]] = thread
    tail = np.zeros(order.size, bool)
    for item in met:
        tail |= _sharing(team, item.jobs, item.records, item.size)
    if tail.mean() <= MAX_TAIL:
        return _with_tail(order, offsets, tail, count)
    return _with_privates(plan, region, order, offsets, team, met, count)


def chunk_ends(
    order: Ints,
    count: int,
    work: npt.NDArray[np.int64] | None = None,
    breaks: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """int64 (count + 1): where the chunks of equal work begin and end, moved to a break where that is close.

    O(jobs). With all work in few jobs some chunks are empty.
    """
    if work is None:
        ends = np.linspace(0, order.size, count + 1).astype(np.int64)
    else:
        done = np.concatenate([[0], np.cumsum(work[order], dtype=np.int64)])
        ends = np.searchsorted(done, done[-1] * np.arange(count + 1) / count).astype(np.int64)
    ends[0], ends[-1] = 0, order.size
    if breaks is not None and breaks.size:
        place = np.clip(np.searchsorted(breaks, ends[1:-1]), 1, max(1, breaks.size - 1))
        lower, upper = breaks[place - 1], breaks[np.minimum(place, breaks.size - 1)]
        nearest = np.where(ends[1:-1] - lower <= upper - ends[1:-1], lower, upper)
        near = np.abs(nearest - ends[1:-1]) * count <= SLACK * order.size
        ends[1:-1] = np.maximum.accumulate(np.where(near, nearest, ends[1:-1]))
    return ends


def _with_tail(order: Ints, offsets: npt.NDArray[np.int64], tail: npt.NDArray[np.bool_], count: int) -> Share:
    late = tail[order]
    parts = [order[offsets[t] : offsets[t + 1]][~late[offsets[t] : offsets[t + 1]]] for t in range(count)]
    ends = np.concatenate([[0], np.cumsum([part.size for part in parts]), [order.size]]).astype(np.int64)
    return Share(ends, count, np.ascontiguousarray(np.concatenate([*parts, order[late]]), np.int32))


def _with_privates(
    plan: ScopePlan,
    region: int,
    order: Ints,
    offsets: npt.NDArray[np.int64],
    team: Ints,
    met: Sequence[Meeting],
    count: int,
) -> Share:
    spans = []
    for place in dict.fromkeys(item.array for item in met):
        array = plan.arrays[place]
        mine = next(use for use in plan.uses[region] if use.array == place)
        if any(_varies(plan, pattern.access.site.key) for pattern in mine.patterns):
            return whole(order.size)
        operators = {(pattern.access.site.kind, pattern.access.site.operator) for pattern in mine.patterns}
        types = {pattern.access.site.type for pattern in mine.patterns}
        if operators not in ({("reduce", "fadd")}, {("reduce", "add")}) or len(types) != 1 or not types <= TYPES.keys():
            return whole(order.size)
        # The whole of what is touched: where a chunk ends up depends on an order that is still to be made.
        low, high = array.touched
        first, last = array.origin + array.stride * low, array.origin + array.stride * high
        spans.append(Span(place, types.pop(), (first,) * count, (last,) * count))
    return Share(np.append(offsets, order.size), count, None, tuple(spans))


def _varies(plan: ScopePlan, key: str) -> bool:
    """Whether an instruction may reach several objects: it has one base pointer for all of them."""
    return len({access.object for access in plan.accesses.by_site[key] if access.runs}) > 1


def _meeting_places(plan: ScopePlan, region: int) -> list[Meeting] | None:
    """What two jobs may both touch while one writes; None: not known."""
    found = []
    for use in plan.uses[region]:
        array = plan.arrays[use.array]
        for patterns in split(use.patterns):
            if not any(pattern.access.site.writes for pattern in patterns) or _own_records(array, patterns, region):
                continue
            pairs = [_touched_records(plan, region, array, pattern) for pattern in patterns]
            known = [pair for pair in pairs if pair is not None]
            if len(known) < len(pairs):
                return None
            low, high = array.touched
            jobs, records = (np.concatenate(column) for column in zip(*known, strict=True))
            found.append(Meeting(use.array, jobs, records - low, high - low))
    return found


def _own_records(array: Array, patterns: Sequence[Pattern], region: int) -> bool:
    return (
        array.stride > 0
        and all(
            pattern.kind == DIRECT and pattern.major is not None and pattern.major.data[0] == region
            for pattern in patterns
        )
        and len({array.record(pattern) for pattern in patterns}) == 1
    )


def _touched_records(
    plan: ScopePlan, region: int, array: Array, pattern: Pattern
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    if not array.stride or pattern.kind not in (DIRECT, INDIRECT, SCALAR):
        return None
    if pattern.kind == SCALAR:
        return None
    assert pattern.major is not None
    values, valid = plan.accesses.values(pattern.major, pattern.access.site)
    jobs = plan.accesses.evaluation.jobs(pattern.access.site.loop, region)
    records = (values if pattern.step > 0 else -values) + array.record(pattern)
    low, high = array.touched
    valid = valid & (records >= low) & (records < high)
    return jobs[valid], records[valid].astype(np.int64)


def _sharing(
    team: Ints, jobs: npt.NDArray[np.int64], records: npt.NDArray[np.int64], size: int
) -> npt.NDArray[np.bool_]:
    """Jobs that touch a record which a job of another team touches too."""
    owner = np.full(size, -1, np.int32)
    result = np.zeros(team.size, np.bool_)
    _mark_sharing(team, jobs, records, owner, result)
    return result


@numba.njit("void(int32[:], int64[:], int64[:], int32[:], boolean[:])", cache=True, nogil=True)
def _mark_sharing(team: Any, jobs: Any, records: Any, owner: Any, result: Any) -> None:
    for item in range(jobs.size):
        record = records[item]
        mine = team[jobs[item]]
        if owner[record] == -1:
            owner[record] = mine
        elif owner[record] != mine:
            owner[record] = -2
    for item in range(jobs.size):
        if owner[records[item]] == -2:
            result[jobs[item]] = True
