"""The independent checker, rule by rule: the way of being wrong that each is there for, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tracecut.codegen.schedule.plan import access_modes
from tracecut.codegen.schedule.schedule import Blocks, Renumbering
from tracecut.support.errors import ScheduleError

from ...checking import Subject, check, region_of, with_region
from ...harness import Program


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 20), a=st.integers(0, 1 << 20), b=st.integers(0, 1 << 20))
def test_jobs_that_own_records_stay_in_the_order_of_these(subject: Subject, seed: int, a: int, b: int) -> None:
    """`mark[e] = …` is moved with the jobs: two jobs that change places alone would write each other's record."""
    item = subject("pairs", "counter_data")
    schedule = item.schedule(item.random(seed))
    jobs = region_of(item, schedule).jobs.copy()
    a, b = a % jobs.size, b % jobs.size
    if a != b:
        jobs[[a, b]] = jobs[[b, a]]
        with pytest.raises(ScheduleError, match="not in the order of its jobs"):
            check(item, with_region(item, schedule, jobs=jobs))


def test_starts_that_miss_the_end_of_the_last_row(subject: Subject) -> None:
    """`for (j = rp[i]; j < rp[i + 1]; j++)` reads one more than there are rows."""
    item = subject("rows", "csr")
    schedule = item.schedule(item.random(1))
    mine = region_of(item, schedule)
    (place,) = [place for place, copy in enumerate(mine.copies) if copy.mode == "offsets"]
    copies = list(mine.copies)
    copies[place] = replace(copies[place], count=mine.jobs.size)
    with pytest.raises(ScheduleError, match="does not hold its records"):
        check(item, with_region(item, schedule, copies=tuple(copies)))


def test_no_other_loop_runs_as_far_as_a_new_start(
    program: Callable[[str], Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planner that forgot it would be stopped here, before anything runs."""
    monkeypatch.setattr(access_modes, "_homes_of_trips", lambda facts, loop: set())
    item = program("bounds").inspect("start_as_far")
    assert "offsets" in item.modes.values()
    with pytest.raises(ScheduleError, match="how often a loop runs is read from new numbers"):
        item.schedule(item.random(1))


def test_data_stay_between_their_cuts(subject: Subject) -> None:
    item = subject("pairs", "pairs")
    schedule = item.schedule(item.random(3))
    space = schedule.spaces[0]
    middle = (space.low + space.high) // 2
    cut = replace(space, cuts=tuple(sorted({*space.cuts, middle})))
    with pytest.raises(ScheduleError, match="over the cut"):
        check(item, replace(schedule, spaces=(cut, *schedule.spaces[1:])))


def test_a_loop_that_has_to_keep_its_order_keeps_it(subject: Subject) -> None:
    item = subject("indirect", "ordered")
    assert item.verdict == "ordered"
    schedule = item.schedule(item.random(1))
    jobs = region_of(item, schedule).jobs
    assert np.array_equal(jobs, np.arange(jobs.size))
    halves = Blocks(np.array([0, jobs.size // 2, jobs.size]), np.zeros(2, np.int32))
    for changes in ({"jobs": np.ascontiguousarray(jobs[::-1])}, {"blocks": halves}):
        with pytest.raises(ScheduleError, match="has to keep its order"):
            check(item, with_region(item, schedule, **changes))


@pytest.mark.parametrize("mark", ["ended_values", "ended_and_not"])
def test_pieces_have_the_lengths_of_their_own_starts(subject: Subject, mark: str) -> None:
    item = subject("ended", mark)
    schedule = item.schedule(item.random(1))
    mine = region_of(item, schedule)
    check(item, schedule)
    assert mine.lengths.size == 2 * mine.jobs.size
    cut = [number for number, copy in enumerate(mine.copies) if copy.starts is not None]
    assert {mine.copies[number].cut for number in cut} == {0, 1}
    for number in cut:
        for other in (1 - mine.copies[number].cut, 2, -1):
            copies = list(mine.copies)
            copies[number] = replace(copies[number], cut=other)
            with pytest.raises(ScheduleError, match="length"):
                check(item, with_region(item, schedule, copies=tuple(copies)))
    swapped = tuple(copy if copy.starts is None else replace(copy, cut=1 - copy.cut) for copy in mine.copies)
    with pytest.raises(ScheduleError):
        check(item, with_region(item, schedule, copies=swapped))


def test_a_renumbering_of_its_own_is_no_excuse(subject: Subject) -> None:
    """A copy that renumbers a field twice, or by another space, is refused as well."""
    item = subject("pairs", "pairs")
    schedule = item.schedule(item.random(1))
    mine = region_of(item, schedule)
    place = next(place for place, copy in enumerate(mine.copies) if copy.renumber)
    first = mine.copies[place].renumber[0]
    again = Renumbering(first.offsets, first.width, first.space, first.shift)
    copies = list(mine.copies)
    copies[place] = replace(copies[place], renumber=(*copies[place].renumber, again))
    with pytest.raises(ScheduleError, match="twice"):
        check(item, with_region(item, schedule, copies=tuple(copies)))
