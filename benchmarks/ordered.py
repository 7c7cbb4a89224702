"""What the same bits on any number of threads cost: sweeps of `--reduce ordered` beside those of `fast`.

`python benchmarks/ordered.py --json benchmarks/results/ordered.json` takes about four minutes. Each sample is optimized
twice, with the same method and seed; both results then run in turns on one thread and on all, and the medians of the
time that the rescheduled loops take are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rows import Row, print_rows, write_rows
from tracecut.support.process.runner import Limits, run
from tracecut.support.progress import Progress

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

ROOT = Path(__file__).parent.parent
MODES = ("fast", "ordered")
METHOD = "rcm"


def measure(name: str, rounds: int, folder: Path) -> list[Row]:
    """Rows of one sample."""
    for mode in MODES:
        settings = Settings(
            (f"samples/{name}.c",), output=folder / mode, force=True, loop_budget=5.0, method=METHOD, reduce=mode
        )
        result = optimize_program(settings, Progress(quiet=True))
        assert any(region["decision"] == "optimized" for region in result.regions), name
    rows = []
    for threads in sorted({1, len(os.sched_getaffinity(0))}):
        times: dict[str, list[float]] = {mode: [] for mode in MODES}
        for _ in range(rounds):
            for mode in MODES:
                counters = folder / "counters.json"
                words = ["run", folder / mode, "--threads", str(threads), "--counters", counters]
                done = run([sys.executable, "-m", "tracecut", *words], folder=folder, name="run", limits=Limits(600))
                assert done.ok, done.stderr.read_text()
                regions = json.loads(counters.read_text())["regions"].values()
                times[mode].append(sum(region["nanoseconds"] for region in regions) / 1e6)
        fast, ordered = (statistics.median(times[mode]) for mode in MODES)
        rows.append(Row(name, "scattered", f"loops, ms, threads: {threads}", ordered, "reduce=fast", fast))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="results file to write")
    parser.add_argument("--inputs", default="mesh_flux,md_forces,spmv_cg,graph_heat", help="samples, with commas")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each (default: 7)")
    options = parser.parse_args()
    os.chdir(ROOT)
    rows: list[Row] = []
    for name in options.inputs.split(","):
        with tempfile.TemporaryDirectory(prefix="tracecut-ordered-") as folder:
            rows += measure(name, options.rounds, Path(folder))
        print_rows(rows[-2:])
        if options.json is not None:
            write_rows(options.json, "ordered", rows, method=METHOD, rounds=options.rounds)


if __name__ == "__main__":
    main()
