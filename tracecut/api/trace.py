"""Tracing a program instruction by instruction: compile, instrument, run, keep."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tracecut.ir.job_region import DATUM
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.demangle import demangled
from tracecut.ir.llvm.passes.function_aliases import resolve_aliases
from tracecut.support.argument_checks import AnyPath, seconds, whole_number, word
from tracecut.support.compiler_messages import WARNINGS, warnings
from tracecut.support.errors import ArgumentError, SourceError, ToolchainError
from tracecut.support.garbage_collection import uncollected
from tracecut.support.private_folders import new_folder
from tracecut.support.process.forward_output import Target, passed_on
from tracecut.support.process.runner import Guardian, Limits, private_folder
from tracecut.support.process.standard_input import kept_input, problem_of
from tracecut.support.process.workers import OUTPUT_LIMIT, phrase
from tracecut.support.process.workers import tail_of as last_words
from tracecut.support.version import __version__
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import Flags, ir_and_words, parse_flags
from tracecut.tracer.toolchain.find_compilers import compiler
from tracecut.tracer.toolchain.passes import canonical, unoptimised
from tracecut.tracer.trace.file.trace_file import TraceWriter
from tracecut.tracer.trace.instrument.compile import traced_program
from tracecut.tracer.trace.instrument.outline_allocators import outline_operators
from tracecut.tracer.trace.instrument.region_switch import selected
from tracecut.tracer.trace.record.record import MEMORY, Recorded, record
from tracecut.tracer.trace.tables.expand import Expander
from tracecut.tracer.trace.tables.static_tables import Static
from tracecut.tracer.trace.trace import Trace, tail_of

FORMS = ("O1", "seed")
LEVELS = ("instructions", "jobs")
NAME = "traced"  # of what is captured of the run


@dataclass(frozen=True, eq=False)
class Prepared:
    """A program that is ready to be traced: the tables, and the executable."""

    static: Static
    program: Path
    meta: dict[str, Any]


def prepare(
    sources: Sequence[str],
    flags: Flags,
    folder: Path,
    *,
    opt: str = "O1",
    functions: Collection[str] | None = None,
    timed: bool | str = False,
    region: str | None = None,
    every: int = 1,
) -> Prepared:
    """Compile sources to the module that is traced, and to the executable that traces itself.

    Args:
        folder: for what is made on the way. opt: `O1`, the canonical form, or `seed`, unoptimised.
        functions: to be instrumented, None: all. timed: with the time of each access, see `trace`.
        region, every: the loop to record, None: everything, and the first of how many of its iterations.

    Raises SourceError, UnsupportedError and ArgumentError (an unknown function, no such loop).
    """
    if opt not in FORMS:
        raise ArgumentError(f"opt is {opt!r}, one of {', '.join(FORMS)} was expected")
    texts, said = [], ""
    with Guardian() as guardian:
        for number, source in enumerate(sources):
            own = folder / f"source{number}"
            own.mkdir(exist_ok=True)
            text, words = ir_and_words(Path(source), flags, own, canonical=True, opt=opt, guardian=guardian)
            said += words
            texts.append(text.encode(errors="surrogateescape").decode(errors="replace"))
    meta = {
        "sources": [str(source) for source in sources],
        "digests": [_digest(Path(source)) for source in sources],
        "flags": list(flags.compile),
        "warnings": warnings(said, WARNINGS, rest=""),
    }
    ours = all(flags.language(Path(source)) != "ir" for source in sources)
    return _prepared(
        texts, flags, folder, opt, functions, meta, optimised=ours, timed=timed, region=region, every=every
    )


def prepare_function(
    function: Any,
    arguments: Sequence[Any],
    folder: Path,
    *,
    opt: str = "O1",
    functions: Collection[str] | None = None,
    timed: bool | str = False,
) -> tuple[Prepared, list[str]]:
    """A function of Numba as `prepare` makes it of sources, and the command line to run it with.

    `functions`: None: the kernel, what it calls, and the memory that it allocates; not the `main` around it.
    """
    if opt not in FORMS:
        raise ArgumentError(f"opt is {opt!r}, one of {', '.join(FORMS)} was expected")
    from tracecut.tracer.toolchain.numba import numba_program

    made = numba_program(function, arguments, folder, opt=opt)
    meta = {"sources": [made.kernel], "digests": [hashlib.sha256(made.texts[0].encode()).hexdigest()], "flags": []}
    return _prepared(made.texts, Flags(), folder, opt, functions, meta, around=made.around, timed=timed), list(
        made.argv
    )


@uncollected()
def _prepared(
    texts: Sequence[str],
    flags: Flags,
    folder: Path,
    opt: str,
    functions: Collection[str] | None,
    meta: dict[str, Any],
    *,
    optimised: bool = False,
    around: Collection[str] = (),
    timed: bool | str = False,
    region: str | None = None,
    every: int = 1,
) -> Prepared:
    """`optimised`: see `canonical`. `around`: functions that are not instrumented unless they are chosen."""
    module = canonical(texts, optimised=optimised) if opt == "O1" else unoptimised(texts)
    names = list(module.functions)
    made = str(module)
    text = outline_operators(resolve_aliases(made))
    if region is not None:
        text = selected(text, region, every)
    if text != made:
        module = parse_module(text)
    chosen = functions
    if functions is None and around:
        chosen = [name for name in names if name.removeprefix("@") not in around]
    if "@main" not in names:
        raise SourceError("the program has no main function", hint="Give all of its source files.")
    static, objects = traced_program(text, chosen, module=module, timed=bool(timed), fenced=timed != "seed")
    program = executable(objects, flags, folder / "traced-program")
    meta = {
        "tracecut": __version__,
        "opt": opt,
        "timed": timed,
        "region": region,
        "every": every,
        **meta,
        "libraries": list(flags.libraries),
        "functions_chosen": None if functions is None else sorted(functions),
        "compiler": _compiler(),
    }
    return Prepared(static, program, meta)


def trace(
    source: AnyPath | Sequence[AnyPath] | Callable[..., Any],
    argv: Sequence[Any] = (),
    *,
    level: str = "instructions",
    opt: str = "O1",
    functions: Collection[str] | None = None,
    region: str | None = None,
    every: int = 1,
    start: int = 0,
    max_instructions: int | None = None,
    stop: bool = False,
    memory: int | None = None,
    timed: bool | str = False,
    datum: int = DATUM,
    keep: bool = True,
    output: AnyPath | None = None,
    stdin: AnyPath | None = None,
    stdout: Target = None,
    stderr: Target = None,
    timeout: float | None = None,
    sink: Callable[[int, npt.NDArray[np.uint32]], None] | None = None,
    build: Callable[[Static], Callable[[int, npt.NDArray[np.uint32]], None]] | None = None,
    runs: bool = False,
) -> Trace:
    """Run a program once and record each instruction that it executes, and each address that it accesses.

    The program runs in a child process. However it ends, the trace holds everything up to its last instruction; whether
    it ended well is in `Trace.ok` and `Trace.outcome`.

    Args:
        source: a C, C++ or LLVM IR file, or all words of a compiler command: files and options; or a function of Numba.
        argv: arguments to run the program with; of a function of Numba its arguments, which are copied.
        level: `"instructions"`, or `"jobs"`: the run is reduced to the iterations of its hottest loops (of those in
            `region`) and the data that each one touches, in `Trace.regions`; records are then only kept in `output`.
            (`optimize` traces the loops that it can reorder by itself, from their index arrays.)
        opt: `"O1"`: optimised, scalar; `"seed"`: unoptimised, as VertexCut §3.1 has it.
        functions: names of the functions to record, None: all of the program.
        region: `FILE:LINE` or `LINE` of a loop: only while it runs something is recorded, what it calls included. Its
            stream has RESUMED and PAUSED marks, its totals count what was recorded.
        every: record the first of so many iterations of that loop, whole.
        start: instructions to pass by first. max_instructions: how many to keep then; the rest of the run is counted.
        stop: stop the program when these are recorded.
        memory: bytes of buffers between the program and this process, None: 8 MiB.
        timed: whether to measure each access between fenced time stamps (slow; see `Static.timed`); `"seed"`: between
            stamps without fences, the way of VertexCut §3.2, which do not wait for the memory.
        datum: of level `"jobs"`: bytes of a datum, a power of two.
        keep: whether to write a trace file. Without one only the totals remain, in bounded memory.
        output: the trace file, None: a temporary one that goes with the returned object.
        stdin: file that the program reads as its standard input, None: empty input.
        stdout, stderr: file or open descriptor that gets what the program wrote there, when it is done; None: it is
            dropped (the end of stderr is in `Trace.stderr`).
        timeout: seconds that the program may take, None: no limit.
        sink: called with (stream, words) as they come, see `tracer.events.items`; words are only valid in the call.
        build: called with the tables before the run; what it returns is the sink.
        runs: give the sink compact records as they come (`tracer.events.runs`), not those that they stand for.

    Raises ArgumentError, SourceError (missing file, does not compile), UnsupportedError (memory operations that can not
    be followed, listed), OutputError and ToolchainError.
    """
    if timed not in (False, True, "seed"):
        raise ArgumentError(f"timed is {timed!r}; False, True or 'seed' was expected")
    if level not in LEVELS:
        raise ArgumentError(f"level is {level!r}, one of {', '.join(LEVELS)} was expected")
    if level == "jobs":
        if sink is not None or build is not None or not keep:
            raise ArgumentError("level = 'jobs': sink, build and keep are for records, which are not kept")
        more: dict[str, Any] = {
            "region": region,
            "every": every,
            "start": start,
            "max_instructions": max_instructions,
            "stop": stop,
        }
        more |= {"memory": memory, "output": output, "timeout": timeout}
        more |= {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        from .loop_summaries import job_regions  # what follows loops is a tenth of a second to load

        kept = trace(source, argv, opt=opt, functions=functions, **more)
        return kept.reduced(job_regions(kept, datum=datum))
    kernel = callable(source)
    words = [source] if isinstance(source, str | bytes) or not isinstance(source, Sequence) else list(source)
    sources, flags = ([], Flags()) if kernel else parse_flags([word("source", each) for each in words])
    if not sources and not kernel:
        raise SourceError("no source file was given", hint="For example tracecut.trace('prog.c', ['--steps', '9']).")
    if isinstance(argv, str | bytes) or isinstance(functions, str | bytes):
        raise ArgumentError("argv or functions is a string, a list of them was expected")
    if output is not None and not keep:
        raise ArgumentError("output names a file, but keep is False")
    if stdin is not None and (problem := problem_of(stdin)):
        raise ArgumentError(f"stdin is {str(stdin)!r}: {problem}")
    if region is None and every != 1:
        raise ArgumentError(f"every is {every!r}, but no region is given whose iterations it could mean")
    if region is not None and kernel:
        raise ArgumentError("region chooses a loop of a C or C++ program; of a function give `functions`")
    for name, target in (("output", output), ("stdout", stdout), ("stderr", stderr)):
        if target is not None and not isinstance(target, int) and (taken := _read_too(target, [*sources, stdin])):
            raise ArgumentError(f"{name} is {os.fsdecode(target)!r}, which is also read: {taken} would be lost")
    arguments = [_shown(value) if kernel else word("argv", value) for value in argv]
    limits = Limits(seconds=None if timeout is None else seconds("timeout", timeout), output_bytes=OUTPUT_LIMIT)
    home = new_folder("tracecut-trace") if keep and output is None else None
    target = None if not keep else Path(output) if output is not None else Path(str(home)) / "trace.tct"
    try:
        with private_folder("tracecut-record-") as folder, passed_on(folder, NAME, stdout=stdout, stderr=stderr):
            if kernel:
                ready, command = prepare_function(source, argv, folder, opt=opt, functions=functions, timed=timed)
            else:
                ready = prepare(
                    sources, flags, folder, opt=opt, functions=functions, timed=timed, region=region, every=every
                )
                command = arguments
            meta = {**ready.meta, "argv": arguments, "start": start, "max_instructions": max_instructions}
            sink = sink if build is None else build(ready.static)
            writer = None if target is None else TraceWriter(target, ready.static, meta)
            try:
                recorded = record(
                    [ready.program, *command],
                    ready.static,
                    _into(writer, sink, ready.static, runs),
                    folder=folder,
                    name=NAME,
                    stdin=None if stdin is None else kept_input(Path(stdin), folder),
                    limits=limits,
                    memory=MEMORY if memory is None else whole_number("memory", memory, 1),
                    start=whole_number("start", start, 0),
                    max_instructions=None
                    if max_instructions is None
                    else whole_number("max_instructions", max_instructions, 0),
                    stop_when_full=stop,
                    runs=True,
                )
                outcome = "was stopped when enough was kept" if recorded.finished is None else phrase(recorded.finished)
                said = "" if recorded.finished is None else last_words(recorded.finished.stderr)
                notes = [*flags.notes, *notes_of(recorded, ready.static)]
                if region is not None:
                    share = f", the first of {every} iterations" if every > 1 else ""
                    notes.append(f"only the loop at {region} was recorded{share}")
                tail = tail_of(recorded, outcome, notes, said)
                if writer is not None:
                    writer.close(tail)
            except BaseException:
                if writer is not None:
                    writer.abandon()
                raise
        if target is None:
            return Trace(ready.static, meta, tail, None)
        result = Trace.load(target)
    except BaseException:
        if home is not None:
            shutil.rmtree(home, ignore_errors=True)
        raise
    if home is not None:
        result.own(home)
    return result


def _read_too(target: AnyPath, read: Sequence[AnyPath | None]) -> str:
    """Which of the files that are read is the one that is to be written, under whatever name; empty if none is."""
    for name in read:
        with suppress(OSError, ValueError):
            if name is not None and Path(name).is_file() and Path(name).samefile(target):
                return os.fsdecode(name)
    return ""


def _shown(value: Any) -> str:
    """An argument of a function as the trace names it: its value when it is a number, what it is when it is not."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return repr(value)[:100]


