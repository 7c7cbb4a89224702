"""PageRank, HITS, random walks and CG on ranks that are threads: one rank's results, and the model's bytes."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from tracecut.codegen.ranks.split import EXCHANGES, SPLITS
from tracecut.support.errors import ArgumentError, ArtefactError, ConvergenceError

import tracecut

from .reference import random_graph

pytestmark = pytest.mark.quick
QUERIES = [3, 9, 7, 11, 12, 13, 14, 15, 100, 101, 199]  # more than one sweep holds


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("split", SPLITS)
def test_scores_are_those_of_one_rank(split: str, exchange: str) -> None:
    matrix = random_graph(200, 1200, 1)
    draw = np.random.default_rng(2)
    options: dict[str, Any] = {
        "personalization": draw.random(200),
        "dangling": draw.random(200),
        "tol": 1e-10,
        "max_iter": 500,
    }
    for size in (1, 2, 4):
        ranks = tracecut.Ranks(split, exchange, comm=size)
        check(tracecut.pagerank(matrix, device=ranks, **options), tracecut.pagerank(matrix, **options), ranks)
        pairs = zip(tracecut.hits(matrix, device=ranks), tracecut.hits(matrix), strict=True)
        for found, expected in pairs:
            check(found, expected, ranks)
        found = tracecut.rwr(matrix, QUERIES, device=ranks, max_iter=500)
        check(found, tracecut.rwr(matrix, QUERIES, max_iter=500), ranks)


def check(found: Any, expected: Any, ranks: tracecut.Ranks) -> None:
    assert np.abs(found.values - expected.values).max() < 1e-12
    assert found.iterations == expected.iterations and found.residual == pytest.approx(expected.residual, rel=1e-3)
    told = found.communication
    assert (told.ranks, told.split, told.exchange) == (ranks.comm, ranks.split, ranks.exchange)
    assert told.sent == told.predicted and len(told.sent) == told.ranks and expected.communication is None
    assert (sum(told.sent) > 0) == (told.ranks > 1) and told.products >= found.iterations


@pytest.mark.parametrize("split", SPLITS)
def test_solutions_are_those_of_one_rank(split: str) -> None:
    line = sp.diags_array([-1.0, 2.05, -1.0], offsets=[-1, 0, 1], shape=(20, 20))
    matrix = sp.csr_array(sp.kron(line, sp.eye_array(20)) + sp.kron(sp.eye_array(20), line))
    b = np.random.default_rng(0).random(400)
    sums = []
    for exchange in EXCHANGES:
        ranks = tracecut.Ranks(split, exchange, comm=4)
        for options in ({}, {"x0": b}, {"rtol": 1e-10}):
            given: dict[str, Any] = options
            found = tracecut.cg(matrix, b, device=ranks, **given)
            check(found, tracecut.cg(matrix, b, **given), ranks)
        assert found.communication is not None
        sums.append(sum(found.communication.sent))
    assert sums[0] < sums[1]  # what is needed is less than all


def test_columns_are_contiguous_in_the_order_of_the_nodes() -> None:
    """A ring in which all is near: a rank exchanges with its two neighbours alone, though degrees differ."""
    u = np.arange(400)
    graph = (np.concatenate([u, u[::3]]), np.concatenate([(u + 1) % 400, (u[::3] + 2) % 400]))
    told = tracecut.pagerank(graph, device=tracecut.Ranks("columns", comm=4)).communication
    assert told is not None and max(told.sent) <= 2 * 8 * told.products


def test_norms_and_weights() -> None:
    matrix = random_graph(90, 500, 4, weighted=False)
    ranks = tracecut.Ranks("grid", comm=4)
    for norm in ("l1", "l2", "max"):
        options: dict[str, Any] = {"norm": norm, "tol": 1e-8, "max_iter": 900}
        check(tracecut.pagerank(matrix, device=ranks, **options), tracecut.pagerank(matrix, **options), ranks)
        check(tracecut.hits(matrix, device=ranks, **options)[0], tracecut.hits(matrix, **options)[0], ranks)
        check(tracecut.rwr(matrix, [5], device=ranks, **options), tracecut.rwr(matrix, [5], **options), ranks)


def test_odd_graphs() -> None:
    """Fewer nodes than ranks, no links, no nodes, names, a query at a node without links; weights near the ends."""
    ranks = tracecut.Ranks("spac", comm=5)
    named = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")])
    assert tracecut.pagerank(named, device=ranks).to_dict().keys() == {"a", "b", "c"}
    empty, alone = nx.empty_graph(4), nx.empty_graph(0)
    assert np.allclose(tracecut.pagerank(empty, device=ranks).values, 0.25)
    assert tracecut.pagerank(alone, device=ranks).values.size == 0
    assert tracecut.hits(alone, device=ranks)[1].values.size == 0
    walks = tracecut.rwr(empty, [0, 2], device=ranks)
    assert np.array_equal(walks.values, np.eye(4)[:, [0, 2]]) and walks.iterations == 0
    assert tracecut.rwr(named, [], device=ranks).values.shape == (3, 0)
    eye = sp.eye_array(3).tocsr()
    for scale in (1.0, 1e200, 1e-200):
        found = tracecut.cg(eye * 2.0, np.full(3, scale), device=ranks)
        assert np.allclose(found.values, scale / 2) and found.iterations == 1
    assert not tracecut.cg(eye, np.zeros(3), x0=np.ones(3), device=ranks).values.any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ranks: tracecut.pagerank(np.eye(2), device=ranks), "graph is a ndarray"),
        (lambda ranks: tracecut.pagerank(None, device=ranks), "graph is a NoneType"),
        (lambda ranks: tracecut.pagerank(nx.path_graph(3), alpha=2, device=ranks), "alpha is 2"),
        (lambda ranks: tracecut.pagerank(nx.path_graph(2), operator=aslinearoperator(np.eye(2)), device=ranks), "oper"),
        (lambda ranks: tracecut.hits(nx.empty_graph(2), device=ranks), "the graph has no links"),
        (lambda ranks: tracecut.hits(nx.DiGraph([(0, 1)]), start={0: 0, 1: 1}, device=ranks), "start gives no node"),
        (lambda ranks: tracecut.rwr(nx.path_graph(3), [7], device=ranks), "queries names 7"),
        (lambda ranks: tracecut.cg(sp.eye_array(3), np.ones(2), device=ranks), "A has the shape"),
        (lambda ranks: tracecut.cg(sp.eye_array(2), np.ones(2), M=sp.eye_array(2), device=ranks), "M is given"),
        (lambda ranks: tracecut.cg(sp.eye_array(2), np.ones(2), callback=print, device=ranks), "callback is given"),
        (lambda ranks: tracecut.cg(aslinearoperator(np.eye(2)), np.ones(2), device=ranks), "a real A with entries"),
        (lambda ranks: tracecut.cg(sp.eye_array(2) * 1j, np.ones(2), device=ranks), "a real A with entries"),
        (lambda ranks: tracecut.cg(sp.eye_array(2), np.ones(2), device="gpu"), "device is 'gpu'"),
    ],
)  # fmt: skip
def test_refused_on_all_ranks(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call(tracecut.Ranks(comm=3))


def test_a_damaged_file_and_no_convergence(tmp_path: Any) -> None:
    path = tmp_path / "bad.el"
    path.write_text("0 x\n")
    with pytest.raises(ArtefactError, match=r"bad\.el:1"):
        tracecut.pagerank(path, device=tracecut.Ranks(comm=2))
    matrix = random_graph(40, 200, 3)
    for call in (tracecut.pagerank, lambda *a, **o: tracecut.rwr(a[0], [1], **o), tracecut.hits):
        with pytest.raises(ConvergenceError, match="after 2 iterations") as caught:
            call(matrix, max_iter=2, tol=1e-300, device=tracecut.Ranks(comm=3))
        assert caught.value.last is not None
    with pytest.raises(ConvergenceError, match="broke down in iteration 1"):
        tracecut.cg(sp.csr_array(np.diag([1.0, -1.0])), np.ones(2), device=tracecut.Ranks(comm=2))
