"""An independent look at a GPU schedule: what it says of jobs and data is true of the indices that a kernel reads.

Shares no code with what makes schedules. All of it is arithmetic on whole arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from tracecut.support.arrays import Ints, Longs
from tracecut.support.errors import ScheduleError

from .gpu_schedule import GpuSchedule


@dataclass(frozen=True, eq=False)
class LocalIndex:
    """One index of a kernel beside the datum that it stands for.

    Attributes:
        space: a place in the scope plan. records: int64 (jobs + 1); the job at place p reads the records
            `records[p] … records[p + 1]`.
        places: int32; of each record, place of its datum in the space's order, −1: none.
        local: int64; of each record, the local number that the kernel reads.
    """

    space: int
    records: Longs
    places: Ints
    local: Longs


@dataclass(frozen=True, eq=False)
class HalfStarts:
    """Starts (or ends) of pieces of which a kernel reads the lower 16 bits.

    Attributes:
        starts: int64 (jobs, or jobs + 1); the job at place p runs from record `starts[p]`, if there is one more to
            `starts[p + 1]`. halves: int64; what the kernel reads at the same places.
        begins: int64 (blocks); a number that no start of the block is below.
    """

    starts: Longs
    halves: Longs
    begins: Longs


def check_blocks(
    schedule: GpuSchedule,
    jobs: int,
    indices: Sequence[LocalIndex],
    pieces: Sequence[HalfStarts] = (),
    elsewhere: Collection[int] = (),
) -> None:
    """Raise ScheduleError unless a GPU schedule is sound. O(records + data + jobs).

    Each job is in one block; each block knows all data that its jobs reach, once, under the number that they read; what
    it owns no other block has; and it makes the right starts out of their halves. Blocks own no data of the spaces
    `elsewhere`: jobs of any block also reduce into their records in global memory.
    """
    bounds = schedule.bounds
    if bounds.size < 1 or bounds[0] != 0 or bounds[-1] != jobs or np.any(bounds[1:] < bounds[:-1]):
        raise ScheduleError(f"the blocks of loop {schedule.region} do not have each of its {jobs} iterations once")
    spaces = {item.space: item for item in schedule.spaces}
    for item in schedule.spaces:
        counts = np.diff(item.offsets)
        block = np.repeat(np.arange(schedule.blocks), counts)
        keys = np.sort(block * np.int64(item.size) + item.data, kind="stable")  # two rising runs a block: nearly sorted
        if np.any(keys[1:] == keys[:-1]):
            raise ScheduleError(f"a block of loop {schedule.region} keeps a datum twice")
        place = np.arange(item.data.size) - np.repeat(item.offsets[:-1], counts)
        owned = place < np.repeat(item.owned.astype(np.int64), counts)
        blocks_of = np.bincount(item.data, minlength=item.size)
        if np.any(blocks_of[item.data[owned]] > 1):
            raise ScheduleError(f"two blocks of loop {schedule.region} share a datum that one of them owns")
        if item.space in elsewhere and np.any(owned):
            raise ScheduleError(f"a block of loop {schedule.region} owns a datum that jobs reduce into elsewhere, too")
    for index in indices:
        held = spaces.get(index.space)
        if held is None:
            raise ScheduleError(f"an index of loop {schedule.region} leads to data that no block keeps")
        ends = index.records[bounds]
        if np.any(ends[1:] < ends[:-1]) or not 0 <= ends[0] <= ends[-1] <= index.places.size:
            raise ScheduleError(f"the iterations of loop {schedule.region} do not read records one after the other")
        read = slice(ends[0], ends[-1])
        known = index.places[read] >= 0
        block = np.repeat(np.arange(schedule.blocks), np.diff(ends))[known]
        local, wanted = index.local[read][known], index.places[read][known]
        count = np.diff(held.offsets)[block]
        if np.any(local < 0) or np.any(local >= count):
            raise ScheduleError(f"an iteration of loop {schedule.region} reads a number that its block does not have")
        if np.any(held.data[held.offsets[:-1][block] + local] != wanted):
            raise ScheduleError(f"an iteration of loop {schedule.region} would touch the wrong datum")
    for piece in pieces:
        if not 0 <= piece.starts.size - jobs <= 1 or piece.halves.size != piece.starts.size:
            raise ScheduleError(f"the iterations of loop {schedule.region} do not have a start each")
        if piece.begins.size != schedule.blocks:
            raise ScheduleError(f"the blocks of loop {schedule.region} do not have a first start each")
        begins = np.repeat(piece.begins, np.diff(bounds))
        for ahead in range(piece.starts.size - jobs + 1):
            halves, starts = piece.halves[ahead : ahead + jobs], piece.starts[ahead : ahead + jobs]
            if np.any(begins + (halves - begins) % (1 << 16) != starts):
                raise ScheduleError(f"an iteration of loop {schedule.region} would run over the wrong records")
