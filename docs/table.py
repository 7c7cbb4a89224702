"""Print the README's table from a results file: `python docs/table.py benchmarks/results/main_job.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

CASES = {
    ("mesh_flux", "scattered"): "`mesh_flux.c`, 4.1 M edges numbered at random",
    ("mesh_flux", "natural"): "the same mesh, numbered along itself",
    ("md_forces", "scattered"): "`md_forces.c`, 20 M pairs, atoms numbered at random",
    ("md_forces", "natural"): "the same atoms, numbered along the box",
    ("spmv_cg", "scattered"): "`spmv_cg.c`, 9.7 M nonzeros, rows numbered at random",
    ("spmv_cg", "natural"): "the same matrix, rows numbered along the mesh",
    ("graph_heat", "scattered"): "`graph_heat.c`, an R-MAT graph, vertices numbered at random",
    ("graph_heat", "natural"): "the same graph, as generated",
    ("dense_stencil", "natural"): "`dense_stencil.c` (refused: regular)",
    ("prefix_sum", "scattered"): "`prefix_sum.c` (refused: ordered)",
}
METRICS = (
    ("region_seconds_1t", "original"),
    ("charged_seconds_1t", "original"),
    ("charged_seconds_2t", "original"),
    ("program_run_1t_seconds", "native"),
    ("program_run_2t_seconds", "native"),
)


def main() -> None:
    rows = json.loads(Path(sys.argv[1]).read_text())["rows"]
    print("| input | loop, 1 thread | with all copies | 2 threads, copies | program, 1 thread | program, 2 threads |")
    print("|---|---|---|---|---|---|")
    for (name, order), words in CASES.items():
        cells = [_cell([row for row in rows if _is(row, name, order, *metric)]) for metric in METRICS]
        print(f"| {words} | {' | '.join(cells)} |")


def _is(row: dict[str, object], name: str, order: str, metric: str, peer: str) -> bool:
    found = str(row["input"]).split(":")[0], row["order"], row["metric"], row["peer"]
    return found == (name, order, metric, peer)


def _cell(found: list[dict[str, float]]) -> str:
    """How many times as fast as the peer."""
    ratios = [1 / row["ratio"] for row in found if row["ratio"]]
    return f"{max(ratios):.2f}×" if ratios else ""


if __name__ == "__main__":
    main()
