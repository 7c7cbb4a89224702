"""Weighted vertex partitions: jobs inside a cluster stay, cut ones follow the two rules."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.ir import LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.partition import partition
from tracecut.partition.balance.rebalance import work_on_data
from tracecut.partition.edge_cut import weighted_vertex
from tracecut.partition.external.metis import metis_labels

pytestmark = pytest.mark.quick


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vertex partition: data 0, 1, 2 in cluster 0, the others in cluster 1."""

    def labels(graph: LocalityGraph, k: int, **_: object) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return (np.arange(graph.n_data) > 2).astype(np.int32)

    monkeypatch.setattr(weighted_vertex, "metis_labels", labels)


@pytest.mark.usefixtures("halves")
def test_rules_by_hand() -> None:
    """Jobs 0 and 1 are whole. Loads 1 and 1: job 2 takes cluster 0 on the tie, job 3 cluster 1, job 4 cluster 0."""
    graph = LocalityGraph.from_edges([0, 3, 2, 2, 1], [1, 4, 3, 3, 5], 6)
    assert weighted_vertex.wvp_greedy(graph, 2).tolist() == [0, 1, 0, 1, 0]
    # A heavy job 2 in cluster 0 sends the two others to cluster 1.
    assert weighted_vertex.wvp_greedy(graph, 2, weights=np.array([1.0, 1, 9, 1, 1])).tolist() == [0, 1, 0, 1, 1]
    # With three quarters of the load to go to cluster 1, it takes two of the three.
    assert weighted_vertex.wvp_greedy(graph, 2, targets=np.array([0.25, 0.75])).tolist() == [0, 1, 1, 1, 0]
    seen = {tuple(weighted_vertex.wvp_random(graph, 2, seed=seed).tolist()) for seed in range(40)}
    assert {labels[:2] for labels in seen} == {(0, 1)} and len(seen) == 8


@pytest.mark.usefixtures("halves")
def test_jobs_of_any_number_of_data() -> None:
    """No data: the least loaded. Three data in two clusters: one of these, never another."""
    graph = LocalityGraph([0, 2, 2, 5, 8], [0, 1, 0, 3, 4, 0, 3, 4], 5)
    assert weighted_vertex.wvp_greedy(graph, 3).tolist() == [0, 1, 0, 1]
    for seed in range(20):
        assert set(weighted_vertex.wvp_random(graph, 3, seed=seed).tolist()[2:]) <= {0, 1}


@pytest.mark.parametrize("name", ["wvp-random", "wvp-greedy"])
def test_jobs_of_one_cluster_stay(mesh: LocalityGraph, name: str) -> None:
    own = metis_labels(mesh, 5, weights=work_on_data(mesh, np.ones(mesh.n_jobs)), balance=1.2, seed=3)
    found = partition(mesh, 5, name, balance=1.2, seed=3)
    ends = own[mesh.data.reshape(-1, 2)]
    whole = ends[:, 0] == ends[:, 1]
    assert (found.labels[whole] == ends[whole, 0]).all() and found.imbalance() <= 1.2
    assert (found.labels[:, None] == ends).any(axis=1).all()
    assert partition(mesh, 5, name, balance=1.2, seed=3, threads=2).labels.tolist() == found.labels.tolist()


def test_greedy_beats_random(mesh: LocalityGraph) -> None:
    random, greedy = (vertex_copies(mesh, partition(mesh, 8, f"wvp-{name}")) for name in ("random", "greedy"))
    assert greedy < random < vertex_copies(mesh, partition(mesh, 8, "random")) / 2
