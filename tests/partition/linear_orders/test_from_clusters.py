"""Orders made of partitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Clustering, LocalityGraph
from tracecut.partition import order
from tracecut.partition.linear_orders.from_clusters import default_blocks, order_blocks, order_clusters
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick


@settings(deadline=None, max_examples=120)
@given(data=st.data(), k=st.integers(1, 5))
def test_clusters_become_blocks(graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, k: int) -> None:
    graph = data.draw(graphs)
    labels = data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n_jobs, max_size=graph.n_jobs))
    found = order_clusters(graph, Clustering(np.array(labels, np.int32), k, method="mine"))
    assert found.method == "mine" and found.blocks.size == k + 1
    assert sorted(found.jobs.tolist()) == list(range(graph.n_jobs))
    for low, high in pairwise(graph.space_offsets):
        assert sorted(found.data[low:high].tolist()) == list(range(low, high))
    sequence = []
    block_of = np.empty(graph.n_jobs, np.int64)
    for block in range(k):
        members = found.jobs[found.blocks[block] : found.blocks[block + 1]]
        block_of[members] = block
        names = {labels[job] for job in members}
        assert len(names) <= 1
        sequence += sorted(names)
    assert len(set(sequence)) == len(sequence) == len(set(labels))

    # Data stand, inside each space, by the first block that touches them; untouched data last.
    home = [
        min((int(block_of[job]) for job in range(graph.n_jobs) if v in pins(graph, job)), default=k)
        for v in range(graph.n_data)
    ]
    for low, high in zip(graph.space_offsets[:-1], graph.space_offsets[1:], strict=True):
        homes = [home[v] for v in found.data[low:high]]
        assert homes == sorted(homes)

    # Jobs of a block stand by the lowest place among the data at home there, then by the highest place of all.
    if graph.n_spaces == 1:
        place = {int(v): i for i, v in enumerate(found.data)}
        for block in range(k):
            keys = []
            for job in found.jobs[found.blocks[block] : found.blocks[block + 1]].tolist():
                touched = pins(graph, job)
                own = [place[v] for v in touched if home[v] == block]
                low_key = min(own) if own else (0 if touched else graph.n_data)
                keys.append((low_key, max((place[v] for v in touched), default=0), job))
            assert keys == sorted(keys)


def pins(graph: LocalityGraph, job: int) -> list[int]:
    return graph.data[graph.offsets[job] : graph.offsets[job + 1]].tolist()


def test_blocks_follow_their_neighbours() -> None:
    """Clusters along a path, their numbers shuffled: the blocks come in the order of the path or its reverse."""
    draw = np.random.default_rng(4)
    names = draw.permutation(8)
    path = np.arange(80)
    graph = LocalityGraph.from_edges(path, path + 1)
    labels = names[path // 10].astype(np.int32)
    found = order_clusters(graph, Clustering(labels, 10))
    sizes = np.diff(found.blocks)
    assert sizes.tolist() == [10] * 8 + [0] * 2
    first = labels[found.jobs[found.blocks[:8]]].tolist()
    assert first in (names.tolist(), names[::-1].tolist())
    assert found.data.tolist() in (list(range(81)), list(range(80, -1, -1)))


def test_many_rows_on_few_clusters_make_no_hubs() -> None:
    rows = np.repeat(np.array([[0, 2], [2, 1], [1, 3]], np.uint32), 5000, axis=0)
    found = order_blocks(np.arange(rows.shape[0] + 1) * 2, rows.ravel(), 5)
    assert found.tolist() in ([0, 2, 1, 3, 4], [3, 1, 2, 0, 4])


def test_a_shuffled_mesh_gets_short_gaps(mesh: LocalityGraph) -> None:
    """Neighbours of a 24 × 24 grid in 4 blocks lie about half a block's side apart, at random a third of all."""
    found = order(mesh, "metis", k=4)
    place = np.empty(mesh.n_data, np.int64)
    place[found.data] = np.arange(mesh.n_data)
    ends = place[mesh.data.reshape(-1, 2)]
    assert np.abs(ends[:, 0] - ends[:, 1]).mean() < 30


@pytest.mark.parametrize("clustering", [Clustering(np.zeros(3, np.int32), 1, "data"), Clustering([0, 0], 1)])
def test_a_clustering_of_something_else_is_refused(clustering: Clustering) -> None:
    graph = LocalityGraph.from_edges([0, 1, 2], [1, 2, 0])
    with pytest.raises(ArgumentError, match="was given for 3 jobs"):
        order_clusters(graph, clustering)


def test_default_blocks_follow_the_data() -> None:
    assert default_blocks(LocalityGraph([0], [], 100)) == 1
    assert default_blocks(LocalityGraph([0], [], 1_000_000)) == 122
    assert default_blocks(LocalityGraph([0], [], 2**30)) == 1024
