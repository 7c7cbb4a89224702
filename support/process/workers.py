"""Runs the analysed program, original and instrumented, and the workers of the later stages."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracecut.support.errors import OutputError, ProgramError, TracecutError

from .runner import UNLIMITED, Finished, Limits, describe, run

OUTPUT_LIMIT = 512 << 20
TAIL = 2_000


def run_native(
    program: Path,
    argv: Sequence[str],
    *,
    stdin: Path | None,
    folder: Path,
    timeout: float | None,
    cwd: Path | None = None,
) -> Finished:
    """Run the program as the user would. Any exit status is a result; being killed is an error."""
    finished = run(
        [program, *argv],
        stdin=stdin,
        folder=folder,
        name="native",
        cwd=cwd,
        limits=Limits(seconds=timeout, output_bytes=OUTPUT_LIMIT),
    )
    if not ended_by_itself(finished):
        hint = "Give it smaller input, or more time with --timeout." if finished.timed_out else ""
        raise ProgramError(f"the program {phrase(finished)}", detail=tail_of(finished.stderr), hint=hint)
    if finished.survivors:
        count = "a process" if finished.survivors == 1 else f"{finished.survivors} processes"
        raise ProgramError(
            f"the program left {count} running when it ended",
            hint="tracecut cannot follow programs that leave processes running.",
        )
    if finished.stdout.stat().st_size and not os.statvfs(folder).f_bavail:
        raise OutputError(
            f"no space left in {folder.parent}: what the program printed may be incomplete",
            hint="Set TMPDIR to a folder with free space.",
        )
    return finished


def ended_by_itself(finished: Finished) -> bool:
    """Whether a program exited by itself, with complete output."""
    return finished.returncode >= 0 and not (finished.timed_out or finished.output_capped or finished.process_capped)


def phrase(finished: Finished, original: int | None = None) -> str:
    """How a program ended, to follow "the program". `original`: the expected status."""
    if original is not None and ended_by_itself(finished) and finished.returncode != original:
        return f"ended with status {finished.returncode}, the original with {original}"
    text = describe(finished)
    return f"was {text}" if text.startswith("killed") else text


def run_hosted(
    module: str,
    arguments: Sequence[str | Path],
    *,
    stdin: Path | None,
    folder: Path,
    name: str,
    timeout: float | None,
    env: Mapping[str, str] | None = None,
    tick: Callable[[float], None] | None = None,
    memory: int | None = None,
    cwd: Path | None = None,
) -> Finished:
    """Run one of our own modules in a child process. -P: modules are not imported from the current folder."""
    return run(
        [sys.executable, "-P", "-m", "tracecut.support.process.hosted", module, *arguments],
        stdin=stdin,
        folder=folder,
        name=name,
        env=env,
        cwd=cwd,
        limits=Limits(seconds=timeout, output_bytes=OUTPUT_LIMIT, memory_bytes=memory),
        tick=tick,
    )


def run_worker(
    module: str,
    spec: Mapping[str, Any],
    folder: Path,
    name: str,
    say: Callable[[str], None],
    limits: Limits = UNLIMITED,
) -> Any:
    """Run a worker that reads `spec.json` and writes `result.json` in `folder`. Returns the result.

    Raises TracecutError when the worker dies: its output is the detail.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "spec.json"
    path.write_text(json.dumps(spec))
    follow = followed(folder / f"{name}.stdout", say)
    finished = run_hosted(
        module,
        [path],
        stdin=None,
        folder=folder,
        name=name,
        timeout=limits.seconds,
        memory=limits.memory_bytes,
        env=worker_environment(),
        tick=lambda _: follow(),
    )
    return worker_result(finished, folder / "result.json", name)


def followed(lines: Path, say: Callable[[str], None]) -> Callable[[], None]:
    """What tells the last line of a worker's output if there are new ones, each time it is called."""
    seen = 0

    def follow() -> None:
        nonlocal seen
        if lines.exists() and lines.stat().st_size > seen:
            text = lines.read_text(errors="replace")
            seen = len(text.encode())
            if text.strip():
                say(text.strip().splitlines()[-1])

    return follow


def worker_environment() -> dict[str, str]:
    """The environment of a worker: its temporary files lie where ours do, and no threads wait for linear algebra.

    OpenBLAS starts one for each other CPU when it is loaded, and each looks for work for some ten milliseconds.
    """
    return {**os.environ, "TMPDIR": tempfile.gettempdir(), "OPENBLAS_NUM_THREADS": "1"}


def worker_result(finished: Finished, result: Path, name: str) -> Any:
    """What a worker wrote. Raises TracecutError when it died: its output is the detail."""
    if not finished.ok or not result.exists():
        raise TracecutError(f"the worker {name} {describe(finished)}", detail=tail_of(finished.stderr))
    return json.loads(result.read_text())


def tail_of(path: Path) -> str:
    """Last lines of a captured stream."""
    try:
        data = path.read_bytes()
    except OSError:
        return ""
    text = data[-TAIL:].decode(errors="replace").strip()
    return ("… " + text) if len(data) > TAIL else text
