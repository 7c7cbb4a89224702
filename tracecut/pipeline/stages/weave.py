"""Stage `weave`: builds the rescheduled program. Also runs it for `accept`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracecut.codegen.host.compute_then_update import batched
from tracecut.codegen.host.lookups import lookup_places
from tracecut.codegen.host.target import RegionCode
from tracecut.codegen.host.vector_versions import add_versions
from tracecut.codegen.host.weave import WovenScope, original_of, weave
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.ir.llvm.passes.aside.look_ahead import looks_in, settle
from tracecut.support.errors import TracecutError
from tracecut.support.private_folders import private_folder
from tracecut.support.process.workers import ended_by_itself, phrase, run_hosted, tail_of
from tracecut.support.tolerances import OUTPUT
from tracecut.tracer.capture.instrument import global_objects, with_object_table
from tracecut.tracer.loops.flatten_rows import unflattened
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.runtime.link import runtime_object, shared_library
from tracecut.tracer.toolchain.clang import optimised_object

from .compare_outputs import Difference, compare_outputs
from .settings import Settings


@dataclass(frozen=True, eq=False)
class Run:
    """One run of the woven program: seconds, without those in which its first thread waited for a processor that other
    programs had; CPU seconds, its output, and the counters of its host."""

    seconds: float
    cpu_seconds: float
    stdout: bytes
    counters: Mapping[str, Any]


def weave_program(
    settings: Settings,
    analysis: Analysis,
    scopes: Sequence[tuple[ScopeFile, Mapping[int, Outlined]]],
    target: Path,
    calls: Sequence[tuple[str, ...]] = (),
) -> list[str]:
    """Compile the program with its rescheduled regions. Returns the names of its globals.

    `scopes`: each with the range functions of its regions. `calls`: of each, as of `WovenScope`.
    """
    module = analysis.module.copy()
    regions: list[RegionCode] = []
    woven: list[WovenScope] = []
    for place, (file, outlined) in enumerate(scopes):
        wanted, region = file.options.get("variant"), int(file.options["region"])
        if wanted and wanted != outlined[region].name:
            made = batched(outlined[region], str(wanted))
            assert made is not None
            module.items.append(made.code)
        for region, number in file.numbers.items():
            regions.append(
                RegionCode(
                    number, analysis.view_of(region), analysis.nest(region), analysis.loop(region), outlined[region]
                )
            )
        root = file.nest.root
        view, loop = analysis.view_of(root), analysis.loop(root)
        asked = calls[place] if calls else ()
        looked = lookup_places(view, file.nest, file.schedule.lookups, unflattened(module, view, file.tables))
        woven.append(WovenScope(file.number, view, loop, tuple(file.values), file.nest.exits, asked, looked))
    looks = {name: looks_in(function) for name, function in module.functions.items()}
    weave(module, regions, woven)
    for name, found in looks.items():
        own = (region for region in regions if region.view.function.name == name)
        settle(module.functions[name], found, {region.loop.header: original_of(region.number) for region in own})
    add_versions(module, alone=not settings.flags.objects)
    text = with_object_table(module, analysis)
    with private_folder("tracecut-weave-") as folder:
        code = optimised_object(text, settings.flags, folder, "woven")
    shared_library([code, runtime_object()], settings.flags, target)
    return [name for name, _ in global_objects(analysis)]


def run_woven(
    settings: Settings,
    folder: Path,
    work: Path,
    name: str,
    *,
    threads: int,
    original: bool,
    status: int = 0,
    cwd: Path | None = None,
) -> Run:
    """Run the result through `tracecut run`, as the user does.

    `cwd`: the folder that it runs in, None: the current one.

    Raises TracecutError when it fails, or ends with another status than the original.
    """
    report = work / f"{name}.json"
    options: list[str | Path] = ["run", folder, "--threads", str(threads), "--counters", report]
    if original:
        options.append("--original")
    finished = run_hosted(
        "tracecut",
        [*options, "--", *settings.argv],
        stdin=settings.stdin,
        folder=work,
        name=name,
        timeout=None if settings.timeout is None else 10 * settings.timeout,
        cwd=cwd,
    )
    if not ended_by_itself(finished) or finished.returncode != status or not report.exists():
        raise TracecutError(f"it {phrase(finished, status)}", detail=tail_of(finished.stderr))
    return Run(
        finished.undisturbed_seconds, finished.cpu_seconds, finished.stdout.read_bytes(), json.loads(report.read_text())
    )


def check_output(native: bytes, found: bytes, *, rounding: bool, unstable: frozenset[int] | None) -> Difference:
    """Compare the output of the rescheduled program with the original's."""
    return compare_outputs(native, found, tolerance=OUTPUT if rounding else 0.0, unstable=unstable or frozenset())
