"""The plain graphs for vertex partitioners, pair by pair."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition.datastructures.integer_weights import whole
from tracecut.partition.datastructures.plain_graphs import PlainGraph, data_graph, job_graph

pytestmark = pytest.mark.quick


def as_dict(plain: PlainGraph) -> dict[tuple[int, int], int]:
    """Edges with weights; checks that both directions are stored, once, and no self-loop."""
    found = {}
    for u in range(plain.size):
        for i in range(plain.offsets[u], plain.offsets[u + 1]):
            pair = (u, int(plain.neighbours[i]))
            assert pair not in found and pair[0] != pair[1]
            found[pair] = int(plain.edge_weights[i])
    assert all(found[v, u] == weight for (u, v), weight in found.items())
    return {pair: weight for pair, weight in found.items() if pair[0] < pair[1]}


def rows_of(graph: LocalityGraph) -> list[list[int]]:
    return [graph.data[a:b].tolist() for a, b in pairwise(graph.offsets)]


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_data_graph(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject) -> None:
    graph = data.draw(graphs)
    rows = rows_of(graph)
    costs = data.draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows)))
    if len(set(costs)) == 1:  # where all cost the same there is nothing to weigh
        costs = [1] * len(rows)
    graph = replace(graph, job_weights=np.array(costs, np.float64))
    unit = 1 if all(len(row) <= 2 for row in rows) else 420
    expected: Counter[tuple[int, int]] = Counter()
    for row, cost in zip(rows, costs, strict=True):
        clique = len(row) <= 8
        for u, v in combinations(row, 2) if clique else pairwise(row):
            if u != v and cost:
                expected[min(u, v), max(u, v)] += cost * (unit // (len(row) - 1) if clique else unit)
    plain = data_graph(graph)
    assert plain.size == graph.n_data
    assert as_dict(plain) == expected


@settings(deadline=None, max_examples=100)
@given(data=st.data(), ring=st.booleans())
def test_job_graph(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, ring: bool) -> None:
    graph = data.draw(graphs)
    rows = rows_of(graph)
    costs = data.draw(st.lists(st.integers(0, 5), min_size=graph.n_data, max_size=graph.n_data))
    if len(set(costs)) == 1:
        costs = [1] * graph.n_data
    graph = replace(graph, data_weights=np.array(costs, np.float64))
    expected: Counter[tuple[int, int]] = Counter()
    for datum in range(graph.n_data):
        path = [job for job, row in enumerate(rows) for _ in range(row.count(datum))]
        links = list(pairwise(path))
        if ring and len(path) > 2:
            links.append((path[0], path[-1]))
        for first, last in links:
            if first != last and costs[datum]:
                expected[first, last] += costs[datum]
    plain = job_graph(graph, ring=ring)
    assert plain.size == graph.n_jobs
    assert as_dict(plain) == expected


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([], []),
        ([1.0, 5.0], [1, 5]),
        ([0.5, 1.5], [500, 1500]),
        ([1e-9, 1.0], [1, 2000]),
        ([2.0**40, 2.0**40], [1000, 1000]),
    ],
)
def test_whole_weights(weights: list[float], expected: list[int]) -> None:
    assert whole(np.array(weights)).tolist() == expected
