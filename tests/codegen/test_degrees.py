"""Loops that read two records of an array at a time have a copy of it for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tracecut.support.errors import ScheduleError

from .checking import check
from .harness import Inspected, Program
from .woven_programs import run_woven, woven

NAME = "degrees"
Catalogue = Callable[[str], Program]
# Mark → how the loops behind the sweep reach the array of which they read several records.
MODES = {
    "degrees": ["direct", "direct"],
    "three_records": ["old"],
    "written": ["old", "old"],
}


@pytest.fixture(scope="module")
def items(program: Catalogue) -> dict[str, Inspected]:
    return {mark: program(NAME).inspect(mark, tuned=True) for mark in program(NAME).lines}


def behind(item: Inspected) -> list[int]:
    """The regions of a scope behind its sweep."""
    return [region for region in item.inspection.plan.uses if region != item.region]


@pytest.mark.parametrize("mark", MODES)
def test_how_several_records_are_read(items: dict[str, Inspected], mark: str) -> None:
    item, plan = items[mark], items[mark].inspection.plan
    uses = [use for region in behind(item) for use in plan.uses[region] if plan.arrays[use.array].stride == 4]
    assert [use.mode for use in uses] == MODES[mark]


def test_each_copy_has_its_record(items: dict[str, Inspected]) -> None:
    item = items["degrees"]
    schedule = item.schedule(item.random(1))
    check(item, schedule)
    (region,) = (found for found in schedule.regions if found.region in behind(item))
    first, second = (place for place, copy in enumerate(region.copies) if copy.mode == "direct")
    assert {region.copies[first].first, region.copies[second].first} == {0, 1}
    copies = list(region.copies)
    copies[first], copies[second] = copies[second], copies[first]
    wrong = replace(region, copies=tuple(copies))
    others = tuple(wrong if found is region else found for found in schedule.regions)
    with pytest.raises(ScheduleError, match="does not hold its records"):
        check(item, replace(schedule, regions=others))


@pytest.mark.parametrize("threads", [1, 2])
def test_the_program_prints_what_it_prints(program: Catalogue, items: dict[str, Inspected], threads: int) -> None:
    schedules = [item.schedule(item.random(threads + place)) for place, item in enumerate(items.values())]
    made = woven(list(items.values()), schedules, name=f"{NAME}-{threads}", threads=threads)
    ran = run_woven(program(NAME), made, cpus=range(threads))
    assert (ran.code, ran.stdout) == (0, program(NAME).native_output)
    assert all(ran.used.values())
