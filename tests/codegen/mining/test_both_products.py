"""Both products of HITS in one sweep: scipy's products, any number of pieces and threads, and the results of `hits`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import tracecut.codegen.sparse.native
from tracecut.codegen.mining.both_products import AHEAD, MOST, both_products, piece_count
from tracecut.codegen.mining.hits import hits
from tracecut.codegen.mining.links import Links, as_links
from tracecut.support.errors import ArgumentError, ConvergenceError

from .reference import as_networkx, random_graph

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sweep_is_both_products(weighted: bool, index: Any, threads: int) -> None:
    """Three pieces, nodes without links among the rows."""
    matrix = random_graph(5_000, 300_000, 2, weighted=weighted)
    links = as_links(matrix)
    links = Links(links.offsets.astype(index), links.targets.astype(index), links.weights, None)
    both = both_products(links, 3)
    assert len(both.pieces) == 4 and both.pairs.shape == (3, 5_000, 2)
    hubs = np.random.default_rng(0).random(5_000)
    both.begin(hubs, threads)
    for factor in (0.5, 2.0):
        total = both.join(factor, threads)
        authorities = factor * (matrix.T @ hubs)
        assert np.allclose(both.x(), authorities, rtol=1e-13) and np.isclose(total, authorities.sum(), rtol=1e-13)
        expected = 0.25 * (matrix @ authorities)
        total = both.sweep(0.25, hubs, threads)
        assert np.allclose(hubs, expected, rtol=1e-12) and np.isclose(total, expected.sum(), rtol=1e-12)


def test_few_links_are_gathered() -> None:
    def links(size: int, count: int) -> Links:
        return Links(np.array([0, *[count] * size]), np.zeros(count, np.int64), np.zeros(0), None)

    assert [piece_count(links(10, count)) for count in (0, 79, 80, 159, 10_000)] == [0, 1, 2, 3, MOST]
    assert len(both_products(links(10, 1000), 2).pieces) == 2  # so few links are one piece


def test_the_same_zeros_stand_behind_the_targets() -> None:
    header = Path(*tracecut.codegen.sparse.native.__path__, "both_products.h").read_text(encoding="utf-8")
    assert re.findall(r"#define PAIRS_AHEAD (\d+)", header) == [str(AHEAD)]


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_networkx_and_the_gathered_products(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = random_graph(60, 3_000, 8, weighted=weighted)
    assert piece_count(as_links(matrix)) >= 2
    graph = as_networkx(matrix)
    found = hits(graph, tol=1e-12)
    for own, expected in zip(found, nx.hits(graph, tol=1e-14), strict=True):
        assert abs(own.values.sum() - 1) < 1e-12 and own.residual < 1e-12
        assert max(abs(score - expected[node]) for node, score in own.to_dict().items()) < 1e-9
    monkeypatch.setattr("tracecut.codegen.mining.hits.piece_count", lambda links: 0)
    for own, other in zip(found, hits(graph, tol=1e-12), strict=True):
        assert own.iterations == other.iterations and np.abs(own.values - other.values).max() < 1e-13


def test_weights_near_the_ends() -> None:
    matrix = random_graph(40, 2_000, 5)
    usual = hits(matrix)
    for factor in (1e-306, 2.0**-398, 2.0**390, 1e305):
        for own, other in zip(hits(matrix * factor), usual, strict=True):
            assert np.abs(own.values - other.values).max() < 1e-12


def test_refused() -> None:
    dense = np.ones((20, 20))
    dense[3] = 0
    with pytest.raises(ArgumentError, match="start gives no node that has links a score"):
        hits(sp.csr_array(dense), start={3: 1})
    with pytest.raises(ConvergenceError, match="HITS did not converge: after 1 iterations") as caught:
        hits(random_graph(30, 1_000, 1), max_iter=1)
    last: Any = caught.value.last
    assert [scores.iterations for scores in last] == [1, 1] and all(abs(s.values.sum() - 1) < 1e-12 for s in last)
