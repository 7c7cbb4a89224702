"""Every method against the exact optimum of tiny graphs, found by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tracecut.ir import LocalityGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.partition import methods, partition
from tracecut.partition.balance.rebalance import capacities

K = 3
TINY = {
    "path": LocalityGraph.from_edges([0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7]),
    "cycle and chords": LocalityGraph.from_edges([0, 1, 2, 3, 4, 5, 0, 1], [1, 2, 3, 4, 5, 0, 3, 4]),
    "star": LocalityGraph.from_edges([0] * 7, np.arange(1, 8)),
    "hyperedges": LocalityGraph([0, 3, 5, 6, 9, 11, 12, 14], [0, 1, 2, 2, 3, 3, 3, 4, 5, 5, 0, 1, 1, 4], 6),
}


def optimum(graph: LocalityGraph, k: int, limits: np.ndarray[tuple[int], np.dtype[np.float64]]) -> int:
    """Least number of vertex copies of any job partition within the limits."""
    best = graph.n_pins
    for labels in product(range(k), repeat=graph.n_jobs):
        if (np.bincount(labels, minlength=k) <= limits).all():
            parts = [
                {labels[job] for job in range(graph.n_jobs) if datum in row(graph, job)}
                for datum in range(graph.n_data)
            ]
            best = min(best, sum(len(part) - 1 for part in parts if part))
    return best


def row(graph: LocalityGraph, job: int) -> list[int]:
    return graph.data[graph.offsets[job] : graph.offsets[job + 1]].tolist()


@pytest.fixture(scope="module", params=TINY)
def tiny(request: pytest.FixtureRequest) -> tuple[LocalityGraph, int]:
    graph = TINY[request.param]
    return graph, optimum(graph, K, capacities(np.ones(graph.n_jobs), np.full(K, 1 / K), 1.0))


# Geometric methods see where the data lie, and nothing of the graph. Peers are there where their wheels are.
BOUNDED = [
    method.name for method in methods() if "balance" in method.uses and "coords" not in method.uses and method.installed
]


@pytest.mark.parametrize("name", BOUNDED)
def test_no_balanced_method_beats_the_optimum(name: str, tiny: tuple[LocalityGraph, int]) -> None:
    """None is below it, and on graphs so small none is more than three copies above."""
    graph, best = tiny
    found = partition(graph, K, name, balance=1.0)
    assert best <= vertex_copies(graph, found) <= best + 3


def test_the_optimum_by_hand() -> None:
    """A path in three pieces is cut twice; a star of seven leaves has its hub in all three."""
    limits = np.full(K, 3.0)
    assert optimum(TINY["path"], K, limits) == 2 and optimum(TINY["star"], K, limits) == 2
    assert optimum(TINY["path"], 1, np.array([7.0])) == 0
