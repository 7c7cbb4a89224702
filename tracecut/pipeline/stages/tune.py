"""Stage `tune`: the hot loops are inspected and tuned, each in a worker process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.ir.llvm.debug_info import SYSTEM, Place
from tracecut.ir.llvm.module_json import function_in, module_out
from tracecut.ir.loops.refusals import carried_in_memory, refusal
from tracecut.support.errors import ArtefactError, TracecutError
from tracecut.support.files import write_atomic, write_text
from tracecut.support.memory_budget import default_budget
from tracecut.support.process.early_worker import EarlyWorker
from tracecut.support.process.runner import Limits
from tracecut.support.process.workers import run_worker
from tracecut.tracer.loops.exits import block_counts, counted_blocks, find_exits
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.runtime.link import runtime_object

from .called_from import called_from
from .capture import Traced, functions_of, hooked_loops
from .deadline import Deadline
from .looking_time import LookingTime
from .select_loops import Hot, executed_work
from .settings import Settings
from .why_no_order import kept_apart, no_order, too_costly

# An inspection is stopped after this many seconds plus this multiple of the budget for trying orders.
SECONDS, PATIENCE = 300.0, 20.0


WORKER = "tracecut.codegen.tuning.worker"
NEVER = Deadline()
CALLED = "; the program comes to it by a call"  # of a library's header, at the line that is named
FAILED = "its inspection failed"  # how the reason of a loop begins whose worker died


@dataclass(frozen=True, eq=False)
class RegionResult:
    """The result for one hot loop. `data` is the worker's result; `scope` is set if a schedule was made.

    `outlined`: the range function of each region of the scope.
    """

    hot: Hot
    loop: int
    data: dict[str, Any]
    scope: ScopeFile | None = None
    outlined: Mapping[int, Outlined] = field(default_factory=dict)
    refused: str = ""

    @property
    def optimized(self) -> bool:
        return self.scope is not None and not self.refused


def tune_regions(
    settings: Settings,
    analysis: Analysis,
    traced: Traced,
    hots: Sequence[Hot],
    folder: Path,
    cpus: Sequence[int],
    say: Callable[[str], None],
    deadline: Deadline = NEVER,
    early: EarlyWorker | None = None,
    seconds: float | None = None,
) -> list[RegionResult]:
    """Tune the hot loops in the order of their share, each for its share of the time until the deadline.

    Loops inside a chosen scope are skipped, and a later loop gets no scope around one of them: a loop can have only
    one order. `early`: the worker of the first; it is ended if there is none. `seconds`: of the program, None: loops
    are inspected whatever can be saved of them.
    """
    results: list[RegionResult] = []
    covered: set[int] = set()
    ordered: set[int] = set()
    number = first_region = 0
    worth = seconds if seconds is not None and _left_to_us(settings) else None
    work = executed_work(analysis, traced.profile) if worth is not None else {}
    passed: dict[int, dict[str, Any]] | None = None  # what the first worker has found of other loops
    looking = None if worth is None or deadline.seconds is not None else LookingTime(worth)
    for place, hot in enumerate(hots):
        if not hot.captured:
            assert hot.verdict is not None
            results.append(_clear(hot, hot.loop, hot.verdict))
            continue
        tried: list[RegionResult] = []
        rest = sum(item.share for item in hots[place:] if item.captured)
        ends = deadline.share_ends(hot.share, rest)
        later = 0.0 if looking is None else looking.left - looking.share(hot.share, rest)
        for loop in (hot.loop, *hot.inside):
            if loop in covered:
                continue
            if deadline.spent and (tried or any("candidates" in item.data for item in results)):
                tried.append(_not_begun(hot, loop, deadline))  # the hottest loop has its first order always
                break
            if looking is not None and looking.left <= later:
                tried += [] if tried else [_clear(hot, loop, ("rejected", looking.why, ()))]
                break
            described = _kept_by_its_text(analysis, traced, loop)
            if described is not None:
                tried.append(_clear(hot, loop, described))
                continue
            free, taken = layout_scopes(analysis, traced, loop, ordered)
            spec = region_spec(settings, analysis, traced, loop, free, folder, cpus)
            spec |= {"number": number, "first_region": first_region, "deadline": ends}
            if worth is not None:
                spec["worth"] = _worth(hot, worth, work, free)
            if looking is not None:
                spec["looking"] = looking.left - later
                if passed is None:
                    spec["others"] = _others(analysis, traced, hots[place + 1 :], worth or 0.0, work)
            if passed and not ordered and loop in passed:
                result = RegionResult(hot, loop, passed[loop], refused=str(passed[loop]["reason"]))
            else:
                result = _tune_one(settings, analysis, hot, spec, deadline, say, early)
                early = None
            if passed is None:
                passed = {int(other): data for other, data in result.data.get("others", {}).items()}
            if looking is not None:
                looking = looking.after(result.data, gained=result.optimized)
                result = _with_hint(result, looking)
            if "scopes_refused" in result.data:
                result.data["scopes_refused"] |= taken
            tried.append(result)
            if result.scope is not None:
                covered |= set(result.scope.nest.loops)
                if result.optimized:
                    ordered |= set(result.scope.regions)
                number += 1
                first_region += len(result.scope.numbers)
                break
            legal = result.data.get("class") in ("parallel", "reduction") and not result.data.get("inexact")
            if legal or result.data.get("passed_over"):
                break  # reordering it gains nothing, and its inner loops would gain less
        if tried:
            results.append(tried[-1] if tried[-1].scope is not None else tried[0])
    if early is not None:
        early.stop()
    return [_at_own_line(analysis, result) for result in results]


def _worth(hot: Hot, seconds: float, work: Mapping[int, float], scopes: Sequence[int]) -> dict[str, float]:
    """What a worker is told of how much a loop matters. `work`: of `executed_work`."""
    return {"seconds": seconds, "share": hot.share, "around": max(work[scope] for scope in (hot.loop, *scopes))}


def _others(
    analysis: Analysis, traced: Traced, hots: Sequence[Hot], seconds: float, work: Mapping[int, float]
) -> list[dict[str, Any]]:
    """What the first worker is told of the loops behind its own, to see at once which of them are passed over."""
    return [
        {
            "region": hot.loop,
            "capture": str(traced.profile.captures[hot.loop]),
            "worth": _worth(hot, seconds, work, layout_scopes(analysis, traced, hot.loop, ())[0]),
        }
        for hot in hots
        if hot.captured and _kept_by_its_text(analysis, traced, hot.loop) is None
    ]


def _with_hint(result: RegionResult, looking: LookingTime) -> RegionResult:
    """A loop that was not looked at in all ways, with how it is."""
    if not result.refused or not result.data.get("unfinished"):
        return result
    why = f"{result.refused}; {looking.hint}"
    return replace(result, data={**result.data, "reason": why}, refused=why)


def _left_to_us(settings: Settings) -> bool:
    """Whether it is left to us which loops are worth the time that they take: nothing is asked for that needs one."""
    asked = settings.force or settings.compare or settings.gpu or settings.machine or settings.region or settings.k
    return not asked and settings.method == "auto" and settings.loop_budget is None


def _kept_by_its_text(analysis: Analysis, traced: Traced, loop: int) -> tuple[str, str, tuple[Place, ...]] | None:
    """What keeps the iterations of a loop in their order whatever the numbers of a run are; no worker has to look.

    Rows behind pointers may be understood as one array: what only the pointers are in the way of is left to a worker.
    """
    found = next(carried_in_memory(analysis.nest(loop), loop), None) or refusal(analysis.nest(loop), loop)
    if found is not None:
        flat, _ = analysis.flattened(functions_of(analysis, traced.values))
        if refusal(flat.nest(loop), loop) is None:
            return None
    return (
        None if found is None else ("ordered" if found.ordered else "rejected", f"the loop {found.says}", found.places)
    )


def _at_own_line(analysis: Analysis, result: RegionResult) -> RegionResult:
    """A refused loop of a library's header with the line of the program that calls what it lies in."""
    place = called_from(analysis, result.loop) if result.refused else None
    if place is None:
        return result
    known = [found for found in result.data.get("places", ()) if not SYSTEM.search(found[0])]
    line = [place.file, place.line, place.column, place.function]
    why = {name: f"{result.data[name]}{CALLED}" for name in ("reason", "failed") if result.data.get(name)}
    data = {**result.data, **why, "places": [line, *known]}
    return replace(result, data=data, refused=f"{result.refused}{CALLED}")


