"""What a program pays and gains when its data differ from those of its schedule (SPAC §4, overhead control).

Replayed: random sizes, sweeps and costs, on a clock that the benchmark sets; the decisions are those of `tracecut run`,
which knows the costs of the run that it was made with, and not those of this one. Real, with `--programs`: samples that
are optimized on one input run on another one; interleaved, medians of seconds.

    python benchmarks/overhead_control.py --json benchmarks/results/overhead_control.json --programs

Metrics: `seconds`, of the program; its peers are the original program, and the better one of never inspecting and of
stopping for it at once, each known only afterwards.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rows import Row, write_rows
from tracecut.codegen.runtime.coming_schedule import TRIED, calls_until_asked
from tracecut.codegen.runtime.inspection_gain import why_not
from tracecut.codegen.runtime.light_host import LOADING, PRICES
from tracecut.support.process.beside import COPYING

ROOT = Path(__file__).resolve().parent.parent
CASES = 100
LOAD = 0.5e9  # nanoseconds until the child has loaded what inspects
ASK = 25e3  # nanoseconds of a question
RECORD = 40  # bytes of data a job
PROGRAMS = (
    ("mesh_flux", ["--scale", "3", "--steps", "20"], ["--scale", "3", "--steps", "60", "--seed", "7"]),
    ("mesh_flux", ["--scale", "3", "--steps", "20"], ["--scale", "3", "--steps", "4", "--seed", "7"]),
    ("graph_heat", ["--scale", "20", "--steps", "30"], ["--scale", "20", "--steps", "150", "--seed", "7"]),
    ("graph_heat", ["--scale", "20", "--steps", "30"], ["--scale", "20", "--steps", "8", "--seed", "7"]),
    ("spmv_cg", ["--scale", "3", "--steps", "1"], ["--scale", "3", "--steps", "3", "--seed", "7"]),
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


def real(repeat: int) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        made: dict[tuple[str, ...], Path] = {}
        for name, traced, words in PROGRAMS:
            key = (name, *traced)
            if key not in made:
                made[key] = Path(folder) / f"{len(made)}"
                command = ["optimize", f"{name}.c", "-o", str(made[key]), "--", *traced]
                subprocess.run(tracecut(command), cwd=ROOT / "samples", check=True, stdout=subprocess.DEVNULL)
            kinds = {"ours": [], "never": ["--original"]}
            seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
            sweeps = {}
            for _ in range(repeat):
                for kind, options in kinds.items():
                    counters = Path(folder) / "counters.json"
                    given = ["run", str(made[key]), *options, "--counters", str(counters), "--", *words]
                    start = time.perf_counter()
                    subprocess.run(tracecut(given), cwd=ROOT / "samples", check=True, stdout=subprocess.DEVNULL)
                    seconds[kind].append(time.perf_counter() - start)
                    found = json.loads(counters.read_text())["regions"]
                    sweeps[kind] = max((region["calls"], region["declined"]) for region in found.values())
            value, peer = (statistics.median(seconds[kind]) for kind in kinds)
            order = f"{' '.join(words)}; optimized for {' '.join(traced)}"
            note = "{} sweeps in the new order, {} in the original one".format(*sweeps["ours"])
            rows.append(Row(name, order, "seconds", value, "never", peer, note))
            print(f"{name} {order}: {value:.2f} s, original {peer:.2f} s; {note}", flush=True)
    return rows


def tracecut(words: list[str]) -> list[str]:
    return [sys.executable, "-P", "-m", "tracecut", *words]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--programs", action="store_true", help="also run samples, for some minutes")
    options = parser.parse_args()
    rows = replayed(options.seed)
    for peer in ("never", "best of never and at once"):
        ratios = sorted(row.ratio for row in rows if row.peer == peer and row.ratio is not None)
        within = sum(ratio <= 1.1 for ratio in ratios) / len(ratios)
        middle = statistics.median(ratios)
        print(f"replayed, against {peer}: median {middle:.3f}, worst {ratios[-1]:.3f}, {within:.0%} within 10 %")
    if options.programs:
        rows += real(options.repeat)
    if options.json is not None:
        write_rows(options.json, "overhead_control", rows, seed=options.seed, cases=CASES, repeat=options.repeat)


if __name__ == "__main__":
    main()
