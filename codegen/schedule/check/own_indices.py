"""The part of the checker for indices that get new numbers where they lie, inside of records that move."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from tracecut.codegen.schedule.plan.range_function import Group
from tracecut.codegen.schedule.schedule import Copy, Move, Renumbering, Schedule
from tracecut.ir.loops.expressions import Expr
from tracecut.support.errors import ScheduleError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import Object

MAX_PLACES = 1 << 12


Codes = Mapping[int, Sequence[Group]]


def check_own_indices(schedule: Schedule, objects: Sequence[Object], accesses: Accesses, codes: Codes) -> None:
    """Raise ScheduleError unless these bytes are read as indices of data in the same new order, and nothing else.

    `codes`: region → groups of its code. O(accesses × moves).
    """
    for move in schedule.moves:
        low = move.origin + move.stride * move.first
        high = low + move.stride * move.count
        for item in move.renumber:
            names = set()
            for access in accesses.all():
                if access.runs and access.object is objects[move.object] and access.overlaps(low, high):
                    names |= _reads(schedule, accesses, access, move, item)
            _check_followers(schedule, objects, accesses, codes, names, item)


def _reads(schedule: Schedule, accesses: Accesses, access: Access, move: Move, item: Renumbering) -> set[str]:
    """The name of an access if it reads the index; none where it reaches other bytes."""
    site, nest = access.site, accesses.nest
    places = _places(accesses, access, move)
    if places is not None and not any(
        at < place + access.width and place < at + item.width for place in places for at in item.offsets
    ):
        return set()
    inside = any(site.loop in nest.inside(region.region) for region in schedule.regions)
    whole = places is not None and places <= set(item.offsets) and access.width == item.width
    as_data = nest.index_data.get(site.key, True) or nest.is_bound(site.key)
    if site.writes or not inside or not whole or as_data:
        raise ScheduleError(
            f"the indices that get new numbers in their records are used in another way at {site.place}"
        )
    return {site.key}


def _places(accesses: Accesses, access: Access, move: Move) -> set[int] | None:
    """Where in a record an access begins; None where that is not known, or it goes on in the next one."""
    if access.form is None or access.object is None or not access.width:
        return None
    found = {access.form.const - access.object.base - move.origin}
    for atom, factor in access.form.terms.items():
        if factor % move.stride == 0:
            continue
        domain = accesses.evaluation.domain(atom.data[0]) if atom.kind == "counter" else None
        if domain is None or not domain.size or accesses.evaluation.is_step(atom.data[0]):
            return None
        numbers = range(domain.numbers[0], domain.numbers[1] + 1)
        if len(found) * len(numbers) > MAX_PLACES:
            return None
        found = {place + factor * number for place, number in itertools.product(found, numbers)}
    found = {place % move.stride for place in found}
    return found if max(found) + access.width <= move.stride else None


def _check_followers(
    schedule: Schedule, objects: Sequence[Object], accesses: Accesses, codes: Codes, names: set[str], item: Renumbering
) -> None:
    """What is reached by such an index moves in the same order, or is copied so, and no loop runs as often as one
    says."""
    nest = accesses.nest
    for loop in nest.loops.values():
        told = () if loop.trip is None else loop.trip.walk()
        if any(node.kind == "load" and node.data[0] in names for node in told):
            raise ScheduleError(f"how often the loop at {loop.place} runs is read from new numbers")
    for access in accesses.all():
        if not access.runs or not _picks(access.site.address, names):
            continue
        followers: list[Move | Copy] = [*schedule.moves, *_copies_read(schedule, accesses, codes, access)]
        if not any(
            objects[records.object] is access.object
            and records.space == item.space
            and access.low >= (low := records.origin + records.stride * records.first)
            and access.high <= low + records.stride * records.count
            for records in followers
        ):
            raise ScheduleError(f"{access.site.place} is reached by new numbers, and does not move")


def _picks(address: Expr, names: set[str]) -> bool:
    """Whether one of these loads picks the place itself; what only an index is loaded by is the index's to follow."""
    left = [address]
    while left:
        node = left.pop()
        if node.kind == "load":
            if node.data[0] in names:
                return True
        else:
            left += node.args
    return False


def _copies_read(schedule: Schedule, accesses: Accesses, codes: Codes, access: Access) -> list[Copy]:
    """The copies in the order of a space that the code of an access goes to."""
    found = []
    for region in schedule.regions:
        if access.site.loop in accesses.nest.inside(region.region):
            groups = [group for group in codes.get(region.region, ()) if access.site.key in group.sites]
            numbers = [region.bases[group.id] for group in groups if group.id in region.bases]
            found += [copy for number in numbers if (copy := region.copies[number]).mode == "spaced"]
    return found
