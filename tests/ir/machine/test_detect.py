"""Machines from sysfs trees: recorded ones of real machines where these are there, and small ones of our own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tracecut.ir.machine.machine import Machine

from .sysfs_trees import cpus, needs_recorded, numa, recorded, tree

pytestmark = pytest.mark.quick
# Cores, nodes of the network, fan-outs of the tree, memory banks.
KNOWN = {
    "128arm-2pa2n8cluster4co": (128, None, None, None),
    "16amd64-4n4c-cgroup-distance-merge": (4, 1, (4,), 0),
    "16amd64-8n2c": (16, 8, (8, 2), 8),
    "16em64t-4s2c2t": (16, 1, (4, 2, 2), 0),
    "16em64t-4s2c2t-offlines": (12, 1, None, 0),
    "20em64t-hybrid-1p6c2t+2ca4co1t": (20, 1, (20,), 0),
    "40intel64-2g2n4c+pcilocality": (40, 4, (4, 10), 4),
    "48amd64-4pa2n6c-sparse": (48, 8, (4, 2, 6), 8),
    "8em64t-2s2ca2c": (8, 1, (2, 2, 2), 0),
    "8em64t-2s2ca2c-buggynuma": (8, None, (2, 2, 2), None),
    "96em64t-4no4pa3ca2co": (96, 4, (16, 3, 2), 4),
    "fakeheteromemtiers": (6, 7, (3, 2), 7),
}


@needs_recorded
@pytest.mark.parametrize("name", sorted(KNOWN))
def test_recorded_machines(name: str, tmp_path: Path) -> None:
    machine = Machine.detect(recorded(name))
    cores, nodes, fan_outs, banks = KNOWN[name]
    assert len(machine.cores) == cores
    assert nodes is None or machine.joined.nodes == nodes
    assert fan_outs is None or machine.fan_outs() == fan_outs
    assert banks is None or len(machine.banks) == banks
    assert Machine.load(machine.save(tmp_path / "m.toml")) == machine
    if "hybrid" in name:
        assert Counter(core.speed for core in machine.cores) == {1.333: 4, 1.282: 8, 1.0: 8}
    if "sparse" in name:
        assert any("numbered from 0" in note for note in machine.notes)
    if "buggy" in name:
        assert any("NUMA" in note for note in machine.notes)


def test_packages_and_shared_caches(tmp_path: Path) -> None:
    machine = Machine.detect(tree(tmp_path, cpus(4)))
    assert machine.name == "Toy" and machine.memory == 1 << 20 and machine.fan_outs() == (2, 2)
    assert [(unit.kind, unit.cores) for unit in machine.units] == [("package", (0, 1)), ("package", (2, 3))]
    assert [cache.level for cache in machine.units[0].caches] == [2] and machine.caches[1].shared_by == 2


def test_nodes_with_holes_and_one_without_processors(tmp_path: Path) -> None:
    nodes = numa(0, "0-1", "10 21 40") | numa(3, "2-3", "21 10 40") | numa(8, "", "40 40 10", 2048)
    machine = Machine.detect(tree(tmp_path, cpus(4) | nodes | {"sys/devices/system/node/online": "0,3,8"}))
    assert machine.network is not None and machine.network.distances == ((0, 11, 30), (11, 0, 30), (30, 30, 0))
    assert [core.node for core in machine.cores] == [0, 0, 1, 1]
    assert [(bank.node, bank.size >> 10) for bank in machine.banks] == [(0, 512), (1, 512), (2, 2048)]


@pytest.mark.parametrize(
    "rows", [("10 10", "10 10"), ("10", "10"), ("0 20", "20 0"), ("10 x", "20 10"), ("", ""), ("10 20", "20 10 30")]
)
def test_a_table_that_can_not_be_is_left_out(rows: tuple[str, str], tmp_path: Path) -> None:
    machine = Machine.detect(tree(tmp_path, cpus(4) | numa(0, "0-1", rows[0]) | numa(1, "2-3", rows[1])))
    assert machine.network is not None and machine.network.distances == ()
    assert any("distances are missing or contradict" in note for note in machine.notes)


def test_a_processor_in_two_nodes(tmp_path: Path) -> None:
    machine = Machine.detect(tree(tmp_path, cpus(4) | numa(0, "0-3", "10 20") | numa(1, "0-3", "20 10")))
    assert machine.network is None and any("several NUMA nodes" in note for note in machine.notes)


def test_offline_processors_are_left_out(tmp_path: Path) -> None:
    files = cpus(4) | {"sys/devices/system/cpu/cpu1/online": "0", "sys/devices/system/cpu/online": "0,2-3"}
    assert [core.cpu for core in Machine.detect(tree(tmp_path, files)).cores] == [0, 2, 3]


def test_a_control_group_limits_processors_and_memory(tmp_path: Path) -> None:
    group = {"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpuset.cpus.effective": "1-2"}
    machine = Machine.detect(tree(tmp_path, cpus(4) | group | {"sys/fs/cgroup/job/memory.max": "65536"}))
    assert [core.cpu for core in machine.cores] == [1, 2] and machine.memory == 65536
    assert "a control group limits the memory" in machine.notes
    old = {"proc/self/cgroup": "4:memory:/job\n", "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "4096"}
    assert Machine.detect(tree(tmp_path / "old", cpus(2) | old)).memory == 4096
    within = {"proc/self/cgroup": "0::/slice/job\n", "sys/fs/cgroup/slice/job/memory.max": "max"}
    within |= {"sys/fs/cgroup/slice/memory.max": "8192", "sys/fs/cgroup/memory.max": "16384"}
    assert Machine.detect(tree(tmp_path / "within", cpus(2) | within)).memory == 8192
    free = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max"}
    assert Machine.detect(tree(tmp_path / "free", cpus(2) | free)).memory == 1 << 20


def test_capacities_are_speeds(tmp_path: Path) -> None:
    files = cpus(2) | {f"sys/devices/system/cpu/cpu{cpu}/cpu_capacity": str(512 * (cpu + 1)) for cpu in range(2)}
    assert [core.speed for core in Machine.detect(tree(tmp_path, files)).cores] == [1.0, 2.0]


@pytest.mark.parametrize("garbage", ["", "x", "-1", "99999999999999999999", "\x00\xff", "0-", "1" * 5000])
def test_garbage_in_every_file(garbage: str, tmp_path: Path) -> None:
    files = cpus(4) | numa(0, "0-1", "10 20") | numa(1, "2-3", "20 10")
    for number, name in enumerate(files):
        root = tree(tmp_path / str(number), files | {name: garbage})
        assert 1 <= len(Machine.detect(root).cores) <= 4


def test_caches_of_no_whole_sets(tmp_path: Path) -> None:
    first, second = (f"sys/devices/system/cpu/cpu0/cache/index{index}" for index in (0, 1))
    files = cpus(1) | {f"{first}/coherency_line_size": "48", f"{second}/ways_of_associativity": "11"}
    (cache,) = Machine.detect(tree(tmp_path, files)).caches
    assert (cache.level, cache.size, cache.ways) == (2, 1 << 20, 8)


def test_nothing_to_read(tmp_path: Path) -> None:
    machine = Machine.detect(tmp_path)
    assert len(machine.cores) == 1 and machine.caches and machine.network is None
    assert machine.notes == (
        "no processors are described in sys/devices/system/cpu: one is assumed",
        "no caches are described: 32 KiB and 1 MiB are assumed",
        "no memory is described in proc/meminfo: 4 GiB are assumed",
    )
    assert Machine.detect(tree(tmp_path, cpus(2))).notes == ()
