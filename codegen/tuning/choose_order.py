"""Choosing the order of one region by measuring it on its captured memory.

Linear orders first, then clusters where they have a reason and the budget lasts (`candidate_orders.py`); every order is
run on the real kernel (`trial.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from tracecut.codegen.runtime.replay import Outcome
from tracecut.codegen.schedule.graph.candidate_orders import (
    CURVE,
    LINEAR,
    OWN,
    block_copies,
    cluster_methods,
    linear_methods,
    no_reason,
    seconds,
)
from tracecut.codegen.schedule.inspector.wavefronts import MAX_BLOCKS
from tracecut.codegen.schedule.reduce_modes import FAST
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.support.optional_parts import optional
from tracecut.tracer.capture.snapshot import Capture

from .interleaved_timing import ALIKE, best_of, drop_slow, look_again, measure_apart, second_look
from .nothing_left import ONCE, copies_outweigh, gains_nothing, least_misses, nothing_left, to_beat
from .region_statistics import cluster_count, record_bytes, unchanged
from .time_limits import TIMES, TimeLimits
from .trial import Bench, Candidate, Subject, measure_original, predict, try_order

SPENT = "not tried: the budget was spent"
UNCURVED = ("degree-z", "random")  # along the curve already; in no order at all


def tune(
    subject: Subject,
    machine: Machine,
    limits: TimeLimits,
    *,
    method: str,
    threads: int,
    seed: int,
    k: int | None,
    sweeps: float,
    say: Callable[[str], None],
    compare: Sequence[str] = (),
    reduce: str = FAST,
    once: bool = False,
) -> tuple[list[Candidate], Candidate | None]:
    """Measure candidate orders; returns all of them and the best, None when the original stays the fastest.

    Args:
        method: `auto`, or the one method to use. threads: how many the result may use. k: clusters, None: by size.
        sweeps: invocations of the region for each entry of its scope.
        compare: methods that are measured too, whatever they take, but not chosen.
        reduce: `fast` or `ordered` (`cut_into_blocks.py`).
        once: the program's own order is known to fetch each cache line about once; no other one is tried by itself.
    """
    clock = limits.clock
    started = clock()
    ends = math.inf if limits.deadline is None else limits.deadline
    original, reference = measure_original(subject)
    candidates = [original]
    flat = subject.graph.graph
    failures: list[str] = []
    with optional("the prediction of cache misses", failures):
        original.predicted = [] if once else predict(subject, machine, unchanged(flat))
    original.note = "; ".join(failures)
    parts = threads if reduce == FAST else MAX_BLOCKS  # ordered results do not depend on the number of threads
    clusters = default_clusters(subject, machine, parts) if k is None else min(k, max(1, flat.n_jobs))
    bench = Bench(subject, machine, reference, threads, seed, clusters, say, reduce)
    curve = ""
    least = 0.0
    with optional("the least cache misses", []):  # unknown: all are tried
        least = 0.0 if once else least_misses(subject)
    names: tuple[str, ...] = (method,)
    if method == "auto" and once:
        names = (OWN,) if threads > 1 else ()
    elif method == "auto":
        names = _linear_orders(flat, original, threads, least)
    for name in names:
        if name == "original":
            continue
        if not compare:
            drop_slow(candidates, sweeps)
        if len(candidates) > 1 and clock() >= ends:
            candidates.append(Candidate(name, note=SPENT))
            continue
        if method == "auto" and (why := nothing_left(subject, candidates, sweeps)):
            candidates.append(Candidate(name, note=f"not tried: {why}"))
            continue
        unless = to_beat(candidates, sweeps, threads, least) if method == "auto" else None
        known = [item for item in candidates[1:] if item.measured]
        if name not in (OWN, *LINEAR) and method == "auto":  # what is tried for hubs alone
            candidates.append(try_order(bench, name + curve, rivals=known, unless=unless, least=least))
            continue
        together, linear_too = name == OWN, k is not None
        found = try_order(
            bench, name, rivals=known, unless=unless, least=least, linear_too=linear_too, together=together
        )
        candidates.append(found)
        if method == "auto" and found.measured and not known and gains_nothing(candidates, sweeps):
            second_look(subject, original, found)
        curved_too = _with_curve(subject, candidates, sweeps) and name not in UNCURVED and clock() < ends
        if curved_too and not (name == OWN and gains_nothing(candidates, sweeps)):
            if method == "auto" and (why := nothing_left(subject, candidates, sweeps)):
                candidates.append(Candidate(name + CURVE, note=f"not tried: {why}"))
                continue
            curved = try_order(bench, name + CURVE, base=found, linear_too=linear_too, together=together)
            candidates.append(curved)
            curve = CURVE if ALIKE * curved.kernel_ms < found.kernel_ms else ""
    settled = ""
    if method == "auto":
        settled = ONCE if once else nothing_left(subject, candidates, sweeps)
    own = 1e-3 * original.kernel_ms * sweeps * subject.entries if limits.in_proportion else math.inf
    if method == "auto" and not once:
        _try_clusters(bench, candidates, curve, min(started + limits.budget, ends), own, clock, settled)
    if not compare:
        drop_slow(candidates, sweeps)
    if not (settled and gains_nothing(candidates, sweeps)):
        again = measure_original(subject)[0]
        original.region_ms = min(original.kernel_ms, again.kernel_ms)
        say("measuring the fastest again")
        look_again(subject, candidates, sweeps, own)
    best = best_of(candidates, sweeps)
    best_of(candidates, sweeps, alone=True).chosen.add(1)
    best.chosen.add(threads)
    for name in compare:
        if all(item.method.removesuffix(CURVE) != name or not item.measured for item in candidates):
            candidates = [item for item in candidates if item.method.removesuffix(CURVE) != name]
            found = try_order(bench, name if name in UNCURVED else name + curve)
            candidates.append(replace(found, compared=True))
    if compare:
        say("measuring all orders in turns")
        measure_apart(subject, candidates)
    return candidates, None if best.method == "original" else best


def _linear_orders(flat: LocalityGraph, original: Candidate, threads: int, least: float) -> tuple[str, ...]:
    """Linear orders to try; first of all the program's own on all threads, where nothing but threads can gain much.

    `least`: lines a job that any order has to fetch; 0: not known.
    """
    found = linear_methods(flat)
    own = threads > 1 and no_reason(original.forecast, least)
    return (OWN, *found) if own else found


def _with_curve(subject: Subject, candidates: Sequence[Candidate], sweeps: float) -> bool:
    """Whether the order that was tried last is worth a trial with its jobs along the Z-curve."""
    applied = candidates[-1].measured
    return applied and _may_wait(subject) and not copies_outweigh(candidates, sweeps)


def _may_wait(subject: Subject) -> bool:
    """Whether a job may have to wait for the one before: both update one datum, and any order of them will do."""
    plan = subject.inspection.plan
    tied = any(subject.region in space.jobs for space in plan.spaces)
    return subject.inspection.verdicts[subject.region].kind == "reduction" and not tied


def default_clusters(subject: Subject, machine: Machine, threads: int) -> int:
    """Clusters whose data fit half of the second cache, as many for each thread."""
    flat = subject.graph.graph
    sizes = record_bytes(subject.inspection, subject.graph)
    spaces = np.diff(flat.space_offsets)
    total = int(sum(size * int(count) for size, count in zip(sizes, spaces, strict=True)))
    count = cluster_count(flat, total, machine, threads)
    return min(-(-count // threads) * threads, max(1, flat.n_jobs))


def _try_clusters(
    bench: Bench,
    candidates: list[Candidate],
    curve: str,
    deadline: float,
    own: float,
    clock: Callable[[], float],
    why: str,
) -> None:
    """Add the families that have a reason, while the budget lasts; a note on those that are not tried.

    `own`: seconds that the loop takes in a run of the program, for clusters that may take `TIMES` as long.
    `why`: why none can pay, empty if one may.
    """
    until = clock() + TIMES * own
    flat = bench.subject.graph.graph
    measured = [item for item in candidates[1:] if item.measured]
    if not measured and not why:
        why = "no linear order could be applied"
    elif not why:
        fastest = min(measured, key=lambda item: item.kernel_ms)
        with optional("whether clusters could gain more", []):  # unknown: they are tried
            why = no_reason(fastest.forecast, least_misses(bench.subject))
    copies: float | None = None
    for name in cluster_methods(flat):
        left = min(deadline, until) - clock()
        needed = seconds(name, flat, copies)
        if why or needed > left:
            late = f"may need {needed:.2g} s, "
            if until < deadline:
                late += f"the loop takes {own:.2g} s in a run of the program"
            else:
                late += f"{max(left, 0):.0f} s of the budget are left"
            candidates.append(Candidate(name, note=f"not tried: {why or late}"))
            continue
        known = [item for item in candidates[1:] if item.measured]
        found = try_order(bench, name + curve, limit=left, rivals=known)
        candidates.append(found)
        if copies is None and found.ordering is not None:
            copies = block_copies(flat, found.ordering)


def reference_matches(capture_after: Capture, outcome: Outcome) -> bool:
    """Whether the identity order left exactly the bytes that the program's own loop did."""
    for base, data in outcome.objects.items():
        after = capture_after.memory.strided(base, 1, data.size, "i8")
        if after is not None and not np.array_equal(after.view(np.uint8), data):
            return False
    return True
