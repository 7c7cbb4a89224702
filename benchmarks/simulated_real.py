"""Simulated against real: orders of the samples' regions on 1 and 2 cores, and whether the simulator ranks them.

`python benchmarks/simulated_real.py --json benchmarks/results/simulated_real.json` takes some minutes a sample.
In the process that tunes a region every order that ran is simulated at the job level, on this machine as `measured`
finds it just before, and then measured again, all orders in turns. Rows `speedup@METHOD,CORES` have the simulated
speedup over the program's own order on one core beside the real one, so that a ratio of 1 is a perfect prediction.
`rank@CORES` is Spearman's correlation of simulated and real times of the orders of one input; `rank against
main_job@CORES` that with the times that `main_job.py --methods` measured on the same inputs, some other day.

No constant is fitted: latencies, misses under way, bandwidth, the clock, the part of the last cache that others leave,
and the cost of a job whose data are near are measured in the run; instructions are counted in the LLVM IR, and how many
a core has under way is stated by its vendor (`mapping/simulation/jobs.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from rows import Row, print_rows, write_rows
from scipy.stats import spearmanr
from tracecut.support.progress import Stages
from tracecut.tracer.toolchain.clang import Flags

from tracecut.pipeline import run as pipeline
from tracecut.pipeline.stages import tune
from tracecut.pipeline.stages.settings import Settings

FOLDER = Path(__file__).parent
SAMPLES = FOLDER.parent / "samples"
COMPARED = ("degree-z", "first-touch", "random", "chunks", "wb-libra", "dbh", "expansion", "gpart")
NEAR, SHARE, RANK = 0.30, 0.8, 0.8  # the bars
STAGES = 4  # compile, original, capture, tune


@dataclass(frozen=True)
class Case:
    """A sample: its inputs as in `by_method.py`, and the function that its region is in."""

    name: str
    source: str
    function: str
    argv: tuple[str, ...]
    quick: tuple[str, ...]
    known: str  # what `main_job.py --methods` calls it, empty where it has no rows


CASES = (
    Case("mesh_flux", "mesh_flux.c", "edge_fluxes", ("--scale", "3"), ("--scale", "1"), "mesh:533"),
    Case("spmv_cg", "spmv_cg.c", "spmv", ("--scale", "3"), ("--scale", "1"), ""),
    Case("md_forces", "md_forces.c", "pair_forces", ("--scale", "1"), ("--scale", "0"), "pairs:528"),
    Case("graph_heat", "graph_heat.c", "edge_flows", ("--scale", "18"), ("--scale", "14"), "rmat:249"),
)


def region_of(case: Case) -> str:
    """FILE:LINE of the first loop behind the head of the function."""
    lines = (SAMPLES / case.source).read_text().splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("static") and f" {case.function}(" in line)
    place = next(i for i in range(head, len(lines)) if lines[i].lstrip().startswith("for ("))
    return f"{case.source}:{place + 1}"


def simulate(case: Case, order: str, *, quick: bool) -> dict[str, Any]:
    """What the worker found of one input (`simulated_worker.py`)."""
    argv = (*(("--natural",) if order == "natural" else ()), *(case.quick if quick else case.argv), "--steps", "4")
    with tempfile.TemporaryDirectory(prefix="tracecut-benchmark-") as name:
        work, staging = Path(name, "work"), Path(name, "staging")
        work.mkdir()
        staging.mkdir()
        settings = Settings(
            (str(SAMPLES / case.source),), Flags(libraries=("m",)), argv, region=region_of(case), compare=COMPARED
        )
        pipeline.run_stages(settings, Stages(), work, staging)
        (found,) = work.glob("region*/simulated.json")
        return json.loads(found.read_text())


def rows_of(case: Case, order: str, found: dict[str, Any], known: dict[tuple[str, str, str], float]) -> list[Row]:
    """Rows of one input."""
    real = {(item["method"], item["threads"]): float(np.min(item["times"])) for item in found["rows"]}
    told = {(item["method"], item["threads"]): float(item["simulated_ms"]) for item in found["rows"]}
    first = ("original", 1)
    rows = [Row(case.name, order, "simulated_ms@original,1", told[first], "measured ms", real[first])]
    for key in real:
        if key != first:
            value, peer = told[first] / told[key], real[first] / real[key]
            rows.append(Row(case.name, order, f"speedup@{key[0]},{key[1]}", value, "measured", peer))
    for cores in sorted({cores for _, cores in real}):
        keys = [key for key in real if key[1] == cores]
        rank = _rank([told[key] for key in keys], [real[key] for key in keys])
        rows.append(Row(case.name, order, f"rank@{cores}", rank, f"bar, {len(keys)} orders", RANK))
        before = [
            (told[key], known[case.known, order, f"region_ms@{key[0]},{cores}"])
            for key in keys
            if (case.known, order, f"region_ms@{key[0]},{cores}") in known
        ]
        if len(before) > 2:
            rank = _rank(*zip(*before, strict=True))
            rows.append(
                Row(case.name, order, f"rank against main_job@{cores}", rank, f"bar, {len(before)} orders", RANK)
            )
    rows.append(Row(case.name, order, "seconds a simulation", float(np.median([r["seconds"] for r in found["rows"]]))))
    rows.append(Row(case.name, order, "measured ns a pin, data near", min(found["step_ns"].values(), default=None)))
    return rows


def _rank(a: Any, b: Any) -> float | None:
    value = float(spearmanr(a, b).statistic) if len(a) > 2 else float("nan")
    return None if np.isnan(value) else value


def summary(rows: list[Row]) -> list[Row]:
    """How much of the bars is kept."""
    found = []
    for cores in (1, 2, "all"):
        ratios = [
            row.ratio
            for row in rows
            if row.metric.startswith("speedup@") and row.ratio and (cores == "all" or row.metric.endswith(f",{cores}"))
        ]
        if ratios:
            near = np.mean([1 - NEAR <= ratio <= 1 + NEAR for ratio in ratios])
            found.append(
                Row("summary", "", f"share of speedups within 30 %, cores: {cores}", float(near), "bar", SHARE)
            )
            spread = float(np.exp(np.mean(np.abs(np.log(ratios)))))
            found.append(Row("summary", "", f"geomean error factor, cores: {cores}", spread))
    for kind in ("rank@", "rank against main_job@"):
        ranks = [row.value for row in rows if row.metric.startswith(kind) and row.value is not None]
        if ranks:
            found.append(Row("summary", "", f"{kind} median", float(np.median(ranks)), "bar", RANK))
            found.append(Row("summary", "", f"{kind} least", float(min(ranks)), "bar", RANK))
    return found


def known_times() -> dict[tuple[str, str, str], float]:
    """Times of `main_job.py --methods` by (input, order, metric)."""
    data = json.loads((FOLDER / "results" / "main_job_methods.json").read_text())
    found = {(row["input"], row["order"], row["metric"]): row["value"] for row in data["rows"] if row["value"]}
    own = {(row["input"], row["order"]): row["peer_value"] for row in data["rows"] if row["peer"] == "original order"}
    return found | {(*key, "region_ms@original,1"): value for key, value in own.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, help="file for the rows")
    parser.add_argument("--inputs", help="comma-separated NAME or NAME-ORDER (default: all)")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a check of the program itself")
    parser.add_argument("--raw", type=Path, help="folder for what the workers found")
    options = parser.parse_args()
    wanted = set(options.inputs.split(",")) if options.inputs else None
    os.environ["PYTHONPATH"] = os.pathsep.join([str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
    pipeline.PIPELINE = pipeline.PIPELINE[:STAGES]
    own = tune.run_worker
    tune.run_worker = lambda module, *words, **more: own("simulated_worker", *words, **more)
    known = known_times()
    rows: list[Row] = []
    if options.json and wanted and options.json.exists():
        rows = kept(options.json, wanted)
    for case in CASES:
        for order in ("scattered", "natural"):
            label = f"{case.name}-{order}"
            if wanted is not None and not {case.name, label} & wanted:
                continue
            found = simulate(case, order, quick=options.quick)
            if options.raw:
                (options.raw / f"{label}.json").write_text(json.dumps(found))
            mine = rows_of(case, order, found, known)
            print_rows(mine)
            rows += mine
            if options.json:
                write_rows(options.json, "simulated_real", [*rows, *summary(rows)], seed=0, quick=options.quick)
    print_rows(summary(rows))


def kept(path: Path, wanted: set[str]) -> list[Row]:
    """Rows of an earlier file whose inputs are not measured now."""
    names = ("input", "order", "metric", "value", "peer", "peer_value")
    return [
        Row(*(row[name] for name in names))
        for row in json.loads(path.read_text())["rows"]
        if row["input"] != "summary" and not {row["input"], f"{row['input']}-{row['order']}"} & wanted
    ]


if __name__ == "__main__":
    main()
