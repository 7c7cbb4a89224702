"""Choosing the order of one region by measuring it on its captured memory.

Cheap orders first, dear ones while the budget lasts; every order is run on the real kernel, compared with the
original, and timed on one thread and on all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..ir.errors import BackendError, ScheduleError, TracecutError
from ..ir.graph import LocalityGraph
from ..ir.machine import Machine
from ..ir.ordering import Ordering
from ..ir.reuse import locality_profile
from ..partition import order
from ..tracer.capture import Capture
from ..tracer.memory import Object
from .build import build_schedule
from .checker import check_schedule
from .executor import Executor, RegionCode
from .figures import record_bytes
from .grouping import Group
from .incidence import ScopeGraph
from .inspect import Inspection
from .native import Native
from .outline import Outlined
from .replay import Comparison, Outcome, Replay
from .schedule import Guard, Schedule

CHEAP = ("rcm", "degree-z")
DEAR = {"metis": 0.9e-6, "spac": 2.2e-6}  # seconds a pin, for the decision whether the budget allows it
TOLERANCE = {"double": 1e-12, "float": 1e-5}
MIN_TIME, MAX_RUNS = 0.25, 12
LINE = 64  # bytes of a cache line
NEARLY = 1.15  # misses within this factor of the least possible leave nothing to gain


@dataclass
class Candidate:
    """One order that was considered. Times in milliseconds; None: not measured, `note` says why.

    `predicted`: misses a job beyond each cache level, by reuse distance. `check_ms`: of the independent check of the
    last schedule that was made; a part of `inspect_ms`.
    """

    method: str
    inspect_ms: float | None = None
    region_ms: float | None = None
    region_all_ms: float | None = None
    copy_ms: float | None = None
    check_ms: float | None = None
    threads: int = 1
    note: str = ""
    variant: str = ""
    predicted: list[float] = field(default_factory=list)
    comparison: Comparison | None = None
    ordering: Ordering | None = None
    schedules: dict[int, Schedule] = field(default_factory=dict)

    def cost(self, sweeps: float) -> float:
        """Milliseconds a sweep, the copies at the edges of the scope included.

        Inspection is not: its result is saved with the program, and the break-even point is reported beside it.
        """
        times = [value for value in (self.region_ms, self.region_all_ms) if value is not None]
        return min(times) + (self.copy_ms or 0.0) / sweeps if times else float("inf")


@dataclass(frozen=True, eq=False)
class Subject:
    """What is tuned: an inspected scope, the region that is measured, and its code.

    `variants`: names of the region's range functions, the plain one first. `common_ms`: inspection before any order.
    `entries`: how often a run enters the scope; copies of what has not changed are made the first time only.
    """

    inspection: Inspection
    graph: ScopeGraph
    guard: Guard
    objects: list[Object]
    groups: Mapping[int, list[Group]]
    outlined: Mapping[int, Outlined]
    region: int
    replay: Replay
    native: Native
    common_ms: float
    variants: tuple[str, ...]
    entries: int = 1


def tune(
    subject: Subject,
    machine: Machine,
    *,
    method: str,
    threads: int,
    seed: int,
    k: int | None,
    budget: float,
    sweeps: float,
    say: Callable[[str], None],
) -> tuple[list[Candidate], Candidate | None]:
    """Measure candidate orders; returns all of them and the best, None when the original stays the fastest.

    Args:
        method: `auto`, or the one method to use. threads: how many the result may use. k: clusters, None: by size.
        budget: seconds.
        sweeps: invocations of the region for each entry of its scope.
    """
    started = time.perf_counter()
    original = _original(subject)
    reference = original[1]
    candidates = [original[0]]
    flat = subject.graph.graph
    candidates[0].predicted = _predict(subject, machine, unchanged(flat))
    for name in CHEAP if method == "auto" else (method,):
        if name != "original":
            candidates.append(_try(subject, name, reference, threads, seed, k, None, machine, say))
    if method == "auto":
        for name, rate in DEAR.items():
            left = budget - (time.perf_counter() - started)
            why = _not_worth(subject, candidates, flat.n_pins * rate, left)
            if why:
                candidates.append(Candidate(name, note=f"not tried: {why}"))
            else:
                candidates.append(_try(subject, name, reference, threads, seed, k, left, machine, say))
    best = min(candidates, key=lambda item: item.cost(sweeps))
    # Of orders that are as good, the one that is found first.
    close = [item for item in candidates if item.cost(sweeps) <= 1.02 * best.cost(sweeps)]
    best = min(close, key=lambda item: (item.inspect_ms or 0.0, item.method))
    return candidates, None if best.method == "original" else best


def _original(subject: Subject) -> tuple[Candidate, Outcome]:
    replay = subject.replay
    executor = Executor(subject.native, replay.identity(), [], {subject.region: replay.code()})
    executor.enter()
    replay.restore()
    first = replay.run(executor) / 1e6
    reference = replay.outcome()
    times = _repeat(replay, executor, first)
    return Candidate("original", 0.0, float(np.median(times)), copy_ms=0.0, comparison=Comparison(True, 0.0)), reference


def _try(
    subject: Subject,
    name: str,
    reference: Outcome,
    threads: int,
    seed: int,
    k: int | None,
    limit: float | None,
    machine: Machine,
    say: Callable[[str], None],
) -> Candidate:
    candidate = Candidate(name)
    say(f"trying {name}")
    try:
        start = time.perf_counter()
        parts = None if k is None else min(k, max(1, subject.graph.graph.n_jobs))  # more would all be empty
        candidate.ordering = order(subject.graph.graph, name, k=parts, seed=seed, time_limit=limit)
        took = time.perf_counter() - start
        candidate.predicted = _predict(subject, machine, candidate.ordering)
        for count in dict.fromkeys((1, threads)):
            start = time.perf_counter()
            schedule = build_schedule(
                subject.inspection.plan,
                subject.graph,
                candidate.ordering,
                subject.guard,
                subject.objects,
                subject.groups,
                threads=count,
            )
            inspection = subject.inspection
            checking = time.perf_counter()
            check_schedule(schedule, subject.objects, inspection.accesses, subject.groups, inspection.plan.movable)
            candidate.check_ms = 1e3 * (time.perf_counter() - checking)
            if count == 1:
                candidate.inspect_ms = subject.common_ms + 1e3 * (took + time.perf_counter() - start)
            candidate.schedules[count] = schedule
            _measure(subject, candidate, schedule, reference, count)
    except BackendError as error:
        candidate.note = f"failed: {error.message}"
    except ScheduleError:
        raise
    except TracecutError as error:
        candidate.note = f"refused: {error.message}"
    return candidate


def _measure(subject: Subject, candidate: Candidate, schedule: Schedule, reference: Outcome, count: int) -> None:
    """Time every variant of the region's code on one schedule; the results of each are compared first."""
    replay = subject.replay
    mine = next(region for region in schedule.regions if region.region == subject.region)
    if count > 1 and mine.threads == 1:
        return
    alone = replace(schedule, regions=(mine,))
    best: tuple[float, str] | None = None
    for variant in subject.variants:
        codes: dict[int, RegionCode] = {subject.region: replay.code(variant)}
        executor = Executor(subject.native, alone, replay.bases(subject.objects), codes, threads=count)
        replay.restore()
        enter = _timed(executor.enter)
        first = replay.run(executor) / 1e6
        leave = _timed(executor.leave)
        _verify(subject, candidate, replay.compare(reference, replay.outcome()))
        again = _timed(executor.enter)  # copies of what has not changed are kept
        median = float(np.median(_repeat(replay, executor, first)))
        leave = min(leave, _timed(executor.leave))
        copy_ms = leave + (enter + (subject.entries - 1) * again) / subject.entries
        candidate.copy_ms = copy_ms if best is None else min(copy_ms, candidate.copy_ms or copy_ms)
        if best is None or median < best[0]:
            best = median, variant
    assert best is not None
    if count == 1:
        candidate.region_ms, candidate.variant = best
    else:
        candidate.region_all_ms, candidate.threads = best[0], mine.threads
        if best[0] < (candidate.region_ms or float("inf")):
            candidate.variant = best[1]


