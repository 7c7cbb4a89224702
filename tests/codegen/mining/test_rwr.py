"""Random walks with restart: networkx's personalised PageRank of the undirected graph, and typed errors."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator
from tracecut.codegen.mining.rwr import rwr
from tracecut.support.errors import ArgumentError, ConvergenceError

from .reference import as_networkx, exact_pagerank, random_graph, transition

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("count", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_fixed_point(count: int, weighted: bool) -> None:
    """Isolated nodes are among the queries; each column equals its own solution."""
    matrix = random_graph(60, 150, 7, weighted=weighted)
    own = matrix.toarray()
    both = np.maximum(own, own.T)
    queries = [*np.flatnonzero(both.sum(axis=1) == 0)[:1].tolist(), *range(count)][:count]
    found = rwr(matrix, queries, tol=1e-13, max_iter=1000)
    assert found.values.shape == (60, count)
    for i, query in enumerate(queries):
        e = np.zeros(60)
        e[query] = 1
        assert np.abs(found.values[:, i] - exact_pagerank(both, 0.9, e, e)).max() < 1e-10
    other = rwr(matrix, np.array(queries), tol=1e-13, max_iter=1000, operator=aslinearoperator(both))
    assert np.abs(other.values - found.values).max() < 1e-12


def test_equals_networkx() -> None:
    for graph in (
        nx.karate_club_graph(),
        nx.les_miserables_graph(),
        as_networkx(random_graph(40, 200, 3, weighted=False)),
    ):
        undirected = graph.to_undirected()
        for data in (undirected[u][v] for u, v in undirected.edges):
            data.setdefault("weight", 1.0)
        if graph.is_directed():  # parallel links of the random graph add up, in each direction alone
            for u, v in undirected.edges:
                weights = [graph[a][b]["weight"] for a, b in ((u, v), (v, u)) if graph.has_edge(a, b)]
                undirected[u][v]["weight"] = max(weights)
        queries = list(graph)[:3]
        found = rwr(graph, queries, tol=1e-12, max_iter=1000)
        for i, query in enumerate(queries):
            expected = nx.pagerank(undirected, alpha=0.9, personalization={query: 1}, tol=1e-14, max_iter=1000)
            column = dict(zip(found.to_dict(), found.values[:, i], strict=True))
            assert max(abs(column[node] - expected[node]) for node in expected) < 1e-10


def test_threads_and_other_queries_change_no_bit() -> None:
    matrix = random_graph(20_000, 200_000, 3)
    queries = list(range(5, 25))  # three rounds of eight seats, then fewer seats
    one, many = rwr(matrix, queries, threads=1), rwr(matrix, queries, threads=4)
    assert np.array_equal(one.values, many.values)
    alone = [rwr(matrix, query) for query in queries]
    assert np.array_equal(np.hstack([each.values for each in alone]), one.values)
    assert one.iterations == max(each.iterations for each in alone) > min(each.iterations for each in alone)
    assert one.residual == max(each.residual for each in alone)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_each_walk_ends_by_its_own_norm(norm: str) -> None:
    """Beside a plain loop for each query: the same steps, residuals and scores."""
    matrix = random_graph(60, 300, 7)
    own = matrix.toarray()
    both, order = np.maximum(own, own.T), {"l1": 1, "l2": 2, "max": np.inf}[norm]
    walk, _ = transition(both)
    queries = np.flatnonzero(both.sum(axis=1))[:11].tolist()
    found, steps, residuals = rwr(matrix, queries, norm=norm, tol=1e-3), [], []
    for i, query in enumerate(queries):
        e = np.zeros(60)
        e[query] = 1
        r, change, count = e, np.inf, 0
        while not change < 1e-3:
            before, r = r, 0.9 * walk.T @ r + 0.1 * e
            change, count = float(np.linalg.norm(r - before, order)), count + 1
        assert np.abs(found.values[:, i] - r).max() < 1e-14
        steps.append(count)
        residuals.append(change)
    assert found.iterations == max(steps) > min(steps) and np.isclose(found.residual, max(residuals))
    other = rwr(matrix, queries, norm=norm, tol=1e-3, operator=aslinearoperator(both))
    assert other.iterations == max(steps) and other.residual < 1e-3


def test_one_query_and_none() -> None:
    graph = nx.Graph([("a", "b"), ("b", "c")])
    found = rwr(graph, "a")
    assert found.values.shape == (3, 1) and found.top(1)[0][0] == "b"
    assert rwr(graph, ["a", "c"]).top(1, query=1)[0][0] == "b"
    nothing = rwr(graph, [])
    assert nothing.values.shape == (3, 0) and nothing.iterations == 0
    assert rwr(nx.empty_graph(2), [1]).values.tolist() == [[0.0], [1.0]]
    assert rwr(graph, "b", c=0.0).values[:, 0].tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("queries", "options", "message"),
    [
        (["z"], {}, "queries names 'z'"),
        ([["a"]], {}, r"queries names \['a'\]"),
        (np.zeros((2, 2)), {}, r"queries has the shape \(2, 2\)"),
        (["a"], {"c": 1.5}, "c is 1.5"),
        (["a"], {"c": -0.1}, "c is -0.1"),
        (["a"], {"operator": aslinearoperator(np.eye(2))}, r"operator has the shape \(2, 2\)"),
    ],
)
def test_refused(queries: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        rwr(nx.Graph([("a", "b"), ("b", "c")]), queries, **options)


def test_without_convergence() -> None:
    with pytest.raises(ConvergenceError, match="the random walk did not converge: after 3 iterations"):
        rwr(nx.path_graph(9), [0, 1, 2], max_iter=3)
