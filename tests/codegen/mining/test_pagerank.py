"""PageRank: the fixed point, networkx's results, every option, and typed errors."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator
from tracecut.codegen.mining.pagerank import pagerank
from tracecut.codegen.mining.records import Scores
from tracecut.support.errors import ArgumentError, ConvergenceError

import tracecut

from .reference import as_networkx, exact_pagerank, random_graph

pytestmark = pytest.mark.quick


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 40), st.integers(0, 150), st.integers(0, 99), st.booleans(), st.floats(0.0, 0.95))
def test_the_fixed_point(n: int, links: int, seed: int, weighted: bool, alpha: float) -> None:
    """With personalization, dangling and start; also through an operator."""
    matrix = random_graph(n, links, seed, weighted=weighted)
    draw = np.random.default_rng(seed)
    p, d, start = (draw.random(n) + 0.01 for _ in range(3))
    options: dict[str, Any] = {"alpha": alpha, "personalization": p, "dangling": d, "start": start, "max_iter": 2000}
    found = pagerank(matrix, tol=1e-13, **options)
    exact = exact_pagerank(matrix.toarray(), alpha, p / p.sum(), d / d.sum())
    assert np.abs(found.values - exact).max() < 1e-10
    assert abs(found.values.sum() - 1) < 1e-9 and found.residual < 1e-13
    other = pagerank(matrix, tol=1e-13, operator=aslinearoperator(matrix), **options)
    assert np.abs(other.values - found.values).max() < 1e-12


GRAPHS: dict[str, Any] = {
    "directed": as_networkx(random_graph(60, 300, 5)),
    "undirected": nx.karate_club_graph(),
    "named": nx.les_miserables_graph(),
    "multi": nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "c"), ("a", "c")]),
    "no edges": nx.empty_graph(4),
    "all dangling but one": nx.DiGraph([(0, i) for i in range(1, 9)]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_equals_networkx(name: str) -> None:
    graph = GRAPHS[name]
    first = next(iter(graph))
    n = len(graph)
    for options in ({}, {"personalization": {first: 2.0}}, {"dangling": {first: 1}}, {"weight": None}, {"alpha": 0.5}):
        given: dict[str, Any] = options
        expected = nx.pagerank(graph, tol=1e-12 / n, max_iter=500, **given)
        found = pagerank(graph, tol=1e-12, max_iter=500, **given).to_dict()
        assert list(found) == list(expected)
        assert max(abs(found[node] - expected[node]) for node in expected) < 1e-10


def test_threads_and_inputs_give_the_same_bits() -> None:
    matrix = random_graph(20_000, 400_000, 3)
    one = pagerank(matrix, threads=1)
    for threads in (2, 3, 7):
        other = pagerank(matrix, threads=threads)
        assert np.array_equal(one.values, other.values) and one.residual == other.residual
    coordinates = matrix.tocoo()
    assert np.allclose(pagerank((coordinates.row, coordinates.col, coordinates.data)).values, one.values, atol=1e-15)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_norms(norm: str) -> None:
    """The residual is the norm of the last change: one iteration more than another start."""
    matrix = random_graph(50, 200, 2)
    found = pagerank(matrix, norm=norm, tol=1e-9)
    with pytest.raises(ConvergenceError) as before:
        pagerank(matrix, norm=norm, tol=1e-9, max_iter=found.iterations - 1)
    last = before.value.last
    assert isinstance(last, Scores) and last.iterations == found.iterations - 1 and not last.residual < 1e-9
    change = found.values - last.values
    expected = {"l1": np.abs(change).sum(), "l2": np.linalg.norm(change), "max": np.abs(change).max()}[norm]
    assert found.residual == pytest.approx(expected, rel=1e-6)


def test_records() -> None:
    found = tracecut.pagerank(nx.DiGraph([("a", "b"), ("c", "b"), ("b", "a")]))
    assert isinstance(found, tracecut.Scores)
    assert [name for name, _ in found.top(2)] == ["b", "a"] and found.top(0) == []
    assert repr(found).startswith("<Scores 3, ") and set(found.to_dict()) == {"a", "b", "c"}
    assert pagerank(([0, 1], [1, 0])).to_dict() == {0: 0.5, 1: 0.5}
    empty = pagerank(nx.Graph())
    assert empty.values.size == 0 and empty.to_dict() == {}
    with pytest.raises(ArgumentError, match="count is -1"):
        found.top(-1)


PATH = nx.DiGraph([("a", "b"), ("b", "c")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.5}, "alpha is 1.5, a number from 0 to 1"),
        ({"alpha": "x"}, "alpha is 'x'"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"tol": 0}, "tol is 0, a positive number"),
        ({"tol": float("nan")}, "tol is nan"),
        ({"norm": "l7"}, "norm is 'l7', 'l1' or 'l2' or 'max'"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"device": "gpu"}, "device is 'gpu', 'cpu' or tracecut.Ranks"),
        ({"threads": 0}, "threads is 0"),
        ({"personalization": {"a": 0}}, "personalization sums to 0"),
        ({"personalization": {}}, "personalization sums to 0"),
        ({"personalization": {"z": 1}}, "personalization names 'z', which is not in the graph"),
        ({"personalization": {"a": float("nan")}}, r"personalization\['a'\] = nan, a finite number"),
        ({"personalization": {"a": -1, "b": 3}}, r"personalization\['a'\] = -1.0"),
        ({"personalization": {"a": "x"}}, "personalization holds values that are no numbers"),
        ({"personalization": [1, 2]}, "personalization has 2 entries, the graph has 3 nodes"),
        ({"personalization": [1, 2, np.inf]}, r"personalization\['c'\] = inf"),
        ({"dangling": {"a": 0}}, "dangling sums to 0"),
        ({"dangling": [[1, 2, 3]]}, "dangling has 2 dimensions"),
        ({"start": {"z": 1}}, "start names 'z'"),
        ({"start": [0, 0, 0]}, "start sums to 0"),
        ({"operator": 3}, "operator is a int, a scipy LinearOperator"),
        ({"operator": aslinearoperator(np.eye(4))}, r"operator has the shape \(4, 4\), the graph has 3 nodes"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        pagerank(PATH, **options)


def test_large_and_small_shares() -> None:
    for share in (1.5e308, 5e-324):
        found = pagerank(PATH, personalization=[share] * 3).values
        assert np.allclose(found, pagerank(PATH).values, atol=1e-15)


def test_unknown_numbers_of_nodes() -> None:
    for node in (2, -1, 0.5, "a"):
        with pytest.raises(ArgumentError, match="personalization names"):
            pagerank(([0, 1], [1, 0]), personalization={node: 1})


def test_without_convergence() -> None:
    with pytest.raises(ConvergenceError, match=r"PageRank did not converge: after 2 iterations the residual is"):
        pagerank(PATH, max_iter=2, tol=1e-300)
    tiny = sp.csr_array(([5e-324, 1.0], ([0, 1], [1, 0])), shape=(2, 2))  # its inverse is infinite
    assert np.allclose(pagerank(tiny).values, 0.5)
