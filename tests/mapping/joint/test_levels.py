"""Levels against sums over pairs in a dictionary; limits in whole vertices."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tracecut.mapping.joint.levels import ENDED, halved, levels_of
from tracecut.mapping.joint.multilevel import loosened
from tracecut.partition.coarsening.edge_matching import Weighted

pytestmark = pytest.mark.quick


def a_graph(seed: int, n: int) -> Weighted:
    generator = np.random.default_rng(seed)
    weights = np.triu(generator.integers(0, 9, (n, n)) * (generator.random((n, n)) < 6 / n), 1)
    weights = weights + weights.T
    rows, near = np.nonzero(weights)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
    loads = generator.integers(1, 3, n).astype(float)
    return Weighted(offsets, near.astype(np.uint32), weights[rows, near].astype(np.int64), loads)


def pairs_of(graph: Weighted, names: np.ndarray) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for v in range(graph.size):
        for i in range(graph.offsets[v], graph.offsets[v + 1]):
            ends = int(names[v]), int(names[graph.near[i]])
            if ends[0] != ends[1]:
                found[ends] += int(graph.edges[i])
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("heaviest", [2.0, 3.0, 100.0])
def test_pairs_become_one(seed: int, heaviest: float) -> None:
    graph = a_graph(seed, 60)
    coarse, names = halved(graph, heaviest, seed)
    assert np.unique(names).tolist() == list(range(coarse.size)) and np.bincount(names).max() <= 2
    assert coarse.loads.tolist() == np.bincount(names, graph.loads).tolist()
    assert coarse.loads.max() <= max(heaviest, graph.loads.max())
    assert pairs_of(coarse, np.arange(coarse.size)) == pairs_of(graph, names)
    if heaviest == 100.0:
        assert coarse.size < 0.7 * graph.size


def test_levels_end_near_the_least() -> None:
    graph = a_graph(1, 300)
    levels, names = levels_of(graph, 40, 0)
    assert levels[0] is graph and len(names) == len(levels) - 1
    assert 30 <= levels[-1].size <= 80 or levels[-1].size > ENDED * levels[-2].size
    for fine, coarse, each in zip(levels, levels[1:], names, strict=False):
        assert pairs_of(coarse, np.arange(coarse.size)) == pairs_of(fine, each)
    assert len(levels_of(graph, 300, 0)[0]) == 1


def test_room_on_a_level() -> None:
    graph = a_graph(0, 10)._replace(loads=np.full(10, 3.0))
    shares, room = np.array([10.0, 10.0]), np.array([12.0, 20.0])
    assert loosened(graph, 0, shares, room, 0.5).tolist() == [12.0, 15.0]
    assert loosened(graph, 2, shares, room, 0.5).tolist() == [13.0, 15.0]
