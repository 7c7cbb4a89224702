"""Bisections against all ways to cut tiny parts, and what refinement keeps."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.mapping.joint.bisect import Part, bisected, cost_of_sides, over_sides, refined
from tracecut.mapping.joint.vertex_heap import heap_of

pytestmark = pytest.mark.quick


def part_of(n: int, pairs: dict[tuple[int, int], int], loads: list[float], bias: list[int]) -> Part:
    rows: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for (a, b), weight in pairs.items():
        rows[a].append((b, weight))
        rows[b].append((a, weight))
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    flat = [entry for row in rows for entry in row]
    near, edges = np.array([v for v, _ in flat], np.uint32), np.array([w for _, w in flat], np.int64)
    return Part(offsets, near, edges, np.array(loads), np.array(bias, np.int64))


def plain_cost(pairs: dict[tuple[int, int], int], bias: list[int], side: np.ndarray) -> int:
    cut = sum(weight for (a, b), weight in pairs.items() if side[a] != side[b])
    return cut + sum(value for value, own in zip(bias, side, strict=True) if own)


@st.composite
def cases(draw: st.DrawFn, most: int = 10) -> tuple[dict[tuple[int, int], int], list[float], list[int]]:
    n = draw(st.integers(2, most))
    all_pairs = st.sampled_from([(a, b) for a in range(n) for b in range(a + 1, n)])
    pairs = draw(st.dictionaries(all_pairs, st.integers(1, 9), max_size=3 * n))
    loads = draw(st.one_of(st.just([1.0] * n), st.lists(st.integers(0, 4).map(float), min_size=n, max_size=n)))
    return pairs, loads, draw(st.lists(st.integers(-20, 20), min_size=n, max_size=n))


@given(cases(), st.integers(0, 3))
def test_near_the_best_of_all_ways(case: tuple[dict[tuple[int, int], int], list[float], list[int]], seed: int) -> None:
    pairs, loads, bias = case
    n, part = len(loads), part_of(len(loads), *case)
    wanted = sum(loads) / 2
    limits = np.full(2, wanted + max(loads))
    zero, one = heap_of(n), heap_of(n)
    side = bisected(part, wanted, limits, seed, 4, zero, one)
    assert zero.size[0] == one.size[0] == 0
    assert cost_of_sides(part, side) == plain_cost(pairs, bias, side)
    assert over_sides(part, side, limits) == 0.0
    held = np.bincount(side, part.loads, 2)
    assert (held <= limits).all()
    ways = (np.array(way) for way in product((0, 1), repeat=n))
    best = min(plain_cost(pairs, bias, way) for way in ways if over_sides(part, way.astype(np.uint8), limits) == 0.0)
    assert best <= cost_of_sides(part, side) <= best + 0.25 * (sum(pairs.values()) + sum(map(abs, bias)))


def test_the_best_is_found_nearly_always() -> None:
    generator, hits = np.random.default_rng(0), 0
    for seed in range(100):
        pairs = {(a, b): int(generator.integers(1, 9)) for b in range(9) for a in range(b) if generator.random() < 0.4}
        bias = generator.integers(-9, 10, 9).tolist()
        part, limits = part_of(9, pairs, [1.0] * 9, bias), np.full(2, 5.0)
        side = bisected(part, 4.5, limits, seed, 4, heap_of(9), heap_of(9))
        ways = (np.array(way) for way in product((0, 1), repeat=9) if 4 <= sum(way) <= 5)
        hits += plain_cost(pairs, bias, side) == min(plain_cost(pairs, bias, way) for way in ways)
    assert hits >= 90


@given(cases(20), st.data())
def test_refinement_never_loses(
    case: tuple[dict[tuple[int, int], int], list[float], list[int]], data: st.DataObject
) -> None:
    n, part = len(case[1]), part_of(len(case[1]), *case)
    side = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.uint8)
    limits = np.array([data.draw(st.integers(0, 40)), data.draw(st.integers(0, 40))], float)
    over, cost = over_sides(part, side, limits), cost_of_sides(part, side)
    zero, one = heap_of(n), heap_of(n)
    refined(part, side, limits, 3, zero, one)
    assert (over_sides(part, side, limits), cost_of_sides(part, side)) <= (over, cost)
    assert zero.size[0] == one.size[0] == 0 and set(side.tolist()) <= {0, 1}


def test_a_path_with_pulls_at_its_ends() -> None:
    """A long path is cut once, and each half goes to the side that wants its end."""
    n = 1000
    part = part_of(n, {(v, v + 1): 1 for v in range(n - 1)}, [1.0] * n, [-5] + [0] * (n - 2) + [5])
    side = bisected(part, 500.0, np.full(2, 515.0), 0, 4, heap_of(n), heap_of(n))
    assert side[0] == 1 and side[-1] == 0 and cost_of_sides(part, side) == 1 - 5
