"""Stage `publish`: kernels, remarks and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracecut.codegen.host.target import RegionCode, Target
from tracecut.codegen.ptx.target import all_targets
from tracecut.report import RegionFigures, Remark, ReportData, remarks_yaml, render_report
from tracecut.support.errors import OutputError
from tracecut.support.files import write_text
from tracecut.support.optional_parts import optional, reason_of
from tracecut.tracer.loops.program import Analysis

from .settings import Settings
from .tune import RegionResult

MAX_SOURCE = 4 << 20


def emit_kernels(
    settings: Settings, analysis: Analysis, results: Sequence[RegionResult], folder: Path
) -> dict[int, list[dict[str, Any]]]:
    """Write the host kernel and the GPU kernels of every region that was optimized.

    Returns loop id → entries of the manifest; a kernel that was refused or failed has no path
    but a note with the reason: the result runs without these kernels.
    """
    found: dict[int, list[dict[str, Any]]] = {}
    for result in (result for result in results if result.optimized):
        for region in result.outlined:
            code = _region_code(analysis, result, region)
            found[region] = [_kernel(target, code, folder) for target in all_targets(settings.arch)]
    return found


def _region_code(analysis: Analysis, result: RegionResult, region: int) -> RegionCode:
    assert result.scope is not None
    view = analysis.view_of(region)
    facts = result.data.get("gpu", {}).get(str(region), {})
    return RegionCode(
        region,
        view,
        result.scope.nest,
        view.loops[region],
        result.outlined[region],
        str(result.data.get("variant") or "") if region == result.loop else "",
        frozenset(facts.get("disjoint", ())),
        frozenset(facts.get("exclusive", ())),
    )


def _kernel(target: Target, code: RegionCode, folder: Path) -> dict[str, Any]:
    entry = {"target": target.name, "path": "", "variant": target.variant(code)}
    try:
        target.check(code)
        made = target.emit(code)
        names = {ending: f"loop{code.number}{ending}" for ending in made.files}
        for ending, text in made.files.items():
            write_text(folder / names[ending], text, sync=False)
    except OutputError:
        raise
    except Exception as error:
        return {**entry, "note": reason_of(error)}
    return {**entry, "path": f"kernels/{next(iter(names.values()))}", **made.launch}


def write_report(folder: Path, output: Path, manifest: Mapping[str, Any], results: Sequence[RegionResult]) -> list[str]:
    """Write `remarks.yaml` and `report.html` into `folder`; `output`: the folder as the user wrote it.

    Returns one sentence for each part that could not be written or drawn: such a failure does not fail the run.
    """
    failures: list[str] = []
    remarks: list[Remark] = []
    with optional("remarks.yaml", failures):
        remarks = [remark for region in manifest["regions"] for remark in remarks_of(region)]
        write_text(folder / "remarks.yaml", remarks_yaml(remarks), sync=False)
    figures = {}
    for region, result in zip(manifest["regions"], results, strict=True):
        with optional(f"the charts of {region['id']}", failures):
            if "figures" in result.data:
                figures[str(region["id"])] = RegionFigures.make(**result.data["figures"])
    sources: dict[str, list[str]] = {}
    with optional("the source lines in report.html", failures):
        sources = _sources(manifest)
    with optional("report.html", failures):
        known = {**manifest, "notes": [*manifest["notes"], *failures]}
        data = ReportData.from_manifest(known, folder=str(output), figures=figures, sources=sources, remarks=remarks)
        write_text(folder / "report.html", render_report(data), sync=False)
    return failures


def remarks_of(region: Mapping[str, Any]) -> list[Remark]:
    """The remarks of one region."""
    place = {"file": str(region["file"]), "line": int(region["line"]), "function": str(region["function"])}
    found = []
    if region["decision"] == "optimized":
        found.append(
            Remark(
                "passed",
                "Rescheduled",
                args=(
                    ("String", "jobs were reordered by "),
                    ("Method", str(region["method"])),
                    ("String", " and their data renumbered: "),
                    ("SpeedupOneThread", round(region["speedup_1t"] or 0.0, 2)),
                    ("String", " times faster on one thread, break-even with the inspection after "),
                    ("Sweeps", round(region["break_even_sweeps"] or 0.0, 1)),
                    ("String", " sweeps"),
                ),
                **place,  # type: ignore[arg-type]
            )
        )
    else:
        args = [("String", "not changed: "), ("Reason", str(region["reason"]))]
        args += [("Place", f"{file}:{line}") for file, line, *_ in region["places"]]
        found.append(Remark("missed", "Refused", args=tuple(args), **place))  # type: ignore[arg-type]
    for item in region["candidates"]:
        if str(item["note"]).startswith("failed") or "could not be made" in str(item["note"]):
            args = [("Method", str(item["method"])), ("String", " "), ("Reason", str(item["note"]))]
            found.append(Remark("missed", "MethodFailed", args=tuple(args), **place))  # type: ignore[arg-type]
    for why in region.get("failures", ()):
        found.append(Remark("missed", "PartFailed", args=(("String", str(why)),), **place))  # type: ignore[arg-type]
    for why in region["kept"]:
        found.append(Remark("analysis", "KeptInPlace", args=(("String", str(why)),), **place))  # type: ignore[arg-type]
    for line in region.get("rounding", ()):
        args = [("Place", str(line)), ("String", " adds up floating-point numbers in the order of the new layout")]
        found.append(Remark("analysis", "RoundedOtherwise", args=tuple(args), **place))  # type: ignore[arg-type]
    for kernel in region["kernels"]:
        if not kernel.get("path"):
            args = [("Target", str(kernel["target"])), ("String", ": "), ("Reason", str(kernel.get("note", "")))]
            found.append(Remark("missed", "NoKernel", args=tuple(args), **place))  # type: ignore[arg-type]
    chosen = region.get("gpu")
    if chosen is not None:
        found.append(_of_kernel(chosen, place))
    return found


def _of_kernel(chosen: Mapping[str, Any], place: Mapping[str, Any]) -> Remark:
    """The remark on a region's GPU kernel, which may be another loop's, in whose scope the region runs."""
    args = [("Gpu", str(chosen["gpu"])), ("String", ": "), ("Reason", str(chosen["reason"]))]
    if chosen["path"]:
        args = [("Variant", str(chosen["variant"])), ("String", " is the kernel for "), *args]
    if chosen.get("alone"):
        args += [("String", "; not in the program's place: "), ("Alone", str(chosen["alone"]))]
    if chosen.get("beside"):
        args = [("String", "runs beside "), ("Place", str(chosen["beside"])), ("String", " on "), args[0]]
    kind = "analysis" if chosen["path"] or chosen.get("beside") else "missed"
    return Remark(kind, "GpuKernel", args=tuple(args), **place)


def _sources(manifest: Mapping[str, Any]) -> dict[str, list[str]]:
    """The lines of each source file that a region names, if it can be read."""
    found: dict[str, list[str]] = {}
    names = {str(region["file"]) for region in manifest["regions"]}
    names |= {str(place[0]) for region in manifest["regions"] for place in region["places"]}
    for name in sorted(names):
        path = Path(name)
        if path.is_file() and path.stat().st_size <= MAX_SOURCE:
            found[name] = path.read_text(errors="replace").splitlines()
    return found