def early_worker(settings: Settings, analysis: Analysis, folder: Path) -> EarlyWorker | None:
    """The worker of the first loop, which gets ready while the program runs; None without a loop or a CPU for it."""
    if len(os.sched_getaffinity(0)) < 2 or not hooked_loops(settings, analysis):
        return None
    return EarlyWorker(WORKER, folder / "early", settings.memory or default_budget())


def _clear(hot: Hot, loop: int, verdict: tuple[str, str, tuple[Place, ...]]) -> RegionResult:
    """What needs no worker to be known."""
    kind, reason, places = verdict
    shown = [place.own for place in places]
    data = {"class": kind, "reason": reason, "places": [[p.file, p.line, p.column, p.function] for p in shown]}
    return RegionResult(hot, loop, data, refused=reason)


def _not_begun(hot: Hot, loop: int, deadline: Deadline) -> RegionResult:
    reason = f"its inspection was not done when {deadline.why}"
    return RegionResult(hot, loop, {"class": "rejected", "reason": reason, "places": []}, refused=reason)


def _tune_one(
    settings: Settings,
    analysis: Analysis,
    hot: Hot,
    spec: dict[str, Any],
    deadline: Deadline,
    say: Callable[[str], None],
    early: EarlyWorker | None = None,
) -> RegionResult:
    loop = int(spec["region"])
    place = analysis.nest(loop).loops[loop].place

    def tell(text: str) -> None:
        say(f"{Path(place.file).name}:{place.line}: {text}")

    seconds, folder, name = (
        deadline.limit(SECONDS + PATIENCE * settings.loop_seconds),
        Path(spec["folder"]),
        f"region{loop}",
    )
    try:
        if early is None:
            limits = Limits(seconds=seconds, memory_bytes=int(spec["memory"]))
            data = run_worker(WORKER, spec, folder, name, tell, limits=limits)
        else:
            data = early.work(spec | {"memory": early.memory}, folder / "result.json", name, tell, seconds)
    except TracecutError as error:
        last = (error.detail.splitlines() or [""])[-1].strip()
        if deadline.spent:
            return _not_begun(hot, loop, deadline)
        reason = f"{FAILED}: {error.message}{f' ({last})' if last else ''}"
        return RegionResult(hot, loop, {"class": "rejected", "reason": reason, "places": []}, refused=reason)
    apart = kept_apart(analysis, data)
    scope, refused = None, ""
    outlined: dict[int, Outlined] = {}
    if data.get("failed"):
        refused = str(data["failed"])
    elif data["class"] not in ("parallel", "reduction"):
        refused = str(data["reason"])
    elif "predicted" in data:
        refused = str(data["predicted"]["words"])
    elif "schedule" not in data:
        refused = no_order(data["candidates"], data.get("sweeps", 1.0), apart, data.get("stays", ""))
    elif data.get("identity_equal") is False:
        refused = "the self-test failed: the extracted loop does not reproduce the original bit for bit"
        data["stopped"] = "self-test"
    else:
        try:
            scope = ScopeFile.load(data["schedule"])
        except ArtefactError as error:
            refused = f"its schedule could not be read back: {error.message}"
        else:
            functions = {int(region): function_in(found) for region, found in data["functions"].items()}
            outlined = {region: replace(scope.outlined[region], function=found) for region, found in functions.items()}
            refused = too_costly(settings, data, scope, apart)
    return RegionResult(hot, loop, data, scope, outlined, refused)


