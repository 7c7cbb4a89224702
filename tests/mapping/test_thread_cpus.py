"""Which CPUs the threads of a program get: within the mask, talkers together, and never worse than in natural order."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.machine.cpu_places import CpuPlaces, cpu_places
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.network import Network
from tracecut.ir.machine.parts import Cache, Core
from tracecut.mapping import thread_cpus
from tracecut.mapping.place import place
from tracecut.mapping.placing.costs import hop_messages
from tracecut.mapping.tasks.cluster_graph import ClusterGraph
from tracecut.mapping.thread_cpus import (
    ThreadPlacement,
    _distances,
    check_cpus,
    joined_talk,
    place_threads,
    threads_here,
)
from tracecut.support.errors import ArgumentError

from tests.ir.machine.sysfs_trees import cpus, needs_recorded, numa, recorded, tree

pytestmark = pytest.mark.quick


def nodes_by_turns(count: int, nodes: int = 2, distance: int = 11) -> CpuPlaces:
    """CPU c on node c mod `nodes`, one cache a node, as many systems number them."""
    apart = {(a, b): distance for a in range(nodes) for b in range(nodes) if a != b}
    turns = tuple(cpu % nodes for cpu in range(count))
    return CpuPlaces(tuple(range(count)), turns, turns, tuple(range(count)), apart)


def cost(places: CpuPlaces, found: ThreadPlacement, talk: dict[tuple[int, int], float]) -> float:
    """By its definition, from the CPUs alone."""
    near = _distances(places, [places.cpus.index(cpu) for cpu in found.cpus])
    return sum(values * near[a][b] for (a, b), values in talk.items())


def test_threads_that_fit_share_a_node(tmp_path: Path) -> None:
    files = cpus(8) | numa(0, "0-1,4-5", "10 21") | numa(1, "2-3,6-7", "21 10")
    places = cpu_places(range(8), tree(tmp_path, files))
    found = place_threads(places, 4)
    assert found.cpus == (0, 1, 4, 5) and set(found.nodes) == {0} and "CPUs 0-1, 4-5 of node 0" in found.remark
    there = place_threads(places, 4, here=6)
    assert there.cpus == (2, 3, 6, 7) and set(there.nodes) == {1}
    assert place_threads(places, 4, here=99).cpus == found.cpus  # a CPU that it may not use is nowhere


def test_talkers_share_a_node(tmp_path: Path) -> None:
    files = cpus(8) | numa(0, "0-3", "10 21") | numa(1, "4-7", "21 10")
    places = cpu_places(range(8), tree(tmp_path, files))
    even = {(a, b): 1.0 for a in range(8) for b in range(a + 2, 8, 2)}
    found = place_threads(places, 8, even | {(0, 1): 0.1})
    assert sorted(found.cpus) == list(range(8))
    assert {found.nodes[t] for t in (0, 2, 4, 6)} == {0} and {found.nodes[t] for t in (1, 3, 5, 7)} == {1}


def test_talkers_share_a_cache_within_a_node(tmp_path: Path) -> None:
    places = cpu_places(range(8), tree(tmp_path, cpus(8)))  # pairs share a cache
    talk = {(t, t + 4): 5.0 for t in range(4)} | {(t, t + 1): 1.0 for t in range(7)}
    found = place_threads(places, 8, talk)
    assert all(found.cpus[t] // 2 == found.cpus[t + 4] // 2 for t in range(4))


def test_neighbours_share_a_node_where_numbers_go_by_turns() -> None:
    found = place_threads(nodes_by_turns(8), 8)
    assert found.nodes == (0, 0, 0, 0, 1, 1, 1, 1) and found.cpus == (0, 2, 4, 6, 1, 3, 5, 7)
    found = place_threads(nodes_by_turns(12, 3), 6)
    assert found.nodes == (0, 0, 0, 1, 1, 1)  # two nodes are enough, and share them evenly


def test_a_mask_with_more_room_elsewhere() -> None:
    places = CpuPlaces((3, 8, 9, 10, 11), (0, 1, 1, 1, 1), (3, 8, 8, 8, 8), (3, 8, 9, 10, 11))
    assert place_threads(places, 4).cpus == (8, 9, 10, 11)
    assert place_threads(places, 5).cpus == (3, 8, 9, 10, 11)
    assert place_threads(places, 1000).cpus == (3, 8, 9, 10, 11)


def test_cores_before_their_second_threads() -> None:
    places = CpuPlaces(tuple(range(8)), (0,) * 8, (0,) * 8, (0, 0, 2, 2, 4, 4, 6, 6))
    assert place_threads(places, 4).cpus == (0, 2, 4, 6)
    five = place_threads(places, 5)
    assert {0, 2, 4, 6} < set(five.cpus) and len(five.cpus) == 5


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_nothing_changes_on_one_node_with_one_cache(threads: int) -> None:
    places = CpuPlaces((1, 4, 5, 9), (0,) * 4, (0,) * 4, (1, 4, 5, 9))
    found = place_threads(places, threads, {(0, 3): 100.0} if threads == 4 else None, here=9)
    assert found.cpus == (1, 4, 5, 9)[:threads]
    assert ("cannot matter" if threads > 1 else "single thread") in found.remark


def test_what_could_not_be_made_out_is_said(tmp_path: Path) -> None:
    files = cpus(4, package=4) | numa(0, "0-3", "10 20") | numa(1, "2-3", "20 10")
    found = place_threads(cpu_places(range(4), tree(tmp_path, files)), 4)
    assert found.cpus == (0, 1, 2, 3) and "several nodes at once" in found.remark


@st.composite
def machines(draw: st.DrawFn) -> CpuPlaces:
    numbers = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=12)))
    node = [draw(st.integers(0, 2)) for _ in numbers]
    cache = [10 * own + draw(st.integers(0, 1)) for own in node]
    core = [10 * own + draw(st.integers(0, 3)) for own in cache]
    far = {pair: draw(st.integers(1, 30)) for pair in [(0, 1), (0, 2), (1, 2)]}
    return CpuPlaces(
        tuple(numbers), tuple(node), tuple(cache), tuple(core), far | {(b, a): d for (a, b), d in far.items()}
    )


@given(machines(), st.integers(1, 14), st.data())
def test_placements_are_within_the_mask_and_never_worse(places: CpuPlaces, threads: int, data: st.DataObject) -> None:
    count = min(threads, len(places.cpus))
    pairs = [(a, b) for b in range(count) for a in range(b)]
    told = data.draw(st.dictionaries(st.sampled_from(pairs), st.floats(0.1, 100), max_size=20)) if pairs else {}
    here = data.draw(st.none() | st.sampled_from(places.cpus))
    found = place_threads(places, threads, told, here)
    check_cpus(found.cpus, places.cpus)
    assert len(found.cpus) == count and found == place_threads(places, threads, told, here)
    assert found.nodes == tuple(places.nodes[places.cpus.index(cpu)] for cpu in found.cpus)
    if set(found.cpus) == set(places.cpus[:count]):
        natural = ThreadPlacement(places.cpus[:count], places.nodes[:count], "")
        assert cost(places, found, told) <= cost(places, natural, told) + 1e-6


def over_swaps(seed: int) -> float:
    """Cost of a placement over that of `place(…, "swap")` on a network with the same distances."""
    draw = np.random.default_rng(seed)
    count = 16
    places = nodes_by_turns(count, 4, distance=int(draw.integers(1, 30)))
    groups = draw.permutation(count) // 4 if seed % 2 else draw.integers(0, 4, count)
    talk = {
        (a, b): float(draw.integers(5, 9) if groups[a] == groups[b] else draw.integers(0, 2))
        for a in range(count)
        for b in range(a + 1, count)
    }
    near = _distances(places, range(count))
    rows = tuple(tuple(near[a][b] for b in range(count)) for a in range(count))
    cores, network = tuple(Core(i, i) for i in range(count)), Network("full", (count,), distances=rows)
    machine = Machine("as far", cores, (Cache(1, 1 << 15),), 1 << 30, network=network)
    ends = np.array([pair for pair, values in talk.items() if values], np.int32)
    values = np.array([values for values in talk.values() if values])
    clusters = ClusterGraph(np.ones(count), np.arange(count), ends[:, 0], ends[:, 1], values, values)
    other = hop_messages(clusters, place(clusters, machine, "swap").core_of, machine.distances())
    return cost(places, place_threads(places, count, talk), talk) / other


def test_it_places_as_well_as_the_methods_for_any_clusters() -> None:
    ratios = [over_swaps(seed) for seed in range(12)]
    assert max(ratios) <= 1.1 and np.exp(np.mean(np.log(ratios))) <= 1.03, ratios


@needs_recorded
@pytest.mark.parametrize("name", ["16amd64-8n2c", "48amd64-4pa2n6c-sparse"])
def test_recorded_machines(name: str) -> None:
    root = recorded(name)
    allowed = [core.cpu for core in Machine.detect(root).cores]
    places = cpu_places(allowed, root)
    every = place_threads(places, len(allowed))
    assert sorted(every.cpus) == allowed
    changes = sum(a != b for a, b in pairwise(every.nodes))
    assert changes == len(set(places.nodes)) - 1  # each node has one run of threads
    room = places.nodes.count(places.nodes[-1])
    here = place_threads(places, max(2, room // 2), here=allowed[-1])
    assert set(here.nodes) == {places.nodes[-1]}
    half = place_threads(cpu_places(allowed[::2], root), len(allowed))
    assert sorted(half.cpus) == allowed[::2]


@pytest.mark.parametrize(("chosen", "said"), [((0, 0), "different"), ((), "one or more"), ((0, 7), "CPU 7 is not one")])
def test_bad_placements_are_refused(chosen: tuple[int, ...], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        check_cpus(chosen, [0, 1, 2])
    check_cpus((2, 0), [0, 1, 2])


def test_what_goes_wrong_leaves_the_first_cpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A placement is a matter of speed: no program stays behind for one."""

    def planted(cpus: tuple[int, ...]) -> ThreadPlacement:
        monkeypatch.setattr(thread_cpus, "place_threads", lambda *given: ThreadPlacement(cpus, (0,), "planted"))
        return threads_here([4, 2, 9], 2, root=tmp_path)

    assert planted((9, 2)).remark == "planted"
    for bad, said in (((2, 7), "CPU 7 is not one"), ((2, 2), "different ones")):
        found = planted(bad)
        assert found.cpus == (2, 4) and found.remark.startswith("the first CPUs") and said in found.remark
    monkeypatch.setattr(thread_cpus, "place_threads", lambda *given: 1 // 0)
    assert "ZeroDivisionError" in threads_here([4, 2, 9], 2, root=tmp_path).remark


def test_what_scopes_store_is_joined() -> None:
    first = {"parts": 4, "pairs": [[0, 1, 5], [1, 2, 3], [2, 3, 7]]}
    second = {"parts": 2, "pairs": [[0, 1, 10]]}
    assert joined_talk([first, second], 4) == {(0, 1): 15.0, (1, 2): 3.0, (2, 3): 7.0}
    assert joined_talk([first], 2) == {(0, 1): 3.0}
    assert joined_talk([first], 8) == {(0, 1): 5.0, (1, 2): 3.0, (2, 3): 7.0}  # no more than four find work
    assert joined_talk([], 4) is None and joined_talk([{"parts": 1, "pairs": []}], 4) is None
