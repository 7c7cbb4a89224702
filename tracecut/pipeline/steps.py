"""The stages, each a function from an artefact to the next one. `run.py` lists them in order."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracecut.codegen.runtime.schedule_listing import first_look
from tracecut.mapping.thread_cpus import threads_here
from tracecut.support.errors import TracecutError
from tracecut.support.files import write_json, write_text
from tracecut.support.optional_parts import optional
from tracecut.support.process.runner import Finished
from tracecut.support.process.workers import run_native, tail_of
from tracecut.support.version import __version__
from tracecut.tracer.recorded.elf_sections import dynamic_symbols
from tracecut.tracer.toolchain.self_inspection import asks_of_itself
from tracecut.tracer.toolchain.side_effects import changes_files

from .artefact import Artefact
from .output.staging import seal
from .stages.accept import PATIENCE, ROUNDS, beyond_doubt, hopeless, weigh
from .stages.capture import Traced, trace_program
from .stages.compare_outputs import unstable_tokens
from .stages.compile import compile_program
from .stages.manifest import build_manifest, measured, program_entry, region_entry, stopped_plans, where_it_went
from .stages.select_loops import choose_loops
from .stages.tune import FAILED, early_worker, tune_regions
from .stages.weave import Run, check_output, run_woven, weave_program

# Original and instrumented; the result on one and on all threads, and in the original order; then they take turns.
MOST_RUNS = 2 + 3 + 1 + 3 * ROUNDS


def compile_sources(artefact: Artefact) -> Artefact:
    """Sources → the canonical module, and the program as the user would have built it."""
    program = compile_program(artefact.settings, artefact.work)
    artefact.progress.said(program.said)
    shutil.copy2(program.native, artefact.staging / "program")
    write_text(artefact.staging / "canonical.ll", program.text, sync=False)
    return replace(artefact, program=program, settings=replace(artefact.settings, flags=program.flags))


def run_original(artefact: Artefact) -> Artefact:
    """Run the original program: the result is compared with its output, status and time."""
    assert artefact.program is not None
    name = "" if artefact.settings.in_copy else changes_files(artefact.program.analysis.module)
    if name:
        artefact.progress.note(
            f"the program runs 2 to {MOST_RUNS} times in this folder, and may change files each time (it uses {name});"
            " --in-copy runs it in copies of the folder"
        )
    return replace(artefact, native=_original(artefact, "."))


def capture_memory(artefact: Artefact) -> Artefact:
    """Run the instrumented program → execution counts of loops, and the memory of the hot loops."""
    assert artefact.program is not None
    program, folder = artefact.staging / "program", artefact.folder("capture")
    with artefact.run_folder() as cwd:
        settings, analysis = artefact.settings, artefact.program.analysis
        early = early_worker(settings, analysis, artefact.work) if artefact.ahead else None
        captured = trace_program(settings, analysis, program, folder, status=artefact.status, cwd=cwd)
    alone = asks_of_itself(artefact.program.analysis.module, *dynamic_symbols(program.read_bytes()))
    why = captured if isinstance(captured, str) else f"the program is not changed: {alone}" if alone else ""
    if why and early is not None:
        early.stop()
    return replace(artefact, captured=captured, why=why, early=early)


def tune_loops(artefact: Artefact) -> Artefact:
    """Captured memory → for each hot loop its fastest schedule, or the reason why it has none."""
    assert artefact.program is not None and isinstance(artefact.captured, Traced)
    analysis = artefact.program.analysis
    hots = choose_loops(artefact.settings, analysis, artefact.captured.profile)
    results = tune_regions(
        artefact.settings,
        analysis,
        artefact.captured,
        hots,
        artefact.work,
        threads_here([core.cpu for core in artefact.machine.cores], len(artefact.cpus)).cpus,
        artefact.progress.detail,
        artefact.deadline,
        artefact.early,
        None if artefact.native is None else artefact.native.undisturbed_seconds,
    )
    why = "" if hots else "no loop runs a noticeable share of the program's work"
    return replace(artefact, results=tuple(results), why=why)


def weave_schedules(artefact: Artefact) -> Artefact:
    """Schedules → the rescheduled program, and the schedule files."""
    assert artefact.program is not None
    scopes = [(result.scope, result.outlined) for result in artefact.chosen if result.scope is not None]
    try:
        names = weave_program(artefact.settings, artefact.program.analysis, scopes, artefact.staging / "program.so")
        (artefact.staging / "scopes").mkdir(exist_ok=True)
        files = []
        for scope, _ in scopes:
            files.append(f"scopes/scope{scope.number}.npz")
            scope.save(artefact.staging / files[-1])
        asked = {"exact": artefact.settings.exact, "reduce": artefact.settings.reduce}
        found = {"globals": names, "scopes": files, "threads": len(artefact.cpus)}
        return _sealed(replace(artefact, listing={**artefact.listing, **asked, **found}))
    except TracecutError as error:
        return _failed(artefact, error)


def accept_result(artefact: Artefact) -> Artefact:
    """Compare whole runs; keep the result if its output equals the original's and it is faster.

    A schedule that changes the output is dropped with all others.
    """
    assert artefact.native is not None and isinstance(artefact.captured, Traced)
    try:
        runs = {_name(threads): _run(artefact, threads) for threads in _counts(artefact)}
        seconds = [run.seconds for run in runs.values()]
        lost = not artefact.settings.force and hopeless(artefact.native.undisturbed_seconds, seconds)
        if not lost:
            runs = {"original": _run(artefact, 1, original=True)} | runs
        expected = artefact.native.stdout.read_bytes()
        unstable = unstable_tokens(expected, artefact.captured.finished.stdout.read_bytes())
        for name, run in runs.items():
            # The original order must not change any bit.
            own = name == "original" and not artefact.settings.flags.relaxed
            rounding = not (own or artefact.settings.exact)
            found = check_output(expected, run.stdout, rounding=rounding, unstable=unstable)
            if not found.equal:
                how = "even in the original order: a fault of tracecut" if own else name
                why = f"line {found.where} of its output changes from {found.expected!r} to {found.found!r} ({how})"
                if rounding and found.may_be_rounding:
                    why += "; if that is rounding, --exact keeps every bit"
                return _dropped(artefact, why)
        if lost:
            fastest = min(runs.values(), key=lambda run: run.seconds)
            return _dropped(artefact, _slower(artefact.native.undisturbed_seconds, fastest))
        return replace(artefact, runs=runs) if artefact.settings.force else _weighed(artefact, runs)
    except TracecutError as error:
        return _failed(artefact, error)


def choose_for_gpu(artefact: Artefact) -> Artefact:
    """Captured memory → for each hot loop the kernel that the memory model finds fastest, whatever paid here."""
    from .stages.card_scopes import (  # with Numba, which no other stage needs in this process
        device_entry,
        publish_card_scopes,
    )
    from .stages.gpu import choose_kernels

    assert artefact.program is not None and isinstance(artefact.captured, Traced)
    folder = artefact.staging / "kernels"
    folder.mkdir(exist_ok=True)
    found, scopes = choose_kernels(
        artefact.settings,
        artefact.program.analysis,
        artefact.captured,
        artefact.results,
        artefact.work,
        folder,
        artefact.progress.detail,
        artefact.deadline,
    )
    listing = dict(artefact.listing)
    try:
        listing["device"] = publish_card_scopes(
            artefact.settings, artefact.program.analysis, scopes, artefact.results, artefact.staging
        )
    except TracecutError as error:
        artefact.progress.note(f"the program cannot run on a card: {error}")
        scopes = []
    device = device_entry(artefact.program.analysis, scopes, str(listing.get("device", {}).get("gpu", "")))
    return replace(artefact, gpu=found, device=device, listing=listing)


def publish_results(artefact: Artefact) -> Artefact:
    """Write kernels, remarks, report and manifest into the staging folder."""
    from .stages.publish import emit_kernels, write_report

    assert artefact.program is not None and artefact.native is not None
    settings, staging, results = artefact.settings, artefact.staging, artefact.results
    kernels = emit_kernels(settings, artefact.program.analysis, results, staging / "kernels")
    regions = [region_entry(artefact.program.analysis, result, kernels.get(result.loop, [])) for result in results]
    failures: list[str] = []
    for region, result in zip(regions, results, strict=True):
        region["gpu"] = artefact.gpu.get(result.loop)
        region["measured"] = None
        with optional(f"the measured times of {region['id']}", failures):
            region["measured"] = measured(result, artefact.runs)
    captured = artefact.captured
    manifest = {"device": artefact.device} | build_manifest(
        __version__,
        settings,
        artefact.machine,
        artefact.progress.timings,
        artefact.native.seconds,
        None if isinstance(captured, str) else captured.profile.seconds,
        program_entry(artefact.native, artefact.weighed, artefact.runs, results, artefact.why),
        regions,
    )
    if artefact.status:
        said = tail_of(artefact.native.stderr).splitlines()[-1:]
        manifest["notes"].insert(0, ": ".join([f"the program ends with status {artefact.status}", *said]))
    if settings.machine is not None:
        manifest["notes"].append(
            f"predicted for {settings.machine.name}, which is not this machine: nothing was measured there, and the "
            f"program is not changed"
        )
    manifest["notes"] += [why for region in regions for why in region["failures"]] + failures
    manifest["notes"] += stopped_plans(regions)
    manifest["notes"] += write_report(staging, settings.output, manifest, results)
    for part, name in (("report", "report.html"), ("remarks", "remarks.yaml")):
        manifest[part] = name if (staging / name).is_file() else ""
    write_json(staging / "manifest.json", manifest)
    return replace(artefact, manifest=manifest, listing={**artefact.listing, **_looked_at(captured, regions)})


def _looked_at(captured: Traced | str, regions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the result depends on outside of the command line, and why it must not be used again; see `question.py`."""
    if isinstance(captured, str):
        return {"inputs": {}, "unseen": captured}
    failed = [str(region["reason"]) for region in regions if str(region["reason"]).startswith(FAILED)]
    return {"inputs": dict(captured.inputs), "unseen": captured.unseen or "".join(failed[:1])}


