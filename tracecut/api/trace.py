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
from tracecut.tracer.trace.events.event_words import Words
from tracecut.tracer.trace.file.trace_file import TraceWriter
from tracecut.tracer.trace.instrument.compile import traced_program
from tracecut.tracer.trace.instrument.outline_allocators import outline_operators
from tracecut.tracer.trace.instrument.region_switch import selected
from tracecut.tracer.trace.record.record import MEMORY, Recorded, Window, record
from tracecut.tracer.trace.tables.expand import Expander
from tracecut.tracer.trace.tables.static_tables import Static
from tracecut.tracer.trace.trace import Trace, tail_of

FORMS = ("O1", "seed")
LEVELS = ("instructions", "jobs")
NAME = "traced"  # of what is captured of the run


@dataclass(frozen=True)
class BuildSettings:
    """How a program is compiled and instrumented. Of `trace`, which explains each; checked here.

    Raises ArgumentError for values that `trace` refuses.
    """

    opt: str = "O1"
    functions: Collection[str] | None = None
    timed: bool | str = False
    region: str | None = None
    every: int = 1

    def __post_init__(self) -> None:
        if self.opt not in FORMS:
            raise ArgumentError(f"opt is {self.opt!r}, one of {', '.join(FORMS)} was expected")
        if self.timed not in (False, True, "seed"):
            raise ArgumentError(f"timed is {self.timed!r}; False, True or 'seed' was expected")
        if isinstance(self.functions, str | bytes):
            raise ArgumentError("functions is a string, a list of names was expected")
        if self.region is None and self.every != 1:
            raise ArgumentError(f"every is {self.every!r}, but no region is given whose iterations it could mean")


DEFAULT = BuildSettings()


@dataclass(frozen=True, eq=False)
class Prepared:
    """A program that is ready to be traced: the tables, and the executable."""

    static: Static
    program: Path
    meta: dict[str, Any]


def prepare(sources: Sequence[str], flags: Flags, folder: Path, settings: BuildSettings = DEFAULT) -> Prepared:
    """Compile sources to the module that is traced, and to the executable that records itself.

    `folder`: for intermediate files. Raises SourceError, UnsupportedError and ArgumentError (an unknown function, no
    such loop).
    """
    texts, said = [], ""
    with Guardian() as guardian:
        for number, source in enumerate(sources):
            own = folder / f"source{number}"
            own.mkdir(exist_ok=True)
            text, words = ir_and_words(Path(source), flags, own, canonical=True, opt=settings.opt, guardian=guardian)
            said += words
            texts.append(text.encode(errors="surrogateescape").decode(errors="replace"))
    meta = {
        "sources": [str(source) for source in sources],
        "digests": [_digest(Path(source)) for source in sources],
        "flags": list(flags.compile),
        "warnings": warnings(said, WARNINGS, rest=""),
    }
    ours = all(flags.language(Path(source)) != "ir" for source in sources)
    return _prepared(texts, flags, folder, settings, meta, optimised=ours)


def prepare_function(
    function: Any, arguments: Sequence[Any], folder: Path, settings: BuildSettings = DEFAULT
) -> tuple[Prepared, list[str]]:
    """A function of Numba as `prepare` makes it of sources, and the command line to run it with.

    Without `settings.functions` the kernel, its callees and the memory that it allocates are traced, but not the `main`
    around them.
    """
    from tracecut.tracer.toolchain.numba import numba_program

    made = numba_program(function, arguments, folder, opt=settings.opt)
    meta = {"sources": [made.kernel], "digests": [hashlib.sha256(made.texts[0].encode()).hexdigest()], "flags": []}
    return _prepared(made.texts, Flags(), folder, settings, meta, around=made.around), list(made.argv)


