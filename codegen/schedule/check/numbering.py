"""The part of the checker for renumbering: indices of data in a new order have the new numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from tracecut.codegen.schedule.plan.range_function import OLD, Group
from tracecut.codegen.schedule.schedule import Copy, Move, RegionSchedule, Schedule
from tracecut.ir.loops.expressions import Expr
from tracecut.support.errors import ScheduleError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import Object

from .in_rows import bounds_read_by, in_its_row
from .whole_pieces import in_whole_pieces


def check_numbers(
    schedule: Schedule, region: RegionSchedule, objects: Sequence[Object], accesses: Accesses, groups: Sequence[Group]
) -> None:
    """Raise ScheduleError unless whatever reaches data that are moved gets numbers of the same order.

    Its index or its iteration has to follow, and the code has to use the new numbers, there and nowhere else.
    `groups`: of the region's code. O(accesses × moves), and the order of the jobs once for each space.
    """
    done: set[tuple[object, ...]] = set()
    _check_views(schedule, region, objects, accesses, groups)
    for access in accesses.inside(region.region):
        if not access.runs or access.object not in objects or access.form is None:
            continue
        for move in moves_reached(schedule, objects, access):
            for atom, step in access.form.terms.items():
                if atom.kind == "load" and abs(step) == move.stride:
                    begins = begins_row(schedule, region, objects, accesses, access, move, atom)
                    if begins is False:
                        raise ScheduleError(f"region {region.region} leaves its rows at {access.site.place}")
                    if begins:
                        continue
                start = first_record(accesses, access, atom, move) - move.shift
                key = (move.space, atom, start, step)
                if abs(step) != move.stride or key in done:
                    continue
                done.add(key)
                where = f"region {region.region} at {access.site.place}"
                own = atom.kind == "counter" and atom.data[0] == region.region
                if own and not in_same_order(schedule, region, move, start, step):
                    raise ScheduleError(f"the data of {where} are not in the order of its jobs")
                if atom.kind != "load":
                    continue
                # Several where its own address is one of several, and maybe some that no iteration takes.
                reads = [read for read in accesses.by_site[str(atom.data[0])] if read.runs]
                if not reads or not all(follows(schedule, region, objects, move.space, start, read) for read in reads):
                    raise ScheduleError(f"an index of {where} keeps its old numbers")
                if not in_whole_pieces(schedule, region, accesses, access, move):
                    raise ScheduleError(f"the pieces of {where} are torn")


def moves_reached(schedule: Schedule, objects: Sequence[Object], access: Access) -> Iterator[Move]:
    """The moves whose records an access may touch."""
    for move in schedule.moves:
        low = move.origin + move.stride * move.first
        if objects[move.object] is access.object and access.overlaps(low, low + move.stride * move.count):
            yield move


def first_record(accesses: Accesses, access: Access, atom: Expr, move: Move | Copy) -> int:
    """The record that is reached when `atom` is 0."""
    assert access.form is not None and access.object is not None
    first = access.form.const - access.object.base - move.origin
    for other, factor in access.form.terms.items():
        domain = accesses.evaluation.domain(other.data[0]) if other.kind == "counter" and other is not atom else None
        if domain is not None and domain.size:
            first += min(factor * number for number in domain.numbers)
    return first // move.stride


def in_same_order(schedule: Schedule, region: RegionSchedule, move: Move | Copy, start: int, step: int) -> bool:
    """Whether the records of a space that the jobs of a region are for are in the order of the jobs."""
    space = schedule.spaces[move.space]
    first = start - space.low
    piece = space.order[max(first, 0) : first + region.jobs.size]
    return step > 0 and piece.size == region.jobs.size and bool(np.array_equal(piece - first, region.jobs))


def renumbered(region: RegionSchedule, objects: Sequence[Object], space: int, start: int, index: Access) -> bool:
    """Whether some copy of the index's array holds numbers of the space. datum = loaded value + start."""
    for copy in region.copies:
        low = copy.origin + copy.stride * copy.first
        if objects[copy.object] is not index.object or index.form is None:
            continue
        if copy.mode != "segment" and not index.overlaps(low, low + copy.stride * copy.count):
            continue
        place = (index.form.const - index.object.base - copy.origin) % copy.stride
        if any(item.space == space and item.shift == -start and place in item.offsets for item in copy.renumber):
            return True
    return False


