"""Expected replication factors: all assignments of small graphs, and limits that are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.clustering import Clustering
from tracecut.ir.expected_replication import exact_expectation, power_law_expectation
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.metrics import replication_factor
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick
GRAPHS = ([(0, 1), (1, 2), (2, 3)], [(0, 1), (0, 2), (0, 3), (0, 4)], [(0, 1), (1, 2), (0, 2), (3, 4)])


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("edges", GRAPHS)
def test_the_mean_of_all_assignments(edges: list[tuple[int, int]], k: int) -> None:
    pins = np.array(edges).ravel()
    graph = LocalityGraph(np.arange(len(edges) + 1) * 2, pins, 6)
    every = [
        replication_factor(graph, Clustering(np.array(labels, np.int32), k))
        for labels in product(range(k), repeat=len(edges))
    ]
    assert exact_expectation(np.bincount(pins, minlength=6), k) == pytest.approx(np.mean(every), rel=1e-12)


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(1, 1000))
def test_between_one_and_the_degree(degrees: list[int], k: int) -> None:
    found = exact_expectation(np.array(degrees, np.int64), k)
    touched = [degree for degree in degrees if degree]
    assert 1 - 1e-12 <= found <= max(1.0, float(np.mean([min(k, degree) for degree in touched or [1]]))) + 1e-9
    assert exact_expectation(np.array(degrees, np.int64), k + 1) >= found - 1e-12


@pytest.mark.parametrize(("n", "exponent", "k"), [(2, 2.0, 8), (50, 1.5, 4), (1000, 2.2, 64), (300, -1.0, 3)])
def test_a_power_law_is_a_mean_over_degrees(n: int, exponent: float, k: int) -> None:
    degree = np.arange(1, n)
    share = degree.astype(float) ** -exponent
    each = np.array([exact_expectation([int(one)], k) for one in degree])
    assert power_law_expectation(n, exponent, k) == pytest.approx(float(share @ each / share.sum()), rel=1e-12)


def test_what_is_no_degree_law() -> None:
    with pytest.raises(ArgumentError, match="negative"):
        exact_expectation([1, -1], 2)
    with pytest.raises(ArgumentError, match="k is 0"):
        exact_expectation([1], 0)
    with pytest.raises(ArgumentError, match="n is 1"):
        power_law_expectation(1, 2.0, 2)
    with pytest.raises(ArgumentError, match="exponent"):
        power_law_expectation(5, float("nan"), 2)
