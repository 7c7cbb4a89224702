"""What holds for every method on every graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.metrics import edge_cut, replication_factor, vertex_copies
from tracecut.partition import METHODS, partition
from tracecut.partition.balance.rebalance import bounds, capacities
from tracecut.partition.methods import Method
from tracecut.support.errors import ArgumentError

from ..waiting import HUNG

# Those of other projects without their wheel are tested in `test_peers`.
HERE = [method for method in METHODS.values() if method.installed]
IN_PROCESS = [method for method in HERE if not method.module and "METIS" not in method.complexity]
IN_WORKERS = [method for method in HERE if method not in IN_PROCESS]
BOUNDED = {
    method.name for method in HERE if "balance" in method.uses or method.kind != "jobs" or method.name == "chunks"
}


def check(method: Method, graph: LocalityGraph, k: int, draw: st.DrawFn, of: str = "jobs") -> None:
    """All properties of one call, with weights, targets and a bound where the method takes them."""
    size = graph.n_jobs if of == "jobs" else graph.n_data
    random = np.random.default_rng(draw(st.integers(0, 99)))
    arguments: dict[str, Any] = {"of": of, "seed": draw(st.integers(0, 3))}
    takes = method.uses | ({"weights", "targets"} if method.kind == "order" else set())
    if "coords" in takes:
        arguments["coords"] = random.random((graph.n_data, draw(st.integers(1, 3))))
    if "hierarchy" in takes and k % 2 == 0:
        arguments["hierarchy"] = [2, k // 2]
    if "weights" in takes and draw(st.booleans()):
        arguments["weights"] = np.round(random.random(size) * 9 + 0.5, 2)
    if "targets" in takes and draw(st.booleans()):
        shares = random.random(k) + 0.2
        arguments["targets"] = shares / shares.sum()
    if "time_limit" in method.options():
        arguments["time_limit"] = HUNG
    if "balance" in takes:
        arguments["balance"] = draw(st.sampled_from([1.0, 1.03, 1.5]))
    counting = method.kind != "order" and "weights" not in method.uses  # of what has weights, refused otherwise
    if counting:
        arguments["unweighted"] = True
    found = partition(graph, k, method.name, **arguments)
    graph = found.graph or graph

    own = graph.job_weights if of == "jobs" else graph.data_weights
    weights = arguments.get("weights", own if own.size else np.ones(size))
    loads = np.bincount(found.labels, weights, k)
    assert (found.labels.size, found.labels.dtype, found.k, found.kind) == (size, np.int32, k, of)
    assert loads.size == k and loads.sum() == pytest.approx(weights.sum()), "each member once"
    if method.name in BOUNDED and (of == "jobs" or "balance" in method.uses):
        shares = arguments.get("targets", np.full(k, 1 / k))
        if method.kind == "order" or method.name == "chunks":  # up to one item more than the target
            limits = shares * weights.sum() + weights.max(initial=0.0)
        else:
            limits = bounds(weights, shares, arguments.get("balance", 1.03))
            if np.unique(weights).size <= 1:  # numbers of members: up to one more than the target
                limits = np.maximum(limits, capacities(weights, shares, arguments.get("balance", 1.03)))
        assert (loads <= limits * (1 + 1e-9)).all(), (loads, limits)
    if k <= size and not method.bare:
        assert found.sizes().min() > 0, "no cluster is empty"
    if method.repeatable:
        for threads in (1, 3):
            again = partition(graph, k, method.name, threads=threads, **arguments)
            assert again.labels.tolist() == found.labels.tolist()
    renamed = Clustering(random.permutation(k).astype(np.int32)[found.labels], k, of)
    for metric in (vertex_copies, replication_factor) if of == "jobs" else (edge_cut,):
        assert metric(graph, renamed) == metric(graph, found)
    assert found.report()["empty_parts"] == np.count_nonzero(found.sizes() == 0)


@pytest.mark.parametrize("method", IN_PROCESS, ids=lambda method: method.name)
@pytest.mark.filterwarnings("ignore::tracecut.partition.streaming.vertex_cut.CollapseWarning")
@settings(deadline=None, max_examples=20)
@given(data=st.data(), k=st.integers(1, 9))
def test_every_method_on_any_graph(
    method: Method, graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int
) -> None:
    check(method, data.draw(graphs), k, data.draw)


@pytest.mark.parametrize("method", [m for m in IN_PROCESS if m.kind == "data"], ids=lambda method: method.name)
@settings(deadline=None, max_examples=15)
@given(data=st.data(), k=st.integers(1, 9))
def test_every_data_partition_of_any_graph(
    method: Method, graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int
) -> None:
    check(method, data.draw(graphs), k, data.draw, of="data")


@pytest.mark.parametrize("method", IN_WORKERS, ids=lambda method: method.name)
@settings(deadline=None, max_examples=3, derandomize=True)  # METIS crashes on some valid graphs
@given(data=st.data(), k=st.integers(2, 5))
def test_every_method_with_a_process_of_its_own(
    method: Method, graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int
) -> None:
    check(method, data.draw(graphs), k, data.draw)


@pytest.mark.filterwarnings("ignore::tracecut.partition.streaming.vertex_cut.CollapseWarning")
@settings(deadline=None, max_examples=30)
@given(data=st.data(), k=st.integers(1, 9), name=st.sampled_from([method.name for method in IN_PROCESS]))
def test_refinement_never_costs_more(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int, name: str
) -> None:
    """Within the bound, and against the same labels once they are brought within it."""
    graph = data.draw(graphs)
    places = {"coords": np.random.default_rng(0).random((graph.n_data, 2))} if "coords" in METHODS[name].uses else {}
    refined = partition(graph, k, name, refine="km1", **places)
    weights = graph.job_weights if graph.job_weights.size else np.ones(graph.n_jobs)
    limits = bounds(weights, np.full(k, 1 / k), 1.03)
    assert (np.bincount(refined.labels, weights, k) <= limits * (1 + 1e-9)).all()
    if k <= graph.n_jobs:
        assert refined.sizes().min() > 0
    # Weights that a method passes over are refused unless its result is refined: its labels do not depend on them.
    none = np.zeros(0)
    counting = METHODS[name].kind == "jobs" and "weights" not in METHODS[name].uses
    plain = replace(graph, job_weights=none if counting else graph.job_weights)
    plain = replace(plain, data_weights=none if METHODS[name].blind else graph.data_weights)
    start = replace(partition(plain, k, name, **places), graph=graph)
    if (np.bincount(start.labels, weights, k) <= limits).all() and start.sizes().min(initial=1) > 0:
        assert refined.cost() <= start.cost() + np.count_nonzero(start.sizes() == 1)


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_every_method_refuses_before_it_starts(method: Method, mesh: LocalityGraph) -> None:
    """Whether its library is installed or not; what is wrong is named, whatever the method makes of the rest."""
    for arguments, word in (
        ({"k": 0}, "k = 0"),
        ({"k": -3}, "k = -3"),
        ({"seed": 1.5}, "seed = 1.5"),
        ({"balance": 0.5}, "balance = 0.5"),
        ({"weights": np.full(mesh.n_jobs, np.nan)}, r"weights\[0\] = nan"),
        ({"weights": np.ones(3)}, "weights has 3 entries"),
        ({"targets": [0.9, 0.9]}, "targets"),
        ({"graph": ([0, -1], [1, 2])}, r"u\[1\] = -1"),
        ({"graph": ([0, 1], [1])}, "u has 2 entries, v has 1"),
        ({"bogus": 1}, "bogus"),
    ):
        given_all: dict[str, Any] = {"graph": mesh, "k": 2, **arguments}
        if "coords" in method.uses and "graph" not in arguments:
            given_all["coords"] = np.zeros((mesh.n_data, 2))
        with pytest.raises(ArgumentError, match=word):
            partition(method=method.name, **given_all)


@pytest.mark.parametrize("method", [m for m in METHODS.values() if "coords" in m.uses], ids=lambda method: method.name)
def test_geometric_methods_ask_for_coordinates(method: Method, mesh: LocalityGraph) -> None:
    with pytest.raises(ArgumentError, match="coords"):
        partition(mesh, 2, method.name)


def test_refinement_that_has_to_give_back_more_than_it_won_is_dropped() -> None:
    """Thirteen jobs of unequal weight on two data: refined up to the capacity and brought back, they cost 5, not 4."""
    pins = np.array([0, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, 1, *[0] * 11, 1, 0, 0], np.int32)
    graph = LocalityGraph(np.arange(0, 28, 2), pins, 3, job_weights=1 + np.arange(13) / 6)
    assert partition(graph, 4, "expansion", refine="km1").cost() <= partition(graph, 4, "expansion").cost() == 4
