"""The stand-in for CompNet, and SPAC on its split graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.partition import METHODS, partition
from tracecut.partition.community.compnet import compnet
from tracecut.partition.datastructures.typed_views import floats, longs, words
from tracecut.partition.edge_cut.split_graph import _jobs_of_clones, cut_weight, spac_split, split_graph

from ..meshes import over

pytestmark = pytest.mark.quick

NONE = longs(np.zeros(0, np.int64))  # costs of copies: 1 each


def objective(graph: LocalityGraph, labels: np.ndarray, evenness: float) -> float:
    """The sum of compnet's docstring, written out; for graphs of pairs."""
    u, v = graph.data.reshape(-1, 2).T
    total = float(np.count_nonzero(u != v))
    value = 0.0
    for c in range(labels.max() + 1):
        inside = np.count_nonzero((labels[u] == c) & (labels[v] == c) & (u != v))
        volume = np.count_nonzero((labels[u] == c) & (u != v)) + np.count_nonzero((labels[v] == c) & (u != v))
        value += inside / total - (volume / (2 * total)) ** 2
        value -= evenness * (np.count_nonzero(labels == c) / labels.size) ** 2
    return value


def communities(count: int, size: int, extra: int, seed: int) -> tuple[LocalityGraph, np.ndarray]:
    """Dense random groups with a few edges between them."""
    draw = np.random.default_rng(seed)
    group = draw.permutation(np.repeat(np.arange(count), size))
    pairs = [(i, j) for i in range(group.size) for j in range(i) if group[i] == group[j] and draw.random() < 0.6]
    others = draw.integers(0, group.size, (extra, 2))
    u, v = np.concatenate([np.array(pairs), others[others[:, 0] != others[:, 1]]]).T
    return LocalityGraph.from_edges(u.astype(np.int32), v.astype(np.int32), group.size), group


def test_communities_are_found() -> None:
    graph, group = communities(6, 20, 60, seed=3)
    labels = compnet(graph, 6, balance=1.2)
    agreement = np.zeros((6, 6), int)
    np.add.at(agreement, (group, labels), 1)
    assert agreement.max(axis=1).sum() >= 0.95 * group.size


def test_the_objective_is_better_than_that_of_other_partitions() -> None:
    graph, _ = communities(5, 16, 80, seed=4)
    own = objective(graph, compnet(graph, 5, balance=1.5), 2.0)
    for other in ("metis", "parcubed-det", "gpart"):
        assert own >= objective(graph, partition(graph, 5, other, of="data", balance=1.2).labels, 2.0) - 0.01


def test_more_evenness_makes_loads_more_even() -> None:
    draw = np.random.default_rng(7)
    u, v = draw.integers(0, 40, 300), draw.integers(0, 300, 300)
    graph = LocalityGraph.from_edges(u.astype(np.int32), v.astype(np.int32), 300)
    free = compnet(graph, 6, balance=6.0, evenness=0.0)
    even = compnet(graph, 6, balance=6.0, evenness=50.0)
    assert over(even, 6) < over(free, 6)


def test_the_largest_community_gets_the_largest_target() -> None:
    graph, _ = communities(2, 20, 0, seed=5)
    more = LocalityGraph.from_edges(
        np.append(graph.data[0::2], np.arange(40, 60)), np.append(graph.data[1::2], np.full(20, graph.data[0])), 60
    )
    labels = compnet(more, 2, targets=np.array([0.3, 0.7]), balance=1.1)
    assert np.bincount(labels)[1] > np.bincount(labels)[0]


def test_compnet_says_that_it_is_a_stand_in() -> None:
    assert "stand-in" in METHODS["compnet"].source and "Stand-in" in (METHODS["compnet"].function.__doc__ or "")
    graph, _ = communities(2, 6, 0, seed=1)
    for of in ("jobs", "data"):
        found = partition(graph, 2, "compnet", of=of)
        assert found.report()["stand_in_for"] == "CompNet (Xiao et al. 2017)" and "(stand-in)" in repr(found)
    assert "stand_in_for" not in partition(graph, 2, "chunks").report()


def test_the_split_graph_of_a_star() -> None:
    graph = LocalityGraph.from_edges([0, 0, 0], [1, 2, 3], 4)
    for ring in (False, True):
        split = split_graph(graph, NONE, ring=ring)
        found = {
            (v, int(u), int(w))
            for v in range(split.size)
            for u, w in zip(
                split.neighbours[split.offsets[v] : split.offsets[v + 1]],
                split.edge_weights[split.offsets[v] : split.offsets[v + 1]],
                strict=True,
            )
            if v < u
        }
        dominant = {(0, 1, 1000), (2, 3, 1000), (4, 5, 1000)}
        assert found == dominant | {(0, 2, 1), (2, 4, 1)} | ({(0, 4, 1)} if ring else set())


def test_a_cut_job_goes_to_the_lighter_part() -> None:
    """Jobs 0 and 1 lie whole in parts 0 and 1, weighing 3 and 1; job 2 is cut between them, job 3 has no data."""
    offsets, parts = longs(np.array([0, 2, 4, 6, 6])), words(np.array([0, 0, 1, 1, 0, 1], np.int32))
    labels = _jobs_of_clones(offsets, parts, floats(np.array([3.0, 1.0, 1.0, 1.0])), floats(np.full(2, 9.0)))
    assert labels.tolist() == [0, 1, 1, 1]


@settings(deadline=None, max_examples=100)
@given(data=st.data(), k=st.integers(1, 5), ring=st.booleans())
def test_copies_never_exceed_the_cut(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int, ring: bool
) -> None:
    """Theorem 3.4, for any labels of the clones."""
    graph = data.draw(graphs)
    parts = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n_pins, max_size=graph.n_pins)), np.int32)
    weights = floats(graph.job_weights if graph.job_weights.size else np.ones(graph.n_jobs))
    labels = _jobs_of_clones(longs(graph.offsets), words(parts), weights, floats(np.full(k, 9.0))).view(np.int32)
    copies = vertex_copies(graph, Clustering(labels, k))
    assert copies <= cut_weight(split_graph(graph, NONE, ring=ring), parts)


@pytest.mark.parametrize("ring", [False, True])
def test_spac_split_is_about_as_good_as_contracted(mesh: LocalityGraph, ring: bool) -> None:
    split = partition(mesh, 6, "spac-split", ring=ring, balance=1.05)
    contracted = partition(mesh, 6, "spac", ring=ring, balance=1.05)
    assert vertex_copies(mesh, split) <= 1.25 * vertex_copies(mesh, contracted)
    assert over(split.labels, 6) <= 1.05
    assert (spac_split(mesh, 6, ring=ring, balance=1.05) == spac_split(mesh, 6, ring=ring, balance=1.05)).all()