def _weighed(artefact: Artefact, runs: dict[str, Run]) -> Artefact:
    """Keep the result only if whole runs are faster; it then uses the fastest number of threads."""
    assert artefact.native is not None
    settings = artefact.settings

    def again(threads: int) -> float:
        found = _run(artefact, threads)
        if found.seconds < runs[_name(threads)].seconds:
            runs[_name(threads)] = found
        return found.seconds

    artefact.progress.detail("comparing the times of whole runs")
    times = {threads: runs[_name(threads)].seconds for threads in _counts(artefact)}
    seconds = artefact.native.undisturbed_seconds
    timed = [(runs[_name(threads)].seconds, runs[_name(threads)].cpu_seconds) for threads in times]
    patience = min(PATIENCE, artefact.deadline.left)
    found = weigh(
        seconds,
        times,
        lambda: _original(artefact, "again").undisturbed_seconds,
        again,
        min_gain=settings.min_gain,
        patience=patience,
        certain=beyond_doubt((seconds, artefact.native.cpu_seconds), timed),
    )
    if not found.pays:
        run = replace(runs[_name(found.threads)], seconds=found.optimized)
        return _dropped(artefact, _slower(found.original, run, runs["original"]))
    results = []
    for result in artefact.results:
        scope = result.scope
        if result.optimized and scope is not None:
            if scope.options["threads"] != found.threads:
                scope = replace(scope, options={**scope.options, "threads": found.threads})
                scope.save(artefact.staging / "scopes" / f"scope{scope.number}.npz")
            result = replace(result, scope=scope, data={**result.data, "threads": found.threads})
        results.append(result)
    slower = {"argv": list(settings.argv), "threads": list(found.slower)}
    listing = {**artefact.listing, "slower": slower}
    return _sealed(replace(artefact, results=tuple(results), runs=runs, weighed=found, listing=listing))


