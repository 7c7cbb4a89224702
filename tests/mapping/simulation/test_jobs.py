"""Job level of the simulator against a slow reference, closed forms, and what it refuses."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tracecut.ir.clustering import Clustering
from tracecut.ir.locality_graph import READ, REDUCE, WRITE, LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.parts import Bank, Cache, Core
from tracecut.ir.ordering import Ordering
from tracecut.ir.placement import Placement
from tracecut.mapping.simulation.jobs import JobModel, simulate_jobs
from tracecut.support.errors import ArgumentError

from .reference_jobs import Jobs

pytestmark = pytest.mark.quick
HOW = {READ: "read", WRITE: "write", REDUCE: "update", READ | WRITE: "update"}


def machine_of(random: Any, cores: int) -> Machine:
    line = int(random.choice([16, 32, 64]))
    caches = [Cache(1, line * 8, line, int(random.choice([1, 2, 8])), 1, 3)]
    if random.random() < 0.7:
        caches.append(Cache(2, line * 32, line * int(random.choice([1, 2])), 4, int(random.choice([1, cores])), 11))
    banks = (Bank(0, 1 << 20, float(random.choice([0.0, 2.0, 16.0]))),)
    return Machine(
        "small",
        tuple(Core(i) for i in range(cores)),
        tuple(caches),
        1 << 20,
        90,
        banks=banks,
        mshrs=int(random.integers(1, 5)),
    )


def case(random: Any) -> dict[str, Any]:
    cores, jobs = int(random.integers(1, 4)), int(random.integers(1, 30))
    sizes = random.integers(1, 40, 2)
    spaces = np.concatenate([[0], np.cumsum(sizes)])
    strides = random.choice([4, 8, 24, 48], 3)
    space = np.array([0, 0, 1])
    counts = random.integers(0, 6, jobs)
    site = random.integers(0, 3, counts.sum())
    data = spaces[space[site]] + random.integers(0, sizes[space[site]])
    access = random.choice([READ, WRITE, REDUCE, READ | WRITE], counts.sum())
    offsets = np.concatenate([[0], np.cumsum(counts)])
    graph = LocalityGraph(offsets, data, int(spaces[-1]), access, site, space_offsets=spaces)
    k = int(random.integers(1, 6))
    order = np.concatenate([low + random.permutation(high - low) for low, high in itertools.pairwise(spaces)])
    model = JobModel(
        strides,
        random.integers(0, 40, jobs),
        float(random.choice([0.5, 1, 3])),
        float(random.integers(1, 5)),
        float(random.choice([0, 7])),
        int(random.choice([4, 20, 256])),
        random.integers(0, 2, k),
        int(random.integers(1, 3)),
    )
    return {
        "graph": graph,
        "clustering": Clustering(random.integers(0, k, jobs), k, "jobs"),
        "placement": Placement(random.integers(0, cores, k), cores),
        "machine": machine_of(random, cores),
        "ordering": Ordering(random.permutation(jobs), order, "any"),
        "model": model,
    }


def slowly(given: dict[str, Any]) -> tuple[float, list[int], int]:
    graph, model, order, machine = given["graph"], given["model"], given["ordering"], given["machine"]
    rank = {int(datum): place for place, datum in enumerate(order.data)}
    spaces = graph.space_offsets.tolist()
    space_of = [next(s for s in range(2) if datum < spaces[s + 1]) for datum in range(graph.n_data)]
    bases, top = {}, 0
    for array, stride in enumerate(model.strides.tolist()):
        mine = [space_of[d] for d, s in zip(graph.data.tolist(), graph.site.tolist(), strict=True) if s == array]
        space = mine[0] if mine else 0
        bases[array] = top, spaces[space]
        top += -(-(spaces[space + 1] - spaces[space]) * stride // 4096) * 4096
    jobs, byte = [], top
    for job in order.jobs.tolist():
        pins = []
        for pin in range(graph.offsets[job], graph.offsets[job + 1]):
            array, stride = int(graph.site[pin]), int(model.strides[graph.site[pin]])
            base, low = bases[array]
            record = rank[int(graph.data[pin])] - low
            pins.append((array, record, base + stride * record, stride, HOW[int(graph.access[pin])]))
        jobs.append((job, (range(byte, byte + int(model.streamed[job])), pins)))
        byte += int(model.streamed[job])
    labels, core_of = given["clustering"].labels, given["placement"].core_of
    waves = [
        [
            [what for job, what in jobs if model.waves[labels[job]] == wave and core_of[labels[job]] == core]
            for core in range(len(machine.cores))
        ]
        for wave in range(2)
    ]
    slow = Jobs(machine, model.cycles, model.instructions, model.forward, model.window)
    time = 0.0
    for _ in range(model.sweeps):
        slow.found, slow.moved = [0] * (len(machine.caches) + 1), 0
        time = slow.sweep(waves)
    return time, slow.found, slow.moved


@pytest.mark.parametrize("seed", range(100))
def test_reference(seed: int) -> None:
    given = case(np.random.default_rng(seed))
    done = simulate_jobs(**given)
    time, found, moved = slowly(given)
    assert done.found.tolist() == found
    assert done.moved == moved
    assert done.time == pytest.approx(time)


def alone(jobs: int, mshrs: int = 1, bandwidth: float = 0.0) -> dict[str, Any]:
    """Jobs that each read a datum of their own, in a page of its own, on one core."""
    graph = LocalityGraph(np.arange(jobs + 1), np.arange(jobs) * 64, 64 * jobs, site=np.zeros(jobs, np.int32))
    banks = (Bank(0, 1 << 20, bandwidth),)
    machine = Machine("one", (Core(0),), (Cache(1, 1024, 64, 4, latency=4),), 1 << 20, 200, banks=banks, mshrs=mshrs)
    return {
        "graph": graph,
        "clustering": Clustering(np.zeros(jobs), 1, "jobs"),
        "placement": Placement([0], 1),
        "machine": machine,
        "model": JobModel(strides=np.array([64]), window=1 << 12),
    }


def test_misses_one_after_the_other() -> None:
    assert simulate_jobs(**alone(50)).time == 50 * 200


def test_misses_side_by_side() -> None:
    assert simulate_jobs(**alone(50, mshrs=50)).time == 49 + 200


def test_bandwidth() -> None:
    """The last of 50 lines begins 49 times 16 cycles behind the first one."""
    assert simulate_jobs(**alone(50, mshrs=50, bandwidth=4.0)).time == 49 * 16 + 200


def test_window() -> None:
    """One instruction before it may be under way: two misses at a time, however many the core could have."""
    given = alone(50, mshrs=50)
    given["model"] = replace(given["model"], window=1)
    assert simulate_jobs(**given).time == 25 * 200 + 1


def test_streams_are_fetched_ahead() -> None:
    """Of 64 lines one after the other only the first one of their page is waited for."""
    given = alone(64)
    given["graph"] = LocalityGraph(np.arange(65), np.arange(64), 64, site=np.zeros(64))
    assert simulate_jobs(**given).time == 200 + 63


def test_updates_follow_each_other() -> None:
    given = alone(40, mshrs=50)
    given["graph"] = LocalityGraph(np.arange(41), np.zeros(40), 1, np.full(40, REDUCE), np.zeros(40))
    given["model"] = replace(given["model"], forward=9.0)
    assert simulate_jobs(**given).time == 200 + 39 * 9


def test_warm() -> None:
    given = alone(4, mshrs=50)
    given["model"] = replace(given["model"], sweeps=2)
    done = simulate_jobs(**given)
    assert done.found.tolist() == [4, 0]
    assert done.time == 3 + 4
    assert done.seconds is None


def refused(match: str, **words: Any) -> None:
    with pytest.raises(ArgumentError, match=match):
        simulate_jobs(**{**alone(4), **words})


def test_refusals() -> None:
    refused("clustering of the 4 jobs", clustering=Clustering(np.zeros(4), 1, "data"))
    refused("clustering of the 4 jobs", clustering=Clustering(np.zeros(3), 1, "jobs"))
    refused("the clustering 1", placement=Placement([0, 0], 1))
    refused("placement is for 2 cores", placement=Placement([0], 2))
    refused("order of another graph", ordering=Ordering([0, 1], [0, 1, 2, 3], "any"))
    refused("sweeps = 0", model=JobModel(sweeps=0))
    refused("sweeps = 99", model=JobModel(sweeps=99))
    refused("cycles = nan", model=JobModel(cycles=float("nan")))
    refused("streamed", model=JobModel(streamed=np.ones(3, np.int64)))
    refused("streamed", model=JobModel(streamed=np.full(4, -1)))
    refused("waves", model=JobModel(waves=np.zeros(3, np.int32)))
    refused("less than one byte", model=JobModel(strides=np.array([0])))
    refused(
        "one of 1 arrays",
        model=JobModel(strides=np.array([8])),
        graph=LocalityGraph(np.arange(5), np.arange(4), 4, site=np.ones(4)),
    )
    refused(
        "several index spaces",
        model=JobModel(strides=np.array([8])),
        graph=LocalityGraph(np.arange(5), np.arange(4), 4, site=np.zeros(4), space_offsets=[0, 2, 4]),
    )
    refused("answers in 0 cycles", machine=Machine("bare", (Core(0),), (Cache(1, 1024),), 1 << 20))
    many = Machine("many", tuple(map(Core, range(65))), (Cache(1, 1024, latency=4),), 1 << 20, 200)
    refused("64 at most", machine=many, placement=Placement([0], 65))
