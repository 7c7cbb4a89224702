"""Compiles and runs the programs, by the front end, the linker and the child runner of tracecut."""

from __future__ import annotations

from pathlib import Path

from tracecut.support.process.runner import Limits, describe, run
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import Flags, to_object

from ..waiting import HUNG

LIMITS = Limits(seconds=HUNG, output_bytes=4 << 20, memory_bytes=1 << 30, processes=8)


def compiled(text: str, folder: Path, name: str) -> Path:
    """The program as an executable in `folder`. Not optimised: these programs take longer to compile than to run."""
    source = folder / f"{name}.c"
    source.write_text(text, encoding="ascii")
    return executable([to_object(source, Flags(("-O0",)), folder)[0]], Flags(), folder / name)


def output(text: str, folder: Path, name: str) -> str:
    """What the program prints. Raises RuntimeError when it fails."""
    return printed(compiled(text, folder, name), folder, name)


def printed(program: Path, folder: Path, name: str, *arguments: str) -> str:
    """What a compiled program prints. Raises RuntimeError when it fails."""
    finished = run([program, *arguments], folder=folder, name=name, limits=LIMITS)
    if not finished.ok:
        raise RuntimeError(f"{program} {describe(finished)}: {finished.stderr.read_text(errors='replace')[:500]}")
    return finished.stdout.read_text(encoding="ascii")
