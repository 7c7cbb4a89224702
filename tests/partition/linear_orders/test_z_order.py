"""Jobs along the Z-curve, against the curve drawn bit by bit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition import order, partition
from tracecut.partition.linear_orders.from_clusters import order_clusters
from tracecut.partition.linear_orders.z_order import along_z, z_order

pytestmark = pytest.mark.quick


def on_curve(graph: LocalityGraph, place: dict[int, int], job: int) -> int:
    """Place of a job on the curve: the bits of its two coordinates one after the other, from the highest."""
    data = [int(v) for v in graph.data[graph.offsets[job] : graph.offsets[job + 1]]]
    space = [next(s for s in range(graph.n_spaces) if v < graph.space_offsets[s + 1]) for v in data]
    local = [place[v] - int(graph.space_offsets[s]) for v, s in zip(data, space, strict=True)]
    bits = graph.n_data.bit_length()
    low, high = (min(local), max(local)) if data else (2**bits - 1, 2**bits - 1)
    if len(data) == 2 and space[0] != space[1]:
        low, high = (local[0], local[1]) if data[0] < data[1] else (local[1], local[0])
    return int("".join(f"{high >> bit & 1}{low >> bit & 1}" for bit in reversed(range(bits))) or "0", 2)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_jobs_follow_the_curve(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject) -> None:
    graph = data.draw(graphs)
    linear = order(graph, "rcm")
    place = {int(v): i for i, v in enumerate(linear.data)}
    expected = sorted(range(graph.n_jobs), key=lambda job: (on_curve(graph, place, job), job))
    assert z_order(graph, linear.data).tolist() == expected
    curved = along_z(graph, linear)
    assert curved.jobs.tolist() == expected
    assert curved.data.tolist() == linear.data.tolist() and curved.method == "rcm+z"


@settings(deadline=None, max_examples=40)
@given(data=st.data(), k=st.integers(2, 4))
def test_blocks_stay_as_they_are(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> None:
    graph = data.draw(graphs)
    clusters = order_clusters(graph, partition(graph, k, "wb-libra" if graph.n_jobs else "chunks"))
    curved = along_z(graph, clusters)
    place = {int(v): i for i, v in enumerate(clusters.data)}
    assert curved.blocks.tolist() == clusters.blocks.tolist()
    for first, last in zip(clusters.blocks[:-1], clusters.blocks[1:], strict=True):
        mine = curved.jobs[first:last].tolist()
        assert sorted(mine) == sorted(clusters.jobs[first:last].tolist())
        assert mine == sorted(mine, key=lambda job: (on_curve(graph, place, job), job))
