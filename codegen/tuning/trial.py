"""A trial of one order on the real loop: made, checked, compared with the original, and timed on one thread and on
all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from tracecut.codegen.host.vector_versions import rounds_freely
from tracecut.codegen.runtime.executor import Executor, RegionCode
from tracecut.codegen.runtime.replay import ORIGINAL, Comparison, Outcome, Replay
from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.codegen.schedule.graph.candidate_orders import CURVE, OWN, Forecast, make_order, shared_data
from tracecut.codegen.schedule.graph.scope_graph import ScopeGraph
from tracecut.codegen.schedule.inspector.build_schedule import build_schedule
from tracecut.codegen.schedule.inspector.inspect_scope import Inspection
from tracecut.codegen.schedule.plan.range_function import Group, Outlined
from tracecut.codegen.schedule.reduce_modes import FAST, ORDERED
from tracecut.codegen.schedule.schedule import Guard, RegionSchedule, Schedule
from tracecut.codegen.schedule.shared_arrays import with_arrays_of
from tracecut.ir.machine.machine import Machine
from tracecut.ir.ordering import Ordering
from tracecut.ir.reuse_distance import locality_profile
from tracecut.partition import METHODS
from tracecut.partition.linear_orders.z_order import along_z
from tracecut.support.errors import BackendError, ScheduleError, TracecutError, UnsupportedError
from tracecut.support.memory_budget import give_back_freed
from tracecut.support.optional_parts import optional, reason_of
from tracecut.support.tolerances import CANCELLING, RESULTS, SUM, of_sum
from tracecut.tracer.legality.evaluation.memory import Object
from tracecut.tracer.runtime.binding import Native

from .region_statistics import record_bytes

MIN_TIME, MAX_RUNS = 0.25, 12

ALONE = "not measured: its jobs cannot be shared out to threads"
REFUSED = "refused"  # how the note of an order begins that cannot be applied


class ChangedResultError(ScheduleError):
    """An order that passed every check changed the result in its replay: a wrong plan, stopped by the last safety
    check."""


@dataclass
class Candidate:
    """One order that was considered. Times in milliseconds; None: not measured, `note` says why.

    `predicted`: misses a job beyond each cache level, by reuse distance; `shared`: data that threads would share.
    `order_ms`: of the method alone, `check_ms`: of the independent check of the last schedule that was made; both are
    parts of `inspect_ms`. `clusters`: how many were asked for, None for a linear order. `compared`: measured for
    comparison, never chosen. `threads`: that had work, of those asked for. By threads asked for: `schedules`, none of
    the program's own order, which is made when it is needed, and in
    `variants` the region's code that was fastest with each; in `apart_ms` a measurement that had no part in any choice
    (`interleaved_timing.measure_apart`). `chosen`: for how many threads asked for it is the best of its rivals.
    """

    method: str
    clusters: int | None = None
    compared: bool = False
    inspect_ms: float | None = None
    order_ms: float = 0.0
    region_ms: float | None = None
    region_all_ms: float | None = None
    copy_ms: float | None = None
    check_ms: float | None = None
    threads: int = 1
    note: str = ""
    predicted: list[float] = field(default_factory=list)
    shared: float = 0.0
    comparison: Comparison | None = None
    ordering: Ordering | None = None
    schedules: dict[int, Schedule] = field(default_factory=dict)
    variants: dict[int, str] = field(default_factory=dict)
    apart_ms: dict[int, float] = field(default_factory=dict)
    chosen: set[int] = field(default_factory=set)

    def drop(self) -> None:
        """Forget the order itself; what was measured stays."""
        self.ordering = None
        self.schedules.clear()

    def cost(self, sweeps: float, *, alone: bool = False) -> float:
        """Milliseconds a sweep, the copies at the edges of the scope included; `alone`: on one thread.

        Inspection is not: its result is saved with the program, and the break-even point is reported beside it.
        """
        one = float("inf") if self.region_ms is None else self.region_ms
        return (one if alone else self.kernel_ms) + (self.copy_ms or 0.0) / sweeps

    @property
    def measured(self) -> bool:
        """Whether it ran, on any number of threads."""
        return self.region_ms is not None or self.region_all_ms is not None

    @property
    def fastest(self) -> int:
        """For how many threads asked for it took least; the key of `schedules` and `variants`."""
        alone = self.region_ms is not None and self.region_all_ms is not None and self.region_all_ms > self.region_ms
        return 1 if alone or self.region_all_ms is None else max(self.variants)

    @property
    def variant(self) -> str:
        """The region's code that goes with that."""
        return self.variants.get(self.fastest, "")

    @property
    def kernel_ms(self) -> float:
        """Milliseconds a sweep, without copies; infinite when it was not measured."""
        return min((ms for ms in (self.region_ms, self.region_all_ms) if ms is not None), default=float("inf"))

    @property
    def forecast(self) -> Forecast:
        return Forecast(tuple(self.predicted), self.shared)


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

    def tidy(self) -> None:
        """Drop what was made on the way and can be made again: long vectors of the evaluation, the graph the other way
        around, bytes of the capture that lie in its file."""
        self.graph.graph.forget()
        self.inspection.accesses.evaluation.forget()
        give_back_freed()


