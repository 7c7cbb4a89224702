"""Machines by name: meshes as in VertexCut's Table 2, its machine of uniform memory, and Hetero's topologies.

Table 2 states clock, caches, memory, MSHRs, mesh and XY routing. It does not state links and latencies: 16 bytes and
two cycles a hop (one for the router, one for the link) are what gem5's Garnet network takes by itself; cache and memory
latencies are those of `Machine.model()`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tracecut.support.argument_checks import whole_number
from tracecut.support.errors import ArgumentError

from .network import MOST_NODES, Network
from .parts import Bank, Cache, Core, Unit
from .rules import check_speed

# One mesh for every number of clusters of VertexCut's tables.
MESHES = {8: (4, 2), 16: (4, 4), 32: (8, 4), 64: (8, 8), 128: (16, 8), 256: (16, 16), 512: (32, 16), 1024: (32, 32)}
STEPS = ((1.0, 2.0), (2.0, 3.2), (4.0, 5.2), (8.0, 8.5), (16.0, 13.8))  # Table III: speed, memory of the fast units
LEFT_OUT = (
    "no virtual channels: a link takes whole messages in turn",
    "no out-of-order window: MSHRs bound the misses",
)
CLOCK = 2.4e9
BYTES_A_CYCLE = 8e9 / CLOCK  # of main memory, all banks together
GIB = 1 << 30
Fields = dict[str, Any]  # arguments of a Machine


def model() -> Fields:
    """The core that modelled times are defined on, the same everywhere: caches and memory of VertexCut §6.1.

    The seed states sizes, ways and the first level's blocks; the latencies are those of a processor of its clock.
    """
    caches = (Cache(1, 64 << 10, 32, 4, latency=4), Cache(2, 256 << 10, 32, 8, latency=14))
    return {"name": "model", "cores": (Core(0),), "caches": caches, "memory": 4 * GIB, "memory_latency": 200}


def mesh(width: int, height: int) -> Fields:
    """width × height cores on a mesh, one at each router: VertexCut's Table 2, a quarter of the memory at each corner.

    The shared cache is one slice of 256 KiB at each core.
    """
    network = Network("mesh", (width, height))
    width, height = network.shape
    corners = sorted({0, width - 1, width * (height - 1), width * height - 1})
    banks = tuple(Bank(node, 4 * GIB // len(corners), BYTES_A_CYCLE / len(corners)) for node in corners)
    return _of_table_2(f"mesh:{width}x{height}", tuple(Core(i, i) for i in range(network.nodes)), network, banks)


def mesh_for(cores: int) -> Fields:
    """The mesh of `cores` cores in VertexCut's tables; of another number the one nearest to a square."""
    cores = whole_number("cores", cores, 1, MOST_NODES)
    height = next(side for side in range(int(cores**0.5), 0, -1) if cores % side == 0)
    return mesh(*MESHES.get(cores, (cores // height, height)))


def tree(name: str, fan_outs: tuple[int, ...], distances: tuple[int, ...] = ()) -> Fields:
    """Cores at the leaves of a tree of switches, fan-outs from the root; what else there is as in Table 2."""
    network = Network("tree", fan_outs, distances=distances)
    banks = (Bank(0, 4 * GIB, BYTES_A_CYCLE),)
    return _of_table_2(name, tuple(Core(i, i) for i in range(network.nodes)), network, banks)


def uma(cores: int) -> Fields:
    """Cores and one memory on a bus: uniform memory access, VertexCut's Figure 6."""
    cores = whole_number("cores", cores, 1, MOST_NODES - 1)
    network = Network("bus", (cores + 1,))
    banks = (Bank(cores, 4 * GIB, BYTES_A_CYCLE),)
    return _of_table_2(f"uma:{cores}", tuple(Core(i, i) for i in range(cores)), network, banks)


def cpu_gpu(cores: int = 24, gpus: int = 1, speed: float = 8.0, memory: float = 8.5) -> Fields:
    """A node of `cores` cores and `gpus` GPUs, each a unit of `speed` and `memory` by those of a core (1 and 2 GiB)."""
    gpus = whole_number("gpus", gpus, 0, MOST_NODES - 1)
    cores = whole_number("cores", cores, 1, MOST_NODES - gpus)
    check_speed("speed", speed)
    _check_gib(memory)
    speeds, memories = [speed] * gpus + [1.0] * cores, [memory] * gpus + [2.0] * cores
    units = (*(Unit("gpu", (i,)) for i in range(gpus)), Unit("cpu", tuple(range(gpus, gpus + cores))))
    return _unequal(f"cpu_gpu:{cores}:{gpus}", speeds, memories, units)


def topo1(k: int = 96, fast: int = 8, step: int = 0) -> Fields:
    """Hetero's TOPO1: `fast` fast units, then slow ones. `step`: row of Table III, from 0. Memories in GiB."""
    k, fast, speed, memory = _row("k", k, fast, step)
    speeds, memories = [speed] * fast + [1.0] * (k - fast), [memory] * fast + [2.0] * (k - fast)
    return _unequal(f"topo1:{k}:{fast}:{step}", speeds, memories, ())


def topo2(k: int = 96, fast: int = 8, step: int = 0, files: bool = False) -> Fields:
    """Hetero's TOPO2: fast units, then as many slow ones of set S1 as of S2.

    By Eq. 5 a unit of S1 has half of the fast units' speed by memory; in the published files (`files`) it has speed 1
    and memory 4 in every step. S2 stays at speed 1, memory 2.
    """
    k, fast, speed, memory = _row("k", k, fast, step)
    first = (k - fast) // 2
    slow = (1.0, 4.0) if files else (2.0 * 0.5 * speed / memory, 2.0)
    rest = k - fast - first
    speeds, memories = (
        [speed] * fast + [slow[0]] * first + [1.0] * rest,
        [memory] * fast + [slow[1]] * first + [2.0] * rest,
    )
    return _unequal(f"topo2:{k}:{fast}:{step}{':files' if files else ''}", speeds, memories, ())


def topo3(nodes: int = 4, fast: int = 1, step: int = 4) -> Fields:
    """Hetero's TOPO3: nodes of 24 units, `fast` whole nodes of fast ones; 8 nodes have 192 units (in the text: 182)."""
    nodes, fast, speed, memory = _row("nodes", nodes, fast, step, MOST_NODES // 24)
    speeds, memories = [speed] * (24 * fast), [memory] * (24 * fast)
    speeds, memories = speeds + [1.0] * (24 * (nodes - fast)), memories + [2.0] * (24 * (nodes - fast))
    units = tuple(Unit("node", tuple(range(24 * i, 24 * i + 24))) for i in range(nodes))
    return _unequal(f"topo3:{nodes}:{fast}:{step}", speeds, memories, units, Network("tree", (nodes, 24)))


def _row(name: str, k: int, fast: int, step: int, most: int = MOST_NODES) -> tuple[int, int, float, float]:
    """The numbers of units (or nodes) and of fast ones, checked; speed and memory of a row of Table III."""
    k = whole_number(name, k, 1, most)
    fast = whole_number("fast", fast, 0, k)
    return k, fast, *STEPS[whole_number("step", step, 0, len(STEPS) - 1)]


def _of_table_2(name: str, cores: tuple[Core, ...], network: Network, banks: tuple[Bank, ...]) -> Fields:
    caches = (Cache(1, 64 << 10, 32, 4, latency=4), Cache(2, 256 << 10, 32, 8, len(cores), latency=14))
    fields = {"name": name, "cores": cores, "caches": caches, "network": network, "banks": banks, "clock": CLOCK}
    return {**model(), **fields, "issue_width": 1, "mshrs": 16, "notes": LEFT_OUT}


def _check_gib(memory: Any) -> None:
    try:
        size = math.nan if isinstance(memory, str | bool) else GIB * float(memory)
    except (TypeError, ValueError, OverflowError):
        size = math.nan
    if not 1 <= size < 1 << 62:
        raise ArgumentError(f"memory = {memory!r} GiB, a positive number was expected")


def _unequal(
    name: str,
    speeds: Sequence[float],
    memories: Sequence[float],
    units: tuple[Unit, ...],
    network: Network | None = None,
) -> Fields:
    """Units of given speeds and GiB, one at each node."""
    cores = tuple(Core(i, i, speed) for i, speed in enumerate(speeds))
    banks = tuple(Bank(i, round(memory * GIB)) for i, memory in enumerate(memories))
    fields = {"name": name, "cores": cores, "network": network or Network("full", (len(cores),)), "units": units}
    return {**model(), **fields, "memory": sum(bank.size for bank in banks), "banks": banks}
