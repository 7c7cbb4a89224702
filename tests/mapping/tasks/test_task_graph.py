"""What runs where, held against a reference written from the definition alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import MEMORY, REGISTER, DependenceGraph
from tracecut.ir.metrics import vertex_copies
from tracecut.mapping.tasks.cluster_graph import ClusterGraph
from tracecut.mapping.tasks.task_graph import cluster_graph, task_graph, traffic
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick


@st.composite
def clustered(draw: st.DrawFn) -> tuple[DependenceGraph, Clustering]:
    n = draw(st.integers(1, 12))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).map(sorted).filter(lambda pair: pair[0] < pair[1])
    edges = sorted(draw(st.lists(pairs, max_size=25, unique_by=tuple)) if n > 1 else [], key=lambda edge: edge[1])
    weight = [draw(st.integers(0, 5)) for _ in edges]
    time = [draw(st.integers(0, 5)) for _ in range(n)]
    src, dst = [edge[0] for edge in edges], [edge[1] for edge in edges]
    kind_of = [draw(st.sampled_from([REGISTER, MEMORY])) for _ in edges]
    graph = DependenceGraph(src, dst, weight, kind_of, [0] * n, time)  # type: ignore[arg-type]
    k = draw(st.integers(1, 4))
    kind = draw(st.sampled_from(["data", "jobs"]))
    size = n if kind == "data" else len(edges)
    labels = draw(st.lists(st.integers(0, k - 1), min_size=size, max_size=size))
    return graph, Clustering(np.array(labels, np.int32), k, kind)


def reference(graph: DependenceGraph, clustering: Clustering) -> tuple[list[int], Counter[tuple[int, int]], int]:
    """Homes, messages by pair of clusters, and words, edge by edge."""
    edges = list(zip(graph.src.tolist(), graph.dst.tolist(), graph.weight.tolist(), strict=True))
    labels = clustering.labels.tolist()
    if clustering.kind == "data":
        homes, at = labels, [labels[dst] for _, dst, _ in edges]
    else:
        at, homes = labels, []
        for vertex in range(graph.n):
            for end in (1, 0):
                heavy: Counter[int] = Counter()
                for place, edge in enumerate(edges):
                    if edge[end] == vertex:
                        heavy[at[place]] += edge[2]
                if heavy:
                    homes.append(min(heavy, key=lambda cluster: (-heavy[cluster], cluster)))
                    break
            else:
                homes.append(homes[-1] if homes else 0)
    said = {(src, at[i]): (homes[src], at[i]) for i, (src, _, _) in enumerate(edges) if homes[src] != at[i]}
    heard = {(dst, at[i]): (at[i], homes[dst]) for i, (_, dst, _) in enumerate(edges) if homes[dst] != at[i]}
    if clustering.kind == "data":
        words = sum(homes[src] != homes[dst] for src, dst, _ in edges)
    else:
        words = len({(vertex, at[i]) for i, edge in enumerate(edges) for vertex in edge[:2] if homes[vertex] != at[i]})
    return homes, Counter(said.values()) + Counter(heard.values()), words


def spent(graph: DependenceGraph, clustering: Clustering, homes: list[int]) -> list[float]:
    """Cycles of each cluster."""
    load = [0.0] * clustering.k
    for vertex in range(graph.n):
        load[homes[vertex]] += int(graph.time[vertex])
        access: dict[int, int] = {}
        for i in range(graph.m):
            if graph.dst[i] == vertex and graph.kind[i] == MEMORY:
                cluster = int(clustering.labels[i]) if clustering.kind == "jobs" else homes[vertex]
                access[cluster] = max(access.get(cluster, 0), int(graph.weight[i]))
        if access and homes[vertex] not in access:
            load[homes[vertex]] -= max(access.values())
        for cluster, cycles in access.items():
            load[cluster] += cycles if cluster != homes[vertex] else 0
    return load


@given(clustered())
def test_the_reference_agrees(case: tuple[DependenceGraph, Clustering]) -> None:
    graph, clustering = case
    tasks = task_graph(graph, clustering)
    homes, messages, words = reference(graph, clustering)
    assert tasks.home.tolist() == homes
    found, total = cluster_graph(tasks), traffic(tasks)
    pairs = list(zip(found.src.tolist(), found.dst.tolist(), strict=True))
    assert {pair: count for pair, count in zip(pairs, found.messages.tolist(), strict=True) if count} == messages
    assert total.messages == sum(messages.values()) and total.words == words == found.words.sum()
    assert total.bytes_moved == 8 * total.messages
    assert found.load.tolist() == spent(graph, clustering, homes)
    if clustering.kind == "jobs":
        assert words == vertex_copies(graph.as_locality(), clustering)
    found.verify()


@given(clustered())
def test_one_cluster_sends_nothing(case: tuple[DependenceGraph, Clustering]) -> None:
    graph, clustering = case
    alone = Clustering(np.zeros(clustering.labels.size, np.int32), 1, clustering.kind)
    assert traffic(task_graph(graph, alone)).messages == 0


@pytest.mark.parametrize("kind", ["data", "jobs"])
def test_labels_of_another_graph(kind: str) -> None:
    graph = DependenceGraph([0], [1], [1], [1], [0, 0, 0], [1, 1, 1])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="labels 2, the graph has"):
        task_graph(graph, Clustering(np.zeros(2, np.int32), 1, kind))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("words", [], "words has 0 entries, 1 expected"),
        ("first", [0], "first has 1 entries, 2 expected"),
        ("messages", [-1.0], r"messages\[0\] = -1.0"),
        ("load", [1.0, float("nan")], r"load\[1\] = nan"),
    ],
)
def test_numbers_of_a_cluster_graph(name: str, value: list[float], why: str) -> None:
    good = {"load": [1.0, 1.0], "first": [0, 1], "src": [0], "dst": [1], "messages": [1.0], "words": [1.0]}
    with pytest.raises(ArgumentError, match=why):
        ClusterGraph(**{**good, name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("src", "dst", "why"),
    [([0], [0], "different clusters"), ([1, 0], [0, 1], "sorted"), ([0], [2], "outside"), ([0, 0], [1, 1], "once")],
)
def test_what_is_no_cluster_graph(src: list[int], dst: list[int], why: str) -> None:
    ones = np.ones(len(src))
    with pytest.raises(ArgumentError, match=why):
        ClusterGraph([1.0, 1.0], [0, 1], src, dst, ones, ones)  # type: ignore[arg-type]
