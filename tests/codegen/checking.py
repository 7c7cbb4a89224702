"""What the tests of the checker share: schedules with one thing changed, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.codegen.schedule.schedule import RegionSchedule, Schedule
from tracecut.support.errors import ScheduleError

from .harness import Inspected

Subject = Callable[[str, str], Inspected]


def check(item: Inspected, schedule: Schedule, *, groups: Any = None, movable: Any = None) -> None:
    check_schedule(
        schedule,
        item.guarded[1],
        item.inspection.accesses,
        item.cut_out[0] if groups is None else groups,
        item.inspection.plan.movable if movable is None else movable,
    )


def region_of(item: Inspected, schedule: Schedule) -> RegionSchedule:
    return next(region for region in schedule.regions if region.region == item.region)


def with_region(item: Inspected, schedule: Schedule, **changes: Any) -> Schedule:
    changed = replace(region_of(item, schedule), **changes)
    others = tuple(changed if region.region == item.region else region for region in schedule.regions)
    return replace(schedule, regions=others)


def running(item: Inspected, key: str) -> list[Any]:
    return [access for access in item.inspection.accesses.by_site[key] if access.runs]


def why(item: Inspected, schedule: Schedule, groups: Any) -> str:
    try:
        check(item, schedule, groups=groups)
    except ScheduleError as error:
        return error.message
    return ""
