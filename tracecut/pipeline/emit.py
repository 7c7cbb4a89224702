"""The process that makes a GPU kernel of a program's loop: compile, capture, inspect, emit.

`tracecut.emit` starts it (`supervise.py`); its answer is the path of the kernel, or why there is none.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tracecut.support.errors import UnsupportedError
from tracecut.support.process.workers import run_native
from tracecut.support.progress import Stages
from tracecut.tracer.loops.program import Analysis

from .folder_copy import run_folder
from .run import answer
from .stage_names import STAGES
from .stages.capture import Traced, trace_program
from .stages.compile import compile_program
from .stages.gpu import kernel_data
from .stages.select_loops import choose_loops
from .stages.settings import Settings


def emit(settings: Settings, progress: Stages, work: Path, staging: Path, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Make the kernel in `staging`. Raises UnsupportedError with the reason when there can be none."""
    with _stage(progress, "compile"):
        program = compile_program(settings, work)
    with _stage(progress, "original"), run_folder(settings, work) as cwd:
        native = run_native(
            program.native, settings.argv, stdin=settings.stdin, folder=work, timeout=settings.timeout, cwd=cwd
        )
    folder = work / "capture"
    folder.mkdir()
    with _stage(progress, "capture"), run_folder(settings, work) as cwd:
        traced = trace_program(settings, program.analysis, program.native, folder, status=native.returncode, cwd=cwd)
    if isinstance(traced, str):
        raise UnsupportedError(traced)
    why = []
    for loop in _loops(settings, program.analysis, traced):
        place = program.analysis.nest(loop).loops[loop].place
        with _stage(progress, "emit"):
            data = kernel_data(settings, program.analysis, traced, loop, asked, work, progress.detail)
        if "kernel" in data:
            shutil.move(data["kernel"], staging / "kernel.npz")
            return {"kernel": str(staging / "kernel.npz")}
        why.append(f"{place.told}: {data.get('failed') or data.get('reason') or 'it was not understood'}")
    raise UnsupportedError(f"no loop can become a kernel: {'; '.join(why)}")


def _stage(progress: Stages, name: str) -> AbstractContextManager[None]:
    """A stage by its name: those of `optimize`, and the kernel itself."""
    return progress.stage(name, STAGES.get(name, "making the kernel"))


def _loops(settings: Settings, analysis: Analysis, traced: Traced) -> list[int]:
    """Captured loops, or those of the one that was asked for: the hottest first, a loop before those inside of it."""
    hots = choose_loops(settings, analysis, traced.profile)
    if not hots:
        raise UnsupportedError("no loop runs a noticeable share of the program's work")
    found = [loop for hot in hots for loop in (hot.loop, *hot.inside) if loop in traced.profile.captures]
    if not found:
        why = hots[0].verdict[1] if hots[0].verdict is not None else "it was not captured"
        place = analysis.nest(hots[0].loop).loops[hots[0].loop].place
        raise UnsupportedError(f"the loop at {place.told} cannot become a kernel: {why}")
    return list(dict.fromkeys(found))


def main() -> None:
    """Entry point of the process."""
    answer(lambda spec, settings, work, staging: emit(settings, Stages(), work, staging, spec["kernel"]))


if __name__ == "__main__":
    main()