@uncollected()
def _prepared(
    texts: Sequence[str],
    flags: Flags,
    folder: Path,
    settings: BuildSettings,
    meta: dict[str, Any],
    *,
    optimised: bool = False,
    around: Collection[str] = (),
) -> Prepared:
    """`optimised`: see `canonical`. `around`: functions that are not instrumented unless they are chosen."""
    module = canonical(texts, optimised=optimised) if settings.opt == "O1" else unoptimised(texts)
    names = list(module.functions)
    made = str(module)
    text = outline_operators(resolve_aliases(made))
    if settings.region is not None:
        text = selected(text, settings.region, settings.every)
    if text != made:
        module = parse_module(text)
    chosen = settings.functions
    if chosen is None and around:
        chosen = [name for name in names if name.removeprefix("@") not in around]
    if "@main" not in names:
        raise SourceError("the program has no main function", hint="Give all of its source files.")
    timed = settings.timed
    static, objects = traced_program(text, chosen, module=module, timed=bool(timed), fenced=timed != "seed")
    program = executable(objects, flags, folder / "traced-program")
    meta = {
        "tracecut": __version__,
        "opt": settings.opt,
        "timed": timed,
        "region": settings.region,
        "every": settings.every,
        **meta,
        "libraries": list(flags.libraries),
        "functions_chosen": None if settings.functions is None else sorted(settings.functions),
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
    sink: Callable[[int, Words], None] | None = None,
    build: Callable[[Static], Callable[[int, Words], None]] | None = None,
    runs: bool = False,
) -> Trace:
    """Run a program once and record each instruction that it executes and each address that it accesses.

    The program runs in a child process. However it ends, the trace holds everything up to its last instruction;
    `Trace.ok` and `Trace.outcome` say how it ended.

    Args:
        source: a C, C++ or LLVM IR file, or all words of a compiler command: files and options; or a function of Numba.
        argv: command-line arguments of the program; for a function of Numba its arguments, which are copied.
        level: `"instructions"`, or `"jobs"`: the run is reduced to the iterations of its hottest loops (of those in
            `region`) and the data that each one touches, in `Trace.regions`; records are then only kept in `output`.
            (`optimize` needs no trace of instructions: it follows index arrays alone.)
        opt: `"O1"`: optimised, scalar; `"seed"`: unoptimised, as VertexCut §3.1 has it.
        functions: names of the functions to record, None: all of the program.
        region: `FILE:LINE` or `LINE` of a loop: only its iterations are recorded, called functions included. The
            stream has RESUMED and PAUSED marks, the totals count what was recorded.
        every: N records one of every N iterations of that loop.
        start: instructions to skip first. max_instructions: how many to keep from there, None: all; the others are
            counted. stop: stop the program when these are recorded.
        memory: bytes of the buffers between the program and this process, None: 8 MiB.
        timed: True measures each access between fenced time stamps (slow; see `Static.timed`); `"seed"` between
            stamps without fences as VertexCut §3.2 does, which do not wait for the memory.
        datum: of level `"jobs"`: bytes of a datum, a power of two.
        keep: whether to write a trace file. Without one only the totals remain, in bounded memory.
        output: the trace file, None: a temporary one that is removed with the returned object.
        stdin: file with the standard input of the program, None: empty input.
        stdout, stderr: file or open descriptor that receives what the program wrote there, once it has ended; None: it
            is dropped (the end of stderr is in `Trace.stderr`).
        timeout: time limit of the program in seconds, None: no limit.
        sink: called with (stream, words) as they come, see `tracer.trace.events.event_words`; words are only valid
            during the call.
        build: called with the tables before the run; returns the sink.
        runs: pass compact records (`tracer.trace.compact.loop_runs`) to the sink, not those that they stand for.

    Raises ArgumentError, SourceError (missing file, does not compile), UnsupportedError (memory operations that cannot
    be followed, listed), OutputError and ToolchainError.
    """
    settings = BuildSettings(opt, functions, timed, region, every)
    if level not in LEVELS:
        raise ArgumentError(f"level is {level!r}, one of {', '.join(LEVELS)} was expected")
    if level == "jobs":
        if sink is not None or build is not None or not keep:
            raise ArgumentError("level = 'jobs': sink, build and keep are for records, which are not kept")
        same: dict[str, Any] = {"opt": opt, "functions": functions, "region": region, "every": every, "start": start}
        same |= {"max_instructions": max_instructions, "stop": stop, "memory": memory, "output": output}
        same |= {"stdin": stdin, "stdout": stdout, "stderr": stderr, "timeout": timeout}
        from .loop_summaries import job_regions  # what follows loops is a tenth of a second to load

        kept = trace(source, argv, **same)
        return kept.reduced(job_regions(kept, datum=datum))
    kernel = callable(source)
    words = [source] if isinstance(source, str | bytes) or not isinstance(source, Sequence) else list(source)
    sources, flags = ([], Flags()) if kernel else parse_flags([word("source", each) for each in words])
    if not sources and not kernel:
        raise SourceError("no source file was given", hint="For example tracecut.trace('prog.c', ['--steps', '9']).")
    if isinstance(argv, str | bytes):
        raise ArgumentError("argv is a string, a list of them was expected")
    if output is not None and not keep:
        raise ArgumentError("output names a file, but keep is False")
    if stdin is not None and (problem := problem_of(stdin)):
        raise ArgumentError(f"stdin is {str(stdin)!r}: {problem}")
    if region is not None and kernel:
        raise ArgumentError("region chooses a loop of a C or C++ program; of a function give `functions`")
    for name, target in (("output", output), ("stdout", stdout), ("stderr", stderr)):
        if target is not None and not isinstance(target, int) and (taken := _read_too(target, [*sources, stdin])):
            raise ArgumentError(f"{name} is {os.fsdecode(target)!r}, which is also read: {taken} would be lost")
    arguments = [_shown(value) if kernel else word("argv", value) for value in argv]
    limits = Limits(seconds=None if timeout is None else seconds("timeout", timeout), output_bytes=OUTPUT_LIMIT)
    buffers = MEMORY if memory is None else whole_number("memory", memory, 1)
    size = None if max_instructions is None else whole_number("max_instructions", max_instructions, 0)
    window = Window(whole_number("start", start, 0), size, stop)
    home = new_folder("tracecut-trace") if keep and output is None else None
    target = None if not keep else Path(output) if output is not None else Path(str(home)) / "trace.tct"
    try:
        with private_folder("tracecut-record-") as folder, passed_on(folder, NAME, stdout=stdout, stderr=stderr):
            if kernel:
                ready, command = prepare_function(source, argv, folder, settings)
            else:
                ready, command = prepare(sources, flags, folder, settings), arguments
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
                    memory=buffers,
                    window=window,
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
    """The file among those that are read which `target` would overwrite, under whatever name; empty without one."""
    for name in read:
        with suppress(OSError, ValueError):
            if name is not None and Path(name).is_file() and Path(name).samefile(target):
                return os.fsdecode(name)
    return ""


def _shown(value: Any) -> str:
    """An argument of a function as the trace names it: dtype and shape of an array, the value of anything else."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    return repr(value)[:100]


def notes_of(recorded: Recorded, static: Static) -> list[str]:
    """What is missing in the trace, one sentence each."""
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
    writer: TraceWriter | None, sink: Callable[[int, Words], None] | None, static: Static, runs: bool
) -> Callable[[int, Words], None]:
    """A sink that stores compact records, and passes them on to `sink`: with `runs` as they are, otherwise expanded."""
    expander = Expander(static, reuse=True)

    def both(stream: int, words: Words) -> None:
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
