"""ParCubed's deterministic form, step by step: each beside a slow reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition import partition
from tracecut.partition.coarsening.edge_matching import Weighted
from tracecut.partition.datastructures.plain_graphs import EdgeStream, data_graph, edge_stream
from tracecut.partition.datastructures.typed_views import floats, longs, words
from tracecut.partition.initial.greedy_growing import Parts, grow, improve
from tracecut.partition.parallel import thread_pool
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.partition.shared_memory import boundary_greedy, inflate, parcubed_deterministic
from tracecut.partition.shared_memory.boundary_greedy import boundary, movable, polish
from tracecut.partition.shared_memory.cluster_graph import ClusterEdges
from tracecut.partition.shared_memory.inflate import claim, inflated

from ..meshes import cut, delaunay, lattice, over
from ..moves import moved

pytestmark = pytest.mark.quick

EDGES = st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=60)
ALONE = ThreadPool(1, 0)
NO_WORDS, NO_LONGS, NO_FLOATS = words(np.zeros(0, np.uint32)), longs(np.zeros(0, np.int64)), floats(np.zeros(0))


def claimed(ends: np.ndarray, names: np.ndarray, loads: np.ndarray, most: float, n: int) -> tuple[np.ndarray, ...]:
    count = names.size if names.size else ends.size // 2
    groups, held = np.empty(n, np.uint32), np.empty(n)
    out, out_names = np.empty(2 * count, np.uint32), np.empty(count, np.uint32)
    found, links = claim(
        words(ends), count, words(names), floats(loads), most, n % 2 == 0, groups, held, out, out_names
    )
    # The same in place.
    if names.size:
        own, own_names, others, other_held = ends.copy(), names.copy(), groups.copy(), held.copy()
        given = (words(own), count, words(own_names), floats(loads), most, n % 2 == 1)
        assert claim(*given, others, other_held, own, own_names) == (found, links)
        assert others.tolist() == groups.tolist() and own[: 2 * links].tolist() == out[: 2 * links].tolist()
        assert own_names[:links].tolist() == out_names[:links].tolist()
    return groups, held[:found], out[: 2 * links].reshape(-1, 2), out_names[:links]


def slow_claim(edges: list[tuple[int, int]], loads: list[float], most: float) -> list[int]:
    """The rule in words: found, join or found alone; vertices without edges last."""
    group, held = [-1] * len(loads), []

    def found(v: int) -> None:
        group[v] = len(held)
        held.append(loads[v])

    def place(v: int, beside: int) -> None:
        if held[group[beside]] + loads[v] <= most:
            held[group[beside]] += loads[v]
            group[v] = group[beside]
        else:
            found(v)

    for u, v in edges:
        if u == v:
            continue
        if group[u] < 0 and group[v] < 0:
            found(u)
        if group[v] < 0:
            place(v, u)
        elif group[u] < 0:
            place(u, v)
    last = -1
    for v in range(len(loads)):
        if group[v] < 0:
            if last < 0:
                found(v)
            else:
                place(v, last)
            last = v
    return group


@settings(deadline=None, max_examples=150)
@given(st.integers(1, 30), EDGES, st.floats(1.0, 8.0), st.booleans())
def test_clusters_of_a_stream(n: int, edges: list[tuple[int, int]], most: float, weighted: bool) -> None:
    inside = [(u, v) for u, v in edges if u < n and v < n]
    ends = np.array(inside, np.uint32).ravel()
    loads = np.arange(1.0, n + 1) if weighted else np.ones(n)
    groups, held, out, names = claimed(ends, NO_WORDS, loads if weighted else NO_FLOATS, most, n)
    assert groups.tolist() == slow_claim(inside, loads.tolist(), most)
    assert held.tolist() == np.bincount(groups, loads).tolist()
    between = [i for i, (u, v) in enumerate(inside) if groups[u] != groups[v]]
    assert names.tolist() == between
    assert [set(pair) for pair in out.tolist()] == [{int(groups[v]) for v in inside[i]} for i in between]
    # Clusters of clusters: the names go through, and so do the loads.
    again, more, _, outer_names = claimed(out.ravel(), names, held, 2 * most, held.size)
    final = again[groups]
    assert more.tolist() == np.bincount(final, loads).tolist()
    if names.size:  # without names edges would be called by their place
        assert outer_names.tolist() == [i for i, (u, v) in enumerate(inside) if final[u] != final[v]]


@settings(deadline=None, max_examples=150)
@given(st.integers(1, 30), EDGES, st.floats(1.0, 8.0), st.booleans(), st.integers(1, 3), st.sampled_from([1, 7, 99]))
def test_clusters_of_a_stream_on_threads(
    n: int, edges: list[tuple[int, int]], most: float, weighted: bool, threads: int, least: int
) -> None:
    """Loops come first, too, and vertices without edges."""
    inside = [(u, v) for u, v in edges if u < n and v < n]
    stream = edge_stream(LocalityGraph.from_edges([u for u, _ in inside], [v for _, v in inside], n))
    loads = np.arange(1.0, n + 1) if weighted else np.ones(n)
    groups, held = np.empty(n, np.uint32), np.empty(n)
    out, names = np.empty(2 * len(inside), np.uint32), np.empty(len(inside), np.uint32)
    with pytest.MonkeyPatch.context() as patch, ThreadPool(threads, 1 << 20) as pool:
        patch.setattr(inflate, "LEAST", least)
        own = floats(loads if weighted else NO_FLOATS)
        clusters, links = inflated(stream, own, most, n % 2 == 0, groups, held, out, names, pool)
    assert groups.tolist() == slow_claim(inside, loads.tolist(), most)
    assert held[:clusters].tolist() == np.bincount(groups, loads).tolist()
    found = [int(name) for a, b in links.spans for name in names[a:b]]
    assert found == [i for i, (u, v) in enumerate(inside) if groups[u] != groups[v]]
    pairs = [set(out[2 * i : 2 * i + 2].tolist()) for a, b in links.spans for i in range(a, b)]
    assert pairs == [{int(groups[v]) for v in inside[i]} for i in found]


@settings(deadline=None, max_examples=120)
@given(data=st.data())
def test_the_stream_and_the_data_graph_are_the_same_edges(
    graphs: st.SearchStrategy[LocalityGraph], data: st.DataObject
) -> None:
    graph = data.draw(graphs)
    if data.draw(st.booleans()) and graph.n_data:
        ends = data.draw(st.lists(st.integers(0, graph.n_data - 1), max_size=20))
        half = len(ends) // 2
        graph = LocalityGraph.from_edges(ends[:half], ends[half : 2 * half], graph.n_data)
    stream, plain = edge_stream(graph), data_graph(graph)
    n = graph.n_data
    expected = np.zeros((n, n), np.int64)
    for v in range(n):
        for i in range(plain.offsets[v], plain.offsets[v + 1]):
            expected[v, plain.neighbours[i]] += plain.edge_weights[i]
    weights = stream.weights if stream.weights.size else np.ones(stream.ends.size // 2, np.int64)
    found, rows = np.zeros((n, n), np.int64), np.zeros((n, n), np.int64)
    for (u, v), weight in zip(stream.ends.reshape(-1, 2).tolist(), weights, strict=True):
        if u != v:
            found[u, v] += weight
            found[v, u] += weight
    for v in range(n):
        for name in stream.names[stream.starts[v] : stream.starts[v + 1]].tolist():
            u = int(stream.ends[2 * name]) ^ int(stream.ends[2 * name + 1]) ^ v
            if u != v:
                rows[v, u] += weights[name]
    assert (found == expected).all() and (rows == expected).all()


def others(stream: EdgeStream, v: int) -> list[int]:
    """The other end of each edge of a vertex that is no loop."""
    names = stream.names[stream.starts[v] : stream.starts[v + 1]].tolist()
    found = [int(stream.ends[2 * name]) ^ int(stream.ends[2 * name + 1]) ^ v for name in names]
    return [u for u in found if u != v]


@settings(deadline=None, max_examples=150)
@given(st.integers(2, 12), EDGES, st.integers(1, 4), st.booleans(), st.data())
def test_moves_follow_the_rule(
    n: int, edges: list[tuple[int, int]], k: int, weighted: bool, data: st.DataObject
) -> None:
    """One sweep of `improve` over all vertices and one `polish` of all do what the rule says, one after the other."""
    graph = LocalityGraph.from_edges([u % n for u, _ in edges], [v % n for _, v in edges], n)
    plain, stream = data_graph(graph), edge_stream(graph)
    rows = [
        dict(zip(plain.neighbours[a:b].tolist(), plain.edge_weights[a:b].tolist(), strict=True))
        for a, b in zip(plain.offsets[:-1], plain.offsets[1:], strict=True)
    ]
    loads = 1.0 + np.arange(n) % 3 if weighted else np.ones(n)
    # No two parts are ever equally full: what comes first among equals is no part of the rule.
    limits = data.draw(st.sampled_from([0.5, 1.0, 1.25, 2.0])) * loads.sum() / k * (1 + np.sqrt(np.arange(k) + 2) / 50)
    before = data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    expected = list(before)
    for v in range(n):
        expected[v] = moved(rows, loads, limits, expected, v)
    for which in ("improve", "polish"):
        labels = np.array(before, np.uint32)
        held, sizes = np.bincount(labels, loads, k), np.bincount(labels, minlength=k)
        if which == "improve":
            own = Weighted(longs(plain.offsets), words(plain.neighbours), longs(plain.edge_weights), floats(loads))
            improve(own.rows, Parts(labels, held, sizes, floats(limits)), 1)
        else:
            margin = np.diff(stream.starts).astype(np.int8)
            parts = Parts(labels, held, sizes, floats(limits))
            chosen = words(np.arange(n, dtype=np.uint32))
            for v in range(n):
                margin[v] -= 2 * sum(before[u] != before[v] for u in others(stream, v))
            following = polish(stream, floats(loads if weighted else NO_FLOATS), parts, margin, chosen)
            cuts = [sum(labels[u] != labels[v] for u in others(stream, v)) for v in range(n)]
            assert margin.tolist() == (np.diff(stream.starts) - 2 * np.array(cuts)).tolist()
            assert all(any(labels[u] != before[u] for u in others(stream, v)) for v in following)
        assert labels.tolist() == expected
        assert held.tolist() == np.bincount(labels, loads, k).tolist()
        assert sizes.tolist() == np.bincount(labels, minlength=k).tolist()


@settings(deadline=None, max_examples=100)
@given(st.integers(2, 20), EDGES, st.integers(2, 4), st.data())
def test_the_border_is_what_has_most_of_its_edges_cut(
    n: int, edges: list[tuple[int, int]], k: int, data: st.DataObject
) -> None:
    graph = LocalityGraph.from_edges([u % n for u, _ in edges], [v % n for _, v in edges], n)
    stream = edge_stream(graph)
    groups, held, pairs, names = claimed(stream.ends, NO_WORDS, NO_FLOATS, 2.0, n)
    part = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=held.size, max_size=held.size)), np.uint32)
    full = np.array(data.draw(st.lists(st.integers(0, 1), min_size=k, max_size=k)), np.uint8)
    cuts = names.size * np.arange(4) // 3
    spans = np.stack([cuts[:-1], cuts[1:]], 1)
    labels, final = part[groups], groups.copy()
    with ThreadPool(data.draw(st.integers(1, 3)), 1 << 20) as pool:
        links = ClusterEdges(pairs.ravel(), names, spans, stream.weights)
        found, margin = boundary(stream, links, part, full, final, part, pool)
    assert final.tolist() == labels.tolist()
    expected = []
    for v in range(n):
        cuts = [int(labels[u]) for u in others(stream, v) if labels[u] != labels[v]]
        overfull = any(full[part] or full[labels[v]] for part in cuts)
        if cuts and (overfull or 2 * len(cuts) > stream.starts[v + 1] - stream.starts[v]):
            expected.append(v)
        if not overfull:
            assert margin[v] == stream.starts[v + 1] - stream.starts[v] - 2 * len(cuts)
    assert sorted(found.tolist()) == expected


def test_margins_of_hubs_are_counted_up_to_a_bound() -> None:
    """A hub of 300 edges that are cut one after the other: its margin neither overflows nor forgets it may move."""
    graph = LocalityGraph.from_edges(np.zeros(300, np.int32), np.arange(1, 301), 301)
    stream = edge_stream(graph)
    part, names = np.arange(301, dtype=np.uint32) % 2, np.arange(300, dtype=np.uint32)
    for cuts, margin_of_hub in ((0, 120), (300, -120)):
        spans, groups = np.array([[0, cuts]]), np.arange(301, dtype=np.uint32)
        full = np.zeros(2, np.uint8)
        links = ClusterEdges(stream.ends.copy(), names, spans, stream.weights)
        found, margin = boundary(stream, links, part, full, groups, part, ALONE)
        assert sorted(found.tolist()) == ([0, *range(1, 301, 2)] if cuts else [])
        assert margin[0] == margin_of_hub and (margin[2::2] == 1).all()


@settings(deadline=None, max_examples=100)
@given(st.integers(2, 12), EDGES, st.booleans(), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 3), st.data())
def test_those_that_would_move_alone(
    n: int, edges: list[tuple[int, int]], weighted: bool, share: float, threads: int, data: st.DataObject
) -> None:
    """Who is left moves when polished alone, who is not does not; where more than the share would, all are left."""
    graph = LocalityGraph.from_edges([u % n for u, _ in edges], [v % n for _, v in edges], n)
    stream, k = edge_stream(graph), 3
    loads = 1.0 + np.arange(n) % 3 if weighted else np.ones(n)
    own = floats(loads if weighted else NO_FLOATS)
    limits = floats(1.2 * loads.sum() / k * (1 + np.sqrt(np.arange(k) + 2) / 50))
    labels = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), np.uint32)
    held, sizes = np.bincount(labels, loads, k), np.bincount(labels, minlength=k)
    chosen = np.array(data.draw(st.permutations(range(n))), np.uint32)
    movers = []
    for v in chosen:
        after = labels.copy()
        margin = np.full(n, 5, np.int8)
        parts = Parts(after, held.copy(), sizes.copy(), limits)
        polish(stream, own, parts, margin, words(np.array([v], np.uint32)))
        if (after != labels).any():
            movers.append(int(v))
    with pytest.MonkeyPatch.context() as patch, ThreadPool(threads, 1 << 20) as pool:
        for name, value in {"SAMPLE": 2, "FEW": 0, "SHARE": share}.items():
            patch.setattr(boundary_greedy, name, value)
        parts = Parts(labels, held, sizes, limits)
        found = movable(stream, own, parts, chosen, pool)
        step = n // 2
        sample = chosen[::step]
        few = np.isin(sample, movers).sum() <= share * sample.size
        assert found.tolist() == (movers if few else chosen.tolist())
        patch.setattr(boundary_greedy, "FEW", n + 1)
        assert movable(stream, own, parts, chosen, pool) is chosen


@pytest.mark.parametrize("k", [1, 3, 8])
def test_grown_parts_are_all_there(k: int) -> None:
    graph, _ = lattice(20)
    plain = data_graph(graph)
    own = Weighted(longs(plain.offsets), words(plain.neighbours), longs(plain.edge_weights), floats(np.ones(400)))
    shares = floats(np.arange(1.0, k + 1) / np.arange(1.0, k + 1).sum())
    found = grow(own, shares, 57)
    sizes = np.bincount(found, minlength=k)
    assert found[57] == 0 and np.abs(sizes - 400 * shares).max() <= 1.0
    assert cut(graph, found.view(np.int32), k) <= 60 * (k > 1) * np.sqrt(k)
    apart = Weighted(longs(np.zeros(4, np.int64)), NO_WORDS, NO_LONGS, floats(np.ones(3)))
    few = grow(apart, floats(np.full(5, 0.2)), 2)
    assert np.unique(few).size == 3


@pytest.mark.parametrize("k", [7, 64])
@pytest.mark.parametrize("shape", ["mesh", "square", "cube"])
def test_parcubed_det_keeps_its_promises(shape: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Balanced, no part empty, and a cut that is not far from that of straight borders, on any number of threads."""
    monkeypatch.setattr(thread_pool, "LEAST", 1 << 10)  # enough threads for graphs of this size
    graph, _ = delaunay(20_000) if shape == "mesh" else lattice(160) if shape == "square" else lattice(30, 3)
    found = partition(graph, k, "parcubed-det", of="data", threads=1)
    assert over(found.labels, k) <= max(1.03, 1 + k / graph.n_data) + 1e-9 and found.sizes().min() > 0
    side = {"mesh": 3 * (graph.n_data * k) ** 0.5, "square": 2 * 160 * k**0.5, "cube": 3 * 900 * k ** (1 / 3)}[shape]
    assert found.cost() <= 1.45 * side
    other = partition(graph, k, "parcubed-det", of="data", threads=3)
    assert other.labels.tolist() == found.labels.tolist()


