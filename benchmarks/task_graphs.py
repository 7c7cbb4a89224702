"""Fifty task graphs on meshes, on which the simulator is compared with SimGrid: what they are, and the file of them.

The recipe was written down before anything was compared, and nothing was dropped or drawn again. Case i draws from the
seed (13, i): tasks (log-uniform, 100 … 5,000), mesh, mean cycles of a task, bandwidth and latency of the links, how
tasks are clustered and clusters placed. Nine shapes four times each, eight programs of `samples/vertexcut` cut into as
many pieces of consecutive instructions, and windows of single instructions of six of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from table4 import FLAGS, FOLDER
from tracecut.ir.clustering import Clustering
from tracecut.ir.dependence_graph import READ, REGISTER, DependenceGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.network import Network
from tracecut.ir.placement import Placement
from tracecut.mapping.place import place
from tracecut.mapping.simulate import simulate
from tracecut.mapping.simulation.result import Simulation
from tracecut.partition import partition

import tracecut

MESHES = ((2, 2), (4, 2), (4, 4), (8, 4), (8, 8))
CYCLES = (10, 100, 1000)  # of a task, the mean
BANDWIDTHS = (16.0, 1.0, 0.25)  # bytes that a link carries in a cycle: a message occupies it for 1, 16, 64
HOPS = (2, 8)  # cycles
CLUSTERINGS = ("blocks", "metis", "random")
PLACEMENTS = {"memory-centric": "memory-centric-greedy", "random": "random"}  # methods by their names in the file
SIZES = (100, 5000)
MESSAGE = 16  # bytes: a word in a flit
PIECES = ("dijkstra", "fft", "kmeans", "mandelbrot", "nn", "neuron", "cnn", "strassen8")
WINDOWS = ("fft", "kmeans", "nn", "neuron", "cnn", "strassen8")
Generator = np.random.Generator
Longs = npt.NDArray[np.int64]
Pairs = list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Case:
    """A task graph with a core for each task, and the mesh that it runs on.

    Attributes:
        name: shape or program, and the number of the case.
        mesh: width, height. bandwidth: bytes in a cycle. hop_latency: cycles.
        pipelined: a core begins a task in each cycle, else it runs one to its end before it begins the next.
        how: clustering and placement.
        edges: int64 (m, 2), tasks, the earlier first, by the later. cycles: int64 (n). core: int64 (n).
    """

    name: str
    mesh: tuple[int, int]
    bandwidth: float
    hop_latency: int
    pipelined: bool
    how: str
    edges: Longs
    cycles: Longs
    core: Longs

    def machine(self) -> Machine:
        """The mesh as tracecut describes it: each core with one task under way, where it is not pipelined."""
        network = Network("mesh", self.mesh, self.bandwidth, self.hop_latency, MESSAGE)
        return replace(Machine.mesh(*self.mesh), network=network, caches=(), mshrs=1, issue_width=1)

    def graph(self) -> DependenceGraph:
        """Every task that is not pipelined takes the one miss register of its core, and so the core."""
        n, m = self.cycles.size, len(self.edges)
        access = None if self.pipelined else np.full(n, READ, np.uint8)
        return DependenceGraph(
            src=self.edges[:, 0].astype(np.int32),
            dst=self.edges[:, 1].astype(np.int32),
            weight=np.ones(m, np.int32),
            kind=np.full(m, REGISTER, np.uint8),
            instruction=np.zeros(n, np.int32),
            time=self.cycles.astype(np.int32),
            address=None if access is None else np.full(n, -1, np.int64),
            access=access,
        )

    def on_fast_links(self) -> Case:
        """The same on links that carry any message in one cycle."""
        return replace(self, bandwidth=float(MESSAGE), hop_latency=1)

    def simulated(self) -> Simulation:
        """What `tracecut.simulate` finds."""
        machine = self.machine()
        cores = len(machine.cores)
        clustering = Clustering(self.core.astype(np.int32), cores, "data")
        placed = Placement(np.arange(cores, dtype=np.int32), cores, machine=machine.name)
        return simulate(self.graph(), clustering, placed, machine)


ARRAYS = ("edges", "cycles", "core")  # of a case; the rest of it is numbers and words


# Shapes: edges between about `n` tasks, each from a smaller number to a greater one.


def layers(random: Generator, n: int) -> Pairs:
    """Each task reads one to four of the layer before."""
    width = max(2, round(n**0.5 * random.uniform(0.5, 2)))
    return [(v - v % width - width + int(u), v) for v in range(width, n) for u in random.choice(width, _few(random, 4))]


def tree(random: Generator, n: int) -> Pairs:
    """Results combined two, three or four at a time, down to one."""
    fan = int(random.integers(2, 5))
    return [(n - 1 - child, n - 1 - (child - 1) // fan) for child in range(n - 1, 0, -1)]


def divide(random: Generator, n: int) -> Pairs:
    """A tree from one task to many, and back to one."""
    half, fan = n // 2, int(random.integers(2, 5))
    apart = [((child - 1) // fan, child) for child in range(1, half)]
    return apart + [(2 * half - 1 - late, 2 * half - 1 - early) for early, late in apart] + [(half - 1, half)]


def chains(random: Generator, n: int) -> Pairs:
    """Chains side by side; one task in ten reads from another chain, too."""
    count = int(random.integers(4, 65))
    along = [(v - count, v) for v in range(count, n)]
    return along + [(v - v % count - count + int(random.integers(count)), v) for _, v in along if random.random() < 0.1]


def stencil(random: Generator, n: int) -> Pairs:
    """Sweeps over a line of points, each of which reads its neighbours of the sweep before."""
    width = max(3, round(n**0.5 * random.uniform(0.5, 2)))
    return [
        (v - width + step, v) for v in range(width, n) for step in (-1, 0, 1) if 0 <= v % width + step < width
    ]  # fmt: skip


def wavefront(random: Generator, n: int) -> Pairs:
    """A table whose entries read the one above and the one to the left."""
    width = max(2, round(n**0.5 * random.uniform(0.5, 2)))
    return [(v - 1, v) for v in range(1, n) if v % width] + [(v - width, v) for v in range(width, n)]


def anything(random: Generator, n: int) -> Pairs:
    """Each task reads one to three of the tasks before it, not further back than a tenth of all."""
    far = max(2, n // 10)
    return [(int(random.integers(max(0, v - far), v)), v) for v in range(1, n) for _ in range(_few(random, 3))]


def cholesky(random: Generator, n: int) -> Pairs:
    """The factorisation of a symmetric matrix of tiles: factor, solve, update."""
    tiles = max(3, round((6 * n) ** (1 / 3)) - 1)
    last: dict[tuple[int, int], int] = {}  # of each tile, who wrote it
    pairs: Pairs = []
    count = 0

    def task(writes: tuple[int, int], *reads: tuple[int, int]) -> None:
        nonlocal count
        pairs.extend((last[tile], count) for tile in (writes, *reads) if tile in last)
        last[writes] = count
        count += 1

    for k in range(tiles):
        task((k, k))
        for i in range(k + 1, tiles):
            task((i, k), (k, k))
        for i in range(k + 1, tiles):
            for j in range(k + 1, i + 1):
                task((i, j), (i, k), (j, k))
    return pairs


def butterfly(random: Generator, n: int) -> Pairs:
    """The stages of a fast Fourier transform."""
    stages = next(m for m in range(1, 20) if (m + 1) << m >= n * 0.7)
    points = 1 << stages
    return [
        (s * points + other, (s + 1) * points + point)
        for s in range(stages)
        for point in range(points)
        for other in (point, point ^ (1 << s))
    ]


def _few(random: Generator, most: int) -> int:
    return int(random.integers(1, most + 1))


SHAPES: tuple[Callable[[Generator, int], Pairs], ...] = (
    *(layers, tree, divide, chains, stencil, wavefront, anything, cholesky, butterfly),
)
NAMES = (
    *(f"{shape.__name__}" for shape in SHAPES for _ in range(4)),
    *(f"pieces of {name}" for name in PIECES),
    *(f"instructions of {name}" for name in WINDOWS),
)
GENERATED = 4 * len(SHAPES)  # cases that no program is traced for


def case(i: int) -> Case:
    """Case i of the recipe."""
    random = np.random.default_rng([13, i])
    n = round(float(np.exp(random.uniform(*np.log(SIZES)))))
    mesh = MESHES[random.integers(len(MESHES))]
    mean = CYCLES[random.integers(len(CYCLES))]
    bandwidth = BANDWIDTHS[random.integers(len(BANDWIDTHS))]
    hop = HOPS[random.integers(len(HOPS))]
    how = CLUSTERINGS[random.integers(len(CLUSTERINGS))], tuple(PLACEMENTS)[random.integers(len(PLACEMENTS))]
    many = int(random.choice([1, 4]))  # clusters a core
    if i < GENERATED:
        edges = _sorted(SHAPES[i // 4](random, n))
        cycles = random.integers(1, 2 * mean, 1 + int(edges.max()))
    else:
        edges, cycles = traced(NAMES[i], n)
    without = Case(
        f"{i}: {NAMES[i]}", mesh, bandwidth, hop, "instructions" in NAMES[i], ", ".join(how), edges, cycles, cycles
    )
    return replace(without, core=_cores(without, how, many * mesh[0] * mesh[1], random))


def traced(name: str, n: int) -> tuple[Longs, Longs]:
    """A program's dependences between `n` pieces of its run, or between `n` instructions from its middle on."""
    what, _, program = name.partition(" of ")
    graph = tracecut.dependence_graph([FOLDER / f"{program}.c", *FLAGS, "-lm"], opt="O1")
    pairs = np.stack([graph.src, graph.dst], axis=1).astype(np.int64)
    if what == "pieces":
        piece = np.arange(graph.n) * n // graph.n
        return _sorted(piece[pairs]), np.bincount(piece, graph.time, n).astype(np.int64)
    first = (graph.n - n) // 2
    inside = np.all((pairs >= first) & (pairs < first + n), axis=1)
    return _sorted(pairs[inside] - first), graph.time[first : first + n].astype(np.int64)