@dataclass(frozen=True, eq=False)
class Bench:
    """What stays the same from one trial to the next.

    Attributes:
        subject, machine: what runs where. reference: what the original leaves behind.
        threads: how many may be used. seed: of every method. clusters: how many are asked for.
        reduce: `fast` or `ordered` (`cut_into_blocks.py`).
        say: takes what is being done.
    """

    subject: Subject
    machine: Machine
    reference: Outcome
    threads: int
    seed: int
    clusters: int
    say: Callable[[str], None]
    reduce: str = FAST


def measure_original(subject: Subject) -> tuple[Candidate, Outcome]:
    """The program's own order on one thread, and what it leaves behind."""
    subject.tidy()
    replay = subject.replay
    executor = Executor(subject.native, replay.identity(), [], {subject.region: replay.code(original=True)})
    executor.enter()
    replay.restore()
    first = replay.run(executor) / 1e6
    reference = replay.outcome()
    times = _repeat(replay, executor, first)
    same = Comparison(True)
    found = Candidate("original", inspect_ms=0.0, region_ms=float(np.median(times)), copy_ms=0.0, comparison=same)
    found.variants[1] = ""
    return found, reference


def try_order(
    bench: Bench,
    name: str,
    *,
    limit: float | None = None,
    rivals: Sequence[Candidate] = (),
    unless: Candidate | None = None,
    least: float = 0.0,
    base: Candidate | None = None,
    linear_too: bool = False,
    together: bool = False,
) -> Candidate:
    """One order, made and measured.

    Args:
        bench: the setting. name: a method, with `CURVE` behind it where the jobs follow the Z-curve.
        limit: seconds for methods that can be stopped.
        rivals: measured orders; when one of them is clearly predicted to be better, this one is not measured.
        unless: if no fewer cache misses are predicted than with this one, the order is not measured.
        least: lines a job that any order has to fetch.
        base: the candidate of the same method without `CURVE`, if it was tried: its order is made use of.
        linear_too: cut linear orders into blocks as well; their chunks are even without.
        together: on all threads alone.

    A method that fails, or an order that cannot be applied, leaves a note. Raises ScheduleError when an order
    changes the result.
    """
    subject, flat = bench.subject, bench.subject.graph.graph
    candidate = Candidate(name)
    own = name.removesuffix(CURVE) == OWN
    if linear_too or not (own or METHODS[name.removesuffix(CURVE)].kind == "order"):
        candidate.clusters = bench.clusters
    bench.say(f"trying {name}")
    try:
        start = time.perf_counter()
        if base is not None and base.ordering is not None:
            candidate.ordering = along_z(flat, base.ordering)
        else:
            candidate.ordering = make_order(flat, name, k=candidate.clusters, seed=bench.seed, time_limit=limit)
        took = time.perf_counter() - start
        if base is not None:
            took += base.order_ms / 1e3
        candidate.order_ms = 1e3 * took
        failures: list[str] = []
        with optional("the prediction of cache misses", failures):
            candidate.predicted = predict(subject, bench.machine, candidate.ordering)
            candidate.shared = shared_data(flat, candidate.ordering, bench.threads)
        candidate.note = "; ".join(failures)
        better = next((item for item in rivals if candidate.forecast.worse_than(item.forecast)), None)
        if better is not None:
            candidate.note = f"not measured: more cache misses are predicted than with {better.method}"
            return candidate
        if unless is not None and not candidate.forecast.fetches_less_than(unless.forecast, least):
            candidate.note = f"not measured: no fewer cache misses are predicted than with {unless.method}"
            return candidate
        subject.tidy()
        for count in dict.fromkeys((bench.threads,) if together else (1, bench.threads)):
            if bench.reduce == ORDERED and candidate.schedules:  # the same for any number of threads
                schedule = candidate.schedules[count] = candidate.schedules[1]
                _measure(subject, candidate, schedule, bench.reference, count)
                continue
            start = time.perf_counter()
            schedule = build_schedule(
                subject.inspection.plan,
                subject.graph,
                candidate.ordering,
                subject.guard,
                subject.objects,
                subject.groups,
                threads=count,
                reduce=bench.reduce,
            )
            inspection = subject.inspection
            checking = time.perf_counter()
            check_schedule(schedule, subject.objects, inspection.accesses, subject.groups, inspection.plan.movable)
            candidate.check_ms = 1e3 * (time.perf_counter() - checking)
            if candidate.inspect_ms is None:
                candidate.inspect_ms = subject.common_ms + 1e3 * (took + time.perf_counter() - start)
            if candidate.schedules:
                schedule = with_arrays_of(schedule, candidate.schedules[1])
            candidate.schedules[count] = schedule
            subject.tidy()
            _measure(subject, candidate, schedule, bench.reference, count)
        if together and not candidate.measured:
            candidate.note = ALONE
    except ScheduleError:
        raise
    except Exception as error:  # of a method, or of a foreign library: others are tried
        refused = isinstance(error, TracecutError) and not isinstance(error, BackendError)
        candidate.note = f"{REFUSED if refused else 'failed'}: {reason_of(error)}"
    return candidate


