"""`tracecut optimize`, stage by stage, in a process of its own.

LLVM ends its process on internal errors, which must not be the user's process. `python -m tracecut.pipeline.run SPEC`
reads settings and folders from a JSON file, writes the result or the error to another one, and reports progress on
standard output.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracecut.codegen.tuning.time_limits import TIMES
from tracecut.ir.machine.machine import Machine
from tracecut.support.errors import OutputError, TracecutError
from tracecut.support.files import load_json, write_json
from tracecut.support.garbage_collection import collect_seldom
from tracecut.support.progress import Stages

from . import steps
from .artefact import Artefact
from .question import question_of, with_question
from .stage_names import STAGES
from .stages.deadline import Deadline
from .stages.settings import Settings

LOADING = 2.0  # seconds that an inspection takes however small the loop is


@dataclass(frozen=True)
class Stage:
    """One stage: its name, its function, whether it is needed, and about how long it will take, None: not known."""

    name: str
    run: Callable[[Artefact], Artefact]
    needed: Callable[[Artefact], bool] = lambda artefact: True
    seconds: Callable[[Artefact], float | None] = lambda artefact: None


def _traced_seconds(artefact: Artefact) -> float | None:
    """The instrumented program is built, started, and about half as fast again as the original."""
    return None if artefact.native is None else 2.0 + 1.5 * artefact.native.seconds


def _tuning_seconds(artefact: Artefact) -> float | None:
    """At most, in most cases: the time for the orders of each captured loop that is not part of another one."""
    if isinstance(artefact.captured, str) or artefact.native is None:
        return None
    loops, each = len(artefact.captured.profile.captures), artefact.settings.loop_seconds
    if artefact.settings.loop_budget is None:  # costly orders are tried in proportion to what the loop takes
        each = min(each, LOADING + TIMES * artefact.native.seconds)
    return min(loops * each, max(0.0, artefact.deadline.left))


def _comparing_seconds(artefact: Artefact) -> float | None:
    """Each number of threads, the original loops in the result, and the original once more."""
    return None if artefact.native is None else (2 + len({1, len(artefact.cpus)})) * artefact.native.seconds


# In the order of `STAGES`.
PIPELINE = (
    Stage("compile", steps.compile_sources),
    Stage("original", steps.run_original),
    Stage("capture", steps.capture_memory, seconds=_traced_seconds),
    Stage("tune", steps.tune_loops, lambda artefact: not artefact.why, _tuning_seconds),
    Stage("weave", steps.weave_schedules, lambda artefact: bool(artefact.chosen)),
    Stage("accept", steps.accept_result, lambda artefact: bool(artefact.chosen), _comparing_seconds),
    Stage("gpu", steps.choose_for_gpu, lambda artefact: artefact.settings.gpu is not None and bool(artefact.results)),
    Stage("publish", steps.publish_results),
)


def run_stages(
    settings: Settings,
    progress: Stages,
    work: Path,
    staging: Path,
    deadline: Deadline | None = None,
    *,
    ahead: bool = False,
) -> Artefact:
    """Run all stages that are needed. `work`: folder for intermediate files; `staging`: for files of the result.
    `ahead`: start a process of stage `tune` before it is needed; it ends with this one at the latest.

    If `settings.machine` describes this machine, orders are measured; for another machine they are only predicted.
    """
    here = Machine.detect()
    if settings.machine is not None and settings.machine.like(here):
        settings = replace(settings, machine=None)
    artefact = Artefact(settings, progress, here, work, staging, deadline or Deadline(), ahead)
    for stage in PIPELINE:
        if stage.needed(artefact):
            with progress.stage(stage.name, STAGES[stage.name], stage.seconds(artefact)):
                artefact = stage.run(artefact)
    return artefact


def answer(job: Callable[[dict[str, Any], Settings, Path, Path], dict[str, Any]]) -> None:
    """Do a job and write what came of it, or its error, where the caller looks for it; then end the process.

    `job`: takes what the caller asked for, its settings, the folder of what is needed on the way, that of what is kept.
    """
    spec = load_json(Path(sys.argv[1]))
    work, staging = Path(spec["work"]), Path(spec["staging"])
    tempfile.tempdir = spec["temporary"]  # so that nothing is left behind when this process is killed
    result: dict[str, Any]
    try:
        result = job(spec, Settings.from_json(spec["settings"]), work, staging)
    except TracecutError as error:
        result = _plain(error)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        result = _plain(
            OutputError(f"{name}{error.strerror or error}", hint="A file could not be written or read back.")
        )
        result["traceback"] = traceback.format_exc()
    except MemoryError:
        result = _plain(TracecutError("not enough memory", hint="Give the program smaller input."))
    except Exception as error:
        result = {"internal": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    write_json(Path(spec["result"]), result)
    sys.stdout.flush()
    os._exit(0)  # nothing here needs clean-up


def optimized(spec: dict[str, Any], settings: Settings, work: Path, staging: Path) -> dict[str, Any]:
    """The job of `tracecut optimize`. Its question is asked here unless the caller knows it already: this process has
    loaded what that takes."""
    question = spec["question"]
    before = question_of(settings, settings.stdin, work) if question is None else str(question)
    deadline = Deadline(settings.budget, float(spec["began"]))
    artefact = run_stages(settings, Stages(), work, staging, deadline, ahead=True)
    listing = with_question(artefact.listing, before, question_of(settings, settings.stdin, work))
    return {"manifest": artefact.manifest, "listing": listing}


def main() -> None:
    """Entry point of the process."""
    collect_seldom()
    answer(optimized)


def _plain(error: TracecutError) -> dict[str, Any]:
    return {
        "error": type(error).__name__,
        "message": error.message,
        "hint": error.hint,
        "detail": error.detail,
    }


if __name__ == "__main__":
    main()
