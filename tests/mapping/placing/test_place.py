"""Placement methods: what all of them keep, what each is for, and the optimum of tiny cases."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.placement import Placement
from tracecut.mapping.place import PLACING, interactions, place
from tracecut.mapping.placing.core_orders import by_region, far_apart, nearest
from tracecut.mapping.placing.costs import busiest, hop_cycles, hop_messages, layout, message_cycles
from tracecut.mapping.placing.hierarchical import hierarchical
from tracecut.mapping.placing.memory_centric_greedy import Rules
from tracecut.mapping.placing.swaps import swap_refined
from tracecut.mapping.tasks.cluster_graph import ClusterGraph
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick
MACHINES = (
    Machine.mesh(4, 4),
    Machine.mesh(5, 2),
    Machine.uma(3),
    Machine.mesh(1, 1),
    Machine.topo3(2),
    Machine.cpu_gpu(3),
)


def of_pairs(k: int, pairs: dict[tuple[int, int], float], load: float = 100.0) -> ClusterGraph:
    ends = sorted(pairs)
    counts = np.array([pairs[each] for each in ends])
    src, dst = (np.array([each[i] for each in ends], np.int32) for i in (0, 1))
    return ClusterGraph(np.full(k, load), np.arange(k), src, dst, counts, counts)


@st.composite
def cluster_graphs(draw: st.DrawFn) -> ClusterGraph:
    k = draw(st.integers(1, 40))
    ends = st.tuples(st.integers(0, k - 1), st.integers(0, k - 1)).filter(lambda pair: pair[0] != pair[1])
    pairs = draw(st.dictionaries(ends, st.integers(1, 9).map(float), max_size=80)) if k > 1 else {}
    return of_pairs(k, pairs, float(draw(st.integers(0, 50))))


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
@pytest.mark.parametrize("method", PLACING)
@given(clusters=cluster_graphs())
def test_every_cluster_has_a_core(method: str, machine: Machine, clusters: ClusterGraph) -> None:
    placed = place(clusters, machine, method, seed=3)
    cores = len(machine.cores)
    assert placed.core_of.size == clusters.k and placed.n_cores == cores and placed.method == method
    most = -(-clusters.k // cores)
    count = np.bincount(placed.core_of, minlength=cores)
    assert count.max() <= (max(most, 4) if method.startswith("memory-centric") else most)
    assert np.array_equal(placed.core_of, place(clusters, machine, method, seed=3).core_of)
    placed.check_fits(machine)


@given(cluster_graphs())
def test_swaps_only_improve(clusters: ClusterGraph) -> None:
    machine = Machine.mesh(3, 3)
    found = layout(clusters, machine)
    start = np.random.default_rng(1).integers(0, 9, clusters.k).astype(np.int32)
    before, after = start.copy(), swap_refined(found, start)
    assert np.array_equal(start, before)
    assert hop_messages(clusters, after, found.hops) <= hop_messages(clusters, start, found.hops) + 1e-9
    assert np.bincount(after).max() <= max(found.most, np.bincount(start).max())


def optimum(clusters: ClusterGraph, machine: Machine) -> float:
    """Least messages · hops of one cluster a core."""
    hops = machine.distances()
    every = permutations(range(len(machine.cores)), clusters.k)
    return min(hop_messages(clusters, np.array(each, np.int32), hops) for each in every)


def test_near_the_optimum_of_tiny_cases() -> None:
    machine, generator = Machine.mesh(3, 2), np.random.default_rng(0)
    ratios = []
    for _ in range(20):
        pairs = {pair: float(generator.integers(1, 9)) for pair in product(range(6), repeat=2) if pair[0] < pair[1]}
        clusters = of_pairs(
            6, {pair: count for pair, count in pairs.items() if generator.random() < 0.5} or {(0, 1): 1.0}
        )
        found = place(clusters, machine, "swap")
        ratios.append(hop_messages(clusters, found.core_of, machine.distances()) / optimum(clusters, machine))
    assert min(ratios) >= 1 - 1e-12 and np.mean(ratios) < 1.08


def grid(side: int, machine: Machine) -> tuple[ClusterGraph, float]:
    """Clusters that talk to their neighbours on a grid, numbered anyhow, and the best messages · hops."""
    order = np.random.default_rng(5).permutation(side * side)
    ends = [(row * side + column, row * side + column + 1) for row in range(side) for column in range(side - 1)]
    ends += [(a // side + a % side * side, b // side + b % side * side) for a, b in ends]
    pairs = {(int(order[a]), int(order[b])): 10.0 for a, b in ends}
    return of_pairs(side * side, pairs), 10.0 * len(ends)


def test_a_grid_finds_its_mesh() -> None:
    machine = Machine.mesh(8, 8)
    clusters, best = grid(8, machine)
    costs = {
        method: hop_messages(clusters, place(clusters, machine, method).core_of, machine.distances())
        for method in PLACING
    }
    assert costs["swap"] <= costs["hierarchical"] < 2 * best
    assert costs["memory-centric"] <= costs["hierarchical"] < costs["memory-centric-greedy"] < costs["random"]


def test_fast_cores_get_more_clusters() -> None:
    machine = Machine.topo1(8, fast=4, step=2)
    clusters = of_pairs(20, {(i, i + 1): 1.0 for i in range(19)})
    count = np.bincount(place(clusters, machine, "hierarchical").core_of, minlength=8)
    assert count[:4].sum() > count[4:].sum()


@pytest.mark.parametrize("machine", [*MACHINES, Machine.mesh(7, 3)], ids=lambda machine: machine.name)
def test_orders_name_every_core_once(machine: Machine) -> None:
    cores = list(range(len(machine.cores)))
    assert sorted(by_region(machine).tolist()) == sorted(far_apart(machine).tolist()) == cores
    near = nearest(machine.distances(), 3)
    assert (near[:, 0] == cores).all() and near.shape[1] == min(3, len(cores))


def test_costs_by_hand() -> None:
    machine = Machine.mesh(4, 1)
    clusters = of_pairs(3, {(0, 1): 2.0, (2, 0): 1.0}, load=7.0)
    core_of = np.array([0, 3, 3], np.int32)
    assert hop_messages(clusters, core_of, machine.distances()) == 9.0
    assert message_cycles(machine.joined) == 3.0 and hop_cycles(clusters, core_of, machine) == 27.0
    assert busiest(clusters, core_of, machine) == 14.0


@pytest.mark.parametrize("kind", ["data", "jobs"])
def test_interactions_of_a_locality_graph(kind: str) -> None:
    graph = LocalityGraph([0, 2, 4, 5], [0, 1, 1, 2, 2], 3)
    found = interactions(Clustering(np.array([0, 1, 1], np.int32), 2, kind, graph=graph))
    sent = list(zip(found.src.tolist(), found.dst.tolist(), found.messages.tolist(), strict=True))
    # data: job 0 runs with datum 0 and needs datum 1. jobs: datum 1 is touched by both, cluster 0 owns it.
    assert sent == ([(1, 0, 1.0)] if kind == "data" else [(0, 1, 1.0)])
    assert found.load.tolist() == ([1.0, 2.0])


def test_what_can_not_be_placed(tmp_path: Path) -> None:
    clusters = of_pairs(3, {})
    machine = Machine.mesh(2, 2)
    with pytest.raises(ArgumentError, match="one of memory-centric, memory-centric-greedy, hierarchical"):
        place(clusters, machine, "best")
    with pytest.raises(ArgumentError, match="the clustering has no graph"):
        place(Clustering(np.zeros(3, np.int32), 1), machine)
    with pytest.raises(ArgumentError, match="seed"):
        place(clusters, machine, seed=-1)
    with pytest.raises(ArgumentError, match="rules are those of memory-centric-greedy"):
        place(clusters, machine, "memory-centric", rules=Rules())
    placed = Placement.load(place(clusters, machine).save(tmp_path / "placed.npz"))
    assert placed.machine == "mesh:2x2"
    with pytest.raises(ArgumentError, match="for 4 cores, mesh:3x3 has 9"):
        placed.check_fits(Machine.mesh(3, 3))
    with pytest.raises(ArgumentError, match="made for mesh:2x2, not for uma:4"):
        placed.check_fits(Machine.uma(4))


def test_regions_of_hierarchical_are_those_given() -> None:
    """Two groups that talk among themselves go to two halves of the order."""
    machine = Machine.mesh(4, 2)
    pairs = {(i, j): 5.0 for group in (range(0, 8, 2), range(1, 8, 2)) for i in group for j in group if i < j}
    regions = by_region(machine)
    core_of = hierarchical(layout(of_pairs(8, pairs), machine), regions)
    half = {int(core): place // 4 for place, core in enumerate(regions)}
    assert len({half[int(core_of[i])] for i in range(0, 8, 2)}) == 1
    assert len({half[int(core_of[i])] for i in range(1, 8, 2)}) == 1


@pytest.mark.parametrize(
    ("clustering", "machine", "why"),
    [
        (None, Machine.mesh(2, 2), "clustering is a NoneType, a Clustering was expected"),
        (np.arange(3), Machine.mesh(2, 2), "clustering is a ndarray"),
        (of_pairs(2, {}), "mesh:2x2", "machine is a str, a Machine was expected"),
        (of_pairs(2, {}), None, "machine is a NoneType"),
    ],
)
def test_what_is_no_clustering_and_no_machine(clustering: object, machine: object, why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        place(clustering, machine)  # type: ignore[arg-type]
