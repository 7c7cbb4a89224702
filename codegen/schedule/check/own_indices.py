"""The part of the checker for indices that get new numbers where they lie, inside of records that move."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tracecut.codegen.schedule.schedule import Move, Renumbering, Schedule
from tracecut.support.errors import ScheduleError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import Object

MAX_PLACES = 1 << 12


def check_own_indices(schedule: Schedule, objects: Sequence[Object], accesses: Accesses) -> None:
    """Raise ScheduleError unless these bytes are read as indices of data in the same new order, and nothing else.

    O(accesses × moves).
    """
    for move in schedule.moves:
        low = move.origin + move.stride * move.first
        high = low + move.stride * move.count
        for item in move.renumber:
            names = set()
            for access in accesses.all():
                if access.runs and access.object is objects[move.object] and access.overlaps(low, high):
                    names |= _reads(schedule, accesses, access, move, item)
            _check_followers(schedule, objects, accesses, names, item)


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
    if site.writes or not inside or not whole or nest.index_data.get(site.key, True):
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
    schedule: Schedule, objects: Sequence[Object], accesses: Accesses, names: set[str], item: Renumbering
) -> None:
    """What is reached by such an index moves in the same order, and no loop runs as often as one says."""
    nest = accesses.nest
    for loop in nest.loops.values():
        told = () if loop.trip is None else loop.trip.walk()
        if any(node.kind == "load" and node.data[0] in names for node in told):
            raise ScheduleError(f"how often the loop at {loop.place} runs is read from new numbers")
    for access in accesses.all():
        nodes = access.site.address.walk()
        if not access.runs or not any(node.kind == "load" and node.data[0] in names for node in nodes):
            continue
        moved = (move for move in schedule.moves if objects[move.object] is access.object and move.space == item.space)
        if not any(
            access.low >= (low := move.origin + move.stride * move.first)
            and access.high <= low + move.stride * move.count
            for move in moved
        ):
            raise ScheduleError(f"{access.site.place} is reached by new numbers, and does not move")
