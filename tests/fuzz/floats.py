"""Floating-point fidelity: random programs, bit by bit the same in every build that tracecut makes.

python -m tests.fuzz.floats --programs 1000            with each set of flags; about 50 minutes of one core
python -m tests.fuzz.floats --programs 25 --first 50   some of them
python -m tests.fuzz.floats --flags="-O3 -march=x86-64-v3"

Compared are, with what the bare compiler makes of the same line: the program that `tracecut run` starts where nothing
is rescheduled; the rescheduled one with all schedules switched off; the same with index arrays that the schedules are
not for (their guards fail); and, with schedules in force, every integer.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tracecut.support.errors import UnsupportedError
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.find_compilers import compiler
from tracecut.tracer.toolchain.flags import Flags, parse_flags

from tracecut.pipeline.stages.capture import trace_program
from tracecut.pipeline.stages.compile import compile_program
from tracecut.pipeline.stages.settings import Settings

from ..codegen.harness import MARK, Inspected, Program
from ..codegen.woven_programs import run_woven, woven
from .float_programs import floating_source
from .pipeline import few_jobs

FLAG_SETS = ("", "-O2", "-O3 -march=x86-64-v3", "-ffp-contract=off")
BATCH = 25  # programs in one file
OTHER = "5"  # an argument with which the index arrays are others
TOLERANCE = 1e-4  # sums of float in another order, some sweeps later


@dataclass(frozen=True)
class Findings:
    """What came of a file of programs: how many schedules were in force, and every difference."""

    schedules: int
    wrong: tuple[str, ...]


def check_file(source: str, line: str, folder: Path, *, threads: int = 1) -> Findings:
    """Compare all builds of one file of programs."""
    path = folder / "program.c"
    path.write_text(source)
    expected = {words: _bare(path, line, words) for words in ((), (OTHER,))}
    _, flags = parse_flags(shlex.split(line))
    program = _traced(path, flags, folder)
    wrong = []
    for words, text in expected.items():
        found = subprocess.run([program.compiled.native, *words], capture_output=True, text=True, check=True).stdout
        wrong += _differences(text, found, f"as it is {words}")
    with few_jobs():
        items, schedules = _scheduled(program, threads)
        if not items:
            return Findings(0, tuple(wrong))
        made = woven(items, schedules, batched=True, threads=threads)
        cpus = tuple(range(threads))
        for words, text in expected.items():
            off = run_woven(program, made, argv=words, cpus=cpus, enabled=False)
            wrong += _differences(text, off.stdout.decode(), f"switched off {words}")
            on = run_woven(program, made, argv=words, cpus=cpus)
            used = sum(on.used.values())
            if words and used:
                wrong.append(f"a schedule was used for other index arrays: {on.used}")
            if not words and not used:
                wrong.append(f"no schedule was used: {on.stderr[-500:]}")
            wrong += _differences(text, on.stdout.decode(), f"scheduled {words}", rounding=not words)
    return Findings(len(items), tuple(wrong))


def _bare(source: Path, line: str, words: tuple[str, ...]) -> str:
    """What the program prints that the compiler makes by itself."""
    target = source.with_suffix(".o")
    command = [*compiler().command, *shlex.split(line), "-c", str(source), "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True)
    program = executable([target.read_bytes()], Flags(), source.with_suffix(".bare"))
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def _traced(path: Path, flags: Flags, folder: Path) -> Program:
    settings = Settings((str(path),), flags, output=folder / "out", first_entry=1, min_jobs=1)
    compiled = compile_program(settings, folder)
    place = folder / "trace"
    place.mkdir()
    found = trace_program(settings, compiled.analysis, compiled.native, place)
    if isinstance(found, str):
        raise RuntimeError(found)
    lines = {
        mark: number for number, text in enumerate(path.read_text().splitlines(), 1) for mark in MARK.findall(text)
    }
    return Program(folder, settings, compiled, found, lines)


def _scheduled(program: Program, threads: int) -> tuple[list[Inspected], list]:  # type: ignore[type-arg]
    """Every marked loop that may be reordered, in a random order."""
    items, schedules = [], []
    for number, mark in enumerate(program.lines):
        try:
            item = program.inspect(mark)
            if item.inspection.verdicts[item.region].movable:
                schedules.append(item.schedule(item.random(number), threads))
                items.append(item)
        except (UnsupportedError, AssertionError, KeyError):
            continue
    return items, schedules


def _differences(expected: str, found: str, name: str, *, rounding: bool = False) -> list[str]:
    """The first line of each program that is another one. With `rounding`, numbers may be off by a little."""
    wrong: dict[str, str] = {}
    program = ""
    old, new = expected.splitlines(), found.splitlines()
    if len(old) != len(new):
        return [f"{name}: {len(new)} lines instead of {len(old)}"]
    for before, after in zip(old, new, strict=True):
        if before.startswith("program"):
            program = before
        if before != after and not (rounding and before[0] == after[0] == "F" and _close(before, after)):
            wrong.setdefault(program, f"{name}, {program}: {before} became {after}")
    return list(wrong.values())


def _close(before: str, after: str) -> bool:
    import struct

    values = []
    for line in (before, after):
        word = line.split()[-1]
        values.append(float("nan") if word == "nan" else struct.unpack(">d", bytes.fromhex(word))[0])
    return abs(values[0] - values[1]) <= TOLERANCE * max(1.0, abs(values[0]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.floats", description=__doc__)
    parser.add_argument("--programs", type=int, default=100, help="how many programs")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seed", type=int, default=0, help="of their choice")
    parser.add_argument("--batch", type=int, default=BATCH, help="programs in one file")
    parser.add_argument("--flags", action="append", help="compiler options (again for more sets)")
    options = parser.parse_args()
    bad = 0
    for line in options.flags or FLAG_SETS:
        schedules = programs = 0
        wrong: list[str] = []
        for first in range(options.first, options.first + options.programs, options.batch):
            count = min(options.batch, options.first + options.programs - first)
            with TemporaryDirectory(prefix="tracecut-fuzz-") as folder:
                source = floating_source(options.seed, first, count)
                found = check_file(source, line, Path(folder), threads=1 + first // options.batch % 2)
            programs, schedules = programs + count, schedules + found.schedules
            wrong += found.wrong
            for text in found.wrong:
                print(text, file=sys.stderr)
        print(f"{line or 'no flag'}: {programs} programs, {schedules} schedules, {len(wrong)} differences", flush=True)
        bad += len(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
