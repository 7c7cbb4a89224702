"""METIS on data and on jobs: planted structure is found, odd graphs are survived."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.ir import LocalityGraph
from tracecut.partition.edge_cut.split_connect import spac_labels
from tracecut.partition.external.metis import metis_labels

pytestmark = pytest.mark.quick


def cliques(count: int, size: int, seed: int = 0) -> tuple[LocalityGraph, np.ndarray]:
    """`count` cliques of `size` data in a ring, shuffled; the clique of each datum."""
    draw = np.random.default_rng(seed)
    names = draw.permutation(count * size).reshape(count, size)
    edges = [(row[i], row[j]) for row in names for i in range(size) for j in range(i)]
    edges += [(names[c, 0], names[(c + 1) % count, 1]) for c in range(count)]
    u, v = np.array(edges, np.int32)[draw.permutation(len(edges))].T
    group = np.empty(count * size, np.int64)
    group[names] = np.arange(count)[:, None]
    return LocalityGraph.from_edges(u, v, count * size + 3), group


def test_planted_cliques_are_found_by_data_and_by_jobs() -> None:
    graph, group = cliques(4, 12)
    labels = metis_labels(graph, 4, balance=1.1)
    assert len(set(zip(group.tolist(), labels[: group.size].tolist(), strict=True))) == 4
    jobs = spac_labels(graph, 4, balance=1.1)
    inside = group[graph.data.reshape(-1, 2)]
    whole = inside[:, 0] == inside[:, 1]
    pairs = zip(inside[whole, 0].tolist(), jobs[whole].tolist(), strict=True)
    assert len(set(pairs)) == 4


def test_isolated_data_fill_up() -> None:
    graph = LocalityGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], 12)
    labels = metis_labels(graph, 2, weights=np.ones(12))
    assert np.bincount(labels, minlength=2).tolist() == [6, 6]


def test_targets_shape_the_parts(mesh: LocalityGraph) -> None:
    shares = np.array([0.5, 0.3, 0.2])
    jobs = np.bincount(spac_labels(mesh, 3, targets=shares), minlength=3) / mesh.n_jobs
    assert jobs == pytest.approx(shares, abs=0.03)


def test_weights_shape_the_parts(mesh: LocalityGraph) -> None:
    weights = np.where(np.arange(mesh.n_jobs) % 4 == 0, 10.5, 1.0)
    loads = np.bincount(spac_labels(mesh, 4, weights=weights, ring=True), weights, 4)
    assert loads.max() <= 1.05 * loads.mean()


@pytest.mark.parametrize(
    "graph",
    [
        LocalityGraph([0], [], 0),
        LocalityGraph([0], [], 5),
        LocalityGraph([0, 0, 0, 0, 0], [], 2),
        LocalityGraph.from_edges([0, 0, 0, 0], [0, 0, 0, 0], 1),
        LocalityGraph(np.arange(7), np.arange(6), 6),
    ],
    ids=["empty", "no-jobs", "no-pins", "self-loops", "singles"],
)
@pytest.mark.parametrize("k", [1, 3])
def test_graphs_without_structure(graph: LocalityGraph, k: int) -> None:
    labels = metis_labels(graph, k)
    assert labels.size == graph.n_data and (labels.size == 0 or 0 <= labels.min() <= labels.max() < k)
    jobs = spac_labels(graph, k)
    assert jobs.size == graph.n_jobs and (jobs.size == 0 or 0 <= jobs.min() <= jobs.max() < k)


def test_jobs_of_many_data_keep_their_data_together() -> None:
    """Two groups of ten data, each touched whole by several jobs: paths hold them as cliques would."""
    draw = np.random.default_rng(3)
    names = draw.permutation(20).reshape(2, 10)
    rows = np.concatenate([draw.permuted(names[[g]].repeat(6, axis=0), axis=1) for g in (0, 1)])
    graph = LocalityGraph(np.arange(13) * 10, rows.ravel(), 20)
    labels = metis_labels(graph, 2)
    assert len(set(labels[names[0]].tolist())) == 1
    assert set(labels[names[0]].tolist()) != set(labels[names[1]].tolist())