def _slower(seconds: float, run: Run, before: Run | None = None) -> str:
    """Why the original is kept, which takes so many seconds. `before`: its loops in the result, if they ran."""
    why = f"the whole program would take {run.seconds:.3g} s instead of {seconds:.3g} s"
    return why + where_it_went(before, run)


def _sealed(artefact: Artefact) -> Artefact:
    """Write the listing, with the properties of each schedule that are needed before it is loaded."""
    scopes = [result.scope for result in artefact.chosen if result.scope is not None]
    names = artefact.listing["scopes"]
    guards = [first_look(scope, name, artefact.staging) for scope, name in zip(scopes, names, strict=True)]
    listing = {**artefact.listing, "guards": guards}
    seal(artefact.staging, listing)
    return replace(artefact, listing=listing)


def _failed(artefact: Artefact, error: TracecutError) -> Artefact:
    return _dropped(artefact, f"the rescheduled program failed: {error}")


def _dropped(artefact: Artefact, why: str) -> Artefact:
    """Drop all schedules: the original program is kept."""
    (artefact.staging / "program.so").unlink(missing_ok=True)
    shutil.rmtree(artefact.staging / "scopes", ignore_errors=True)
    results = tuple(replace(result, refused=why) if result.optimized else result for result in artefact.results)
    listing = {**artefact.listing, "globals": [], "scopes": [], "guards": []}
    return replace(artefact, results=results, listing=listing, runs={})


def _original(artefact: Artefact, folder: str) -> Finished:
    settings, program = artefact.settings, artefact.staging / "program"
    place = artefact.folder(folder)
    with artefact.run_folder() as cwd:
        return run_native(program, settings.argv, stdin=settings.stdin, folder=place, timeout=settings.timeout, cwd=cwd)


def _run(artefact: Artefact, threads: int, *, original: bool = False) -> Run:
    """One run of the result, or of the original loops in it."""
    name = "original" if original else f"threads{threads}"
    with artefact.run_folder() as cwd:
        return run_woven(
            artefact.settings,
            artefact.staging,
            artefact.work,
            name,
            threads=threads,
            original=original,
            status=artefact.status,
            cwd=cwd,
        )


def _counts(artefact: Artefact) -> list[int]:
    """Numbers of threads for which the result is timed."""
    return sorted({1, len(artefact.cpus)})


def _name(threads: int) -> str:
    """The name of runs on this number of threads in the manifest."""
    return f"{threads} threads"
