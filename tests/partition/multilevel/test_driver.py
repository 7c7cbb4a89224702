"""Multilevel partitioning."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.metrics import target_imbalance, vertex_copies
from tracecut.partition import partition
from tracecut.partition.balance.rebalance import capacities
from tracecut.partition.coarsening.hypergraph_levels import finest_level
from tracecut.partition.initial.along_paths import along_paths
from tracecut.partition.multilevel.driver import multilevel, refine_km1, v_cycle
from tracecut.partition.multilevel.initial import bisect, contest, first_partition
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.partition.refinement.km1 import level_cost

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def torus() -> LocalityGraph:
    """A 60 × 60 torus, with its edges in random order."""
    names = np.arange(3600, dtype=np.int32).reshape(60, 60)
    u = np.concatenate([names.ravel(), names.ravel()])
    v = np.concatenate([np.roll(names, 1, 0).ravel(), np.roll(names, 1, 1).ravel()])
    order = np.random.default_rng(7).permutation(u.size)
    return LocalityGraph.from_edges(u[order], v[order], 3600)


def test_it_beats_the_methods_that_it_starts_from(torus: LocalityGraph) -> None:
    found = partition(torus, 9, "multilevel", seed=1)
    assert found.sizes().max() <= 1.03 * torus.n_jobs / 9
    cost = vertex_copies(torus, found)
    assert cost < 0.9 * vertex_copies(torus, partition(torus, 9, "spac"))
    assert cost <= vertex_copies(torus, partition(torus, 9, "expansion"))
    more = partition(torus, 9, "multilevel", seed=1, cycles=2)
    assert vertex_copies(torus, more) <= cost


def test_same_seed_same_labels(torus: LocalityGraph) -> None:
    first = partition(torus, 5, "multilevel", seed=4, threads=1)
    assert partition(torus, 5, "multilevel", seed=4, threads=2).labels.tolist() == first.labels.tolist()


def test_threads_change_nothing() -> None:
    """A graph that is large enough for several threads in every phase."""
    draw = np.random.default_rng(4)
    ends = draw.integers(0, 20_000, 80_000)
    graph = LocalityGraph.from_edges(ends, (ends + draw.geometric(0.02, ends.size)) % 20_000)
    one, two = (partition(graph, 6, "multilevel", seed=1, threads=threads) for threads in (1, 2))
    assert one.labels.tolist() == two.labels.tolist()
    start = partition(graph, 6, "chunks")
    weights, targets = np.ones(graph.n_jobs), np.full(6, 1 / 6)
    again = [refine_km1(graph, start.labels, weights=weights, targets=targets, threads=threads) for threads in (1, 2)]
    assert again[0].tolist() == again[1].tolist()


def test_two_cliques_and_a_bridge() -> None:
    """The optimum: one clique a cluster, the bridge's end copied once."""
    pairs = [(i + o, j + o) for o in (0, 6) for i in range(6) for j in range(i)] + [(0, 6)]
    graph = LocalityGraph.from_edges([u for u, _ in pairs], [v for _, v in pairs])
    found = multilevel(graph, 2, balance=1.1)
    assert vertex_copies(graph, Clustering(found, 2)) == 1


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_small_graphs_against_the_optimum(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject) -> None:
    """Never below the enumerated optimum, within the same capacities, and mostly at it."""
    graph = data.draw(graphs.filter(lambda graph: 0 < graph.n_jobs <= 8))
    weights = graph.job_weights if graph.job_weights.size else np.ones(graph.n_jobs)
    limits = capacities(weights, np.full(2, 0.5), 1.2)
    costs = []
    for labels in product((0, 1), repeat=graph.n_jobs):
        if (np.bincount(labels, weights, 2) <= limits).all():
            costs.append(vertex_copies(graph, Clustering(np.array(labels, np.int32), 2)))
    found = partition(graph, 2, "multilevel", balance=1.2)
    assert (np.bincount(found.labels, weights, 2) <= limits).all()
    assert min(costs) <= vertex_copies(graph, found) <= min(costs) + 3


def test_weights_and_targets(torus: LocalityGraph) -> None:
    shares = np.array([4.0, 2.0, 1.0, 1.0]) / 8
    weights = np.where(np.arange(torus.n_jobs) % 7 == 0, 5.0, 0.75)
    found = partition(torus, 4, "multilevel", targets=shares, weights=weights)
    heavy = LocalityGraph(torus.offsets, torus.data, torus.n_data, job_weights=weights)
    assert target_imbalance(heavy, found, shares) <= 1.03 * (1 + 1e-9)
    assert vertex_copies(torus, found) < 400


@settings(deadline=None, max_examples=60)
@given(data=st.data(), k=st.integers(1, 5), seed=st.integers(0, 3), cycles=st.integers(1, 2))
def test_refining_never_loses(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int, seed: int, cycles: int
) -> None:
    graph = data.draw(graphs)
    weights = graph.job_weights if graph.job_weights.size else np.ones(graph.n_jobs)
    drawn = data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n_jobs, max_size=graph.n_jobs))
    labels = np.array(drawn, np.int32)
    found = refine_km1(graph, labels, weights=weights, targets=np.full(k, 1 / k), seed=seed, cycles=cycles)
    assert vertex_copies(graph, Clustering(found, k)) <= vertex_copies(graph, Clustering(labels, k))
    limits = capacities(weights, np.full(k, 1 / k), 1.03)
    before, after = (np.bincount(own, weights, k) for own in (labels, found))
    assert (after <= np.maximum(before, limits) * (1 + 1e-9)).all()
    again = refine_km1(graph, labels, weights=weights, targets=np.full(k, 1 / k), seed=seed, cycles=cycles)
    assert again.tolist() == found.tolist()


