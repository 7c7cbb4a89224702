"""The main job as a Python function."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

from tracecut.ir.errors import ArgumentError, SourceError
from tracecut.ir.machine import Machine

from .result import Optimized

AnyPath = str | os.PathLike[str]


def optimize(
    source: AnyPath | Sequence[AnyPath],
    argv: Sequence[str] = (),
    *,
    machine: Machine | None = None,
    method: str = "auto",
    k: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    output: AnyPath | None = None,
    stdin: AnyPath | None = None,
    region: str | None = None,
    budget: float = 20.0,
    timeout: float | None = None,
) -> Optimized:
    """Make a program faster, starting from its source: what `tracecut optimize` does, without its printing.

    The program is compiled, run, traced, inspected, and built anew with its hot irregular loops rescheduled; the
    result is verified against the original. All of it happens in child processes: whatever the program or a compiler
    does, this process goes on. Takes some ten runs of the program, and `budget` seconds for each hot loop.

    Args:
        source: a C or LLVM IR file (`.c`, `.ll`, `.bc`), or all words of a compiler command: files and options.
        argv: arguments to run the program with; the result is made for what the program then reads.
        machine: what to optimize for, None: this machine.
        method: `"auto"`, or the name of one of `tracecut.methods()`.
        k: number of clusters, None: from the sizes of the caches.
        seed: of every random choice; the same seed gives the same schedule when the measured times agree on it.
        threads: threads of the result, None: one a core.
        output: folder for the results; None is a temporary one, removed together with the returned object.
        stdin: file that the program reads as its standard input, None: empty input.
        region: `"FILE:LINE"` of a loop to optimize instead of the hottest ones.
        budget: seconds for trying orders. timeout: seconds that one run of the program may take, None: no limit.

    Returns an `Optimized`, also when every loop was refused: the reasons are in its `regions`.

    Raises ArgumentError, SourceError (missing file, does not compile), ProgramError (the program fails), OutputError
    (the results can not be written) and ToolchainError; the output folder is then as it was.
    """
    from tracecut.partition import METHODS
    from tracecut.tracer.frontend import parse_flags

    from .pipeline import optimize_program
    from .progress import Progress
    from .settings import Settings

    words = [source] if isinstance(source, str | os.PathLike) else list(source)
    sources, flags = parse_flags([os.fspath(word) for word in words])
    if not sources:
        raise SourceError("no source file was given", hint="For example tracecut.optimize('prog.c', ['--steps', '9']).")
    if isinstance(argv, str):
        raise ArgumentError(f"argv is the string {argv!r}, a list of arguments was expected")
    if method not in METHODS and method not in ("auto", "original"):
        raise ArgumentError(f"method is {method!r}, 'auto' or a name of tracecut.methods() was expected")
    for name, value in {"k": k, "threads": threads}.items():
        if value is not None and value < 1:
            raise ArgumentError(f"{name} is {value}, at least 1 was expected")
    for name, seconds in {"budget": budget, "timeout": timeout}.items():
        if seconds is not None and not 0 < seconds < float("inf"):
            raise ArgumentError(f"{name} is {seconds}, a positive number of seconds was expected")
    if stdin is not None and not Path(stdin).is_file():
        raise ArgumentError(f"stdin is {os.fspath(stdin)!r}: no such file")
    folder = Path(tempfile.mkdtemp(prefix="tracecut-result-")) if output is None else Path(output)
    settings = Settings(
        sources=tuple(sources),
        flags=flags,
        argv=tuple(map(str, argv)),
        output=folder,
        stdin=None if stdin is None else Path(stdin),
        method=method,
        k=k,
        threads=threads,
        seed=seed,
        budget=budget,
        timeout=timeout,
        region=region,
        machine=machine,
    )
    try:
        result = optimize_program(settings, Progress(quiet=True))
    except BaseException:
        if output is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if output is None:
        weakref.finalize(result, shutil.rmtree, folder, ignore_errors=True)
    return result
