"""The whole way of a suite: compile, trace, judge every kernel, and run all that may be reordered in adverse orders.

One program holds all kernels, and all of their schedules are woven into it at once. Orders of jobs and of data are
random; the seed of the suite decides on threads, on batches, and on whether new input is inspected anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tracecut.codegen.runtime.reinspect import inspect_again
from tracecut.codegen.schedule.inspector import cut_into_blocks
from tracecut.codegen.schedule.reduce_modes import ORDERED
from tracecut.codegen.schedule.schedule import Schedule
from tracecut.ir.llvm.passes.leave_loops import COPIED
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.toolchain.clang import Flags

from tracecut.pipeline.stages.capture import trace_program
from tracecut.pipeline.stages.compile import compile_program
from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.stages.tune import scope_exits

from ..codegen.harness import Inspected, Program
from ..codegen.replays import load, stopped_by_replay, unsteady
from ..codegen.woven_programs import Ran, run_woven, woven
from .compare import differences
from .model import Kernel, Suite
from .steps import LEAVING

# No fused operations: what is not a sum has to come out to the last bit. No optimisation of the reference, for speed.
FLAGS = Flags(("-ffp-contract=off", "-O1"))


@dataclass(frozen=True)
class Verdict:
    """What became of one kernel.

    Attributes:
        kind: `parallel`, `reduction`, `ordered`, `rejected`; `gone` when the compiler left no loop.
        reason: why it is not movable, or why it was not scheduled.
        rounding: whether its results may change by rounding.
        scheduled: whether a schedule of it ran. used: in how many entries of its scope.
        entry: of the loop that was looked at; a later one where the first may be left early.
        around: whether the schedule is one of a loop around it, over which data stay where it has put them.
    """

    kind: str
    reason: str = ""
    rounding: bool = False
    scheduled: bool = False
    used: int = 0
    entry: int = 1
    around: bool = False

    @property
    def accepted(self) -> bool:
        return self.kind in ("parallel", "reduction")


@dataclass(frozen=True)
class Report:
    """What came of a suite: verdicts and wrong results by kernel, and how the rescheduled program ended.

    `unsteady`: kernels whose ordered schedule gives other bits on another number of threads.
    `stopped`: kernels whose plan a replay on the captured memory would have stopped, and nothing before it.
    """

    suite: Suite
    verdicts: dict[str, Verdict]
    wrong: dict[str, str]
    ran: Ran | None
    stopped: dict[str, str] = field(default_factory=dict)
    unsteady: dict[str, str] = field(default_factory=dict)

    @property
    def entries(self) -> dict[str, int]:
        """For each kernel, which call of it was looked at."""
        return {name: verdict.entry for name, verdict in self.verdicts.items()}


def check(suite: Suite, folder: Path) -> Report:
    """Judge, schedule and run a suite. Nothing that its program does can reach this process."""
    program = traced(suite, folder)
    threads, batched = 1 + suite.seed % 2, suite.seed // 2 % 2 == 1
    verdicts: dict[str, Verdict] = {}
    items: list[Inspected] = []
    schedules: list[Schedule] = []
    ordered: list[Schedule] = []
    with few_jobs():
        for kernel in suite.kernels:
            verdicts[kernel.name], item = judge(program, kernel)
            if item is None:
                continue
            try:
                order = item.random(suite.seed * 1000 + kernel.number)
                schedules.append(item.schedule(order, threads))
                ordered.append(item.schedule(order, reduce=ORDERED))
                items.append(item)
            except UnsupportedError as error:
                verdicts[kernel.name] = replace(verdicts[kernel.name], reason=error.message)
        if not items:
            return Report(suite, verdicts, {}, None)
        loaded = load(items)
        stopped, steps = stopped_by_replay(loaded, schedules), unsteady(loaded, ordered)
        made = woven(items, schedules, batched=batched, threads=threads)
        again = inspect_any if suite.seed % 3 else None
        ran = run_woven(program, made, cpus=tuple(range(threads)), inspect=again)
    used = {int(scope): count for scope, count in ran.used.items()}
    for item in items:
        verdicts[item.mark] = replace(verdicts[item.mark], scheduled=True, used=used.get(item.scope, 0))
    return Report(suite, verdicts, _wrong(suite, program, verdicts, ran), ran, stopped, steps)


def traced(suite: Suite, folder: Path) -> Program:
    """The suite's program, compiled and traced once. All loops are watched, also those that need no index."""
    path = folder / "program.c"
    path.write_text(suite.source, encoding="ascii")
    settings = Settings((str(path),), FLAGS, output=folder / "out", first_entry=1, min_jobs=1)
    compiled = compile_program(settings, folder)
    analysis = compiled.analysis
    analysis.__dict__["records"] = [replace(record, indirect=True) for record in analysis.records]
    place = folder / "trace"
    place.mkdir()
    found = trace_program(settings, analysis, compiled.native, place)
    if isinstance(found, str):
        raise RuntimeError(found)
    lines = {kernel.name: line for kernel, line in zip(suite.kernels, suite.lines, strict=True)}
    return Program(folder, settings, compiled, found, lines)


