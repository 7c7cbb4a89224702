"""The copies of a region as a kernel reads them: records in the new order, indices with new, old or local numbers.

The same layout as `codegen/runtime/executor.py` makes in machine code, here as arrays that can go to a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.schedule import Copy, Move, RegionSchedule, Schedule
from tracecut.support.arrays import Ints, Longs

Bytes = npt.NDArray[np.uint8]
SIGNED = {1: "i1", 2: "i2", 4: "i4", 8: "i8"}


@dataclass(frozen=True, eq=False)
class IndexField:
    """An index in the records of a copy.

    Attributes:
        copy: number of the copy. offset, width: its bytes in the record. space, shift: value = datum + shift.
        places: int32 (records); places in the new order of the space, -1 where the value is no datum of it.
    """

    copy: int
    offset: int
    width: int
    space: int
    shift: int
    places: Ints


def moved_object(schedule: Schedule, number: int, data: Bytes) -> Bytes:
    """The bytes of an object with all arrays in it that the schedule moves in their new order. O(bytes)."""
    moves = [move for move in schedule.moves if move.object == number]
    if not moves:
        return data
    made = data.copy()
    for move in moves:
        low = move.origin + move.stride * move.first
        order = local_order(schedule, move.space, move.first, move.count, move.shift)
        records_at(made, low, move.stride, move.count)[:] = records_at(data, low, move.stride, move.count)[order]
        _renumber(schedule, move, made, back=False)
    return made


def _renumber(schedule: Schedule, move: Move, data: Bytes, *, back: bool) -> None:
    """Give the indices in records that are moved their new numbers, or (`back`) the program's."""
    low = move.origin + move.stride * move.first
    part = data[low : low + move.stride * move.count]
    for item in move.renumber:
        space = schedule.spaces[item.space]
        numbers = space.order if back else np.argsort(space.order)
        for offset in item.offsets:
            values = field_at(part, move.stride, offset, item.width)
            places = values.astype(np.int64) - item.shift - space.low
            known = (places >= 0) & (places < space.order.size)
            values[known] = numbers[places[known]] + (item.shift + space.low)


def copied(schedule: Schedule, region: RegionSchedule, copy: Copy, data: Sequence[Bytes]) -> Bytes:
    """The bytes of a copy, its indices as they were, bounds of rows as they are there. O(bytes).

    `data`: bytes of each object of the guard.
    """
    source = data[copy.object]
    low = copy.origin + copy.stride * copy.first
    if copy.mode == "offsets" and not copy.pieces:
        ends = np.cumsum(region.lengths_of(copy)[region.jobs], dtype=np.int64)
        both = copy.count > region.jobs.size
        values = np.concatenate([[0], ends]) if both else ends if copy.ends else np.concatenate([[0], ends[:-1]])
        return values.astype(SIGNED[copy.stride])[: copy.count].view(np.uint8).reshape(-1)
    if copy.mode == "segment":
        capacity = (source.size - low) // copy.stride
        pieces = records_at(source, low, copy.stride, capacity)
        return np.ascontiguousarray(pieces[piece_records(region, copy, data)]).view(np.uint8).reshape(-1)
    records = records_at(source, low, copy.stride, copy.count)
    if copy.mode == "bounds":
        bounds = field_at(np.ascontiguousarray(records).view(np.uint8), copy.stride, 0, copy.stride).astype(np.int64)
        rows = local_order(schedule, copy.space, copy.first, copy.count - 1, copy.shift)
        made = np.concatenate([[0], np.cumsum(np.diff(bounds)[rows])]) + bounds[0]
        return made.astype(SIGNED[copy.stride]).view(np.uint8)
    if copy.mode == "plain":
        return np.ascontiguousarray(records).view(np.uint8).reshape(-1)
    if copy.mode in ("direct", "offsets"):
        jobs = region.jobs.astype(np.int64)
        order = (copy.count - 1 - jobs)[::-1] if copy.reverse else jobs
    else:
        order = local_order(schedule, copy.space, copy.first, copy.count, copy.shift)
    made = np.ascontiguousarray(records[order]).view(np.uint8).reshape(-1)
    lengths = region.lengths_of(copy)[region.jobs] if copy.pieces else np.zeros(0, np.int32)
    ends = np.cumsum(lengths, dtype=np.int64)
    for item in copy.pieces:
        values = ends if item.ends else np.concatenate([[0], ends[:-1]])
        field_at(made, copy.stride, item.offset, item.width)[:] = values[: copy.count]
    return made


