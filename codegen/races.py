"""The part of the checker that knows threads: no byte that one of them writes is touched by another at that time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from ..ir.errors import ScheduleError
from ..tracer.access import Access, Accesses
from ..tracer.memory import Object
from .grouping import Group
from .schedule import Private, RegionSchedule

SUMS = {("add", "i8"), ("add", "i16"), ("add", "i32"), ("add", "i64"), ("fadd", "float"), ("fadd", "double")}
WRITTEN, SHARED = 1, 2


def check_threads(
    region: RegionSchedule, objects: Sequence[Object], accesses: Accesses, groups: Sequence[Group]
) -> None:
    """Raise ScheduleError when two threads of a region may meet. O(pins), once for arrays that are reached alike."""
    if region.threads == 1:
        return
    name = f"region {region.region}"
    touched = [access for access in accesses.inside(region.region) if access.runs]
    if any(access.site.private is not None for access in touched):
        raise ScheduleError(f"{name} runs on threads, but has a local array")
    home = {key: group.id for group in groups for key in group.sites}
    if len({item.group for item in region.privates}) != len(region.privates):
        raise ScheduleError(f"{name} has two private slots for one pointer")
    for item in region.privates:
        for access in touched:
            if home.get(access.site.key) == item.group and not _within(item, objects, access):
                raise ScheduleError(f"{name} leaves its private slots at {access.site.place}")
    common = [access for access in touched if not _private(region, objects, touched, home, access)]
    thread = np.full(region.jobs.size, -1, np.int8)
    for number in range(region.threads):
        thread[region.jobs[region.bounds[number] : region.bounds[number + 1]]] = number
    done: set[frozenset[object]] = set()
    for target in dict.fromkeys(access.object for access in common if access.site.writes):
        if target is None:
            raise ScheduleError(f"{name} runs on threads, but it is not known what it writes")
        mine = [access for access in common if access.object is target]
        shape = frozenset(_shape(access, target) for access in mine)
        if shape not in done:
            done.add(shape)
            _check_object(name, region.region, target, mine, thread, accesses)


def _private(
    region: RegionSchedule,
    objects: Sequence[Object],
    touched: list[Access],
    home: dict[str, int],
    access: Access,
) -> bool:
    """Whether each thread makes an access in memory of its own. Nothing else may reach that part of the object."""
    for item in region.privates:
        if objects[item.object] is not access.object or not access.overlaps(min(item.low), max(item.high)):
            continue
        if not _within(item, objects, access) or not _accumulates(item, access, home):
            raise ScheduleError(f"{access.site.place} reaches what region {region.region} has private slots for")
        return True
    return False


def _within(item: Private, objects: Sequence[Object], access: Access) -> bool:
    return access.object is objects[item.object] and max(item.low) <= access.low and access.high <= min(item.high)


def _accumulates(item: Private, access: Access, home: dict[str, int]) -> bool:
    site = access.site
    return (
        site.kind == "reduce"
        and (site.operator, site.type) in SUMS
        and site.type == item.type
        and home.get(site.key, item.group) == item.group
    )


def _shape(access: Access, target: Object) -> object:
    """What two accesses have in common when they reach the same bytes of two objects."""
    site = access.site
    if access.form is None:
        return access
    terms = frozenset((id(atom), factor) for atom, factor in access.form.terms.items())
    start = access.form.const - target.base
    return terms, start, site.size, site.loop, site.reach, site.writes, target.size, bool(access.chosen) and id(access)


def _check_object(name: str, region: int, target: Object, mine: list[Access], thread: Any, accesses: Accesses) -> None:
    grain = 0
    events = []
    for access in mine:
        found = accesses.addresses(access) if access.site.length is None else None
        if found is None:
            raise ScheduleError(f"{name} runs on threads, but {access.site.place} is not known")
        offsets, runs = found[0] - target.base, found[1]
        grain |= int(np.bitwise_or.reduce(offsets, where=runs, initial=0)) | access.site.size
        events.append((access, offsets, runs))
    grain = grain & -grain
    owner = np.full(target.size // grain + 1, -1, np.int8)
    state = np.zeros(owner.size, np.uint8)
    for access, offsets, runs in events:
        jobs = accesses.evaluation.jobs(access.site.loop, region)
        mark = WRITTEN if access.site.writes else 0
        if _meet(thread, jobs, offsets, runs, grain, access.site.size // grain, mark, owner, state):
            raise ScheduleError(f"two threads of {name} meet at {access.site.place}")


@numba.njit("boolean(int8[:], int64[:], int64[:], boolean[:], int64, int64, int64, int8[:], uint8[:])", cache=True)
def _meet(
    thread: Any, jobs: Any, offsets: Any, runs: Any, grain: int, grains: int, mark: int, owner: Any, state: Any
) -> bool:
    """Mark what each thread touches; whether some byte that is written has two owners now."""
    for item in range(offsets.size):
        mine = thread[jobs[item]]
        if mine < 0 or not runs[item]:
            continue
        first = offsets[item] // grain
        for place in range(first, first + grains):
            if owner[place] < 0:
                owner[place] = mine
            elif owner[place] != mine:
                state[place] |= SHARED
            state[place] |= mark
            if state[place] == WRITTEN | SHARED:
                return True
    return False
