"""First stage: sources to the canonical module, and to the program as the user would have built it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tracecut.codegen.link import executable
from tracecut.ir.errors import SourceError
from tracecut.tracer.frontend import to_ir
from tracecut.tracer.llvm import canonical, emit_object
from tracecut.tracer.program import Analysis

from .settings import Settings


@dataclass(frozen=True, eq=False)
class Compiled:
    """The program in both forms. `text` is the canonical module, `native` the executable."""

    text: str
    analysis: Analysis
    native: Path


def compile_program(settings: Settings, folder: Path) -> Compiled:
    """Compile the sources twice. Raises SourceError with the compiler's diagnostic."""
    sources = [Path(source) for source in settings.sources]
    flags = settings.flags

    def build(job: tuple[int, Path, bool]) -> str:
        number, source, for_analysis = job
        own = folder / f"source{number}"
        own.mkdir(exist_ok=True)
        text = to_ir(source, flags, own, canonical=for_analysis)
        return text.encode(errors="surrogateescape").decode(errors="replace")  # file names in comments may be anything

    jobs = [(number, source, kind) for kind in (True, False) for number, source in enumerate(sources)]
    with ThreadPoolExecutor(2) as pool:  # two compilers at a time; LLVM itself is then used from one thread
        texts = list(pool.map(build, jobs))
    count = len(sources)
    native = executable([emit_object(text, optimise=False) for text in texts[count:]], flags, folder / "program")
    text = str(canonical(texts[:count]))
    analysis = Analysis(text)
    if "@main" not in analysis.own:
        raise SourceError("the program has no main function", hint="Give all of its source files.")
    return Compiled(text, analysis, native)
