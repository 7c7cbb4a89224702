"""networkx's own calls on this backend: results, errors, conversions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest
from tracecut.codegen.mining import networkx_backend as backend
from tracecut.codegen.mining.networkx_info import get_info
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick

GRAPHS = {
    "directed": lambda: nx.DiGraph([(0, 1), (1, 2), (2, 0), (3, 2), (4, 5)]),
    "named": nx.les_miserables_graph,
    "undirected": nx.karate_club_graph,
    "multi": lambda: nx.MultiDiGraph([("a", "b", {"weight": 2}), ("a", "b"), ("b", "c"), ("c", "a")]),
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """networkx warns whenever it takes a conversion from its cache."""
    with nx.config(warnings_to_ignore={"cache"}):
        yield


def near(found: dict[Any, float], expected: dict[Any, float], bound: float) -> bool:
    return list(found) == list(expected) and max(abs(found[node] - expected[node]) for node in expected) < bound


@pytest.mark.parametrize("name", GRAPHS)
def test_pagerank(name: str) -> None:
    graph = GRAPHS[name]()
    first = next(iter(graph))
    for options in (
        {},
        {"alpha": 0.6},
        {"alpha": 1.0, "max_iter": 3000} if name in ("named", "undirected") else {"alpha": 0.9},
        {"weight": None},
        {"personalization": {first: 1, "unknown": 5}},
        {"dangling": {first: 1}},
        {"nstart": {first: 1, "unknown": 2}},
    ):
        given: dict[str, Any] = {"tol": 1e-10, "max_iter": 500} | options
        assert near(nx.pagerank(graph, backend="tracecut", **given), nx.pagerank(graph, **given), 1e-7), options


def test_hits() -> None:
    for name in ("named", "undirected", "multi"):
        graph = GRAPHS[name]()
        for found, expected in zip(nx.hits(graph, backend="tracecut"), nx.hits(graph, tol=1e-12), strict=True):
            assert near(found, expected, 1e-6)
    with pytest.raises(NotImplementedError):
        nx.hits(nx.path_graph(3), normalized=False, backend="tracecut")


def test_hits_that_converge_slowly() -> None:
    """The two largest singular values are 1 + 1.3e-5 and 1: the power method takes a million steps."""
    edges = [("a", "b", 1.0), ("b", "c", 0.0), ("c", "d", 0.995), ("d", "e", 0.1)]
    graph: nx.Graph[Any] = nx.Graph()
    graph.add_weighted_edges_from(edges)
    length = 0.995**2 + 0.1**2
    ends = {"a": 0.0, "b": 0.0, "c": 0.995 * 1.095 / length, "d": 1.0, "e": 0.1 * 1.095 / length}
    hubs, authorities = nx.hits(graph, backend="tracecut")
    total = sum(ends.values())
    assert near(hubs, {node: value / total for node, value in ends.items()}, 1e-6)
    other = nx.grid_2d_graph(60, 5)
    hubs, authorities = nx.hits(other, backend="tracecut")
    values = np.linalg.eigh(nx.to_numpy_array(other))[1][:, -1]  # of the one eigenvalue, and its negative
    assert abs(sum(hubs.values()) - 1) < 1e-12 and abs(sum(authorities.values()) - 1) < 1e-12
    even = np.array([(row + column) % 2 == 0 for row, column in other])
    found = np.array(list(hubs.values()))
    for side in (even, ~even):
        assert np.allclose(
            found[side] / found[side].sum(), np.abs(values[side]) / np.abs(values[side]).sum(), atol=1e-7
        )
    assert near(nx.hits(other, tol=0, backend="tracecut")[0], hubs, 1e-6)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.hits(nx.path_graph(2000), max_iter=1, backend="tracecut")


def test_it_is_this_code_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = backend.own_pagerank
    monkeypatch.setattr(
        backend, "own_pagerank", lambda *words, **options: seen.append("own") or real(*words, **options)
    )
    graph = nx.path_graph(4)
    nx.pagerank(graph)
    assert seen == []
    nx.pagerank(graph, backend="tracecut")
    with nx.config(backend_priority=["tracecut"]):
        nx.pagerank(graph)
    assert seen == ["own", "own"]


def test_errors_are_those_of_networkx() -> None:
    graph = nx.path_graph(5)
    for options in ({"max_iter": 0}, {"max_iter": 1}):
        for call in (nx.pagerank, nx.hits):
            if call is nx.hits and options["max_iter"]:
                continue
            given: dict[str, Any] = {"backend": "tracecut", **options}
            with pytest.raises(nx.PowerIterationFailedConvergence):
                call(graph, **given)
    nothing: Any
    for nothing in ({}, {0: 0}, {"unknown": 1}):
        with pytest.raises(ZeroDivisionError, match="personalization gives no node of the graph a share"):
            nx.pagerank(graph, personalization=nothing, backend="tracecut")
        for name in ("nstart", "dangling"):
            with pytest.raises(nx.PowerIterationFailedConvergence) as caught:
                nx.pagerank(graph, **{name: nothing}, backend="tracecut")
            assert str(caught.value.__cause__) == f"{name} gives no node of the graph a share"
        with pytest.raises(ValueError, match="nstart gives no node of the graph a score"):
            nx.hits(graph, nstart=nothing, backend="tracecut")
    for call in (nx.pagerank, nx.hits):
        refused: Any = call
        with pytest.raises(ArgumentError, match="tol is -1, a positive number"):
            refused(graph, tol=-1, backend="tracecut")
    for kind in (nx.Graph, nx.MultiGraph):
        without = kind([(0, 1, {"weight": 2}), (1, 2, {"weight": None})])
        with pytest.raises(ArgumentError, match="the edge 1 – 2 has the weight None, a number was expected"):
            nx.pagerank(without, backend="tracecut")
    with pytest.raises(ArgumentError, match=r"the weight -1\.0"):
        nx.pagerank(nx.Graph([(0, 1, {"weight": -1})]), backend="tracecut")
    assert nx.pagerank(nx.Graph(), backend="tracecut") == {} and nx.hits(nx.Graph(), backend="tracecut") == ({}, {})


@pytest.mark.parametrize("name", GRAPHS)
def test_conversions(name: str) -> None:
    graph = GRAPHS[name]()
    converted = backend.convert_from_nx(graph, edge_attrs={"weight": 1})
    assert len(converted) == len(graph) and converted.is_directed() == graph.is_directed()
    again = backend.convert_to_nx(converted)
    assert converted.is_multigraph() == graph.is_multigraph() and backend.convert_to_nx(5) == 5
    expected = nx.to_numpy_array(graph, weight="weight")
    assert (nx.to_numpy_array(again, nodelist=list(graph)) == expected).all()
    assert near(nx.pagerank(converted), nx.pagerank(graph), 1e-5)
    for asked in ({"preserve_edge_attrs": True}, {"edge_attrs": {"weight": 2}}, {"edge_attrs": {"a": 1, "b": 1}}):
        options: dict[str, Any] = asked
        with pytest.raises(NotImplementedError):
            backend.convert_from_nx(graph, **options)


def test_what_networkx_knows() -> None:
    """The functions that are told are those that there are; networkx found both entry points."""
    told = get_info()["functions"]
    assert all(callable(getattr(backend, name)) and backend.can_run(name, (), {}) is True for name in told)
    assert backend.can_run("betweenness_centrality", (), {}) is False and backend.should_run("hits", (), {})
    assert nx.utils.backends.backend_info["tracecut"]["functions"] == told
    assert "tracecut" in nx.utils.backends.backends and sys.modules["tracecut.codegen.mining.networkx_info"]
