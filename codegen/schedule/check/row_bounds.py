"""The part of the checker for rows that follow the order of what picks them, and for copies of their bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tracecut.codegen.schedule.schedule import Copy, RegionSchedule, Schedule
from tracecut.ir.loops.expressions import Expr
from tracecut.support.errors import ScheduleError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import Object
from tracecut.tracer.legality.evaluation.trip_numbers import counts_of

from .in_rows import bounds_of, copies_of_bounds
from .numbering import row_ends


def check_row_bounds(schedule: Schedule, objects: Sequence[Object], accesses: Accesses) -> None:
    """Raise ScheduleError unless the data that bounds cut are in the order of the rows, each as a whole.

    Bounds as memory has them; every copy is made of these. O(data).
    """
    for region in schedule.regions:
        for copy in copies_of_bounds(region):
            name = f"the bounds that region {region.region} reads"
            if len(copy.renumber) != 1 or max(copy.space, copy.renumber[0].space) >= len(schedule.spaces):
                raise ScheduleError(f"region {region.region} has bounds of unknown rows")
            item = copy.renumber[0]
            rows, cut = schedule.spaces[copy.space], schedule.spaces[item.space]
            first = copy.first - copy.shift
            if (first, first + copy.count - 1) != (rows.low, rows.high):
                raise ScheduleError(f"{name} are not those of all rows")
            if not _guarded(schedule, copy):
                raise ScheduleError(f"{name} may change: the guard leaves some of them out")
            bounds = bounds_of(objects, accesses, copy)
            if (bounds[0], bounds[-1]) != (cut.low + item.shift, cut.high + item.shift) or np.any(np.diff(bounds) < 0):
                raise ScheduleError(f"{name} do not cut all of their data")
            lengths = np.diff(bounds)[rows.order]
            begins = np.repeat((bounds[:-1] - bounds[0])[rows.order], lengths)
            inside = np.arange(begins.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            if not np.array_equal(cut.order, begins + inside):
                raise ScheduleError(f"{name} are of rows in another order")


def _guarded(schedule: Schedule, copy: Copy) -> bool:
    """Whether the schedule relies on each bound that a copy is made of."""
    reached = copy.origin + copy.stride * copy.first
    end = reached + copy.stride * copy.count
    whole = [load for load in schedule.guard.loads if load.object == copy.object and load.stride == load.width]
    for load in sorted(whole, key=lambda load: load.offset):
        if load.offset <= reached:
            reached = max(reached, load.offset + load.stride * load.count)
    return reached >= end


def runs_over_a_row(
    schedule: Schedule,
    region: RegionSchedule,
    objects: Sequence[Object],
    accesses: Accesses,
    copy: Copy,
    loop: int,
) -> bool:
    """Whether a loop that is told by bounds how often it runs, runs from where a row starts to where it ends.

    It does the same by new bounds then, which are as far apart. O(iterations of the loop around it).
    """
    info = accesses.nest.loops[loop]
    told = info.trip.numbers() if info.trip is not None else []
    counts = counts_of(accesses.evaluation, loop)
    if len(told) != 2 or counts is None or info.parent is None:
        return False
    begin, end = sorted(told, key=lambda node: _place(accesses, node))
    if _place(accesses, end) - _place(accesses, begin) != copy.stride:
        return False
    ends = [_ends(schedule, region, objects, accesses, copy, node) for node in (begin, end)]
    first, last = (
        np.broadcast_to(accesses.evaluation.at(node, info.parent).data, counts.size) for node in (begin, end)
    )
    return False in ends[0] and True in ends[1] and bool(np.all((counts <= last - first) | (counts == 0)))


def _place(accesses: Accesses, node: Expr) -> int:
    """The address of a load where all that varies in it is 0."""
    form = accesses.by_site[str(node.data[0])][0].form
    return 0 if form is None else form.const


def _ends(
    schedule: Schedule, region: RegionSchedule, objects: Sequence[Object], accesses: Accesses, copy: Copy, node: Expr
) -> frozenset[bool]:
    reads: list[Access] = accesses.by_site[str(node.data[0])]
    return row_ends(schedule, region, objects, accesses, copy, reads[0]) if len(reads) == 1 else frozenset()
