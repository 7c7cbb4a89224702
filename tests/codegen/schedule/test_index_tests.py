"""Comparisons that are made by new numbers: whether the numbers come out alike, against trying all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.host.index_tests import PREDICATES
from tracecut.codegen.schedule.check.index_tests import check_index_tests
from tracecut.codegen.schedule.plan.range_function import Group, IndexTest
from tracecut.support.errors import ScheduleError

from ..checking import Subject, check, region_of

SIDES = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}


def outcomes(test: IndexTest, low: int, high: int) -> set[bool]:
    def number(value: int) -> int:
        return value % (1 << 32) if test.predicate[0] == "u" else value

    way = SIDES[test.predicate[-2:]]
    return {getattr(number(value), way)(number(test.constant)) for value in range(low, high)}


@given(st.sampled_from(sorted(PREDICATES)), st.integers(-6, 6), st.integers(-6, 6), st.integers(0, 8))
def test_numbers_on_one_side(predicate: str, constant: int, low: int, size: int) -> None:
    test = IndexTest("%i", predicate, constant)
    alike = len(outcomes(test, low, low + size)) < 2
    assert alike or not test.same_in(low, low + size)
    if predicate[0] != "u" or (low >= 0 and constant >= 0):
        assert alike == test.same_in(low, low + size)


@pytest.mark.parametrize("predicate", sorted(PREDICATES))
def test_the_checker_compares_for_itself(subject: Subject, predicate: str) -> None:
    item = subject("ended", "ended_nodes")
    schedule = item.schedule(item.random(1))
    mine, groups = region_of(item, schedule), item.cut_out[0][item.region]
    (space,) = schedule.spaces
    (group,) = (group for group in groups if group.tests)
    (found,) = mine.copies[mine.bases[group.id]].renumber
    low, high = space.low + found.shift, space.high + found.shift
    for constant in (-1, low - 1, low, low + 1, (low + high) // 2, high - 2, high - 1, high, high + 1):
        test = IndexTest(group.tests[0].load, predicate, constant)
        code: list[Group] = [replace(group, tests=(test,))]
        if len(outcomes(test, low, high)) < 2:
            check_index_tests(schedule, mine, code)
        else:
            with pytest.raises(ScheduleError, match=r"compares an index with .* by its new number"):
                check_index_tests(schedule, mine, code)


def test_a_plan_that_forgot_it_is_stopped(subject: Subject) -> None:
    item = subject("ended", "ended_halves")
    schedule = item.schedule(item.random(1))
    groups = dict(item.cut_out[0])
    (group,) = (group for group in groups[item.region] if group.tests)
    more = replace(group, tests=(*group.tests, IndexTest(group.tests[0].load, "slt", 100)))
    groups[item.region] = [more if each is group else each for each in groups[item.region]]
    check(item, schedule)
    with pytest.raises(ScheduleError, match="compares an index with 100"):
        check(item, schedule, groups=groups)
