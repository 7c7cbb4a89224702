"""The part of the checker for blocks of bytes that code beside the regions fills, or copies (`memcpy`).

The program does so with the records as they lie: a block holds whole records, all between two places that the order
moves nothing over, and both ends of a copy hold the same data in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracecut.codegen.schedule.schedule import Move, Schedule
from tracecut.ir.loops.nest import Fill
from tracecut.support.errors import ScheduleError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import Object

Piece = tuple[int, int, int, int, int]  # space, first datum, data, first byte in the block, bytes of a record
ENDS = {":0w": ":1r", ":1r": ":0w"}


def check_blocks(schedule: Schedule, objects: Sequence[Object], accesses: Accesses) -> None:
    """Raise ScheduleError where a block would hold other data than in the program. O(accesses × moves)."""
    nest = accesses.nest
    inside = {loop for region in schedule.regions for loop in nest.inside(region.region)}
    for access in accesses.all():
        site = access.site
        if site.length is None or site.loop in inside or not access.runs or access.object is None:
            continue
        if access.form is not None and access.form.terms:
            continue  # one in each iteration of a loop, which is a walk
        mine = _pieces(schedule, objects, access)
        if not mine or isinstance(site.effect, Fill):
            continue
        other = site.key[:-3] + ENDS.get(site.key[-3:], "")
        ends = [end for end in accesses.by_site.get(other, ()) if end.runs and end.state == access.state]
        if len(ends) != 1 or _pieces(schedule, objects, ends[0]) != mine:
            raise ScheduleError(f"the block at {site.place} is copied between data in unlike orders")


def _pieces(schedule: Schedule, objects: Sequence[Object], access: Access) -> list[Piece]:
    """What of a block moves."""
    found = []
    for move in schedule.moves:
        low = move.origin + move.stride * move.first
        high = low + move.stride * move.count
        if objects[move.object] is access.object and access.overlaps(low, high):
            found.append(_piece(schedule, access, move, max(low, access.low), min(high, access.high)))
    return found


def _piece(schedule: Schedule, access: Access, move: Move, low: int, high: int) -> Piece:
    first, rest = divmod(low - move.origin, move.stride)
    last, tail = divmod(high - move.origin, move.stride)
    if rest or tail or access.form is None or access.form.terms:
        raise ScheduleError(f"the block at {access.site.place} ends inside of a record")
    space = schedule.spaces[move.space]
    if not {first - move.shift, last - move.shift} <= {*space.cuts}:
        raise ScheduleError(f"the block at {access.site.place} is a part of an order that is not closed")
    return move.space, first - move.shift, last - first, low - access.low, move.stride
