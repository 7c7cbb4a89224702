"""The main job: from sources to a verified, measured, rescheduled program."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracecut.ir.errors import OutputError, TracecutError
from tracecut.ir.files import write_json, write_text
from tracecut.ir.machine import Machine
from tracecut.tracer.program import Analysis
from tracecut.tracer.runner import Finished
from tracecut.tracer.scratch import private_folder

from . import __version__
from .choosing import choose_loops
from .compiling import Compiled, compile_program
from .finishing import Run, check_output, run_woven, weave_program, write_host_file
from .manifest import build_manifest, region_entry
from .outputs import unstable_tokens
from .progress import Progress
from .settings import Settings
from .tracing import Traced, trace_program
from .tuning import RegionResult, tune_regions
from .work import run_native

TOLERANCE = 1e-7
OWN_FILES = ("manifest.json", "host.json", "program", "program.so", "remarks.yaml", "report.html", "canonical.ll")
OWN_FOLDERS = ("scopes", "kernels")


@dataclass(frozen=True, eq=False)
class Optimized:
    """Result of the main job.

    Attributes:
        output: folder with everything. manifest: the same values as `manifest.json`.
    """

    output: Path
    manifest: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.manifest[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def improved(self) -> bool:
        """Whether any region was changed."""
        return any(region["decision"] == "optimized" for region in self.manifest["regions"])

    def run(self, argv: Sequence[str] = (), *, stdin: Path | None = None) -> Finished:
        """Run the optimized program in a child process; its output lies in the files that the result names."""
        import sys

        from tracecut.tracer.runner import run

        folder = Path(tempfile.mkdtemp(prefix="tracecut-run-"))
        command: list[str | Path] = [sys.executable, "-m", "tracecut", "run", self.output, "--", *argv]
        return run(command, stdin=stdin, folder=folder, name="run")


def optimize_program(settings: Settings, progress: Progress) -> Optimized:
    """Run the whole main job. Old results in the output folder are replaced only by complete new ones."""
    staging = _make_staging(settings.output)
    try:
        with private_folder("tracecut-work-") as work:
            manifest = _Job(settings, progress, work, staging).run()
        _publish(staging, settings.output)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Optimized(settings.output, manifest)


class _Job:
    def __init__(self, settings: Settings, progress: Progress, work: Path, staging: Path) -> None:
        self.settings = settings
        self.progress = progress
        self.work = work
        self.staging = staging
        self.machine = Machine.detect()
        cpus = [core.cpu for core in self.machine.cores]
        self.cpus = cpus[: settings.threads] if settings.threads else cpus

    def run(self) -> dict[str, Any]:
        settings, stage = self.settings, self.progress.stage
        with stage("frontend", "compiling"):
            compiled = compile_program(settings, self.work)
            program = self.staging / "program"
            shutil.copy2(compiled.native, program)
            write_text(self.staging / "canonical.ll", compiled.text, sync=False)
        with stage("native", "running the original"):
            native = run_native(
                program, settings.argv, stdin=settings.stdin, folder=self.work, timeout=settings.timeout
            )
        with stage("trace", "running the traced program"):
            traced = trace_program(settings, compiled.analysis, program, self._folder("trace"))
        results, why = self._regions(compiled, traced)
        runs = self._finish(compiled, native, traced, results)
        with stage("report", "writing the results"):
            return self._report(compiled, native, traced, results, runs, why)

    def _folder(self, name: str) -> Path:
        folder = self.work / name
        folder.mkdir(exist_ok=True)
        return folder

    def _regions(self, compiled: Compiled, traced: Traced | str) -> tuple[list[RegionResult], str]:
        if isinstance(traced, str):
            return [], traced
        with self.progress.stage("inspect", "inspecting the hot loops"):
            hots = choose_loops(self.settings, compiled.analysis, traced.profile)
            results = tune_regions(
                self.settings,
                compiled.analysis,
                traced,
                hots,
                self.staging / "canonical.ll",
                self.work,
                self.cpus,
                self.progress.detail,
            )
        return results, "" if hots else "no loop runs a noticeable share of the program's work"

    def _finish(
        self, compiled: Compiled, native: Finished, traced: Traced | str, results: list[RegionResult]
    ) -> dict[str, Run]:
        """Weave, run, compare. A schedule that changes the output is dropped with all others."""
        chosen = [result for result in results if result.optimized]
        if not chosen or isinstance(traced, str):
            return {}
        scopes = [(result.scope, result.views) for result in chosen if result.scope is not None]
        try:
            with self.progress.stage("weave", "building the rescheduled program"):
                names = weave_program(self.settings, compiled.text, scopes, self.staging / "program.so")
                (self.staging / "scopes").mkdir(exist_ok=True)
                files = []
                for scope, _ in scopes:
                    files.append(f"scopes/scope{scope.number}.npz")
                    scope.save(self.staging / files[-1])
                write_host_file(self.staging, names, files, len(self.cpus), __version__)
            runs = self._runs()
        except TracecutError as error:
            return self._drop(chosen, f"the rescheduled program failed: {error}")
        expected = native.stdout.read_bytes()
        unstable = unstable_tokens(expected, traced.finished.stdout.read_bytes())
        rounding = any(result.data["class"] == "reduction" or result.scope for result in chosen)
        for name, run in runs.items():
            found = check_output(expected, run.stdout, rounding=rounding, tolerance=TOLERANCE, unstable=unstable)
            if not found.equal:
                why = f"line {found.where} of its output changes from {found.expected!r} to {found.found!r} ({name})"
                return self._drop(chosen, why)
        best = min(run.seconds for name, run in runs.items() if name != "original")
        if best >= native.seconds and not self.settings.force:
            why = f"the whole program would take {best:.2f} s instead of {native.seconds:.2f} s"
            return self._drop(chosen, f"{why}: starting the rescheduled program costs more than it saves here")
        return runs

    def _drop(self, chosen: list[RegionResult], why: str) -> dict[str, Run]:
        for result in chosen:
            result.refused = why
        for name in ("program.so", "host.json"):
            (self.staging / name).unlink(missing_ok=True)
        shutil.rmtree(self.staging / "scopes", ignore_errors=True)
        return {}

    def _runs(self) -> dict[str, Run]:
        runs = {}
        counts = sorted({1, len(self.cpus)})
        with self.progress.stage("verify", "running and comparing the result"):
            runs["original"] = run_woven(self.settings, self.staging, self.work, "original", threads=1, original=True)
            for count in counts:
                runs[f"{count} threads"] = run_woven(
                    self.settings, self.staging, self.work, f"threads{count}", threads=count, original=False
                )
        return runs

    def _report(
        self,
        compiled: Compiled,
        native: Finished,
        traced: Traced | str,
        results: list[RegionResult],
        runs: dict[str, Run],
        why: str,
    ) -> dict[str, Any]:
        from .publish import emit_kernels, write_report

        kernels = emit_kernels(self.settings, compiled.text, results, self.staging / "kernels")
        regions = [region_entry(compiled.analysis, result, kernels.get(result.loop, [])) for result in results]
        for region, result in zip(regions, results, strict=True):
            region["measured"] = _measured(result, runs)
        manifest = build_manifest(
            __version__,
            self.settings,
            self.machine,
            self.progress.timings,
            native.seconds,
            None if isinstance(traced, str) else traced.profile.seconds,
            _program_entry(native, runs, results, why),
            regions,
        )
        write_report(self.staging, self.settings.output, manifest, results)
        write_json(self.staging / "manifest.json", manifest)
        return manifest


def _program_entry(native: Finished, runs: dict[str, Run], results: list[RegionResult], why: str) -> dict[str, Any]:
    optimized = [run.seconds for name, run in runs.items() if name != "original"]
    best = min(optimized, default=native.seconds)
    done = any(result.optimized for result in results)
    return {
        "original_seconds": native.seconds,
        "optimized_seconds": best,
        "speedup": native.seconds / best if best else None,
        "output_equal": True,
        "reason": "" if done else (why or "no hot loop could be made faster"),
        "runs": {name: run.seconds for name, run in runs.items()},
    }


def _measured(result: RegionResult, runs: dict[str, Run]) -> dict[str, Any] | None:
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
            "scope_entries": scope.get("entries", 0),
            "scope_used": scope.get("used", 0),
        }
    return found


def _make_staging(output: Path) -> Path:
    try:
        output.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".tracecut-", dir=output))
    except OSError as error:
        raise OutputError(
            f"cannot write to the output folder {output}: {error.strerror}", hint="Choose another one with -o."
        ) from error


def _publish(staging: Path, output: Path) -> None:
    """Move complete results into place: renames only, so a full disk can not stop half way."""
    made = sorted(path.relative_to(staging) for path in staging.rglob("*") if path.is_file())
    for name in OWN_FOLDERS:
        (output / name).mkdir(exist_ok=True)
    for path in sorted(made, key=lambda item: item.name == "manifest.json"):
        os.replace(staging / path, output / path)
    for name in OWN_FILES:
        if Path(name) not in made:
            (output / name).unlink(missing_ok=True)
    for name in OWN_FOLDERS:
        for path in (output / name).iterdir():
            if path.relative_to(output) not in made and path.is_file():
                path.unlink()


def settings_with(settings: Settings, **changes: Any) -> Settings:
    """The same settings with some fields changed."""
    return replace(settings, **changes)


__all__ = ["Analysis", "Optimized", "optimize_program", "settings_with"]
