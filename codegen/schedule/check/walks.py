"""The part of the checker for loops beside the regions whose iterations take several records of what moves.

Such a loop runs unchanged on the new order. That is right where it does the same for each of them (`NestLoop.parts`),
the parts stay in records of their own, the same of all that they reach, and the order keeps what it walks to itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tracecut.codegen.schedule.schedule import Move, Schedule
from tracecut.support.errors import ScheduleError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import Object

from .numbering import moves_reached


def check_walks(schedule: Schedule, objects: Sequence[Object], accesses: Accesses) -> None:
    """Raise ScheduleError where a loop beside the regions takes records that move together without being unrolled.

    O(accesses × moves).
    """
    nest = accesses.nest
    inside = {loop for region in schedule.regions for loop in nest.inside(region.region)}
    first: dict[tuple[int, int], tuple[int, int]] = {}  # (loop, space) → what part 0 takes first, parts to a record
    for access in accesses.all():
        if not access.runs or access.form is None or access.object is None or access.site.loop in inside:
            continue
        for move in moves_reached(schedule, objects, access):
            number = schedule.moves.index(move)
            if any(item.move == number and access.site.key in item.sites for item in schedule.lookups):
                continue  # it does not walk the new order
            for atom, step in access.form.terms.items():
                if atom.kind == "counter" and abs(step) > move.stride:
                    loop = int(atom.data[0])
                    found = _first(schedule, accesses, access, move, loop)
                    if first.setdefault((loop, move.space), found) != found:
                        raise ScheduleError(f"parts of an iteration meet in the records at {access.site.place}")


def _first(schedule: Schedule, accesses: Accesses, access: Access, move: Move, loop: int) -> tuple[int, int]:
    """The datum that part 0 of the first iteration takes, and how many parts there are to a record."""
    info, place = accesses.nest.loops[loop], access.site.place
    own, at, width = _piece(accesses, access, loop)
    at -= move.origin + own * info.parts[access.site.key]
    size = abs(own)
    if not own or move.stride % size or at % size + width > size:
        raise ScheduleError(f"a part of an iteration leaves its record at {place}")
    last = at + own * (info.unrolled * _entry_size(accesses, loop) - 1)
    low, rest = divmod(min(at, last), move.stride)
    high, tail = divmod(max(at, last) + size, move.stride)
    if rest >= size or tail >= size:
        raise ScheduleError(f"a loop ends inside of a record at {place}")
    if not {low - move.shift, high - move.shift} <= {*schedule.spaces[move.space].cuts}:
        raise ScheduleError(f"the loop over the records at {place} is over a part of an order that is not closed")
    return at // move.stride - move.shift, move.stride // size


def _piece(accesses: Accesses, access: Access, loop: int) -> tuple[int, int, int]:
    """Bytes from one part to the next, the first byte in the object if the loop's counter is 0, and how many."""
    info = accesses.nest.loops[loop]
    assert access.form is not None and access.object is not None
    step, low, high = 0, 0, access.width
    for atom, factor in access.form.terms.items():
        number = int(atom.data[0]) if atom.kind == "counter" else -1
        domain = accesses.evaluation.domain(number) if number >= 0 else None
        if number == loop:
            step = factor
        elif domain is None or not domain.size or accesses.evaluation.is_step(number):
            raise ScheduleError(f"it is not known where records are taken at {access.site.place}")
        else:
            ends = factor * domain.numbers[0], factor * domain.numbers[1]
            low, high = low + min(ends), high + max(ends)
    if access.site.key not in info.parts or step % info.unrolled or not access.width:
        raise ScheduleError(f"an iteration takes several records at {access.site.place}")
    return step // info.unrolled, access.form.const - access.object.base + low, high - low


def _entry_size(accesses: Accesses, loop: int) -> int:
    """Iterations of each entry of a loop."""
    domain = accesses.evaluation.whole(loop)
    if domain is None:
        raise ScheduleError(f"it is not known how often the loop at {accesses.nest.loops[loop].place} runs")
    counts = domain.in_each(0) if domain.inner else np.array([domain.size])
    counts = counts[counts > 0]
    if counts.size == 0 or counts.min() != counts.max():
        raise ScheduleError(f"the loop at {accesses.nest.loops[loop].place} takes other records each time")
    return int(counts[0])
