"""Streaming vertex cuts: the labels of the slow reference, bounds, warnings, expected replication."""

from __future__ import annotations

import warnings
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.expected_replication import exact_expectation, power_law_expectation
from tracecut.ir.metrics import replication_factor, vertex_copies
from tracecut.partition import partition
from tracecut.partition.balance.rebalance import capacities, rebalance
from tracecut.partition.datastructures.bit_operations import least_masked
from tracecut.partition.streaming import vertex_cut
from tracecut.partition.streaming.place_bitmask import NARROW
from tracecut.partition.streaming.stream_orders import STREAMS, stream
from tracecut.partition.streaming.vertex_cut import CollapseWarning
from tracecut.support.errors import ArgumentError

from ..streaming_reference import slow_again, slow_labels

pytestmark = pytest.mark.quick

UNBOUNDED = {"powergraph": "powergraph", "powergraph-simple": "simple", "libra": "libra"}
WEIGHTED = {"w-pg": "powergraph", "w-libra": "libra"}
BOUNDED = {"wb-pg": "powergraph", "wb-libra": "libra"}
RULES = {**UNBOUNDED, **WEIGHTED, **BOUNDED}


def within_bound(
    graph: LocalityGraph, labels: list[int], weights: np.ndarray | None, targets: np.ndarray, balance: float
) -> list[int]:
    """What `partition` makes of a bounded rule's labels where jobs have different weights: they keep the balance."""
    if weights is None or weights.size == 0 or weights.min() == weights.max():
        return labels
    return rebalance(graph, np.array(labels, np.int32), weights, targets, balance).tolist()


def random_graph(seed: int, n_data: int, n_jobs: int) -> LocalityGraph:
    """Jobs of two data with hubs, self-loops and duplicates."""
    draw = np.random.default_rng(seed)
    pins = (n_data * draw.random((2, n_jobs)) ** 2.5).astype(np.int32)
    return LocalityGraph.from_edges(pins[0], pins[1], n_data)


@pytest.mark.parametrize("k", [1, 3, 63, 64, 65, 128, 200, 4096, 4097])
@pytest.mark.parametrize(
    ("weighted", "name"), [*product([False], RULES), *((True, name) for name in RULES if name not in UNBOUNDED)]
)
@pytest.mark.filterwarnings("ignore::tracecut.partition.streaming.vertex_cut.CollapseWarning")
def test_labels_are_those_of_the_reference(name: str, k: int, weighted: bool) -> None:
    """On masks of one and of many words, at the borders between them, and on lists (k = 4097)."""
    graph = random_graph(k, 60, 700)
    weights = None
    if weighted:
        weights = np.random.default_rng(k).integers(1, 9, graph.n_jobs).astype(float)
    balance = 1.0 if name in BOUNDED else None
    arguments = {"weights": weights} if weights is not None else {}
    bound = {"balance": 1.0} if balance else {}
    rule = RULES[name]
    found = partition(graph, k, name, **arguments, **bound)
    expected = slow_labels(graph, k, rule, balance=balance, **arguments)
    if balance:
        expected = within_bound(graph, expected, weights, np.full(k, 1 / k), balance)
    assert found.labels.tolist() == expected


