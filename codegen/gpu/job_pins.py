"""The data that each job reaches by its indices, read off the copies that a kernel reads them from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tracecut.codegen.schedule.schedule import Copy, RegionSchedule, Schedule
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

from .cut_blocks import JobPins, Shorts
from .index_copies import Bytes, IndexField
from .packed_starts import piece_starts


def first_records(region: RegionSchedule, copy: Copy) -> tuple[Longs, int]:
    """First record of each job in a copy that is in job order, and the step to the next job's: 1, or −1 backwards.

    int64 (jobs + 1): job at place p has the records `first[p] … first[p + 1]`; backwards it has record `first[p]`.
    """
    if copy.mode == "segment":
        return piece_starts(region, copy), 1
    jobs = region.jobs.size
    if copy.reverse:
        return np.arange(jobs - 1, -2, -1, dtype=np.int64), -1
    return np.arange(jobs + 1, dtype=np.int64), 1


def job_pins(
    schedule: Schedule, region: RegionSchedule, fields: Sequence[IndexField], spaces: Sequence[int]
) -> JobPins:
    """Pins of all fields together: by job, in it by field, in it by record. O(pins).

    Args:
        fields: indices of copies in job order. spaces: those that count, places in the scope plan.
    """
    jobs = region.jobs.size
    sizes = [schedule.spaces[space].order.size for space in spaces]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    offsets = np.zeros(jobs + 1, np.int64)
    for item in fields:
        first, step = first_records(region, region.copies[item.copy])
        _count(first, step, offsets)
    np.cumsum(offsets, out=offsets)
    ids = np.empty(int(offsets[-1]), np.int32)
    cursor = offsets[:-1].copy()
    for item in fields:
        first, step = first_records(region, region.copies[item.copy])
        _fill(first, step, item.places, int(starts[list(spaces).index(item.space)]), cursor, ids)
    return JobPins(offsets, ids, starts)


def first_numbers(schedule: Schedule, most: Mapping[int, int]) -> dict[int, int]:
    """Space → the number that stands for the first datum of a block, nearest to 0.

    All numbers that a block reads are numbers of the space: the plan has checked that what the program computes on the
    way to an address, such as a mask, holds for these, and for no others. `most`: space → data of its largest block.
    """
    spaces = {space: schedule.spaces[space] for space in most}
    return {space: min(max(0, item.low), item.high - most[space]) for space, item in spaces.items()}


def local_copies(
    schedule: Schedule,
    region: RegionSchedule,
    copies: Mapping[int, Bytes],
    fields: Sequence[IndexField],
    pins: JobPins,
    local: Shorts,
    packed: Mapping[int, int],
    firsts: Mapping[int, int],
) -> dict[int, Bytes]:
    """Copies with local numbers in place of the indices. O(bytes + pins).

    Args:
        copies: by number, with new numbers. fields: as given to `job_pins`. pins, local: of these.
        packed: number of a copy → how many times narrower its indices become; its records hold nothing else then.
        firsts: from `first_numbers`.
    """
    made: dict[int, Bytes] = {}
    for number in dict.fromkeys(item.copy for item in fields):
        data = copies[number]
        made[number] = np.zeros(data.size // packed[number], np.uint8) if number in packed else data.copy()
    cursor = pins.offsets[:-1].copy()
    for item in fields:
        copy = region.copies[item.copy]
        first, step = first_records(region, copy)
        narrower = packed.get(item.copy, 1)
        width, stride = item.width // narrower, copy.stride // narrower
        # Without a sign, so that 16 bits hold all local numbers.
        data, offset = made[item.copy], item.offset // narrower
        target = np.ndarray((data.size // stride,), f"u{width}", data, offset, (stride,))
        _put(first, step, item.places, cursor, local, target, item.shift + firsts[item.space])
    return made


@kept
def _count(first: Any, step: int, counts: Any) -> None:
    for job in range(first.size - 1):
        counts[job + 1] += (first[job + 1] - first[job]) * step


@kept
def _fill(first: Any, step: int, places: Any, start: int, cursor: Any, ids: Any) -> None:
    for job in range(first.size - 1):
        for record in range(first[job], first[job + 1], step):
            place = places[record]
            ids[cursor[job]] = start + place if place >= 0 else -1
            cursor[job] += 1


@kept
def _put(first: Any, step: int, places: Any, cursor: Any, local: Any, target: Any, shift: int) -> None:
    for job in range(first.size - 1):
        for record in range(first[job], first[job + 1], step):
            if places[record] >= 0:
                target[record] = local[cursor[job]] + shift
            cursor[job] += 1
