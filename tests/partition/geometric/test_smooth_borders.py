"""Borders of cells that follow the graph, against a slow reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition.geometric.kmeans import kmeans
from tracecut.partition.geometric.smooth_borders import ASIDE, LARGEST, LEAST, SWEEPS, follow
from tracecut.partition.geometric.voronoi_cells import Cells, padded
from tracecut.partition.parallel.thread_pool import ThreadPool

from ..meshes import cut, delaunay, over, placed_graphs

pytestmark = pytest.mark.quick


def jobs_of(graph: LocalityGraph) -> list[list[int]]:
    return [graph.data[graph.offsets[j] : graph.offsets[j + 1]].tolist() for j in range(graph.n_jobs)]


def votes_of(graph: LocalityGraph, labels: np.ndarray, v: int) -> dict[int, float]:
    """Votes of a datum's neighbours, its own label first, others as they are met; a job twice on it votes twice."""
    votes = {int(labels[v]): 0.0}
    for job in jobs_of(graph):
        for _ in range(job.count(v) if 2 <= len(job) <= LARGEST else 0):
            for u in job:
                if u != v:
                    votes[int(labels[u])] = votes.get(int(labels[u]), 0.0) + 1 / (len(job) - 1)
    return votes


def goal(graph: LocalityGraph, points: np.ndarray, cells: Cells, labels: np.ndarray, v: int) -> int:
    own, votes = int(labels[v]), votes_of(graph, labels, v)
    away = {c: float((((points[v] - cells.centres[c]) ** 2).sum()) / cells.reach[c] ** 2) for c in votes}
    best = own
    for c in votes:
        if away[c] > min(away.values()) * (1 + ASIDE) ** 2 * (1 + 1e-12) or c == own:
            continue
        more = votes[c] - votes[best]
        if more > LEAST or (abs(more) <= LEAST and away[c] < away[best]):
            best = c
    return best


def reference(
    graph: LocalityGraph, points: np.ndarray, loads: np.ndarray, labels: np.ndarray, cells: Cells, limits: np.ndarray
) -> np.ndarray:
    """Every datum looks in every sweep: those next to nothing that moved would stay."""
    own = labels.copy()
    for _ in range(SWEEPS):
        movers = [v for v in range(own.size) if goal(graph, points, cells, own, v) != own[v]]
        moved = False
        for v in movers:
            b = goal(graph, points, cells, own, v)
            if b != own[v] and np.bincount(own, loads, limits.size)[b] + loads[v] <= limits[b]:
                own[v], moved = b, True
        if not moved:
            break
    return own


@settings(deadline=None, max_examples=150)
@given(placed_graphs(), st.integers(1, 4), st.data())
def test_every_datum_goes_where_the_reference_says(
    case: tuple[LocalityGraph, np.ndarray, np.ndarray], k: int, data: st.DataObject
) -> None:
    graph, points, loads = case
    n = graph.n_data
    near = padded(points / max(1e-300, np.abs(points).max(initial=0)))
    labels = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), np.int32)
    draw = np.random.default_rng(data.draw(st.integers(0, 99)))
    cells = Cells(draw.uniform(-1, 1, (k, near.shape[1])), draw.uniform(0.5, 2.0, k))
    limits = np.maximum(np.bincount(labels, loads, k), data.draw(st.integers(1, 30)))
    with ThreadPool(1, n) as pool:
        found = follow(graph, near, loads, labels, cells, limits, pool)
    assert found.tolist() == reference(graph, near, loads, labels, cells, limits).tolist()
    assert (np.bincount(found, loads, k) <= limits).all()


def test_borders_follow_what_is_joined() -> None:
    """Two rows of six, not joined to each other: the border between them is no line, and nothing is cut."""
    u = np.array([0, 1, 2, 3, 4, 6, 7, 8, 9, 10], np.int32)
    graph = LocalityGraph.from_edges(u, u + 1, 12)
    points = np.stack([np.tile(np.arange(6.0), 2), np.repeat([0.0, 1.0], 6)], axis=1)
    labels = np.array([0] * 6 + [1] * 6, np.int32)
    labels[[2, 8]] = [1, 0]
    cells = Cells(padded(np.array([[2.5, -4.0], [2.5, 5.0]])), np.ones(2))
    with ThreadPool(1, 12) as pool:
        free = follow(graph, padded(points), np.ones(12), labels, cells, np.array([7.0, 7.0]), pool)
        full = follow(graph, padded(points), np.ones(12), labels, cells, np.array([6.0, 6.0]), pool)
    assert free.tolist() == [0] * 6 + [1] * 6
    assert full.tolist() == labels.tolist()


def test_who_is_far_from_a_centre_stays_away() -> None:
    """The majority of datum 0's neighbours is in cell 1, whose centre is more than a fifth farther; then less."""
    graph = LocalityGraph.from_edges(np.array([0, 0, 0], np.int32), np.array([1, 2, 3], np.int32), 4)
    points, labels = padded(np.array([[0.0], [1.0], [1.0], [-1.0]])), np.array([0, 1, 1, 0], np.int32)
    for reach, there in ((0.82, 0), (0.85, 1)):
        cells = Cells(padded(np.array([[-1.0], [1.0]])), np.array([1.0, reach]))
        with ThreadPool(1, 4) as pool:
            found = follow(graph, points, np.ones(4), labels, cells, np.full(2, 4.0), pool)
        assert found[0] == there


@pytest.mark.parametrize("targets", [None, [3, 1, 1, 1, 2, 2, 2, 2]])
def test_k_means_with_borders_cuts_less_and_keeps_its_balance(targets: list[int] | None) -> None:
    for graph, points in (delaunay(3000), delaunay(1500, dims=3)):
        shares = None if targets is None else np.array(targets) / sum(targets)
        plain = kmeans(graph, 8, coords=points, targets=shares, borders=False)
        better = kmeans(graph, 8, coords=points, targets=shares)
        assert cut(graph, better, 8) < 0.97 * cut(graph, plain, 8)
        assert over(better, 8, targets=shares) <= 1.03
        assert (plain != better).mean() < 0.2
