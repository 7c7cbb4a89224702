"""Levels of a graph and pairwise refinement, against slow references."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition.coarsening.data_graph_levels import arranged
from tracecut.partition.coarsening.edge_matching import Weighted, halved
from tracecut.partition.datastructures.plain_graphs import data_graph
from tracecut.partition.datastructures.typed_views import floats, longs, words
from tracecut.partition.geometric.geographer_r import geographer_r
from tracecut.partition.geometric.kmeans import kmeans
from tracecut.partition.initial.greedy_growing import grow
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.partition.refinement.pairwise_fm import refine_pairs
from tracecut.partition.refinement.quotient_graph import coloured, quotient_graph
from tracecut.support.errors import ArgumentError

from ..meshes import cut, delaunay, lattice, over

pytestmark = pytest.mark.quick


@st.composite
def weighted_graphs(draw: st.DrawFn) -> tuple[Weighted, np.ndarray, int]:
    """A small graph with weights on edges and vertices, its vertices sorted by the labels that come with it."""
    n, k = draw(st.integers(1, 14)), draw(st.integers(1, 4))
    edge = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    edges = draw(st.lists(edge, max_size=40))
    u, v = (np.array([edge[side] for edge in edges], np.int32) for side in (0, 1))
    loads = np.array(draw(st.lists(st.integers(1, 5), min_size=n, max_size=n)), np.float64)
    labels = np.sort(np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), np.uint32))
    order = np.array(draw(st.permutations(range(n))), np.uint32)
    with ThreadPool(1, n) as pool:
        return arranged(LocalityGraph.from_edges(u, v, n), loads, order, pool), labels, k


def matrix(graph: Weighted) -> np.ndarray:
    dense = np.zeros((graph.size, graph.size))
    for v in range(graph.size):
        for i in range(graph.offsets[v], graph.offsets[v + 1]):
            dense[v, graph.near[i]] += graph.edges[i]
    return dense


def weight_cut(graph: Weighted, labels: np.ndarray) -> float:
    return float((matrix(graph) * (labels[:, None] != labels[None])).sum() / 2)


def test_arranging_renames_vertices() -> None:
    mesh, _ = lattice(6)
    plain, loads = data_graph(mesh), np.arange(36.0)
    order = np.random.default_rng(1).permutation(36).astype(np.uint32)
    same = Weighted(plain.offsets, words(plain.neighbours), plain.edge_weights, loads)
    with ThreadPool(1, 36) as pool:
        renamed = arranged(mesh, loads, order, pool)
    assert (matrix(renamed) == matrix(same)[np.ix_(order, order)]).all()
    assert renamed.loads.tolist() == order.tolist()


@settings(deadline=None, max_examples=150)
@given(weighted_graphs(), st.integers(2, 9))
def test_coarsening_keeps_weights_labels_and_cuts(case: tuple[Weighted, np.ndarray, int], heaviest: int) -> None:
    graph, labels, k = case
    parts = longs(np.searchsorted(labels, np.arange(k + 1)))
    with ThreadPool(1, graph.size) as pool:
        coarser, coarse = halved(graph, words(labels), parts, float(heaviest), pool)
    sizes = np.bincount(coarse, minlength=coarser.size)
    assert set(sizes.tolist()) <= {1, 2}
    together = np.zeros((coarser.size, graph.size))
    together[coarse, np.arange(graph.size)] = 1
    dense = together @ matrix(graph) @ together.T
    np.fill_diagonal(dense, 0)
    assert (matrix(coarser) == dense).all()
    assert coarser.loads.tolist() == (together @ graph.loads).tolist()
    for c in np.flatnonzero(sizes == 2):
        own = np.flatnonzero(coarse == c)
        assert labels[own[0]] == labels[own[1]] and matrix(graph)[own[0], own[1]] > 0
        assert coarser.loads[c] <= heaviest


@settings(deadline=None, max_examples=200)
@given(weighted_graphs(), st.integers(1, 3), st.floats(1.0, 2.0))
def test_refinement_tells_what_it_gained_and_keeps_limits(
    case: tuple[Weighted, np.ndarray, int], layers: int, room: float
) -> None:
    graph, labels, k = case
    before, own = np.bincount(labels, graph.loads, k), labels.copy()
    held, limits = before.astype(np.float64), np.maximum(before, 1) * room  # as writable as in use
    with ThreadPool(1, graph.size) as pool:
        gain = refine_pairs(graph, own, held, limits, pool, sweeps=3, layers=layers, patience=20)
    assert gain == weight_cut(graph, labels) - weight_cut(graph, own) >= 0
    assert held == pytest.approx(np.bincount(own, graph.loads, k))
    assert (held <= limits * (1 + 1e-12)).all()


@settings(deadline=None, max_examples=150)
@given(weighted_graphs())
def test_neighbours_are_pairs_with_cut_edges(case: tuple[Weighted, np.ndarray, int]) -> None:
    graph, labels, k = case
    dense = matrix(graph)
    with ThreadPool(1, graph.size) as pool:
        first, second, weight, starts, border = quotient_graph(graph, words(labels), k, pool)
    expected = []
    for a in range(k):
        for b in range(a + 1, k):
            across = np.where(
                ((labels[:, None] == a) & (labels == b)) | ((labels[:, None] == b) & (labels == a)), dense, 0
            )
            if across.any():
                expected.append((a, b, across.sum(), np.flatnonzero(across.any(axis=1)).tolist()))
    found = [border[starts[i] : starts[i + 1]].tolist() for i in range(first.size)]
    assert list(zip(first, second, weight, map(sorted, found), strict=True)) == expected


def test_parts_above_their_limit_shrink() -> None:
    mesh, _ = lattice(8)
    with ThreadPool(1, 64) as pool:
        graph = arranged(mesh, np.ones(64), np.arange(64, dtype=np.uint32), pool)
        labels = (np.arange(64) >= 48).astype(np.uint32)
        held = np.array([48.0, 16.0])
        refine_pairs(graph, labels, held, np.array([32.0, 32.0]), pool, sweeps=4, layers=4, patience=64)
    assert np.bincount(labels).tolist() == [32, 32] == held.astype(int).tolist()


def test_refinement_climbs_out_of_a_local_optimum() -> None:
    """Two triangles hang on a bridge; no single move helps, moving a whole triangle does."""
    u, v = [0, 0, 1, 2, 3, 3, 4, 0, 1, 2], [1, 2, 2, 3, 4, 5, 5, 6, 6, 6]
    with ThreadPool(1, 7) as pool:
        seven = LocalityGraph.from_edges(np.array(u, np.int32), np.array(v, np.int32), 7)
        graph = arranged(seven, np.ones(7), np.arange(7, dtype=np.uint32), pool)
        labels = np.array([0, 0, 0, 0, 0, 0, 1], np.uint32)
        gain = refine_pairs(
            graph, labels, np.array([6.0, 1.0]), np.array([6.0, 6.0]), pool, sweeps=3, layers=6, patience=10
        )
    assert gain == 2 and weight_cut(graph, labels) == 1


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] < pair[1]), unique=True))
def test_colours_of_pairs_are_proper(pairs: list[tuple[int, int]]) -> None:
    if not pairs:
        pairs = [(0, 1)]
    first, second = (longs(np.array([pair[side] for pair in pairs])) for side in (0, 1))
    colours = coloured(longs(np.arange(len(pairs))), first, second, 8)
    for colour in set(colours.tolist()):
        ends = [end for i in np.flatnonzero(colours == colour) for end in pairs[i]]
        assert len(ends) == len(set(ends))


def test_geographer_r_is_better_than_its_start() -> None:
    for graph, points in (delaunay(5000), delaunay(2500, dims=3)):
        start = cut(graph, kmeans(graph, 12, coords=points, borders=False), 12)
        once = cut(graph, geographer_r(graph, 12, coords=points), 12)
        assert once < 0.95 * start
        assert cut(graph, geographer_r(graph, 12, coords=points, cycles=2), 12) <= 1.01 * once


def test_k_way_refinement_is_better_than_its_start() -> None:
    for graph, points in (delaunay(5000), delaunay(2500, dims=3)):
        start = cut(graph, kmeans(graph, 12, coords=points, borders=False), 12)
        labels = geographer_r(graph, 12, coords=points, refinement="k-way")
        assert cut(graph, labels, 12) < 0.97 * start and over(labels, 12) <= 1.03
        assert labels.tolist() != geographer_r(graph, 12, coords=points).tolist()
        assert labels.tolist() == geographer_r(graph, 12, coords=points, refinement="k-way", threads=2).tolist()
    with pytest.raises(ArgumentError, match="refinement = 'two-way', one of pairs, k-way was expected"):
        geographer_r(graph, 12, coords=points, refinement="two-way")


@settings(deadline=None, max_examples=150)
@given(weighted_graphs(), st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_growing_gives_every_part_something(case: tuple[Weighted, np.ndarray, int], shares: list[int]) -> None:
    graph, k = case[0], len(shares)
    part = floats(np.array(shares) / sum(shares))
    labels = grow(graph, part, graph.size // 2)
    assert np.unique(labels).size == min(k, graph.size) and labels.max() < k
