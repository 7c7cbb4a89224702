"""Graphs of every kind as links: the same matrix as networkx and SciPy make, and typed errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.codegen.mining.both_ways import both_ways
from tracecut.codegen.mining.in_links import by_degree, gathered, out_weights, renumbered
from tracecut.codegen.mining.links import Links, as_links
from tracecut.support.errors import ArgumentError

from .reference import random_graph

pytestmark = pytest.mark.quick


def dense(links: Links) -> Any:
    values = links.weights if links.weights.size else np.ones(links.targets.size)
    return sp.csr_array((values, links.targets, links.offsets), shape=(links.size, links.size)).toarray()


NETWORKX = {
    "undirected": lambda: nx.Graph([(0, 1), (1, 2), (2, 2)]),
    "directed": lambda: nx.DiGraph([(0, 1), (1, 0), (2, 2), (0, 3)]),
    "named": lambda: nx.DiGraph([("b", "a"), ("a", "c"), (1, "b")]),
    "shuffled": lambda: nx.Graph([(3, 1), (0, 2), (1, 0)]),
    "weighted": lambda: nx.DiGraph([(0, 1, {"weight": 2.5}), (1, 2), (2, 0, {"weight": 0})]),
    "multi": lambda: nx.MultiDiGraph([(0, 1, {"weight": 2}), (0, 1), (1, 0), (1, 1), (1, 1)]),
    "multi-undirected": lambda: nx.MultiGraph([(0, 1, {"weight": 2}), (0, 1), (1, 2)]),
    "view": lambda: nx.path_graph(6).subgraph([1, 2, 3, 5]),
    "reversed": lambda: nx.reverse_view(nx.DiGraph([(0, 1), (1, 2)])),
    "no edges": lambda: nx.empty_graph(3),
}


@pytest.mark.parametrize("name", NETWORKX)
@pytest.mark.parametrize("weight", ["weight", None])
def test_networkx(name: str, weight: str | None) -> None:
    graph = NETWORKX[name]()
    links = as_links(graph, weight)
    assert (list(range(links.size)) if links.nodes is None else list(links.nodes)) == list(graph)
    expected = nx.to_scipy_sparse_array(graph, weight=weight, dtype=float).toarray()
    assert np.array_equal(dense(links), expected)


def test_arrays_matrices_and_files(tmp_path: Path) -> None:
    matrix = random_graph(30, 100, 1)
    u, v = matrix.nonzero()
    for form in ("csr", "csc", "coo", "lil", "dia"):
        assert np.array_equal(dense(as_links(matrix.asformat(form))), matrix.toarray())
    assert np.array_equal(dense(as_links((u, v, matrix.data)))[:29, :29], matrix.toarray()[:29, :29])
    assert as_links((u.tolist(), v.tolist())).weights.size == 0
    assert as_links(matrix, None).weights.size == 0
    path = tmp_path / "a.el"
    path.write_text("0 2 1.5\n2 1 3\n")
    assert dense(as_links(str(path))).tolist() == [[0, 0, 1.5], [0, 0, 0], [0, 3, 0]]
    zeros = sp.csr_array(([0.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2))
    assert as_links(zeros).targets.tolist() == [0] and zeros.nnz == 2
    assert as_links(sp.csr_array((0, 0))).size == 0 and as_links(([], [])).size == 0


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (sp.csr_array((2, 3)), r"the shape \(2, 3\), a square one"),
        (sp.csr_array(np.array([[0, -1.0], [0, 0]])), "the link from 0 to 1 has the weight -1.0"),
        (sp.csr_array(np.array([[0, 0], [np.nan, 0]])), "the link from 1 to 0 has the weight nan"),
        (sp.csr_array(np.array([[0, 0], [np.inf, 0]])), "the link from 1 to 0 has the weight inf"),
        (sp.csr_array(np.array([[0, 1j]] * 2)), "holds complex128, real weights"),
        (sp.coo_array((2**31, 2**31)), r"the graph has 2147483648 nodes, fewer than 2\*\*31"),
        (([0, 1], [1]), "u has 2 entries, v has 1"),
        (([0, -1], [1, 1]), r"u\[1\] = -1 is outside"),
        (([0, 0.5], [1, 1]), r"u\[1\] = 0.5 is not an integer"),
        (([0], [1], [1, 2]), "w has 2 entries, u has 1"),
        (([0], [1], [-2]), "the link from 0 to 1 has the weight -2.0"),
        (nx.DiGraph([("a", "b", {"weight": -3})]), "the link from 'a' to 'b' has the weight -3.0"),
        (nx.Graph([("a", "b", {"weight": "much"})]), "the edge 'a' – 'b' has the weight 'much', a number"),
        (nx.Graph([("a", "b", {"weight": None})]), "the edge 'a' – 'b' has the weight None, a number"),
        ([[0, 1], [1, 0]], "graph is a list, a scipy.sparse matrix"),
        (np.eye(3), "graph is a ndarray, a scipy.sparse matrix"),
        ("none.mtx", "no such file"),
    ],
)
def test_what_is_no_graph(graph: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        as_links(graph)
    with pytest.raises(ArgumentError, match="weight is 3"):
        as_links(sp.eye_array(2).tocsr(), 3)  # type: ignore[arg-type]


def test_a_dense_array_is_told_what_to_do() -> None:
    with pytest.raises(ArgumentError) as caught:
        as_links(np.eye(3))
    assert caught.value.hint == "scipy.sparse.csr_array(graph) makes one of a dense array."


@pytest.mark.parametrize(("part", "value"), [("indices", 7), ("indices", -1), ("indptr", 9)])
def test_a_damaged_matrix(part: str, value: int) -> None:
    matrix = random_graph(5, 9, 0)
    getattr(matrix, part)[1] = value
    with pytest.raises(ArgumentError, match=part):
        as_links(matrix)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 25), st.integers(0, 80), st.integers(0, 9), st.booleans())
def test_turned_renumbered_and_both_ways(n: int, count: int, seed: int, weighted: bool) -> None:
    """Each is a permutation of the dense matrix, of its transpose, and of the larger of both."""
    matrix = random_graph(n, count if n else 0, seed, weighted=weighted)
    links, own = as_links(matrix), matrix.toarray()
    order, rank = by_degree(links.degrees())
    assert sorted(order.tolist()) == list(range(n)) and (np.diff(links.degrees()[order]) <= 0).all()
    assert np.array_equal(order[rank], np.arange(n))
    for found, expected in ((gathered(links, order), own.T), (renumbered(links, order, rank), own)):
        whole = dense(Links(found.offsets.astype(np.int64), found.sources, found.weights, None))
        assert np.array_equal(whole, expected[order][:, order])
    both, places = both_ways(links)
    whole = dense(Links(both.offsets.astype(np.int64), both.sources, both.weights, None))
    assert np.array_equal(whole[places][:, places], np.maximum(own, own.T))
    assert np.allclose(out_weights(links), own.sum(axis=1))


def test_parallel_links_add_up_before_directions_are_merged() -> None:
    """A matrix with duplicates and no weights: 0 → 1 twice, 1 → 0 once."""
    raw = Links(np.array([0, 2, 3]), np.array([1, 1, 0], np.int32), np.zeros(0), None)
    both, places = both_ways(raw)
    whole = dense(Links(both.offsets.astype(np.int64), both.sources, both.weights, None))
    assert whole[places][:, places].tolist() == [[0, 2], [2, 0]]


def test_weights_that_cannot_be_summed() -> None:
    with pytest.raises(ArgumentError, match=r"a node's links sum to more than 1.8e\+308"):
        out_weights(as_links(([0, 0], [0, 1], [1.5e308, 1.5e308])))
