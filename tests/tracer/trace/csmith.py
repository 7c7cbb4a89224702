"""Programs of Csmith, native against traced: the same output, the same end, and a trace that is whole.

`python -P tests/tracer/trace/csmith.py COUNT [FIRST]` takes COUNT programs from seed FIRST on (Debian: `apt install
csmith libcsmith-dev`), and prints how they fared, as one line of JSON. `--generator` names another program that takes
`--seed N` and prints C; `--include` the folder of what its programs include. `--edges N`: where a program that is the
same runs at most N instructions, compare the dependence graphs of both its forms with the slow interpreter of the
tests, too. Status 1: a program differs, and is kept.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, run
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import Flags, to_ir
from tracecut.tracer.toolchain.passes import canonical, emit_object
from tracecut.tracer.trace.instrument.compile import traced_objects
from tracecut.tracer.trace.record.record import Window, record
from tracecut.tracer.trace.tables.static_tables import static_of

SMALL = (
    "--max-funcs 4 --max-block-size 3 --max-block-depth 3 --max-expr-complexity 4 --max-array-dim 2 "
    "--max-array-len-per-dim 6 --max-pointer-depth 2 --no-argc"
).split()
HUNG = 3600.0  # as in `tests/waiting.py`, which a script cannot import
ENDLESS = 2  # seconds of CPU time
PLAIN = Limits(seconds=HUNG, output_bytes=1 << 20, memory_bytes=1 << 30)
TRACED = Limits(seconds=HUNG, output_bytes=1 << 20, memory_bytes=2 << 30)
KEPT = 1_000_000  # instructions; the rest of a run is counted


def verdict(source: Path, flags: Flags, folder: Path) -> str:
    """`same`, `endless` (longer than two seconds of CPU time), `unsupported`, or how the traced program differs."""
    native = executable(
        [emit_object(to_ir(source, flags, folder, canonical=False), optimise=False)], Flags(), folder / "native"
    )
    bounded = ["/bin/sh", "-c", f'ulimit -t {ENDLESS} && exec "$0"', native]
    plain = run(bounded, folder=folder, name="plain", limits=PLAIN)
    if plain.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
        return "endless"
    text = str(canonical([to_ir(source, flags, folder, canonical=True)]))
    try:
        static = static_of(text)
        program = executable(traced_objects(text), Flags(), folder / "traced")
    except UnsupportedError as error:
        return f"unsupported: {error.message}"
    words = [0]

    def count(stream: int, chunk: object) -> None:
        words[0] += len(chunk)  # type: ignore[arg-type]

    traced = record([program], static, count, folder=folder, limits=TRACED, window=Window(size=KEPT))
    finished = traced.finished
    if finished is None or finished.returncode != plain.returncode:
        return f"DIFFERS: ended with {finished and finished.returncode} instead of {plain.returncode}"
    if finished.stdout.read_bytes() != plain.stdout.read_bytes():
        return "DIFFERS: output"
    if traced.damaged or not words[0]:
        return "DIFFERS: its trace is damaged"
    return "same"


def edges(source: Path, flags: Flags, folder: Path, most: int) -> str:
    """`same edges`, `longer` (than `most` instructions, in a form), or how a graph differs from the interpreter's."""
    sys.path.append(str(Path(__file__).parents[3]))
    from tests.tracer.depgraph.interpreter import Interpreter
    from tests.tracer.depgraph.test_edges import edges_of
    from tracecut.api.dependence_graph import build_graph

    for opt in ("O1", "seed"):
        command = [str(source), *flags.compile]
        built = build_graph(command, opt=opt, weights="unit", output=folder / "graph.tct", max_instructions=most)
        if built.graph.n >= most:
            return "longer"
        machine = Interpreter(built.trace.static.text, limit=most)
        machine.run()
        if built.graph.instruction.tolist() != machine.executed or edges_of(built.graph) != machine.edges:
            return f"DIFFERS: edges ({opt})"
    return "same edges"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, nargs="?", default=1)
    parser.add_argument("--generator", default="csmith", help="a command, or an absolute path")
    parser.add_argument("--include", type=Path, default=Path("/usr/include/csmith"))
    parser.add_argument("--keep", type=Path, default=Path("csmith-failures"), help="folder for programs that differ")
    parser.add_argument("--edges", type=int, default=0, help="compare graphs of up to so many instructions")
    options = parser.parse_args()
    flags = Flags(("-O1", "-w", "-I", str(options.include)))
    found: Counter[str] = Counter()
    for seed in range(options.first, options.first + options.count):
        with TemporaryDirectory(prefix="tracecut-csmith-") as name:
            folder = Path(name)
            settings = SMALL if options.generator == "csmith" else []
            command = [options.generator, *settings, "--seed", str(seed)]  # it leaves a file where it runs
            made = subprocess.run(command, capture_output=True, check=True, timeout=HUNG, cwd=folder)
            source = folder / "program.c"
            source.write_bytes(made.stdout)
            result = verdict(source, flags, folder)
            if options.edges and result == "same":
                result = edges(source, flags, folder, options.edges)
        found[result.partition(":")[0]] += 1
        if result.startswith("DIFFERS"):
            options.keep.mkdir(exist_ok=True)
            (options.keep / f"{seed}.c").write_bytes(made.stdout)
            print(f"seed {seed}: {result}", file=sys.stderr)
    print(json.dumps(found, sort_keys=True))
    return 1 if found["DIFFERS"] else 0


if __name__ == "__main__":
    sys.exit(main())
