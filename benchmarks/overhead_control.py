"""What a program pays and gains when its data differ from those of its schedule (SPAC §4, overhead control).

Replayed: random sizes, sweeps and costs, on a clock that the benchmark sets; the decisions are those of `tracecut run`,
which knows the costs of the run that it was made with, and not those of this one. Real, with `--programs`: five
programs that are optimized on one input run on others, on one thread, in turns: one numbered at random, where a new
order pays, and one numbered well, where none does.

    python benchmarks/overhead_control.py --json benchmarks/results/overhead_control.json --programs

Metrics: `seconds`; of real programs those of the quickest run, and the median of the CPU seconds that the program's own
process takes, which on an idle machine are its seconds. Peers: the original program (`native`; `never`: by `tracecut
run`), and the better one of never inspecting and of stopping for it at once, each known only afterwards.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from rows import Row, write_rows
from tracecut.codegen.runtime.coming_schedule import TRIED, calls_until_asked
from tracecut.codegen.runtime.inspection_gain import why_not
from tracecut.codegen.runtime.light_host import LOADING, PRICES

ROOT = Path(__file__).resolve().parent.parent
CASES = 100
WALL, CPU = "seconds, quickest", "cpu seconds of the program"
LOAD = 0.5e9  # nanoseconds until the child has loaded what inspects
COPYING = 0.4  # nanoseconds a byte of the program, that a child costs it: measured on a virtual machine
ASK = 25e3  # nanoseconds of a question
RECORD = 40  # bytes of data a job
SAMPLES, TESTED = ROOT / "samples", ROOT / "tests" / "programs"
PROGRAMS = (  # file, what it is optimized for, and what it runs on then: numbered at random, and well already
    (
        SAMPLES / "mesh_flux.c",
        "--scale 3 --steps 20",
        "--scale 3 --steps 30 --seed 7",
        "--scale 3 --steps 80 --natural",
    ),
    (SAMPLES / "spmv_cg.c", "--scale 3 --steps 1", "--scale 3 --steps 4 --seed 7", "--scale 3 --steps 6 --natural"),
    (TESTED / "fields_restrict.c", "1000 15", "990 20", "990 200 1"),
    (TESTED / "mesh_upwind.c", "1000 30", "990 60", "990 250 1"),
    (TESTED / "jacobi_arrays.cpp", "1000 200", "990 500", "990 1000 1"),
)


@dataclass(frozen=True)
class Case:
    """One entry of a scope on other data. `known`: nanoseconds a job when it was optimized; `true`: in this run."""

    jobs: int
    sweeps: int
    known: dict[str, float]
    true: dict[str, float]


def drawn(generator: random.Random) -> Case:
    """Costs between those of a loop in cache and of one that misses at each job, inspection as measured on samples."""

    def between(low: float, high: float) -> float:
        return math.exp(generator.uniform(math.log(low), math.log(high)))

    original = between(2, 200)
    known = {
        "original": original,
        "optimized": original * between(0.08, 1.05),
        "inspect": between(300, 3000),
        "copy": between(2, 30),
    }
    true = {name: cost * between(0.6, 1.6) for name, cost in known.items()}
    return Case(int(between(1e4, 1e7)), int(between(2, 3000)), known, true)


def never(case: Case) -> float:
    return case.jobs * case.sweeps * case.true["original"]


def at_once(case: Case) -> float:
    """Stopped for the inspection behind the first sweep."""
    true = case.true
    return LOAD + case.jobs * (
        true["original"] + true["inspect"] + true["copy"] + (case.sweeps - 1) * true["optimized"]
    )


def ours(case: Case) -> float:
    """As `tracecut run` does on a machine with an idle CPU."""
    sweep = case.jobs * case.true["original"]
    left, counted = case.sweeps - 1, sweep / case.known["original"]
    if sweep * left < max(LOADING, PRICES * COPYING * RECORD * case.jobs) or why_not(
        case.known, counted, left, sweep, beside=True
    ):
        return never(case)
    begun = clock = sweep
    clock += COPYING * RECORD * case.jobs
    ready = begun + LOAD + case.true["inspect"] * case.jobs
    while left:
        calls = min(calls_until_asked((clock - begun) / 1e9, sweep), left)
        left -= calls
        clock += calls * sweep + ASK
        if clock >= ready and left and not why_not(case.known, counted, left, sweep, made=True):
            new = case.jobs * case.true["optimized"]
            tried = min(left, TRIED)
            rest = sweep if new > sweep else new
            return clock + case.jobs * case.true["copy"] + tried * new + (left - tried) * rest
        if clock >= ready:
            return clock + left * sweep
    return clock


def replayed(seed: int) -> list[Row]:
    generator = random.Random(seed)
    rows = []
    for number in range(CASES):
        case = drawn(generator)
        name = f"{case.jobs} jobs, {case.sweeps} sweeps"
        value = ours(case) / 1e9
        rows.append(Row(name, f"replayed {number}", "seconds", value, "never", never(case) / 1e9))
        best = min(never(case), at_once(case)) / 1e9
        rows.append(Row(name, f"replayed {number}", "seconds", value, "best of never and at once", best))
    return rows


def real(repeat: int) -> Iterator[list[Row]]:
    """Each program in four ways, in turns: as it was, without inspections, stopped for one, and with one beside it.

    Rows come as they are measured, by input.
    """
    print("program and input: native, never, at once, ours; ours/native, ours/best of never and at once")
    with tempfile.TemporaryDirectory() as folder:
        for number, (path, traced, *inputs) in enumerate(PROGRAMS):
            out = Path(folder) / str(number)
            subprocess.run(
                tracecut(["optimize", str(path), "-o", str(out), "--", *traced.split()]),
                cwd=path.parent,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for words in inputs:
                yield _measured(path, out, traced, words, repeat, Path(folder))


def _measured(path: Path, out: Path, traced: str, words: str, repeat: int, folder: Path) -> list[Row]:
    counters, given = folder / "counters.json", words.split()
    runs = ["run", str(out), "--threads", "1", "--counters", str(counters)]
    kinds = {
        "native": [str(out / "program"), *given],
        "never": tracecut([*runs, "--original", "--", *given]),
        "at once": tracecut([*runs, "--", *given]),
        "ours": tracecut([*runs, "--", *given]),
    }
    turns: list[dict[str, tuple[float, float]]] = []
    allowed = sorted(os.sched_getaffinity(0))
    for _ in range(repeat):
        turns.append({})
        for kind, command in kinds.items():
            counters.unlink(missing_ok=True)
            os.sched_setaffinity(0, allowed[:1] if kind == "at once" else allowed)  # a program on one CPU waits
            turns[-1][kind] = _seconds(command, path.parent)
        os.sched_setaffinity(0, allowed)
    found = json.loads(counters.read_text())["regions"].values() if counters.exists() else []
    sweeps = max(((region["calls"], region["declined"]) for region in found), default=(0, 0))
    note = "{} sweeps in the new order, {} in the original one".format(*sweeps)
    order = f"{words}; optimized for {traced}"
    rows = []
    for metric, place, choose in ((WALL, 0, min), (CPU, 1, statistics.median)):
        taken = {kind: choose(turn[kind][place] for turn in turns) for kind in kinds}
        ours, best = taken.pop("ours"), min(taken["never"], taken["at once"])
        figures = " ".join(f"{value:.2f}" for value in (*taken.values(), ours))
        ratios = f"{ours / taken['native']:.3f} {ours / best:.3f}"
        print(f"{path.name} {words}, {metric}: {figures}; {ratios}; {note}", flush=True)
        peers = {**taken, "best of never and at once": best}
        rows += [Row(path.name, order, metric, ours, peer, value, note) for peer, value in peers.items()]
    return rows


def _seconds(command: list[str], folder: Path) -> tuple[float, float]:
    """Seconds until a program has ended, and those of CPUs that it took itself, without its children."""
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
        taken = time.perf_counter() - start
        fields = Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()
    if program.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {program.returncode}")
    return taken, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tracecut(words: list[str]) -> list[str]:
    return [sys.executable, "-P", "-m", "tracecut", *words]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5, help="runs of each program in each way, in turns")
    parser.add_argument("--programs", action="store_true", help="also run five programs, for half an hour")
    options = parser.parse_args()
    rows = replayed(options.seed)
    for peer in ("never", "best of never and at once"):
        ratios = sorted(row.ratio for row in rows if row.peer == peer and row.ratio is not None)
        within = sum(ratio <= 1.1 for ratio in ratios) / len(ratios)
        middle = statistics.median(ratios)
        print(f"replayed, against {peer}: median {middle:.3f}, worst {ratios[-1]:.3f}, {within:.0%} within 10 %")
    measured = real(options.repeat) if options.programs else iter(())
    for found in chain([[]], measured):
        rows += found
        if options.json is not None:
            write_rows(options.json, "overhead_control", rows, seed=options.seed, cases=CASES, repeat=options.repeat)


if __name__ == "__main__":
    main()