def region_spec(
    settings: Settings,
    analysis: Analysis,
    traced: Traced,
    loop: int,
    scopes: Sequence[int],
    folder: Path,
    cpus: Sequence[int],
) -> dict[str, Any]:
    """What a process is told that looks at a captured loop. `scopes`: of `layout_scopes`."""
    capture = traced.profile.captures[loop]
    after = capture.with_name(f"after-{loop}.npz")
    return {
        "runtime": str(_runtime(folder)),
        "folder": str(folder / f"region{loop}"),
        "module": str(_module(folder, analysis)),
        "capture": str(capture),
        "after": str(after) if after.exists() else None,
        "region": loop,
        "scopes": list(scopes),
        "exits": {str(scope): scope_exits(analysis, traced, scope, loop) for scope in scopes if scope != loop},
        "with_rows": sorted(traced.with_rows),
        "values": {str(item): values for item, values in traced.values.items()},
        "entries": {str(item): count for item, count in traced.profile.entries.items()},
        "method": settings.method,
        "k": settings.k,
        "compare": list(settings.compare),
        "seed": settings.seed,
        "budget": settings.loop_seconds,
        "in_proportion": settings.loop_budget is None,
        "deadline": None,
        "worth": None,
        "others": [],
        "looking": None,
        "memory": settings.memory or default_budget(),
        "cpus": list(cpus),
        "machine": None if settings.machine is None else asdict(settings.machine),
        "threads": settings.threads,
        "renumber": settings.renumber,
        "exact": settings.exact,
        "reduce": settings.reduce,
        "force": settings.force,
        "compile": list(settings.flags.compile),
        "library_folders": list(settings.flags.library_folders),
        "libraries": list(settings.flags.libraries),
        "objects": [str(Path(item).resolve()) for item in settings.flags.objects],
    }