def piece_records(region: RegionSchedule, copy: Copy, data: Sequence[Bytes]) -> Longs:
    """Source record of each record of the pieces of a copy, in the new order of the jobs. O(records)."""
    low, stride, width, number = _starts_at(copy)
    starts = np.ndarray((region.jobs.size,), SIGNED[width], data[number], low, (stride,))[region.jobs].astype(np.int64)
    lengths = region.lengths_of(copy)[region.jobs].astype(np.int64)
    ends = np.cumsum(lengths)
    begins = ends - lengths
    return np.arange(int(ends[-1]) if ends.size else 0, dtype=np.int64) + np.repeat(starts - begins, lengths)


def _starts_at(copy: Copy) -> tuple[int, int, int, int]:
    """First byte of the old starts in their object, stride, width, and the object."""
    assert copy.starts is not None
    number, origin, stride, first, width = copy.starts
    return origin + stride * first, stride, width, number


def index_fields(schedule: Schedule, number: int, copy: Copy, data: Bytes) -> list[IndexField]:
    """The indices in a copy that a schedule gives new numbers. `data`: from `copied`. O(records)."""
    found = []
    for item in copy.renumber if copy.mode != "bounds" else ():  # which are new ones already
        space = schedule.spaces[item.space]
        ranks = np.empty(space.order.size + 1, np.int32)
        ranks[space.order] = np.arange(space.order.size, dtype=np.int32)
        ranks[-1] = -1
        for offset in item.offsets:
            values = field_at(data, copy.stride, offset, item.width).astype(np.int64) - item.shift - space.low
            values[(values < 0) | (values >= space.order.size)] = space.order.size
            found.append(IndexField(number, offset, item.width, item.space, item.shift, ranks[values]))
    return found


def renumbered(schedule: Schedule, copy: Copy, data: Bytes, fields: Sequence[IndexField]) -> Bytes:
    """A copy with new numbers in place of the old ones; what is no datum stays. O(records)."""
    made = data.copy()
    for item in fields:
        values = field_at(made, copy.stride, item.offset, item.width)
        shift = schedule.spaces[item.space].low + item.shift
        values[:] = np.where(item.places >= 0, item.places.astype(np.int64) + shift, values)
    return made


def local_order(schedule: Schedule, space: int, first: int, count: int, shift: int) -> Longs:
    """Order of the records [first, first + count), counted from `first`."""
    item = schedule.spaces[space]
    start = first - shift - item.low
    return item.order[start : start + count].astype(np.int64) - start


def records_at(data: Bytes, low: int, stride: int, count: int) -> npt.NDArray[Any]:
    """`count` records of `stride` bytes from byte `low` on, as opaque items."""
    return data[low : low + stride * count].view(np.dtype((np.void, stride)))


def field_at(data: Bytes, stride: int, offset: int, width: int) -> npt.NDArray[Any]:
    """One whole number of each record."""
    return np.ndarray((data.size // stride,), SIGNED[width], data, offset, (stride,))


def old_offsets(region: RegionSchedule, copy: Copy, data: Sequence[Bytes]) -> Bytes:
    """The program's starts (or ends) of the pieces, in the new order of the jobs. O(jobs)."""
    if copy.pieces:
        low = copy.origin + copy.stride * copy.first
        records = records_at(data[copy.object], low, copy.stride, copy.count)
        return np.ascontiguousarray(records[region.jobs]).view(np.uint8).reshape(-1)
    low, stride, width, number = _starts_at(copy)
    values = np.ndarray((region.jobs.size,), SIGNED[width], data[number], low, (stride,))[region.jobs].astype(np.int64)
    if copy.ends:
        values = values + region.lengths_of(copy)[region.jobs]
    made = np.zeros(copy.count, SIGNED[copy.stride])
    made[: values.size] = values[: copy.count]
    return made.view(np.uint8)


def restored_object(schedule: Schedule, number: int, data: Bytes) -> Bytes:
    """The bytes of an object in the program's order again: the inverse of `moved_object`. O(bytes)."""
    made = data.copy()
    for move in (move for move in schedule.moves if move.object == number):
        low = move.origin + move.stride * move.first
        order = local_order(schedule, move.space, move.first, move.count, move.shift)
        records_at(made, low, move.stride, move.count)[order] = records_at(data, low, move.stride, move.count)
        _renumber(schedule, move, made, back=True)
    return made
