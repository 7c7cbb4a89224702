"""What the tests of the checker share: schedules with one thing changed, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.codegen.schedule.schedule import RegionSchedule, Schedule
from tracecut.support.errors import ScheduleError, UnsupportedError

from .harness import Inspected, Program

Subject = Callable[[str, str], Inspected]


def check(item: Inspected, schedule: Schedule, *, groups: Any = None, movable: Any = None) -> None:
    check_schedule(
        schedule,
        item.guarded[1],
        item.inspection.accesses,
        item.cut_out[0] if groups is None else groups,
        item.inspection.plan.movable if movable is None else movable,
    )


def assert_refused(program: Program, mark: str, reason: str, text: str) -> None:
    """The iterations of a loop keep their order, for this reason, and the line that is named has this text."""
    lines = (program.folder / "program.c").read_text().splitlines()
    try:
        item = program.inspect(mark, mark)
    except UnsupportedError as error:
        said, named = error.message, [int(line) for line in re.findall(r"program\.c:(\d+)", error.message)]
    else:
        verdict = item.inspection.verdicts[item.region]
        assert not verdict.movable
        said, named = verdict.reason, [place.line for place in verdict.places]
    assert re.search(reason, said)
    assert any(text in lines[line - 1] for line in named), named


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
