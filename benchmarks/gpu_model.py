"""GPU kernels of the samples by the memory model: bytes that each variant asks the L2 and the memory for. No card.

Each sample runs once, instrumented; the kernels of its hottest loop are run on this CPU, access by access. Scattered
inputs show what blocks with data of their own spare, natural ones that `auto` takes nothing that is slower.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rows import Row, print_rows, write_rows
from tracecut.codegen.kernels.gpu_model import gpu_model
from tracecut.support.errors import UnsupportedError
from tracecut.support.progress import Progress

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import emit_kernel

SAMPLES = Path(__file__).parent.parent / "samples"
CASES = {
    "mesh_flux": ("--scale", "3", "--steps", "4"),
    "md_forces": ("--scale", "1", "--steps", "3"),
    "spmv_cg": ("--scale", "3", "--steps", "1", "--iterations", "8"),
    "graph_heat": ("--scale", "16", "--steps", "4"),
}
BARS = {"scattered": (("original", 0.2), ("swap", 0.6))}
GPU = "h200"


def case_rows(name: str, order: str, arguments: Sequence[str]) -> list[Row]:
    """L2 and HBM bytes and time of each variant, and what `auto` takes."""
    argv = (*arguments, *(("--natural",) if order == "natural" else ()))
    settings = Settings((str(SAMPLES / f"{name}.c"),), argv=argv)
    rows: list[Row] = []
    asked = {"arch": "sm_90", "threads": 256, "jobs": None, "shared": 48 << 10, "method": "auto", "gpu": GPU}
    chosen = emit_kernel(settings, {**asked, "variant": "auto"}, Progress(quiet=True))
    best: dict[str, tuple[int, float]] = {}
    for item in chosen.considered:
        if item.seconds is None:
            print(f"{name}, {order}: no {item.variant} with {item.jobs} jobs: {item.why}")
            continue
        if item.variant not in best or item.l2_bytes < best[item.variant][0]:
            best[item.variant] = item.l2_bytes, item.seconds
    for variant, (size, seconds) in best.items():
        rows.append(Row(name, order, f"L2 bytes@{variant}", size, "original", best["original"][0]))
        rows.append(Row(name, order, f"time@{variant}", seconds, "original", best["original"][1]))
    for peer, bar in BARS.get(order, ()):
        if "smem" in best and peer in best:
            rows.append(Row(name, order, f"L2 bytes, smem / {peer}", best["smem"][0] / best[peer][0], "bar", bar))
    report = gpu_model(chosen, GPU)
    rows.append(Row(name, order, f"time of auto ({chosen.variant})", report.time, "original", best["original"][1]))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows there")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    options = parser.parse_args()
    rows: list[Row] = []
    for name in options.cases:
        for order in ("scattered", "natural"):
            try:
                found = case_rows(name, order, CASES[name])
            except UnsupportedError as error:
                print(f"{name}, {order}: {error.message}")
                continue
            print_rows(found)
            rows += found
    if options.json is not None:
        write_rows(options.json, "gpu_model", rows, gpu=GPU)


if __name__ == "__main__":
    main()