def _measure(subject: Subject, candidate: Candidate, schedule: Schedule, reference: Outcome, count: int) -> None:
    """Time every variant of the region's code on one schedule; the results of each are compared first."""
    replay = subject.replay
    mine = _mine(subject, schedule)
    if count > 1 and mine.blocks.widest() == 1:
        return
    best: tuple[float, str] | None = None
    for variant in subject.variants:
        executor = _executor(subject, schedule, variant, count)
        replay.restore()
        enter = _timed(executor.enter)
        first = replay.run(executor) / 1e6
        leave = _timed(executor.leave)
        _verify(subject, candidate, replay.compare(reference, replay.outcome(kept=False)))
        again = _timed(executor.enter)  # copies of what has not changed are kept
        median = float(np.median(_repeat(replay, executor, first)))
        leave = min(leave, _timed(executor.leave))
        del executor  # and what it has copied, before the next one copies as much
        copy_ms = leave + (enter + (subject.entries - 1) * again) / subject.entries
        candidate.copy_ms = copy_ms if best is None else min(copy_ms, candidate.copy_ms or copy_ms)
        if best is None or median < best[0]:
            best = median, variant
    assert best is not None
    candidate.variants[count] = best[1]
    if count == 1:
        candidate.region_ms = best[0]
    else:
        candidate.region_all_ms, candidate.threads = best[0], min(count, mine.blocks.widest())


def time_again(subject: Subject, candidate: Candidate) -> dict[int, float]:
    """Milliseconds a sweep of an order that was measured before, by threads; it is put into force anew for this.

    Where its copies take less than before, that is kept as well.
    """
    found: dict[int, float] = {}
    for count, variant in candidate.variants.items():
        own = candidate.method == ORIGINAL
        schedule = subject.replay.identity() if own else candidate.schedules[count]
        executor = _executor(subject, schedule, variant, count)
        subject.replay.restore()
        enter = _timed(executor.enter)
        first = subject.replay.run(executor) / 1e6
        found[count] = float(np.median(_repeat(subject.replay, executor, first)))
        copies = enter + _timed(executor.leave)
        del executor, schedule
        candidate.copy_ms = copies if candidate.copy_ms is None else min(candidate.copy_ms, copies)
    return found


def _mine(subject: Subject, schedule: Schedule) -> RegionSchedule:
    return next(region for region in schedule.regions if region.region == subject.region)


def _executor(subject: Subject, schedule: Schedule, variant: str, threads: int) -> Executor:
    """The region's part of a schedule on the captured memory."""
    replay = subject.replay
    copied = [move.object for move in schedule.moves] + [copy.object for copy in _mine(subject, schedule).copies]
    for number in copied:
        if subject.objects[number].base not in replay.buffers:
            raise UnsupportedError("memory that it would copy was not captured")
    code = replay.code(variant, original=schedule.method == ORIGINAL)
    codes: dict[int, RegionCode] = {subject.region: code}
    alone = replace(schedule, regions=(_mine(subject, schedule),))
    return Executor(subject.native, alone, replay.bases(subject.objects), codes, threads=threads)


def _verify(subject: Subject, candidate: Candidate, found: Comparison) -> None:
    allowed = tolerances(subject)
    over = {type: error for type, error in found.errors.items() if not error <= allowed.get(type, 0.0)}
    if not found.bit_equal and over:
        if all(error <= CANCELLING * allowed.get(type, 0.0) for type, error in over.items()):
            type, error = max(over.items(), key=lambda item: item[1])
            limit = f"{allowed[type]:g} is allowed ({type})"
            raise UnsupportedError(f"sums that nearly cancel change by {error:.3g} at {found.worst}, {limit}")
        raise ChangedResultError(
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


def predict(subject: Subject, machine: Machine, ordering: Ordering) -> list[float]:
    """Misses a job beyond each cache level."""
    flat = subject.graph.graph
    if not flat.n_pins:
        return []
    sizes = record_bytes(subject.inspection, subject.graph)
    return [float(value) for value in locality_profile(flat, ordering, sizes, machine.caches).misses_per_job]


def tolerances(subject: Subject) -> dict[str, float]:
    """How far the region's results may be from those of the original order, by type; what is not named, not at all."""
    outlined = subject.outlined[subject.region]
    if not (subject.inspection.verdicts[subject.region].rounding or rounds_freely(outlined.text)):
        return {}
    written = [site.type for site in subject.inspection.accesses.nest.sites_in(subject.region) if site.writes]
    jobs = subject.inspection.accesses.size(subject.region) or 0
    sums = {item.type for item in outlined.reductions if item.type in RESULTS}
    found = {type: allowed for type, allowed in RESULTS.items() if type in written}
    return found | {SUM + type: of_sum(type, jobs) for type in sorted(sums)}
