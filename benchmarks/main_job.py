"""The main job on the samples: native against traced against rescheduled, stage by stage, order by order.

`python benchmarks/main_job.py --json benchmarks/results/main_job.json` takes about fifteen minutes; `--inputs` picks
some, `--quick` runs small sizes. Whole programs are timed interleaved (native, rescheduled, native, …), the medians
of their wall times are compared.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from rows import Row, print_rows, write_rows
from tracecut.tracer.frontend import Flags
from tracecut.tracer.runner import Limits, run

from tracecut.pipeline import optimize_program
from tracecut.progress import Progress
from tracecut.settings import Settings

SAMPLES = Path(__file__).parent.parent / "samples"


@dataclass(frozen=True)
class Case:
    """One program with its arguments: `order` names the numbering of the input, `repeat` the timed runs."""

    name: str
    source: str
    order: str
    argv: tuple[str, ...]
    quick: tuple[str, ...]
    repeat: int = 3


CASES = (
    Case("mesh_flux", "mesh_flux.c", "scattered", (), ("--scale", "2", "--steps", "20")),
    Case("mesh_flux", "mesh_flux.c", "natural", ("--natural",), ("--natural", "--scale", "2", "--steps", "20"), 5),
    Case("spmv_cg", "spmv_cg.c", "scattered", (), ("--scale", "2", "--steps", "2")),
    Case("spmv_cg", "spmv_cg.c", "natural", ("--natural",), ("--natural", "--scale", "2", "--steps", "2"), 5),
    Case("md_forces", "md_forces.c", "scattered", (), ("--scale", "1", "--steps", "8")),
    Case("md_forces", "md_forces.c", "natural", ("--natural",), ("--natural", "--scale", "1", "--steps", "8"), 5),
    Case("dense_stencil", "dense_stencil.c", "natural", (), ("--steps", "10"), 7),
    Case("prefix_sum", "prefix_sum.c", "scattered", (), ("--steps", "2"), 7),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, help="file for the rows")
    parser.add_argument("--inputs", help="comma-separated NAME or NAME-ORDER (default: all)")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a check of the program itself")
    options = parser.parse_args()
    wanted = set(options.inputs.split(",")) if options.inputs else None
    rows: list[Row] = []
    hashes: dict[str, str] = {}
    for case in CASES:
        if wanted is not None and not {case.name, f"{case.name}-{case.order}"} & wanted:
            continue
        found, digest = measure(case, case.quick if options.quick else case.argv)
        print_rows(found)
        rows += found
        hashes[f"{case.name}-{case.order}"] = digest
        if options.json:
            write_rows(options.json, "main_job", rows, seed=0, quick=options.quick, input_hashes=hashes)


def measure(case: Case, argv: Sequence[str]) -> tuple[list[Row], str]:
    """Rows of one case, and the hash of its input."""
    with tempfile.TemporaryDirectory(prefix="tracecut-benchmark-") as name:
        folder = Path(name)
        settings = Settings((str(SAMPLES / case.source),), Flags(libraries=("m",)), tuple(argv), folder / "out")
        manifest = optimize_program(settings, Progress()).manifest
        rows = _stages(case, manifest)
        for region in manifest["regions"]:
            rows += _region(case, region)
        rows += _programs(case, folder, argv, manifest)
        return rows, str(manifest["input_hash"])


def _stages(case: Case, manifest: dict[str, Any]) -> list[Row]:
    native = manifest["native_seconds"]
    rows = [Row(case.name, case.order, "traced_seconds", manifest["traced_seconds"], "native", native)]
    for stage, seconds in manifest["timings"].items():
        rows.append(Row(case.name, case.order, f"stage_{stage}_seconds", seconds))
    rows.append(Row(case.name, case.order, "optimize_seconds", sum(manifest["timings"].values())))
    return rows


def _region(case: Case, region: dict[str, Any]) -> list[Row]:
    name = f"{case.name}:{region['line']}"

    def row(metric: str, value: float | None, peer: str = "", other: float | None = None) -> Row:
        return Row(name, case.order, metric, value, peer, other)

    if not region["candidates"]:
        return []
    before = region["original_ms"]
    rows = [row(f"inspect_{stage}_seconds", seconds) for stage, seconds in region["timings"].items()]
    for item in region["candidates"]:
        rows.append(row(f"order_{item['method']}_ms_1t", item["region_ms"], "original order", before))
        if item["region_all_ms"] is not None:
            rows.append(
                row(
                    f"order_{item['method']}_ms_{item['threads']}t",
                    item["region_all_ms"],
                    "1 thread",
                    item["region_ms"],
                )
            )
        if item["inspect_ms"]:
            rows.append(row(f"order_{item['method']}_inspect_ms", item["inspect_ms"]))
    if region["decision"] != "optimized":
        return rows
    rows.append(row("copy_ms", region["copy_ms"]))
    rows.append(row("break_even_sweeps", region["break_even_sweeps"]))
    rows.append(row("max_rel_error", region["max_rel_error"]))
    rows.append(row("replication_factor", region["replication_after"], "original order", region["replication_before"]))
    measured = region["measured"] or {}
    original = measured.get("original", {}).get("region_seconds")
    for run_name, found in measured.items():
        if run_name != "original":
            charged = found["region_seconds"] + found["copy_seconds"]
            rows.append(row(f"charged_seconds_{run_name.split()[0]}t", charged, "original", original))
    return rows


def _programs(case: Case, folder: Path, argv: Sequence[str], manifest: dict[str, Any]) -> list[Row]:
    """Whole programs, interleaved: native, then the result on each number of threads."""
    out = folder / "out"
    optimized = any(region["decision"] == "optimized" for region in manifest["regions"])
    commands: dict[str, list[str | Path]] = {"native": [out / "program", *argv]}
    threads = sorted({1, manifest["machine"]["cores"]}) if optimized else [1]
    for count in threads:
        own = [sys.executable, "-m", "tracecut", "run", out, "--threads", str(count), "--", *argv]
        commands[f"run_{count}t"] = own
    wall: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(case.repeat):
        for name, command in commands.items():
            finished = run(command, folder=folder, name=name, limits=Limits(output_bytes=1 << 28))
            assert finished.ok, finished
            wall[name].append(finished.seconds)
            cpu[name].append(finished.cpu_seconds)
    native = statistics.median(wall["native"])
    rows = []
    for name in commands:
        if name != "native":
            value = statistics.median(wall[name])
            rows.append(Row(case.name, case.order, f"program_{name}_seconds", value, "native", native))
            spent = statistics.median(cpu[name])
            rows.append(
                Row(
                    case.name,
                    case.order,
                    f"program_{name}_cpu_seconds",
                    spent,
                    "native",
                    statistics.median(cpu["native"]),
                )
            )
    return rows


if __name__ == "__main__":
    main()
