"""Pins of several parts as one, against NumPy's own way to find what differs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.schedule.graph.pins import pins_within, together, without_repeats

pytestmark = pytest.mark.quick

PARTS = st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=30), min_size=1, max_size=3)


@given(PARTS)
def test_each_pin_once_by_job_and_datum(parts: list[list[tuple[int, int]]]) -> None:
    found = together([tuple(np.array(part, np.int64).reshape(-1, 2).T.copy()) for part in parts])  # type: ignore[misc]
    expected = sorted({pin for part in parts for pin in part})
    assert list(zip(*(side.tolist() for side in found), strict=True)) == expected
    assert all(side.dtype == np.int32 for side in found)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-4, 12), st.booleans()), max_size=30),
    st.integers(-3, 5),
    st.integers(0, 8),
    st.integers(0, 100),
)
def test_pins_of_values_in_bounds(items: list[tuple[int, int, bool]], low: int, count: int, first: int) -> None:
    jobs, values = (np.array([item[side] for item in items], np.int64) for side in (0, 1))
    valid = np.array([item[2] for item in items], np.bool_)
    found = pins_within(jobs, values, valid, (low, low + count), first)
    inside = [(job, value - low + first) for job, value, known in items if known and low <= value < low + count]
    expected = [pin for place, pin in enumerate(inside) if place == 0 or pin != inside[place - 1]]
    assert list(zip(*(side.tolist() for side in found), strict=True)) == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=30))
def test_no_pin_is_the_one_before(pins: list[tuple[int, int]]) -> None:
    jobs, data = (np.array([pin[side] for pin in pins], np.int64) for side in (0, 1))
    found = without_repeats(jobs, data)
    expected = [pin for place, pin in enumerate(pins) if place == 0 or pin != pins[place - 1]]
    assert list(zip(*(side.tolist() for side in found), strict=True)) == expected


def test_pins_are_made_without_long_vectors_beside_them() -> None:
    """8 bytes a pin are kept; while they are made, 2 more say which are."""
    values = np.random.default_rng(1).integers(0, 1000, 1 << 20)
    every = np.broadcast_to(np.True_, values.size)
    jobs = np.arange(values.size)
    pins_within(jobs, values, every, (0, 1000), 7)  # compiles
    for mine in (None, jobs):
        tracemalloc.start()
        try:
            found = pins_within(mine, values, every, (0, 1000), 7)
            assert tracemalloc.get_traced_memory()[1] < 11 * values.size
        finally:
            tracemalloc.stop()
        assert [side.dtype for side in found] == [np.int32, np.int32]
        assert np.array_equal(found[0], jobs) and np.array_equal(found[1], values + 7)
    assert [
        side.tolist() for side in pins_within(None, values[:3] * 0 + 5, np.array([True, False, True]), (5, 6), 0)
    ] == [
        [0, 2],
        [0, 0],
    ]
