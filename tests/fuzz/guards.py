"""Changed inputs against the guards: what a schedule was not made for is noticed, or makes no difference.

python -m tests.fuzz.guards --inputs 100000        over the samples and four kernels of its own; figures at the end

Each program (`changed/*.c`) makes all of its inputs in one process, runs a loop of a sample on each of them, and prints
what came of it. It is run as the user would have built it, and rescheduled, in random order, with the guards of the
traced input: the same lines, up to rounding where sums of floating-point numbers were reordered.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tracecut.support.process.runner import Limits, run

from ..codegen.harness import trace
from ..codegen.woven_programs import run_woven, woven

HERE = Path(__file__).parent
SAMPLES = HERE.parents[1] / "samples"
# Program → function and first words of the loop that is rescheduled; of `own`, marks in its source.
LOOPS = {
    "own": "",
    "graph_heat": "void edge_flows",
    "spmv_cg": "void spmv",
    "mesh_flux": "void edge_fluxes",
    "md_forces": "double pair_forces",
}
SOON = ("own", "mesh_flux")  # of which the tests do not take minutes, all together
TOLERANCE = 1e-9
SECONDS = 3600.0


@dataclass
class Figures:
    """What came of the inputs of one program. `wrong`: input, way it was changed, both lines."""

    program: str
    inputs: int = 0
    used: int = 0
    noticed: int = 0
    ways: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def line(self) -> str:
        return (
            f"{self.program}: {self.inputs} inputs, {self.noticed} noticed, {self.used} run in the new order, "
            f"{len(self.wrong)} wrong"
        )


def source_of(name: str) -> str:
    """A program that changes inputs: the sample without its main, the tools, the kernels' arrays."""
    own = (HERE / "changed" / f"{name}.c").read_text()
    tools = (HERE / "changed" / "changed.h").read_text()
    if name == "own":
        return tools + own
    sample = (SAMPLES / f"{name}.c").read_text().replace("int main(", "static int sample_main(")
    at = sample.index("\n", sample.index("for (", sample.index(f"static {LOOPS[name]}")))
    return f"{sample[:at]} // @{name}{sample[at:]}\n{tools}\n{own}"


def check(name: str, inputs: int, folder: Path, *, threads: int = 1) -> Figures:
    """Run one program with so many changed inputs, as it is and rescheduled."""
    program = trace(source_of(name), folder, argv=["0"])
    loops = [program.inspect(mark) for mark in program.lines]
    schedules = [loop.schedule(loop.random(place), threads) for place, loop in enumerate(loops)]
    native = run([program.compiled.native, str(inputs)], folder=folder, name="many", limits=Limits(SECONDS))
    ran = run_woven(
        program,
        woven(loops, schedules, threads=threads, name="changed"),
        argv=[str(inputs)],
        cpus=range(threads),
        seconds=SECONDS,
    )
    found = Figures(program=name)
    if not native.ok or ran.code != 0:
        found.wrong.append(f"{name} ended with {native.returncode}, rescheduled with {ran.code}: {ran.stderr[-500:]}")
        return found
    kinds = [loop.inspection.verdicts[loop.region].rounding for loop in loops]
    compare(native.stdout.read_text(), ran.stdout.decode(), TOLERANCE if any(kinds) else 0.0, found)
    for loop in loops:
        counts = ran.report["scopes"][str(loop.scope)]
        found.used += counts["used"]
        found.noticed += counts["entries"] - counts["used"]
        if not counts["used"]:
            found.wrong.append(f"@{loop.mark} is not run in the new order at all: {counts['refused']}")
    return found


def compare(expected: str, given: str, tolerance: float, found: Figures) -> None:
    """Add the lines that differ."""
    lines, others = expected.splitlines(), given.splitlines()
    found.inputs = len(lines)
    if len(lines) != len(others):
        found.wrong.append(f"{len(lines)} lines, rescheduled {len(others)}")
    for line, other in zip(lines, others, strict=False):
        found.ways[line.split()[2]] += 1
        if line != other and not _near(line.split(), other.split(), tolerance):
            found.wrong.append(f"{line}\n   {other}")


def _near(words: Sequence[str], others: Sequence[str], tolerance: float) -> bool:
    if len(words) != len(others):
        return False
    for word, other in zip(words, others, strict=True):
        if word == other:
            continue
        a, b = (re.fullmatch(r"(-?\d\.\d+e[+-]\d+)/(\d+)", text) for text in (word, other))
        if a is None or b is None or a[2] != b[2]:
            return False
        x, y = float(a[1]), float(b[1])
        if abs(x - y) > tolerance * max(abs(x), abs(y), 1.0):
            return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guards", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="of all programs together")
    parser.add_argument("--programs", nargs="+", default=list(LOOPS), choices=list(LOOPS))
    options = parser.parse_args()
    share = -(-options.inputs // len(options.programs))

    figures = []
    for name in options.programs:
        with TemporaryDirectory(prefix="tracecut-guards-") as folder:
            figures.append(check(name, share, Path(folder)))
        print(figures[-1].line(), *figures[-1].wrong[:5], sep="\n   ", flush=True)
    ways = sum((found.ways for found in figures), Counter[str]())
    print(", ".join(f"{way}: {count}" for way, count in ways.most_common()))
    print(
        f"{sum(found.inputs for found in figures)} inputs, {sum(found.noticed for found in figures)} noticed, "
        f"{sum(len(found.wrong) for found in figures)} wrong"
    )
    return 1 if any(found.wrong for found in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
