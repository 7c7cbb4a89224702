"""Stage `compile`: sources to the canonical module, and to the program as the user would have built it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tracecut.ir.llvm import Module
from tracecut.support.errors import SourceError
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.recorded.command_line import flags_without, recorded_program
from tracecut.tracer.recorded.compile_anew import position_independent
from tracecut.tracer.recorded.program import unpack
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import to_ir, to_object
from tracecut.tracer.toolchain.flags import ASSEMBLY_SUFFIXES, Flags
from tracecut.tracer.toolchain.passes import canonical

from .settings import Settings


@dataclass(frozen=True, eq=False)
class Compiled:
    """The program in both forms. `text` is the canonical module, `native` the executable.

    `flags`: the options, with the machine code of units that cannot be compiled. `said`: the warnings of the user's
    compiler, in the order of the files.
    """

    text: str
    analysis: Analysis
    native: Path
    flags: Flags
    said: str = ""


def compile_program(settings: Settings, folder: Path) -> Compiled:
    """Compile the sources twice. Raises SourceError with the compiler's diagnostic."""
    program = recorded_program(settings.sources, settings.flags)
    if program is None:
        jobs = [(Path(source), settings.flags) for source in settings.sources]
    else:
        jobs = unpack(program, folder)
    made, ahead = _compile_all(jobs, folder)
    failed = {number: each for number, each in enumerate(made) if isinstance(each, SourceError)}
    flags = settings.flags
    if failed and program is None:
        raise failed[min(failed)]
    if failed and program is not None:
        refused = {program.units[number]: _first(error) for number, error in failed.items()}
        flags = position_independent(flags_without(settings.sources, flags, refused), refused, folder)
    units = [each for each in made if not isinstance(each, SourceError)]
    flags = _assembled(flags, folder)
    native = executable([unit.code for unit in units], flags, folder / "program")
    if ahead is None or failed:
        ahead = canonical([unit.text for unit in units], for_regions=True)
    if isinstance(ahead, SourceError):
        raise ahead
    module = ahead
    analysis = Analysis(module)
    if "@main" not in analysis.own:
        if failed and program is not None:
            number = min(failed)
            raise SourceError(f"{program.units[number].source} does not compile", detail=failed[number].detail)
        raise SourceError("the program has no main function", hint="Give all of its source files.")
    return Compiled(str(module), analysis, native, flags, "".join(unit.said for unit in units))


def _assembled(flags: Flags, folder: Path) -> Flags:
    """The options with machine code in the places of assembly. Raises SourceError with the assembler's diagnostic."""
    objects = []
    for number, word in enumerate(flags.objects):
        if Path(word).suffix in ASSEMBLY_SUFFIXES:
            own = folder / f"assembly{number}"
            own.mkdir(exist_ok=True)
            code = own / "assembled.o"
            code.write_bytes(to_object(Path(word), flags, own)[0])
            word = str(code)
        objects.append(word)
    return replace(flags, objects=tuple(objects))


@dataclass(frozen=True)
class _Unit:
    """A unit in both forms, and what the user's compiler says."""

    text: str
    code: bytes
    said: str


def _compile_all(
    jobs: list[tuple[Path, Flags]], folder: Path
) -> tuple[list[_Unit | SourceError], Module | SourceError | None]:
    """Each unit in both forms, or why it does not compile; and the canonical module of all, or why there is none.

    That is made while the compiler works on the machine code. None where some unit does not compile, or is LLVM IR:
    its machine code is made in this process, where LLVM is used from one thread.
    """

    def folder_of(number: int) -> Path:
        own = folder / f"source{number}"
        own.mkdir(exist_ok=True)
        return own

    def analysed(number: int) -> str:
        source, own = jobs[number]
        text = to_ir(source, own, folder_of(number), canonical=True)
        # comments have file names, which may have any characters
        return text.encode(errors="surrogateescape").decode(errors="replace")

    def built(number: int) -> tuple[bytes, str]:
        source, own = jobs[number]
        return to_object(source, own, folder_of(number))

    found: list[_Unit | SourceError] = []
    languages = {own.language(source) for source, own in jobs}
    ahead: Module | SourceError | None = None
    with ThreadPoolExecutor(2) as pool:  # two compilers at a time
        texts = [pool.submit(analysed, number) for number in range(len(jobs))]
        codes = [pool.submit(built, number) for number in range(len(jobs))]
        if "ir" not in languages and not any(text.exception() for text in texts):
            try:
                ahead = canonical([text.result() for text in texts], for_regions=True)
            except SourceError as error:
                ahead = error
        for text, code in zip(texts, codes, strict=True):
            try:
                found.append(_Unit(text.result(), *code.result()))
            except SourceError as error:
                found.append(error)
    return found, ahead


def _first(error: SourceError) -> str:
    """The first error of a compiler's message, in one line."""
    lines = [line.strip() for line in error.detail.splitlines()]
    return next((line for line in lines if " error: " in line), lines[0] if lines else error.message)
