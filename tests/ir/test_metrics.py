"""Quality numbers: hand-computed values, and a slow reference written from the definitions."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Clustering, LocalityGraph, metrics
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick

Number = float | int


def slow_metrics(graph: LocalityGraph, clustering: Clustering) -> dict[str, Number]:
    """Every number of `tracecut.ir.metrics` by sets and loops."""
    labels, k = clustering.labels.tolist(), clustering.k
    rows = [graph.data[a:b].tolist() for a, b in pairwise(graph.offsets)]
    weights = (graph.job_weights if clustering.kind == "jobs" else graph.data_weights).tolist() or [1.0] * len(labels)
    load = [sum(w for w, label in zip(weights, labels, strict=True) if label == part) for part in range(k)]
    members = [labels.count(part) for part in range(k)]
    result: dict[str, Number] = {
        "load_imbalance": max(members) / (len(labels) / k) if labels else 1.0,
        "weight_imbalance": max(load) / (sum(load) / k) if labels else 1.0,
        "oversized_share": sum(x > sum(load) / k * (1 + 1e-9) for x in load) / k,
        "empty_parts": members.count(0),
    }
    if clustering.kind == "jobs":
        parts = [{labels[j] for j, row in enumerate(rows) if v in row} for v in range(graph.n_data)]
        touched = [p for p in parts if p]
        cut_degrees = [sum(row.count(v) for row in rows) for v in range(graph.n_data) if len(parts[v]) > 1]
        cost = sum(len(p) - 1 for p in touched)
        result |= {
            "vertex_copies": cost,
            "copy_weight": sum(
                weight * (len(p) - 1)
                for weight, p in zip(graph.data_weights.tolist() or [1.0] * graph.n_data, parts, strict=True)
                if p
            ),
            "communication_volume": cost,
            "replication_factor": 1 + cost / len(touched) if touched else 1.0,
            "extra_copy_share": cost / len(touched) if touched else 0.0,
            "average_cut_degree": sum(cut_degrees) / len(cut_degrees) if cut_degrees else 0.0,
            "boundary": len(cut_degrees),
            "max_communication_volume": max(sum(len(p) > 1 and part in p for p in parts) for part in range(k)),
        }
    else:
        job_weights = graph.job_weights.tolist() or [1.0] * len(rows)
        foreign = []
        for v in range(graph.n_data):
            near = {labels[w] for row in rows if v in row for w in row}
            foreign.append(len(near - {labels[v]}))
        result |= {
            "edge_cut": sum(w for w, row in zip(job_weights, rows, strict=True) if len({labels[v] for v in row}) > 1),
            "communication_volume": sum(foreign),
            "boundary": sum(x > 0 for x in foreign),
            "max_communication_volume": max(
                sum(x for x, label in zip(foreign, labels, strict=True) if label == part) for part in range(k)
            ),
        }
    return result


def fast_metrics(graph: LocalityGraph, clustering: Clustering) -> dict[str, Number]:
    found: dict[str, Number] = {}
    for name in slow_metrics(graph, clustering):
        function: Callable[..., Number] = getattr(metrics, name)
        found[name] = function(clustering) if name == "empty_parts" else function(graph, clustering)
    return found


# A triangle 0-1-2 with a tail 2-3-4; datum 5 is isolated.
TAILED = LocalityGraph.from_edges([0, 1, 2, 2, 3], [1, 2, 0, 3, 4], 6)
# Jobs of 3, 1, 0 and 4 data (one datum twice), with weights.
MIXED = LocalityGraph(
    [0, 3, 4, 4, 8], [0, 1, 2, 2, 3, 3, 0, 4], 5, job_weights=[1.0, 2.0, 3.0, 6.0], data_weights=[1.0, 1, 2, 2, 4]
)


@pytest.mark.parametrize(
    ("graph", "clustering", "expected"),
    [
        (
            TAILED,
            Clustering([0, 0, 0, 1, 1], 2),  # the cut vertex is 2, of degree 3
            {
                "vertex_copies": 1,
                "communication_volume": 1,
                "max_communication_volume": 1,
                "replication_factor": 1.2,
                "extra_copy_share": 0.2,
                "average_cut_degree": 3.0,
                "boundary": 1,
                "load_imbalance": 1.2,
                "weight_imbalance": 1.2,
                "oversized_share": 0.5,
                "empty_parts": 0,
            },
        ),
        (
            TAILED,
            Clustering([0, 1, 2, 0, 1], 4),  # 0 in {0,2}, 1 in {0,1}, 2 in {0,1,2}, 3 in {0,1}, 4 in {1}
            {
                "vertex_copies": 5,
                "communication_volume": 5,
                "max_communication_volume": 4,
                "replication_factor": 2.0,
                "extra_copy_share": 1.0,
                "average_cut_degree": 2.25,
                "boundary": 4,
                "load_imbalance": 1.6,
                "weight_imbalance": 1.6,
                "oversized_share": 0.5,
                "empty_parts": 1,
            },
        ),
        (
            TAILED,
            Clustering([0, 0, 1, 1, 1, 0], 2, "data"),  # jobs 1-2 and 2-0 are cut
            {
                "edge_cut": 2.0,
                "communication_volume": 3,
                "max_communication_volume": 2,
                "boundary": 3,
                "load_imbalance": 1.0,
                "weight_imbalance": 1.0,
                "oversized_share": 0.0,
                "empty_parts": 0,
            },
        ),
        (
            MIXED,
            Clustering([0, 1, 1, 1], 2),  # 0 and 2 in both; loads 1 and 11
            {
                "vertex_copies": 2,
                "max_communication_volume": 2,
                "replication_factor": 1.4,
                "average_cut_degree": 2.0,
                "boundary": 2,
                "load_imbalance": 1.5,
                "weight_imbalance": 11 / 6,
                "oversized_share": 0.5,
            },
        ),
        (
            MIXED,
            Clustering([0, 0, 0, 1, 1], 2, "data"),  # job 3 holds 3, 3, 0, 4 and weighs 6
            {
                "edge_cut": 6.0,
                "communication_volume": 3,
                "max_communication_volume": 2,
                "boundary": 3,
                "load_imbalance": 1.2,
                "weight_imbalance": 1.2,
            },
        ),
    ],
)
def test_hand_computed(graph: LocalityGraph, clustering: Clustering, expected: dict[str, Number]) -> None:
    for found in (fast_metrics(graph, clustering), slow_metrics(graph, clustering)):
        assert {name: found[name] for name in expected} == pytest.approx(expected)


@st.composite
def cases(draw: st.DrawFn) -> tuple[LocalityGraph, Clustering]:
    n_data, k = draw(st.integers(0, 9)), draw(st.integers(1, 5))
    datum = st.integers(0, max(0, n_data - 1))
    rows = draw(st.lists(st.lists(datum, max_size=4), max_size=10)) if n_data else []
    weighted = draw(st.booleans())
    graph = LocalityGraph(
        np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64),
        np.array([v for row in rows for v in row], np.int32),
        n_data,
        job_weights=np.arange(1.0, len(rows) + 1) if weighted else np.zeros(0),
        data_weights=np.arange(1.0, n_data + 1) if weighted else np.zeros(0),
    )
    kind = draw(st.sampled_from(["jobs", "data"]))
    size = len(rows) if kind == "jobs" else n_data
    labels = draw(st.lists(st.integers(0, k - 1), min_size=size, max_size=size))
    return graph, Clustering(np.array(labels, np.int32), k, kind)


@settings(deadline=None, max_examples=150)
@given(case=cases())
def test_fast_equals_slow(case: tuple[LocalityGraph, Clustering]) -> None:
    assert fast_metrics(*case) == pytest.approx(slow_metrics(*case))


@settings(deadline=None, max_examples=80)
@given(case=cases(), data=st.data())
def test_names_do_not_matter(case: tuple[LocalityGraph, Clustering], data: st.DataObject) -> None:
    """Renaming jobs, data and clusters changes no number."""
    graph, clustering = case
    jobs = np.array(data.draw(st.permutations(range(graph.n_jobs))), np.int64)
    names = np.array(data.draw(st.permutations(range(graph.n_data))), np.int64)
    parts = np.array(data.draw(st.permutations(range(clustering.k))), np.int64)
    rows = [names[graph.data[graph.offsets[j] : graph.offsets[j + 1]]] for j in jobs]
    back = np.argsort(names)
    renamed = LocalityGraph(
        np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int64), *rows]),
        graph.n_data,
        job_weights=graph.job_weights[jobs] if graph.job_weights.size else graph.job_weights,
        data_weights=graph.data_weights[back] if graph.data_weights.size else graph.data_weights,
    )
    members = jobs if clustering.kind == "jobs" else back
    labels = parts[clustering.labels[members]] if members.size else clustering.labels
    moved = Clustering(labels, clustering.k, clustering.kind)
    assert fast_metrics(renamed, moved) == pytest.approx(fast_metrics(graph, clustering))


@settings(deadline=None, max_examples=60)
@given(case=cases())
def test_relations_between_numbers(case: tuple[LocalityGraph, Clustering]) -> None:
    graph, clustering = case
    if clustering.kind == "jobs":
        parts = metrics.parts_per_datum(graph, clustering)
        assert (parts > 0).tolist() == (graph.degrees() > 0).tolist()
        assert metrics.boundary(graph, clustering) <= metrics.vertex_copies(graph, clustering)
    assert metrics.max_communication_volume(graph, clustering) <= 2 * metrics.communication_volume(graph, clustering)
    assert 1.0 <= metrics.load_imbalance(graph, clustering) <= clustering.k
    equal = metrics.target_imbalance(graph, clustering, np.ones(clustering.k))
    assert equal == pytest.approx(metrics.weight_imbalance(graph, clustering))


def test_targets_weigh_in() -> None:
    clustering = Clustering([0, 0, 0, 1, 1], 2)
    assert metrics.target_imbalance(TAILED, clustering, np.array([3.0, 2.0])) == pytest.approx(1.0)
    assert metrics.target_imbalance(TAILED, clustering, np.array([1.0, 1.0])) == pytest.approx(1.2)
    with pytest.raises(ArgumentError, match="targets must be 2 positive numbers"):
        metrics.target_imbalance(TAILED, clustering, np.array([1.0, 0.0]))


def test_oversized_has_a_limit() -> None:
    clustering = Clustering([0, 0, 0, 1, 1], 2)
    assert metrics.oversized_share(TAILED, clustering, 1.25) == 0.0


@pytest.mark.parametrize("name", ["edge_cut", "vertex_copies", "average_cut_degree", "extra_copy_share"])
def test_the_wrong_kind_is_refused(name: str) -> None:
    wrong = Clustering(np.zeros(5, np.int32), 1) if name == "edge_cut" else Clustering(np.zeros(6, np.int32), 1, "data")
    with pytest.raises(ArgumentError, match="this number is defined for a partition of"):
        getattr(metrics, name)(TAILED, wrong)


def test_the_wrong_length_is_refused() -> None:
    with pytest.raises(ArgumentError, match="the clustering labels 2 jobs, the graph has 5"):
        metrics.load_imbalance(TAILED, Clustering([0, 0], 1))


@pytest.mark.parametrize("k", [1.5, "1", None])
def test_a_number_of_clusters_is_whole(k: Any) -> None:
    with pytest.raises(ArgumentError, match="a whole number of at least 1 was expected"):
        Clustering(np.zeros(1, np.int32), k, "data")
    assert Clustering(np.zeros(1, np.int32), np.int64(1), "data").k == 1  # type: ignore[arg-type]


def test_pins_are_counted_in_pieces() -> None:
    pins = np.random.default_rng(2).integers(0, 1000, 3 << 20).astype(np.int32)
    graph = LocalityGraph(np.arange(0, pins.size + 1, 2), pins, 1000)
    tracemalloc.start()
    try:
        found = graph.degrees()
        assert tracemalloc.get_traced_memory()[1] < pins.nbytes
    finally:
        tracemalloc.stop()
    assert np.array_equal(found, np.bincount(pins))


def test_a_graph_forgets_its_other_half_and_counts_the_same() -> None:
    draw = np.random.default_rng(4)
    pins = draw.integers(0, 50, 400).astype(np.int32)
    graph = LocalityGraph(np.arange(0, 401, 4), pins, 60)
    clustering = Clustering(draw.integers(0, 7, 100).astype(np.int32), 9)
    found = metrics.parts_per_datum(graph, clustering)
    assert "transpose" not in graph.__dict__, "it is as large as the graph"
    assert graph.transpose[0][-1] == 400
    assert np.array_equal(metrics.parts_per_datum(graph, clustering), found)
    graph.forget()
    assert "transpose" not in graph.__dict__