def _sorted(pairs: Any) -> Longs:
    """Different pairs of different tasks, by the later one."""
    found = np.unique(np.array(pairs, np.int64).reshape(-1, 2)[:, ::-1], axis=0)[:, ::-1]
    return np.ascontiguousarray(found[found[:, 0] != found[:, 1]])


def _cores(given: Case, how: tuple[str, str], k: int, random: Generator) -> Longs:
    n, graph = given.cycles.size, given.graph()
    if how[0] == "metis":
        labels = partition(graph.as_locality(), k, "metis", of="data").labels
    else:
        labels = (np.arange(n) * k // n if how[0] == "blocks" else random.integers(0, k, n)).astype(np.int32)
    seed = int(random.integers(1 << 30))
    placed = place(Clustering(labels, k, "data"), given.machine(), PLACEMENTS[how[1]], seed, graph=graph)
    return placed.core_of[labels].astype(np.int64)


# The file: numbers of a case as JSON, its arrays one after the other.


def save(path: Path, cases: Sequence[Case], **meta: Any) -> None:
    """Compressed, a few hundred kilobytes for the fifty; `meta` beside them."""
    said = [{key: value for key, value in asdict(case).items() if key not in ARRAYS} for case in cases]
    sizes = [{"n": case.cycles.size, "m": len(case.edges)} for case in cases]
    arrays = {
        "edges": np.concatenate([case.edges for case in cases]).astype(np.int16),
        "cycles": np.concatenate([case.cycles for case in cases]).astype(np.int32),
        "core": np.concatenate([case.core for case in cases]).astype(np.uint8),
    }
    text = json.dumps({**meta, "cases": [{**one, **size} for one, size in zip(said, sizes, strict=True)]})
    np.savez_compressed(path, text=np.frombuffer(text.encode(), np.uint8), **arrays)


def load(path: Path) -> tuple[list[Case], dict[str, Any]]:
    """The cases and what was saved beside them."""
    with np.load(path) as file:
        arrays = {name: file[name].astype(np.int64) for name in ARRAYS}
        meta = json.loads(file["text"].tobytes())
    cases, tasks, edges = [], 0, 0
    for said in meta.pop("cases"):
        n, m = said.pop("n"), said.pop("m")
        own = {
            "edges": arrays["edges"][edges : edges + m],
            **{name: arrays[name][tasks : tasks + n] for name in ("cycles", "core")},
        }
        cases.append(Case(**{**said, "mesh": tuple(said["mesh"])}, **own))
        tasks, edges = tasks + n, edges + m
    return cases, meta
