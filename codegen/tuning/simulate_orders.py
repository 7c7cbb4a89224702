"""What the simulator says of the schedules of a region on a machine: one sweep on warm caches, job by job.

The cost of a job whose data are in the first cache is measured, on the first jobs of some orders, and so is none of
what the simulator is asked: how much longer jobs take where their data are not. Placed are the blocks of the schedule,
in the shares that the threads begin with; what threads take over from each other is not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tracecut.codegen.schedule.schedule import Blocks, RegionSchedule, Schedule
from tracecut.ir.clustering import Clustering
from tracecut.ir.machine.machine import Machine
from tracecut.ir.ordering import Ordering
from tracecut.ir.placement import Placement
from tracecut.mapping.simulation.jobs import JobModel, JobSimulation, simulate_jobs
from tracecut.support.arrays import Ints

from .job_accesses import JobAccesses
from .trial import Candidate, Subject, _executor, _mine

PINS = 4096  # of the jobs whose cost is measured: their data fit a first cache or nearly
RUNS = 60
LABEL = re.compile(r"^([-\w.$]+|\"[^\"]+\"):")
TARGET = re.compile(r"label %([-\w.$]+|\"[^\"]+\")")
FREE = re.compile(r"^  (%\S+ = )?(phi|getelementptr|icmp) ")
ORDERS = 4  # whose first jobs are measured


def step_nanoseconds(subject: Subject, accesses: JobAccesses, candidates: Sequence[Candidate]) -> dict[str, float]:
    """Nanoseconds of a pin whose job finds all data near, by variant of the code: the least over some orders.

    The difference of two runs of different length, so that starting them is not in it.
    """
    found: dict[str, float] = {}
    made = sorted((item for item in candidates if item.region_ms is not None), key=lambda item: item.region_ms or 0.0)
    for item in made[:ORDERS]:
        for variant in subject.variants:
            schedule = item.schedules[1]
            mine = _mine(subject, schedule)
            ends = np.cumsum(np.diff(accesses.graph.offsets)[mine.jobs])
            counts = [int(np.searchsorted(ends, pins)) + 1 for pins in (PINS // 2, PINS)]
            if counts[1] >= mine.jobs.size or counts[0] == counts[1]:
                continue
            times = [_first_jobs(subject, schedule, mine, variant, count) for count in counts]
            pins = int(ends[counts[1] - 1] - ends[counts[0] - 1])
            took = (times[1] - times[0]) / pins
            if took > 0:
                found[variant] = min(took, found.get(variant, np.inf))
    return found


def _first_jobs(subject: Subject, schedule: Schedule, mine: RegionSchedule, variant: str, count: int) -> float:
    """Nanoseconds of the first jobs of a schedule, the least of some runs."""
    blocks = Blocks(np.array([0, count], np.int64), np.zeros(1, np.int32))
    short = replace(mine, blocks=blocks, privates=())
    executor = _executor(subject, replace(schedule, regions=(short,)), variant, 1)
    subject.replay.restore()
    executor.enter()
    least = min(subject.replay.run(executor) for _ in range(RUNS))
    executor.leave()
    return float(least)


def instructions_a_step(subject: Subject, accesses: JobAccesses) -> float:
    """Instructions of the innermost loop of the range function for each access that an iteration makes."""
    return max(1.0, innermost(subject.outlined[subject.region].text) / max(1, accesses.sites))


def innermost(text: str) -> int:
    """Instructions of the largest innermost loop of a function, by its LLVM IR.

    A loop reaches from the target of a branch back to that branch. Addresses, merged values and comparisons before a
    branch are no instructions of their own on most processors.
    """
    at: dict[str, int] = {}
    counts: list[int] = []
    branches: list[tuple[int, str]] = []
    for line in text.splitlines():
        if label := LABEL.match(line):
            at[label[1]] = len(counts)
            counts.append(0)
        elif line.startswith("  ") and counts:
            counts[-1] += not FREE.search(line)
            branches += [(len(counts) - 1, target) for target in TARGET.findall(line)]
    loops = {(at[target], block) for block, target in branches if at.get(target, block + 1) <= block}
    inner = [
        own for own in loops if not any(own[0] <= low <= high <= own[1] and (low, high) != own for low, high in loops)
    ]
    return max((sum(counts[low : high + 1]) for low, high in inner), default=sum(counts))


def simulate_schedule(
    subject: Subject, accesses: JobAccesses, schedule: Schedule, machine: Machine, threads: int, model: JobModel
) -> JobSimulation:
    """One schedule on as many cores of a machine as there are threads.

    `model` states the costs of a step; what the schedule says of jobs and data is filled in.
    """
    mine = _mine(subject, schedule)
    graph = accesses.graph
    data = np.arange(graph.n_data, dtype=np.int32)
    for space, low in zip(schedule.spaces, graph.space_offsets[:-1], strict=False):
        data[low : low + space.order.size] = space.order + low
    count = mine.blocks.count
    labels = np.empty(graph.n_jobs, np.int32)
    labels[mine.jobs] = np.repeat(np.arange(count, dtype=np.int32), np.diff(mine.blocks.bounds))
    core_of = block_shares(mine.blocks.waves, threads)
    return simulate_jobs(
        graph,
        Clustering(labels, count, "jobs", schedule.method),
        Placement(core_of, len(machine.cores)),
        machine,
        ordering=Ordering(np.asarray(mine.jobs, np.int32), data, schedule.method),
        model=replace(model, strides=accesses.strides, streamed=accesses.streamed, waves=np.asarray(mine.blocks.waves)),
    )


def block_shares(waves: Ints, threads: int) -> Ints:
    """Thread that begins with each block: of every wavefront an even share, in order (`blocks.c`)."""
    core_of = np.zeros(len(waves), np.int32)
    waves = np.asarray(waves)
    for wave in range(int(waves.max(initial=0)) + 1):
        mine = np.flatnonzero(waves == wave)
        used = min(threads, mine.size)
        ends = np.arange(used + 1) * mine.size // max(1, used)
        core_of[mine] = np.repeat(np.arange(used), np.diff(ends))
    return core_of
