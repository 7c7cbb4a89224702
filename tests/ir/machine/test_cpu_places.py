"""Where CPUs lie, from sysfs: equal to what the whole description says, and nothing where the tree is strange."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from tracecut.ir.machine.cpu_places import CpuPlaces, cpu_places, places_of
from tracecut.ir.machine.machine import Machine

from .sysfs_trees import cpus, needs_recorded, numa, recorded, tree

pytestmark = pytest.mark.quick
AGREEING = (
    *("16amd64-8n2c", "16em64t-4s2c2t-offlines", "20em64t-hybrid-1p6c2t+2ca4co1t", "48amd64-4pa2n6c-sparse"),
    *("8em64t-2s2ca2c-buggynuma", "fakeheteromemtiers", "16amd64-4n4c-cgroup-distance-merge"),
)
TWO = numa(0, "0-3", "10 21") | numa(1, "4-7", "21 10") | {"sys/devices/system/node/online": "0-1"}


def alike(groups: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(a, b) for a, b in combinations(range(len(groups)), 2) if groups[a] == groups[b]]


@needs_recorded
@pytest.mark.parametrize("name", AGREEING)
def test_it_agrees_with_the_description_of_a_machine(name: str) -> None:
    root = recorded(name)
    machine = Machine.detect(root)
    found = cpu_places([core.cpu for core in machine.cores], root)
    stated = places_of(machine)
    assert found.cpus == tuple(core.cpu for core in machine.cores)
    assert alike(found.nodes) == alike(stated.nodes)
    for a, b in combinations(range(len(found.cpus)), 2):
        # Where no distances are stated, all nodes are as far from each other.
        far = found.distance(found.nodes[a], found.nodes[b]), stated.distance(stated.nodes[a], stated.nodes[b])
        assert (far[0] == far[1]) or not found.distances
    together = [pair for pair in alike(found.cores) if found.nodes[pair[0]] == found.nodes[pair[1]]]
    assert alike(stated.cores) in (together, [])  # a tree states no cores where they are all the same
    last = max((cache.level for unit in machine.units for cache in unit.caches), default=0)
    if last == max(cache.level for cache in machine.caches):
        assert set(alike(stated.caches)) <= set(alike(found.caches))


def test_nodes_caches_and_cores(tmp_path: Path) -> None:
    files = cpus(8) | TWO
    files |= {f"sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list": f"{cpu % 4},{cpu % 4 + 4}" for cpu in (0, 4)}
    found = cpu_places(range(8), tree(tmp_path, files))
    assert found.nodes == (0, 0, 0, 0, 1, 1, 1, 1) and found.caches == (0, 0, 2, 2, 4, 4, 6, 6)
    assert found.cores == (0, 1, 2, 3, 0, 5, 6, 7)
    assert (found.distance(0, 1), found.distance(1, 1), found.note) == (11, 0, "")


def test_only_cpus_that_are_asked_for(tmp_path: Path) -> None:
    found = cpu_places([6, 1, 6], tree(tmp_path, cpus(8) | TWO))
    assert (found.cpus, found.nodes, found.caches) == ((1, 6), (0, 1), (1, 6))


@pytest.mark.parametrize(
    ("nodes", "note"),
    [
        (numa(0, "0-7", "10 20") | numa(1, "4-7", "20 10"), "CPUs are in several nodes at once"),
        (numa(0, "0-3", "10 20") | numa(1, "4-6", "20 10"), "CPUs are in no node"),
        (numa(0, "0-7", "10"), ""),
        ({}, ""),
    ],
)
def test_nodes_that_can_not_be_are_one(nodes: dict[str, str], note: str, tmp_path: Path) -> None:
    found = cpu_places(range(8), tree(tmp_path, cpus(8) | nodes))
    assert (set(found.nodes), found.note) == ({0}, note)


@pytest.mark.parametrize("rows", [("10", "10"), ("10 x", "20 10"), ("0 20", "20 0"), ("10 10", "10 10"), ("", "")])
def test_distances_that_can_not_be_are_left_out(rows: tuple[str, str], tmp_path: Path) -> None:
    found = cpu_places(range(4), tree(tmp_path, cpus(4) | numa(0, "0-1", rows[0]) | numa(1, "2-3", rows[1])))
    assert found.nodes == (0, 0, 1, 1) and found.distances == {} and found.distance(0, 1) == 10


@pytest.mark.parametrize("garbage", ["", "x", "-1", "99999999999999999999", "\x00\xff", "0-", "1" * 5000])
def test_garbage_in_every_file(garbage: str, tmp_path: Path) -> None:
    files = cpus(8) | TWO
    tree(tmp_path, files)
    for name, text in files.items():
        found = cpu_places(range(8), tree(tmp_path, {name: garbage}))
        tree(tmp_path, {name: text})
        assert found.cpus == tuple(range(8)) and len(found.nodes) == len(found.caches) == len(found.cores) == 8


def test_a_modelled_machine() -> None:
    found = places_of(Machine.mesh(2, 2))
    assert found == CpuPlaces((0, 1, 2, 3), (0, 1, 2, 3), found.caches, (0, 1, 2, 3), found.distances)
    assert (found.distance(0, 1), found.distance(0, 3), found.distance(2, 2)) == (1, 2, 0)
