"""Memory-centric placement and the published greedy: the three factors of VertexCut §5.2, optima of tiny cases."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.machine.machine import Machine
from tracecut.mapping.place import GREEDY, place
from tracecut.mapping.placing.costs import Layout, hop_messages, layout, layout_hops
from tracecut.mapping.placing.memory_centric_greedy import Rules
from tracecut.mapping.placing.shared_cores import units_of
from tracecut.mapping.tasks.cluster_graph import ClusterGraph

from .test_place import cluster_graphs, of_pairs

pytestmark = pytest.mark.quick
BOTH = pytest.mark.parametrize("method", ["memory-centric", GREEDY])
MACHINES = (Machine.mesh(4, 4), Machine.mesh(3, 2), Machine.uma(3), Machine.topo3(2), Machine.cpu_gpu(3))


@BOTH
def test_independent_clusters_lie_in_distant_regions(method: str) -> None:
    cores = place(of_pairs(4, {}), Machine.mesh(8, 8), method).core_of
    quadrants = {(core % 8 // 4, core // 8 // 4) for core in cores.tolist()}
    assert len(quadrants) == 4


@BOTH
def test_clusters_that_talk_are_neighbours_or_share_a_core(method: str) -> None:
    machine = Machine.mesh(8, 8)
    hops = machine.distances()
    little = of_pairs(3, {(0, 1): 2.0, (1, 2): 2.0}, load=1000.0)
    cores = place(little, machine, method).core_of
    assert hops[cores[0], cores[1]] == hops[cores[1], cores[2]] == 1
    much = of_pairs(6, {(i, j): 5000.0 for i in range(6) for j in range(6) if i < j}, load=10.0)
    assert np.bincount(place(much, machine, method).core_of).max() == 4


def test_rules_of_the_greedy() -> None:
    machine = Machine.mesh(8, 8)
    hops = machine.distances()
    assert place(of_pairs(4, {}), machine, GREEDY, rules=Rules(apart=False)).core_of.tolist() == [0, 1, 2, 3]
    much = of_pairs(6, {(i, j): 5000.0 for i in range(6) for j in range(6) if i < j}, load=10.0)
    assert np.unique(place(much, machine, GREEDY, rules=Rules(shared=False)).core_of).size == 6
    little = of_pairs(3, {(0, 1): 2.0, (1, 2): 2.0}, load=1000.0)
    far = place(little, machine, GREEDY, rules=Rules(shared=False, adjacent=False)).core_of
    assert min(hops[far[0], far[1]], hops[far[1], far[2]]) > 2


def slow_units(clusters: ClusterGraph, found: Layout, most: int) -> list[list[int]]:
    """Units by the words of §5.2, without an array."""
    units: list[list[int]] = []
    sent = {}
    for a, b, count in zip(clusters.src.tolist(), clusters.dst.tolist(), clusters.messages.tolist(), strict=True):
        sent[a, b], sent[b, a] = sent.get((a, b), 0.0) + count, sent.get((b, a), 0.0) + count
    speed = float(found.speed.mean())
    for cluster in np.argsort(clusters.first, kind="stable").tolist():
        talks = [sum(sent.get((cluster, other), 0.0) for other in unit) for unit in units]
        most_talk = max(talks, default=0.0)
        joined = None
        for unit, talk in zip(units, talks, strict=True):
            busy, load = sum(clusters.load[other] for other in unit), clusters.load[cluster]
            fits = len(unit) < most and (busy + load) / speed <= max(busy, load) / speed + talk * found.cycles
            if talk == most_talk > 0.0 and fits and joined is None:
                joined = unit
        if joined is None:
            units.append([cluster])
        else:
            joined.append(cluster)
    return units


@given(cluster_graphs(), st.sampled_from(MACHINES), st.integers(1, 5), st.integers(0, 99))
def test_units_by_a_slow_reference(clusters: ClusterGraph, machine: Machine, most_per_core: int, seed: int) -> None:
    """With messages of which no two sums are equal, and loads of their size."""
    draw = np.random.default_rng(seed)
    messages = draw.integers(1, 1 << 40, clusters.src.size).astype(float)
    clusters = replace(clusters, messages=messages, load=draw.integers(0, 1 << 43, clusters.k).astype(float))
    clusters = replace(clusters, first=draw.permutation(clusters.k))
    found = layout(clusters, machine)
    unit_of, units = units_of(found, most_per_core)
    most = max(most_per_core, found.most) // found.most
    assert np.bincount(unit_of).max() <= most and units.load.size == unit_of.max() + 1
    slow = slow_units(clusters, found, most)
    own = [sorted(np.flatnonzero(unit_of == unit).tolist()) for unit in range(units.load.size)]
    assert sorted(own) == sorted(sorted(unit) for unit in slow)
    assert units.load.tolist() == [clusters.load[unit].sum() for unit in own]
    sums = np.zeros((len(own), len(own)))
    np.add.at(sums, (unit_of[clusters.src], unit_of[clusters.dst]), clusters.messages)
    sums = sums + sums.T
    np.fill_diagonal(sums, 0.0)
    rows = np.repeat(np.arange(len(own)), np.diff(units.offsets))
    dense = np.zeros_like(sums)
    np.add.at(dense, (rows, units.others), units.messages)
    assert np.array_equal(dense, sums) and np.unique(rows * len(own) + units.others).size == rows.size
    core_of = np.random.default_rng(0).integers(0, len(machine.cores), len(own)).astype(np.int32)
    assert layout_hops(units, core_of) == hop_messages(clusters, core_of[unit_of], found.hops)


@given(cluster_graphs(), st.sampled_from(MACHINES))
def test_what_shares_a_core_stays_together(clusters: ClusterGraph, machine: Machine) -> None:
    unit_of, _ = units_of(layout(clusters, machine), Rules().most_per_core)
    core_of = place(clusters, machine).core_of
    for unit in range(int(unit_of.max()) + 1):
        assert np.unique(core_of[unit_of == unit]).size == 1
    assert np.bincount(core_of).max() <= max(4, -(-clusters.k // len(machine.cores)))


def random_clusters(k: int, generator: np.random.Generator, share: float, load: float) -> ClusterGraph:
    ends = [(a, b) for b in range(k) for a in range(b) if generator.random() < share] or [(0, 1)]
    return of_pairs(k, {pair: float(generator.integers(1, 9)) for pair in ends}, load)


@pytest.mark.parametrize(("load", "size"), [(1e6, (3, 2)), (1e6, (4, 2)), (12.0, (3, 2))])
def test_near_the_optimum_of_tiny_cases(load: float, size: tuple[int, int]) -> None:
    """All ways to place what shares a core, one on a core; with large loads each cluster has a core of its own."""
    machine, generator = Machine.mesh(*size), np.random.default_rng(0)
    ratios = []
    for _ in range(20):
        clusters = random_clusters(6, generator, 0.5, load)
        _, units = units_of(layout(clusters, machine), Rules().most_per_core)
        assert (units.load.size == 6) == (load == 1e6)
        ways = permutations(range(len(machine.cores)), units.load.size)
        best = min(layout_hops(units, np.array(way, np.int32)) for way in ways)
        found = hop_messages(clusters, place(clusters, machine).core_of, machine.distances())
        ratios.append(found / best if best else 1.0 + found)
    assert min(ratios) >= 1 - 1e-12 and np.mean(ratios) < 1.08


def test_few_clusters_on_many_cores_lie_together() -> None:
    """Bisection alone would spread them over the machine: 58 hops from one to the next."""
    machine = Machine.mesh(32, 32)
    chain = of_pairs(8, {(i, i + 1): 10.0 for i in range(7)}, load=1e6)
    assert hop_messages(chain, place(chain, machine).core_of, machine.distances()) == 70.0
    ends = [(4 * y + x, 4 * y + x + 1) for y in range(4) for x in range(3)]
    ends += [(4 * y + x, 4 * y + x + 4) for y in range(3) for x in range(4)]
    square = of_pairs(16, dict.fromkeys(ends, 10.0), load=1e6)
    assert hop_messages(square, place(square, machine).core_of, machine.distances()) < 1.2 * 240


def exchanged(clusters: ClusterGraph, hops: np.ndarray) -> float:
    """Messages · hops after ten rounds of exchanges of any two clusters that help, from the order of their numbers."""
    core_of = np.arange(clusters.k, dtype=np.int32)
    cost = hop_messages(clusters, core_of, hops)
    for _ in range(10):
        before = cost
        for a in range(clusters.k):
            for b in range(a):
                core_of[[a, b]] = core_of[[b, a]]
                other = hop_messages(clusters, core_of, hops)
                if other < cost:
                    cost = other
                else:
                    core_of[[a, b]] = core_of[[b, a]]
        if cost == before:
            break
    return cost


def test_beside_pairwise_exchanges() -> None:
    machine, generator = Machine.mesh(5, 5), np.random.default_rng(4)
    hops = machine.distances()
    ratios, greedy = [], []
    for share in (0.05, 0.1, 0.2, 0.4):
        clusters = random_clusters(25, generator, share, 1e6)
        peer = exchanged(clusters, hops)
        ratios.append(hop_messages(clusters, place(clusters, machine).core_of, hops) / peer)
        greedy.append(hop_messages(clusters, place(clusters, machine, GREEDY).core_of, hops) / peer)
    assert np.exp(np.mean(np.log(ratios))) <= 1.05 < np.exp(np.mean(np.log(greedy)))
