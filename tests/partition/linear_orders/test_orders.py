"""The linear orders: what all share, and what each does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph, Ordering
from tracecut.partition import methods, order
from tracecut.partition.linear_orders.degree_z import degree_z_order
from tracecut.partition.linear_orders.rcm import rcm_order
from tracecut.partition.linear_orders.simple import first_touch_order, original_order, random_order

pytestmark = pytest.mark.quick

LINEAR = [method.name for method in methods("order")]


def check(graph: LocalityGraph, found: Ordering) -> None:
    assert sorted(found.jobs.tolist()) == list(range(graph.n_jobs))
    assert sorted(found.data.tolist()) == list(range(graph.n_data))
    for low, high in pairwise(graph.space_offsets):
        assert sorted(found.data[low:high].tolist()) == list(range(low, high))


@pytest.mark.parametrize("name", LINEAR)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_every_order_is_one(name: str, graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject) -> None:
    graph = data.draw(graphs)
    found = order(graph, name, seed=3)
    check(graph, found)
    assert found.method == name
    again = order(graph, name, seed=3)
    assert again.jobs.tolist() == found.jobs.tolist() and again.data.tolist() == found.data.tolist()


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_rcm_sorts_jobs_by_walk_place(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject) -> None:
    """In one space, places in the walk are the new ids, so the jobs are sorted by (min, max) of them."""
    graph = data.draw(graphs)
    one = LocalityGraph(graph.offsets, graph.data, graph.n_data)
    found = rcm_order(one)
    place = {int(v): i for i, v in enumerate(found.data)}
    keys = []
    for job in found.jobs:
        places = [place[int(v)] for v in one.data[one.offsets[job] : one.offsets[job + 1]]]
        keys.append((min(places), max(places), job) if places else (one.n_data, 0, job))
    assert keys == sorted(keys)


def test_rcm_makes_a_mesh_narrow(mesh: LocalityGraph) -> None:
    found = rcm_order(mesh)
    place = np.empty(mesh.n_data, np.int64)
    place[found.data] = np.arange(mesh.n_data)
    ends = place[mesh.data.reshape(-1, 2)][found.jobs]
    assert np.abs(ends[:, 0] - ends[:, 1]).max() <= 48
    assert (np.diff(ends.min(axis=1)) >= 0).all()


def test_rcm_keeps_spaces_apart_and_walks_through_both() -> None:
    """A chain of jobs (row i, column i), (row i, column i + 1), rows and columns shuffled."""
    draw = np.random.default_rng(0)
    size = 50
    row, column = draw.permutation(size), size + draw.permutation(size)
    pins = [(row[i], column[i]) for i in range(size)] + [(row[i], column[i + 1]) for i in range(size - 1)]
    graph = LocalityGraph(np.arange(len(pins) + 1) * 2, np.ravel(pins), 2 * size, space_offsets=[0, size, 2 * size])
    found = rcm_order(graph)
    for low, high in pairwise(graph.space_offsets):
        assert sorted(found.data[low:high].tolist()) == list(range(low, high))
    assert found.data[:size].tolist() in (row.tolist(), row[::-1].tolist())
    assert found.data[size:].tolist() in (column.tolist(), column[::-1].tolist())


def test_first_touch_follows_the_pins() -> None:
    graph = LocalityGraph([0, 2, 3, 3], [4, 1, 4], 6, space_offsets=[0, 3, 6])
    found = first_touch_order(graph)
    assert found.jobs.tolist() == [0, 1, 2]
    assert found.data.tolist() == [1, 0, 2, 4, 3, 5]


def test_original_is_the_identity(mesh: LocalityGraph) -> None:
    found = original_order(mesh)
    assert (found.jobs == np.arange(mesh.n_jobs)).all() and (found.data == np.arange(mesh.n_data)).all()


def test_random_follows_its_seed(mesh: LocalityGraph) -> None:
    assert random_order(mesh, seed=1).jobs.tolist() == random_order(mesh, seed=1).jobs.tolist()
    assert random_order(mesh, seed=1).jobs.tolist() != random_order(mesh, seed=2).jobs.tolist()


def interleave(low: int, high: int) -> int:
    return sum(((low >> bit & 1) << 2 * bit) | ((high >> bit & 1) << 2 * bit + 1) for bit in range(32))


@settings(deadline=None, max_examples=80)
@given(data=st.data())
def test_degree_z_by_definition(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject) -> None:
    graph = data.draw(graphs)
    found = degree_z_order(graph)
    degree = graph.degrees()
    space = np.searchsorted(graph.space_offsets, np.arange(graph.n_data), side="right") - 1
    expected = sorted(range(graph.n_data), key=lambda v: (space[v], -degree[v]))
    assert found.data.tolist() == expected
    place = {v: i - int(graph.space_offsets[space[v]]) for i, v in enumerate(expected)}

    def key(job: int) -> int:
        data = sorted(graph.data[graph.offsets[job] : graph.offsets[job + 1]].tolist())
        if not data:
            return 2**64
        if len(data) == 2 and space[data[0]] != space[data[1]]:
            return interleave(place[data[0]], place[data[1]])
        places = [place[v] for v in data]
        return interleave(min(places), max(places))

    assert found.jobs.tolist() == sorted(range(graph.n_jobs), key=key)