@pytest.mark.parametrize("name", ["libra", "powergraph-simple", "w-pg", "wb-pg", "wb-libra"])
@settings(deadline=None, max_examples=60)
@given(data=st.data(), k=st.sampled_from([1, 2, 5, 70]), balance=st.sampled_from([1.0, 1.03, 1.6]))
def test_any_graph(
    name: str, graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int, balance: float
) -> None:
    """Jobs of any number of data, fractional weights, unequal targets, any stream."""
    graph = data.draw(graphs)
    arguments: dict[str, object] = {"order": data.draw(st.permutations(range(graph.n_jobs)))}
    if name not in UNBOUNDED:
        scale = data.draw(st.sampled_from([1.0, 0.3]))
        arguments["weights"] = scale * np.array(
            data.draw(st.lists(st.integers(1, 5), min_size=graph.n_jobs, max_size=graph.n_jobs)), float
        )
    if name in BOUNDED:
        arguments["balance"] = balance
        if data.draw(st.booleans()):
            shares = 1.0 + np.arange(k) % 3
            arguments["targets"] = shares / shares.sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        found = partition(graph, k, name, unweighted=name in UNBOUNDED, **arguments)  # type: ignore[arg-type]
    rule = {**UNBOUNDED, **WEIGHTED, **BOUNDED}[name]
    expected = slow_labels(graph, k, rule, **arguments)  # type: ignore[arg-type]
    if name in BOUNDED:
        weights, targets = (arguments.get(key) for key in ("weights", "targets"))
        shares = np.full(k, 1 / k) if targets is None else targets
        expected = within_bound(graph, expected, weights, shares, balance)  # type: ignore[arg-type]
    assert found.labels.tolist() == expected


