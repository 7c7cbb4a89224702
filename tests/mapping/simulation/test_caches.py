"""Simulated caches: closed forms, the one cache simulator on one core, files, and what cannot be simulated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import READ, REGISTER, WRITE, DependenceGraph
from tracecut.ir.machine.cache_simulator import simulate as one_core
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.parts import Bank, Cache
from tracecut.ir.placement import Placement
from tracecut.mapping.simulate import simulate
from tracecut.mapping.simulation.result import Simulation
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.files import write_arrays

pytestmark = pytest.mark.quick


def accesses(addresses: list[int], kinds: list[int], edges: list[tuple[int, int]]) -> DependenceGraph:
    """Accesses that the graph states at 200 cycles each, and dependences through registers."""
    n, m = len(addresses), len(edges)
    src, dst = (np.array([edge[i] for edge in edges], np.int32) for i in (0, 1))
    kind, time = np.full(m, REGISTER, np.uint8), np.full(n, 200, np.int32)
    more = np.array(addresses, np.int64), np.array(kinds, np.uint8)
    return DependenceGraph(src, dst, np.ones(m, np.int32), kind, np.zeros(n, np.int32), time, None, *more)


def run(graph: DependenceGraph, cores: list[int], machine: Machine, caches: bool | None = None) -> Simulation:
    """Each instruction on its core."""
    count = len(machine.cores)
    placement = Placement(np.arange(count, dtype=np.int32), count)
    return simulate(graph, Clustering(np.array(cores, np.int32), count, "data"), placement, machine, caches=caches)


def chain(n: int) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(n - 1)]


@pytest.mark.parametrize(("step", "draws"), [(200, 4000), (40, 20_000)])
@pytest.mark.parametrize("name", ["mesh:1x1", "model"])
def test_one_core_pays_what_the_cache_simulator_says(name: str, step: int, draws: int) -> None:
    """One access after the other, over more than the L1 and the L2 hold."""
    generator = np.random.default_rng(1)
    addresses = np.concatenate([np.arange(0, 400_000, step), generator.integers(0, 400_000, draws)])
    expected = one_core(addresses, 1, Machine.named(name))
    kinds = generator.choice([READ, WRITE], addresses.size).tolist()
    found = run(accesses(addresses.tolist(), kinds, chain(addresses.size)), [0] * addresses.size, Machine.named(name))
    assert found.cycles.tolist() == expected.cycles.tolist() and found.time == expected.cycles.sum()
    told = found.accesses()
    assert [told["own"], told["shared"], told["memory"]] == expected.found.tolist()
    assert found.bank_load.tolist() == [expected.found[-1]] and found.invalidations == found.asked == 0


def test_a_walk_misses_once_a_line() -> None:
    """Reads of 8 bytes, four to a line: the first misses, the others finish with it or find it there."""
    found = run(accesses(list(range(0, 3200, 8)), [READ] * 400, []), [0] * 400, Machine.mesh(1, 1))
    told = found.accesses()
    assert told["memory"] == 100 and told["own"] + told["under_way"] == 300


def test_two_cores_exchange_a_line() -> None:
    """Writes in turn: a word back (2), L1 (4), word or slice first (2), slice (10), L1 (4), line of 3 flits (4)."""
    n = 31
    found = run(accesses([0] * n, [WRITE] * n, chain(n)), [i % 2 for i in range(n)], Machine.mesh(2, 1))
    assert found.time == 200 + (n - 1) * (2 + 4 + 2 + 10 + 4 + 4)
    assert found.accesses() == {"own": 0, "under_way": 0, "shared": 0, "other": n - 1, "memory": 1}
    assert found.invalidations == n - 1 and found.written_back == 0


def test_reading_in_turn_needs_no_exchange() -> None:
    n = 31
    found = run(accesses([0] * n, [READ] * n, chain(n)), [i % 2 for i in range(n)], Machine.mesh(2, 1))
    assert found.accesses() == {"own": n - 2, "under_way": 0, "shared": 0, "other": 1, "memory": 1}
    assert found.invalidations == 0


def test_a_write_waits_for_the_farthest_copy() -> None:
    """L1 4, slice 10, and 3 hops there and back; what is read before is not needed again."""
    readers = [0, 1, 2, 3]
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    found = run(accesses([0] * 5, [READ] * 4 + [WRITE], edges), [*readers, 0], Machine.mesh(4, 1))
    assert found.invalidations == 3 and found.cycles[4] == 4 + 10 + 2 * 2 * 3


@pytest.mark.parametrize(("bandwidth", "cycles"), [(3.2, 10), (64.0, 1), (0.0, 1)])
def test_a_bank_sends_one_line_after_the_other(bandwidth: float, cycles: int) -> None:
    n = 64
    machine = replace(Machine.mesh(1, 1), mshrs=n, issue_width=n, banks=(Bank(0, 1 << 30, bandwidth),))
    found = run(accesses(list(range(0, 32 * n, 32)), [READ] * n, []), [0] * n, machine)
    assert found.time == 200 + (n - 1) * cycles and found.bank_load.tolist() == [n]
    two = replace(machine, banks=2 * machine.banks)
    assert run(accesses(list(range(0, 32 * n, 32)), [READ] * n, []), [0] * n, two).time == 200 + (n // 2 - 1) * cycles


def test_registers_bound_the_misses_under_way() -> None:
    n = 8
    machine = replace(Machine.mesh(1, 1), mshrs=2, issue_width=n, banks=())
    found = run(accesses(list(range(0, 32 * n, 32)), [READ] * n, []), [0] * n, machine)
    assert found.time == 4 * 200 + 1  # two at a time, a bank's cycle apart


def test_a_statement_of_many_lines_keeps_the_rest() -> None:
    graph = replace(accesses([0], [READ], []), time=np.array([5000], np.int32))
    assert run(graph, [0], Machine.mesh(1, 1)).time == 5000
    hit = replace(accesses([0, 8], [READ, READ], chain(2)), time=np.array([5000, 230], np.int32))
    assert run(hit, [0, 0], Machine.mesh(1, 1)).time == 5000 + 4 + 30


def test_caches_can_be_switched_off() -> None:
    graph = accesses([0] * 10, [READ] * 10, chain(10))
    found = run(graph, [0] * 10, Machine.mesh(1, 1), caches=False)
    assert found.time == 2000 and found.stated == "caches are switched off" and not found.accesses()
    assert run(graph, [0] * 10, Machine.mesh(1, 1)).time == 200 + 9 * 4


def test_what_has_no_caches_to_simulate() -> None:
    mesh = Machine.mesh(1, 1)
    graph = accesses([0], [READ], [])
    level = mesh.caches[0]
    bad = [
        (replace(graph, address=None, access=None), mesh, "the graph has no addresses"),
        (graph, replace(mesh, memory_latency=0), "states no latencies"),
        (graph, replace(mesh, caches=(replace(level, latency=0),)), "states no latencies"),
        (graph, replace(mesh, caches=()), "has 0 levels of caches"),
        (graph, replace(mesh, caches=(*mesh.caches, Cache(3, 1 << 20, 32, latency=40))), "has 3 levels"),
        (graph, replace(mesh, caches=(replace(level, shared_by=2),)), "2 cores of mesh:1x1 share their first cache"),
    ]
    for one, machine, why in bad:
        with pytest.raises(ArgumentError, match=why):
            run(one, [0], machine, caches=True)
        found = run(one, [0], machine)
        assert found.time == 200 and why in found.stated


def exchanged() -> Simulation:
    return run(accesses([0] * 6, [WRITE] * 6, chain(6)), [i % 2 for i in range(6)], Machine.mesh(2, 1))


def test_results_survive_a_file(tmp_path: Path) -> None:
    found = exchanged()
    again = Simulation.load(found.save(tmp_path / "s.npz"))
    assert again.accesses() == found.accesses() and again.stated == ""
    for name in ("invalidations", "written_back", "asked"):
        assert getattr(again, name) == getattr(found, name)
    assert again.bank_load.tolist() == found.bank_load.tolist()


def test_files_from_before_there_were_caches_load(tmp_path: Path) -> None:
    found = run(accesses([0] * 6, [WRITE] * 6, chain(6)), [0] * 6, Machine.mesh(1, 1), caches=False)
    names = ("link_load", "utilisation", "begin", "cycles", "core", "critical_path")
    numbers = ("time", "messages", "between_clusters", "words", "machine", "clock")
    meta = {name: getattr(found, name) for name in numbers}
    path = write_arrays(tmp_path / "old.npz", "Simulation", {name: getattr(found, name) for name in names}, meta)
    again = Simulation.load(path)
    assert again.time == found.time and again.stated == "an older version made this file" and not again.accesses()
    write_arrays(path, "Simulation", {name: getattr(found, name) for name in names}, {**meta, "stated": ""})
    with pytest.raises(ArtefactError, match="holds no simulation"):
        Simulation.load(path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"bank_load": [1, 1]}, "banks sent 2 lines, 1 were found in memory"),
        ({"bank_load": [2, -1]}, "has a negative entry"),
        ({"found": [1, 2]}, "found has 2 entries, 5 expected"),
        ({"invalidations": -1}, "invalidations = -1 is negative"),
        ({"stated": "off"}, "found has 5 entries, 0 expected"),
        ({"stated": "off", "found": [], "bank_load": []}, "without caches there are no"),
    ],
)
def test_what_is_no_simulation(change: dict[str, object], why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        replace(exchanged(), **change)  # type: ignore[arg-type]
