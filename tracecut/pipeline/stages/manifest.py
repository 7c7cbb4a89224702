"""The manifest: everything that `tracecut optimize` found, as plain values."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracecut.ir.machine.machine import Machine
from tracecut.support.process.runner import Finished
from tracecut.support.tolerances import OUTPUT
from tracecut.support.version import package_versions
from tracecut.tracer.loops.program import Analysis

from .accept import Weighed
from .settings import Settings
from .tune import RegionResult
from .weave import Run


def region_entry(analysis: Analysis, result: RegionResult, kernels: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """One region of the manifest."""
    info = analysis.nest(result.loop).loops[result.loop]
    data = result.data
    candidates = data.get("candidates", [])
    original: dict[str, Any] = next((item for item in candidates if item["method"] == "original"), {})
    chosen: dict[str, Any] = next((item for item in candidates if item["method"] == data.get("method")), {})
    before, one, many = original.get("region_ms"), chosen.get("region_ms"), chosen.get("region_all_ms")
    best = min((value for value in (one, many) if value is not None), default=None)
    scope = None
    if result.scope is not None:
        place = result.scope.nest.loops[result.scope.nest.root].place
        scope = {"file": place.file, "line": place.line, "rounding": list(data.get("rounding", ()))}
    comparison = data.get("comparison", {})
    rounding = list(data.get("rounding", ()))
    return {
        "id": f"{Path(info.place.file).stem}-{info.place.line}",
        "loop": result.loop,
        "function": info.place.function or analysis.view_of(result.loop).function.name.removeprefix("@"),
        "file": info.place.file,
        "line": info.place.line,
        "jobs": data.get("jobs"),
        "data": data.get("data"),
        "share": result.hot.share,
        "class": data["class"],
        "decision": "optimized" if result.optimized else "refused",
        "reason": result.refused or data["reason"],
        "places": _places(data.get("places", [])),
        "scope": scope,
        "method": data.get("method"),
        "candidates": candidates,
        "speedup_1t": _ratio(before, one),
        "speedup_all": _ratio(before, many if many is not None else one),
        "threads": data.get("threads"),
        "original_ms": before,
        "optimized_ms": best,
        "copy_ms": chosen.get("copy_ms"),
        "max_rel_error": comparison.get("max_rel_error"),
        "bit_equal": comparison.get("bit_equal") and not rounding,
        "rounding": rounding,
        "tolerance": _tolerance(data.get("tolerance", {}), rounding),
        "identity_equal": data.get("identity_equal"),
        "stopped": data.get("stopped", ""),
        "inspect_ms": chosen.get("inspect_ms"),
        "break_even_sweeps": break_even(before, best, chosen, ("inspect_ms", "copy_ms")),
        "pays_off_sweeps": break_even(before, best, chosen, ("copy_ms",)),
        "clusters": data.get("clusters"),
        "replication_before": data.get("replication_before"),
        "replication_after": data.get("replication_after"),
        "placement": data.get("placement") or None,
        "predicted": data.get("predicted"),
        "kept": [*data.get("kept", []), *_narrower(analysis, data.get("scopes_refused", {}))],
        "timings": data.get("timings", {}),
        "failures": list(data.get("failures", [])),
        "kernels": [dict(kernel) for kernel in kernels],
    }


def _tolerance(results: Mapping[str, float], rounding: Sequence[str]) -> dict[str, float]:
    """The tolerance by type: of results in memory, and of the program's output where sums are reordered."""
    return {**results, "output": OUTPUT} if results or rounding else {}


