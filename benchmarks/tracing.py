"""What tracing costs: slowdown of four kernels and bytes of their traces, beside the seed's method and lackey.

python benchmarks/tracing.py [-o FILE] [--quick]

Everything is interleaved, kernel times are taken by a clock inside of the program, native is the same module (-O1,
scalar) without instrumentation. `capture_slowdown` is a run whose trace fits the buffers (64 MiB), while the file is
being written (`count`: while its records are counted). `sustained_slowdown` is the mean of a run whose trace is many
times larger than buffers of 8 MiB, so that it goes as fast as the recorder does: `count` walks over the records, `file`
also compresses and stores them.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tracecut.support.process.runner import Limits
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import parse_flags, to_ir
from tracecut.tracer.toolchain.passes import canonical, emit_object
from tracecut.tracer.trace.file.trace_file import TraceWriter
from tracecut.tracer.trace.instrument.compile import traced_objects
from tracecut.tracer.trace.record.record import Recorded, record
from tracecut.tracer.trace.tables.static_tables import Static, static_of

sys.path.insert(0, str(Path(__file__).parent))

from graphing import graph_rows
from rows import Row, print_rows, write_rows
from seed_method import seed_traced

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "tracing.json"
# name → (calls of a run whose trace fits the buffers, calls of a long run)
KERNELS = {"dijkstra": (6, 100), "fft": (60, 2000), "spmv": (2, 12), "matmul": (1, 12)}
LIMITS = Limits(seconds=120)
FIRST, BEST, MEAN = 1, 2, 3


@dataclass(frozen=True)
class Built:
    name: str
    static: Static
    native: Path
    traced: Path
    seed: Path
    plain: Path  # native, for the processor that valgrind imitates


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python benchmarks/tracing.py", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help=f"default: {RESULTS.name}, none with --quick")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved repeats")
    parser.add_argument("--quick", action="store_true", help="without the seed's method, lackey and long runs")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    with TemporaryDirectory(prefix="tracecut-bench-") as folder:
        for name in KERNELS:
            rows += measure(build(name, Path(folder)), Path(folder), options.rounds, quick=options.quick)
    rows += means(rows)
    print_rows(rows)
    output = options.output or (None if options.quick else RESULTS)
    if output is not None:
        command = f"python benchmarks/tracing.py{' --quick' if options.quick else ''}"
        write_rows(output, "tracing", rows, command=command, rounds=options.rounds)
    return 0


def build(name: str, folder: Path) -> Built:
    """The kernel in its three forms."""
    _, flags = parse_flags(["-lm"])
    text = str(canonical([to_ir(HERE / "programs" / f"{name}.c", flags, folder, canonical=True)], optimised=True))
    return Built(
        name,
        static_of(text),
        executable([emit_object(text, optimise=False)], flags, folder / f"{name}-native"),
        executable(traced_objects(text), flags, folder / f"{name}-traced"),
        executable([emit_object(seed_traced(text), optimise=False)], flags, folder / f"{name}-seed"),
        executable([emit_object(for_valgrind(text), optimise=False)], flags, folder / f"{name}-plain"),
    )


def for_valgrind(text: str) -> str:
    """The module for an older processor: valgrind does not know AVX-512."""
    words = '"target-cpu"="x86-64-v2" "target-features"="+sse4.2"'
    return re.sub(r"^(attributes #\d+ = \{)", rf"\1 {words}", text, flags=re.MULTILINE)


def measure(built: Built, folder: Path, rounds: int, *, quick: bool) -> list[Row]:
    """Rows of one kernel."""
    few, many = KERNELS[built.name]
    native, capture, looked, counted, filed, seed = ([math.inf] for _ in range(6))
    mean = [math.inf]
    last: Recorded | None = None
    size = 0
    for _ in range(rounds):
        native.append(alone(built.native, max(few, 5))[BEST])
        last, size, times = traced(built, folder, few, 64 << 20, keep=True)
        capture.append(times[BEST])
        looked.append(traced(built, folder, few, 64 << 20, keep=False)[2][BEST])
        if not quick:
            mean.append(alone(built.native, many)[MEAN])
            counted.append(traced(built, folder, many, 8 << 20, keep=False)[2][MEAN])
            filed.append(traced(built, folder, many, 8 << 20, keep=True)[2][MEAN])
    if not quick:
        seed.append(alone(built.seed, 1)[FIRST])
    assert last is not None and last.finished is not None and last.finished.ok
    best = min(native)
    kept = last.totals.instructions

    def row(metric: str, value: float, peer: str = "", peer_value: float | None = None) -> Row:
        return Row(built.name, "", metric, value, peer, peer_value)

    rows = [
        row("capture_slowdown", min(capture) / best),
        row("capture_slowdown count", min(looked) / best),
        row("raw_bytes_per_instr", 4 * last.totals.words / kept),
        row("stored_bytes_per_instr", size / kept),
    ]
    if quick:
        return rows
    rows += graph_rows(built, folder, alone)
    rows += [
        row("sustained_slowdown count", min(counted) / min(mean)),
        row("sustained_slowdown file", min(filed) / min(mean)),
        row("seed_method_slowdown", min(seed) / best, "tracecut", min(capture) / best),
    ]
    if shutil.which("valgrind"):
        rows.append(row("lackey_slowdown", lackey(built.plain) / best, "tracecut", min(capture) / best))
    return rows


def alone(program: Path, calls: int) -> list[float]:
    """Kernel times of a run, its output thrown away."""
    done = subprocess.run(
        [program, str(calls)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True, timeout=120
    )
    return times_in(done.stderr)


def lackey(program: Path) -> float:
    command = ["valgrind", "--tool=lackey", "--trace-mem=yes", "--log-file=/dev/null", str(program), "1"]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True, timeout=600
    )
    return times_in(done.stderr)[FIRST]


def traced(built: Built, folder: Path, calls: int, memory: int, *, keep: bool) -> tuple[Recorded, int, list[float]]:
    """(totals, bytes of chunks in the file, kernel times) of a traced run."""
    writer = TraceWriter(folder / "trace.tct", built.static, {}) if keep else None
    head = 0 if writer is None else writer.bytes
    result = record(
        [built.traced, str(calls)],
        built.static,
        (lambda stream, words: None) if writer is None else writer.add,
        folder=folder,
        limits=LIMITS,
        memory=memory,
        runs=True,
    )
    if writer is not None:
        writer.close({})
    times = times_in((folder / "traced.stderr").read_text())
    return result, 0 if writer is None else writer.bytes - head, times


def times_in(text: str) -> list[float]:
    found = re.search(r"kernel (\d+) (\d+) (\d+) ns", text)
    if found is None:
        raise SystemExit(f"the program did not report its times: {text[-300:]}")
    return [0.0, *(float(number) for number in found.groups())]


def means(rows: list[Row]) -> list[Row]:
    """Geometric means over the kernels."""
    found = []
    for metric in dict.fromkeys(row.metric for row in rows):
        same = [row for row in rows if row.metric == metric and row.value]
        value = math.exp(sum(math.log(row.value or 1) for row in same) / len(same))
        peers = [row.peer_value for row in same if row.peer_value]
        peer = math.exp(sum(map(math.log, peers)) / len(peers)) if peers else None
        found.append(Row("geometric mean", "", metric, value, same[0].peer, peer))
    return found


if __name__ == "__main__":
    sys.exit(main())
