"""The Cuthill-McKee walk against a slow walk written from its description."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition.datastructures.plain_graphs import has_pairs
from tracecut.partition.linear_orders.cuthill_mckee import has_centres, hub_limit, walk

pytestmark = pytest.mark.quick


def slow_walk(graph: LocalityGraph, labels: list[int] | None, sweeps: int, limit: int) -> list[int]:
    """`walk` with lists: neighbours in the order in which the jobs of a datum, old number first, name them."""
    n = graph.n_data
    names = labels or [0] * n
    rows = [graph.data[a:b].tolist() for a, b in zip(graph.offsets[:-1], graph.offsets[1:], strict=True)]
    degree = [sum(row.count(v) for row in rows) for v in range(n)]
    walkable = [0 < degree[v] <= limit for v in range(n)]
    placed: list[int] = []

    starred = has_centres(graph) and not has_pairs(graph)

    def near(v: int) -> list[int]:
        if starred:  # a job joins its first datum with the others, hubs left out
            found = [w for row in rows if v in row for w in (row[1:] if row[0] == v else row[:1])]
        else:
            found = [w for row in rows if v in row for w in row]
        return [w for w in dict.fromkeys(found) if walkable[w] and names[w] == names[v] and w not in placed]

    def levels(root: int) -> list[list[int]]:
        seen, current, result = {root}, [root], []
        while current:
            result.append(current)
            following: list[int] = []
            for v in current:
                for w in near(v):
                    if w not in seen:
                        seen.add(w)
                        following.append(w)
            current = following
        return result

    order: list[int] = []
    for seed in sorted(range(n), key=lambda v: names[v]):
        if not walkable[seed] or seed in placed:
            continue
        root, height = seed, 0
        for _ in range(sweeps):
            tiers = levels(root)
            if len(tiers) <= height:
                break
            height = len(tiers)
            root = min(tiers[-1], key=lambda v: degree[v])
        component = [root]
        placed.append(root)
        for v in component:
            fresh = sorted(near(v), key=lambda w: degree[w])
            component += fresh
            placed += fresh
        order += component[::-1]
    order += [v for v in range(n) if degree[v] > limit] + [v for v in range(n) if degree[v] == 0]
    return sorted(order, key=lambda v: names[v])


@settings(deadline=None, max_examples=150)
@given(data=st.data(), sweeps=st.integers(0, 3), limit=st.sampled_from([3, 100]), labelled=st.booleans())
def test_walk_equals_the_slow_one(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject, sweeps: int, limit: int, labelled: bool
) -> None:
    graph = data.draw(graphs)
    labels = None
    if labelled:
        labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=graph.n_data, max_size=graph.n_data)))
        labels = labels.astype(np.uint32)
    walked = walk(graph, labels, sweeps=sweeps, limit=limit)
    assert walked.tolist() == slow_walk(graph, None if labels is None else labels.tolist(), sweeps, limit)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_pairs_take_the_same_walk_as_any_incidence(
    pair_graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject
) -> None:
    graph = data.draw(pair_graphs)
    assert has_pairs(graph)
    # One more job without data changes nothing but the form in which the graph is walked.
    general = LocalityGraph(np.append(graph.offsets, graph.offsets[-1]), graph.data, graph.n_data)
    assert not has_pairs(general)
    assert walk(graph).tolist() == walk(general).tolist()


def test_a_shuffled_path_is_straightened() -> None:
    names = np.random.default_rng(1).permutation(100).astype(np.int32)
    walked = walk(LocalityGraph.from_edges(names[:-1], names[1:]))
    assert walked.tolist() in (names.tolist(), names[::-1].tolist())


def test_what_is_in_order_stays_in_order() -> None:
    """Separate small components keep their sequence, and so do data that never meet."""
    single = LocalityGraph(np.arange(6), np.arange(5), 5)
    assert walk(single).tolist() == [0, 1, 2, 3, 4]
    pairs = LocalityGraph.from_edges([0, 2, 4], [1, 3, 5])
    assert sorted(walk(pairs)[:2].tolist()) == [0, 1]
    assert sorted(walk(pairs)[4:].tolist()) == [4, 5]


@pytest.mark.parametrize("third", ["hub", "none"])
def test_a_hub_does_not_hide_the_path(third: str) -> None:
    size = 500
    names = np.random.default_rng(2).permutation(size)
    pins = np.stack([names[:-1], names[1:], np.full(size - 1, size)], axis=1)
    if third == "none":
        pins = pins[:, :2]
    assert hub_limit(size - 1) < size - 1
    graph = LocalityGraph(np.arange(size) * pins.shape[1], pins.ravel(), size + 1)
    walked = walk(graph).tolist()
    assert walked[-1] == size
    assert walked[:-1] in (names.tolist(), names[::-1].tolist())


def test_long_neighbour_lists_are_sorted_by_degree() -> None:
    """A star whose leaves have tails of falling length: more neighbours than insertion sort takes."""
    leaves = 40
    u, v = [0] * leaves, list(range(1, leaves + 1))
    nxt = leaves + 1
    for leaf in range(1, leaves + 1):
        for _ in range((leaves - leaf) // 8):
            u, v, nxt = [*u, leaf], [*v, nxt], nxt + 1
    graph = LocalityGraph.from_edges(u, v)
    assert walk(graph).tolist() == slow_walk(graph, None, 1, 1000)


def test_a_walk_does_not_depend_on_earlier_ones(mesh: LocalityGraph) -> None:
    assert walk(mesh).tolist() == walk(mesh).tolist()
    place = np.empty(mesh.n_data, np.int64)
    place[walk(mesh)] = np.arange(mesh.n_data)
    ends = place[mesh.data.reshape(-1, 2)]
    assert np.abs(ends[:, 0] - ends[:, 1]).max() <= 2 * 24


def test_rows_of_a_square_matrix_take_the_walk_of_its_graph() -> None:
    """Job i is row i: its own datum first. The walk straightens the path 3 - 0 - 4 - 1 - 2."""
    path = [3, 0, 4, 1, 2]
    near = {
        v: [w for w in (path[i - 1] if i else None, path[i + 1] if i < 4 else None) if w is not None]
        for i, v in enumerate(path)
    }
    rows = [[v, *near[v]] for v in range(5)]
    offsets = np.cumsum([0, *(len(row) for row in rows)])
    graph = LocalityGraph(offsets, np.array([w for row in rows for w in row], np.int32), 5)
    assert has_centres(graph)
    assert walk(graph).tolist() in (path, path[::-1])
