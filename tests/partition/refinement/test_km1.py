"""The lists of km1 refinement, its gains and its promises."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.partition import partition
from tracecut.partition.balance.rebalance import capacities
from tracecut.partition.coarsening.hypergraph_levels import Level, finest_level
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.partition.refinement.km1 import NO_END, Effort, level_cost, refine
from tracecut.partition.refinement.km1_fm import improving_nodes, mark_boundary, propagate_labels, search, workspace
from tracecut.partition.refinement.km1_gains import ClusterState, best_move, cluster_state, cost_of
from tracecut.partition.refinement.km1_parallel_fm import Replica, commit, explore, spare_state
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick

Labels = npt.NDArray[np.uint32]


def nets_of(level: Level) -> list[list[int]]:
    return [row.tolist() for row in np.split(level.net_nodes, level.net_offsets[1:-1])] if level.n_nets else []


def slow_cost(level: Level, labels: Labels) -> int:
    return sum(
        int(weight) * (len({int(labels[u]) for u in row}) - 1)
        for row, weight in zip(nets_of(level), level.net_weights, strict=True)
    )


def lists_as_counters(state: ClusterState) -> list[dict[int, int]]:
    begins, lengths, entries = state[:3]
    return [
        {int(c): int(n) for c, n in entries[begin : begin + length]}
        for begin, length in zip(begins[:-1], lengths, strict=True)
    ]


def counted(level: Level, labels: Labels) -> list[dict[int, int]]:
    return [dict(Counter(int(labels[u]) for u in row)) for row in nets_of(level)]


def drawn(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> tuple[LocalityGraph, Level, Labels]:
    graph = data.draw(graphs)
    weights = graph.job_weights if graph.job_weights.size else np.ones(graph.n_jobs)
    labels = data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n_jobs, max_size=graph.n_jobs))
    return graph, finest_level(graph, weights), np.array(labels, np.uint32)


@settings(deadline=None, max_examples=100)
@given(data=st.data(), k=st.integers(1, 5))
def test_lists_and_cost(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> None:
    graph, level, labels = drawn(graphs, data, k)
    lists = cluster_state(level, labels, np.ones(k))
    assert lists_as_counters(lists) == counted(level, labels)
    cost = cost_of(lists.lengths, level.net_weights)
    assert cost == slow_cost(level, labels) == level_cost(level, labels, k)
    assert cost == vertex_copies(graph, Clustering(labels.view(np.int32), k))


@settings(deadline=None, max_examples=100)
@given(data=st.data(), k=st.integers(2, 5))
def test_best_move(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> None:
    """Against the cost of every move, over clusters that share a net and have room."""
    _, level, labels = drawn(graphs, data, k)
    loads = np.bincount(labels, level.node_weights, k).astype(np.float64)
    limits = np.full(k, data.draw(st.sampled_from([1.0, 1.5])) * max(loads.mean(), 1.0))
    limits.flags.writeable = False
    state = cluster_state(level, labels, limits)
    before, joint = slow_cost(level, labels), np.zeros(k, np.int32)
    for u in range(level.n_nodes):
        shared = {int(labels[v]) for row in nets_of(level) if u in row for v in row} - {int(labels[u])}
        gains = {}
        for cluster in shared:
            if loads[cluster] + level.node_weights[u] <= limits[cluster]:
                moved = labels.copy()
                moved[u] = cluster
                gains[cluster] = before - slow_cost(level, moved)
        gain, target = best_move(np.uint32(u), level, state, joint, np.empty(k, np.uint32))
        assert not joint.any()
        if not gains:
            assert target == -1
        else:
            assert gains[target] == gain == max(gains.values())


@settings(deadline=None, max_examples=150)
@given(data=st.data(), k=st.integers(2, 5), batch=st.sampled_from([1, 4]))
def test_moves_keep_the_state_right(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int, batch: int
) -> None:
    """After a sweep and a search the lists, loads and gains equal those of the labels."""
    _, level, labels = drawn(graphs, data, k)
    limits = capacities(level.node_weights, np.full(k, 1 / k), 1.1)
    limits.flags.writeable = False
    state = cluster_state(level, labels, limits)
    loads = state.loads
    start, roof = slow_cost(level, labels), np.maximum(loads, limits)
    on = np.zeros(level.n_nodes, np.bool_)
    mark_boundary(level, state.lengths, on, 0, level.n_nets)
    border = np.flatnonzero(on).astype(np.uint32)
    assert border.tolist() == sorted({u for row in nets_of(level) if len({labels[v] for v in row}) > 1 for u in row})
    assert set(improving_nodes(level, state, border)) <= set(border.tolist())
    active = np.zeros(level.n_nodes, np.bool_)
    swept = propagate_labels(level, state, border, active)
    assert swept >= 0 and (active.any() or swept == 0)
    assert slow_cost(level, labels) == start - swept
    found, used, nodes, origin, cuts = search(
        level, state, workspace(level.n_nodes), border, batch, 1.0, 0.0, NO_END, 0, NO_END
    )
    assert found >= 0 and slow_cost(level, labels) == start - swept - found
    assert used <= border.size and np.unique(nodes).size == nodes.size == origin.size
    assert cuts.ravel().tolist() == sorted(cuts.ravel().tolist()) and (cuts.size == 0 or cuts[-1, 2] == nodes.size)
    assert lists_as_counters(state) == counted(level, labels)
    np.testing.assert_allclose(loads, np.bincount(labels, level.node_weights, k), rtol=1e-12, atol=1e-12)
    assert (loads <= roof * (1 + 1e-9)).all()


@settings(deadline=None, max_examples=60)
@given(data=st.data(), k=st.integers(1, 5), seed=st.integers(0, 3))
def test_refine_never_loses(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int, seed: int) -> None:
    _, level, labels = drawn(graphs, data, k)
    limits = capacities(level.node_weights, np.full(k, 1 / k), 1.03)
    given_labels = labels.copy()
    refined, cost = refine(level, labels, limits, Effort(), seed)
    assert labels.tolist() == given_labels.tolist()
    assert cost == slow_cost(level, refined) <= slow_cost(level, labels)
    again, _ = refine(level, labels, limits, Effort(), seed)
    assert again.tolist() == refined.tolist()


def test_a_search_climbs_over_a_plateau() -> None:
    """Two rings of eight jobs, each split between the clusters: no single move gains, four in a row do."""
    ring = np.arange(8)
    u = np.concatenate([ring, ring + 8])
    v = np.concatenate([(ring + 1) % 8, (ring + 1) % 8 + 8])
    level = finest_level(LocalityGraph.from_edges(u, v), np.ones(16))
    labels = ((np.arange(16) % 8) // 4).astype(np.uint32)
    limits = np.full(2, 12.0)
    assert slow_cost(level, labels) == 4
    assert refine(level, labels, limits, Effort(sweeps=5, passes=0), 1)[1] == 4
    refined, cost = refine(level, labels, limits, Effort(sweeps=0, batch=1), 1)
    assert cost == slow_cost(level, refined) < 4


@pytest.mark.parametrize("name", ["random", "chunks", "rcm", "wb-libra", "expansion", "metis", "spac", "auto"])
def test_refine_after_any_method(mesh: LocalityGraph, name: str) -> None:
    plain = partition(mesh, 6, name, seed=3)
    found = partition(mesh, 6, name, seed=3, refine="km1")
    assert found.method == plain.method and found.options["refine"] == "km1" and "refine" not in plain.options
    assert vertex_copies(mesh, found) <= vertex_copies(mesh, plain)
    assert (found.sizes() <= capacities(np.ones(mesh.n_jobs), np.full(6, 1 / 6), 1.03)).all()
    again = partition(mesh, 6, name, seed=3, refine="km1", threads=2)
    assert again.labels.tolist() == found.labels.tolist()


def test_refine_halves_a_random_partition(mesh: LocalityGraph) -> None:
    plain = vertex_copies(mesh, partition(mesh, 6, "random"))
    assert vertex_copies(mesh, partition(mesh, 6, "random", refine="km1")) < plain / 2


def test_refinement_is_of_jobs(mesh: LocalityGraph) -> None:
    with pytest.raises(ArgumentError, match="refine = 'km1' for a partition of data"):
        partition(mesh, 4, "metis", of="data", refine="km1")


@settings(deadline=None, max_examples=150)
@given(data=st.data(), k=st.integers(2, 5), batch=st.sampled_from([1, 4]), middle=st.integers(0, 16))
def test_moves_of_parallel_searches_are_made_later(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int, batch: int, middle: int
) -> None:
    """Searches leave no trace; made again on two replicas, in one order, they leave the same one, and never lose."""
    _, level, labels = drawn(graphs, data, k)
    limits = capacities(level.node_weights, np.full(k, 1 / k), 1.1)
    limits.flags.writeable = False
    state = cluster_state(level, labels, limits)
    loads = state.loads
    start, roof, old_loads = slow_cost(level, labels), np.maximum(loads, limits), loads.copy()
    one = Replica(level, state)
    with ThreadPool(2, 10**6) as pool:
        (other,) = one.copies(spare_state(level, k, pool), pool)
    seeds = np.arange(level.n_nodes, dtype=np.uint32)
    logs = []
    for low, high in ((0, middle), (middle, level.n_nodes)):
        result = explore(level, one.state, one.work, seeds[low:high], batch, 1.0, NO_END, low, high)
        assert all(low <= u < high for u in result[2])
        assert lists_as_counters(state) == counted(level, other.state.labels)
        assert labels.tolist() == other.state.labels.tolist() and loads.tolist() == old_loads.tolist()
        assert not one.work.moved.any()
        logs.append(result[2:])
    one.catch_up(logs)
    other.catch_up(logs[:1])
    other.catch_up(logs)
    assert one.gain == other.gain >= 0 and slow_cost(level, labels) == start - one.gain
    for mine, its in ((one.state.labels, other.state.labels), (loads, other.state.loads)):
        assert mine.tolist() == its.tolist()
    assert lists_as_counters(state) == counted(level, labels)
    assert (loads <= roof * (1 + 1e-9)).all()


def test_moves_that_lost_their_gain_are_not_made() -> None:
    """Two jobs of a pair each would join the other's cluster: after the first, the second gains nothing."""
    level = finest_level(LocalityGraph.from_edges([0, 1], [1, 0]), np.ones(2))
    labels, limits = np.array([0, 1], np.uint32), np.full(2, 2.0)
    limits.flags.writeable = False
    replica = Replica(level, cluster_state(level, labels, limits))
    nodes = np.array([0, 1], np.uint32)
    state, work = replica.state, replica.work
    logs = [explore(level, state, work, nodes[i : i + 1], 1, 1.0, NO_END, i, i + 1)[2:] for i in range(2)]
    gains = [int(commit(level, state, work.moved, *log)) for log in logs]
    assert gains == [2, 0] and labels.tolist() == [1, 1]


def test_threads_find_what_one_thread_finds() -> None:
    """A grid, cut at random and in strips: short searches from single seeds, and long ones from many."""
    draw = np.random.default_rng(2)
    names = np.arange(200 * 200).reshape(200, 200)
    u = np.concatenate([names[:, :-1].ravel(), names[:-1].ravel()])
    v = np.concatenate([names[:, 1:].ravel(), names[1:].ravel()])
    level = finest_level(LocalityGraph.from_edges(u, v), np.ones(u.size))
    for labels in (draw.integers(0, 8, u.size), np.arange(u.size) * 400 // u.size % 8):
        found = []
        for threads in (1, 2, 5):
            with ThreadPool(threads, 10**6) as pool:
                limits = np.full(8, u.size / 8 * 1.05)
                found.append(refine(level, labels.astype(np.uint32), limits, Effort(passes=3), 1, pool))
        assert found[0][0].tolist() == found[1][0].tolist() == found[2][0].tolist()
        assert found[0][1] == level_cost(level, found[0][0], 8) < level_cost(level, labels.astype(np.uint32), 8)
