"""Conflicts between iterations, compared with a look at every pair of accesses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tracecut.tracer.legality.conflicts import READ, REDUCE, WRITE, Conflict, Events, find_conflict

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("both_ways")]

SIZE = 48
Listed = list[tuple[int, int, list[tuple[int, int]]]]  # (width, kind, [(job, offset)])


def events_of(listed: Listed) -> list[Events]:
    return [
        Events(np.array([job for job, _ in found], np.int64), np.array([at for _, at in found], np.int64), width, kind)
        for width, kind, found in listed
    ]


def clash(first: int, second: int) -> bool:
    """Whether two accesses of one byte by different jobs may not be swapped."""
    if (first | second) & WRITE:
        return True
    if (first | second) & READ:
        return first != second
    return first != second  # two reductions


def pairs(listed: Listed) -> set[tuple[int, int, int]]:
    """Every (earlier job, later job, byte) that conflicts (slow reference)."""
    touched = [
        (job, byte, kind)
        for width, kind, found in listed
        for job, offset in found
        for byte in range(offset, offset + width)
    ]
    return {
        (job, other, byte)
        for job, byte, kind in touched
        for other, same, second in touched
        if job < other and byte == same and clash(kind, second)
    }


@st.composite
def sites(draw: st.DrawFn) -> tuple[int, int, list[tuple[int, int]]]:
    width = draw(st.sampled_from([1, 2, 3, 4, 8]))
    kind = draw(st.sampled_from([READ, READ, WRITE, REDUCE, REDUCE, REDUCE << 1, READ | WRITE]))
    step = draw(st.sampled_from([1, 2, 4, 8]))
    offsets = st.integers(0, (SIZE - width) // step).map(lambda place: place * step)
    return width, kind, draw(st.lists(st.tuples(st.integers(0, 6), offsets), max_size=8))


@settings(max_examples=300, deadline=None)
@given(st.lists(sites(), max_size=4))
@example([(4, REDUCE, [(0, 0), (1, 2)])])  # half an element apart: still the same operator on the same bytes
@example([(8, READ, [(0, 0)]), (8, REDUCE, [(0, 0)])])  # one job alone
@example([(8, READ, [(0, 0)]), (8, REDUCE, [(0, 0), (1, 0)])])
@example([(8, REDUCE, [(0, 40)]), (8, REDUCE << 1, [(1, 40)])])
def test_every_pair_says_the_same(listed: Listed) -> None:
    expected = pairs(listed)
    found = find_conflict(events_of(listed), SIZE)
    assert (found is not None) == bool(expected)
    if found is not None:
        check(found, listed, expected)


def check(found: Conflict, listed: Listed, expected: set[tuple[int, int, int]]) -> None:
    """The example that is named is one: the jobs differ, and its events touch the byte."""
    assert (*found.jobs, found.offset) in expected
    for job, place in zip(found.jobs, found.events, strict=True):
        width, _, touched = listed[place]
        assert any(who == job and at <= found.offset < at + width for who, at in touched)


def test_named_events_count_from_the_list_that_was_given() -> None:
    """Sites without any access stand in the list too."""
    none = (4, WRITE, [])
    found = find_conflict(events_of([none, (4, READ, [(0, 8)]), none, (4, WRITE, [(3, 8)])]), SIZE)
    assert found == Conflict((0, 3), (1, 3), 8)


def test_a_job_that_comes_back_a_thousand_times_is_not_its_own_opponent() -> None:
    busy = [(0, 0)] * 3000 + [(7, 0)]
    found = find_conflict(events_of([(4, WRITE, busy)]), SIZE)
    assert found == Conflict((0, 7), (0, 0), 0)


def test_numbers_of_millions_of_jobs() -> None:
    jobs = np.arange(1 << 21, dtype=np.int64)
    alone = Events(jobs, jobs * 4, 4, WRITE)
    assert find_conflict([alone], 4 << 21) is None
    last = Events(np.array([5], np.int64), np.array([(1 << 23) - 4], np.int64), 4, READ)
    assert find_conflict([alone, last], 4 << 21) == Conflict((5, (1 << 21) - 1), (1, 0), (1 << 23) - 4)
