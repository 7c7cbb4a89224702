"""The work of the main job, stage by stage, in a process of its own.

LLVM ends the process that it runs in when it meets what it was not made for; that must not be the user's.
`python -m tracecut.pipeline.run SPEC` reads settings and folders from a JSON file, writes the result or the error to
another, and says on standard output what it is doing.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracecut.codegen.runtime.schedule_listing import first_look
from tracecut.ir.machine.machine import Machine
from tracecut.pipeline.output.staging import seal
from tracecut.pipeline.stages.accept import Weighed, weigh
from tracecut.pipeline.stages.capture import Traced, trace_program
from tracecut.pipeline.stages.compare_outputs import unstable_tokens
from tracecut.pipeline.stages.compile import Compiled, compile_program
from tracecut.pipeline.stages.manifest import build_manifest, region_entry, stopped_plans
from tracecut.pipeline.stages.select_loops import choose_loops
from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.stages.tune import RegionResult, tune_regions
from tracecut.pipeline.stages.weave import Run, check_output, run_woven, weave_program
from tracecut.support.errors import OutputError, TracecutError
from tracecut.support.files import load_json, write_json, write_text
from tracecut.support.optional_parts import optional
from tracecut.support.process.runner import Finished
from tracecut.support.process.workers import run_native, tail_of
from tracecut.support.progress import Stages
from tracecut.support.version import __version__
from tracecut.tracer.toolchain.self_inspection import asks_of_itself


class Job:
    """One run of the main job. `work` is for what is needed on the way, `staging` for what is kept."""

    def __init__(self, settings: Settings, progress: Stages, work: Path, staging: Path) -> None:
        self.settings = settings
        self.progress = progress
        self.work = work
        self.staging = staging
        self.machine = settings.machine or Machine.detect()
        self.listing: dict[str, Any] = {"tracecut": __version__, "globals": [], "scopes": [], "threads": 1}
        self.listing["guards"] = []
        cpus = [core.cpu for core in self.machine.cores]
        self.cpus = cpus[: settings.threads] if settings.threads else cpus
        self.weighed: Weighed | None = None
        self.status = 0  # what the program ends with

    def run(self) -> dict[str, Any]:
        """Do it. Returns the manifest."""
        settings, stage = self.settings, self.progress.stage
        with stage("frontend", "compiling"):
            compiled = compile_program(settings, self.work)
            self.progress.said(compiled.said)
            program = self.staging / "program"
            shutil.copy2(compiled.native, program)
            write_text(self.staging / "canonical.ll", compiled.text, sync=False)
        with stage("native", "running the original"):
            native = run_native(
                program, settings.argv, stdin=settings.stdin, folder=self.work, timeout=settings.timeout
            )
            self.status = native.returncode
        with stage("trace", "running the traced program"):
            folder = self._folder("trace")
            traced = trace_program(settings, compiled.analysis, program, folder, status=self.status)
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
        alone = asks_of_itself(compiled.text)
        if alone:
            return [], f"the program is left alone: {alone}"
        with self.progress.stage("inspect", "inspecting the hot loops"):
            hots = choose_loops(self.settings, compiled.analysis, traced.profile)
            results = tune_regions(
                self.settings,
                compiled.analysis,
                traced,
                hots,
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
        scopes = [(result.scope, result.outlined) for result in chosen if result.scope is not None]
        try:
            with self.progress.stage("weave", "building the rescheduled program"):
                names = weave_program(self.settings, compiled.analysis, scopes, self.staging / "program.so")
                (self.staging / "scopes").mkdir(exist_ok=True)
                files = []
                for scope, _ in scopes:
                    files.append(f"scopes/scope{scope.number}.npz")
                    scope.save(self.staging / files[-1])
                self.listing |= {
                    "exact": self.settings.exact,
                    "reduce": self.settings.reduce,
                    "globals": names,
                    "scopes": files,
                    "threads": len(self.cpus),
                }
                self._seal(chosen)
            runs = self._runs()
        except TracecutError as error:
            return self._drop(chosen, f"the rescheduled program failed: {error}")
        expected = native.stdout.read_bytes()
        unstable = unstable_tokens(expected, traced.finished.stdout.read_bytes())
        for name, run in runs.items():
            own = name == "original" and not self.settings.flags.relaxed  # in its own order nothing may change at all
            rounding = not (own or self.settings.exact)
            found = check_output(expected, run.stdout, rounding=rounding, unstable=unstable)
            if not found.equal:
                why = f"line {found.where} of its output changes from {found.expected!r} to {found.found!r} ({name})"
                return self._drop(chosen, why)
        if not self.settings.force:
            try:
                self._weigh(native, runs, chosen)
            except TracecutError as error:
                return self._drop(chosen, f"the rescheduled program failed: {error}")
        return runs if any(result.optimized for result in chosen) else {}

    def _weigh(self, native: Finished, runs: dict[str, Run], chosen: list[RegionResult]) -> None:
        """Keep the result only if it is faster as a whole; it then runs on as many threads as that was best with."""
        settings, again = self.settings, self._folder("again")

        def run_original() -> float:
            program = self.staging / "program"
            return run_native(
                program, settings.argv, stdin=settings.stdin, folder=again, timeout=settings.timeout
            ).seconds

        def run_optimized(threads: int) -> float:
            found = self._run_once(threads)
            if found.seconds < runs[_name(threads)].seconds:
                runs[_name(threads)] = found
            return found.seconds

        with self.progress.stage("verify", "comparing the times of whole runs"):
            times = {threads: runs[_name(threads)].seconds for threads in self._counts()}
            found = weigh(native.seconds, times, run_original, run_optimized, min_gain=settings.min_gain)
        if not found.pays:
            why = f"the whole program would take {found.optimized:.3g} s instead of {found.original:.3g} s"
            self._drop(chosen, why + _where_it_went(runs["original"], runs[_name(found.threads)]))
            return
        self.weighed = found
        self.listing["slower"] = {"argv": list(settings.argv), "threads": list(found.slower)}
        for result in chosen:
            if result.scope is not None and result.scope.options["threads"] != found.threads:
                result.scope = replace(result.scope, options={**result.scope.options, "threads": found.threads})
                result.scope.save(self.staging / "scopes" / f"scope{result.scope.number}.npz")
            result.data["threads"] = found.threads
        self._seal(chosen)

    def _seal(self, chosen: list[RegionResult]) -> None:
        """Write the listing, with what of each schedule can be judged without loading it."""
        scopes = [result.scope for result in chosen if result.scope is not None]
        looks = [
            first_look(scope, name, self.staging) for scope, name in zip(scopes, self.listing["scopes"], strict=True)
        ]
        self.listing["guards"] = looks
        seal(self.staging, self.listing)

    def _drop(self, chosen: list[RegionResult], why: str) -> dict[str, Run]:
        for result in chosen:
            result.refused = why
        self.listing |= {"globals": [], "scopes": [], "guards": []}
        (self.staging / "program.so").unlink(missing_ok=True)
        shutil.rmtree(self.staging / "scopes", ignore_errors=True)
        return {}

    def _runs(self) -> dict[str, Run]:
        runs = {}
        with self.progress.stage("verify", "running and comparing the result"):
            runs["original"] = self._run_once(1, original=True)
            for threads in self._counts():
                runs[_name(threads)] = self._run_once(threads)
        return runs

    def _counts(self) -> list[int]:
        """Numbers of threads that the result is tried with."""
        return sorted({1, len(self.cpus)})

    def _run_once(self, threads: int, *, original: bool = False) -> Run:
        name = "original" if original else f"threads{threads}"
        return run_woven(
            self.settings, self.staging, self.work, name, threads=threads, original=original, status=self.status
        )

    def _report(
        self,
        compiled: Compiled,
        native: Finished,
        traced: Traced | str,
        results: list[RegionResult],
        runs: dict[str, Run],
        why: str,
    ) -> dict[str, Any]:
        from tracecut.pipeline.stages.publish import emit_kernels, write_report

        kernels = emit_kernels(self.settings, compiled.analysis, results, self.staging / "kernels")
        regions = [region_entry(compiled.analysis, result, kernels.get(result.loop, [])) for result in results]
        failures: list[str] = []
        for region, result in zip(regions, results, strict=True):
            region["measured"] = None
            with optional(f"the measured times of {region['id']}", failures):
                region["measured"] = _measured(result, runs)
        manifest = build_manifest(
            __version__,
            self.settings,
            self.machine,
            self.progress.timings,
            native.seconds,
            None if isinstance(traced, str) else traced.profile.seconds,
            _program_entry(native, self.weighed, runs, results, why),
            regions,
        )
        if self.status:
            said = tail_of(native.stderr).splitlines()[-1:]
            manifest["notes"].insert(0, ": ".join([f"the program ends with status {self.status}", *said]))
        manifest["notes"] += [why for region in regions for why in region["failures"]] + failures
        manifest["notes"] += stopped_plans(regions)
        manifest["notes"] += write_report(self.staging, self.settings.output, manifest, results)
        for part, name in (("report", "report.html"), ("remarks", "remarks.yaml")):
            manifest[part] = name if (self.staging / name).is_file() else ""
        write_json(self.staging / "manifest.json", manifest)
        return manifest


def _where_it_went(before: Run, after: Run) -> str:
    """What the counters of two whole runs say of a program that does not get faster, as the end of a sentence."""

    def loops(run: Run) -> float:
        regions = run.counters["regions"].values()
        return sum(item.get("nanoseconds", 0) + item.get("original_nanoseconds", 0) for item in regions) / 1e9

    copies = sum(item.get("nanoseconds", 0) for item in after.counters["scopes"].values()) / 1e9  # guards included
    return (
        f": its loops take {loops(after):.3g} s instead of {loops(before):.3g} s, copies and guards {copies:.3g} s, "
        "and the rescheduled program has to be started"
    )


def _name(threads: int) -> str:
    """What the runs on so many threads are called in the manifest."""
    return f"{threads} threads"


def _program_entry(
    native: Finished, weighed: Weighed | None, runs: dict[str, Run], results: list[RegionResult], why: str
) -> dict[str, Any]:
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
            "guard_seconds": scope.get("guard_nanoseconds", 0) / 1e9,
            "scope_entries": scope.get("entries", 0),
            "scope_used": scope.get("used", 0),
        }
    return found


def main() -> None:
    """Entry point of the process."""
    spec = load_json(Path(sys.argv[1]))
    work, staging = Path(spec["work"]), Path(spec["staging"])
    tempfile.tempdir = spec["temporary"]  # so that nothing is left behind when this process is killed
    job = Job(Settings.from_json(spec["settings"]), Stages(), work, staging)
    result: dict[str, Any]
    try:
        result = {"manifest": job.run(), "listing": job.listing}
    except TracecutError as error:
        result = _plain(error)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        result = _plain(
            OutputError(f"{name}{error.strerror or error}", hint="A file could not be written, or read again.")
        )
        result["traceback"] = traceback.format_exc()
    except MemoryError:
        result = _plain(TracecutError("not enough memory", hint="Give the program smaller input."))
    except Exception as error:
        result = {"internal": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    write_json(Path(spec["result"]), result)
    sys.stdout.flush()
    os._exit(0)  # nothing here needs tearing down


def _plain(error: TracecutError) -> dict[str, Any]:
    return {
        "error": type(error).__name__,
        "message": error.message,
        "hint": error.hint,
        "detail": error.detail,
    }


if __name__ == "__main__":
    main()
