"""The main job on the samples: native against traced against rescheduled, stage by stage, order by order.

`python benchmarks/main_job.py --json benchmarks/results/main_job.json` takes about fifteen minutes; `--inputs` picks
some (the rows of the others stay as they are in the file), `--quick` runs small sizes. Whole programs are timed
interleaved (native, rescheduled, native, …), the medians of their wall times are compared.

`--methods` measures, instead of whole programs, every family on the region of other inputs (`by_method.py`); a file of
its own keeps those rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from by_method import measure_methods, method_cases
from rows import Row, print_rows, write_rows
from tracecut.support.process.runner import Limits, run
from tracecut.support.progress import Progress
from tracecut.tracer.toolchain.clang import Flags

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

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
    Case("graph_heat", "graph_heat.c", "scattered", (), ("--scale", "16", "--steps", "8")),
    Case("graph_heat", "graph_heat.c", "natural", ("--natural",), ("--natural", "--scale", "16", "--steps", "8"), 5),
    Case("dense_stencil", "dense_stencil.c", "natural", (), ("--steps", "10"), 7),
    Case("prefix_sum", "prefix_sum.c", "scattered", (), ("--steps", "2"), 7),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, help="file for the rows")
    parser.add_argument("--inputs", help="comma-separated NAME or NAME-ORDER (default: all)")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a check of the program itself")
    parser.add_argument("--methods", action="store_true", help="compare the families on the regions of other inputs")
    options = parser.parse_args()
    wanted = set(options.inputs.split(",")) if options.inputs else None
    if options.methods:
        compare_methods(options.json, wanted, quick=options.quick)
        return
    rows, hashes = _others(options.json, wanted, {f"{case.name}-{case.order}" for case in CASES})
    for case in CASES:
        if wanted is not None and not {case.name, f"{case.name}-{case.order}"} & wanted:
            continue
        found, digest = measure(case, case.quick if options.quick else case.argv)
        print_rows(found)
        rows += found
        hashes[f"{case.name}-{case.order}"] = digest
        if options.json:
            write_rows(options.json, "main_job", rows, seed=0, quick=options.quick, input_hashes=hashes)


def compare_methods(path: Path | None, wanted: set[str] | None, *, quick: bool) -> None:
    """Region times and break-even points of every family; see `by_method.py`."""
    with tempfile.TemporaryDirectory(prefix="tracecut-benchmark-") as name:
        cases = method_cases(Path(name), quick=quick)
        known = {f"{case.name}-{case.order}" for case in cases}
        rows, hashes = _others(path, wanted, known)
        for case in cases:
            label = f"{case.name}-{case.order}"
            if wanted is not None and not {case.name, label} & wanted:
                continue
            found, hashes[label] = measure_methods(case, Path(name) / label)
            print_rows(found)
            rows += found
            if path:
                write_rows(path, "main_job_methods", rows, seed=0, quick=quick, input_hashes=hashes)


def _others(path: Path | None, wanted: set[str] | None, known: set[str]) -> tuple[list[Row], dict[str, str]]:
    """Rows and input hashes of an earlier file, without those of the cases that are measured now."""
    if path is None or wanted is None or not path.exists():
        return [], {}
    data = json.loads(path.read_text())
    kept = {label for label in known if not {label, label.rpartition("-")[0]} & wanted}
    rows = [
        Row(*(row[name] for name in ("input", "order", "metric", "value", "peer", "peer_value")))
        for row in data["rows"]
        if f"{row['input'].split(':')[0]}-{row['order']}" in kept
    ]
    return rows, {name: digest for name, digest in data["input_hashes"].items() if name in kept}


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
    native = manifest["original_run_seconds"]
    rows = [Row(case.name, case.order, "traced_seconds", manifest["capture_run_seconds"], "native", native)]
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
            rows.append(row(f"order_{item['method']}_check_ms", item["check_ms"], "inspection", item["inspect_ms"]))
    if region["decision"] != "optimized":
        return rows
    guarded = (region["measured"] or {}).get("1 threads", {})
    rows.append(row("guard_ms", 1e3 * guarded.get("guard_seconds", 0.0), "inspection", region["inspect_ms"]))
    rows.append(row("copy_ms", region["copy_ms"]))
    rows.append(row("break_even_sweeps", region["break_even_sweeps"]))
    rows.append(row("max_rel_error", region["max_rel_error"]))
    rows.append(row("replication_factor", region["replication_after"], "original order", region["replication_before"]))
    return rows


def _programs(case: Case, folder: Path, argv: Sequence[str], manifest: dict[str, Any]) -> list[Row]:
    """Whole programs, interleaved: native, the original loops under the host, and the result on 1 and all threads."""
    out = folder / "out"
    changed = [region for region in manifest["regions"] if region["decision"] == "optimized"]
    own: list[str | Path] = [sys.executable, "-P", "-m", "tracecut", "run", out]
    commands: dict[str, list[str | Path]] = {"native": [out / "program", *argv]}
    if changed:
        commands["original"] = [*own, "--original", "--counters", folder / "original.json", "--", *argv]
    for count in sorted({1, manifest["machine"]["cores"]}) if changed else [1]:
        name = f"run_{count}t"
        counters: list[str | Path] = ["--counters", folder / f"{name}.json"] if changed else []
        commands[name] = [*own, "--threads", str(count), *counters, "--", *argv]
    wall: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    charged: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for _ in range(case.repeat):
        for name, command in commands.items():
            finished = run(command, folder=folder, name=name, limits=Limits(output_bytes=1 << 28))
            assert finished.ok, finished
            wall[name].append(finished.seconds)
            cpu[name].append(finished.cpu_seconds)
            for region in changed if name != "native" else ():
                found = json.loads((folder / f"{name}.json").read_text())
                charged.setdefault((name, region["loop"]), []).append(_charged(found, region["loop"]))
    rows = []
    for name in commands:
        for metric, found in (("seconds", wall), ("cpu_seconds", cpu)):
            if name != "native":
                value, native = statistics.median(found[name]), statistics.median(found["native"])
                rows.append(Row(case.name, case.order, f"program_{name}_{metric}", value, "native", native))
    for region in changed:
        rows += _charged_rows(f"{case.name}:{region['line']}", case.order, region["loop"], charged)
    return rows


def _charged(found: dict[str, Any], loop: int) -> tuple[float, float]:
    """(seconds in the region, seconds to enter and leave its layout) of a run."""
    region = found["regions"][str(loop)]
    copies = sum(scope["nanoseconds"] for scope in found["scopes"].values())
    return (region["nanoseconds"] + region["original_nanoseconds"]) / 1e9, copies / 1e9


def _charged_rows(
    name: str, order: str, loop: int, charged: dict[tuple[str, int], list[tuple[float, float]]]
) -> list[Row]:
    """The region over a whole run, all copies charged, against the original loop."""
    original = statistics.median(spent for spent, _ in charged["original", loop])
    rows, one = [], None
    for (run_name, number), found in charged.items():
        if number != loop or run_name == "original":
            continue
        threads = run_name.removeprefix("run_")
        spent = statistics.median(region for region, _ in found)
        total = statistics.median(region + copies for region, copies in found)
        rows.append(Row(name, order, f"charged_seconds_{threads}", total, "original", original))
        rows.append(Row(name, order, f"region_seconds_{threads}", spent, "original", original))
        one = spent if one is None else one
        if threads != "1t":
            rows.append(Row(name, order, f"region_seconds_{threads}", spent, "1 thread", one))
    return rows


if __name__ == "__main__":
    main()
