"""Rows of costs against sums over neighbours, and the best move of a row against that of all regions."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.ir.machine.machine import Machine
from tracecut.mapping.joint import cost_rows as rooms
from tracecut.mapping.joint.core_regions import layout
from tracecut.mapping.joint.cost_rows import best_in_row, cost_rows, moved_in_rows
from tracecut.partition.coarsening.edge_matching import NONE, Weighted

pytestmark = pytest.mark.quick


def a_graph(seed: int, n: int = 40) -> Weighted:
    generator = np.random.default_rng(seed)
    weights = np.triu(generator.integers(0, 9, (n, n)) * (generator.random((n, n)) < 0.15), 1)
    weights = weights + weights.T
    rows, near = np.nonzero(weights)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
    return Weighted(
        offsets, near.astype(np.uint32), weights[rows, near].astype(np.int64), generator.integers(0, 3, n).astype(float)
    )


def slow_row(graph: Weighted, labels: np.ndarray, table: np.ndarray, v: int) -> np.ndarray:
    around = range(graph.offsets[v], graph.offsets[v + 1])
    return sum((int(graph.edges[i]) * table[labels[graph.near[i]]] for i in around), np.zeros(len(table), np.int64))


@pytest.mark.parametrize("word", ["mesh:3x2", "torus:4x4", "tree:2x2x2", "uma:3"])
@pytest.mark.parametrize("seed", range(3))
def test_rows_follow_moves(word: str, seed: int) -> None:
    graph, table = a_graph(seed), Machine.named(word).distances()
    generator = np.random.default_rng(seed + 9)
    r = len(table)
    labels = generator.integers(0, r, graph.loads.size).astype(np.uint32)
    rows = cost_rows(graph, labels, table)
    for _ in range(30):
        v, to = generator.integers(0, labels.size), np.uint32(generator.integers(0, r))
        moved_in_rows(graph, v, labels[v], to, table, rows)
        labels[v] = to
    regions = layout(table, generator.integers(5, 30, r).astype(float))
    held = np.bincount(labels, graph.loads, r)
    for v in range(labels.size):
        costs = slow_row(graph, labels, table, v)
        assert rows[v].tolist() == costs.tolist()
        to, gain = best_in_row(v, labels[v], graph.loads[v], regions, held, rows)
        free = [t for t in range(r) if t != labels[v] and held[t] + graph.loads[v] <= regions.limits[t]]
        if costs[labels[v]] == 0 or not free:
            assert to == NONE
        else:
            assert gain == costs[labels[v]] - min(costs[free])
            assert to in [t for t in free if costs[t] == min(costs[free])]
            assert held[to] == min(held[t] for t in free if costs[t] == min(costs[free]))


def test_many_regions_have_no_rows() -> None:
    graph = a_graph(0)
    labels = np.zeros(graph.loads.size, np.uint32)
    assert cost_rows(graph, labels, Machine.mesh(8, 8).distances()).shape == (40, 64)
    assert cost_rows(graph, labels, Machine.mesh(13, 5).distances()).size == 0 and rooms.REGIONS == 64