def _verify(subject: Subject, candidate: Candidate, found: Comparison) -> None:
    tolerance = max(TOLERANCE[type] for type in _float_types(subject) or {"double"})
    rounding = subject.inspection.verdicts[subject.region].rounding
    if not found.bit_equal and (not rounding or not found.max_rel_error <= tolerance):
        raise ScheduleError(
            f"order {candidate.method} changes the result: error {found.max_rel_error:.3g} at {found.worst}",
            hint="This is a bug in tracecut: please report it with the program.",
        )
    if candidate.comparison is None or found.max_rel_error >= candidate.comparison.max_rel_error:
        candidate.comparison = found


def _timed(step: Callable[[], None]) -> float:
    """Milliseconds that a step takes."""
    start = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - start)


def _repeat(replay: Replay, executor: Executor, first: float) -> list[float]:
    """Milliseconds of some more runs; the first, on cold copies, is left out when there are others."""
    times: list[float] = []
    while len(times) < 2 or (sum(times) < 1e3 * MIN_TIME and len(times) < MAX_RUNS):
        times.append(replay.run(executor) / 1e6)
        if first > 2e3:
            break
    return times


def unchanged(graph: LocalityGraph) -> Ordering:
    """The program's own order."""
    return Ordering(np.arange(graph.n_jobs, dtype=np.int32), np.arange(graph.n_data, dtype=np.int32), "original")


