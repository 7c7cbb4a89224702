"""What clusters of a locality graph tell each other, against a count job by job."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.metrics import edge_cut
from tracecut.mapping.tasks.locality import clusters_of_locality

pytestmark = pytest.mark.quick


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[int]], int, list[int], list[int], int]:
    """Data of each job, number of data, labels of jobs and of data, and k."""
    n, k = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    jobs = draw(st.lists(st.lists(st.integers(0, n - 1), unique=True, max_size=4), max_size=12))
    label = st.integers(0, k - 1)
    of_jobs = draw(st.lists(label, min_size=len(jobs), max_size=len(jobs)))
    return jobs, n, of_jobs, draw(st.lists(label, min_size=n, max_size=n)), k


def graph_of(jobs: list[list[int]], n: int) -> LocalityGraph:
    offsets = np.concatenate([[0], np.cumsum([len(job) for job in jobs], dtype=np.int64)])
    return LocalityGraph(offsets, np.array([datum for job in jobs for datum in job], np.int32), n)


@given(cases())
def test_data_clusters_send_each_value_once(case: tuple[list[list[int]], int, list[int], list[int], int]) -> None:
    jobs, n, _, labels, k = case
    graph, clustering = graph_of(jobs, n), Clustering(np.array(labels, np.int32), k, "data")
    once: set[tuple[int, int]] = set()
    words: Counter[tuple[int, int]] = Counter()
    for job in jobs:
        for datum in job:
            if labels[datum] != labels[job[0]]:
                once.add((datum, labels[job[0]]))
                words[labels[datum], labels[job[0]]] += 1
    messages = Counter((labels[datum], reader) for datum, reader in once)
    found = clusters_of_locality(graph, clustering)
    ends = list(zip(found.src.tolist(), found.dst.tolist(), strict=True))
    assert dict(zip(ends, found.messages.tolist(), strict=True)) == messages
    assert dict(zip(ends, found.words.tolist(), strict=True)) == words
    if all(len(job) <= 2 for job in jobs):
        assert found.words.sum() == edge_cut(graph, clustering)


@given(cases())
def test_job_clusters_send_to_each_replica(case: tuple[list[list[int]], int, list[int], list[int], int]) -> None:
    jobs, n, labels, _, k = case
    clustering = Clustering(np.array(labels, np.int32), k, "jobs")
    expected: Counter[tuple[int, int]] = Counter()
    for datum in range(n):
        held = Counter(label for job, label in zip(jobs, labels, strict=True) if datum in job)
        owner = max(held, key=lambda cluster: (held[cluster], -cluster), default=0)
        expected.update((owner, other) for other in held if other != owner)
    found = clusters_of_locality(graph_of(jobs, n), clustering)
    ends = list(zip(found.src.tolist(), found.dst.tolist(), strict=True))
    assert dict(zip(ends, found.messages.tolist(), strict=True)) == expected
    assert found.words.tolist() == found.messages.tolist()


def test_it_takes_less_memory_than_the_graph() -> None:
    """No array has a number for each pin, and none for each datum in each cluster."""
    jobs, data, k = 200_000, 100_000, 64
    pins = np.random.default_rng(3).integers(0, data, 4 * jobs).astype(np.int32)
    graph = LocalityGraph(np.arange(jobs + 1, dtype=np.int64) * 4, pins, data)
    clustering = Clustering((np.arange(jobs) * k // jobs).astype(np.int32), k)
    clusters_of_locality(graph, clustering)  # compiles
    tracemalloc.start()
    try:
        clusters_of_locality(graph, clustering)
        assert tracemalloc.get_traced_memory()[1] < graph.data.nbytes
    finally:
        tracemalloc.stop()
