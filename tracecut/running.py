"""`tracecut run`: the optimized program in the place of the original."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from tracecut.ir.errors import ArtefactError

from . import __version__


def run_output(
    output: Path,
    argv: Sequence[str],
    *,
    threads: int | None = None,
    verbose: bool = False,
    original: bool = False,
    counters: Path | None = None,
) -> NoReturn:
    """Run what `tracecut optimize` made; ends as the program does.

    Where nothing was optimized the native program takes the place of this process. Raises ArtefactError when the
    folder is not a result, or was made by another version.
    """
    program = output / "program"
    if not program.is_file():
        raise ArtefactError(f"{output} holds no program", hint="Make it with `tracecut optimize SOURCE -o OUT`.")
    if not (output / "host.json").is_file():
        if verbose:
            os.write(2, b"tracecut: nothing was optimized; the original runs\n")
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execv(program, [str(program), *argv])
    host = _load_host(output)
    from tracecut.codegen.live import run_program
    from tracecut.codegen.reinspect import Reinspector
    from tracecut.codegen.schedulefile import ScopeFile

    scopes = [ScopeFile.load(output / str(name)) for name in host["scopes"]]
    cpus = sorted(os.sched_getaffinity(0))
    wanted = threads if threads is not None else max(int(scope.options["threads"]) for scope in scopes)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def report(found: dict[str, Any]) -> None:
        if counters is not None:
            counters.write_text(json.dumps(found))

    run_program(
        output / "program.so",
        scopes,
        [str(name) for name in host["globals"]],
        [str(program), *argv],
        cpus=cpus[: max(1, wanted)],
        verbose=verbose,
        enabled=not original,
        inspect=Reinspector(),
        report=report if counters is not None else None,
    )
    raise AssertionError("the program returned")


def _load_host(output: Path) -> dict[str, Any]:
    from tracecut.ir.files import load_json

    host = load_json(output / "host.json")
    if not isinstance(host, dict) or not {"tracecut", "globals", "scopes"} <= host.keys():
        raise ArtefactError(f"{output / 'host.json'} is damaged", hint="Run tracecut optimize again.")
    if host["tracecut"] != __version__:
        raise ArtefactError(
            f"{output} was made by tracecut {host['tracecut']}, this is {__version__}",
            hint="Run tracecut optimize again.",
        )
    return host
