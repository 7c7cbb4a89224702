"""Graphs of extreme shapes take no longer than others of their size: stars, paths, hubs, one job, one datum."""

from __future__ import annotations

import math
import resource
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition import METHODS, compnet, growing, partition
from tracecut.partition.contest import contest, play
from tracecut.partition.expand import data_graph

EDGES = LocalityGraph.from_edges


def ids(size: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.arange(size, dtype=np.int32)


def clique(m: int) -> LocalityGraph:
    u, v = np.triu_indices(math.isqrt(2 * m), 1)
    return EDGES(u.astype(np.int32), v.astype(np.int32))


SHAPES: dict[str, Callable[[int], LocalityGraph]] = {
    "star": lambda m: EDGES(0 * ids(m), ids(m) + 1),
    "double star": lambda m: EDGES(ids(m) % 2, ids(m) + 2),
    "hubs": lambda m: EDGES(ids(m) % math.isqrt(m), ids(m) + math.isqrt(m)),
    "path": lambda m: EDGES(ids(m), ids(m) + 1),
    "caterpillar": lambda m: EDGES(np.maximum(ids(m) // 2 * 2 - 2 * (ids(m) % 2 == 0), 0), ids(m) + 1),
    "clique": clique,
    "one job": lambda m: LocalityGraph([0, 2 * m], ids(2 * m), 2 * m),
    "one datum": lambda m: LocalityGraph(np.arange(2 * m + 1), 0 * ids(2 * m), 1),
    "isolated": lambda m: EDGES(ids(100), ids(100) + 1, 2 * m),
    "few": lambda m: EDGES(ids(5), ids(5) + 1),
}


def random_graph(m: int) -> LocalityGraph:
    ends = np.random.default_rng(0).integers(0, m // 3, (2, m), dtype=np.int32)
    return EDGES(*ends, m // 3)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_the_winner_is_the_first_of_the_largest(data: st.DataObject) -> None:
    values = np.array(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=20)), np.float64)
    present = np.zeros(values.size, bool)
    entered = data.draw(st.integers(0, values.size))
    present[:entered] = True
    tree = contest(values, entered, values.size)
    for _ in range(data.draw(st.integers(0, 12))):
        place = data.draw(st.integers(0, values.size - 1))
        values[place], present[place] = data.draw(st.integers(0, 4)), data.draw(st.booleans())
        play(tree, values, place, bool(present[place]))
        best = max(np.flatnonzero(present).tolist(), key=lambda i: (values[i], -i), default=-1)
        assert int(tree[1]) == (best if best >= 0 else 0xFFFFFFFF)


@pytest.mark.parametrize("shape", [name for name in SHAPES if name not in ("one datum", "isolated")])
def test_parts_grow_the_same_in_a_tournament(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether lists of neighbours are looked through, are after a while no more, or never were."""
    plain = data_graph(SHAPES[shape](60))
    loads, shares = np.arange(1.0, plain.size + 1) % 5 + 1, np.full(4, 0.25)
    found = []
    for looks in (1 << 40, 1, 0):
        monkeypatch.setattr(growing, "LOOKS", looks)
        grown = growing.grow.py_func(
            plain.offsets, plain.neighbours.view(np.uint32), plain.edge_weights, loads, shares, plain.size // 2
        )
        found.append(grown.tolist())
    assert found[0] == found[1] == found[2]


def test_lists_are_not_looked_through_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a star every vertex is the neighbour of all: looking through them for each would be quadratic."""
    played: list[int] = []
    monkeypatch.setattr(growing, "play", lambda *given: played.append(1))
    monkeypatch.setattr(
        growing, "contest", lambda values, entered, room: played.append(entered) or contest(values, 0, 1)
    )
    plain = data_graph(SHAPES["star"](3000))
    growing.grow.py_func(
        plain.offsets, plain.neighbours.view(np.uint32), plain.edge_weights, np.ones(plain.size), np.full(4, 0.25), 0
    )
    assert max(played) > 1000, "the lists were handed over to a tournament while they were long"


@pytest.mark.parametrize("shape", SHAPES)
def test_communities_halve_each_round(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all want to merge with one hub, one would a round: as many rounds as vertices."""
    rounds: list[int] = []
    propose = compnet._proposed

    def counted(*given: Any) -> Any:
        rounds.append(1)
        return propose(*given)

    monkeypatch.setattr(compnet, "_proposed", counted)
    graph = SHAPES[shape](3000)
    partition(graph, 4, "compnet", of="data")
    assert len(rounds) <= 12 * math.log2(graph.n_data + 2)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::tracecut.partition.streaming.CollapseWarning")
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.installed])
def test_no_shape_takes_much_longer(name: str) -> None:
    """`pytest -m long tests/partition/test_shapes.py`: CPU seconds, 150,000 edges, up to ten times a random graph's."""
    method = METHODS[name]

    def seconds(graph: LocalityGraph) -> float:
        optional = {"coords": np.random.default_rng(1).random((graph.n_data, 2))} if "coords" in method.uses else {}
        best = math.inf
        for _ in range(2):
            before = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            partition(graph, 16, name, of="data" if method.kind == "data" else "jobs", threads=1, **optional)
            after = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            best = min(best, after - before)
        return best

    allowed = 10 * max(seconds(random_graph(150_000)), 0.02)
    for shape, make in SHAPES.items():
        assert seconds(make(150_000)) <= allowed, shape
