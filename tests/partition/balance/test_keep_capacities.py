"""Capacities are kept by every method, whatever it makes, and members leave across borders."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.metrics import memory_violations
from tracecut.partition import METHODS, partition
from tracecut.partition.balance.borders import LOOK, Nets, adjacent_clusters, cut_pairs, leaving, renewed_pairs
from tracecut.partition.balance.keep_capacities import _plan, keep_capacities
from tracecut.partition.balance.target_sizes import optimal_sizes
from tracecut.partition.datastructures.plain_graphs import has_pairs
from tracecut.partition.methods import AUTO, Method
from tracecut.support.errors import ArgumentError

from ..meshes import lattice

pytestmark = pytest.mark.quick
HERE = [*(method for method in METHODS.values() if method.installed), AUTO]
LOADS = st.sampled_from([0.0, 0.5, 1.0, 1.0, 1.0, 2.0, 7.0])


def grid(side: int) -> LocalityGraph:
    return lattice(side)[0]


def kept(graph: LocalityGraph, labels: np.ndarray, capacities: np.ndarray, of: str, **more: Any) -> np.ndarray:
    room = np.asarray(capacities, np.float64)
    return keep_capacities(graph, labels.astype(np.int32), more.get("weights"), more.get("limits", room), room, of)


@settings(deadline=None, max_examples=200)
@given(data=st.data(), k=st.integers(1, 6), of=st.sampled_from(["jobs", "data"]))
def test_no_cluster_is_overfull(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int, of: str) -> None:
    """Whatever the labels, the weights and the room: with room for one heaviest member more there is always a way."""
    graph = data.draw(graphs)
    size = graph.n_jobs if of == "jobs" else graph.n_data
    labels = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=size, max_size=size)), np.int32)
    weights = np.array(data.draw(st.lists(LOADS, min_size=size, max_size=size)), np.float64)
    shares = np.array(data.draw(st.lists(st.integers(0, 5), min_size=k, max_size=k)), np.float64)
    shares[0] += 1
    heaviest = weights.max(initial=0.0)
    room = np.where(shares > 0, shares / shares.sum() * weights.sum() + heaviest, 0.0)
    found = kept(graph, labels, room, of, weights=weights)
    assert (np.bincount(found, weights, k) <= room * (1 + 1e-9)).all()
    if (np.bincount(labels, weights, k) <= room).all():
        assert found.tolist() == labels.tolist()
    assert kept(graph, labels, room, of, weights=weights).tolist() == found.tolist()


@settings(deadline=None, max_examples=100)
@given(data=st.data(), k=st.integers(1, 6))
def test_numbers_of_members_are_kept_to_the_last_one(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int
) -> None:
    """Where all weigh the same there is a way whenever all fit."""
    graph = data.draw(graphs)
    labels = np.array(
        data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n_jobs, max_size=graph.n_jobs)), np.int32
    )
    room = np.bincount(
        np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n_jobs, max_size=graph.n_jobs)), np.int64),
        minlength=k,
    )
    assert np.bincount(kept(graph, labels, room, "jobs"), minlength=k).tolist() == room.tolist()


def test_members_leave_across_the_border() -> None:
    """Three strips of a grid, the left one too wide: its last column goes to the middle, whose last one goes right."""
    graph = grid(12)
    columns = np.arange(144) % 12
    labels = np.where(columns < 6, 0, np.where(columns < 9, 1, 2))
    found = kept(graph, labels, np.array([48, 48, 48.0]), "data")
    assert np.bincount(found).tolist() == [48, 48, 48]
    strips = Clustering((columns // 4).astype(np.int32), 3, "data", graph=graph)
    assert Clustering(found, 3, "data", graph=graph).cost() <= strips.cost() * 1.25


def test_only_what_has_to_move_moves() -> None:
    graph = grid(20)
    labels = (np.arange(400) // 100).astype(np.int32)
    labels[100:105] = 0
    room = np.array([100.0, math.inf, 100, 100])
    found = kept(graph, labels, room, "data")
    assert np.count_nonzero(found != labels) == 5
    assert np.bincount(found).tolist() == [100, 100, 100, 100]


def test_receivers_stay_within_their_limits_while_others_have_room() -> None:
    graph = grid(30)
    labels = (np.arange(900) // 300).astype(np.int32)
    limits, room = np.array([200.0, 310, 390]), np.array([210.0, 900, 900])
    found = kept(graph, labels, room, "data", limits=limits)
    sizes = np.bincount(found)
    assert sizes[0] <= 210 and (sizes[1:] <= limits[1:]).all()


def test_clusters_that_hand_on_stay_within_their_limits() -> None:
    """Sixty narrow strips, the first too full: each of the next must pass on nearly as much as it gets."""
    graph = grid(60)
    labels = (np.arange(3600) // 60).astype(np.int32)
    limits, room = np.full(60, 61.8), np.full(60, 90.0)
    limits[0] = room[0] = 20.0
    found = kept(graph, labels, room, "data", limits=limits)
    sizes = np.bincount(found, minlength=60)
    assert sizes[0] <= 20 and sizes.max() <= 61


def test_what_is_planned_adds_up() -> None:
    """Flows on a path of clusters: out of each goes what came in, and what it has too much."""
    k = 6
    codes = np.array(sorted([(a, a + 1) for a in range(k - 1)] + [(a + 1, a) for a in range(k - 1)]))
    begins = np.searchsorted(codes[:, 0], np.arange(k + 1)).astype(np.int64)
    targets = codes[:, 1].astype(np.int64)
    backward = np.array([np.flatnonzero((codes == pair[::-1]).all(axis=1))[0] for pair in codes], np.int64)
    loads, room = np.array([9.0, 2, 5, 5, 12, 0]), np.full(k, 6.0)
    flow = _plan(begins, targets, backward, loads, room)
    after = loads.copy()
    np.subtract.at(after, codes[:, 0], flow)
    np.add.at(after, codes[:, 1], flow)
    assert (flow >= 0).all() and (after <= room).all() and after.sum() == loads.sum()
    assert not ((flow > 0) & (flow[backward] > 0)).any()


@pytest.mark.parametrize("method", HERE, ids=lambda method: method.name)
@pytest.mark.filterwarnings("ignore::tracecut.partition.streaming.vertex_cut.CollapseWarning")
def test_every_method_keeps_them(method: Method) -> None:
    """Tight ones, uneven ones, and clusters that may hold nothing; of jobs and of data."""
    graph, k = grid(16), 6
    draw = np.random.default_rng(1)
    arguments: dict[str, Any] = {}
    if "coords" in method.uses:
        arguments["coords"] = lattice(16)[1]
    if "hierarchy" in method.uses:
        arguments["hierarchy"] = [2, 3]
    for of in ("jobs", "data"):
        if of == "data" and method.kind != "data":
            continue
        size = graph.n_jobs if of == "jobs" else graph.n_data
        shares = draw.random(k) + 0.1
        for room in (
            np.full(k, math.ceil(1.0001 * size / k)),
            np.ceil(shares / shares.sum() * size),
            np.array([0.0, size / 4, math.inf, size / 8, size, 0.5]),
        ):
            found = partition(graph, k, method.name, of=of, capacities=room, **arguments)
            assert memory_violations(graph, found, room) == 0
            assert found.options["capacities"] == [each if math.isfinite(each) else None for each in room]


def test_weights_and_refinement_keep_them() -> None:
    graph, k = grid(24), 8
    weights = np.random.default_rng(2).integers(1, 9, graph.n_jobs).astype(np.float64)
    room = np.full(k, 1.001 * weights.sum() / k)
    for name in ("multilevel", "spac", "metis", "wb-libra"):
        found = partition(graph, k, name, weights=weights, capacities=room, refine="km1")
        assert (np.bincount(found.labels, weights, k) <= room).all(), name


def test_targets_default_to_what_fits() -> None:
    graph, k = grid(30), 3
    room = np.array([100.0, 1000, 1000])
    found = partition(
        graph, k, "rcb", of="data", capacities=room, coords=np.stack(np.divmod(np.arange(900), 30), axis=1)
    )
    assert np.abs(found.sizes() - optimal_sizes(900, np.ones(3), room)).max() <= 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"capacities": [10, 10]}, "capacities has 2 entries, 3 expected"),
        ({"capacities": [10, 10, -1]}, r"capacities\[2\] = -1"),
        ({"capacities": [10, math.nan, 1]}, r"capacities\[1\] = nan"),
        ({"capacities": [10, 10, 10]}, "a load of 64 does not fit: the capacities add up to 30, 34 too few"),
        ({"capacities": [64, 64, 1], "targets": [32, 30, 2]}, r"targets\[2\] is a load of 2, its capacity is 1"),
        ({"capacities": "many"}, "capacities"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        partition(grid(8), 3, "metis", of="data", **arguments)


def test_what_can_not_be_packed_is_refused() -> None:
    """Three members of 2 or more do not go into two clusters of 3, though their sum does; equal ones are counted."""
    graph = LocalityGraph(np.array([0, 1, 2, 3]), [0, 0, 0], 1)
    with pytest.raises(ArgumentError, match=r"no way was found .* would hold 4, its capacity is 3\.25"):
        partition(graph, 2, "chunks", weights=[2.0, 2, 2.5], capacities=[3.25, 3.25])
    with pytest.raises(ArgumentError, match=r"3 members of weight 2 do not fit: .* hold 2 whole ones, 1 too few"):
        partition(graph, 2, "chunks", weights=[2.0, 2, 2], capacities=[3.0, 3])


def test_the_report_counts_what_is_overfull() -> None:
    graph = grid(6)
    found = partition(graph, 2, "metis", of="data", capacities=[30.0, 6.0])
    assert found.report()["memory_violations"] == 0
    assert replace(found, labels=1 - found.labels).report()["memory_violations"] == 1
    assert "memory_violations" not in partition(graph, 2, "metis", of="data").report()


def test_several_weights_have_no_capacities() -> None:
    weights = np.ones((64, 2))
    with pytest.raises(ArgumentError, match="capacities hold one load, each datum has 2"):
        partition(grid(8), 2, "metis", of="data", weights=weights, capacities=[64, 64])


def test_violations_are_counted() -> None:
    graph = grid(4)
    found = Clustering(np.arange(16, dtype=np.int32) // 6, 3, "data", graph=graph)
    assert memory_violations(graph, found, np.array([6.0, 5, 4])) == 1
    assert memory_violations(graph, found, np.array([math.inf, 6, 4])) == 0
    with pytest.raises(ArgumentError, match="3 numbers"):
        memory_violations(graph, found, np.array([6.0, 5]))


def test_what_weighs_nothing_fits_everywhere() -> None:
    edges = np.arange(20), np.arange(1, 21)
    for room in ([0.0] * 4, [5.0, 0.0, 0.0, 1.0]):
        found = partition(edges, 4, "metis", of="data", weights=np.zeros(21), capacities=room)
        assert found.sizes().max() <= 6 and found.memory_violations() == 0
    with pytest.raises(ArgumentError, match="capacities has 3 entries, 4 expected"):
        partition(edges, 4, "metis", of="data", weights=np.zeros(21), capacities=[1.0] * 3)
    with pytest.raises(ArgumentError, match="a load of 21 does not fit"):
        partition(edges, 4, "metis", of="data", capacities=[0.0] * 4)


@settings(deadline=None, max_examples=100)
@given(data=st.data(), k=st.integers(2, 5))
def test_cut_pairs_are_kept_up(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> None:
    """After moves of some members they are those that a new look at all nets finds, and so are the borders."""
    graph = data.draw(graphs)
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    starts, near = graph.transpose
    offsets = (graph.offsets.astype(np.int64), graph.data.astype(np.uint32))
    pairs = has_pairs(graph)
    nets = Nets(starts.astype(np.int64), near.astype(np.uint32), *offsets, np.zeros(0), pairs)
    labels = draw.integers(0, k, graph.n_data).astype(np.int32)
    found = cut_pairs(nets, labels, k)
    for _ in range(3):
        moved = np.flatnonzero(draw.random(graph.n_data) < 0.3)
        labels[moved] = draw.integers(0, k, moved.size)
        found = renewed_pairs(nets, found, labels, moved)
        again = cut_pairs(nets, labels, k)
        assert {tuple(row) for row in found.tolist()} == {tuple(row) for row in again.tolist()}
        slow = set()
        for job in range(graph.n_jobs):
            own = graph.data[graph.offsets[job] : graph.offsets[job + 1]].tolist()[:LOOK]
            slow |= {(u, v) for u, v in pairwise(own) if labels[u] != labels[v]}
        assert {tuple(row) for row in again.tolist()} == slow
        codes = np.unique(adjacent_clusters(again, labels.view(np.uint32), k)).tolist()
        assert codes == sorted({k * a + b for u, v in slow for a, b in permutations(labels[[u, v]].tolist())})


def test_only_members_that_meet_a_receiver_leave() -> None:
    """Three columns of a path graph: with flow from the first to the second cluster one member is on the way out."""
    pairs = np.array([[1, 2], [3, 4]], np.uint32)
    labels, begins, targets = np.array([0, 0, 1, 1, 2], np.uint32), np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1])
    flow = np.array([1.0, 0, 0, 0])
    assert np.flatnonzero(leaving(pairs, labels, begins, targets, flow, True)).tolist() == [1]
    assert np.flatnonzero(leaving(pairs, labels, begins, targets, np.array([0.0, 0, 0, 0]), True)).tolist() == []
    assert np.flatnonzero(leaving(pairs, labels, begins, targets, np.array([0.0, 1, 0, 0]), False)).tolist() == [2, 3]
