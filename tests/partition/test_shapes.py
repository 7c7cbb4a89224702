"""Graphs of extreme shapes take no longer than others of their size: stars, paths, hubs, one job, one datum."""

from __future__ import annotations

import math
import resource
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.partition import METHODS, partition
from tracecut.partition.balance.rebalance import capacities
from tracecut.partition.coarsening.edge_matching import Weighted
from tracecut.partition.coarsening.hypergraph_levels import Level, finest_level
from tracecut.partition.community import compnet
from tracecut.partition.datastructures.plain_graphs import data_graph
from tracecut.partition.datastructures.tournament_tree import contest, play
from tracecut.partition.datastructures.typed_views import floats
from tracecut.partition.expansion import grow_hypergraph
from tracecut.partition.initial import greedy_growing
from tracecut.partition.refinement import km1_fm
from tracecut.partition.refinement.km1 import NO_END
from tracecut.partition.refinement.km1_gains import cluster_state
from tracecut.partition.refinement.km1_parallel_fm import Replica

MADE = run_path(str(Path(__file__).parents[2] / "benchmarks" / "shapes.py"))
SHAPES: dict[str, Callable[[int], LocalityGraph]] = MADE["SHAPES"]


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
        monkeypatch.setattr(greedy_growing, "LOOKS", looks)
        grown = greedy_growing.grow.py_func(
            Weighted(plain.offsets, plain.neighbours.view(np.uint32), plain.edge_weights, loads),
            shares,
            plain.size // 2,
        )
        found.append(grown.tolist())
    assert found[0] == found[1] == found[2]


def test_lists_are_not_looked_through_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a star every vertex is the neighbour of all: looking through them for each would be quadratic."""
    played: list[int] = []
    monkeypatch.setattr(greedy_growing, "play", lambda *given: played.append(1))
    monkeypatch.setattr(
        greedy_growing, "contest", lambda values, entered, room: played.append(entered) or contest(values, 0, 1)
    )
    plain = data_graph(SHAPES["star"](3000))
    greedy_growing.grow.py_func(
        Weighted(plain.offsets, plain.neighbours.view(np.uint32), plain.edge_weights, np.ones(plain.size)),
        np.full(4, 0.25),
        0,
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


@pytest.mark.parametrize("shape", SHAPES)
def test_data_join_few_clusters(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job of all data that grew like others would pull all of them into every cluster."""
    joined: list[int] = []
    kernel = grow_hypergraph._join

    def join(*given: Any) -> Any:
        joined.append(1)
        full, load, used, placed = kernel(*given)
        return full, load, np.uint64(used), placed  # as it is inside of a kernel

    take = grow_hypergraph.bq.pop

    def pop(queue: Any, used: np.uint64) -> Any:
        x, left = take(queue, used)
        return np.uint32(x), np.uint64(left)

    monkeypatch.setattr(grow_hypergraph, "MOST_CLUSTERS", 0)  # the kernel that takes jobs of any size
    monkeypatch.setattr(grow_hypergraph, "_join", join)
    monkeypatch.setattr(grow_hypergraph, "_grow", grow_hypergraph._grow.py_func)
    monkeypatch.setattr(grow_hypergraph.bq, "pop", pop)
    graph = SHAPES[shape](3000)
    labels, order = grow_hypergraph.grow(graph, 16)
    assert np.ptp(np.bincount(labels, minlength=16)) <= 2 and sorted(order.tolist()) == list(range(graph.n_jobs))
    assert len(joined) <= 2 * graph.n_pins + 50


def test_a_huge_job_takes_the_room_that_it_weighs() -> None:
    """The others share what it leaves, and fill its own cluster up where it leaves some."""
    graph = SHAPES["one job beside"](4000)
    others = graph.n_jobs - 1
    for heavy in (1000.0, 3.0):
        weights = np.append(np.ones(others), heavy)
        held = np.bincount(grow_hypergraph.expansion(graph, 8, weights=weights), weights, 8)
        rest = (others + heavy - max(heavy, held.mean())) / 7
        assert sorted(held)[-1] <= max(heavy, rest + 1) and min(held) >= rest - 1


def test_a_job_of_all_data_is_not_asked_after_each_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its nets tells of moves near it, and to ask it takes as long as it has nets."""
    graph, k = SHAPES["one job beside"](6000), 4
    level = finest_level(graph, np.ones(graph.n_jobs))
    labels = grow_hypergraph.expansion(graph, k).view(np.uint32)
    limits = capacities(level.node_weights, np.full(k, 1 / k), 1.03)
    replica = Replica(level, cluster_state(level, labels, floats(limits)))
    asked: list[int] = []
    best_move = km1_fm.best_move

    def counted(u: int, level: Level, *others: Any) -> Any:
        asked.append(int(level.node_offsets[u + 1] - level.node_offsets[u]))
        return best_move(u, level, *others)

    monkeypatch.setattr(km1_fm, "best_move", counted)
    replica.start()
    seeds = np.arange(level.n_nodes, dtype=np.uint32)
    gain, used, *_ = km1_fm.search.py_func(level, replica.state, replica.work, seeds, 5000, 1.0, 0.0, NO_END, 0, NO_END)
    assert gain > 0 and used == seeds.size
    assert sum(asked) <= 10 * level.node_nets.size


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::tracecut.partition.streaming.vertex_cut.CollapseWarning")
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.installed])
def test_no_shape_takes_much_longer(name: str) -> None:
    """`pytest -m long tests/partition/test_shapes.py`: 300,000 pins, CPU seconds up to five times a random graph's."""
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

    random = MADE["random_graph"]
    for shape, make in SHAPES.items():
        graph = make(150_000)
        # What looks at the places of data alone takes its time by their number.
        rival = random(150_000, max(graph.n_data, 50_000)) if "coords" in method.uses else random(150_000)
        assert seconds(graph) <= 5 * max(seconds(rival), 0.02), shape
