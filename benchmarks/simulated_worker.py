"""One region for `simulated_real.py`, in the process that inspects it: its orders simulated, and measured in turns.

`optimize` starts it in the place of `tracecut.codegen.tuning.worker`; it leaves `simulated.json` beside the result.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tracecut.codegen.runtime.executor import Executor
from tracecut.codegen.tuning import choose_order, worker
from tracecut.codegen.tuning.choose_order import tune
from tracecut.codegen.tuning.job_accesses import job_accesses
from tracecut.codegen.tuning.simulate_orders import instructions_a_step, simulate_schedule, step_nanoseconds
from tracecut.codegen.tuning.time_limits import TimeLimits
from tracecut.codegen.tuning.trial import Candidate, Subject, _executor
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.measured import measured
from tracecut.mapping.simulation.jobs import JobModel

LEAST_ROUNDS, SECONDS, RUNS = 3, 12.0, 2


def tune_and_simulate(
    subject: Subject, machine: Machine, limits: TimeLimits, **words: Any
) -> tuple[list[Candidate], Candidate | None]:
    """`tune`, and then the measurement and the simulation of every order that it ran.

    The simulations come last: they may run beside others, the measurements may not.
    """
    candidates, best = tune(subject, machine, limits, **words)
    started = time.perf_counter()
    found = measured(Machine.detect())
    ran = [item for item in candidates if item.region_ms is not None]
    accesses = job_accesses(subject.inspection, subject.region)
    costs = step_nanoseconds(subject, accesses, ran)
    instructions = instructions_a_step(subject, accesses)
    calibrated = time.perf_counter() - started
    clock = found.machine.clock / 1e9
    rows: list[dict[str, Any]] = [
        {"method": item.method, "threads": threads, "private": subject_privates(subject, item, threads), "times": []}
        for item in ran
        for threads in item.variants
    ]
    _measure(subject, ran, rows)
    print(f"simulating {len(rows)} runs", flush=True)
    plain = costs.get(f"tc.loop.{subject.region}", min(costs.values(), default=0.0))

    def simulate(item: Candidate, threads: int) -> dict[str, Any]:
        own = costs.get(item.variants[threads], plain) * clock
        model = JobModel(cycles=own, instructions=instructions, forward=found.forward, sweeps=2)
        start = time.perf_counter()
        done = simulate_schedule(subject, accesses, item.schedules[threads], found.used_by(threads), threads, model)
        return {
            "simulated_ms": done.time / clock / 1e6,
            "found": done.found.tolist(),
            "seconds": time.perf_counter() - start,
        }

    each = [(item, threads) for item in ran for threads in item.variants]
    for row, told in zip(rows, side_by_side(simulate, each), strict=True):
        row.update(told)
    text = {
        "rows": rows,
        "calibration_seconds": calibrated,
        "step_ns": costs,
        "instructions": instructions,
        "forward": found.forward,
        "carried": found.carried,
        "pins": accesses.graph.n_pins,
        "jobs": accesses.graph.n_jobs,
        "streamed": int(accesses.streamed.sum()),
        "strides": accesses.strides.tolist(),
        "machine": found.machine.summary(),
    }
    Path(FOLDER[0], "simulated.json").write_text(json.dumps(text))
    return candidates, best


def side_by_side(simulate: Callable[..., dict[str, Any]], each: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Results of the simulations, in turns on this process and a copy of it."""
    path = Path(FOLDER[0], "copy.json")
    copy = os.fork()
    if not copy:
        path.write_text(json.dumps([simulate(*item) for item in each[1::2]]))
        os._exit(0)
    mine = [simulate(*item) for item in each[::2]]
    if os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]):
        raise SystemExit("the copy of the process that simulates every other order died")
    theirs = json.loads(path.read_text())
    return [theirs[n // 2] if n % 2 else mine[n // 2] for n in range(len(each))]


def subject_privates(subject: Subject, item: Candidate, threads: int) -> int:
    """How many arrays have private slots in a schedule."""
    return len(next(r.privates for r in item.schedules[threads].regions if r.region == subject.region))


def _measure(subject: Subject, ran: list[Candidate], rows: list[dict[str, Any]]) -> None:
    """Milliseconds of a sweep, all orders in turns."""
    begun, turn = time.perf_counter(), 0
    while turn < LEAST_ROUNDS or time.perf_counter() - begun < SECONDS:
        for item in ran:
            for threads, variant in item.variants.items():
                executor = _executor(subject, item.schedules[threads], variant, threads)
                subject.replay.restore()
                executor.enter()
                subject.replay.run(executor)
                least = min(_milliseconds(subject, executor, threads) for _ in range(RUNS))
                executor.leave()
                row = next(r for r in rows if r["method"] == item.method and r["threads"] == threads)
                row["times"].append(least)
        turn += 1


def _milliseconds(subject: Subject, executor: Executor, threads: int) -> float:
    """Of one sweep: on one thread those of the processor, which others that use it do not stop."""
    before = time.thread_time_ns()
    wall = subject.replay.run(executor)
    return (wall if threads > 1 else min(wall, time.thread_time_ns() - before)) / 1e6


FOLDER: list[str] = []


class SimulatingWorker(worker.Worker):
    """The worker, which keeps its folder where the simulation finds it."""

    def __init__(self, spec: dict[str, Any], began: float | None = None) -> None:
        super().__init__(spec, began)
        FOLDER[:] = [spec["folder"]]


if __name__ == "__main__":
    worker.tune = tune_and_simulate
    choose_order.measure_apart = lambda *_: None  # `_measure` does it
    worker.Worker = SimulatingWorker  # type: ignore[misc]
    worker.main()