def judge(program: Program, kernel: Kernel, *, look_up: bool = True) -> tuple[Verdict, Inspected | None]:
    """Verdict of a kernel's loop, and its inspection when it may be reordered. `look_up`: as for `inspect_scope`."""
    line = program.lines[kernel.name]
    analysis = program.compiled.analysis
    found = [record.id for record in analysis.records if record.place.line == line]
    found = [loop for loop in found if not analysis.loop(loop).header.startswith(COPIED)] or found
    if not found:
        return Verdict("gone"), None
    above = analysis.parent(found[0])
    if above is not None and any(record.id == above and record.place.line == line - 1 for record in analysis.records):
        return Verdict("rejected", "its pieces are not joined"), None
    if len(found) > 1:
        return Verdict("rejected", "the compiler made several loops of it"), None
    loop = found[0]
    if loop not in program.traced.profile.captures:
        info = analysis.nest(loop).loops[loop]
        return Verdict("rejected", f"not captured: {info.why or 'its trip count is not known'}"), None
    try:
        item = program.inspect(kernel.name, look_up=look_up)
    except UnsupportedError as error:
        return Verdict("rejected", error.message), None
    if item.scope == item.region and LEAVING & {*kernel.features}:
        item = _with_exits(program, kernel.name, item, look_up=look_up)
    verdict = item.inspection.verdicts[item.region]
    reason = "" if verdict.movable else verdict.reason
    rounding = verdict.rounding or bool(item.inspection.rounding())  # of sums beside that are done in any order
    made = Verdict(verdict.kind, reason, rounding, entry=item.capture.entry)
    made = replace(made, around=verdict.movable and item.scope != item.region)
    return made, item if verdict.movable else None


def _with_exits(program: Program, mark: str, alone: Inspected, *, look_up: bool) -> Inspected:
    """A loop in the outermost scope around it, from which some paths lead that seldom ran; else as it is by itself."""
    region, scope = alone.region, program.scopes_of(alone.region)[0]
    if scope == region or not alone.inspection.verdicts[region].movable:
        return alone
    for exits, _ in scope_exits(program.compiled.analysis, program.traced, scope, region):
        try:
            found = program.inspect_in(mark, region, scope, exits, look_up=look_up)
        except UnsupportedError:
            continue
        if found.inspection.verdicts[region].movable:
            return found
    return alone


@contextmanager
def few_jobs() -> Iterator[None]:
    """Loops of a few iterations are shared out to threads too. Only ordered blocks that meet have wavefronts."""
    before = cut_into_blocks.MIN_JOBS, cut_into_blocks.WIDTH_A_THREAD
    cut_into_blocks.MIN_JOBS, cut_into_blocks.WIDTH_A_THREAD = 2, math.inf
    try:
        yield
    finally:
        cut_into_blocks.MIN_JOBS, cut_into_blocks.WIDTH_A_THREAD = before


def inspect_any(host: Any, state: Any, numbers: Any, memory: Any, why: str, per_call: float) -> Schedule | None:
    """Inspects new input, whether that pays or not."""
    try:
        return inspect_again(host, state.file, numbers, memory)
    except UnsupportedError as error:
        host.say(f"scope {state.file.number}: {why}; it cannot be inspected anew: {error.message}")
        return None


def _wrong(suite: Suite, program: Program, verdicts: dict[str, Verdict], ran: Ran) -> dict[str, str]:
    """Kernel → what is wrong with its results. Where nothing may be rounded, all bits have to be the same."""
    expected, found = program.native_output.decode("ascii"), ran.stdout.decode("ascii", "replace")
    wrong = differences(suite, expected, found)
    theirs, ours = ({line.split()[0]: line for line in text.splitlines() if line} for text in (expected, found))
    for name, verdict in verdicts.items():
        if name not in wrong and not verdict.rounding and ours[name] != theirs[name]:
            wrong[name] = f"other bits: {theirs[name]} became {ours[name]}"
    return wrong