def notes_of(recorded: Recorded, static: Static) -> list[str]:
    """What the trace does not show, one sentence each."""
    notes = []
    names = sorted({name for _, name in static.unknown})
    if names:
        shown = ", ".join(map(demangled, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        notes.append(f"what these functions do to memory is not known: {shown}; any object given to them may change")
    if recorded.forks:
        count = "a process" if recorded.forks == 1 else f"{recorded.forks} processes"
        notes.append(f"the program forked {count}; what they do is not recorded")
    if recorded.damaged:
        notes.append("the program wrote into the buffers of its tracer: a part of the records is lost")
    lost = recorded.totals.records - recorded.totals.kept_records
    if lost:
        notes.append(f"{lost} of {recorded.totals.records} records lie outside of what was to be kept")
    for _, segment in recorded.crashed:
        block = int(static.segment_block[segment])
        function = int(np.searchsorted(static.function_block, block, side="right")) - 1
        name = demangled(static.functions[function].removeprefix("@").strip('"'))
        notes.append(f"the program ended in the middle of a block of {name}")
    return notes


def _into(
    writer: TraceWriter | None, sink: Callable[[int, npt.NDArray[np.uint32]], None] | None, static: Static, runs: bool
) -> Callable[[int, npt.NDArray[np.uint32]], None]:
    """A sink that stores words with their runs, and gives `sink` the records that they stand for, or `runs` as well."""
    expander = Expander(static, reuse=True)

    def both(stream: int, words: npt.NDArray[np.uint32]) -> None:
        if writer is not None:
            writer.add(stream, words)
        if sink is not None and runs:
            sink(stream, words)
        elif sink is not None:
            for part in expander.pieces(words, stream):
                sink(stream, part)

    return both


def _digest(path: Path) -> str:
    from hashlib import sha256

    return sha256(path.read_bytes()).hexdigest()


def _compiler() -> str:
    try:
        return compiler().version
    except ToolchainError:  # IR files need none
        return ""