def test_a_cycle_keeps_its_start_or_betters_it(torus: LocalityGraph) -> None:
    level = finest_level(torus, np.ones(torus.n_jobs))
    start = (np.arange(level.n_nodes) * 4 // level.n_nodes).astype(np.uint32)
    quarter = np.full(4, level.n_nodes / 4)
    found = v_cycle(level, start, quarter, quarter * 1.03, 1)
    assert level_cost(level, found, 4) < level_cost(level, start, 4) / 2
    assert (np.bincount(found) <= quarter * 1.03).all()


def test_bisection(torus: LocalityGraph) -> None:
    level = finest_level(torus, np.ones(torus.n_jobs))
    shares = np.array([0.25, 0.75]) * level.n_nodes
    sides, excess, cost = bisect(level, shares, shares * 1.02, 3)
    assert excess == 0 and cost == level_cost(level, sides, 2) <= 240
    assert (np.bincount(sides) <= shares * 1.02).all()
    third = np.full(3, level.n_nodes / 3)
    labels = first_partition(level, third, third * 1.03, 2)
    assert (np.bincount(labels) <= third * 1.03).all() and level_cost(level, labels, 3) <= 400


def test_bisection_gives_up_where_it_falls_behind(torus: LocalityGraph) -> None:
    """Against labels in stripes, which cost little, and against labels at random."""
    level = finest_level(torus, np.ones(torus.n_jobs))
    target = np.full(4, level.n_nodes / 4)
    with ThreadPool(1, 0) as pool:
        good = first_partition(level, target, target * 1.03, 2)
        cost = level_cost(level, good, 4)
        bad = np.random.default_rng(1).integers(0, 4, level.n_nodes).astype(np.uint32)
        others, stated, found = contest(level, target, target * 1.03, 2, 1, pool, lambda: (bad, 7))
        assert others.tolist() == bad.tolist() and stated == 7
        assert found is not None and found.tolist() == good.tolist()
        none = np.zeros(level.n_nodes, np.uint32)
        assert contest(level, target, target * 1.03, 2, 1, pool, lambda: (none, 0))[2] is None
        assert cost > level_cost(level, none, 4)
        two = finest_level(LocalityGraph.from_edges([0, 0], [1, 2]), np.array([1.0, 9.0]))
        for heavy in (0.1, 5.0, 20.0):  # halves without a node
            goal = np.full(5, heavy)
            own, _, found = contest(two, goal, goal, 1, 1, pool, lambda: (np.array([4, 0], np.uint32), 1))
            assert own.tolist() == [4, 0] and (found is None or found.max() < 5)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), k=st.integers(1, 5))
def test_labels_along_paths(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> None:
    """Every job has a label, however small the graph; and a chain of jobs is cut into as many pieces as clusters."""
    graph = data.draw(graphs.filter(lambda graph: graph.n_jobs > 0))
    weights = graph.job_weights if graph.job_weights.size else np.ones(graph.n_jobs)
    with ThreadPool(1, 0) as pool:
        labels = along_paths(graph, weights, np.full(k, 1 / k), capacities(weights, np.full(k, 1 / k), 1.03), pool)
        assert labels.size == graph.n_jobs and labels.max() < k
        chain = LocalityGraph.from_edges(np.arange(900), np.arange(1, 901))
        found = along_paths(chain, np.ones(900), np.full(3, 1 / 3), np.full(3, 310.0), pool)
    assert np.bincount(found).max() <= 310 and vertex_copies(chain, Clustering(found.view(np.int32), 3)) <= 4


def test_paths_tell_the_jobs_of_hubs_apart() -> None:
    """Hubs in a row, whose many jobs stand in the order of a line of data: along the line few copies are enough."""
    line = np.arange(4000)
    graph = LocalityGraph.from_edges(np.concatenate([line, line]), np.concatenate([line + 1, 5000 + line // 200]))
    found = partition(graph, 8, "multilevel", seed=1)
    assert vertex_copies(graph, found) <= 16
    assert found.sizes().max() <= 1.03 * graph.n_jobs / 8


@pytest.mark.parametrize("k", [2, 7, 300])
def test_extremes(k: int) -> None:
    """Jobs that share nothing, one hub, jobs without data, more clusters than jobs."""
    alone = LocalityGraph.from_edges(2 * np.arange(3000), 2 * np.arange(3000) + 1)
    assert vertex_copies(alone, partition(alone, k, "multilevel")) == 0
    star = LocalityGraph.from_edges(np.zeros(3000, np.int32), np.arange(1, 3001))
    assert vertex_copies(star, partition(star, k, "multilevel")) == k - 1
    nothing = LocalityGraph(np.zeros(251, np.int64), np.zeros(0, np.int32), 4)
    assert partition(nothing, k, "multilevel").sizes().max() <= max(1, 1.04 * 250 / k)