def _predict(subject: Subject, machine: Machine, ordering: Ordering) -> list[float]:
    flat = subject.graph.graph
    if not flat.n_pins:
        return []
    sizes = record_bytes(subject.inspection, subject.graph)
    return [float(value) for value in locality_profile(flat, ordering, sizes, machine.caches).misses_per_job]


def _not_worth(subject: Subject, candidates: list[Candidate], cost: float, left: float) -> str:
    """Why a dear order is not tried: no time for it, or nothing left that it could gain."""
    measured = [item for item in candidates[1:] if item.region_ms is not None]
    if candidates[0].region_ms is not None and not measured:
        return "no cheap order could be applied"
    least = _least_misses(subject)
    best = min((item.predicted[1:] for item in measured if len(item.predicted) > 1), default=None)
    if best and least and all(misses <= NEARLY * least for misses in best):
        return "a cheap order already fetches each cache line about once"
    if cost > left:
        return f"needs about {cost:.0f} s, {max(left, 0):.0f} s of the budget are left"
    return ""


def _least_misses(subject: Subject) -> float:
    """Lines a job that have to be fetched in any order: each datum that is touched, once a sweep."""
    flat = subject.graph.graph
    sizes = record_bytes(subject.inspection, subject.graph)
    used = [
        np.count_nonzero(np.bincount(flat.data, minlength=flat.n_data)[low:high]) * size
        for low, high, size in zip(flat.space_offsets[:-1], flat.space_offsets[1:], sizes, strict=True)
    ]
    return float(sum(used)) / LINE / max(1, flat.n_jobs)


def _float_types(subject: Subject) -> set[str]:
    sites = subject.inspection.accesses.nest.sites_in(subject.region)
    types = {site.type for site in sites if site.writes and site.type in TOLERANCE}
    return types | {item.type for item in subject.outlined[subject.region].reductions if item.type in TOLERANCE}


def reference_matches(capture_after: Capture, outcome: Outcome) -> bool:
    """Whether the identity order left exactly the bytes that the program's own loop did."""
    for base, data in outcome.objects.items():
        after = capture_after.memory.contents.get(base)
        if after is not None and not np.array_equal(after, data):
            return False
    return True