def _runtime(folder: Path) -> Path:
    """The run-time support as machine code, compiled once for all workers: it takes a second."""
    path = folder / "runtime.o"
    if not path.exists():

        def put(file: BinaryIO) -> None:
            file.write(runtime_object())

        write_atomic(path, put, sync=False)
    return path


def _module(folder: Path, analysis: Analysis) -> Path:
    """The parsed canonical module, for the workers."""
    path = folder / "module.json"
    if not path.exists():
        write_text(path, json.dumps(module_out(analysis.module)), sync=False)
    return path


def layout_scopes(
    analysis: Analysis, traced: Traced, loop: int, ordered: Collection[int]
) -> tuple[list[int], dict[str, str]]:
    """Candidates for the layout scope: the loops around the region, outermost first, and the region itself last.

    `ordered`: loops that already have an order. Also returns why a loop around one of them cannot be a scope.
    """
    found, taken = [loop], {}
    above = analysis.parent(loop)
    while above is not None:
        if above in traced.values:
            nest = analysis.nest(above)
            has = sorted(nest.inside(above) & set(ordered))
            if has:
                taken[str(above)] = f"the loop at {nest.loops[has[0]].place} in it has a layout of its own"
            else:
                found.append(above)
        above = analysis.parent(above)
    return found[::-1], taken


def scope_exits(analysis: Analysis, traced: Traced, scope: int, loop: int) -> list[tuple[tuple[str, ...], int]]:
    """The sets of exits that a scope of a region may have, and how often they ran."""
    view, profile = analysis.view_of(scope), traced.profile
    blocks = zip(counted_blocks(analysis.views), profile.blocks, strict=True)
    counted = {block: count for (name, block), count in blocks if name == view.function.name}
    root, runs = analysis.loop(scope), profile.entries.get(loop, 0)
    counts = block_counts(view, root, counted, profile.iterations)
    return find_exits(view, root, analysis.loop(loop), counts, runs, analysis.own)
