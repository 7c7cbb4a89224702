"""HITS: the singular vectors, networkx's results, and typed errors."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from tracecut.codegen.mining.hits import hits
from tracecut.support.errors import ArgumentError, ConvergenceError

from .reference import as_networkx, random_graph

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_singular_vectors(seed: int, weighted: bool) -> None:
    matrix = random_graph(80, 400, seed, weighted=weighted)
    left, _, right = np.linalg.svd(matrix.toarray())
    hubs, authorities = hits(matrix, tol=1e-13)
    for found, exact in ((hubs, left[:, 0]), (authorities, right[0])):
        assert np.abs(found.values - exact / exact.sum()).max() < 1e-10
        assert abs(found.values.sum() - 1) < 1e-12 and found.residual < 1e-13
    other = hits(matrix, tol=1e-13, operator=aslinearoperator(matrix))
    assert np.abs(other[0].values - hubs.values).max() < 1e-12
    assert np.abs(other[1].values - authorities.values).max() < 1e-12


@pytest.mark.parametrize(
    "graph", [nx.les_miserables_graph(), as_networkx(random_graph(50, 300, 8))], ids=["named", "directed"]
)
def test_equals_networkx(graph: Any) -> None:
    for found, expected in zip(hits(graph, tol=1e-12), nx.hits(graph, tol=1e-14), strict=True):
        assert list(found.to_dict()) == list(expected)
        assert max(abs(score - expected[node]) for node, score in found.to_dict().items()) < 1e-9


def test_the_stacked_iteration() -> None:
    """Two steps on [[0, Aᵀ], [A, 0]] are one iteration here (TileSpMV, Eq. 8)."""
    matrix = random_graph(30, 200, 4)
    dense = matrix.toarray()
    stacked = np.block([[np.zeros_like(dense), dense.T], [dense, np.zeros_like(dense)]])
    both = np.full(60, 1 / 30)
    for _ in range(2 * 300):
        both = stacked @ both
        both[:30] /= both[:30].sum()
        both[30:] /= both[30:].sum()
    hubs, authorities = hits(matrix, tol=1e-14, max_iter=300)
    assert np.abs(hubs.values - both[30:]).max() < 1e-12 and np.abs(authorities.values - both[:30]).max() < 1e-12


def test_threads_give_the_same_bits() -> None:
    matrix = random_graph(20_000, 300_000, 3)
    one, many = hits(matrix, threads=1), hits(matrix, threads=5)
    assert all(np.array_equal(a.values, b.values) for a, b in zip(one, many, strict=True))


def test_start_and_errors() -> None:
    graph = nx.DiGraph([("a", "b"), ("c", "b"), ("a", "d")])
    assert np.allclose(hits(graph, start={"a": 1})[0].values, hits(graph)[0].values, atol=1e-7)
    with pytest.raises(ArgumentError, match="start gives no node that has links a score"):
        hits(graph, start={"b": 1})
    with pytest.raises(ArgumentError, match="start names 'z'"):
        hits(graph, start={"z": 1})
    for bare in (nx.empty_graph(3), sp.csr_array((3, 3)), sp.csr_array(([0.0], ([0], [1])), shape=(2, 2))):
        with pytest.raises(ArgumentError, match="the graph has no links"):
            hits(bare)
    assert [scores.values.size for scores in hits(nx.Graph())] == [0, 0]
    with pytest.raises(ConvergenceError, match="HITS did not converge: after 1 iterations") as caught:
        hits(random_graph(30, 100, 1), max_iter=1)
    last: Any = caught.value.last
    assert [scores.iterations for scores in last] == [1, 1]
