"""The part of the checker for copies: each has, in its order, the records that the region's code will read from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from tracecut.codegen.schedule.plan.range_function import Group
from tracecut.codegen.schedule.schedule import Copy, RegionSchedule, Schedule
from tracecut.ir.loops.expressions import Expr
from tracecut.support.errors import ScheduleError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.memory import Object

from .numbering import first_record, renumbered


def check_copies(
    schedule: Schedule, region: RegionSchedule, objects: Sequence[Object], accesses: Accesses, groups: Sequence[Group]
) -> None:
    """Raise ScheduleError unless every access that goes to a copy finds its record there.

    `groups`: of the region's code. O(accesses × copies), and the jobs once where rows are copied in pieces.
    """
    ends, cut = _check_pieces(region, objects, accesses)
    group_of = {key: group.id for group in groups for key in group.sites}
    for loop, access in _trip_loads(accesses, region.region):
        number = region.bases.get(group_of.get(access.site.key, -1)) if loop not in cut else None
        starts = number is not None and region.copies[number].mode == "offsets"
        if starts or _has_new_values(region, objects, access):
            raise ScheduleError(f"how often a loop runs is read from new numbers at {access.site.place}")
    if any(region.copies[number].mode == "segment" for number in region.bases.values()):
        for key in ends:
            number = region.bases.get(group_of.get(key, -1))
            if number is None or region.copies[number].mode != "offsets":
                raise ScheduleError(f"region {region.region} runs over copied pieces by their old starts or ends")
    for access in accesses.inside(region.region):
        number = region.bases.get(group_of.get(access.site.key, -1)) if access.runs else None
        if number is None:
            continue
        copy = region.copies[number]
        place = f"the copy that is read at {access.site.place}"
        if access.site.writes or access.form is None or objects[copy.object] is not access.object:
            raise ScheduleError(f"{place} is of something else, or written")
        if not _fits(region, objects, accesses, access, copy, ends):
            raise ScheduleError(f"{place} ({copy.mode}) does not hold its records")


def _fits(
    region: RegionSchedule,
    objects: Sequence[Object],
    accesses: Accesses,
    access: Access,
    copy: Copy,
    ends: dict[str, int],
) -> bool:
    assert access.form is not None
    own = [atom for atom in access.form.terms if atom.kind == "counter" and atom.data[0] == region.region]
    loads = [atom for atom in access.form.terms if atom.kind == "load"]
    if copy.mode == "plain":
        low = copy.origin + copy.stride * copy.first
        covered = low <= access.low and access.high <= low + copy.stride * copy.count
        moved = bool(own) and not np.array_equal(region.jobs, np.arange(region.jobs.size))
        return covered and not moved and not any(_is_new(region, objects, accesses, atom) for atom in loads)
    if copy.mode == "spaced":
        if own or len(loads) != 1 or access.form.terms[loads[0]] != copy.stride:
            return False
        start = first_record(accesses, access, loads[0], copy) - copy.shift
        index = accesses.by_site[str(loads[0].data[0])]
        return len(index) == 1 and renumbered(region, objects, copy.space, start, index[0])
    if copy.mode == "segment":
        begins = [atom for atom in loads if str(atom.data[0]) in ends and ends[str(atom.data[0])] == 0]
        steps = [factor for atom, factor in access.form.terms.items() if atom in begins or atom.kind == "counter"]
        good = len(loads) == len(begins) == 1 and not own and steps == [copy.stride] * 2
        return good and _record(accesses, access, copy, begins) == copy.first
    if len(own) != 1 or loads or abs(access.form.terms[own[0]]) != copy.stride:
        return False
    backwards = access.form.terms[own[0]] < 0
    record = _record(accesses, access, copy, own)
    if copy.mode == "direct":
        return backwards == copy.reverse and record == copy.first + (copy.count - 1 if backwards else 0)
    end = ends.get(access.site.key, -1)  # of offsets: whether it is read as the start of a piece or as its end
    if backwards or record is None or end < copy.ends:
        return False
    ahead = 0 if copy.ends else end
    return record - copy.first == ahead and copy.count >= region.jobs.size + ahead


def _record(accesses: Accesses, access: Access, copy: Copy, picks: list[Expr]) -> int | None:
    """The record that is reached when what picks it is 0; None when an access leaves it."""
    assert access.form is not None and access.object is not None
    low = high = access.form.const - access.object.base - copy.origin
    for atom, factor in access.form.terms.items():
        domain = accesses.evaluation.domain(atom.data[0]) if atom.kind == "counter" and atom not in picks else None
        if copy.mode != "segment" and domain is not None and domain.size:
            numbers = factor * int(domain.counter.min()), factor * int(domain.counter.max())
            low, high = low + min(numbers), high + max(numbers)
    return low // copy.stride if low // copy.stride == (high + access.width - 1) // copy.stride else None


def _check_pieces(
    region: RegionSchedule, objects: Sequence[Object], accesses: Accesses
) -> tuple[dict[str, int], set[int]]:
    """Loads that start (0) and end (1) the pieces of a region, and loops over these: their lengths are looked at."""
    if not any(copy.mode in ("segment", "offsets") for copy in region.copies):
        return {}, set()
    assert region.starts is not None
    number, origin, stride, first, width = region.starts
    found: dict[str, int] = {}
    cut: set[int] = set()
    for loop in sorted(accesses.nest.inside(region.region) - {region.region}):
        trip = accesses.nest.loops[loop].trip
        loads = (
            [[node for node in part.walk() if node.kind == "load"] for part in trip.args] if trip is not None else []
        )
        if not loads or len(loads[0]) != 1 or len(loads[2]) != 1:
            continue
        begin, end = loads[0][0], loads[2][0]
        access = accesses.by_site[str(begin.data[0])][0]
        if access.object is not objects[number] or access.form is None or access.width != width:
            continue
        if access.form.const - access.object.base != origin + stride * first:
            continue
        if list(access.form.terms.values()) != [stride]:
            continue
        values = [
            np.broadcast_to(accesses.evaluation.at(node, region.region).data, region.jobs.size) for node in (begin, end)
        ]
        if np.array_equal(values[1] - values[0], region.lengths):
            found |= {str(begin.data[0]): 0, str(end.data[0]): 1}
            cut.add(loop)
    if not found:
        raise ScheduleError(f"the pieces of region {region.region} are not those that its inner loop runs over")
    return found, cut


def _trip_loads(accesses: Accesses, region: int) -> Iterator[tuple[int, Access]]:
    """(loop, what it reads to know how often to run) of the inner loops of a region."""
    for loop in accesses.nest.inside(region) - {region}:
        trip = accesses.nest.loops[loop].trip
        for node in trip.walk() if trip is not None else ():
            if node.kind == "load" and node.data[1] != "ptr":
                for access in accesses.by_site[str(node.data[0])]:
                    yield loop, access


def _is_new(region: RegionSchedule, objects: Sequence[Object], accesses: Accesses, atom: Expr) -> bool:
    return any(_has_new_values(region, objects, access) for access in accesses.by_site[str(atom.data[0])])


def _has_new_values(region: RegionSchedule, objects: Sequence[Object], access: Access) -> bool:
    """Whether some copy of what an access reads has other values there."""
    for copy in region.copies:
        if objects[copy.object] is not access.object or not access.runs:
            continue
        if access.form is None:
            return bool(copy.renumber)
        place = (access.form.const - access.object.base - copy.origin) % copy.stride
        if any(
            offset < place + access.width and place < offset + item.width
            for item in copy.renumber
            for offset in item.offsets
        ):
            return True
    return False
