"""Whether comparisons that a region makes by new numbers come out as by the old ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracecut.codegen.schedule.plan.range_function import Group, IndexTest
from tracecut.codegen.schedule.schedule import RegionSchedule, Renumbering, Schedule
from tracecut.support.errors import ScheduleError

UNSIGNED = 1 << 64  # more than any index has bits


def check_index_tests(schedule: Schedule, region: RegionSchedule, code: Sequence[Group]) -> None:
    """Raise ScheduleError unless all numbers that may be exchanged for each other are on one side of each comparison.

    O(tests · renumberings).
    """
    # The last bound is where the last row ends.
    bounds = {number for number, copy in region.bases.items() if region.copies[copy].mode == "bounds"}
    for group in code:
        for test in group.tests:
            for item in _renumberings(schedule, region, group):
                space = schedule.spaces[item.space]
                low, last = space.low + item.shift, space.high + item.shift - 1 + (group.id in bounds)
                near = (test.constant - 1, test.constant, test.constant + 1, -1, 0)  # the side changes there alone
                outcomes = {_holds(test, value) for value in (low, last, *near) if low <= value <= last}
                if len(outcomes) > 1:
                    raise ScheduleError(
                        f"region {region.region} compares an index with {test.constant} ({test.predicate}) by its new "
                        f"number, which may be any in [{low}, {last}]"
                    )


def _renumberings(schedule: Schedule, region: RegionSchedule, group: Group) -> Iterator[Renumbering]:
    """Of all that a group may read: its copy, or what is renumbered where it lies."""
    if group.id in region.bases:
        yield from region.copies[region.bases[group.id]].renumber
    else:
        for move in schedule.moves:
            yield from move.renumber


def _holds(test: IndexTest, value: int) -> bool:
    unsigned = test.predicate[0] == "u"
    a, b = (number % UNSIGNED if unsigned else number for number in (value, test.constant))
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[test.predicate[-2:]]
