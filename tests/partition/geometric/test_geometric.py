"""Geometric partitions: cells against brute force, curves, bisection, hierarchies."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.partition import partition
from tracecut.partition.balance.fill_empty import fill_empty
from tracecut.partition.datastructures.typed_views import floats
from tracecut.partition.geometric.kmeans import fan_outs, hkmeans, kmeans
from tracecut.partition.geometric.kmeans_sweeps import STEP, swept
from tracecut.partition.geometric.plane_cuts import multijagged, rcb, rib
from tracecut.partition.geometric.space_filling_curves import curve_order
from tracecut.partition.geometric.trim_cells import trim
from tracecut.partition.geometric.voronoi_cells import Cells, padded
from tracecut.partition.parallel.thread_pool import ThreadPool, blocks
from tracecut.support.errors import ArgumentError

from ..meshes import cut, delaunay, lattice, over

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("dims", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [1, 2, 7, 60, 90])
def test_every_point_lies_in_its_cell(dims: int, k: int) -> None:
    """90 cells are more than the list of walls holds; reaches differ up to twentyfold."""
    draw = np.random.default_rng(dims * 100 + k)
    points = floats(padded(draw.random((800, dims))))
    centres = padded(draw.random((k, dims)))
    reach = draw.uniform(0.05, 1.0, k)
    loads = draw.uniform(0.5, 2.0, 800)
    labels = draw.integers(0, k, 800).astype(np.uint32)
    with ThreadPool(1, 800) as pool:
        start = Cells(centres, reach)
        _, total = swept(points, floats(loads), labels, start, np.full(k, 1 / k), pool, sweeps=1, power=1.0, slack=0.0)
    far = np.linalg.norm(points[:, None] - centres[None], axis=2) / reach
    assert labels.tolist() == far.argmin(axis=1).tolist()
    assert total[:, 0] == pytest.approx(np.bincount(labels, loads, k))
    for c in range(k):
        own = labels == c
        assert total[c, 1:] == pytest.approx(loads[own] @ points[own])


def test_centres_on_top_of_each_other_share_one_cell() -> None:
    points = floats(padded(np.random.default_rng(1).random((50, 2))))
    labels = np.ones(50, np.uint32)
    with ThreadPool(1, 50) as pool:
        cells = Cells(np.full((3, 3), 0.5), np.array([1.0, 1.0, 2.0]))
        swept(points, floats(np.ones(50)), labels, cells, np.full(3, 1 / 3), pool, sweeps=1, power=1.0, slack=0.0)
    assert set(labels.tolist()) == {2}


@pytest.mark.parametrize("dims", [2, 3])
def test_sweeps_move_centres_to_the_means_and_reaches_to_the_targets(dims: int) -> None:
    draw = np.random.default_rng(dims)
    points, loads = padded(draw.random((700, dims))), draw.uniform(0.5, 2.0, 700)
    centres, reach, shares = padded(draw.random((9, dims))), draw.uniform(0.5, 1.0, 9), np.arange(1.0, 10.0) / 45
    labels = np.zeros(700, np.uint32)
    with ThreadPool(1, 700) as pool:
        found, _ = swept(
            floats(points), floats(loads), labels, Cells(centres, reach), shares, pool,
            sweeps=6, power=1 / dims, slack=0.05,
        )  # fmt: skip
    for _ in range(6):
        own = (np.linalg.norm(points[:, None] - centres[None], axis=2) / reach).argmin(axis=1)
        held = np.bincount(own, loads, 9)
        for c in np.flatnonzero(held):
            centres[c] = np.average(points[own == c], axis=0, weights=loads[own == c])
        lack = shares * loads.sum() / np.maximum(held, 1e-300)
        lack[np.abs(lack - 1) < 0.05] = 1
        reach = reach * np.clip(lack ** (1 / dims), 1 / STEP, STEP)
        reach /= np.exp(np.log(reach).mean())
    assert labels.tolist() == own.tolist()
    assert found.centres == pytest.approx(centres) and found.reach == pytest.approx(reach)


def test_reaches_alone_even_the_loads() -> None:
    points, shares = padded(np.random.default_rng(5).random((4000, 2))), np.array([0.1, 0.2, 0.3, 0.4])
    cells, labels = Cells(padded(np.random.default_rng(6).random((4, 2))), np.ones(4)), np.zeros(4000, np.uint32)
    with ThreadPool(1, 4000) as pool:
        found, _ = swept(
            floats(points), floats(np.ones(4000)), labels, cells, shares, pool,
            sweeps=60, power=0.5, slack=0.005, aim=1.02,
        )  # fmt: skip
    assert found.centres.tolist() == cells.centres.tolist()
    assert over(labels, 4, None, shares) <= 1.02
    assert (
        labels.tolist()
        == (np.linalg.norm(points[:, None] - found.centres, axis=2) / found.reach).argmin(axis=1).tolist()
    )


def test_trimming_moves_the_points_nearest_to_the_border() -> None:
    points = floats(padded(np.linspace(0, 1, 11)[:, None]))
    labels = np.zeros(11, np.uint32)
    labels[9:] = 1
    cells = Cells(padded(np.array([[0.4], [0.95]])), np.ones(2))
    trimmed = trim(points, floats(np.ones(11)), labels, cells, np.array([6.0, 6.0]))
    assert trimmed.tolist() == [0] * 6 + [1] * 5


@pytest.mark.parametrize(("dims", "bits"), [(1, 5), (2, 8), (3, 9), (4, 8)])
def test_a_hilbert_curve_takes_single_steps_and_meets_every_cell(dims: int, bits: int) -> None:
    _, points = lattice(2 ** (bits // dims), dims)
    order = curve_order(points / 2 ** (bits // dims), bits=bits)
    assert sorted(order.tolist()) == list(range(points.shape[0]))
    assert (np.abs(np.diff(points[order], axis=0)).sum(axis=1) == 1).all()


def test_a_morton_curve_interleaves_bits() -> None:
    draw = np.random.default_rng(3).integers(0, 1 << 10, (200, 3))
    keys = [int("".join(f"{x:010b}"[i] + f"{y:010b}"[i] + f"{z:010b}"[i] for i in range(10)), 2) for x, y, z in draw]
    order = curve_order(draw / 1024.0, turning=False, bits=30)
    assert order.tolist() == np.argsort(keys, kind="stable").tolist()


def test_curves_through_many_dimensions_use_the_widest() -> None:
    draw = np.random.default_rng(4)
    points = 0.01 * draw.random((64, 40))
    wide = np.sort(draw.permutation(40)[:16])
    points[:, wide] = draw.random((64, 16))
    assert curve_order(points).tolist() == curve_order(points[:, wide]).tolist()


def test_bisection_of_a_lattice_makes_squares() -> None:
    graph, points = lattice(16)
    for method in (rcb, multijagged):
        labels = method(graph, 16, coords=points)
        for c in range(16):
            assert np.ptp(points[labels == c], axis=0).tolist() == [3, 3]
    assert cut(graph, rcb(graph, 16, coords=points), 16) == 6 * 16


def test_inertial_bisection_cuts_across_a_slanted_bar() -> None:
    draw = np.random.default_rng(6)
    along, across = draw.random(400), 0.05 * draw.random(400)
    points = np.stack([along - across, along + across], axis=1)
    graph, _ = lattice(20)
    labels = rib(graph, 4, coords=points)
    rank = np.argsort(np.argsort(along))
    assert np.abs(labels - rank // 100).max() == 1 or (labels == rank // 100).all()
    assert (labels == rank // 100).mean() > 0.97


@pytest.mark.parametrize("method", [rcb, rib, multijagged])
def test_pieces_without_any_work_are_cut_too(method: Any) -> None:
    """All of the load lies in the last datum: the first cut leaves a piece of several clusters that has none."""
    graph, points = lattice(6)
    weights = np.zeros(36)
    weights[35] = 5.0
    labels = method(graph, 5, coords=points, weights=weights)
    assert labels.min() >= 0 and labels.max() < 5


@pytest.mark.parametrize("method", [rcb, rib, multijagged])
@settings(deadline=None, max_examples=40)
@given(
    weights=st.lists(st.integers(1, 20), min_size=1, max_size=40),
    shares=st.lists(st.integers(1, 9), min_size=1, max_size=9),
)
def test_cuts_by_planes_miss_targets_by_few_items(method: object, weights: list[int], shares: list[int]) -> None:
    n, k = len(weights), len(shares)
    points = np.random.default_rng(n).random((n, 2))
    graph, _ = lattice(n, 1)
    loads, targets = np.array(weights, np.float64), np.array(shares) / sum(shares)
    labels = method(graph, k, coords=points, weights=loads, targets=targets)  # type: ignore[operator]
    held = np.bincount(labels, loads, k)
    assert (held - targets * loads.sum() <= loads.max() * (1 + np.ceil(np.log2(k + 1)))).all()


def test_k_means_is_rounder_than_bisection() -> None:
    graph, points = delaunay(6000, seed=2)
    flat = cut(graph, rcb(graph, 24, coords=points), 24)
    assert cut(graph, kmeans(graph, 24, coords=points), 24) < 0.98 * flat


def test_k_means_on_points_of_very_different_density() -> None:
    draw = np.random.default_rng(8)
    angle, radius = 2 * np.pi * draw.random(8000), draw.random(8000) ** 4
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    graph, _ = lattice(8000, 1)
    assert over(partition(graph, 16, "kmeans", of="data", coords=points).labels, 16) <= 1.03


def test_a_hierarchy_keeps_children_together() -> None:
    graph, points = lattice(24)
    rough = hkmeans(graph, 12, coords=points, hierarchy=[2, 6], smooth=False)
    coarse = hkmeans(graph, 2, coords=points, hierarchy=[2], balance=1.015, smooth=False)
    assert (rough // 6).tolist() == coarse.tolist()
    smooth = hkmeans(graph, 12, coords=points, hierarchy=[2, 6])
    assert (smooth // 6 == rough // 6).mean() > 0.8
    assert cut(graph, smooth, 12) <= 1.1 * cut(graph, kmeans(graph, 12, coords=points), 12)


@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [
        ([2, 3], r"hierarchy = \[2, 3\] has the product 6, k = 4"),
        ([2, 0], r"hierarchy\[1\] = 0, a whole number from 1"),
        ([2.0, 2], r"hierarchy\[0\] = 2.0"),
        ([True, 4], r"hierarchy\[0\] = True"),
        ([], r"has the product 1, k = 4"),
    ],
)
def test_wrong_hierarchies_are_named(hierarchy: list[object], message: str) -> None:
    graph, points = lattice(4)
    with pytest.raises(ArgumentError, match=message):
        partition(graph, 4, "hkmeans", coords=points, hierarchy=hierarchy)  # type: ignore[arg-type]


def test_default_fan_outs() -> None:
    assert [fan_outs(None, k) for k in (1, 7, 12, 64)] == [[1], [7], [3, 4], [8, 8]]


def test_empty_parts_are_filled_from_those_with_most() -> None:
    filled = fill_empty(np.array([2, 2, 2, 0, 0], np.int32), 4, np.array([1.0, 1, 1, 1, 1]))
    assert filled.tolist() == [1, 3, 2, 0, 0]
    assert fill_empty(np.array([1, 1], np.int32), 4, np.ones(2)).tolist() == [0, 1]
    assert fill_empty(np.zeros(0, np.int32), 3, np.zeros(0)).size == 0


def test_blocks_cover_everything_once() -> None:
    for items in (0, 1, 20_000, 40_000, 1 << 20):
        parts = blocks(items)
        assert parts[0][0] == 0 and parts[-1][1] == items and len(parts) <= 16
        assert all(first[1] == second[0] for first, second in pairwise(parts))
