"""A placed clustering of jobs on a modelled machine: the job level of the simulator."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import REDUCE, WRITE, LocalityGraph
from tracecut.ir.machine.cache_simulator import START, levels_of
from tracecut.ir.machine.machine import Machine
from tracecut.ir.ordering import Ordering
from tracecut.ir.placement import Placement
from tracecut.support.arrays import Floats, Ints, Longs, frozen
from tracecut.support.errors import ArgumentError

from .job_steps import Cores, Costs, Work, run_waves

PAGE = 4096
WORD = 8
MOST_CORES = 64  # bits of a set of cores
MOST_LINES = 1 << 31
WINDOW = 256  # instructions: the retire queue of AMD family 19h (Software Optimization Guide, publication 56665)
MAX_SWEEPS = 16
STREAMS = 32  # pages (Intel 64 and IA-32 Architectures Optimization Reference Manual, L2 streamer)


@dataclass(frozen=True, eq=False)
class JobModel:
    """What a locality graph does not say of its jobs and data.

    Attributes:
        strides: int64 (arrays), bytes of a record of each array; the `site` of a pin is the array that it reaches.
            Empty: one array a space, of words of 8 bytes, and `site` is not looked at.
        streamed: int64 (jobs), bytes that each job reads in the order of the jobs; empty: none.
        cycles, instructions: of a step (a pin), all data being in the first cache.
        forward: cycles from one update of a record until the next one of it can end.
        window: instructions that a core has under way.
        waves: int32 (clusters), wave of each cluster, from 0: it waits for all clusters of the waves before. Empty:
            all are in one.
        sweeps: how often all jobs are run; the last time is measured, so that from 2 on caches are warm.
    """

    strides: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    streamed: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    cycles: float = 1.0
    instructions: float = 1.0
    forward: float = 0.0
    window: int = WINDOW
    waves: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    sweeps: int = 1


@dataclass(frozen=True, eq=False)
class JobSimulation:
    """One sweep over all jobs.

    Attributes:
        time: cycles. `found`: int64 (levels + 1), lines by the cache level that had them, memory last.
        moved: lines between the last cache and memory, both ways. `bytes_moved`: the same in bytes.
        utilisation: float64 (cores), share of the time in which the steps of the jobs are begun.
        machine: its name. `clock`: its cycles in a second, 0 unknown.
    """

    time: float
    found: Longs
    moved: int
    bytes_moved: int
    utilisation: Floats
    machine: str
    clock: float

    @property
    def seconds(self) -> float | None:
        """Of the sweep; None where the machine's clock is not known."""
        return self.time / self.clock if self.clock else None

    def __repr__(self) -> str:
        return f"<JobSimulation on {self.machine}: {self.time:.6g} cycles, {self.moved} lines of memory>"


