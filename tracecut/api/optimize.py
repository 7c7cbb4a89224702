"""`tracecut.optimize`: the command as a Python function."""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Sequence
from pathlib import Path

from tracecut.codegen.schedule.reduce_modes import FAST
from tracecut.ir.machine.machine import Machine
from tracecut.pipeline.output.result import Optimized
from tracecut.support.argument_checks import AnyPath, word
from tracecut.support.errors import ArgumentError, SourceError
from tracecut.support.process.standard_input import problem_of


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
    budget: float | None = None,
    loop_budget: float | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    exact: bool = False,
    reduce: str = FAST,
    gpu: str | None = None,
    in_copy: bool = False,
    fresh: bool = False,
) -> Optimized:
    """Make a faster program from C or C++ source: `tracecut optimize` without its terminal output.

    The program is compiled, run, instrumented and inspected, and rebuilt with its hot irregular loops rescheduled; the
    result is compared with the original. All of it happens in child processes, so a crash of the program or of a
    compiler does not end this process. Takes about ten runs of the program, and
    up to `loop_budget` seconds for each hot loop.

    Args:
        source: a C, C++ or LLVM IR file, or all arguments of a compiler command: files and options.
        argv: arguments to run the program with; the schedules are made for the input that the program then reads.
        machine: with caches; if it is not this machine, orders are predicted for it and nothing is changed. None: this
            machine.
        method: `"auto"`, or the name of one of `tracecut.methods()`.
        k: number of clusters, None: from the cache sizes.
        seed: of all random choices; the same seed gives the same schedule where the measured times agree.
        threads: threads of the result, None: one per core.
        output: folder for the results; None: a temporary folder, removed with the returned object.
        stdin: file, pipe or device that the program reads as its standard input, None: empty input.
        region: `"FILE:LINE"` of a loop to optimize instead of the hottest ones.
        budget: seconds after which the whole job tries nothing more, and builds and compares the best that it has;
            None: no limit. loop_budget: seconds for the costly orders of each loop, None: ten times what the loop
            takes in a run of the program, at most 20.
        timeout: seconds that one run of the program may take, None: no limit.
        memory: bytes that each tracecut process may use, None: half of the free memory. A loop that needs more is
            refused.
        exact: only orders that keep every bit: floating-point sums keep their order.
        reduce: `"fast"`, or `"ordered"`: the sums of a schedule have the same bits on any number of threads.
        gpu: a GPU such as `"h200"`: its memory model chooses a kernel of each hot loop, whether the loop paid on this
            machine or not; None: kernels of the loops that paid, as they run here.
        in_copy: run the program in scratch copies of the current folder, so that its files stay as they are.
        fresh: do all work again, also where `output` has a result that answers the same question (`manifest["reused"]`
            says so, `manifest["made"]` is its time).

    Returns an `Optimized`, even if every loop was refused; the reasons are in its `regions`.

    Raises ArgumentError, UsageError (options for the compiler, `region`), SourceError (missing file, does not compile),
    ProgramError (the program fails), OutputError (the results cannot be written) and ToolchainError; the output
    folder is then unchanged.
    """
    from tracecut.partition import METHODS
    from tracecut.pipeline.stages.settings import Settings, checked
    from tracecut.pipeline.supervise import optimize_program
    from tracecut.support.private_folders import new_folder
    from tracecut.support.progress import Progress
    from tracecut.tracer.recorded.command_line import command_line

    if not isinstance(source, str | bytes | os.PathLike | Sequence):
        raise ArgumentError(
            f"source is a {type(source).__name__}, a path or a list of paths was expected",
            hint="A Numba function can be traced (tracecut.trace, tracecut.dependence_graph), not optimized.",
        )
    words = [source] if isinstance(source, str | bytes | os.PathLike) else list(source)
    sources, flags = command_line([word("source", each) for each in words])
    if not sources:
        raise SourceError("no source file was given", hint="For example tracecut.optimize('prog.c', ['--steps', '9']).")
    if isinstance(argv, str | bytes):
        raise ArgumentError(f"argv is the string {argv!r}, a list of arguments was expected")
    if machine is not None and not isinstance(machine, Machine):
        raise ArgumentError(f"machine is {machine!r}, a Machine or None was expected")
    if machine is not None:
        machine.last_cache()  # orders are predicted for its caches
    if method not in METHODS and method not in ("auto", "original"):
        raise ArgumentError(f"method is {method!r}, 'auto' or a name of tracecut.methods() was expected")
    if method in METHODS and "coords" in METHODS[method].uses:
        raise ArgumentError(f"method is {method!r}, which needs coordinates of the data; a captured run has none")
    if output is not None and not os.fspath(output):
        raise ArgumentError("output is empty, the name of a folder was expected")
    if stdin is not None and (problem := problem_of(stdin)):
        raise ArgumentError(f"stdin is {os.fspath(stdin)!r}: {problem}")
    asked: dict[str, object] = {"k": k, "threads": threads, "seed": seed, "timeout": timeout}
    asked |= {"budget": budget, "loop_budget": loop_budget}
    asked |= {"memory": memory, "method": method, "region": region, "exact": bool(exact), "reduce": reduce, "gpu": gpu}
    asked |= {"fresh": bool(fresh), "in_copy": bool(in_copy)}
    options, arguments = checked(asked), tuple(word("argv", each) for each in argv)
    folder = new_folder("tracecut-result") if output is None else Path(output)
    place = None if stdin is None else Path(stdin)
    settings = Settings(tuple(sources), flags, arguments, folder, stdin=place, machine=machine, **options)
    try:
        result = optimize_program(settings, Progress(quiet=True))
    except BaseException:
        if output is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if output is None:
        weakref.finalize(result, shutil.rmtree, folder, ignore_errors=True)
    return result