def test_parcubed_det_where_clusters_are_fewer_than_parts() -> None:
    """Two heavy data and a clique: inflation makes fewer clusters than parts are wanted."""
    u, v = np.triu_indices(12, 1)
    graph = LocalityGraph.from_edges(u.astype(np.int32), v.astype(np.int32), 12)
    heavy = np.ones(12)
    heavy[:2] = 50.0
    labels = partition(graph, 5, "parcubed-det", of="data", weights=heavy).labels
    assert np.unique(labels).size == 5 and labels[0] != labels[1]


@pytest.mark.parametrize("natural", [False, True])
def test_clusters_of_clusters_are_the_same_on_any_number_of_threads(
    natural: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the order of the edges says nothing and clusters are many, they are gathered again."""
    graph, _ = lattice(130)
    draw = np.random.default_rng(4)
    jobs = np.arange(graph.n_jobs) if natural else draw.permutation(graph.n_jobs)
    names = np.arange(graph.n_data, dtype=np.int32) if natural else draw.permutation(graph.n_data).astype(np.int32)
    ends = names[graph.data.reshape(-1, 2)[jobs]]
    graph = LocalityGraph.from_edges(ends[:, 0], ends[:, 1], graph.n_data)
    gathered: list[int] = []
    gather = parcubed_deterministic._gathered
    for module, name, value in (
        (thread_pool, "LEAST", 1 << 10),
        (inflate, "LEAST", 1 << 8),
        (parcubed_deterministic, "MANY", 0),
        (parcubed_deterministic, "PLENTY", 1),
    ):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(parcubed_deterministic, "_gathered", lambda *given: gathered.append(1) or gather(*given))
    labels = [partition(graph, 16, "parcubed-det", of="data", threads=threads).labels for threads in (1, 2, 3)]
    assert len(gathered) == (0 if natural else 3)
    assert labels[0].tolist() == labels[1].tolist() == labels[2].tolist()
    assert over(labels[0], 16) <= 1.03 + 1e-9 and np.unique(labels[0]).size == 16
