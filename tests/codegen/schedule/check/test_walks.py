"""The checker looks itself whether other loops take the records that move one at a time, or as parts."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.ir.loops.nest import Nest
from tracecut.support.errors import ScheduleError

from ...checking import Subject, check
from ...harness import Inspected

MARKS = ["update_four", "sum_five", "take_away_two", "points_two", "field_by_field", "flat_six"]


def walked(item: Inspected) -> int:
    return next(number for number, info in item.inspection.accesses.nest.loops.items() if info.parts)


def with_parts(item: Inspected, parts: dict[str, int]) -> Any:
    """The accesses of a scope whose unrolled loop has other parts."""
    accesses = copy.copy(item.inspection.accesses)
    nest: Nest = accesses.nest
    loop = walked(item)
    accesses.nest = replace(nest, loops={**nest.loops, loop: replace(nest.loops[loop], parts=parts)})
    return accesses


def check_with(item: Inspected, parts: dict[str, int]) -> None:
    schedule = item.schedule(item.random(1))
    check_schedule(schedule, item.guarded[1], with_parts(item, parts), item.cut_out[0], item.inspection.plan.movable)


@pytest.mark.parametrize("mark", MARKS)
def test_parts_have_to_be_known_and_apart(subject: Subject, mark: str) -> None:
    item = subject("unrolled", mark)
    parts = dict(item.inspection.accesses.nest.loops[walked(item)].parts)
    check_with(item, parts)
    with pytest.raises(ScheduleError, match="an iteration takes several records"):
        check_with(item, {})
    last = max(parts.keys() & item.inspection.accesses.by_site.keys(), key=lambda key: (parts[key], key))
    for wrong in ({**parts, last: 0}, {key: max(parts.values()) - part for key, part in parts.items()}):
        with pytest.raises(ScheduleError, match=r"meet in the records|not closed|leaves its record|ends inside"):
            check_with(item, wrong)
    with pytest.raises(ScheduleError, match=r"an iteration takes several|leaves its record|ends inside"):
        check_with(item, {**parts, last: 2 * max(parts.values()) + 1})


@pytest.mark.parametrize("mark", MARKS[:2])
def test_what_a_loop_walks_keeps_to_itself(subject: Subject, mark: str) -> None:
    item = subject("unrolled", mark)
    schedule = item.schedule(item.random(1))
    (space,) = schedule.spaces
    assert len(space.cuts) == 3
    wrong = replace(space, cuts=(space.low, space.high))
    with pytest.raises(ScheduleError, match="a part of an order that is not closed"):
        check(item, replace(schedule, spaces=(wrong,)))
