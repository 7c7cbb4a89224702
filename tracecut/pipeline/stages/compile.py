"""Stage `compile`: sources to the canonical module, and to the program as the user would have built it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tracecut.support.errors import SourceError
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.recorded.command_line import recorded_program
from tracecut.tracer.recorded.program import unpack
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import to_ir, to_object
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import canonical

from .settings import Settings


@dataclass(frozen=True, eq=False)
class Compiled:
    """The program in both forms. `text` is the canonical module, `native` the executable.

    `said`: the warnings of the user's compiler, in the order of the files.
    """

    text: str
    analysis: Analysis
    native: Path
    said: str = ""


def compile_program(settings: Settings, folder: Path) -> Compiled:
    """Compile the sources twice. Raises SourceError with the compiler's diagnostic."""
    flags = settings.flags
    units = _units(settings, folder)

    def folder_of(number: int) -> Path:
        own = folder / f"source{number}"
        own.mkdir(exist_ok=True)
        return own

    def analysed(job: tuple[int, tuple[Path, Flags]]) -> str:
        number, (source, own) = job
        text = to_ir(source, own, folder_of(number), canonical=True)
        # comments have file names, which may have any characters
        return text.encode(errors="surrogateescape").decode(errors="replace")

    def built(job: tuple[int, tuple[Path, Flags]]) -> tuple[bytes, str]:
        number, (source, own) = job
        return to_object(source, own, folder_of(number))

    jobs = list(enumerate(units))
    with ThreadPoolExecutor(2) as pool:  # two compilers at a time; LLVM itself is then used from one thread
        texts, made = pool.map(analysed, jobs), pool.map(built, jobs)
        objects = list(made)
        native = executable([code for code, _ in objects], flags, folder / "program")
        found = list(texts)
    module = canonical(found, for_regions=True)
    analysis = Analysis(module)
    if "@main" not in analysis.own:
        raise SourceError("the program has no main function", hint="Give all of its source files.")
    return Compiled(str(module), analysis, native, "".join(said for _, said in objects))


def _units(settings: Settings, folder: Path) -> list[tuple[Path, Flags]]:
    """Each file to compile with its options: the sources, or those that a program carries."""
    sources = [Path(source) for source in settings.sources]
    program = recorded_program(settings.sources, settings.flags)
    return [(source, settings.flags) for source in sources] if program is None else unpack(program, folder)
