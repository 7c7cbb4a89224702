"""Rows that are written, or picked by an index: they move as a whole, and one copy has all of their new bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.schedule.plan import row_bounds
from tracecut.codegen.schedule.plan.row_bounds import order_of_rows
from tracecut.codegen.schedule.plan.scope_plan import Bounds, Field, Space
from tracecut.codegen.schedule.schedule import Copy, Schedule, SpaceOrder
from tracecut.support.errors import ScheduleError

from .checking import check, region_of, with_region
from .harness import Inspected, Program

Catalogue = Callable[[str], Program]
MOVED = {  # mark → how many arrays in rows move, and how many are read from a copy in their order
    "written": (1, 1),
    "applied": (1, 1),
    "late": (1, 1),
    "picked": (1, 1),
    "two_steps_away": (0, 2),
    "assembled": (1, 1),
    "diagonal": (2, 2),
    "divided": (2, 2),
    "by_entries": (1, 1),
    "by_rows": (1, 1),
    "halves": (2, 1),
    "members": (1, 1),
    "degrees": (1, 1),
    "rest": (1, 1),
    "counted": (1, 1),
    "computed": (1, 1),
}
STAYING = ["backwards", "last", "ahead", "folded", "inside", "shared", "shared_too", "empty", "unreached"]


@pytest.fixture(scope="module")
def loop(program: Catalogue) -> Callable[[str], Inspected]:
    found: dict[str, Inspected] = {}
    return lambda mark: found.get(mark) or found.setdefault(mark, program("cut").inspect(mark, tuned=True))


def bounds_of(schedule: Schedule, item: Inspected) -> Copy:
    (found,) = {copy for copy in region_of(item, schedule).copies if copy.mode == "bounds"}
    return found


@pytest.mark.parametrize("mark", MOVED)
def test_rows_move_as_a_whole(loop: Callable[[str], Inspected], mark: str) -> None:
    item = loop(mark)
    made = item.schedule(item.random(1))
    (copy,) = {copy for region in made.regions for copy in region.copies if copy.mode == "bounds"}
    (field,) = copy.renumber
    assert field.space != copy.space
    cut, rows = made.spaces[field.space], made.spaces[copy.space]
    assert not np.array_equal(rows.order, np.arange(rows.order.size))
    assert not np.array_equal(cut.order, np.arange(cut.order.size))
    copies = {(region.region, copy.object) for region in made.regions for copy in region.copies
              if copy.mode == "spaced" and copy.space == field.space}  # fmt: skip
    moved = sum(move.space == field.space for move in made.moves)
    assert (moved, len({of for _, of in copies})) == MOVED[mark]
    check(item, made)


@pytest.mark.parametrize("mark", STAYING)
def test_rows_that_are_used_in_other_ways_stay(loop: Callable[[str], Inspected], mark: str) -> None:
    item = loop(mark)
    made = item.schedule(item.random(1))
    assert not any(copy.mode == "bounds" for region in made.regions for copy in region.copies)
    assert not any(space.bounds for space in item.inspection.plan.spaces)


def test_new_bounds_are_told_from_others_in_front_of_them(loop: Callable[[str], Inspected]) -> None:
    item = loop("beyond")
    made = item.schedule(item.random(1))
    found = bounds_of(made, item)
    assert (found.first, found.count) == (101, 51)  # of the rows that are picked; those that are written are in front
    check(item, made)


def test_the_end_of_a_row_is_the_start_of_the_next_where_both_stay(loop: Callable[[str], Inspected]) -> None:
    item = loop("behind")
    for order in (item.unchanged(), item.random(1)):
        made = item.schedule(order)
        assert bounds_of(made, item).count == 201
        check(item, made)


def test_bounds_that_change_in_the_scope_cut_nothing(loop: Callable[[str], Inspected]) -> None:
    item = loop("moving")
    assert item.scope == item.region  # on entering each sweep anew


def refused(item: Inspected, schedule: Schedule, match: str) -> None:
    with pytest.raises(ScheduleError, match=match):
        check(item, schedule)


def test_the_checker_finds_rows_in_another_order(loop: Callable[[str], Inspected]) -> None:
    item = loop("written")
    made = item.schedule(item.random(1))
    copy = bounds_of(made, item)
    (field,) = copy.renumber
    spaces = [*made.spaces]
    for number in (field.space, copy.space):
        old = spaces[number]
        order = old.order.copy()
        order[[2, 9]] = order[[9, 2]]
        spaces[number] = SpaceOrder(old.low, old.high, old.cuts, order)
        refused(item, replace(made, spaces=tuple(spaces)), "are of rows in another order|not in the order of its jobs")
        spaces[number] = old


def with_copy(item: Inspected, schedule: Schedule, **changes: object) -> Schedule:
    region, old = region_of(item, schedule), bounds_of(schedule, item)
    new = replace(old, **changes)  # type: ignore[arg-type]
    return with_region(item, schedule, copies=tuple(new if copy is old else copy for copy in region.copies))


def test_the_checker_finds_wrong_bounds(loop: Callable[[str], Inspected]) -> None:
    item = loop("written")
    made = item.schedule(item.random(1))
    copy = bounds_of(made, item)
    (field,) = copy.renumber
    check(item, with_copy(item, made))
    refused(item, with_copy(item, made, first=copy.first + 1, count=copy.count - 1), "not closed|not those of all rows")
    refused(item, with_copy(item, made, shift=copy.shift + 1), "not closed|not those of all rows")
    refused(item, with_copy(item, made, renumber=()), "bounds of unknown rows")
    refused(item, with_copy(item, made, renumber=(replace(field, shift=field.shift + 1),)), "do not cut all")
    refused(item, with_copy(item, made, renumber=(replace(field, space=copy.space),)), "do not cut all")
    refused(item, with_copy(item, made, mode="spaced"), "keeps its old numbers|read from new numbers|not closed")


def test_the_checker_asks_for_a_guard_of_all_bounds(loop: Callable[[str], Inspected]) -> None:
    item = loop("two_steps_away")
    made = item.schedule(item.random(1))
    copy = bounds_of(made, item)
    mine = [load for load in made.guard.loads if load.object == copy.object]
    assert mine and mine[0].stride == 4
    for changed in ([], [replace(load, stride=8, count=(load.count + 1) // 2) for load in mine]):
        loads = tuple(load for load in made.guard.loads if load not in mine) + tuple(changed)
        refused(item, replace(made, guard=replace(made.guard, loads=loads)), "the guard leaves some of them out")


def test_the_checker_finds_what_leaves_its_row(
    loop: Callable[[str], Inspected], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the plan took the first datum behind a row for one of the row, as where a row is empty."""
    item = loop("empty")
    monkeypatch.setattr(row_bounds, "_begins", lambda facts, bounds, pattern: True)
    again = item.program.inspect_in(item.mark, item.region, item.scope)
    with pytest.raises(ScheduleError, match="leaves its rows"):
        again.schedule(again.random(1))


@given(st.data())
def test_rows_follow_each_other(data: st.DataObject) -> None:
    """Against a slow reference."""
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=9).filter(any))
    low = data.draw(st.integers(0, 3))
    values = np.cumsum([low, *lengths])
    rows = np.array(data.draw(st.permutations(range(len(lengths)))), np.int32)
    field = Field(0, (0,), 4)
    bounds = Bounds(0, field, 0, values.astype(np.int64), frozenset(), {})
    space = Space(low, int(values[-1]), {}, {}, {}, {}, (low, int(values[-1])), "data", None, bounds)
    expected = [datum - low for row in rows for datum in range(values[row], values[row + 1])]
    assert order_of_rows(space, rows).tolist() == expected
