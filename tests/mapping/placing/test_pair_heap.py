"""The heap of pairs against `heapq`, and what placement reads of clusters and cores against NumPy and SciPy."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tracecut.mapping.placing.core_orders import nearest
from tracecut.mapping.placing.pair_heap import drop_first, push
from tracecut.mapping.tasks.cluster_graph import ClusterGraph

pytestmark = pytest.mark.quick


@given(st.lists(st.none() | st.tuples(st.integers(-3, 3), st.integers(0, 5)), max_size=60))
def test_pairs_come_in_order(steps: list[tuple[int, int] | None]) -> None:
    keys, numbers = np.empty(60), np.empty(60, np.int64)
    size, expected = 0, list[tuple[int, int]]()
    for step in steps:
        if step is not None:
            heapq.heappush(expected, step)
            size = push(keys, numbers, size, float(step[0]), step[1])
        elif expected:
            assert (keys[0], numbers[0]) == heapq.heappop(expected)
            size = drop_first(keys, numbers, size)
        assert size == len(expected)


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**31))
def test_the_nearest_cores(cores: int, count: int, seed: int) -> None:
    hops = np.random.default_rng(seed).integers(1, 4, (cores, cores)).astype(np.int32)
    np.fill_diagonal(hops, 0)
    expected = np.argsort(hops, axis=1, kind="stable")[:, : min(count, cores)]
    assert (nearest(hops, count) == expected).all()


@given(st.dictionaries(st.tuples(st.integers(0, 6), st.integers(0, 6)), st.integers(0, 9), max_size=30))
def test_messages_in_both_ways(pairs: dict[tuple[int, int], int]) -> None:
    k, ends = 7, sorted(end for end in pairs if end[0] != end[1])
    src, dst = (np.array([end[i] for end in ends], np.int32) for i in (0, 1))
    messages = np.array([pairs[end] for end in ends], np.float64)
    graph = ClusterGraph(np.zeros(k), np.zeros(k, np.int64), src, dst, messages, messages)
    offsets, others, sums = graph.both_ways()
    table = np.zeros((k, k))
    np.add.at(table, (src, dst), messages)
    assert (sp.csr_array((sums, others, offsets), shape=(k, k)).toarray() == table + table.T).all()
    for cluster in range(k):
        row = others[offsets[cluster] : offsets[cluster + 1]]
        assert (np.diff(row) > 0).all() and cluster not in row
