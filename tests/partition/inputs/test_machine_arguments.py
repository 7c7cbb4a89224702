"""What a machine asks of a partition: clusters, targets, capacities and the hierarchy of its units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.parts import Bank, Core
from tracecut.partition import METHODS, partition
from tracecut.partition.balance.target_sizes import scaled_memory, target_sizes
from tracecut.partition.inputs.machine_arguments import capacities_for
from tracecut.support.errors import ArgumentError

from ..meshes import lattice

UNEQUAL = Machine.topo3(4, 1, 3)  # 24 fast units, 72 slow ones
SMALL = replace(Machine.topo1(3, 1, 1), name="small")


@pytest.mark.parametrize("method", ["hkmeans", "kmeans", "geographer-r", "metis"])
def test_clusters_targets_capacities_and_hierarchy_come_from_the_machine(method: str) -> None:
    graph, points = lattice(60)
    coords = points if "coords" in METHODS[method].uses else None
    found = partition(graph, None, method, of="data", coords=coords, machine=UNEQUAL, memory=1.2)
    room = np.floor(scaled_memory(3600, UNEQUAL.memories()))
    sizes = target_sizes(3600, UNEQUAL.speeds(), room)
    assert found.k == 96 and found.options["machine"] == "topo3:4:1:3"
    assert found.options["capacities"] == room.tolist() and found.memory_violations() == 0
    np.testing.assert_allclose(found.options["targets"], sizes / 3600)
    assert (found.sizes() <= np.minimum(room, np.ceil(1.03 * sizes) + 1)).all()
    assert found.sizes()[:24].min() > 2 * found.sizes()[24:].max()


def test_hkmeans_takes_the_fan_outs_of_the_tree() -> None:
    graph, points = lattice(48)
    named = partition(graph, None, "hkmeans", of="data", coords=points, machine=Machine.named("tree:4x4x6"))
    given = partition(graph, 96, "hkmeans", of="data", coords=points, hierarchy=[4, 4, 6])
    default = partition(graph, 96, "hkmeans", of="data", coords=points)
    other = partition(
        graph, None, "hkmeans", of="data", coords=points, hierarchy=[6, 16], machine=Machine.named("tree:4x4x6")
    )
    assert named.labels.tolist() == given.labels.tolist() != default.labels.tolist()
    assert other.labels.tolist() != given.labels.tolist()


def test_equal_cores_ask_for_nothing() -> None:
    """So that methods without targets serve them; unequal ones are refused there."""
    graph, _ = lattice(8)
    found = partition(graph, None, "powergraph", machine=Machine.mesh(2, 2))
    assert found.k == 4 and "targets" not in found.options and "capacities" not in found.options
    with pytest.raises(ArgumentError, match="method 'powergraph' does not use targets"):
        partition(graph, None, "powergraph", machine=Machine.topo1(4, 1, 4))


def test_bytes_of_memory_hold_eight_for_a_unit_of_load() -> None:
    banks = (Bank(0, 8 * 30 + 7), Bank(1, 1 << 20), Bank(2, 1 << 20))
    tight = replace(SMALL, banks=banks)
    assert capacities_for(tight, 100.0, None, whole=True).tolist() == [30.0, 131072.0, 131072.0]  # type: ignore[union-attr]
    assert capacities_for(tight, 100.0, None, whole=False)[0] == 30.875  # type: ignore[index]
    graph, points = lattice(10)
    found = partition(graph, None, "kmeans", of="data", coords=points, machine=tight)
    assert found.sizes()[0] in (29, 30) and found.options["capacities"][0] == 30.0
    assert found.options["targets"] == pytest.approx([0.3, 0.35, 0.35])


@pytest.mark.parametrize("machine", [replace(SMALL, banks=()), Machine.mesh(4, 4), Machine.uma(4)], ids=repr)
def test_cores_without_a_bank_at_their_node_have_no_limit(machine: Machine) -> None:
    assert capacities_for(machine, 1e15, None, whole=True) is None


def test_what_is_given_counts_before_the_machine() -> None:
    graph, points = lattice(10)
    found = partition(
        graph, 3, "rcb", of="data", coords=points, machine=SMALL, targets=[20, 30, 50], capacities=[20, 31, 51]
    )
    assert found.options["targets"] == [0.2, 0.3, 0.5] and found.options["capacities"] == [20.0, 31.0, 51.0]


@pytest.mark.parametrize(
    ("k", "options", "message"),
    [
        (4, {"machine": SMALL}, r"k = 4, machine 'small' has 3 cores"),
        (None, {"machine": "topo1"}, "machine is a str, a Machine was expected"),
        (None, {"machine": SMALL, "tile_bytes": 100.0}, r"k = 3 and tile_bytes = 100.0, one of the two"),
        (3, {"memory": 1.2}, "memory = 1.2 scales the memories of a machine, none was given"),
        (None, {"machine": SMALL, "memory": -1.0}, "memory = -1.0, a finite number of at least 0"),
        (None, {"machine": SMALL, "memory": float("nan")}, "memory = nan, a finite number"),
        (None, {"machine": SMALL, "memory": 0.5}, "a load of 100 does not fit: the capacities of 3 units add up to 48"),
        (
            None,
            {"machine": SMALL, "memory": 1.0},
            "98 whole ones, 2 too few, since capacities are rounded down to whole",
        ),
        (None, {"machine": replace(SMALL, banks=()), "memory": 1.2}, "machine 'small' states none for some"),
        (None, {"machine": replace(SMALL, banks=(Bank(0, 99),)), "memory": 1.2}, "states none for some of its cores"),
        (None, {"machine": replace(SMALL, banks=tuple(Bank(i, 99) for i in range(3)))}, "a load of 100 does not fit"),
    ],
)
def test_wrong_machines_are_named(k: int | None, options: dict[str, object], message: str) -> None:
    graph, points = lattice(10)
    with pytest.raises(ArgumentError, match=message):
        partition(graph, k, "kmeans", of="data", coords=points, **options)  # type: ignore[arg-type]


def test_several_cores_of_a_node_share_its_memory() -> None:
    two = replace(SMALL, cores=(Core(0, 0, 2.0), Core(1, 0), Core(2, 1)), banks=(Bank(0, 1600), Bank(1, 4000)))
    assert capacities_for(two, 10.0, None, whole=True).tolist() == [100.0, 100.0, 500.0]  # type: ignore[union-attr]
