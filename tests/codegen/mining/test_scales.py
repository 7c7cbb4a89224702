"""Scores depend on the proportions of weights alone, as far as float64 reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from tracecut.codegen.mining.hits import hits
from tracecut.codegen.mining.links import as_links
from tracecut.codegen.mining.pagerank import pagerank
from tracecut.codegen.mining.rwr import rwr
from tracecut.codegen.mining.scales import by_largest, by_rows
from tracecut.support.errors import ArgumentError

from .reference import random_graph

pytestmark = pytest.mark.quick


def scaled(matrix: sp.csr_array[Any], factors: Any) -> sp.csr_array[Any]:
    found = matrix.copy()
    found.data = found.data * factors
    return found


@pytest.mark.parametrize("power", [-1060, -560, -401, 401, 660, 1018])
def test_the_same_scores(power: int) -> None:
    """The reference is the graph with small whole weights: a power of two changes no bit of any score."""
    plain = random_graph(60, 400, 3)
    other = scaled(plain, 2.0**power)
    assert np.array_equal(pagerank(other).values, pagerank(plain).values)
    assert np.array_equal(rwr(other, [1, 2]).values, rwr(plain, [1, 2]).values)
    assert np.array_equal(rwr(other, 1).values, rwr(plain, 1).values)
    for found, expected in zip(hits(other), hits(plain), strict=True):
        assert np.array_equal(found.values, expected.values)


@pytest.mark.parametrize("factor", [1e200, 1e-170, 1e-300])
def test_an_operator(factor: float) -> None:
    plain = random_graph(60, 400, 3)
    other = scaled(plain, factor)
    found, expected = hits(other, operator=aslinearoperator(other)), hits(plain)
    assert all(np.allclose(a.values, b.values, atol=1e-12) for a, b in zip(found, expected, strict=True))


def test_rows_of_other_scales() -> None:
    """PageRank scales each node's links to the sum 1."""
    plain = random_graph(60, 400, 3)
    draw = np.random.default_rng(0).choice([2.0**-1060, 2.0**-500, 1.0, 2.0**1018], 60)
    other = scaled(plain, np.repeat(draw, np.diff(plain.indptr)))
    assert np.array_equal(pagerank(other).values, pagerank(plain).values)
    with pytest.raises(ArgumentError, match=r"the weights of a node's links sum to .* while others reach"):
        pagerank(scaled(plain, 2.0**-1060), operator=aslinearoperator(plain))
    with pytest.raises(ArgumentError, match=r"the weights of a node's links sum to .* while others reach"):
        rwr(([0, 2], [1, 3], [1.0, 1e-320]), [0, 2])


def test_usual_weights_stay() -> None:
    for links in (as_links(random_graph(20, 50, 1)), as_links(random_graph(20, 50, 1, weighted=False))):
        assert by_largest(links) is links and by_rows(links) is links
    mixed = as_links(([0, 0, 1], [0, 1, 1], [1e300, 1e-300, 2.0]))
    assert by_largest(mixed).weights.max() < 1 and by_rows(mixed).weights[2] == 2.0


def test_a_start_that_vanishes() -> None:
    graph = ([0, 2], [1, 3], [1.0, 1e-310])
    with pytest.raises(ArgumentError, match="start gives no node that has links a score"):
        hits(graph, start={2: 1})
    with pytest.raises(ArgumentError, match="start, or the operator, gives no node"):
        hits(graph, operator=aslinearoperator(np.zeros((4, 4))))
