"""Machines: what is no machine, models by name, and what they state of their sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tracecut.ir.machine.in_words import in_words
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.models import MESHES, STEPS
from tracecut.ir.machine.network import Network
from tracecut.ir.machine.parts import Bank, Cache, Core, Unit
from tracecut.support.errors import ArgumentError, ArtefactError

pytestmark = pytest.mark.quick
FOUR = Machine("four", tuple(map(Core, range(4))), (Cache(1, 1 << 15),), 1 << 30)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"cores": ()}, "cores: 0 given"),
        ({"cores": (Core(0, speed=0.0),)}, r"cores\[0\].speed = 0.0"),
        ({"cores": (Core(0), Core(1, speed=float("nan")))}, r"cores\[1\].speed = nan"),
        ({"cores": (Core(0, node=-1),)}, r"cores\[0\].node = -1"),
        ({"cores": (Core(0, node=4),), "network": Network("mesh", (2, 2))}, r"cores\[0\].node = 4, the network has 4"),
        ({"caches": (Cache(1, 32, 64),)}, r"caches\[0\].size = 32, less than a line of 64"),
        ({"units": (Unit("x", (0,), caches=(Cache(3, 8, 64),)),)}, r"units\[0\].caches\[0\].size = 8"),
        ({"banks": (Bank(1, 5),)}, r"banks\[0\].node = 1"),
        ({"banks": (Bank(0, 0),)}, r"banks\[0\].size = 0"),
        ({"banks": (Bank(0, 5, -1.0),)}, r"banks\[0\].bandwidth = -1.0"),
        ({"banks": (Bank(0, 5, 1e-320),)}, r"banks\[0\].bandwidth = 1e-320, 0 for unknown or from 9.53674e-07 to"),
        ({"banks": (Bank(0, 5), Bank(0, 5, 1e-9))}, r"banks\[1\].bandwidth = 1e-09, 0 for unknown or from"),
        ({"banks": (Bank(0, 5, 1e300),)}, r"banks\[0\].bandwidth = 1e\+300, 0 for unknown or from"),
        ({"cores": (Core(0), Core(3), Core(0))}, r"cores\[2\].cpu = 0: cores\[0\] has that number, too"),
        ({"caches": (Cache(1, 96, 48),)}, r"caches\[0\].line = 48, a power of two"),
        ({"caches": (Cache(1, 100),)}, r"caches\[0\].size = 100: in lines of 64 bytes that is no whole number of sets"),
        ({"caches": (Cache(1, 320, 64, 2),)}, r"size = 320: in lines of 64 bytes and 2 ways that is no whole number"),
        ({"memory": 0}, "memory = 0"),
        ({"memory_latency": -1}, "memory_latency = -1"),
        ({"clock": float("inf")}, "clock = inf"),
        ({"issue_width": 0}, "issue_width = 0"),
        ({"mshrs": 0}, "mshrs = 0"),
        ({"units": (Unit("x", (0,), parent=0),)}, r"units\[0\].parent = 0"),
        (
            {"units": (Unit("x", (0, 1)), Unit("y", (2,), parent=0))},
            r"units\[1\].cores: 2 given, rising numbers of cores of units\[0\]",
        ),
        (
            {"units": (Unit("x", (4,)),)},
            r"units\[0\].cores: 4 given, rising numbers of cores of the machine, from 0 to 3, were",
        ),
        ({"units": (Unit("x", ()),)}, r"units\[0\].cores: none given"),
        ({"units": (Unit("x", (-1, 0)),)}, r"units\[0\].cores: -1 given"),
        ({"units": (Unit("x", (1, 0)),)}, r"units\[0\].cores: other than rising, rising"),
        ({"units": (Unit("x", (0, 1)), Unit("x", (1, 2)))}, r"units\[1\].cores: core 1 lies"),
        ({"units": tuple(Unit("x", (0,), at - 1) for at in range(65))}, r"units\[64\].parent = 63: it lies in 64"),
        ({"cores": [Core(0)]}, "cores is a list, a tuple"),
        ({"cores": (0,)}, r"cores\[0\] is a int, a Core"),
        ({"cores": (Core("a"),)}, r"cores\[0\].cpu = 'a'"),
        ({"cores": (Core(0, 1.5),)}, r"cores\[0\].node = 1.5"),
        ({"cores": (Core(0, 10**9),)}, r"cores\[0\].node = 1000000000, at most"),
        ({"cores": (Core(0, 0, "fast"),)}, r"cores\[0\].speed = 'fast'"),
        ({"cores": (Core(0, 0, 1e-300),)}, r"cores\[0\].speed = 1e-300, from 1e-09"),
        ({"cores": (Core(0, 0, True),)}, r"cores\[0\].speed = True"),
        ({"caches": (Cache(2, 64), Cache(1, 64))}, r"caches\[1\].level = 1: nearest caches first"),
        ({"caches": (Cache(0, 64),)}, r"caches\[0\].level = 0"),
        ({"caches": (Cache(1, float("nan")),)}, r"caches\[0\].size = nan"),
        ({"caches": (Cache(1, 64, ways=-1),)}, r"caches\[0\].ways = -1"),
        ({"caches": (Cache(1, 64, shared_by=0),)}, r"caches\[0\].shared_by = 0"),
        ({"caches": (Cache(1, 64, latency=-5),)}, r"caches\[0\].latency = -5"),
        ({"caches": (Cache(1, 64, latency=50), Cache(2, 64, latency=5))}, r"caches\[1\].latency = 5: a nearer"),
        ({"caches": (Cache(1, 64, latency=50),), "memory_latency": 3}, "memory_latency = 3: a cache answers in 50"),
        ({"memory": "4"}, "memory = '4'"),
        ({"memory": 2**80}, "memory = .*, at most"),
        ({"memory": 1.5}, "memory = 1.5"),
        ({"mshrs": True}, "mshrs = True"),
        ({"mshrs": 10**12}, "mshrs = 1000000000000, at most 65536"),
        ({"network": "mesh"}, "network is a str"),
        ({"units": (Unit("x", None),)}, r"units\[0\].cores: a tuple"),
        ({"units": (Unit(3, (0,)),)}, r"units\[0\].kind = 3"),
        ({"units": (Unit("x", (0,), 0.5),)}, r"units\[0\].parent = 0.5"),
        ({"banks": (Bank(0, float("nan")),)}, r"banks\[0\].size = nan"),
        ({"banks": (Bank(0, 5, float("nan")),)}, r"banks\[0\].bandwidth = nan"),
        ({"name": None}, "name = None"),
        ({"name": "a\nb"}, "name = "),
        ({"notes": (3,)}, r"notes\[0\] is a int"),
    ],
)
def test_what_is_no_machine(change: dict[str, object], why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        replace(FOUR, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "arguments", "why"),
    [
        (Machine.mesh, (2.5, 3), "network.shape"),
        (Machine.mesh, ("a", 2), "network.shape"),
        (Machine.mesh_for, (2.5,), "cores is 2.5"),
        (Machine.mesh_for, (float("nan"),), "cores is nan"),
        (Machine.uma, ("a",), "cores is 'a'"),
        (Machine.uma, (10**7,), "cores is 10000000"),
        (Machine.cpu_gpu, (0, 1), "cores is 0"),
        (Machine.cpu_gpu, (1, -1), "gpus is -1"),
        (Machine.cpu_gpu, (24, 1, "fast"), "^speed = 'fast'"),
        (Machine.cpu_gpu, (24, 1, float("nan")), "^speed = nan"),
        (Machine.cpu_gpu, (2, 0, "x"), "^speed = 'x'"),
        (Machine.cpu_gpu, (2, 0, 8.0, "x"), "memory = 'x' GiB"),
        (Machine.cpu_gpu, (2, 1, 8.0, None), "memory = None GiB"),
        (Machine.cpu_gpu, (2, 1, 8.0, [1]), r"memory = \[1\] GiB"),
        (Machine.load, (3,), "path is 3, a path was expected"),
        (Machine.detect, (3,), "root is 3, a path was expected"),
        (Machine.detect, (None,), "root is None, a path was expected"),
        (FOUR.save, (5,), "path is 5, a path was expected"),
        (Machine.detect, ("/nonexistent",), "root is '/nonexistent', a folder was expected"),
        (Machine.detect, (__file__,), "a folder was expected"),
        (Machine.cpu_gpu, (24, 1, 8, float("nan")), "memory = nan GiB"),
        (Machine.cpu_gpu, (24, 1, 8, 1e308), r"memory = 1e\+308 GiB"),
        (Machine.topo1, (96.5, 8, 1), "k is 96.5"),
        (Machine.topo1, (96, 97), "fast is 97"),
        (Machine.topo2, (96, 8, 1.5), "step is 1.5"),
        (Machine.topo2, (None,), "k is None"),
        (Machine.topo3, (10**6,), "nodes is 1000000"),
        (Machine.named, (None,), "None names no machine"),
        (Machine.named, (b"mesh:2x2",), "names no machine"),
    ],
)
def test_what_is_no_model(make: Callable[..., object], arguments: tuple[object, ...], why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        make(*arguments)


def test_numbers_of_arrays_are_numbers() -> None:
    four = np.int64(4)
    assert Machine.mesh(four, np.int32(2)) == Machine.mesh(4, 2) and Machine.mesh_for(four) == Machine.mesh_for(4)
    assert Machine.uma(four) == Machine.uma(4) and Machine.topo1(np.int64(96)) == Machine.topo1(96)
    assert Machine.cpu_gpu(four, np.int8(1), np.float64(8), np.float32(8.5)) == Machine.cpu_gpu(4)


def test_many_units_in_words() -> None:
    units = tuple(Unit("x", (core,)) for core in range(100_000))
    many = replace(FOUR, cores=tuple(map(Core, range(100_000))), units=units)
    assert "100000 × x: 1 core each" in in_words(many) and many.fan_outs() == (100_000,)


def test_a_machine_of_ten_million_cores_is_refused() -> None:
    with pytest.raises(ArgumentError, match="10000000 nodes"):
        Machine.named("mesh:10000x1000")


@pytest.mark.parametrize("count", sorted(MESHES))
def test_the_mesh_of_every_number_of_clusters(count: int) -> None:
    machine = Machine.mesh_for(count)
    assert len(machine.cores) == count and machine.network is not None
    width, height = machine.network.shape
    assert width * height == count and height <= width <= 2 * height
    assert Machine.mesh_for(count) == Machine.mesh(width, height)


def test_table_2_of_vertexcut() -> None:
    machine = Machine.mesh(8, 8)
    first, second = machine.caches
    assert (first.size, first.ways, first.line) == (64 << 10, 4, 32) and second.size == 256 << 10
    assert machine.mshrs == 16 and machine.clock == 2.4e9 and machine.memory == 4 << 30
    assert sum(bank.bandwidth for bank in machine.banks) * machine.clock == pytest.approx(8e9)
    assert {bank.node for bank in machine.banks} == {0, 7, 56, 63}
    assert len(machine.notes) == 2
    assert machine.caches[0] == Machine.model().caches[0]


def test_uniform_memory_is_equally_far_from_all() -> None:
    machine = Machine.uma(5)
    (bank,) = machine.banks
    assert {machine.joined.distance(core.node, bank.node) for core in machine.cores} == {1}


@pytest.mark.parametrize("step", range(5))
def test_hetero_topologies(step: int) -> None:
    speed, memory = STEPS[step]
    one = Machine.topo1(96, 8, step)
    assert one.speeds().tolist() == [speed] * 8 + [1.0] * 88
    assert one.memories()[0] / one.memories()[-1] == pytest.approx(memory / 2)
    two, files = Machine.topo2(96, 8, step), Machine.topo2(96, 8, step, files=True)
    ratio = two.speeds() / (two.memories() / 2**30)
    assert ratio[8] == pytest.approx(ratio[0] / 2) and two.speeds()[-1] == 1  # Eq. 5
    assert files.speeds()[8] == 1 and files.memories()[8] == 4 * 2**30
    assert len(Machine.topo3(8, 1, step).cores) == 192 and Machine.topo3(4, 1, step).fan_outs() == (4, 24)


def test_fan_outs_of_trees() -> None:
    assert Machine.named("tree:4x4x4").fan_outs() == (4, 4, 4)
    nested = (Unit("a", (0, 1)), Unit("a", (2, 3)))
    assert replace(FOUR, units=nested).fan_outs() == (2, 2)
    assert replace(FOUR, units=(Unit("a", (0, 1, 2)), Unit("a", (3,)))).fan_outs() == (4,)
    assert FOUR.fan_outs() == (4,) and Machine.cpu_gpu(4).fan_outs() == (5,)


def test_memory_of_a_node_is_shared_by_its_cores() -> None:
    cores = (Core(0, 0), Core(1, 0), Core(2, 1))
    machine = Machine(
        "m", cores, (Cache(1, 1 << 15),), 12, network=Network("full", (2,)), banks=(Bank(0, 8), Bank(1, 4))
    )
    assert machine.memories().tolist() == [4, 4, 4]
    assert np.isinf(FOUR.memories()).all()


@pytest.mark.parametrize(
    "word", ["", "mesh", "mesh:", "mesh:8", "mesh:8x8x8", "mesh:-1x2", "topo1:a", "cluster:4", "tree:4@x"]
)
def test_words_that_name_no_machine(word: str) -> None:
    with pytest.raises(ArgumentError, match="names no machine") as caught:
        Machine.named(word)
    assert "mesh:8x8" in str(caught.value.hint)


@pytest.mark.parametrize("word", ["mesh:0x4", "topo1:4:9", "topo1:4:1:9", "topo3:0", "uma:0", "tree:4x4@1,2"])
def test_words_of_impossible_machines(word: str) -> None:
    with pytest.raises(ArgumentError):
        Machine.named(word)


def test_files_that_are_not_there() -> None:
    with pytest.raises(ArtefactError, match="No such file"):
        Machine.named("nowhere.toml")
    with pytest.raises(ArtefactError, match="nowhere"):
        Machine.load("nowhere")


def test_a_machine_in_words() -> None:
    assert in_words(Machine.topo3(4, 1, 4)).splitlines()[:4] == [
        "topo3:4:1:4",
        "  24 cores of speed 16, 72 cores of speed 1",
        "    node: 24 cores (0-23)",
        "    3 × node: 24 cores each (24-95)",
    ]
    text = in_words(Machine.mesh(4, 4))
    assert "mesh of 4 × 4 routers" in text and "memory 4 GiB in 4 banks of 1 GiB" in text and "2.4 GHz" in text
    uneven = tuple(Unit("x", tuple(range(i, i + 1 + i % 2))) for i in range(0, 200, 3))
    many = replace(FOUR, cores=tuple(map(Core, range(202))), units=uneven)
    assert "more lines; --json has all" in in_words(many)


def test_a_machine_without_caches() -> None:
    bare = replace(FOUR, cores=(Core(0),), caches=(), memory=1000_000)
    assert repr(bare) == "<Machine four: 1 core, 977 KiB>"
    assert repr(FOUR) == "<Machine four: 4 cores, L1 32 KiB, 1 GiB>"
    with pytest.raises(ArgumentError, match="four has no caches, at least one was expected") as caught:
        bare.last_cache()
    assert "[[caches]]" in caught.value.hint
