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
from ..ir.machine import Machine
from ..ir.ordering import Ordering
from ..partition import order
from ..tracer.capture import Capture
from ..tracer.memory import Object
from .build import build_schedule
from .checker import check_schedule
from .executor import Executor, RegionCode
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


@dataclass
class Candidate:
    """One order that was considered. Times in milliseconds; None: not measured, `note` says why."""

    method: str
    inspect_ms: float | None = None
    region_ms: float | None = None
    region_all_ms: float | None = None
    copy_ms: float | None = None
    threads: int = 1
    note: str = ""
    variant: str = ""
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


def tune(
    subject: Subject,
    machine: Machine,
    *,
    method: str,
    threads: int,
    seed: int,
    budget: float,
    sweeps: float,
    say: Callable[[str], None],
) -> tuple[list[Candidate], Candidate | None]:
    """Measure candidate orders; returns all of them and the best, None when the original stays the fastest.

    Args:
        method: `auto`, or the one method to use. threads: how many the result may use. budget: seconds.
        sweeps: invocations of the region for each entry of its scope.
    """
    started = time.perf_counter()
    original = _original(subject)
    reference = original[1]
    candidates = [original[0]]
    for name in CHEAP if method == "auto" else (method,):
        if name != "original":
            candidates.append(_try(subject, name, reference, threads, seed, None, say))
    if method == "auto":
        pins = subject.graph.graph.n_pins
        for name, rate in DEAR.items():
            left = budget - (time.perf_counter() - started)
            why = _not_worth(candidates, pins * rate, left, threads)
            if why:
                candidates.append(Candidate(name, note=f"not tried: {why}"))
            else:
                candidates.append(_try(subject, name, reference, threads, seed, left, say))
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
    limit: float | None,
    say: Callable[[str], None],
) -> Candidate:
    candidate = Candidate(name)
    say(f"trying {name}")
    try:
        start = time.perf_counter()
        candidate.ordering = order(subject.graph.graph, name, seed=seed, time_limit=limit)
        took = time.perf_counter() - start
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
            check_schedule(schedule, [item.size for item in subject.objects], subject.inspection.accesses)
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
        start = time.perf_counter()
        executor.enter()
        enter = time.perf_counter() - start
        first = replay.run(executor) / 1e6
        start = time.perf_counter()
        executor.leave()
        copy_ms = 1e3 * (enter + time.perf_counter() - start)
        _verify(subject, candidate, replay.compare(reference, replay.outcome()))
        executor.enter()
        median = float(np.median(_repeat(replay, executor, first)))
        executor.leave()
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


def _repeat(replay: Replay, executor: Executor, first: float) -> list[float]:
    """Milliseconds of some more runs; the first, on cold copies, is left out when there are others."""
    times: list[float] = []
    while len(times) < 2 or (sum(times) < 1e3 * MIN_TIME and len(times) < MAX_RUNS):
        times.append(replay.run(executor) / 1e6)
        if first > 2e3:
            break
    return times


def _not_worth(candidates: list[Candidate], cost: float, left: float, threads: int) -> str:
    if cost > left:
        return f"needs about {cost:.0f} s, {max(left, 0):.0f} s of the budget are left"
    original = candidates[0].region_ms
    best = min((item.region_ms for item in candidates[1:] if item.region_ms is not None), default=None)
    if original is not None and best is None:
        return "no cheap order could be applied"
    return ""


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
