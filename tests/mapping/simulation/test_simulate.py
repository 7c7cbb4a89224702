"""The simulator against a slow reference, closed forms, and the bound of the busiest channel."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import MEMORY, REGISTER, DependenceGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.network import Network
from tracecut.ir.machine.parts import Bank, Core
from tracecut.ir.placement import Placement
from tracecut.mapping.simulate import simulate
from tracecut.mapping.simulation.result import Simulation
from tracecut.support.errors import ArgumentError, ArtefactError

from .cases import random_case
from .checking import check

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("block", range(5))
def test_the_reference_agrees(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        check(seed)


def graph_of(n: int, edges: list[tuple[int, int]], time: int = 1, kind: int = REGISTER) -> DependenceGraph:
    edges = sorted(edges, key=lambda edge: (edge[1], edge[0]))
    src, dst = (np.array([edge[i] for edge in edges], np.int32) for i in (0, 1))
    m = len(edges)
    weight = np.full(m, time if kind == MEMORY else 1, np.int32)
    return DependenceGraph(
        src, dst, weight, np.full(m, kind, np.uint8), np.zeros(n, np.int32), np.full(n, time, np.int32)
    )


def run(  # type: ignore[no-untyped-def]
    graph: DependenceGraph,
    labels: list[int] | np.ndarray,  # type: ignore[type-arg]
    cores: list[int],
    machine: Machine,
    **how,
) -> Simulation:
    clustering = Clustering(np.asarray(labels, np.int32), len(cores), "data")
    return simulate(graph, clustering, Placement(np.array(cores, np.int32), len(machine.cores)), machine, **how)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_one_core_begins_so_many_a_cycle(width: int) -> None:
    machine = replace(Machine.mesh(1, 1), issue_width=width)
    found = run(graph_of(100, []), [0] * 100, [0], machine)
    assert found.time == -(-100 // width) and found.messages == 0
    assert found.utilisation.tolist() == [pytest.approx(100 / (found.time * width))]


def test_a_chain_takes_the_sum() -> None:
    found = run(graph_of(50, [(i, i + 1) for i in range(49)], time=7), [0] * 50, [0], Machine.mesh(1, 1))
    assert found.time == 350 and found.critical_path.tolist() == list(range(50))


@pytest.mark.parametrize("hops", [1, 2, 5])
def test_a_message_takes_hops(hops: int) -> None:
    found = run(graph_of(2, [(0, 1)]), [0, 1], [0, hops], Machine.mesh(6, 1))
    assert found.time == 1 + 2 * hops + 1
    assert found.bytes_moved == 8 and found.bytes_by_seed == 8 and found.link_load.sum() == 16 * hops


def test_a_value_travels_once_to_a_core() -> None:
    graph = graph_of(5, [(0, i) for i in range(1, 5)])
    found = run(graph, [0, 1, 1, 2, 2], [0, 1, 1], Machine.mesh(2, 1))
    assert (found.messages, found.between_clusters, found.words) == (1, 2, 4)


def test_misses_wait_for_a_register() -> None:
    """200 cycles each, 16 at a time: waves of loads, one begun a cycle."""
    n = 64
    loads = DependenceGraph(
        *(np.zeros(0, np.int32),) * 3, np.zeros(0, np.uint8), np.zeros(n, np.int32), np.full(n, 200, np.int32),
        None, np.zeros(n, np.int64), np.ones(n, np.uint8),
    )  # fmt: skip
    assert run(loads, [0] * n, [0], Machine.mesh(1, 1), caches=False).time == 4 * 200 + 15
    many = replace(Machine.mesh(1, 1), mshrs=n)
    assert run(loads, [0] * n, [0], many, caches=False).time == n - 1 + 200


def test_all_to_all_over_a_bus_is_what_the_bus_carries() -> None:
    p = 8
    machine = replace(Machine.uma(p), network=Network("bus", (p + 1,), bandwidth=4.0))
    edges = [(u, p + v) for u in range(p) for v in range(p) if u != v]
    found = run(graph_of(2 * p, edges), [*range(p), *range(p)], list(range(p)), machine)
    # 16 bytes at 4 a cycle, one message after the other; the tail of the last one arrives 5 cycles after.
    assert found.time == 1 + (p * (p - 1) - 1) * 4 + 2 + 3 + 1


def saturated(pairs: list[tuple[int, int]], rounds: int, machine: Machine) -> tuple[int, int]:
    """Cycles of so many rounds of messages between pairs of cores, and the messages of the busiest link."""
    cores = len(machine.cores)
    edges, labels = [], []
    count = len(pairs)
    for turn in range(rounds):
        for i, (a, _) in enumerate(pairs):
            source = turn * count + i
            edges.append((source, rounds * count + source))
            labels.append(a)
    labels += [b for _ in range(rounds) for _, b in pairs]
    found = run(graph_of(2 * rounds * count, edges), labels, list(range(cores)), machine)
    return found.time, int(found.link_load.max()) // 16


@pytest.mark.parametrize("pattern", ["uniform", "transpose"])
def test_a_saturated_mesh_is_as_fast_as_its_busiest_link(pattern: str) -> None:
    """8 × 8, XY: under uniform traffic and transposition the time is that of the channel with the most messages."""
    side = 8
    machine = replace(Machine.mesh(side, side), issue_width=64)
    machine = replace(machine, network=Network("mesh", (side, side), bandwidth=4.0))  # 4 cycles a message
    if pattern == "transpose":
        pairs = [(y * side + x, x * side + y) for x in range(side) for y in range(side) if x != y]
        expected, rounds = side - 1, 60
    else:
        pairs = [(a, b) for a in range(side * side) for b in range(side * side) if a != b]
        np.random.default_rng(0).shuffle(pairs)
        expected, rounds = (side // 2) * (side // 2) * side, 1  # over the middle of a row, to all rows
    time, busiest = saturated(pairs, rounds, machine)
    assert busiest == expected * rounds
    assert 4 * busiest <= time <= 1.05 * 4 * busiest


def test_results_survive_a_file(tmp_path: Path) -> None:
    found = simulate(*random_case(7))
    again = Simulation.load(found.save(tmp_path / "s.npz"))
    assert (again.time, again.messages, again.words) == (found.time, found.messages, found.words)
    assert np.array_equal(again.begin, found.begin) and np.array_equal(again.critical_path, found.critical_path)
    (tmp_path / "s.npz").write_bytes((tmp_path / "s.npz").read_bytes()[:-30])
    with pytest.raises(ArtefactError):
        Simulation.load(tmp_path / "s.npz")


def test_the_timeline_covers_what_ran(tmp_path: Path) -> None:
    graph, clustering, placement, machine = random_case(11)
    found = simulate(graph, clustering, placement, machine)
    events = json.loads(found.timeline(tmp_path / "t.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert sum(int(event["name"].split()[0]) for event in spans) == graph.n
    assert max(event["ts"] + event["dur"] for event in spans) == found.time
    assert {event["tid"] for event in spans} == set(found.core.tolist())


def test_nothing_to_run() -> None:
    found = run(graph_of(0, []), [], [0], Machine.mesh(1, 1))
    assert (found.time, found.messages, found.critical_path.size) == (0, 0, 0)


def test_far_ends_are_not_waited_for_cycle_by_cycle() -> None:
    found = run(graph_of(20, [(i, i + 1) for i in range(19)], time=2**30), [0] * 20, [0], Machine.mesh(1, 1))
    assert found.time == 20 * 2**30


def one_core(speed: float, **change: Any) -> Machine:
    return replace(Machine.mesh(1, 1), cores=(Core(0, 0, speed),), **change)


def test_the_longest_instruction() -> None:
    """2³¹ − 1 cycles are told as they are, on slow cores, too; spans need no longer numbers than times."""
    found = run(graph_of(3, [(0, 1)], time=2**31 - 1), [0] * 3, [0], one_core(1.0))
    assert found.time == 2 * (2**31 - 1) and found.spans().tolist() == [[0, 0, found.time, 3]]
    assert run(graph_of(1, [], time=2), [0], [0], one_core(1e-9)).time == 2 * 10**9


def test_spans_of_cores_that_are_far_apart_in_time() -> None:
    """Of 2¹⁶ cores and more than 2⁴⁸ cycles no number below 2⁶³ tells both."""
    found = run(graph_of(4, [(0, 1), (1, 2)], time=2**31 - 1), [0] * 3 + [1], [0, 1], Machine.mesh(2, 1))
    begin, core = np.array([0, 2**31 - 1, 2**49, 0]), np.array([0, 0, 0, (1 << 16) - 1])
    idle = np.zeros(1 << 16)
    far = replace(found, time=2**49 + 2**31 - 1, begin=begin, core=core, utilisation=idle)
    assert far.spans().tolist() == [
        [0, 0, 2**32 - 2, 2],
        [0, 2**49, 2**31 - 1, 1],
        [(1 << 16) - 1, 0, 2**31 - 1, 1],
    ]


@pytest.mark.parametrize(
    ("speed", "time", "cycles"), [(1e-4, 10**6, 10**10), (1e-9, 10**6, 10**15), (0.5, 2**30, 2**31)]
)
def test_an_instruction_that_takes_too_long(speed: float, time: int, cycles: int) -> None:
    why = f"instruction 0 takes {cycles} cycles on core 0 of speed {speed:g}, at most 2147483647"
    with pytest.raises(ArgumentError, match=why) as caught:
        run(graph_of(2, [(0, 1)], time=time), [0, 0], [0], one_core(speed))
    assert "higher speed" in caught.value.hint


def test_a_memory_edge_that_takes_too_long_on_another_core() -> None:
    machine = replace(Machine.mesh(2, 1), cores=(Core(0, 0), Core(1, 1, 1e-9)))
    graph = graph_of(3, [(0, 1), (1, 2)], time=10, kind=MEMORY)
    clustering = Clustering(np.array([0, 1], np.int32), 2, "jobs")
    with pytest.raises(ArgumentError, match="cycles on core 1 of speed 1e-09, at most 2147483647"):
        simulate(graph, clustering, Placement(np.array([0, 1], np.int32), 2), machine)


def accesses(n: int) -> DependenceGraph:
    """Reads of as many lines, at the same time."""
    none = np.zeros(0, np.int32)
    place, kinds = np.arange(n) * 64, np.ones(n, np.uint8)
    cycles = np.full(n, 200, np.int32)
    return DependenceGraph(none, none, none, np.zeros(0, np.uint8), np.zeros(n, np.int32), cycles, None, place, kinds)


def test_a_line_that_is_waited_for_too_long() -> None:
    """Each keeps the bank for 32 · 2²⁰ cycles: the one before the 65th begins at 2³¹."""
    machine = one_core(1.0, banks=(Bank(0, 1 << 30, 2.0**-20),), mshrs=100)
    assert run(accesses(64), [0] * 64, [0], machine).time == 63 * 2**25 + 200
    with pytest.raises(
        ArgumentError, match=r"instruction 64 takes 21\d{8} cycles on core 0 with its access, at most 2147"
    ):
        run(accesses(80), [0] * 80, [0], machine)


def test_cycles_that_add_up_to_too_many() -> None:
    machine = Machine.mesh(2, 1)
    machine = replace(machine, network=Network("mesh", (2, 1), bandwidth=2.0**-20, flit=2**30 - 1))
    found = run(graph_of(2, [(0, 1)]), [0, 1], [0, 1], machine)
    assert found.time == 1 + 2 + (2**30 - 1) * 2**20 - 1 + 1
    edges = [(i, 2000 + i) for i in range(2000)]
    with pytest.raises(
        ArgumentError, match=r"mesh:2x1: the cycles of all .* may add up to 4.5e\+18, at most 2.31e\+18"
    ):
        run(graph_of(4000, edges), [0] * 2000 + [1] * 2000, [0, 1], machine)


def test_what_can_not_be_simulated() -> None:
    graph = graph_of(2, [(0, 1)])
    machine = Machine.mesh(2, 2)
    whole = Clustering(np.zeros(2, np.int32), 1, "data")
    with pytest.raises(ArgumentError, match="for 3 cores, mesh:2x2 has 4"):
        simulate(graph, whole, Placement([0], 3), machine)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="has 2 clusters, the clustering 1"):
        simulate(graph, whole, Placement([0, 1], 4), machine)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="labels 3, the graph has 2"):
        simulate(graph, Clustering(np.zeros(3, np.int32), 1, "data"), Placement([0], 4), machine)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="made for uma:4"):
        simulate(graph, whole, Placement([0], 4, machine="uma:4"), machine)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        (0, None, "graph is a NoneType, a DependenceGraph or a LocalityGraph"),
        (1, np.zeros(2, np.int32), "clustering is a ndarray, a Clustering"),
        (2, [0], "placement is a list, a Placement"),
        (3, "mesh:2x2", "machine is a str, a Machine"),
    ],
)
def test_arguments_of_other_types(place: int, value: Any, why: str) -> None:
    given: list[Any] = [graph_of(2, [(0, 1)]), Clustering(np.zeros(2, np.int32), 1, "data")]
    given += [Placement([0], 4), Machine.mesh(2, 2)]  # type: ignore[arg-type]
    given[place] = value
    with pytest.raises(ArgumentError, match=why):
        simulate(*given)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"time": 5}, "ends at"),
        ({"messages": -1}, "negative"),
        ({"core": [0]}, "core has 1"),
        ({"begin": [-1, 1]}, "is negative"),
    ],
)
def test_what_is_no_simulation(change: dict[str, object], why: str) -> None:
    found = run(graph_of(2, [(0, 1)]), [0, 0], [0], Machine.mesh(1, 1))
    with pytest.raises(ArgumentError, match=why):
        replace(found, **change)  # type: ignore[arg-type]
