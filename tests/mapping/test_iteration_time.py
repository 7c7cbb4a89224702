"""The model of an iteration against cases computed by hand and against one written from the definitions."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.network import Network
from tracecut.ir.machine.parts import Bank, Core
from tracecut.ir.placement import Placement
from tracecut.mapping.iteration_time import iteration_time
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick

CHAIN = LocalityGraph.from_edges(np.array([0, 1, 2], np.int32), np.array([1, 2, 3], np.int32), 4)
HALVES = Clustering(np.array([0, 0, 1, 1], np.int32), 2, "data")
FAST_AND_SLOW = replace(
    Machine.topo1(2, 1, 1),  # speeds 2 and 1, a link between each two units: 16 bytes a cycle, 2 cycles a hop
    clock=100.0,
)


def test_two_units_by_hand() -> None:
    found = iteration_time(CHAIN, HALVES, FAST_AND_SLOW, "spmv")
    # Each half has 2 entries on the diagonal and 3 beside it: 10 operations. One value each way is one flit.
    assert found.work.tolist() == [5.0, 10.0] and found.exchange.tolist() == [1 + 2.0, 1 + 2.0]
    assert (found.cycles, found.seconds, found.reductions) == (13.0, 0.13, 0.0)
    found = iteration_time(CHAIN, HALVES, FAST_AND_SLOW, "cg")
    # 2 rows with 10 operations each besides; two reductions of one step of one flit.
    assert found.work.tolist() == [15.0, 30.0] and found.reductions == 2 * (2 + 1) and found.cycles == 39.0
    assert iteration_time(CHAIN, HALVES, replace(FAST_AND_SLOW, clock=0.0), "cg").seconds is None
    wide = replace(FAST_AND_SLOW, issue_width=5)
    assert iteration_time(CHAIN, HALVES, wide, "cg").work.tolist() == [3.0, 6.0]


def test_memory_counts_where_it_is_slower() -> None:
    banks = (Bank(0, 1 << 20, 1.0), Bank(1, 1 << 20, 100.0))
    found = iteration_time(CHAIN, HALVES, replace(FAST_AND_SLOW, banks=banks), "spmv")
    assert found.work.tolist() == [5 * 12 + 2 * 20.0, 10.0]
    shared = replace(FAST_AND_SLOW, banks=(Bank(1, 1 << 20, 2.0),))  # core 0 has no bank at its node
    assert iteration_time(CHAIN, HALVES, shared, "spmv").work.tolist() == [100.0, 100.0]


def test_messages_meet_on_the_link_of_their_node() -> None:
    """Two nodes of two units: both units of node 0 talk to both of node 1 over one link up and one down."""
    graph = LocalityGraph.from_edges(np.array([0, 0, 1, 1], np.int32), np.array([2, 3, 2, 3], np.int32), 4)
    tree = replace(Machine.named("tree:2x2"), network=Network("tree", (2, 2), bandwidth=8.0, hop_latency=3, flit=8))
    one_each = Clustering(np.arange(4, dtype=np.int32), 4, "data")
    found = iteration_time(graph, one_each, tree, "spmv")
    assert found.exchange.tolist() == [4 * 8 / 8.0 + 4 * 3] * 4  # four messages over the link of a node, four hops
    full = replace(tree, network=Network("full", (4,), bandwidth=8.0, hop_latency=3, flit=8))
    assert iteration_time(graph, one_each, full, "spmv").exchange.tolist() == [2 * 8 / 8.0 + 3] * 4  # two leave a node


def test_clusters_of_one_core_send_nothing_to_each_other() -> None:
    together = Placement(np.zeros(2, np.int32), 2, "by hand")
    found = iteration_time(CHAIN, HALVES, FAST_AND_SLOW, "spmv", together)
    assert found.exchange.tolist() == [0.0, 0.0] and found.work.tolist() == [(4 + 6) * 2 / 2.0, 0.0]


def brute_force(graph: LocalityGraph, core: list[int], machine: Machine, kernel: str) -> float:
    """Cycles from the definitions, entry by entry and route by route; machines without known memory bandwidth."""
    edges = {tuple(sorted(map(int, graph.data[2 * job : 2 * job + 2]))) for job in range(graph.n_jobs)}
    edges = {(a, b) for a, b in edges if a != b}
    network, node = machine.joined, [one.node for one in machine.cores]
    values = {(a, core[b]) for a, b in edges} | {(b, core[a]) for a, b in edges}
    messages: dict[tuple[int, int], int] = {}
    for datum, target in values:
        if node[core[datum]] != node[target]:
            messages[core[datum], target] = messages.get((core[datum], target), 0) + 8
    size = {pair: network.flit * ceil(held / network.flit) for pair, held in messages.items()}
    on_link: dict[int, int] = {}
    for (a, b), held in size.items():
        for link in network.route(node[a], node[b]).tolist():
            on_link[link] = on_link.get(link, 0) + held
    longest = 0.0
    for own, unit in enumerate(machine.cores):
        rows = [datum for datum in range(graph.n_data) if core[datum] == own]
        entries = len(rows) + sum(end in rows for edge in edges for end in edge)
        work = (2 * entries + (10 * len(rows) if kernel == "cg" else 0)) / unit.speed / machine.issue_width
        here = {(a, b): held for (a, b), held in size.items() if unit.node in (node[a], node[b])}
        busiest = max(
            sum(held for (a, _), held in here.items() if node[a] == unit.node),
            sum(held for (_, b), held in here.items() if node[b] == unit.node),
            max((on_link[link] for a, b in here for link in network.route(node[a], node[b]).tolist()), default=0),
        )
        hops = max((network.distance(node[a], node[b]) for a, b in here), default=0)
        longest = max(longest, work + busiest / network.bandwidth + hops * network.hop_latency)
    places, step, reduction = sorted(set(node)), 1, 0.0
    while step < len(places):
        met = [network.distance(places[i], places[i ^ step]) for i in range(len(places)) if i ^ step < len(places)]
        reduction += max(met) * network.hop_latency + network.flit / network.bandwidth
        step *= 2
    return longest + (2 * reduction if kernel == "cg" else 0.0)


@pytest.mark.parametrize("word", ["topo1:6:2:3", "topo2:7:2:4", "mesh:3x2", "torus:4x3", "tree:2x3x2", "uma:5", "two"])
@pytest.mark.parametrize("seed", range(5))
def test_as_the_definitions_say(word: str, seed: int) -> None:
    two = replace(Machine.uma(3), cores=tuple(Core(i, i // 2, 1.0 + i) for i in range(6)), name="two cores a node")
    machine = two if word == "two" else Machine.named(word)
    machine = replace(machine, banks=(), issue_width=1 + seed % 2)
    draw = np.random.default_rng(seed)
    n, k = 30, 9
    graph = LocalityGraph.from_edges(*draw.integers(0, n, (2, 70)).astype(np.int32), n)
    clustering = Clustering(draw.integers(0, k, n).astype(np.int32), k, "data")
    placement = Placement(draw.integers(0, len(machine.cores), k).astype(np.int32), len(machine.cores), "by hand")
    core = placement.core_of[clustering.labels].tolist()
    for kernel in ("spmv", "cg"):
        found = iteration_time(graph, clustering, machine, kernel, placement).cycles
        assert found == pytest.approx(brute_force(graph, core, machine, kernel), rel=1e-12)


def test_refused() -> None:
    with pytest.raises(ArgumentError, match="kernel = 'lu', one of spmv, cg"):
        iteration_time(CHAIN, HALVES, FAST_AND_SLOW, "lu")
    with pytest.raises(ArgumentError, match="defined for a partition of data"):
        iteration_time(CHAIN, Clustering(np.zeros(3, np.int32), 1, "jobs"), FAST_AND_SLOW)
    with pytest.raises(ArgumentError, match="5 clusters, machine 'topo1:2:1:1' has 2 cores"):
        iteration_time(CHAIN, replace(HALVES, k=5), FAST_AND_SLOW)
    with pytest.raises(ArgumentError, match="the placement has 3 clusters, the clustering has 2"):
        iteration_time(CHAIN, HALVES, FAST_AND_SLOW, "cg", Placement(np.zeros(3, np.int32), 2, "m"))
    with pytest.raises(ArgumentError, match="core"):
        iteration_time(CHAIN, HALVES, FAST_AND_SLOW, "cg", Placement(np.zeros(2, np.int32), 9, "m"))
    three = LocalityGraph(np.array([0, 3]), np.array([0, 1, 2], np.int32), 4)
    with pytest.raises(ArgumentError, match="a job has 3 data: an entry of a matrix joins two"):
        iteration_time(three, HALVES, FAST_AND_SLOW)
