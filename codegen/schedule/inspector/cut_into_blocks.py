"""Cutting the job order of a region into blocks that run on several threads without atomics.

There are more blocks than threads, so that a thread that finishes early can take over work of a delayed one. Jobs of
different blocks may conflict: touch the same datum, which one of them writes or reduces. Blocks with conflicts run in
different wavefronts (`wavefronts.py`). If there are too many conflicts, it depends on `reduce`:

- `fast`: one block per thread. If few jobs conflict, they go to one block that runs after all others (the *tail*). If
  many do, reduced arrays get private slots instead: each block but the first accumulates into zeroed memory of its own,
  which is added afterwards.
- `ordered`: the same blocks for any number of threads, and so the same results, bit by bit: a few blocks with private
  slots if those are small compared with the work, else a single block.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.plan.scope_plan import ScopePlan
from tracecut.codegen.schedule.reduce_modes import FAST, ORDERED
from tracecut.codegen.schedule.schedule import Blocks
from tracecut.support.arrays import Ints
from tracecut.support.lazy_kernels import compiled
from tracecut.tracer.runtime.binding import TYPES

from .meeting_places import SharedArray, meeting_places
from .wavefronts import MAX_BLOCKS, meeting_blocks, wavefronts

MIN_JOBS = 256
MAX_TAIL = 0.15
SLACK = 0.03  # of a chunk, by which its end may move
MIN_WIDTH = 2.0  # blocks a wavefront from which on wavefronts are worth their waiting, if blocks are to be the same
WIDTH_A_THREAD = 2.0  # and for each thread, if there may be others instead
SLOTS = 8  # private slots of an ordered region, where reduced arrays are small beside the work


@dataclass(frozen=True)
class Span:
    """A reduced array with private slots: bytes [low, high) of its object that each block reaches."""

    array: int
    type: str
    low: tuple[int, ...]
    high: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Share:
    """Blocks of a region.

    Attributes:
        blocks: they. order: the job order with the tail taken out, None when it is as it was.
        spans: arrays with private slots.
    """

    blocks: Blocks
    order: Ints | None = None
    spans: tuple[Span, ...] = ()


def whole(jobs: int) -> Share:
    """Everything in one block."""
    return Share(Blocks(np.array([0, jobs], np.int64), np.zeros(1, np.int32)))


def share_out(
    plan: ScopePlan,
    region: int,
    order: Ints,
    threads: int,
    *,
    work: Ints | None = None,
    breaks: npt.NDArray[np.int64] | None = None,
    reduce: str = FAST,
) -> Share:
    """Cut the jobs of a region into blocks. O(pins). One block when they cannot be kept apart.

    Args:
        plan, region: what is run. order: int32 (jobs), in which order.
        threads: how many may take part; ordered blocks are the same for any number.
        work: int32 (jobs), what each job costs, by its number; None: all the same.
        breaks: positions in the order where little is shared, ascending: a block that nearly ends there ends there.
        reduce: `fast` or `ordered`.
    """
    most = order.size // MIN_JOBS
    if most <= 1 or (reduce == FAST and threads <= 1):
        return whole(order.size)
    met = meeting_places(plan, region)
    if met is None:
        return whole(order.size)
    if not met:
        count = min(most, max(MAX_BLOCKS, threads) if reduce == FAST else MAX_BLOCKS)
        return Share(Blocks(chunk_ends(order, count, work, breaks), np.zeros(count, np.int32)))
    bounds = chunk_ends(order, min(MAX_BLOCKS, most), work, breaks)
    places = [(item.touches, item.size) for item in met]
    waves = wavefronts(meeting_blocks(_block_of_job(order, bounds), places, bounds.size - 1))
    width = MIN_WIDTH if reduce == ORDERED else max(MIN_WIDTH, WIDTH_A_THREAD * threads)
    if waves.size >= width * (int(waves.max()) + 1):
        return Share(Blocks(bounds, waves))
    if reduce == ORDERED:
        return _few_blocks(plan, region, order, met, work)
    bounds = chunk_ends(order, min(threads, most), work, breaks)
    block = _block_of_job(order, bounds)
    tail = np.zeros(order.size, bool)
    for item in met:
        tail |= _sharing(block, item)
    if tail.mean() <= MAX_TAIL:
        return _with_tail(order, bounds, tail)
    return _with_privates(plan, region, order, bounds, met)


def _block_of_job(order: Ints, bounds: npt.NDArray[np.int64]) -> Ints:
    """int32 (jobs): the block of each job, by its number."""
    block = np.empty(order.size, np.int32)
    block[order] = np.repeat(np.arange(bounds.size - 1, dtype=np.int32), np.diff(bounds))
    return block


def _few_blocks(plan: ScopePlan, region: int, order: Ints, met: Sequence[SharedArray], work: Ints | None) -> Share:
    """Blocks with private slots if these are small beside the work, else a single block."""
    slots = min(SLOTS, order.size // MIN_JOBS)
    share = _with_privates(plan, region, order, chunk_ends(order, slots, work), met)
    added = slots * sum(span.high[0] - span.low[0] for span in share.spans)
    touched = 8 * sum(item.accesses for item in met)
    return share if added <= touched else whole(order.size)


def chunk_ends(
    order: Ints,
    count: int,
    work: Ints | None = None,
    breaks: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """int64 (count + 1): where the chunks of equal work begin and end, moved to a break where that is close.

    O(jobs). With all work in few jobs some are empty.
    """
    if work is None:
        ends = np.linspace(0, order.size, count + 1).astype(np.int64)
    else:
        ends = _even_ends(order, work, int(work.sum()) * np.arange(count + 1) / count)
    ends[0], ends[-1] = 0, order.size
    if breaks is not None and breaks.size:
        place = np.clip(np.searchsorted(breaks, ends[1:-1]), 1, max(1, breaks.size - 1))
        lower, upper = breaks[place - 1], breaks[np.minimum(place, breaks.size - 1)]
        nearest = np.where(ends[1:-1] - lower <= upper - ends[1:-1], lower, upper)
        near = np.abs(nearest - ends[1:-1]) * count <= SLACK * order.size
        ends[1:-1] = np.maximum.accumulate(np.where(near, nearest, ends[1:-1]))
    return ends


@compiled(cache=True, nogil=True)
def _even_ends(order: Any, work: Any, wanted: Any) -> Any:
    """int64: for each of some amounts, ascending, how many jobs of the order do at least as much together."""
    ends = np.empty(wanted.size, np.int64)
    done, count = np.int64(0), 0
    for place in range(wanted.size):
        while done < wanted[place] and count < order.size:
            done += work[order[count]]
            count += 1
        ends[place] = count
    return ends


def _with_tail(order: Ints, bounds: npt.NDArray[np.int64], tail: npt.NDArray[np.bool_]) -> Share:
    late = tail[order]
    parts = [order[low:high][~late[low:high]] for low, high in itertools.pairwise(bounds)]
    if late.any():
        parts.append(order[late])
    waves = np.zeros(len(parts), np.int32)
    waves[bounds.size - 1 :] = 1
    ends = np.concatenate([[0], np.cumsum([part.size for part in parts])]).astype(np.int64)
    return Share(Blocks(ends, waves), np.ascontiguousarray(np.concatenate(parts), np.int32))


def _with_privates(
    plan: ScopePlan, region: int, order: Ints, bounds: npt.NDArray[np.int64], met: Sequence[SharedArray]
) -> Share:
    count = bounds.size - 1
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
    return Share(Blocks(bounds, np.zeros(count, np.int32)), None, tuple(spans))


def _varies(plan: ScopePlan, key: str) -> bool:
    """Whether an instruction may reach several objects: it has one base pointer for all of them."""
    return len({access.object for access in plan.accesses.by_site[key] if access.runs}) > 1


def _sharing(block: Ints, item: SharedArray) -> npt.NDArray[np.bool_]:
    """Jobs that touch a record which a job of another block touches too."""
    owner = np.full(item.size, -1, np.int32)
    result = np.zeros(block.size, np.bool_)
    for jobs, records in item.touches:
        _mark_owners(block, jobs, records, owner)
    for jobs, records in item.touches:
        _mark_sharing(jobs, records, owner, result)
    return result


@compiled(cache=True, nogil=True)
def _mark_owners(block: Any, jobs: Any, records: Any, owner: Any) -> None:
    for item in range(records.size):
        record = records[item]
        mine = block[jobs[item] if jobs.size else item]
        if owner[record] == -1:
            owner[record] = mine
        elif owner[record] != mine:
            owner[record] = -2


@compiled(cache=True, nogil=True)
def _mark_sharing(jobs: Any, records: Any, owner: Any, result: Any) -> None:
    for item in range(records.size):
        if owner[records[item]] == -2:
            result[jobs[item] if jobs.size else item] = True