def follows(
    schedule: Schedule, region: RegionSchedule, objects: Sequence[Object], space: int, start: int, index: Access
) -> bool:
    """Whether an index has numbers of the space in a copy, or where it lies."""
    return renumbered(region, objects, space, start, index) or any(
        item.space == space and item.shift == -start and place in item.offsets
        for move in schedule.moves
        if objects[move.object] is index.object and index.form is not None
        for place in [(index.form.const - index.object.base - move.origin) % move.stride]
        for item in move.renumber
    )


def row_ends(
    schedule: Schedule,
    region: RegionSchedule,
    objects: Sequence[Object],
    accesses: Accesses,
    copy: Copy,
    access: Access,
) -> frozenset[bool]:
    """Whether an access reads, of a copy of bounds, where a row starts (False) or ends (True).

    The iteration, or an index, that picks the row has to be in the order of the rows. Both where rows that follow each
    other did so before: the end of one is the start of the next.
    """
    if access.form is None or len(access.form.terms) != 1 or objects[copy.object] is not access.object:
        return frozenset()
    ((atom, step),) = access.form.terms.items()
    if step != copy.stride or access.width != copy.stride:
        return frozenset()
    start = first_record(accesses, access, atom, copy) - copy.shift
    own = atom.kind == "counter" and atom.data[0] == region.region
    index = accesses.by_site[str(atom.data[0])] if atom.kind == "load" else []
    return frozenset(
        ends
        for ends in (False, True)
        if (own and in_same_order(schedule, region, copy, start - ends, step))
        or (len(index) == 1 and follows(schedule, region, objects, copy.space, start - ends, index[0]))
    )


def begins_row(
    schedule: Schedule,
    region: RegionSchedule,
    objects: Sequence[Object],
    accesses: Accesses,
    access: Access,
    records: Move | Copy,
    index: Expr,
) -> bool | None:
    """Whether an access is made from where a row starts, and stays in the row. None where `index` is none of bounds."""
    reads = [read for read in accesses.by_site[str(index.data[0])] if read.runs]
    copies = [bounds_read_by(region, objects, read) for read in reads]
    if not any(copies):
        return None
    return all(
        copy is not None
        and False in row_ends(schedule, region, objects, accesses, copy, read)
        and in_its_row(schedule, objects, accesses, access, records, index, copy)
        for copy, read in zip(copies, reads, strict=True)
    )


def _check_views(
    schedule: Schedule, region: RegionSchedule, objects: Sequence[Object], accesses: Accesses, groups: Sequence[Group]
) -> None:
    """The code forms addresses with new numbers exactly where the data are in a new order, or copied for it."""
    group_of = {key: group for group in groups for key in group.sites}
    for access in accesses.inside(region.region):
        group = group_of.get(access.site.key)
        if group is None or not access.runs or (access.form is not None and not access.form.terms):
            continue  # an address that never varies is in a piece of its own
        moved = any(
            objects[move.object] is access.object
            and access.overlaps(
                move.origin + move.stride * move.first, move.origin + move.stride * (move.first + move.count)
            )
            for move in schedule.moves
        )
        number = region.bases.get(group.id)
        terms = () if access.form is None else access.form.terms
        picked = any(atom.kind == "counter" and atom.data[0] == region.region for atom in terms)
        plain = number is not None and region.copies[number].mode == "plain" and not moved
        if plain and group.view == OLD:
            continue  # it is in the program's order: the program's own numbers are right, whatever picks the record
        as_it_is = plain and picked
        if (group.view != OLD) != (moved or (number is not None and not as_it_is)):
            how = "the new" if group.view != OLD else "the old"
            raise ScheduleError(f"{access.site.place} is reached by {how} numbers of region {region.region}")
