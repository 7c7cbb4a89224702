"""Chunks, capacities, and moving jobs until every cluster keeps its bound."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition.balance.rebalance import (
    bounds,
    capacities,
    chunk_offsets,
    chunks,
    equal_targets,
    jobs_of_data,
    rebalance,
    work_on_data,
)

pytestmark = pytest.mark.quick

WEIGHTS = st.floats(0.01, 100.0)


@settings(deadline=None, max_examples=200)
@given(count=st.integers(0, 60), k=st.integers(1, 12))
def test_equal_items_make_chunks_of_floor_or_ceiling(count: int, k: int) -> None:
    sizes = np.diff(chunk_offsets(np.ones(count), equal_targets(k)))
    assert sizes.sum() == count
    assert set(sizes.tolist()) <= {count // k, -(-count // k)}


@settings(deadline=None, max_examples=200)
@given(weights=st.lists(WEIGHTS, max_size=40), targets=st.lists(WEIGHTS, min_size=1, max_size=8))
def test_chunks_stay_within_one_item_of_their_target(weights: list[float], targets: list[float]) -> None:
    load, share = np.array(weights), np.array(targets) / sum(targets)
    cuts = chunk_offsets(load, share)
    assert cuts[0] == 0 and cuts[-1] == load.size and (np.diff(cuts) >= 0).all()
    found = np.array([load[a:b].sum() for a, b in pairwise(cuts)])
    assert (np.abs(found - share * load.sum()) <= load.max(initial=0) * (1 + 1e-9)).all()


def test_chunks_follow_a_given_order() -> None:
    graph = LocalityGraph(np.zeros(7, np.int64), [], 0)
    assert chunks(graph, 3).tolist() == [0, 0, 1, 1, 2, 2]
    assert chunks(graph, 2, order=np.array([5, 3, 1, 0, 2, 4], np.int32)).tolist() == [1, 0, 1, 0, 1, 0]
    heavy = chunks(graph, 2, weights=np.array([5.0, 1, 1, 1, 1, 1]))
    assert heavy.tolist() == [0, 1, 1, 1, 1, 1]


@settings(deadline=None, max_examples=150)
@given(data=st.data(), k=st.integers(1, 6), balance=st.sampled_from([1.0, 1.03, 2.0]))
def test_rebalancing_keeps_every_bound(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int, balance: float
) -> None:
    graph = data.draw(graphs)
    weights = np.array(data.draw(st.lists(WEIGHTS, min_size=graph.n_jobs, max_size=graph.n_jobs)))
    shares = np.array(data.draw(st.lists(WEIGHTS, min_size=k, max_size=k)))
    shares /= shares.sum()
    labels = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n_jobs, max_size=graph.n_jobs)))
    before = labels.astype(np.int32)
    after = rebalance(graph, before, weights, shares, balance)
    limits = bounds(weights, shares, balance)
    assert (np.bincount(after, weights, k) <= limits).all()
    if (np.bincount(before, weights, k) <= limits).all():
        assert after.tolist() == before.tolist()
    assert before.tolist() == labels.tolist()
    ones = np.ones(graph.n_jobs)
    assert (
        rebalance(graph, before, None, shares, balance).tolist()
        == rebalance(graph, before, ones, shares, balance).tolist()
    )


def test_rebalancing_moves_jobs_to_clusters_that_share_their_data() -> None:
    """Jobs 0-3 in cluster 0, job 4 alone in cluster 2 on the datum of job 1: job 1 goes there, not to cluster 1."""
    graph = LocalityGraph(np.arange(6), [0, 1, 2, 3, 1], 4)
    after = rebalance(graph, np.array([0, 0, 0, 0, 2], np.int32), np.ones(5), equal_targets(3), 1.0)
    assert after[1] == 2 and after[4] == 2


@settings(deadline=None, max_examples=150)
@given(data=st.data(), k=st.integers(1, 4))
def test_jobs_go_where_their_data_are(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> None:
    """With all the room in the world: uncut jobs stay, cut jobs go to a cluster with the most of their pins."""
    graph = data.draw(graphs)
    labels = data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n_data, max_size=graph.n_data))
    own = jobs_of_data(graph, np.array(labels, np.int32), np.ones(graph.n_jobs), equal_targets(k), 1000.0)
    for job in range(graph.n_jobs):
        votes = [labels[v] for v in graph.data[graph.offsets[job] : graph.offsets[job + 1]]]
        if votes:
            assert votes.count(own[job]) == max(votes.count(label) for label in votes)
        else:
            assert 0 <= own[job] < k


@settings(deadline=None, max_examples=80)
@given(data=st.data(), k=st.integers(1, 4))
def test_jobs_of_data_keep_the_bound(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> None:
    graph = data.draw(graphs)
    labels = data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n_data, max_size=graph.n_data))
    weights = np.ones(graph.n_jobs)
    own = jobs_of_data(graph, np.array(labels, np.int32), weights, equal_targets(k), 1.0)
    assert np.bincount(own, minlength=k).max(initial=0) <= -(-graph.n_jobs // k)


def test_ties_between_clusters_go_to_the_emptier_one() -> None:
    graph = LocalityGraph.from_edges([0, 0, 1], [0, 1, 0], 2)
    own = jobs_of_data(graph, np.array([0, 1], np.int32), np.ones(3), equal_targets(2), 2.0)
    assert own.tolist() == [0, 1, 1]  # the last is a tie in everything: the first of its pins decides


def test_work_is_spread_over_pins() -> None:
    graph = LocalityGraph([0, 2, 3, 3], [0, 1, 1], 3)
    assert work_on_data(graph, np.zeros(0)).tolist() == [0.5, 1.5, 0.5]
    assert work_on_data(graph, np.array([4.0, 1.0, 9.0])).tolist() == [2.0, 3.0, 2.0]


@settings(deadline=None, max_examples=80)
@given(data=st.data(), k=st.integers(1, 6))
def test_data_are_rebalanced_as_the_jobs_of_the_transposed_graph(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int
) -> None:
    graph = data.draw(graphs)
    other = LocalityGraph(*graph.transpose, graph.n_jobs)
    drawn = data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n_data, max_size=graph.n_data))
    labels = np.array(drawn, np.int32)
    weights = np.array(data.draw(st.lists(WEIGHTS, min_size=graph.n_data, max_size=graph.n_data)))
    own = rebalance(graph, labels, weights, equal_targets(k), 1.0, "data")
    assert (np.bincount(own, weights, k) <= bounds(weights, equal_targets(k), 1.0)).all()
    ordered = LocalityGraph(*other.transpose, graph.n_data)  # pins of a job in rising order, as the transpose has them
    assert rebalance(ordered, labels, weights, equal_targets(k), 1.0, "data").tolist() == (
        rebalance(other, labels, weights, equal_targets(k), 1.0).tolist()
    )


def test_capacities_leave_room_for_the_heaviest() -> None:
    weights = np.array([1.0, 1.0, 4.0])
    assert capacities(weights, equal_targets(2), 1.0).tolist() == pytest.approx([5.0, 5.0])
    assert bounds(weights, equal_targets(2), 1.0).tolist() == pytest.approx([4.0, 4.0])
    assert bounds(np.array([3.0, 3, 2, 2, 2]), equal_targets(2), 1.0).tolist() == pytest.approx([6.0, 6.0])
    assert capacities(np.ones(100), equal_targets(2), 1.1).tolist() == pytest.approx([55.0, 55.0])
