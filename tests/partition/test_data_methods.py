"""What every partition of data promises: labels, balance, targets, no empty part, the same for any threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition import METHODS, methods, partition
from tracecut.partition.balance.least_imbalance import best_balance
from tracecut.partition.balance.rebalance import capacities
from tracecut.support.errors import ArgumentError

from .meshes import cut, delaunay, lattice, over, placed_graphs

pytestmark = pytest.mark.quick

PLACED = [method.name for method in methods("data") if "coords" in method.uses]
OWN = [*PLACED, "parcubed", "parcubed-det", "gpart", "compnet"]
BOUNDED = [name for name in OWN if "balance" in METHODS[name].uses]
WEIGHTED = [name for name in OWN if "weights" in METHODS[name].uses]


def run(name: str, graph: LocalityGraph, k: int, points: np.ndarray, **more: object) -> np.ndarray:
    placed = {"coords": points} if name in PLACED else {}
    return partition(graph, k, name, of="data", **placed, **more).labels  # type: ignore[arg-type]


@pytest.mark.parametrize("name", OWN)
@settings(deadline=None, max_examples=60)
@given(case=placed_graphs(), k=st.integers(1, 9), data=st.data())
def test_any_graph(name: str, case: tuple[LocalityGraph, np.ndarray, np.ndarray], k: int, data: st.DataObject) -> None:
    graph, points, weights = case
    shares = np.array(data.draw(st.lists(st.integers(1, 5), min_size=k, max_size=k)), np.float64)
    shares /= shares.sum()
    more = {"weights": weights, "targets": shares} if name in WEIGHTED else {}
    labels = run(name, graph, k, points, **more)
    assert labels.size == graph.n_data and labels.dtype == np.int32
    assert np.unique(labels).size == min(k, graph.n_data)
    assert labels.tolist() == run(name, graph, k, points, threads=2, **more).tolist()
    if name in BOUNDED:
        held = np.bincount(labels, weights, k)
        least = best_balance(weights, shares, 1.03) * shares * weights.sum()
        assert (held <= np.maximum(least, capacities(weights, shares, 1.03)) * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", BOUNDED)
def test_the_balance_is_kept_for_even_and_uneven_targets(name: str) -> None:
    graph, points = delaunay(3000)
    for targets in (None, np.arange(1.0, 9.0) / 36):
        labels = run(name, graph, 8, points, targets=targets)
        assert over(labels, 8, None, targets) <= 1.03
    heavy = np.where(points[:, 0] < 0.2, 5.0, 1.0)
    assert over(run(name, graph, 8, points, weights=heavy), 8, heavy) <= 1.04


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        *(("kmeans", 1.2), ("hkmeans", 1.25), ("geographer-r", 1.0), ("rcb", 1.25), ("rib", 1.45)),
        *(("multijagged", 1.3), ("hilbert", 1.5), ("morton", 1.6), ("parcubed-det", 1.4), ("compnet", 1.5)),
        *(("parcubed", 2.6), ("gpart", 2.6)),
    ],
)
def test_cuts_stay_near_those_of_metis(name: str, bound: float) -> None:
    """Geometric means over a Delaunay mesh, a plane and a cube; random labels cut about 10 times METIS."""
    ratios = []
    for graph, points in (delaunay(4000), lattice(60), lattice(15, 3)):
        best = cut(graph, partition(graph, 16, "metis", of="data", weights=np.ones(graph.n_data)).labels, 16)
        ratios.append(cut(graph, run(name, graph, 16, points), 16) / best)
    assert np.exp(np.log(ratios).mean()) <= bound, ratios


@pytest.mark.parametrize("name", PLACED)
def test_coordinates_are_asked_for(name: str) -> None:
    graph = LocalityGraph.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.raises(ArgumentError, match=f"method '{name}' needs coords, the coordinates of the 3 data"):
        partition(graph, 2, name)
    with pytest.raises(ArgumentError, match="needs coords"):
        partition(graph, 1, name)


@pytest.mark.parametrize("name", PLACED)
def test_jobs_follow_their_data(name: str) -> None:
    graph, points = lattice(20)
    found = partition(graph, 4, name, coords=points)
    assert found.kind == "jobs" and found.labels.size == graph.n_jobs
    assert over(found.labels, 4) <= 1.03 and found.replication_factor() < 1.3


@pytest.mark.parametrize("name", [name for name in BOUNDED if "threads" in METHODS[name].uses])
@pytest.mark.parametrize("dims", [2, 3])
def test_threads_change_nothing(name: str, dims: int) -> None:
    graph, points = lattice(256) if dims == 2 else lattice(40, 3)
    one = run(name, graph, 12, points, threads=1)
    for threads in (2, 3):
        assert run(name, graph, 12, points, threads=threads).tolist() == one.tolist()
