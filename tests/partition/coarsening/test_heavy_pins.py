"""Levels of the multilevel hierarchy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition.coarsening.heavy_pins import _sum_equals, coarsen, contract, equal_nets
from tracecut.partition.coarsening.hypergraph_levels import Level, finest_level, part_level
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.partition.refinement.km1 import level_cost

pytestmark = pytest.mark.quick


def rows(offsets: np.ndarray, members: np.ndarray) -> list[list[int]]:
    return [members[offsets[i] : offsets[i + 1]].tolist() for i in range(offsets.size - 1)]


def check(level: Level) -> None:
    """The class docstring: both directions agree, each pin once, nets of two pins at least."""
    nets = rows(level.net_offsets, level.net_nodes)
    nodes = rows(level.node_offsets, level.node_nets)
    assert {(u, e) for e, row in enumerate(nets) for u in row} == {(u, e) for u, row in enumerate(nodes) for e in row}
    assert sum(map(len, nets)) == sum(map(len, nodes)) == len({(u, e) for e, row in enumerate(nets) for u in row})
    assert all(len(row) >= 2 for row in nets) and len(nodes) == level.n_nodes and len(nets) == level.n_nets
    assert (level.net_weights > 0).all()


@settings(deadline=None, max_examples=100)
@given(data=st.data(), seed=st.integers(0, 5))
def test_the_finest_level(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, seed: int) -> None:
    graph = data.draw(graphs)
    order = np.random.default_rng(seed).permutation(graph.n_jobs).astype(np.int32)
    weights = np.arange(1.0, graph.n_jobs + 1)
    level = finest_level(graph, weights, order)
    check(level)
    assert level.node_weights.tolist() == weights[order].tolist()
    touched: dict[int, set[int]] = {}
    for place, job in enumerate(order):
        for datum in graph.data[graph.offsets[job] : graph.offsets[job + 1]].tolist():
            touched.setdefault(datum, set()).add(place)
    expected = sorted(sorted(jobs) for jobs in touched.values() if len(jobs) > 1)
    assert sorted(sorted(row) for row in rows(level.net_offsets, level.net_nodes)) == expected


@settings(deadline=None, max_examples=150)
@given(data=st.data(), seed=st.integers(0, 5), heaviest=st.sampled_from([1.0, 2.0, 4.0]), keep=st.booleans())
def test_coarsening(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, seed: int, heaviest: float, keep: bool
) -> None:
    """Weights are conserved, groups are light and of one label, and labels cost the same on both levels."""
    graph = data.draw(graphs)
    level = finest_level(graph, graph.job_weights if graph.job_weights.size else np.ones(graph.n_jobs))
    fine = np.random.default_rng(seed).integers(0, 3, level.n_nodes).astype(np.uint32)
    step = coarsen(level, heaviest, seed, fine if keep else None)
    coarse, groups = step.level, step.groups
    check(coarse)
    assert np.unique(groups).tolist() == list(range(coarse.n_nodes))
    np.testing.assert_allclose(coarse.node_weights, np.bincount(groups, level.node_weights, coarse.n_nodes))
    alone = np.bincount(groups, minlength=coarse.n_nodes) == 1
    assert (coarse.node_weights[~alone] <= heaviest).all()
    labels = np.random.default_rng(seed + 1).integers(0, 3, coarse.n_nodes).astype(np.uint32)
    assert (step.labels is not None) == keep
    if step.labels is not None:
        labels = step.labels
        assert labels[groups].tolist() == fine.tolist()
    assert sorted(step.visits.order.tolist()) == list(range(coarse.n_nodes))
    assert level_cost(coarse, labels, 3) == level_cost(level, labels[groups], 3)


def test_equal_nets_add_up() -> None:
    """Three data that tie the same two groups become one net of weight 3."""
    graph = LocalityGraph([0, 3, 5, 7, 8], [0, 1, 2, 0, 1, 2, 3, 3], 4)
    level = finest_level(graph, np.ones(4))
    coarse = contract(level, np.array([0, 1, 1, 1], np.uint32), 2)
    assert coarse.net_weights.tolist() == [3] and coarse.node_weights.tolist() == [1.0, 3.0]


@settings(deadline=None)
@given(
    nets=st.lists(st.tuples(st.sampled_from([0, 1, 2, 3]), st.integers(0, 6), st.integers(1, 9)), max_size=60),
    parts=st.sampled_from([2, 4, 16]),
)
def test_equal_nets_in_parts(nets: list[tuple[int, int, int]], parts: int) -> None:
    """Numbers, offsets and sums against a dictionary of (key, size); any number of parts gives the same sums."""
    sizes, keys = np.array([net[0] for net in nets], np.uint32), np.array([net[1] for net in nets], np.uint64)
    keys *= np.uint64(0x9E3779B97F4A7C15)
    weights = np.array([net[2] for net in nets], np.int32)
    first: dict[tuple[int, int], int] = {}
    expected = [0] * len(nets)
    for net, (size, key, weight) in enumerate(nets):
        if size > 1:
            expected[first.setdefault((key, size), net)] += weight
    heads = sorted(first.values())
    number, offsets, sums = equal_nets(sizes, keys, weights)
    assert number.view(np.int32).tolist() == [heads.index(net) if net in heads else -1 for net in range(len(nets))]
    assert sums.tolist() == [expected[net] for net in heads]
    assert offsets.tolist() == np.cumsum([0] + [nets[net][0] for net in heads]).tolist()
    shared = np.zeros(len(nets), np.int32)
    for part in range(parts):
        _sum_equals(sizes, keys, weights, shared, part, parts)
    assert shared.tolist() == expected


@settings(deadline=None, max_examples=100)
@given(data=st.data(), seed=st.integers(0, 5))
def test_parts(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, seed: int) -> None:
    """A cut into two sides and cuts of each side cost together what all the parts cost."""
    graph = data.draw(graphs)
    level = finest_level(graph, np.ones(graph.n_jobs))
    labels = np.random.default_rng(seed).integers(0, 4, level.n_nodes).astype(np.uint32)
    total = level_cost(level, labels // 2, 2)
    for side in (0, 1):
        part, nodes = part_level(level, labels // 2, side)
        check(part)
        assert nodes.tolist() == np.flatnonzero(labels // 2 == side).tolist()
        total += level_cost(part, labels[nodes] % 2, 2)
    assert total == level_cost(level, labels, 4)


def test_strangers_are_joined() -> None:
    """Jobs that share nothing: coarsening goes on all the same, within labels."""
    graph = LocalityGraph.from_edges(2 * np.arange(100), 2 * np.arange(100) + 1)
    level = finest_level(graph, np.ones(100))
    assert coarsen(level, 4.0, 1).level.n_nodes == 50
    labels = (np.arange(100) % 3).astype(np.uint32)
    step = coarsen(level, 4.0, 1, labels)
    assert step.level.n_nodes == 51
    assert all(np.unique(labels[step.groups == group]).size == 1 for group in range(51))


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_nothing(weighted: bool) -> None:
    """Levels large enough for several blocks of nodes and nets, on one thread and on three."""
    draw = np.random.default_rng(3)
    names = draw.permutation(40_000)
    graph = LocalityGraph.from_edges(names, np.concatenate([names[1:], names[-1:] // 3]))
    weights = draw.random(graph.n_jobs) + 0.5 if weighted else np.ones(graph.n_jobs)
    labels = (np.arange(graph.n_jobs) * 7 // graph.n_jobs).astype(np.uint32)
    found = []
    for threads in (1, 3):
        with ThreadPool(threads, 10**6) as pool:
            level = finest_level(graph, weights, None, pool)
            found.append((level, coarsen(level, 50.0, 1, labels, pool=pool)))
    (one, first), (other, second) = found
    assert first.groups.tolist() == second.groups.tolist()
    assert first.visits.order.tolist() == second.visits.order.tolist()
    for mine, theirs in ((one, other), (first.level, second.level)):
        for array, same in zip(mine, theirs, strict=True):
            assert array.tolist() == same.tolist()
    lone = coarsen(finest_level(graph, weights), 50.0, 1, labels)
    assert lone.groups.tolist() == first.groups.tolist()
    assert lone.level.net_nodes.tolist() == first.level.net_nodes.tolist()
