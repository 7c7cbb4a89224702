"""The independent checker: every schedule passes it before it may run. (DESIGN §5)

It shares no code with the scheduler and believes nothing: each job once, orders that are permutations and respect
their cuts, arrays that lie in their objects without overlap, threads that never meet in what they write.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..ir.errors import ScheduleError
from ..tracer.access import Accesses
from .schedule import Copy, RegionSchedule, Schedule


def check_schedule(schedule: Schedule, sizes: Sequence[int], accesses: Accesses | None = None) -> None:
    """Raise ScheduleError unless the schedule is sound.

    Args:
        schedule: what to check. sizes: bytes of each object of its guard.
        accesses: of the scope; with them, that no two threads write what the other touches. O(jobs + data + pins).
    """
    for number, space in enumerate(schedule.spaces):
        size = space.high - space.low
        _permutation(f"space {number}", space.order, size)
        cuts = space.cuts
        if not cuts or cuts[0] != space.low or cuts[-1] != space.high or list(cuts) != sorted(set(cuts)):
            raise ScheduleError(f"space {number} has the cuts {cuts}, ascending ones over its range were expected")
        for low, high in itertools.pairwise(cuts):
            piece = space.order[low - space.low : high - space.low]
            if piece.size and (piece.min() < low - space.low or piece.max() >= high - space.low):
                raise ScheduleError(f"space {number} moves data over the cut at {low} or {high}")
    _moves(schedule, sizes)
    for region in schedule.regions:
        _region(schedule, region, sizes)
        if accesses is not None and region.threads > 1:
            _threads(region, accesses)


def _permutation(name: str, order: npt.NDArray[np.int32], size: int) -> None:
    if order.size != size:
        raise ScheduleError(f"{name} orders {order.size} items, it has {size}")
    if size and (int(order.min()) < 0 or int(order.max()) >= size):
        raise ScheduleError(f"{name} names an item outside of [0, {size})")
    seen = np.zeros(size, np.bool_)
    seen[order] = True
    if not seen.all():
        raise ScheduleError(f"{name} leaves out item {int(np.flatnonzero(~seen)[0])}")


def _moves(schedule: Schedule, sizes: Sequence[int]) -> None:
    taken: dict[int, list[tuple[int, int]]] = {}
    for move in schedule.moves:
        space = schedule.spaces[move.space]
        low = move.origin + move.stride * move.first
        high = low + move.stride * move.count
        if move.stride < 1 or low < 0 or high > sizes[move.object]:
            raise ScheduleError(f"object {move.object} is permuted outside of its {sizes[move.object]} bytes")
        first = move.first - move.shift
        if first not in space.cuts or first + move.count not in space.cuts:
            raise ScheduleError(f"object {move.object} is permuted over a part of its order that is not closed")
        for other_low, other_high in taken.setdefault(move.object, []):
            if low < other_high and other_low < high:
                raise ScheduleError(f"object {move.object} is permuted twice")
        taken[move.object].append((low, high))
    for region in schedule.regions:
        for copy in region.copies:
            low = copy.origin + copy.stride * copy.first
            for other_low, other_high in taken.get(copy.object, []):
                if copy.mode != "segment" and low < other_high and other_low < low + copy.stride * copy.count:
                    raise ScheduleError(f"object {copy.object} is permuted in place and copied")


def _region(schedule: Schedule, region: RegionSchedule, sizes: Sequence[int]) -> None:
    name = f"region {region.region}"
    _permutation(name, region.jobs, region.jobs.size)
    bounds = region.bounds
    if region.threads < 1 or bounds.size != region.threads + 2:
        raise ScheduleError(f"{name} has {bounds.size} bounds for {region.threads} threads")
    if bounds[0] != 0 or bounds[-1] != region.jobs.size or np.any(np.diff(bounds) < 0):
        raise ScheduleError(f"{name} does not run every job exactly once")
    for copy in region.copies:
        _copy(name, schedule, region, copy, sizes)
    if any(not 0 <= number < len(region.copies) for number in region.bases.values()):
        raise ScheduleError(f"{name} uses a copy that does not exist")
    for item in region.privates:
        if len(item.low) != region.threads or len(item.high) != region.threads:
            raise ScheduleError(f"{name} has private slots for another number of threads")
        if any(low < 0 or high > sizes[item.object] for low, high in zip(item.low, item.high, strict=True)):
            raise ScheduleError(f"{name} has private slots outside of object {item.object}")


def _copy(name: str, schedule: Schedule, region: RegionSchedule, copy: Copy, sizes: Sequence[int]) -> None:
    if copy.mode not in ("direct", "offsets", "segment", "spaced", "plain") or copy.stride < 1:
        raise ScheduleError(f"{name} has a copy of the unknown kind {copy.mode!r}")
    low = copy.origin + copy.stride * copy.first
    if copy.mode in ("segment", "offsets"):
        if region.lengths.size != region.jobs.size or (region.lengths.size and int(region.lengths.min()) < 0):
            raise ScheduleError(f"{name} copies pieces of unknown length")
        if region.starts is None:
            raise ScheduleError(f"{name} copies pieces from an unknown place")
    elif low < 0 or low + copy.stride * copy.count > sizes[copy.object]:
        raise ScheduleError(f"{name} copies bytes outside of object {copy.object}")
    if copy.mode == "direct" and copy.count != region.jobs.size:
        raise ScheduleError(f"{name} copies {copy.count} records for {region.jobs.size} jobs")
    if copy.mode == "spaced" and not 0 <= copy.space < len(schedule.spaces):
        raise ScheduleError(f"{name} copies in the order of a space that does not exist")
    for item in copy.renumber:
        if not 0 <= item.space < len(schedule.spaces) or item.width not in (1, 2, 4, 8):
            raise ScheduleError(f"{name} renumbers a field in an unknown way")
        if any(offset < 0 or offset + item.width > copy.stride for offset in item.offsets):
            raise ScheduleError(f"{name} renumbers bytes outside of a record")


def _threads(region: RegionSchedule, accesses: Accesses) -> None:
    """No byte that one thread writes is touched by another at the same time, private slots aside."""
    thread = np.full(region.jobs.size, -1, np.int16)
    for number in range(region.threads):
        thread[region.jobs[region.bounds[number] : region.bounds[number + 1]]] = number
    touched = [access for access in accesses.inside(region.region) if access.runs and access.site.private is None]
    private = {(item.object, item.type) for item in region.privates}
    for item in {access.object for access in touched if access.site.writes and access.object is not None}:
        mine = [access for access in touched if access.object is item]
        if private and all(access.site.kind == "reduce" for access in mine):
            continue
        owner = np.full(item.size, -1, np.int16)
        for access in mine:
            found = accesses.addresses(access)
            if found is None:
                raise ScheduleError(f"region {region.region} runs on threads, but {access.site.place} is not known")
            addresses, runs = found
            jobs = accesses.evaluation.jobs(access.site.loop, region.region)[runs]
            team = thread[jobs]
            places = (addresses[runs] - item.base)[team >= 0]
            team = team[team >= 0]
            before = owner[places]
            if np.any((before != -1) & (before != team)):
                raise ScheduleError(f"two threads of region {region.region} meet at {access.site.place}")
            owner[places] = team
            if np.any(owner[places] != team):
                raise ScheduleError(f"two threads of region {region.region} meet at {access.site.place}")
