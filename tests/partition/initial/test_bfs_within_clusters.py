"""The breadth-first order inside clusters against a slow search written from its description."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition.initial.bfs_within_clusters import walk_clusters
from tracecut.partition.parallel.thread_pool import ThreadPool

pytestmark = pytest.mark.quick


def slow_order(rows: list[list[int]], labels: list[int]) -> list[int]:
    """Queues of jobs, one after the other; a job's data in its order, their jobs in job order."""
    order: list[int] = []
    for cluster in range(max(labels, default=0) + 1):
        left = [job for job, label in enumerate(labels) if label == cluster]
        while left:
            queue = [left.pop(0)]
            for job in queue:
                for datum in rows[job]:
                    found = [other for other in left if datum in rows[other]]
                    queue += found
                    left = [other for other in left if other not in found]
            order += queue
    return order


def graph_of(rows: list[list[int]], n_data: int) -> LocalityGraph:
    offsets = np.cumsum([0, *map(len, rows)])
    return LocalityGraph(offsets, np.array([datum for row in rows for datum in row], np.int32), n_data)


@settings(deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(0, 20), max_size=4), min_size=1, max_size=40),
    k=st.integers(1, 20),
    rest=st.randoms(use_true_random=False),
)
def test_as_the_slow_search(rows: list[list[int]], k: int, rest: Random) -> None:
    graph = graph_of(rows, 21)
    labels = [rest.randrange(k) for _ in rows]
    with ThreadPool(1, 0) as pool:
        order = walk_clusters(graph, np.array(labels, np.int32), k, pool)
    expected = slow_order(rows, labels)
    if graph.degrees().max() * graph.n_data > 16 * graph.n_pins:
        expected = sorted(range(len(rows)), key=lambda job: labels[job])
    assert order.tolist() == expected


def test_hubs_keep_the_order_of_the_jobs() -> None:
    rows = [[0, job + 1] for job in range(200)]
    rows[0] = [1, 199]  # a search would go on with job 198
    labels = np.arange(200, dtype=np.int32) % 3
    with ThreadPool(1, 0) as pool:
        order = walk_clusters(graph_of(rows, 201), labels, 3, pool)
    assert order.tolist() == np.argsort(labels, kind="stable").tolist()
    assert order.tolist() != slow_order(rows, labels.tolist())


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(threads: int) -> None:
    side = 200
    cells = np.arange(side * side).reshape(side, side)
    names = np.random.default_rng(3).permutation(side * side)
    u = names[np.concatenate([cells[:, :-1].ravel(), cells[:-1].ravel()])]
    v = names[np.concatenate([cells[:, 1:].ravel(), cells[1:].ravel()])]
    graph = LocalityGraph.from_edges(u, v)
    labels = (np.arange(graph.n_jobs) * 20 // graph.n_jobs).astype(np.int32)
    orders = []
    for count in (1, threads):
        with ThreadPool(count, graph.n_jobs) as pool:
            orders.append(walk_clusters(graph, labels, 20, pool))
    assert np.array_equal(*orders)
    assert np.array_equal(np.sort(orders[0]), np.arange(graph.n_jobs))
    assert (np.diff(labels[orders[0]]) >= 0).all()
