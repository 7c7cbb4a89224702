"""What the programs of `tests/programs` gain of what a good numbering would give.

`python benchmarks/headroom.py -o benchmarks/results/headroom.json` takes about an hour and a half; `--inputs` picks
some (the rows of the others stay in the file as they are). A program is optimized with its data numbered at random; it
is then run in three ways, in turns: as `cc -O3` builds it, as tracecut reschedules it, and as `cc -O3` does with its
data numbered well. CPU seconds of whole programs on one thread are compared, everything that tracecut adds included.
The share of the headroom is (random - tracecut) / (random - natural): 1 where a bad numbering costs nothing any more.

`--natural` optimizes the programs as they are numbered well: there is nothing to gain, and nothing may be lost.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from rows import Row, print_rows, read_rows, write_rows
from tracecut.support.errors import TracecutError
from tracecut.support.process.runner import Limits, run
from tracecut.support.progress import Progress
from tracecut.support.tolerances import OUTPUT
from tracecut.tracer.toolchain.flags import parse_flags

from tracecut.pipeline.stages.compare_outputs import compare_outputs
from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

PROGRAMS = Path(__file__).parent.parent / "tests" / "programs"
SIDE, SIDES = 1000, {"ends_alike.cpp": 700, "tets_matrix_free.c": 100}  # a million vertices
STEPS = {  # five seconds or so where the data are numbered at random
    "blocks_one_based.c": 70,
    "cell_list.c": 4,
    "cells_heated.c": 35,
    "cells_tiled.cpp": 30,
    "cg_restarts.c": 10,
    "cg_routines.c": 100,
    "cloth.cpp": 70,
    "coefficients.c": 30,
    "ends_alike.cpp": 4,
    "features_mean.cpp": 50,
    "features_pointed.c": 40,
    "fem_assembly.c": 7,
    "fields_restrict.c": 15,
    "fluxes_bounded.c": 50,
    "fluxes_told.c": 50,
    "gathers_transform.cpp": 100,
    "heat_reported.cpp": 60,
    "history_steps.cpp": 100,
    "image_warp.c": 500,
    "jacobi_arrays.cpp": 300,
    "jacobi_references.cpp": 100,
    "labels_spread.c": 1000,
    "lattice_rows.c": 30,
    "lattice_streaming.c": 100,
    "levels_from_below.c": 2,
    "links_pairs.cpp": 50,
    "lists_ended.c": 100,
    "mesh_checked.cpp": 70,
    "mesh_classes.cpp": 70,
    "mesh_colour_vectors.cpp": 100,
    "mesh_colours.c": 100,
    "mesh_dump_block.c": 70,
    "mesh_dump_text.c": 70,
    "mesh_forking.c": 70,
    "mesh_functions.cpp": 70,
    "mesh_growing.c": 100,
    "mesh_kept.cpp": 30,
    "mesh_local.c": 70,
    "mesh_logs.cpp": 100,
    "mesh_openmp.c": 200,
    "mesh_ordered.c": 50,
    "mesh_refined.c": 50,
    "mesh_smoothing.cpp": 70,
    "mesh_stages.c": 8,
    "mesh_temporaries.cpp": 50,
    "mesh_upwind.c": 50,
    "nets_spread.cpp": 200,
    "nodes_ended.c": 100,
    "nodes_first.c": 50,
    "nodes_near.c": 30,
    "objects_pointed.c": 30,
    "observers.c": 70,
    "pagerank_degrees.c": 30,
    "pagerank_first.cpp": 40,
    "pagerank_prints.cpp": 500,
    "pagerank_push.c": 200,
    "pagerank_vectors.cpp": 100,
    "particles_in_cells.c": 200,
    "points_structs.c": 20,
    "rows_allocated.c": 300,
    "rows_checked.cpp": 100,
    "rows_counted.c": 300,
    "rows_ended.c": 200,
    "rows_growing.c": 500,
    "rows_records.c": 200,
    "rows_sliced.c": 700,
    "rows_written.c": 10,
    "shortest_paths.c": 200,
    "springs_pointed.cpp": 30,
    "state_vectors.cpp": 20,
    "steps_freed.c": 100,
    "steps_returned.cpp": 100,
    "tets_matrix_free.c": 50,
    "triangles_matrices.c": 10,
    "trust_region.cpp": 50,
    "two_levels.c": 100,
    "vertices_listed.cpp": 100,
    "views.cpp": 50,
    "waves_complex.cpp": 70,
}
ORDERS = {"random": "0", "natural": "1"}
METRIC = "cpu seconds"
SHARE = "share of the headroom"
OPTIMIZE = "optimize, wall seconds"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("-o", "--output", type=Path, help="file for the rows")
    parser.add_argument("--inputs", help="comma-separated names (default: all)")
    parser.add_argument("--natural", action="store_true", help="optimize the programs as they are numbered well")
    parser.add_argument("--repeat", type=int, default=3, help="timed runs of each way (default: %(default)s)")
    options = parser.parse_args()
    order = "natural" if options.natural else "random"
    wanted = set(options.inputs.split(",")) if options.inputs else set(STEPS)
    rows = read_rows(options.output)
    for name in STEPS:
        if not {name, Path(name).stem} & wanted:
            continue
        found = measure(name, order, options.repeat)
        print_rows(found)
        gone = {key for key in rows if key[:2] == (name, order)}
        rows = {key: row for key, row in rows.items() if key not in gone}
        rows |= {(row.input, row.order, row.metric): row for row in found}
        if options.output:
            write_rows(options.output, "headroom", list(rows.values()), seed=0)


def measure(name: str, order: str, repeat: int) -> list[Row]:
    """Rows of one program, whose data are numbered in `order` when it is optimized."""
    side = str(SIDES.get(name, SIDE))
    argv = (side, str(STEPS[name]), ORDERS[order])
    openmp = "#pragma omp" in (PROGRAMS / name).read_text()
    sources, flags = parse_flags(["-O3", str(PROGRAMS / name), "-lm", *["-fopenmp"] * openmp])
    with tempfile.TemporaryDirectory(prefix="tracecut-benchmark-") as made:
        folder = Path(made)
        settings = Settings(tuple(sources), flags, argv, folder / "out")
        start = time.monotonic()
        try:
            manifest = optimize_program(settings, Progress()).manifest
        except TracecutError as error:
            return [Row(name, order, METRIC, None, "native", note=str(error).splitlines()[0])]
        spent = time.monotonic() - start
        out = str(folder / "out")
        own = (sys.executable, "-P", "-m", "tracecut", "run", "--threads", "1", out, "--")
        native = (f"{out}/program",)
        ways = {"native": (*native, *argv), "run": (*own, *argv)}
        if order == "random":
            ways["good"] = (*native, side, argv[1], ORDERS["natural"])
        seconds = _interleaved(ways, folder, repeat)
    rows = [
        Row(name, order, METRIC, seconds["run"], "native", seconds["native"], note=_decided(manifest)),
        Row(name, order, OPTIMIZE, spent, "native, wall", manifest["original_run_seconds"]),
    ]
    if order == "random":
        room = seconds["native"] - seconds["good"]
        rows.append(Row(name, order, "cpu seconds, natural", seconds["good"], "native", seconds["native"]))
        rows.append(Row(name, order, SHARE, (seconds["native"] - seconds["run"]) / room if room > 0 else None))
    return rows


def _interleaved(ways: dict[str, tuple[str, ...]], folder: Path, repeat: int) -> dict[str, float]:
    """Median CPU seconds of each way. What is rescheduled must print what the native program prints."""
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repeat):
        printed = {}
        for way, command in ways.items():
            ran = run(command, folder=folder, name=way, limits=Limits(output_bytes=1 << 28))
            assert ran.ok, ran
            spent[way].append(ran.cpu_seconds)
            printed[way] = ran.stdout.read_bytes()
        assert compare_outputs(printed["native"], printed["run"], tolerance=OUTPUT).equal, "another output"
    return {way: statistics.median(found) for way, found in spent.items()}


def _decided(manifest: dict[str, Any]) -> str:
    """Lines of the loops that were rescheduled; where none is, the first reason."""
    regions: Sequence[dict[str, Any]] = manifest["regions"]
    changed = [region["line"] for region in regions if region["decision"] == "optimized"]
    if changed:
        return "lines " + ", ".join(map(str, changed))
    why = str(manifest["program"].get("reason") or "no loop")
    return next((f"line {region['line']}: {region['reason']}" for region in regions if region.get("reason")), why)


if __name__ == "__main__":
    main()
