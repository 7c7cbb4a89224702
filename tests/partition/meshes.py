"""Clouds, meshes and slow references for the tests of data partitions."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from tracecut.ir import Clustering, LocalityGraph
from tracecut.ir.metrics import edge_cut


def delaunay(n: int, seed: int = 0, dims: int = 2) -> tuple[LocalityGraph, np.ndarray]:
    """The Delaunay mesh of n random points, numbered at random; the points."""
    from scipy.spatial import Delaunay

    points = np.random.default_rng(seed).random((n, dims))
    corners = Delaunay(points).simplices
    pairs = [(corners[:, i], corners[:, j]) for i in range(dims + 1) for j in range(i)]
    u, v = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    low, high = np.unique(np.stack([np.minimum(u, v), np.maximum(u, v)]), axis=1)
    return LocalityGraph.from_edges(low.astype(np.int32), high.astype(np.int32), n), points


def lattice(side: int, dims: int = 2) -> tuple[LocalityGraph, np.ndarray]:
    """The side**dims grid in its natural order; the points."""
    ids = np.arange(side**dims).reshape((side,) * dims)
    first = [np.take(ids, range(side - 1), axis).ravel() for axis in range(dims)]
    second = [np.take(ids, range(1, side), axis).ravel() for axis in range(dims)]
    graph = LocalityGraph.from_edges(
        np.concatenate(first).astype(np.int32), np.concatenate(second).astype(np.int32), side**dims
    )
    return graph, np.stack(np.unravel_index(np.arange(side**dims), ids.shape), axis=1).astype(np.float64)


def cut(graph: LocalityGraph, labels: np.ndarray, k: int) -> float:
    return edge_cut(graph, Clustering(labels, k, "data"))


def over(labels: np.ndarray, k: int, weights: np.ndarray | None = None, targets: np.ndarray | None = None) -> float:
    """Largest load over its target."""
    loads = np.bincount(labels, weights, k)
    shares = np.full(k, 1 / k) if targets is None else np.asarray(targets) / np.sum(targets)
    return float((loads / (shares * loads.sum())).max())


@st.composite
def placed_graphs(draw: st.DrawFn) -> tuple[LocalityGraph, np.ndarray, np.ndarray]:
    """Any small graph, coordinates of its data with many ties and duplicates, weights of its data."""
    n = draw(st.integers(0, 14))
    dims = draw(st.sampled_from([1, 2, 3, 5]))
    datum = st.integers(0, max(0, n - 1))
    rows = draw(st.lists(st.lists(datum, min_size=0, max_size=3), max_size=20)) if n else []
    graph = LocalityGraph(
        np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64),
        np.array([datum for row in rows for datum in row], np.int32),
        n,
    )
    scale = draw(st.sampled_from([1e-300, 1.0, 1e300]))
    values = st.lists(st.integers(-3, 3), min_size=n * dims, max_size=n * dims)
    points = np.array(draw(values), np.float64).reshape(n, dims) * scale
    weights = np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), np.float64)
    return graph, points, weights