def simulate_jobs(
    graph: LocalityGraph,
    clustering: Clustering,
    placement: Placement,
    machine: Machine,
    *,
    ordering: Ordering | None = None,
    model: JobModel | None = None,
) -> JobSimulation:
    """Run placed clusters of jobs on the caches and memory of a machine; `job_steps` says what happens in a cycle.

    Args:
        graph: jobs and data, the pins of a job in program order. WRITE without READ and REDUCE writes; REDUCE, or both
            READ and WRITE, updates; everything else reads.
        clustering: of jobs. placement: of its clusters on cores; a core runs its jobs in the order of `ordering`.
        machine: its caches and latencies, `mshrs`, banks (their bandwidth together; 0: as fast as one may ask).
        ordering: of jobs and data; None: as they are.
        model: what else is known of jobs, data and cores.

    Returns:
        A JobSimulation. O(sweeps · pins · ways), about 20 bytes a pin. Deterministic.

    Raises:
        ArgumentError: data clusters, a placement or an order of something else, a machine without latencies or of more
            than 64 cores, arrays that reach into several spaces, sizes that do not fit.
    """
    model = model or JobModel()
    cores = _check(graph, clustering, placement, machine, model)
    rank, order = _orders(graph, ordering)
    array, base, stride, low, first = _arrays(graph, model)
    if not machine.caches:
        raise ArgumentError(f"{machine.name} has no caches, which jobs are simulated with")
    line = machine.caches[0].line
    top = int(base[-1]) if base.size else 0
    streamed = np.zeros(graph.n_jobs + 1, np.int64)
    if model.streamed.size:
        np.cumsum(model.streamed[order], out=streamed[1:])
    lines = (top + int(streamed[-1]) + PAGE) // line + 1
    if lines >= MOST_LINES:
        raise ArgumentError(f"the data have {lines} lines, fewer than {MOST_LINES} were expected")
    data = rank[graph.data] - low[array].astype(np.int32)
    changes = np.zeros(graph.n_pins, np.uint8)
    if graph.access.size:
        writes = (graph.access & (WRITE | REDUCE)) > 0
        changes = np.where(writes, np.where(graph.access == WRITE, 1, 2), 0).astype(np.uint8)
    places, begins, ends = _shares(clustering, placement, model.waves, order, cores)
    work = Work(graph.offsets, data, array, changes, base, stride, first, streamed + top, order, places, begins, ends)
    state = _idle(machine, model, cores, lines, int(first[-1]) if first.size else 0)
    bandwidth = sum(bank.bandwidth for bank in machine.banks)
    costs = Costs(
        float(model.cycles),
        float(model.instructions),
        float(model.window),
        float(machine.memory_latency),
        line / bandwidth if bandwidth else 0.0,
        float(model.forward),
    )
    time = 0.0
    for _ in range(model.sweeps):
        state.found[:] = 0
        state.moved[:] = 0
        time = run_waves(work, state, costs, 0, begins.shape[0])
    moved = int(state.moved[0])
    begun = np.bincount(placement.core_of[clustering.labels], np.diff(graph.offsets), minlength=cores)
    return JobSimulation(
        time=time,
        found=frozen("found", state.found, np.int64),
        moved=moved,
        bytes_moved=moved * line,
        utilisation=frozen("utilisation", begun * model.cycles / max(time, 1e-300), np.float64),
        machine=machine.name,
        clock=machine.clock,
    )


def _check(
    graph: LocalityGraph, clustering: Clustering, placement: Placement, machine: Machine, model: JobModel
) -> int:
    """Cores of the machine. Raises ArgumentError for what does not fit together."""
    placement.check_fits(machine)
    if clustering.kind != "jobs" or clustering.labels.size != graph.n_jobs:
        raise ArgumentError(f"a clustering of the {graph.n_jobs} jobs was expected, {clustering!r} given")
    if placement.core_of.size != clustering.k:
        raise ArgumentError(f"the placement has {placement.core_of.size} clusters, the clustering {clustering.k}")
    cores = len(machine.cores)
    if cores > MOST_CORES:
        raise ArgumentError(f"the machine has {cores} cores, {MOST_CORES} at most at the job level")
    for name, values, size in (
        ("streamed", model.streamed, graph.n_jobs),
        ("waves", model.waves, clustering.k),
    ):
        if values.size and (values.size != size or values.min() < 0):
            raise ArgumentError(f"{name}: {size} numbers from 0 were expected")
    for name, value, least in (
        ("cycles", model.cycles, 0.0),
        ("forward", model.forward, 0.0),
        ("instructions", model.instructions, 1.0),
        ("window", model.window, 1),
        ("sweeps", model.sweeps, 1),
    ):
        if not least <= value < float("inf"):
            raise ArgumentError(f"{name} = {value}, at least {least:g} was expected")
    if model.sweeps > MAX_SWEEPS:
        raise ArgumentError(f"sweeps = {model.sweeps}, {MAX_SWEEPS} at most")
    return cores


