"""Small random locality graphs of every shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph


@st.composite
def _graphs(draw: st.DrawFn, pairs: bool = False) -> LocalityGraph:
    n_data = draw(st.integers(0, 12))
    datum = st.integers(0, max(0, n_data - 1))
    size = 2 if pairs else draw(st.sampled_from([2, 3, 12]))
    least = 2 if pairs or (draw(st.booleans()) and size == 2) else 0
    rows = draw(st.lists(st.lists(datum, min_size=least, max_size=size), max_size=16)) if n_data else []
    cuts = sorted(draw(st.lists(st.integers(0, n_data), max_size=2)))
    return LocalityGraph(
        np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64),
        np.array([datum for row in rows for datum in row], np.int32),
        n_data,
        space_offsets=np.array([0, *cuts, n_data], np.int64),
        job_weights=draw(st.sampled_from([np.zeros(0), np.linspace(1, 3, len(rows)), np.ones(len(rows))])),
    )


@pytest.fixture(scope="session")
def graphs() -> st.SearchStrategy[LocalityGraph]:
    """Any graph: jobs with no, one, two or many data, duplicates, isolated data, up to three spaces, weights."""
    return _graphs()


@pytest.fixture(scope="session")
def pair_graphs() -> st.SearchStrategy[LocalityGraph]:
    """Graphs whose jobs touch two data each, self-loops included."""
    return _graphs(pairs=True)


@pytest.fixture(scope="session")
def mesh() -> LocalityGraph:
    """A 24 × 24 grid, its vertices and edges numbered at random."""
    draw = np.random.default_rng(5)
    size = 24
    names = draw.permutation(size * size).reshape(size, size)
    across = np.stack([names[:, :-1].ravel(), names[:, 1:].ravel()])
    down = np.stack([names[:-1].ravel(), names[1:].ravel()])
    edges = np.concatenate([across, down], axis=1)
    u, v = edges[:, draw.permutation(edges.shape[1])].astype(np.int32)
    return LocalityGraph.from_edges(u, v, size * size)
