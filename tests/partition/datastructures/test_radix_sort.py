"""Sorting kernels against Python's sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition.datastructures.radix_sort import radix_order, sort_jobs, stable_order
from tracecut.partition.datastructures.typed_views import floats, longs, ranks, words

pytestmark = pytest.mark.quick


@settings(deadline=None, max_examples=60)
@given(keys=st.lists(st.integers(0, 2**40 - 1), max_size=60))
def test_radix_order_is_the_stable_argsort(keys: list[int]) -> None:
    values = np.array(keys, np.uint64)
    expected = np.argsort(values, kind="stable")
    assert radix_order(values.copy(), 40).tolist() == expected.tolist()


def test_radix_order_reads_only_the_digits_it_is_told_of() -> None:
    assert radix_order(np.array([256, 255, 0], np.uint64), 8).tolist() == [0, 2, 1]


def test_radix_order_sorts_full_words() -> None:
    values = np.array([2**64 - 1, 0, 2**63, 2**63 - 1], np.uint64)
    assert radix_order(values.copy(), 64).tolist() == [1, 3, 2, 0]


@settings(deadline=None, max_examples=60)
@given(labels=st.lists(st.integers(0, 5), max_size=40))
def test_stable_order_keeps_ties(labels: list[int]) -> None:
    expected = sorted(range(len(labels)), key=lambda i: labels[i])
    assert stable_order(np.array(labels, np.uint32)).tolist() == expected


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_sort_jobs_by_extremes(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject) -> None:
    graph = data.draw(graphs)
    rank = np.array(data.draw(st.permutations(range(graph.n_data))), np.uint32)

    def key(job: int) -> tuple[int, int]:
        places = [int(rank[v]) for v in graph.data[graph.offsets[job] : graph.offsets[job + 1]]]
        return (min(places), max(places)) if places else (graph.n_data, 0)

    expected = sorted(range(graph.n_jobs), key=key)
    assert sort_jobs(graph.offsets, graph.data, rank).tolist() == expected


def test_views_share_memory_and_refuse_writing() -> None:
    values = np.array([3, 1], np.int32)
    for view in (words(values), longs(np.array([1, 2])), floats(np.array([1.0]))):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0
    assert np.shares_memory(words(values), values)
    values[0] = 4


def test_ranks_invert() -> None:
    assert ranks(np.array([2, 0, 1])).tolist() == [1, 2, 0]
