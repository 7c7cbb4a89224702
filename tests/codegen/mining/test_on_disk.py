"""Iterations on matrices on disk: the results of those in memory, whatever the pieces are; typed errors."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from tracecut.codegen.mining.cg import cg
from tracecut.codegen.mining.hits import hits
from tracecut.codegen.mining.pagerank import pagerank
from tracecut.codegen.mining.rwr import rwr
from tracecut.codegen.ranks.ranks import Ranks
from tracecut.partition.inputs.entries.file_layouts import market_head
from tracecut.partition.inputs.entries.text_pieces import unheard
from tracecut.partition.inputs.on_disk.disk_matrix import DiskMatrix
from tracecut.partition.inputs.on_disk.stream_matrix import to_disk
from tracecut.support.errors import ArgumentError, ConvergenceError, OutputError

from .reference import random_graph

pytestmark = pytest.mark.quick
GIB = 1 << 30
PIECES = (40, 700, None)  # entries: one row or a few, some, all


def on_disk(matrix: Any, most: int | None, memory: int = GIB) -> DiskMatrix:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.mtx"
        scipy.io.mmwrite(path, sp.coo_array(matrix), precision=17)
        return to_disk(market_head(path), memory, unheard, most)


GRAPHS = {
    "weighted": random_graph(300, 4000, 1),
    "plain": random_graph(300, 4000, 2, weighted=False).sign(),
    "sparse": random_graph(400, 500, 3),
    "zeros": sp.coo_array((np.array([0.0, 1, 2, 1, 0]), ([0, 1, 2, 3, 3], [1, 2, 1, 1, 0])), shape=(5, 5)).tocsr(),
}


@pytest.mark.parametrize("most", PIECES)
@pytest.mark.parametrize("name", GRAPHS)
def test_pagerank_has_the_same_bits(name: str, most: int | None) -> None:
    graph = GRAPHS[name]
    draw = np.random.default_rng(1)
    p, d, start = (draw.random(graph.shape[0]) for _ in range(3))
    for options in ({}, {"personalization": p, "dangling": d, "start": start, "norm": "l2"}, {"weight": None}):
        known: dict[str, Any] = options
        with on_disk(graph, most) as matrix:
            found, expected = pagerank(matrix, **known), pagerank(graph, **known)
        assert np.array_equal(found.values, expected.values)
        assert (found.iterations, found.residual) == (expected.iterations, expected.residual)


@pytest.mark.parametrize("most", PIECES)
@pytest.mark.parametrize("name", GRAPHS)
def test_hits(name: str, most: int | None) -> None:
    """In memory there may be one sweep for both products, with sums in another order."""
    graph = GRAPHS[name]
    for options in ({}, {"weight": None, "norm": "max"}):
        known: dict[str, Any] = {"tol": 1e-9, **options}
        with on_disk(graph, most) as matrix:
            pairs = list(zip(hits(matrix, **known), hits(graph, **known), strict=True))
        for found, expected in pairs:
            assert np.abs(found.values - expected.values).max() < 1e-12
            assert found.iterations == expected.iterations


@pytest.mark.parametrize("most", PIECES)
@pytest.mark.parametrize("name", GRAPHS)
def test_rwr(name: str, most: int | None) -> None:
    graph = GRAPHS[name]
    queries = [0, 3, 1, 4, *range(graph.shape[0] - 9, graph.shape[0])] if graph.shape[0] > 9 else [0, 3, 4]
    for options in ({}, {"weight": None, "norm": "l2", "c": 0.5}):
        known: dict[str, Any] = options
        with on_disk(graph, most) as matrix:
            found, expected = rwr(matrix, queries, **known), rwr(graph, queries, **known)
        assert np.abs(found.values - expected.values).max() < 1e-12
        assert found.iterations == expected.iterations and np.isclose(found.residual, expected.residual)


@pytest.mark.parametrize("most", PIECES)
@pytest.mark.parametrize("whole", [False, True])
def test_cg(most: int | None, whole: bool) -> None:
    draw = np.random.default_rng(1)
    half = sp.random_array((500, 500), density=0.02, rng=draw)
    system = half + half.T + sp.diags_array(np.full(500, 40.0))
    system = (4 * system).astype(np.int64) if whole else system
    b, x0 = draw.random(500), draw.random(500)
    with on_disk(system, most) as matrix:
        for options in ({}, {"x0": x0, "rtol": 1e-10}):
            known: dict[str, Any] = options
            found, expected = cg(matrix, b, **known), cg(system, b, **known)
            assert np.abs(found.values - expected.values).max() < 1e-12
            assert found.iterations == expected.iterations
        assert not cg(matrix, np.zeros(500)).values.any()


def test_threads_and_pieces_give_the_same_bits() -> None:
    """Of many rows, so that a piece has work for several threads."""
    graph = random_graph(20_000, 400_000, 3)
    with on_disk(graph, 150_000) as matrix, on_disk(graph, None) as other:
        one, walks, hubs = pagerank(matrix, threads=1), rwr(matrix, [5, 7], threads=1), hits(matrix, threads=1)
        for threads in (2, 3):
            assert np.array_equal(pagerank(matrix, threads=threads).values, one.values)
            assert np.array_equal(pagerank(other, threads=threads).values, one.values)
            assert np.array_equal(rwr(matrix, [5, 7], threads=threads).values, walks.values)
            assert np.array_equal(hits(other, threads=threads)[1].values, hubs[1].values)
    assert np.array_equal(one.values, pagerank(graph).values) and np.array_equal(
        walks.values, rwr(graph, [5, 7]).values
    )


def test_graphs_without_nodes_and_links() -> None:
    with on_disk(sp.coo_array((4, 4)), None) as matrix:
        assert np.array_equal(pagerank(matrix).values, np.full(4, 0.25))
        assert np.array_equal(rwr(matrix, [2]).values[:, 0], [0, 0, 1, 0])
        with pytest.raises(ArgumentError, match="the graph has no links"):
            hits(matrix)


REFUSED = {
    "shape": (sp.coo_array((2, 3)), r"\(2, 3\), a square one"),
    "complex": (sp.coo_array([[1j]]), "complex128, real weights"),
    "negative": (sp.coo_array([[1.0, 2], [-1, 0]]), "link from 1 to 0 has the weight -1.0, a finite number"),
    "tiny": (sp.coo_array([[0.0, 1e-300], [1, 0]]), r"link from 0 to 1 has the weight 1e-300, a number from 2\*\*-400"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_graphs_that_are_refused(name: str) -> None:
    graph, message = REFUSED[name]
    with on_disk(graph, None) as matrix:
        for call in (pagerank, hits, lambda found: rwr(found, [0])):
            with pytest.raises(ArgumentError, match=message):
                call(matrix)


def test_uses_that_are_refused() -> None:
    graph = random_graph(300, 4000, 1)
    with on_disk(graph, None) as matrix:
        for options in ({"operator": graph}, {"device": Ranks("columns", "needed", 2)}):
            known: dict[str, Any] = options
            with pytest.raises(ArgumentError, match="a DiskMatrix, which this takes in memory alone"):
                pagerank(matrix, **known)
        with pytest.raises(ArgumentError, match="without M"):
            cg(matrix, np.ones(300), M=sp.eye_array(300))
        with pytest.raises(ArgumentError, match="M is a DiskMatrix"):
            cg(sp.eye_array(300), np.ones(300), M=matrix)
        with pytest.raises(ArgumentError, match="b has 5 entries"):
            cg(matrix, np.ones(5))
        with pytest.raises(ArgumentError, match="real A with entries"):
            cg(matrix, np.ones(300), device=Ranks("columns", "needed", 2))
        with pytest.raises(ConvergenceError):
            pagerank(matrix, max_iter=2)
        with pytest.raises(ArgumentError, match=r"random walks from 2000000 of 300 nodes on disk takes .* allowed"):
            rwr(matrix, np.zeros(2_000_000, np.int64))
    with pytest.raises(ArgumentError, match="was closed"):
        pagerank(matrix)


def test_a_full_disk_names_what_and_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While links are renumbered; the matrix itself can be used again, and nothing is left."""
    import errno
    import os

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    graph = random_graph(300, 4000, 1)
    with on_disk(graph, 500) as matrix:
        with monkeypatch.context() as patch:

            def full(*words: Any) -> int:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            patch.setattr(os, "pwrite", full)
            for call in (pagerank, hits, lambda found: rwr(found, [0])):
                with pytest.raises(OutputError, match=f"temporary file of entries in {tmp_path}: No space left"):
                    call(matrix)
        assert np.array_equal(pagerank(matrix).values, pagerank(graph).values)
    assert list(tmp_path.iterdir()) == []
