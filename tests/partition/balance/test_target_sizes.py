"""Target sizes against exact arithmetic, brute force, and Table III of the seed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tracecut.partition.balance.target_sizes import optimal_sizes, relative_size, scaled_memory, target_sizes
from tracecut.support.errors import ArgumentError

import tracecut

pytestmark = pytest.mark.quick
TABLE_3 = (  # speed and memory of the fast units, and the two cells of its last column
    ((1, 2), (1.0, 1.0)),
    ((2, 3.2), (2.0, 2.0)),
    ((4, 5.2), (3.2, 3.5)),
    ((8, 8.5), (5.5, 6.1)),
    ((16, 13.8), (9.4, 11.5)),
)
units = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 40)), min_size=1, max_size=8)


def algorithm_1(total: int, speeds: list[Fraction], capacities: list[Fraction]) -> tuple[list[Fraction], list[bool]]:
    """As printed, in fractions. Sizes by unit, and whether the units are saturated, in the order of line 1."""
    ratios = [speed / room if room else math.inf for speed, room in zip(speeds, capacities, strict=True)]
    order = sorted(range(len(speeds)), key=ratios.__getitem__, reverse=True)
    load, speed = Fraction(total), sum(speeds, Fraction())
    sizes, saturated = [Fraction()] * len(speeds), []
    for i in order:
        wanted = speeds[i] * load / speed
        saturated.append(wanted > capacities[i])
        sizes[i] = min(wanted, capacities[i])
        load -= sizes[i]
        speed -= speeds[i]
    return sizes, saturated


def fractions(numbers: list[int]) -> list[Fraction]:
    return [Fraction(number) for number in numbers]


@given(units, st.integers(0, 200))
def test_real_sizes_are_those_of_algorithm_1(machine: list[tuple[int, int]], total: int) -> None:
    speeds, room = (list(column) for column in zip(*machine, strict=True))
    assume(sum(room) >= total)
    expected, saturated = algorithm_1(total, fractions(speeds), fractions(room))
    assert saturated == sorted(saturated, reverse=True)  # Lemma 1
    assert sum(expected) == total
    assert np.allclose(optimal_sizes(total, speeds, room), [float(size) for size in expected], rtol=1e-12, atol=1e-12)


@given(units, st.integers(0, 200))
def test_no_other_sizes_are_better(machine: list[tuple[int, int]], total: int) -> None:
    """Theorem 1: size/speed t is feasible exactly where Σ min(capacity, t · speed) reaches the load."""
    speeds, room = (list(column) for column in zip(*machine, strict=True))
    assume(sum(room) >= total > 0)
    optimum = algorithm_1(total, fractions(speeds), fractions(room))[0]
    best = max(size / speed for size, speed in zip(optimum, speeds, strict=True))
    held = [
        sum(min(Fraction(r), t * s) for s, r in zip(speeds, room, strict=True))
        for t in (best, best * Fraction(999, 1000))
    ]
    assert held[0] >= total > held[1]
    assert relative_size(optimal_sizes(total, speeds, room), speeds) == pytest.approx(float(best), rel=1e-12)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5)), min_size=1, max_size=4), st.integers(0, 12))
def test_whole_sizes_are_within_one_of_brute_force(machine: list[tuple[int, int]], total: int) -> None:
    speeds, room = (list(column) for column in zip(*machine, strict=True))
    assume(sum(room) >= total)
    sizes = target_sizes(total, speeds, room)
    assert sizes.dtype == np.int64 and sizes.sum() == total
    assert (sizes >= 0).all() and (sizes <= room).all()
    assert np.abs(sizes - optimal_sizes(total, speeds, room)).max() < 1
    every = (found for found in itertools.product(*(range(r + 1) for r in room)) if sum(found) == total)
    least = min(max(size / speed for size, speed in zip(found, speeds, strict=True)) for found in every)
    assert relative_size(sizes, speeds) <= least + 1 / min(speeds) + 1e-12


@pytest.mark.parametrize("units", [96, 192])
@pytest.mark.parametrize("share", [12, 6])
@pytest.mark.parametrize("step", range(5))
def test_table_3(step: int, share: int, units: int) -> None:
    """Hetero Table III, last column: sizes of fast units over those of slow ones, at a memory of 1.2 n."""
    (speed, memory), cells = TABLE_3[step]
    fast = units // share
    speeds = np.array([speed] * fast + [1] * (units - fast), float)
    total = 1_000_000
    room = scaled_memory(total, [memory] * fast + [2] * (units - fast))
    sizes = target_sizes(total, speeds, room)
    assert sizes.sum() == total and (sizes <= room).all()
    assert sizes[0] / sizes[-1] == pytest.approx(cells[share == 6], abs=0.1)


def test_a_million_units() -> None:
    draw = np.random.default_rng(1)
    speeds, room = draw.uniform(0.1, 16, 10**6), draw.uniform(0, 4_000, 10**6)
    total = int(room.sum() * 0.7)
    sizes = tracecut.target_sizes(total, speeds, room)
    assert sizes.sum() == total and (sizes <= np.floor(room)).all()
    ratio = sizes / speeds
    free = sizes < np.floor(room) - 1
    assert ratio[free].max() - ratio[free].min() <= 2 / speeds.min()  # all that are not full take as long, to one unit
    assert ratio[~free].max() <= ratio[free].max() + 2 / speeds.min()


def test_all_units_without_limits() -> None:
    assert target_sizes(10, [1, 1, 2]).tolist() == [3, 2, 5]
    assert target_sizes(0, [1.0], [0.0]).tolist() == [0]
    assert target_sizes(7, [5, 1], [math.inf, 0.9]).tolist() == [7, 0]
    assert target_sizes(2**53, [1, 1]).tolist() == [2**52, 2**52]


def test_speeds_of_any_size() -> None:
    """Warnings are errors here: no sum of speeds overflows."""
    assert target_sizes(10, [1e308, 1e308]).tolist() == [5, 5]
    assert target_sizes(10, [1e308, 1e308, 1]).tolist() == [5, 5, 0]
    assert target_sizes(10, [1e308, 1e-308], [4, 9]).tolist() == [4, 6]
    assert target_sizes(10, [1e-308, 1e-308]).tolist() == [5, 5]
    assert optimal_sizes(10, [1e308, 1e308], [1e308, 1e308]).tolist() == [5.0, 5.0]
    assert target_sizes(10, [3e-308, 1e-308, 1e-308], [1e308, 1e308, 1]).tolist() == [7, 2, 1]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((5, [10**400, 1]), "speeds holds a whole number that is too large"),
        ((5, [1, 1], [10**400, 1]), "capacities holds a whole number that is too large"),
        ((10**400, [1, 1]), "a whole number from 0 to"),
        ((10, [1, 1], [4, 5]), "a load of 10 does not fit: the capacities of 2 units add up to 9, 1 too few"),
        ((10, [1, 1], [9.9, 0.9]), "add up to 9, 1 too few"),
        ((10, [1, 0]), r"speeds\[1\] = 0"),
        ((10, [1, -2]), r"speeds\[1\] = -2"),
        ((10, [1, math.nan]), r"speeds\[1\] = nan"),
        ((10, [math.inf]), r"speeds\[0\] = inf"),
        ((10, []), "shape"),
        ((10, [[1, 2]]), "shape"),
        ((10, ["fast"]), "speeds must be numbers"),
        ((10, [1, 1], [20]), "1 capacities for 2 speeds"),
        ((10, [1, 1], [20, -1]), r"capacities\[1\] = -1"),
        ((10, [1, 1], [20, math.nan]), r"capacities\[1\] = nan"),
        ((-1, [1]), "total = -1"),
        ((1.5, [1]), "total = 1.5"),
        ((2**53 + 1, [1]), "2\\*\\*53"),
        (("10", [1]), "total = '10'"),
    ],
)
def test_what_is_refused(arguments: tuple[Any, ...], why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        target_sizes(*arguments)


def test_a_total_beyond_all_floats_is_refused() -> None:
    with pytest.raises(ArgumentError, match="a number from 0 to"):
        optimal_sizes(10**400, [1, 1])
