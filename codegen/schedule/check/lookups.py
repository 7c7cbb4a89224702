"""The part of the checker for what moves and is reached beside the regions: by code that runs as it is.

It walks all records, one by one or in parts (`walks.py`), takes one that stays where it is, copies or fills whole
blocks; or it looks each record up. Nothing of a loop may walk the new order where something else of it looks up, for
its iterations would then be different records.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracecut.codegen.schedule.schedule import Lookup, Move, Schedule
from tracecut.support.errors import ScheduleError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import Object


def check_lookups(schedule: Schedule, objects: Sequence[Object], accesses: Accesses) -> None:
    """Raise ScheduleError where code beside the regions would miss a record that has moved. O(accesses × moves)."""
    nest = accesses.nest
    inside = {loop for region in schedule.regions for loop in nest.inside(region.region)}
    tables = {copy: table for table, copy in accesses.memory.rows.numbers.items()}
    walked: dict[int, Access] = {}
    looked: set[int] = set()
    for access in accesses.all():
        if not access.runs or access.object is None or access.site.loop in inside:
            continue
        if access.object in tables and any(objects[move.object] == tables[access.object] for move in schedule.moves):
            raise ScheduleError(f"pointers of a table that moves are read at {access.site.place}")
        for number, move in enumerate(schedule.moves):
            low = move.origin + move.stride * move.first
            if objects[move.object] is not access.object or not access.overlaps(low, low + move.stride * move.count):
                continue
            found = [item for item in schedule.lookups if item.move == number and access.site.key in item.sites]
            counters = () if access.form is None else (atom for atom in access.form.terms if atom.kind == "counter")
            loops = {int(atom.data[0]) for atom in counters}
            if found:
                _stays_inside(access, move, found[0])
                looked |= loops
            else:
                _is_walk(access)
                walked |= {loop: access for loop in loops if _steps(access, loop) >= move.stride}
    for loop in sorted(looked & walked.keys()):
        place = walked[loop].site.place
        raise ScheduleError(f"a loop takes records in the new order at {place}, and looks others of them up")


def _stays_inside(access: Access, move: Move, lookup: Lookup) -> None:
    site = access.site
    wide = site.size > site.align or site.length is not None or site.size > lookup.align
    if wide or move.stride % lookup.align or move.stride != lookup.stride:
        raise ScheduleError(f"what is looked up at {site.place} may cross the border of a record")


def _is_walk(access: Access) -> None:
    atoms = () if access.form is None else access.form.terms
    if access.form is None or any(atom.kind != "counter" for atom in atoms):
        raise ScheduleError(f"data that move are reached at {access.site.place} by the program's own numbers")


def _steps(access: Access, loop: int) -> int:
    """Bytes from one iteration of a loop to the next."""
    assert access.form is not None
    return max(abs(step) for atom, step in access.form.terms.items() if atom.kind == "counter" and atom.data[0] == loop)


def check_places(schedule: Schedule) -> None:
    """Raise ScheduleError unless the table that machine code reads is sound, as far as one can tell without the run."""
    for lookup in schedule.lookups:
        if not -1 <= lookup.move < len(schedule.moves) or lookup.stride < 1:
            raise ScheduleError("it looks records up in an array that does not move")
        if lookup.align not in (1, 2, 4, 8, 16, 32, 64):
            raise ScheduleError(f"what it looks up is aligned to {lookup.align} bytes")
        if lookup.move >= 0 and schedule.moves[lookup.move].stride != lookup.stride:
            raise ScheduleError("it looks records of another size up")