def _orders(graph: LocalityGraph, ordering: Ordering | None) -> tuple[Ints, Ints]:
    """Position of each datum, and the jobs in their order."""
    if ordering is None:
        order = np.arange(graph.n_jobs, dtype=np.int32)
        order.setflags(write=False)  # as an Ordering's: kernels are compiled once for both
        return np.arange(graph.n_data, dtype=np.int32), order
    if ordering.jobs.size != graph.n_jobs or ordering.data.size != graph.n_data:
        raise ArgumentError(f"{ordering!r} is an order of another graph")
    ordering.verify_spaces(graph.space_offsets)
    rank = np.empty(graph.n_data, np.int32)
    rank[ordering.data] = np.arange(graph.n_data, dtype=np.int32)
    return rank, ordering.jobs


def _arrays(graph: LocalityGraph, model: JobModel) -> tuple[Ints, Longs, Longs, Longs, Longs]:
    """Array of each pin; of each array: first byte (and end of all), stride, first datum, first record (and end)."""
    spaces = graph.space_offsets
    stride = np.asarray(model.strides, np.int64)
    if stride.size:
        if graph.site.size != graph.n_pins or graph.site.min(initial=0) < 0 or graph.site.max(initial=0) >= stride.size:
            raise ArgumentError(f"the site of each pin has to be one of {stride.size} arrays")
        if stride.min() < 1:
            raise ArgumentError("a record has less than one byte")
        array = graph.site
        space = np.zeros(stride.size, np.int64)
        of_pin = np.searchsorted(spaces, graph.data, side="right") - 1
        space[array] = of_pin
        if (space[array] != of_pin).any():
            raise ArgumentError("the pins of one array reach several index spaces")
    else:
        stride = np.full(graph.n_spaces, WORD)
        array = (np.searchsorted(spaces, graph.data, side="right") - 1).astype(np.int32)
        space = np.arange(graph.n_spaces)
    records = spaces[space + 1] - spaces[space]
    pages = -(-(records * stride) // PAGE) * PAGE
    base = np.concatenate([[0], np.cumsum(pages)]).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(records)]).astype(np.int64)
    return array, base, stride, spaces[space], first


def _shares(
    clustering: Clustering, placement: Placement, waves: Ints, order: Ints, cores: int
) -> tuple[Ints, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Places of the job order by wave and core, in order; begin and end of each share, int64 (waves, cores)."""
    cluster = clustering.labels[order]
    core = placement.core_of[cluster].astype(np.int64)
    wave = waves[cluster].astype(np.int64) if waves.size else np.zeros(order.size, np.int64)
    key = wave * cores + core
    count = int(wave.max(initial=0)) + 1
    ends = np.cumsum(np.bincount(key, minlength=count * cores)).reshape(count, cores)
    sizes = np.bincount(key, minlength=count * cores).reshape(count, cores)
    return np.argsort(key, kind="stable").astype(np.int32), (ends - sizes).astype(np.int64), ends.astype(np.int64)


def _idle(machine: Machine, model: JobModel, cores: int, lines: int, records: int) -> Cores:
    """Cores at cycle 0 with empty caches."""
    levels = levels_of(machine.caches, machine.memory_latency)
    shared = np.array([max(1, cache.shared_by) for cache in machine.caches], np.int64)
    geometry = np.column_stack([levels.geometry, shared])
    tags = 0
    for place, cache in enumerate(machine.caches):
        geometry[place, START] = tags
        tags += -(-cores // int(shared[place])) * (cache.size // cache.line)
    room = model.window + 2
    return Cores(
        np.full(tags, -1, np.int32),
        geometry,
        np.zeros(len(machine.caches) + 1, np.int64),
        np.zeros(lines, np.uint64),
        np.zeros(lines, np.uint8),
        np.zeros(cores),
        np.zeros(cores),
        np.zeros((cores, machine.mshrs)),
        np.full((cores, STREAMS, 2), -1, np.int64),
        np.zeros((cores, room)),
        np.zeros((cores, room)),
        np.zeros((cores, 2), np.int64),
        np.zeros(cores),
        np.full(records, -np.inf),
        np.zeros(1),
        np.zeros(1, np.int64),
    )
