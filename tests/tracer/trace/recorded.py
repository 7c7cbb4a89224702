"""Tracing a program that is given as text, and following all of its streams."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tracecut.support.process.runner import Limits, run
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import parse_flags, to_ir
from tracecut.tracer.toolchain.passes import canonical, emit_object, unoptimised
from tracecut.tracer.trace.instrument.compile import traced_objects
from tracecut.tracer.trace.record.record import Recorded, Window, record
from tracecut.tracer.trace.tables.static_tables import Static, static_of

from ...waiting import HUNG
from .replay import Replay, Words, joined, replay

HEAD = """
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
volatile int seven = 7;
"""

LIMITS = Limits(seconds=HUNG, output_bytes=64 << 20, memory_bytes=1 << 30, processes=64)


@dataclass
class Ran:
    static: Static
    recorded: Recorded
    streams: dict[int, Replay]
    words: dict[int, Words]
    stdout: str

    @property
    def main(self) -> Replay:
        return self.streams[0]


def module_text(source: str, folder: Path, *flags: str, opt: str = "O1") -> str:
    """The module that is traced of a C program (or of IR, when it begins like that)."""
    is_ir = source.lstrip().startswith(("define", "declare", "target", "@", "%"))
    path = folder / ("prog.ll" if is_ir else "prog.c")
    path.write_text(source)
    _, parsed = parse_flags(list(flags))
    text = path.read_text() if is_ir else to_ir(path, parsed, folder, canonical=True, opt=opt)
    return str(canonical([text]) if opt == "O1" else unoptimised([text]))


def recorded(
    source: str,
    folder: Path,
    *arguments: str,
    flags: tuple[str, ...] = (),
    opt: str = "O1",
    functions: tuple[str, ...] | None = None,
    memory: int = 1 << 20,
    start: int = 0,
    most: int | None = None,
    limits: Limits = LIMITS,
    follow: bool = True,
    compact: bool = True,
) -> Ran:
    """Compile, trace and replay."""
    _, parsed = parse_flags(list(flags))
    text = module_text(source, folder, *flags, opt=opt)
    static = static_of(text, functions, compact=compact)
    program = executable(traced_objects(text, functions, compact=compact), parsed, folder / "traced-program")
    chunks: list[tuple[int, Words]] = []
    result = record(
        [program, *arguments],
        static,
        lambda stream, words: chunks.append((stream, words.copy())),
        folder=folder,
        limits=limits,
        memory=memory,
        window=Window(start, most),
    )
    words = joined(chunks)
    windows = bool(start or functions)
    streams = {stream: replay(static, part, windows=windows) for stream, part in words.items()} if follow else {}
    return Ran(static, result, streams, words, (folder / "traced.stdout").read_text(errors="replace"))


def native(source: str, folder: Path, *arguments: str, flags: tuple[str, ...] = (), opt: str = "O1") -> tuple[str, int]:
    """(stdout, return code) of the same module without instrumentation."""
    _, parsed = parse_flags(list(flags))
    text = module_text(source, folder, *flags, opt=opt)
    program = executable([emit_object(text, optimise=False)], parsed, folder / "native-program")
    done = run([program, *arguments], folder=folder, name="native", limits=LIMITS)
    return done.stdout.read_text(errors="replace"), done.returncode
