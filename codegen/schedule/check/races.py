"""The part of the checker for blocks: no byte that a block writes is touched by a concurrent block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tracecut.codegen.schedule.plan.range_function import Group
from tracecut.codegen.schedule.schedule import Private, RegionSchedule
from tracecut.support.errors import ScheduleError
from tracecut.support.lazy_kernels import compiled
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import Object
from tracecut.tracer.loops.pointer_rotation import split

SUMS = {("add", "i8"), ("add", "i16"), ("add", "i32"), ("add", "i64"), ("fadd", "float"), ("fadd", "double")}
LONG = 1 << 16  # numbers
LANES = 16  # wavefronts that are looked at at once
WRITTEN, SHARED = 1 << 15, 1 << 14  # what is known of a grain of memory, beside its one owner: a block's number + 1
LONGS = "Array(int64, 1, 'A', readonly=True)"  # of any layout, written or not
INTS = "Array(int32, 1, 'A', readonly=True)"
TRUTHS = "Array(boolean, 1, 'A', readonly=True)"


def check_threads(
    region: RegionSchedule, objects: Sequence[Object], accesses: Accesses, groups: Sequence[Group]
) -> None:
    """Raise ScheduleError when two blocks of one wavefront of a region may meet.

    O(pins), once for arrays that are reached alike, and once more for each further `LANES` wavefronts.
    """
    blocks = region.blocks
    if blocks.widest() == 1:
        return
    name = f"region {region.region}"
    inside = accesses.nest.inside(region.region)  # every run of the code makes its iterations' local arrays anew
    touched = [access for access in accesses.inside(region.region) if access.runs and access.site.private not in inside]
    home = {key: group.id for group in groups for key in group.sites}
    if len({item.group for item in region.privates}) != len(region.privates):
        raise ScheduleError(f"{name} has two private slots for one pointer")
    for item in region.privates:
        for access in touched:
            if home.get(access.site.key) == item.group and not _within(item, objects, access):
                raise ScheduleError(f"{name} leaves its private slots at {access.site.place}")
    common = [access for access in touched if not _private(region, objects, home, access)]
    turns = list(_turns(region))
    done: set[frozenset[object]] = set()
    for together in split(common):
        for target in dict.fromkeys(access.object for access in together if access.site.writes):
            if target is None:
                raise ScheduleError(f"{name} runs in several blocks at a time, but it is not known what it writes")
            mine = [access for access in together if access.object is target]
            shape = frozenset(_shape(access, target) for access in mine)
            if shape not in done:
                done.add(shape)
                _check_object(name, region.region, target, mine, turns, accesses)


def _turns(region: RegionSchedule) -> Iterator[tuple[Any, Any, int]]:
    """Some wavefronts in which several blocks run: owners, lanes, and how many lanes there are.

    Owners: uint16 (jobs), number + 1 of the block of each job, 0 for jobs of other wavefronts. Lanes: uint8 (jobs),
    which of these wavefronts it is.
    """
    bounds, waves = region.blocks.bounds, region.blocks.waves
    full = np.flatnonzero(np.diff(bounds))
    several = np.flatnonzero(np.bincount(waves[full]) > 1)
    for first in range(0, several.size, LANES):
        owner, lanes = np.zeros(region.jobs.size, np.uint16), np.zeros(region.jobs.size, np.uint8)
        for lane, wave in enumerate(several[first : first + LANES]):
            for block in np.flatnonzero(waves == wave):
                jobs = region.jobs[bounds[block] : bounds[block + 1]]
                owner[jobs], lanes[jobs] = block + 1, lane
        yield owner, lanes, min(LANES, several.size - first)


def _private(
    region: RegionSchedule,
    objects: Sequence[Object],
    home: dict[str, int],
    access: Access,
) -> bool:
    """Whether each block makes an access in memory of its own. Nothing else may reach that part of the object."""
    found = [
        item
        for item in region.privates
        if objects[item.object] is access.object and access.overlaps(min(item.low), max(item.high))
    ]
    mine = [item for item in found if home.get(access.site.key, item.group) == item.group]
    if found and not (mine and all(_within(item, objects, access) and _accumulates(item, access) for item in mine)):
        raise ScheduleError(f"{access.site.place} reaches what region {region.region} has private slots for")
    return bool(found)


def _within(item: Private, objects: Sequence[Object], access: Access) -> bool:
    return access.object is objects[item.object] and max(item.low) <= access.low and access.high <= min(item.high)


def _accumulates(item: Private, access: Access) -> bool:
    site = access.site
    return site.kind == "reduce" and (site.operator, site.type) in SUMS and site.type == item.type


def _shape(access: Access, target: Object) -> object:
    """What two accesses have in common when they reach the same bytes of two objects."""
    site = access.site
    if access.form is None:
        return access
    terms = frozenset((id(atom), factor) for atom, factor in access.form.terms.items())
    start = access.form.const - target.base
    return (
        terms,
        start,
        access.width,
        site.loop,
        site.reach,
        site.writes,
        target.size,
        bool(access.chosen) and id(access),
    )


def _check_object(
    name: str, region: int, target: Object, mine: list[Access], turns: list[tuple[Any, Any, int]], accesses: Accesses
) -> None:
    events = []
    for access in mine:
        events.append((access, _reached(name, accesses, access, target)))
        accesses.evaluation.forget()
    grain = target.base
    for access, found in events:
        grain |= found.bits | access.width
    shift = (grain & -grain).bit_length() - 1
    for owner, lanes, count in turns:
        state = np.zeros(((target.size >> shift) + 1, count), np.uint16)
        for access, found in events:
            alone = access.site.loop == region  # each iteration is a job
            own = np.zeros(0, np.int64) if alone else accesses.evaluation.jobs(access.site.loop, region)
            mark = WRITTEN if access.site.writes else 0
            place = (found.start, found.factor, shift, access.width >> shift, mark)
            meet = _meet_narrow if found.values.dtype == np.int32 else _meet
            if meet(owner, lanes, own, found.values, found.runs, *place, state):
                raise ScheduleError(f"two blocks of {name} meet at {access.site.place}")


@dataclass(frozen=True, eq=False)
class _Reached:
    """Offsets start + factor · values[i] in an object, where runs[i]. `bits`: every bit set in some address."""

    values: Any
    runs: Any
    start: int
    factor: int
    bits: int


def _reached(name: str, accesses: Accesses, access: Access, target: Object) -> _Reached:
    if access.exact and access.form is not None and len(access.form.terms) == 1 and not access.chosen:
        ((atom, factor),) = access.form.terms.items()
        values, valid = accesses.values(atom, access.site)
        if valid.all():
            start = access.form.const - target.base
            return _Reached(_narrow(values), valid, start, factor, access.form.const | factor)
    found = accesses.addresses(access)
    if found is None:
        raise ScheduleError(f"{name} runs in several blocks at a time, but {access.site.place} is not known")
    return _Reached(found[0], found[1], -target.base, 1, int(_union(*found)))


def _narrow(values: Any) -> Any:
    """Long vectors with half of the bytes, where they fit."""
    if values.size < LONG or values.min() < -(1 << 31) or values.max() >= 1 << 31:
        return values
    return values.astype(np.int32)


@compiled(f"int64({LONGS}, {TRUTHS})", cache=True)
def _union(addresses: Any, runs: Any) -> int:
    """Every bit that is set in some address."""
    found = 0
    for item in range(addresses.size):
        if runs[item]:
            found |= addresses[item]
    return found


def _meeting(
    owner: Any,
    lanes: Any,
    jobs: Any,
    values: Any,
    runs: Any,
    start: int,
    factor: int,
    shift: int,
    grains: int,
    mark: int,
    state: Any,
) -> bool:
    """Mark what each block touches; whether something that is written has two owners now.

    `owner`, `lanes`: of each job (`_turns`). `jobs`: of each value; none: its number.
    `state` of each grain in each wavefront: 0, its one owner (with WRITTEN, if it is), or SHARED.
    """
    for item in range(values.size):
        job = jobs[item] if jobs.size else item
        mine, lane = owner[job], lanes[job]
        if mine == 0 or not runs[item]:
            continue
        first = (start + factor * values[item]) >> shift
        for place in range(first, first + grains):
            found = state[place, lane]
            if found == 0 or (found | WRITTEN) == (mine | WRITTEN):
                state[place, lane] = found | mine | mark
            elif mark != 0 or found & WRITTEN != 0:
                return True
            else:
                state[place, lane] = SHARED
    return False


_REST = f"{TRUTHS}, int64, int64, int64, int64, uint16, uint16[:, :]"
_meet = compiled(f"boolean(uint16[:], uint8[:], {LONGS}, {LONGS}, {_REST})", cache=True)(_meeting)
_meet_narrow = compiled(f"boolean(uint16[:], uint8[:], {LONGS}, {INTS}, {_REST})", cache=True)(_meeting)
