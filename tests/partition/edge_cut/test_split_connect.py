"""SPAC with short V-cycles after it: never more copies, the same labels on any number of threads, options that fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.partition import partition
from tracecut.partition.balance.rebalance import capacities, equal_targets
from tracecut.partition.edge_cut import split_connect
from tracecut.partition.multilevel import short_v_cycles
from tracecut.partition.multilevel.short_v_cycles import short_cycles
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def torus() -> LocalityGraph:
    """A 140 × 140 torus, with its edges in random order: enough jobs for two threads."""
    names = np.arange(19600, dtype=np.int32).reshape(140, 140)
    u = np.concatenate([names.ravel(), names.ravel()])
    v = np.concatenate([np.roll(names, 1, 0).ravel(), np.roll(names, 1, 1).ravel()])
    order = np.random.default_rng(7).permutation(u.size)
    return LocalityGraph.from_edges(u[order], v[order], names.size)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), k=st.integers(1, 5))
def test_short_cycles_cost_no_copies(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> None:
    graph = data.draw(graphs)
    labels = np.array(
        data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n_jobs, max_size=graph.n_jobs)), np.int32
    )
    weights = graph.job_weights if graph.job_weights.size else np.ones(graph.n_jobs)
    found = short_cycles(graph, labels, weights=weights, targets=equal_targets(k), balance=1.1)
    before, after = Clustering(labels, k, graph=graph), Clustering(found, k, graph=graph)
    assert vertex_copies(graph, after) <= vertex_copies(graph, before)
    room = np.maximum(capacities(weights, equal_targets(k), 1.1), np.bincount(labels, weights, k))
    assert (np.bincount(found, weights, k) <= room * (1 + 1e-12)).all()


@pytest.mark.parametrize("large", [1, 1 << 24])
@pytest.mark.parametrize("inner", ["metis", "expansion"])
def test_threads_change_nothing(large: int, inner: str, torus: LocalityGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above and below the size from which label propagation is all that is done."""
    monkeypatch.setattr(short_v_cycles, "LARGE", large)
    monkeypatch.setattr(split_connect, "LARGE", large)
    one, two = (partition(torus, 9, "spac", refine="km1", inner=inner, threads=threads) for threads in (1, 2))
    assert one.labels.tolist() == two.labels.tolist()
    assert one.imbalance() <= 1.03 and one.options["refine"] == "km1"
    bare = partition(torus, 9, "spac", inner=inner)
    assert vertex_copies(torus, one) <= vertex_copies(torus, bare)


def test_large_graphs_that_are_refined_start_from_expansion(
    torus: LocalityGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_connect, "SMALL", 0)
    grown = partition(torus, 9, "spac", refine="km1", inner="expansion")
    metis = partition(torus, 9, "spac", refine="km1", inner="metis")
    assert grown.labels.tolist() != metis.labels.tolist()
    assert partition(torus, 9, "spac", refine="km1").labels.tolist() == grown.labels.tolist()
    assert partition(torus, 9, "spac", refine="km1", recursive=False).labels.tolist() == metis.labels.tolist()
    assert vertex_copies(torus, grown) < vertex_copies(torus, partition(torus, 9, "expansion"))


@pytest.mark.parametrize("option", [{"ring": True}, {"recursive": True}])
def test_paths_are_refused_where_there_are_none(option: dict[str, bool], torus: LocalityGraph) -> None:
    with pytest.raises(ArgumentError, match="ring and recursive are for paths"):
        partition(torus, 9, "spac", inner="expansion", **option)


def test_inner_none_of_the_known(torus: LocalityGraph) -> None:
    with pytest.raises(ArgumentError, match="one of metis, kahip, kaminpar, mtkahypar, expansion was"):
        partition(torus, 9, "spac", inner="expansions")
