"""Two records in a row: loops that read them one after the other, and lengths of rows that an index picks."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace

import pytest
from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.codegen.schedule.schedule import Schedule
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


def bounds_in(schedule: Schedule) -> list[int]:
    """Regions that read bounds in the order of the rows."""
    return [region.region for region in schedule.regions if any(each.mode == "bounds" for each in region.copies)]


@pytest.mark.parametrize(("mark", "regions"), [("picked", 2), ("by_edges", 2)])
def test_lengths_of_rows_that_an_index_picks_are_read_by_new_numbers(
    items: dict[str, Inspected], mark: str, regions: int
) -> None:
    item = items[mark]
    schedule = item.schedule(item.random(1))
    assert len(bounds_in(schedule)) == regions
    check(item, schedule)


@pytest.mark.parametrize("mark", ["two_rows", "numbers", "apart"])
def test_what_is_no_length_of_one_row_is_told_by_old_numbers(items: dict[str, Inspected], mark: str) -> None:
    item = items[mark]
    schedule = item.schedule(item.random(1))
    assert not bounds_in(schedule)
    check(item, schedule)


def test_the_checker_finds_lengths_of_new_indices(items: dict[str, Inspected]) -> None:
    item = items["picked"]
    schedule = item.schedule(item.random(1))
    nest = item.inspection.accesses.nest
    loads = [site.key for site in nest.sites_in(item.region) if not site.writes and site.type == "i32"]
    inside = [pair for pair in nest.lengths if {*pair} <= {*loads}]
    assert len(inside) == 1
    for wrong in ((inside[0][1], inside[0][0]), (inside[0][0], inside[0][0])):
        told = copy(item.inspection.accesses)
        told.nest = replace(nest, lengths=(wrong,))
        with pytest.raises(ScheduleError, match="new numbers are subtracted"):
            check_schedule(schedule, item.guarded[1], told, item.cut_out[0], item.inspection.plan.movable)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_program_prints_what_it_prints(program: Catalogue, items: dict[str, Inspected], threads: int) -> None:
    schedules = [item.schedule(item.random(threads + place)) for place, item in enumerate(items.values())]
    made = woven(list(items.values()), schedules, name=f"{NAME}-{threads}", threads=threads)
    ran = run_woven(program(NAME), made, cpus=range(threads))
    assert (ran.code, ran.stdout) == (0, program(NAME).native_output)
    assert all(ran.used.values())