@pytest.mark.parametrize("k", [7, 100])
def test_lists_and_masks_agree(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    graph = random_graph(4, 400, 5000)
    weights = np.random.default_rng(1).integers(1, 30, graph.n_jobs).astype(float)
    by_masks = vertex_cut.wb_libra(graph, k, weights=weights, balance=1.0)
    monkeypatch.setattr(vertex_cut, "WIDE", 0)
    by_lists = vertex_cut.wb_libra(graph, k, weights=weights, balance=1.0)
    assert by_masks.tolist() == by_lists.tolist()


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("passes", [1, 2, 3, 4])
def test_the_bound_is_kept(name: str, passes: int) -> None:
    graph = random_graph(9, 300, 4000)
    weights = np.random.default_rng(2).lognormal(1.0, 1.0, graph.n_jobs)
    shares = np.arange(1.0, 10.0)
    for targets in (np.ones(9), shares):
        found = partition(graph, 9, name, weights=weights, targets=targets / targets.sum(), balance=1.0, passes=passes)
        loads = np.bincount(found.labels, weights, 9)
        assert (loads <= capacities(weights, targets / targets.sum(), 1.0) * (1 + 1e-9)).all()


@settings(deadline=None, max_examples=60)
@given(data=st.data(), k=st.integers(1, 6), balance=st.sampled_from([1.0, 1.2]))
def test_placing_again_never_costs(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int, balance: float
) -> None:
    graph = data.draw(graphs)
    order = data.draw(st.permutations(range(graph.n_jobs)))
    weights = 1.0 + np.arange(graph.n_jobs) % 3
    given = {"order": np.array(order, np.int32), "weights": weights, "targets": np.full(k, 1 / k), "balance": balance}
    found = [vertex_cut.wb_libra(graph, k, passes=passes, **given) for passes in (1, 2, 3)]  # not yet rebalanced
    costs = [Clustering(labels, k, "jobs", "wb-libra", 0, {}, graph).cost() for labels in found]
    assert costs == sorted(costs, reverse=True)
    for before, after in pairwise(found):
        expected = slow_again(graph, k, before.tolist(), order=order, weights=weights, balance=balance)
        assert after.tolist() == expected


def test_placing_again_by_hand() -> None:
    """A path 0-1-2-3 whose ends come first. Job 2 joins job 0 at datum 1; in the second pass job 1 follows it."""
    graph = LocalityGraph.from_edges([0, 2, 1], [1, 3, 2], 4)
    order = [0, 1, 2]
    assert partition(graph, 2, "wb-libra", order=order, balance=2.0).labels.tolist() == [0, 1, 0]
    assert partition(graph, 2, "wb-libra", order=order, balance=2.0, passes=2).labels.tolist() == [0, 0, 0]
    # A bound of 2 jobs keeps it out.
    assert partition(graph, 2, "wb-libra", order=order, balance=1.34, passes=2).labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize("k", [5, 70, 5000])
def test_two_passes_keep_the_better_stream(k: int, mesh: LocalityGraph) -> None:
    for graph in (mesh, random_graph(5, 200, 3000)):
        found = partition(graph, k, "wb-pg", passes=2, balance=1.1)
        costs = {name: partition(graph, k, "wb-pg", order=name, balance=1.1).cost() for name in ("degree", "bfs")}
        assert found.cost() == min(costs.values())


def test_restreaming_hardly_depends_on_the_order(mesh: LocalityGraph) -> None:
    shuffled = np.random.default_rng(3).permutation(mesh.n_jobs)
    rows = mesh.data.reshape(-1, 2)[shuffled]
    other = LocalityGraph.from_edges(rows[:, 0], rows[:, 1], mesh.n_data)
    costs = [vertex_copies(graph, partition(graph, 16, "wb-libra", passes=3)) for graph in (mesh, other)]
    one_pass = vertex_copies(mesh, partition(mesh, 16, "wb-libra", order="shuffled"))
    assert max(costs) < 0.5 * one_pass and max(costs) <= 1.1 * min(costs)


def test_rules_by_hand() -> None:
    """A path 0-1-2-3 and a chord, one cluster after the other; values worked out on paper."""
    graph = LocalityGraph.from_edges([0, 2, 1, 0], [1, 3, 2, 3], 4)
    # Jobs 0 and 1 open clusters 0 and 1. Job 2 joins 1 (cluster 0) and 2 (cluster 1): all degrees are 2, so the
    # first datum decides: cluster 0. Job 3: datum 0 in {0}, datum 3 in {1}: again the first, cluster 0.
    assert partition(graph, 2, "libra").labels.tolist() == [0, 1, 0, 0]
    # The simple rule takes the least loaded of {0, 1}: cluster 0, then cluster 1.
    assert partition(graph, 2, "powergraph-simple").labels.tolist() == [0, 1, 0, 1]
    # With the bound of 2 jobs, job 3 goes over to cluster 1.
    assert partition(graph, 2, "wb-libra", balance=1.0).labels.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("name", [*UNBOUNDED, *WEIGHTED])
def test_a_collapse_is_said(name: str) -> None:
    """A path in order: every job but the first shares a datum with the one before."""
    graph = LocalityGraph.from_edges(np.arange(50), np.arange(1, 51))
    with pytest.warns(CollapseWarning, match=f"{name} put 50 of 50 jobs in one cluster"):
        assert partition(graph, 4, name).sizes().tolist() == [50, 0, 0, 0]
    assert partition(graph, 4, "wb-libra").sizes().max() <= 13
    if name != "powergraph-simple":
        assert partition(graph, 4, name, order="shuffled", seed=1).sizes().max() < 45


def test_streams(mesh: LocalityGraph) -> None:
    orders = {name: stream(mesh, name, seed=5) for name in STREAMS}
    for jobs in orders.values():
        assert sorted(jobs.tolist()) == list(range(mesh.n_jobs))
    assert orders["natural"].tolist() == list(range(mesh.n_jobs))
    degree = mesh.degrees()[mesh.data.reshape(-1, 2)].min(axis=1)
    assert (np.diff(degree[orders["degree"]]) >= 0).all()
    star = LocalityGraph.from_edges([3, 0, 0, 1, 2], [4, 1, 2, 3, 3], 5)
    assert stream(star, "bfs").tolist() == [1, 2, 3, 4, 0]
    for name in STREAMS:
        by_name = partition(mesh, 6, "wb-libra", order=name, seed=5)
        assert by_name.labels.tolist() == partition(mesh, 6, "wb-libra", order=orders[name]).labels.tolist()
    with pytest.raises(ArgumentError, match="unknown stream order 'dfs'"):
        stream(mesh, "dfs")


def test_degree_based_hashing() -> None:
    """A star with a double edge between two leaves of degree 3: the hub never decides, ties take the first."""
    graph = LocalityGraph.from_edges([0] * 40 + [1, 1], [*range(1, 41), 2, 2], 41)
    found = partition(graph, 8, "dbh", seed=3)
    assert found.labels[0] == found.labels[40] == found.labels[41]
    assert found.sizes().max() < 16 and np.count_nonzero(found.sizes()) >= 6
    assert partition(graph, 8, "dbh", seed=3).labels.tolist() == found.labels.tolist()
    assert partition(graph, 8, "dbh", seed=4).labels.tolist() != found.labels.tolist()
    empty_jobs = LocalityGraph([0] * 101, [], 0)
    assert np.count_nonzero(partition(empty_jobs, 8, "dbh").sizes()) == 8


def test_expected_replication() -> None:
    assert exact_expectation([1, 0, 1], 5) == pytest.approx(1.0)
    assert exact_expectation([2], 2) == pytest.approx(1.5)
    assert exact_expectation([3], 2) == pytest.approx(2 * (1 - 0.5**3))
    assert exact_expectation([10**6], 3) == pytest.approx(3.0)
    assert exact_expectation([7], 1) == 1.0 and exact_expectation([], 4) == exact_expectation([0], 4) == 1.0
    # Degrees 1 and 2 with weights 1 and 2^-1: (2 · 1 + 1 · 1.5) / 3 for alpha = 1.
    assert power_law_expectation(3, 1.0, 2) == pytest.approx((1 + 1.5 / 2) / 1.5)
    uniform = np.mean([exact_expectation([d], 9) for d in range(1, 50)])
    assert power_law_expectation(50, 0.0, 9) == pytest.approx(uniform)
    graph = random_graph(1, 2000, 20000)
    rows = np.sort(graph.data.reshape(-1, 2), axis=1)
    plain = LocalityGraph.from_edges(*rows[rows[:, 0] != rows[:, 1]].T, graph.n_data)
    random = replication_factor(plain, partition(plain, 32, "random", seed=1))
    assert random == pytest.approx(exact_expectation(plain.degrees(), 32), rel=0.02)
    for name in ("wb-libra", "wb-pg"):
        assert replication_factor(plain, partition(plain, 32, name)) < 0.9 * random


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exact_expectation([1, -2], 3), r"degrees\[1\] = -2 is negative"),
        (lambda: exact_expectation([1.5], 3), r"degrees\[0\] = 1.5 is not an integer"),
        (lambda: exact_expectation([1], 0), "k is 0"),
        (lambda: power_law_expectation(1, 2.0, 3), "n is 1"),
        (lambda: power_law_expectation(9, float("nan"), 3), "exponent = nan"),
        (lambda: partition(LocalityGraph([0], [], 0), 2, "libra", weights=[]), "does not use weights"),
        (lambda: partition(LocalityGraph([0], [], 0), 2, "libra", passes=2), "does not use passes"),
        (lambda: partition(LocalityGraph([0], [], 0), 2, "wb-pg", order="dfs"), "there is no order 'dfs'"),
    ],
)
def test_wrong_arguments(call: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()  # type: ignore[operator]


@njit
def least(keys: np.ndarray, base: int, mask: int) -> int:
    return least_masked(keys, base, mask)


@settings(deadline=None)
@given(
    keys=st.lists(st.integers(0, 2**64 - 1), min_size=192, max_size=192),
    group=st.integers(0, 2),
    mask=st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 63).map(lambda bit: 1 << bit), st.just(0)),
)
def test_the_least_of_masked_keys(keys: list[int], group: int, mask: int) -> None:
    expected = min((keys[64 * group + i] for i in range(64) if mask >> i & 1), default=2**64 - 1)
    assert int(least(np.array(keys, np.uint64), np.uint64(64 * group), np.uint64(mask))) == expected


def test_a_bound_below_the_lightest_job() -> None:
    """More clusters than jobs: the bound is below one job, and each job goes to the least loaded."""
    graph = LocalityGraph.from_edges([0, 0, 0], [1, 1, 1], 2)
    assert partition(graph, NARROW, "wb-libra").labels.tolist() == [0, 1, 2]
    assert partition(graph, 100, "wb-pg", weights=[5.0, 6.0, 7.0]).labels.tolist() == [0, 1, 2]
