"""The part of the checker for data in rows: each access stays in the row whose new start it is made from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.schedule import Copy, Move, RegionSchedule, Schedule
from tracecut.ir.loops.expressions import Expr
from tracecut.support.errors import ScheduleError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import Object


def copies_of_bounds(region: RegionSchedule) -> list[Copy]:
    return [copy for copy in region.copies if copy.mode == "bounds"]


def bounds_read_by(region: RegionSchedule, objects: Sequence[Object], index: Access) -> Copy | None:
    """The copy of bounds that an index is one of, None where it is something else."""
    return next((copy for copy in copies_of_bounds(region) if objects[copy.object] is index.object), None)


def bounds_of(objects: Sequence[Object], accesses: Accesses, copy: Copy) -> npt.NDArray[np.int64]:
    """The bounds as memory has them, int64 (rows + 1). Raises ScheduleError where that was not captured."""
    low = objects[copy.object].base + copy.origin + copy.stride * copy.first
    data = accesses.memory.read(low, copy.stride * copy.count)
    if data is None:
        raise ScheduleError("bounds of rows are not known")
    return np.frombuffer(data, f"i{copy.stride}").astype(np.int64)


def in_its_row(
    schedule: Schedule,
    objects: Sequence[Object],
    accesses: Accesses,
    access: Access,
    records: Move | Copy,
    index: Expr,
    copy: Copy,
) -> bool:
    """Whether what an access reaches lies, in the new order, as far behind the new start of the row as behind the old.

    `records`: what it reaches, in the order of a space. `index`: the start that it is reached by, one of the bounds in
    `copy`. By the addresses of the run; O(iterations).
    """
    assert access.object is not None
    loop = access.site.loop
    found = accesses.addresses(access)
    rows, cut = schedule.spaces[copy.space], schedule.spaces[records.space]
    if found is None or cut is not schedule.spaces[copy.renumber[0].space]:
        return False
    addresses, runs = (np.broadcast_to(part, accesses.size(loop) or 0) for part in found)
    place = np.broadcast_to(accesses.evaluation.at(index.args[0], loop).data, addresses.size)[runs]
    row = (place - objects[copy.object].base - copy.origin) // copy.stride - copy.first
    data = (addresses[runs] - access.object.base - records.origin) // records.stride - records.shift - cut.low
    if not row.size:
        return True
    if row.min() < 0 or row.max() >= copy.count - 1 or data.min() < 0 or data.max() >= cut.order.size:
        return False
    bounds = bounds_of(objects, accesses, copy)
    starts, lengths = bounds[:-1], np.diff(bounds)
    moved = np.empty(rows.order.size, np.int64)
    moved[rows.order] = np.cumsum(lengths[rows.order]) - lengths[rows.order] - (starts - bounds[0])[rows.order]
    places = np.empty(cut.order.size, np.int64)
    places[cut.order] = np.arange(cut.order.size)
    return bool(np.all(places[data] == data + moved[row]))
