"""Threads on the CPUs that a placement gives them beside the first CPUs of the affinity mask: samples, and start-up.

`python benchmarks/pinning.py --json benchmarks/results/pinning.json` takes about fifteen minutes. Each sample is
optimized once and its result runs in turns, with its placement and with the order of the mask as it was before there
was one. `loops` is the time of the rescheduled loops, `whole run` the CPU time of the process from its start to its
end; ratio is mask / placement, so that at least 0.98 means never slower. On a machine where placement cannot matter
both are the same CPUs, and the difference is what it costs to find that out. `mask again` is the same program once
more: its ratio is what the machine's other load makes of two equal things, and no ratio beside it says more than it
does. The fastest run and the median are given. `start-up` is the CPU time of placing alone, beyond what each run loads
anyway.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rows import Row, print_rows, write_rows
from tracecut.ir.machine.cpu_places import cpu_places
from tracecut.mapping.thread_cpus import place_threads
from tracecut.support.progress import Progress

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

ROOT = Path(__file__).parent.parent
METHOD = "rcm"
QUIET = subprocess.DEVNULL
RUN = "import sys; from tracecut.cli import run; run.run_run(sys.argv[1:])"
MASK = "run.placed_cpus = lambda allowed, threads, listed: (allowed[:threads], '')"
AS_BEFORE = RUN.replace("run.run_run", f"{MASK}; run.run_run")
WAYS = {"placement": RUN, "mask": AS_BEFORE, "mask again": AS_BEFORE}
PLACING = """
import os, time
from tracecut.cli import run
from tracecut.codegen.runtime import active_layouts, light_host, saved_schedule
start = time.process_time_ns()
from tracecut.mapping.thread_cpus import threads_here
loaded = time.process_time_ns()
threads_here(sorted(os.sched_getaffinity(0)), 64)
print(loaded - start, time.process_time_ns() - loaded)
"""


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(name: str, rounds: int, threads: int, folder: Path) -> list[Row]:
    """Rows of one sample."""
    settings = Settings((f"samples/{name}.c",), output=folder / "out", force=True, loop_budget=5.0, method=METHOD)
    result = optimize_program(settings, Progress(quiet=True))
    assert any(region["decision"] == "optimized" for region in result.regions), name
    loops: dict[str, list[float]] = {way: [] for way in WAYS}
    whole: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(rounds + 1):
        for way in (*WAYS, *WAYS)[turn % len(WAYS) :][: len(WAYS)]:  # none is always the first
            counters = folder / "counters.json"
            words = [folder / "out", "--threads", str(threads), "--counters", counters]
            start = cpu_seconds()
            words = [sys.executable, "-c", WAYS[way], *words]
            subprocess.run(words, check=True, cwd=ROOT / "samples", stdout=QUIET, stderr=QUIET)
            spent = cpu_seconds() - start
            if turn:
                regions = json.loads(counters.read_text())["regions"].values()
                loops[way].append(sum(region["nanoseconds"] for region in regions) / 1e6)
                whole[way].append(spent)
    rows = []
    for metric, times in (("loops, ms", loops), ("whole run, CPU s", whole)):
        for how, chosen in (("fastest", min), ("median", statistics.median)):
            values = {way: chosen(found) for way, found in times.items()}
            for way in ("placement", "mask again"):
                peer = f"{way} (ratio: mask / {way})"
                rows.append(Row(name, how, f"{metric}, threads: {threads}", values["mask"], peer, values[way]))
    return rows


def start_up(rounds: int) -> list[Row]:
    """Milliseconds of CPU time that a starting program spends on its placement."""
    found = []
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", PLACING], check=True, capture_output=True, text=True)
        found.append([int(word) / 1e6 for word in done.stdout.split()])
    loading, placing = (statistics.median(column) for column in zip(*found, strict=True))
    return [
        Row("start-up", "", "loading what places, CPU ms", loading),
        Row("start-up", "", "reading sysfs and placing, CPU ms", placing, "bar 5 ms", 5.0),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="results file to write")
    parser.add_argument("--inputs", default="mesh_flux,spmv_cg,graph_heat,md_forces", help="samples, with commas")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each (default: 7)")
    options = parser.parse_args()
    os.chdir(ROOT)
    allowed = sorted(os.sched_getaffinity(0))
    remark = place_threads(cpu_places(allowed), len(allowed)).remark
    print(f"# {remark}")
    rows = start_up(4 * options.rounds)
    print_rows(rows)
    for name in options.inputs.split(","):
        with tempfile.TemporaryDirectory(prefix="tracecut-pinning-") as folder:
            rows += measure(name, options.rounds, len(allowed), Path(folder))
        print_rows(rows[-8:])
        if options.json is not None:
            write_rows(options.json, "pinning", rows, method=METHOD, rounds=options.rounds, placement=remark)


if __name__ == "__main__":
    main()
