"""Sweeps against sums over all edges, and where they end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from tracecut.ir.machine.machine import Machine
from tracecut.mapping.joint.core_regions import layout
from tracecut.mapping.joint.moves import scratch
from tracecut.mapping.joint.sweeps import border, sweep
from tracecut.partition.coarsening.edge_matching import Weighted

pytestmark = pytest.mark.quick


def a_graph(seed: int, n: int = 40) -> Weighted:
    generator = np.random.default_rng(seed)
    weights = np.triu(generator.integers(0, 9, (n, n)) * (generator.random((n, n)) < 0.15), 1)
    weights = weights + weights.T
    rows, near = np.nonzero(weights)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
    loads = generator.integers(1, 3, n).astype(float)
    return fixed(offsets, near.astype(np.uint32), weights[rows, near].astype(np.int64), loads)


def fixed(*arrays: np.ndarray) -> Weighted:
    """Of arrays that stay, as a whole graph has them: kernels are compiled once for all."""
    for array in arrays:
        array.setflags(write=False)
    return Weighted(*arrays)


def distances(machine: Machine) -> npt.NDArray[np.int32]:
    return machine.distances().copy()  # which may be written to, as those between regions


def loads_of(graph: Weighted, labels: np.ndarray, r: int) -> npt.NDArray[np.float64]:
    return np.bincount(labels, graph.loads, r).astype(np.float64)


def slow_costs(graph: Weighted, labels: np.ndarray, table: np.ndarray, v: int) -> np.ndarray:
    around = range(graph.offsets[v], graph.offsets[v + 1])
    return sum((int(graph.edges[i]) * table[labels[graph.near[i]]] for i in around), np.zeros(len(table), np.int64))


def slow_cost(graph: Weighted, labels: np.ndarray, table: np.ndarray) -> int:
    return sum(int(slow_costs(graph, labels, table, v)[labels[v]]) for v in range(graph.size)) // 2


@pytest.mark.parametrize("word", ["mesh:3x2", "mesh:4x4", "tree:2x2x2", "uma:3"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("room", [0.0, 3.0, np.inf])
def test_the_cost_falls_by_what_is_said(word: str, seed: int, room: float) -> None:
    graph, table = a_graph(seed), distances(Machine.named(word))
    r = len(table)
    labels = np.random.default_rng(seed).integers(0, r, graph.size).astype(np.uint32)
    held = loads_of(graph, labels, r)
    limits = held + room
    regions, cost, again = layout(table, limits), slow_cost(graph, labels, table), labels.copy()
    gained = sweep(graph, labels, regions, held, scratch(r), 100, seed)
    assert gained >= 0 and slow_cost(graph, labels, table) == cost - gained
    assert (held <= limits).all() and held.tolist() == loads_of(graph, labels, r).tolist()
    sweep(graph, again, regions, loads_of(graph, again, r), scratch(r), 100, seed)
    assert again.tolist() == labels.tolist()
    if np.isinf(room):  # nothing is left that gains
        for v in range(graph.size):
            costs = slow_costs(graph, labels, table, v)
            around = labels[graph.near[graph.offsets[v] : graph.offsets[v + 1]]]
            assert all(costs[labels[v]] <= costs[region] for region in around)


def test_no_room_no_move() -> None:
    """Loads are all 1, and all regions full."""
    graph, table = a_graph(5), distances(Machine.mesh(2, 2))
    graph = fixed(*graph[:3], np.ones(graph.size))
    labels = (np.arange(graph.size) % 4).astype(np.uint32)
    held, before = loads_of(graph, labels, 4), labels.copy()
    assert sweep(graph, labels, layout(table, held.copy()), held, scratch(4), 9, 0) == 0
    assert labels.tolist() == before.tolist()


def test_the_border() -> None:
    graph = a_graph(2)
    labels = (np.arange(graph.size) // 20).astype(np.uint32)
    ends = np.repeat(np.arange(graph.size), np.diff(graph.offsets))
    assert border(graph, labels).tolist() == np.unique(ends[labels[ends] != labels[graph.near]]).tolist()


def test_a_vertex_waits_once() -> None:
    """Many moves around each vertex in one sweep: a cycle of stars, whose leaves all go to their hubs."""
    leaves = 50
    hubs = 8 * leaves + np.arange(8)
    u = np.concatenate([np.arange(8 * leaves), hubs])
    v = np.concatenate([np.repeat(hubs, leaves), np.roll(hubs, 1)])
    rows, near = np.concatenate([u, v]), np.concatenate([v, u])
    order = np.argsort(rows, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows))]).astype(np.int64)
    n = 8 * leaves + 8
    graph = fixed(offsets, near[order].astype(np.uint32), np.ones(rows.size, np.int64), np.ones(n))
    labels = np.random.default_rng(0).integers(0, 4, n).astype(np.uint32)
    table = distances(Machine.mesh(2, 2))
    before = slow_cost(graph, labels, table)
    gained = sweep(graph, labels, layout(table, np.full(4, np.inf)), loads_of(graph, labels, 4), scratch(4), 50, 0)
    assert slow_cost(graph, labels, table) == before - gained <= 16
