"""`tracecut optimize` in the caller's process: from sources to a verified, measured, rescheduled program.

This process makes the folders, starts the child process that does the work (`run.py`), shows its progress and
publishes its result. It survives a crash of the child process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracecut.pipeline.output.result import Optimized
from tracecut.pipeline.output.staging import publish, staging
from tracecut.pipeline.stages.settings import Settings, parse_place
from tracecut.support import errors
from tracecut.support.dataclass_json import to_json
from tracecut.support.errors import BackendError, InternalError, SourceError, TracecutError
from tracecut.support.files import load_json, write_json
from tracecut.support.private_folders import private_folder
from tracecut.support.process.runner import Finished, describe
from tracecut.support.process.standard_input import kept_input
from tracecut.support.process.workers import run_hosted, tail_of
from tracecut.support.progress import Progress

TYPE_CHECKING = False  # as in `typing`: optimizing takes no kernels
if TYPE_CHECKING:
    from tracecut.codegen.kernels.kernel import Kernel


def optimize_program(settings: Settings, progress: Progress) -> Optimized:
    """Run all stages, or take the result that is in the output folder if it answers this very question.

    Old results in the output folder are replaced only by complete new ones.

    Raises the errors of the stages; the output folder is then unchanged.
    """
    for source in map(Path, settings.sources):
        if not source.is_file():
            raise SourceError(f"{source}: {'not a file' if source.exists() else 'no such file'}")
    if settings.region is not None:
        parse_place(settings.region)
    began = time.monotonic()
    output = Path.cwd() / settings.output
    named = replace(settings, sources=tuple(map(os.path.abspath, settings.sources)))
    with private_folder("tracecut-work-") as work:
        kept = replace(settings, stdin=kept_input(settings.stdin, work))
        question: str | None = None
        if not settings.fresh and output.exists():
            from tracecut.pipeline.question import answer_to, question_of

            question = question_of(settings, kept.stdin, work)
            found = answer_to(question, output)
            if found is not None:
                return Optimized(output, found, named)
        with staging(output) as folder:
            result = _run_job("tracecut.pipeline.run", kept, progress, work, folder, began=began, question=question)
            publish(folder, output, result["listing"])
    return Optimized(output, result["manifest"], named)


def emit_kernel(settings: Settings, asked: Mapping[str, Any], progress: Progress) -> Kernel:
    """Make a GPU kernel of a loop. `asked`: variant, arch, threads, jobs, shared and method. Raises its reasons."""
    from tracecut.codegen.kernels.kernel_file import load_kernel

    with private_folder("tracecut-work-") as work:
        folder = work / "kept"
        folder.mkdir()
        kept = replace(settings, stdin=kept_input(settings.stdin, work))
        result = _run_job("tracecut.pipeline.emit", kept, progress, work, folder, kernel=dict(asked))
        return load_kernel(result["kernel"])


def _run_job(
    module: str, settings: Settings, progress: Progress, work: Path, folder: Path, **asked: Any
) -> dict[str, Any]:
    """Do the work in a child process. Returns its result, or raises its error."""
    spec, answer, temporary = work / "job.json", work / "answer.json", work / "temporary"
    temporary.mkdir()
    write_json(
        spec,
        {
            "settings": to_json(settings),
            "work": str(work),
            "staging": str(folder),
            "temporary": str(temporary),
            "result": str(answer),
            **asked,
        },
    )
    events = work / "job.stdout"
    try:
        finished = run_hosted(
            module,
            [spec],
            stdin=None,
            folder=work,
            name="job",
            timeout=None,
            tick=lambda _: progress.follow(events),
        )
    finally:
        progress.follow(events)
        progress.close()
    if not answer.exists():
        raise _died(settings, finished, progress.stage)
    result = load_json(answer)
    if "error" in result or "internal" in result:
        raise _raised(result)
    return dict(result)


def _died(settings: Settings, finished: Finished, stage: str) -> TracecutError:
    """The error for a process that ended without an answer, which is usually an internal error of LLVM."""
    detail = tail_of(finished.stderr)
    if stage == "compile":
        return SourceError(f"{', '.join(settings.sources)}: LLVM cannot generate machine code for it", detail=detail)
    return BackendError(
        f"the optimizer {describe(finished)} in the stage {stage or 'start'}",
        detail=detail,
        hint="This is a bug of tracecut or of LLVM: please report it with the program.",
    )


def _raised(result: dict[str, Any]) -> TracecutError:
    if "internal" in result:
        return InternalError(str(result["internal"]), detail=str(result["traceback"]))
    kind = getattr(errors, str(result["error"]), TracecutError)
    error: TracecutError = kind(result["message"], hint=result["hint"], detail=result["detail"])
    return error


__all__ = ["Optimized", "optimize_program"]
