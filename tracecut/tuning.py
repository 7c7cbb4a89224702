"""Inspecting the hot loops, one worker process each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tracecut.codegen.schedulefile import ScopeFile
from tracecut.ir.budget import default_budget
from tracecut.ir.errors import ArtefactError, TracecutError
from tracecut.tracer.program import Analysis
from tracecut.tracer.runner import Limits

from .choosing import Hot
from .settings import Settings
from .tracing import Traced
from .work import run_worker

# An inspection may take so many seconds, and so many times what orders may be tried for, before it is stopped.
SECONDS, PATIENCE = 300.0, 20.0


@dataclass(eq=False)
class RegionResult:
    """What became of one hot loop. `data` is the worker's result; `scope` is set when a schedule was made."""

    hot: Hot
    loop: int
    data: dict[str, Any]
    scope: ScopeFile | None = None
    views: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    refused: str = ""

    @property
    def optimized(self) -> bool:
        return self.scope is not None and not self.refused


def tune_regions(
    settings: Settings,
    analysis: Analysis,
    traced: Traced,
    hots: Sequence[Hot],
    canonical: Path,
    folder: Path,
    cpus: Sequence[int],
    say: Callable[[str], None],
) -> list[RegionResult]:
    """Tune the hot loops in the order of their share; loops inside of a scope that was chosen are left out."""
    results: list[RegionResult] = []
    covered: set[int] = set()
    number = first_region = 0
    for hot in hots:
        if not hot.captured:
            results.append(_clear(hot))
            continue
        tried: list[RegionResult] = []
        for loop in (hot.loop, *hot.inside):
            if loop in covered:
                continue
            result = _tune_one(
                settings, analysis, traced, hot, loop, canonical, folder, cpus, number, first_region, say
            )
            tried.append(result)
            if result.scope is not None:
                covered |= _loops_of(analysis, result.scope)
                number += 1
                first_region += len(result.scope.numbers)
                break
            if result.data.get("class") in ("parallel", "reduction") and not result.data.get("inexact"):
                break  # it may be reordered, but nothing is gained: its inner loops gain less
        if tried:
            results.append(tried[-1] if tried[-1].scope is not None else tried[0])
    return results


def _clear(hot: Hot) -> RegionResult:
    assert hot.verdict is not None
    kind, reason, places = hot.verdict
    data = {"class": kind, "reason": reason, "places": [[p.file, p.line, p.column, p.function] for p in places]}
    return RegionResult(hot, hot.loop, data, refused=reason)


def _tune_one(
    settings: Settings,
    analysis: Analysis,
    traced: Traced,
    hot: Hot,
    loop: int,
    canonical: Path,
    folder: Path,
    cpus: Sequence[int],
    number: int,
    first_region: int,
    say: Callable[[str], None],
) -> RegionResult:
    capture = traced.profile.captures[loop]
    after = capture.with_name(f"after-{loop}.npz")
    memory = settings.memory or default_budget()
    spec = {
        "folder": str(folder / f"region{loop}"),
        "canonical": str(canonical),
        "capture": str(capture),
        "after": str(after) if after.exists() else None,
        "region": loop,
        "scopes": _scopes(analysis, traced, loop),
        "values": {str(item): values for item, values in traced.values.items()},
        "entries": {str(item): count for item, count in traced.profile.entries.items()},
        "method": settings.method,
        "k": settings.k,
        "compare": list(settings.compare),
        "seed": settings.seed,
        "budget": settings.budget,
        "memory": memory,
        "cpus": list(cpus),
        "machine": None if settings.machine is None else asdict(settings.machine),
        "number": number,
        "first_region": first_region,
        "renumber": settings.renumber,
        "exact": settings.exact,
        "force": settings.force,
        "library_folders": list(settings.flags.library_folders),
        "libraries": list(settings.flags.libraries),
        "objects": [str(Path(item).resolve()) for item in settings.flags.objects],
    }
    place = analysis.nest(loop).loops[loop].place

    def tell(text: str) -> None:
        say(f"{Path(place.file).name}:{place.line}: {text}")

    try:
        data = run_worker(
            "tracecut.codegen.tune_worker",
            spec,
            folder / f"region{loop}",
            f"region{loop}",
            tell,
            limits=Limits(seconds=SECONDS + PATIENCE * settings.budget, memory_bytes=memory),
        )
    except TracecutError as error:
        last = (error.detail.splitlines() or [""])[-1].strip()
        reason = f"it could not be inspected: {error.message}{f' ({last})' if last else ''}"
        return RegionResult(hot, loop, {"class": "rejected", "reason": reason, "places": []}, refused=reason)
    result = RegionResult(hot, loop, data)
    if data.get("failed"):
        result.refused = str(data["failed"])
    elif data["class"] not in ("parallel", "reduction"):
        result.refused = str(data["reason"])
    elif "schedule" not in data:
        result.refused = _no_order(data["candidates"])
    elif data.get("identity_equal") is False:
        result.refused = "the self-test failed: the extracted loop does not reproduce the original bit for bit"
    else:
        try:
            result.scope = ScopeFile.load(data["schedule"])
        except ArtefactError as error:
            result.refused = f"its schedule could not be read back: {error.message}"
            return result
        result.views = {int(region): view for region, view in data["views"].items()}
        _decide(settings, result)
    return result


def _no_order(candidates: Sequence[Mapping[str, Any]]) -> str:
    """Why none of the orders is used: all of them failed, or none was faster."""
    tried = [item for item in candidates if item["method"] != "original" and not item["compared"]]
    failed = [f"{item['method']} {item['note']}" for item in tried if item["note"].startswith(("failed", "refused"))]
    if failed and len(failed) == len(tried):
        return f"no order could be made: {'; '.join(failed)}"
    return "no order was faster than the program's own"


def _scopes(analysis: Analysis, traced: Traced, loop: int) -> list[int]:
    """Loops around the region that may be its layout scope, outermost first, and the region itself last."""
    found = [loop]
    above = analysis.parent(loop)
    while above is not None:
        if above in traced.values:
            found.append(above)
        above = analysis.parent(above)
    return found[::-1]


def _decide(settings: Settings, result: RegionResult) -> None:
    """Refuse a schedule whose gain does not outweigh what it costs to enter and leave the layout."""
    assert result.scope is not None
    costs = result.scope.costs
    saved = costs["sweeps"] * (costs["original"] - costs["optimized"]) - costs["copy"]
    if saved <= settings.min_gain * costs["sweeps"] * costs["original"] and not settings.force:
        result.refused = "copying the data to its new layout and back costs more than the new order saves"


def _loops_of(analysis: Analysis, scope: ScopeFile) -> set[int]:
    return set(scope.nest.loops)