def stopped_plans(regions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Notes on wrong plans that only a last safety check stopped: each is a bug of tracecut."""
    nets = {
        "replay": "only the comparison of its replay with the original order",
        "self-test": "only the replay of the original order",
        "checker": "the independent checker",
    }
    return [
        f"{region['file']}:{region['line']}: {nets[region['stopped']]} stopped a wrong plan ({region['reason']}); "
        f"the loop was not changed. This is a bug in tracecut: please report it with the program."
        for region in regions
        if region["stopped"]
    ]


def _narrower(analysis: Analysis, refused: Mapping[str, str]) -> list[str]:
    """Why the layout does not extend over the loops around a region."""
    places = {record.id: record.place for record in analysis.records}
    return [f"the layout is not kept over the loop at {places[int(loop)]}: {why}" for loop, why in refused.items()]


def build_manifest(
    version: str,
    settings: Settings,
    machine: Machine,
    timings: Mapping[str, float],
    native_seconds: float,
    captured_seconds: float | None,
    program: Mapping[str, Any],
    regions: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The manifest of one run."""
    return {
        "tracecut": version,
        "source": list(settings.sources),
        "argv": list(settings.argv),
        "flags": list(settings.flags.compile),
        "notes": list(settings.flags.notes),
        "input_hash": input_hash(settings),
        "versions": package_versions(),
        "machine": machine.summary(),
        "predicted_for": None if settings.machine is None else settings.machine.summary(),
        "seed": settings.seed,
        "made": time.strftime("%Y-%m-%d %H:%M:%S"),
        "reused": False,
        "timings": {name: round(seconds, 4) for name, seconds in timings.items()},
        "original_run_seconds": native_seconds,
        "capture_run_seconds": captured_seconds,
        "program": dict(program),
        "regions": [{**region, "id": name} for region, name in zip(regions, unique_ids(regions), strict=True)],
        "remarks": "remarks.yaml",
        "report": "report.html",
    }


def unique_ids(regions: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ids of regions, numbered where a loop was inlined in several places: `cg-418`, `cg-418-2`."""
    counts: dict[str, int] = {}
    found = []
    for region in regions:
        name = str(region["id"])
        counts[name] = counts.get(name, 0) + 1
        found.append(name if counts[name] == 1 else f"{name}-{counts[name]}")
    return found


def _places(places: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Each source line once; places without a source line (values made by the compiler) are left out."""
    lines: dict[tuple[str, int], list[Any]] = {}
    for place in places:
        if place[1]:
            lines.setdefault((place[0], place[1]), list(place))
    return list(lines.values())


def input_hash(settings: Settings) -> str:
    """SHA-256 over the sources, the options and the arguments; empty if a source can no longer be read."""
    digest = hashlib.sha256()
    for source in settings.sources:
        try:
            digest.update(Path(source).read_bytes() + b"\0")
        except OSError:
            return ""
    digest.update(repr((settings.flags, settings.argv)).encode())
    return digest.hexdigest()


def _ratio(before: float | None, after: float | None) -> float | None:
    return before / after if before is not None and after else None


def break_even(
    before: float | None, after: float | None, chosen: Mapping[str, Any], costs: Sequence[str]
) -> float | None:
    """Sweeps after which costs are paid for.

    A run of the result pays only for copies, since its schedule is stored. A run that inspects other input pays for
    copies and inspection.
    """
    if before is None or after is None or before <= after:
        return None
    return float(sum(chosen.get(name) or 0.0 for name in costs)) / (before - after)


def program_entry(
    native: Finished, weighed: Weighed | None, runs: Mapping[str, Run], results: Sequence[RegionResult], why: str
) -> dict[str, Any]:
    """The whole program in the manifest, before and after."""
    before = native.seconds if weighed is None else weighed.original
    optimized = [run.seconds for name, run in runs.items() if name != "original"]
    best = min(optimized, default=before) if weighed is None else weighed.optimized
    done = any(result.optimized for result in results)
    return {
        "original_seconds": before,
        "optimized_seconds": best,
        "speedup": before / best if best else None,
        "output_equal": True,
        "status": native.returncode,
        "reason": "" if done else (why or "no hot loop could be made faster"),
        "runs": {name: run.seconds for name, run in runs.items()},
    }


def measured(result: RegionResult, runs: Mapping[str, Run]) -> dict[str, Any] | None:
    """Times of a region in the whole runs, all copies charged."""
    if result.scope is None or not runs:
        return None
    found: dict[str, Any] = {}
    for name, run in runs.items():
        region = run.counters["regions"].get(str(result.loop), {})
        scope = run.counters["scopes"].get(str(result.scope.nest.root), {})
        copies = 0 if name == "original" else scope.get("nanoseconds", 0)
        spent = region.get("nanoseconds", 0) + region.get("original_nanoseconds", 0)
        found[name] = {
            "calls": region.get("calls", 0),
            "declined": region.get("declined", 0),
            "region_seconds": spent / 1e9,
            "copy_seconds": copies / 1e9,
            "guard_seconds": scope.get("guard_nanoseconds", 0) / 1e9,
            "scope_entries": scope.get("entries", 0),
            "scope_used": scope.get("used", 0),
        }
    return found


def where_it_went(before: Run | None, after: Run) -> str:
    """Why a program does not get faster, from the counters of whole runs, as the end of a sentence.

    `before`: of the original loops, None: they did not run with counters.
    """

    def loops(run: Run) -> float:
        regions = run.counters["regions"].values()
        return sum(item.get("nanoseconds", 0) + item.get("original_nanoseconds", 0) for item in regions) / 1e9

    copies = sum(item.get("nanoseconds", 0) for item in after.counters["scopes"].values()) / 1e9  # guards included
    instead = "" if before is None else f" instead of {loops(before):.3g} s"
    return (
        f": its loops take {loops(after):.3g} s{instead}, copies and guards {copies:.3g} s, "
        "and the rescheduled program has to be started"
    )
