"""`tracecut spmv FILE`: every form and order of a sparse matrix, predicted and measured, and the one that is chosen."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracecut.support.errors import UsageError

from .words import Parser, begin_work

if TYPE_CHECKING:
    from tracecut.codegen.sparse.compare import Measured
    from tracecut.codegen.sparse.plan import SpmvPlan

DESCRIPTION = (
    "Choose the form and the order in which products of the sparse matrix in FILE with vectors are fastest, and "
    "measure all of them on one core. FILE: Matrix Market (.mtx), METIS (.graph), an edge list (.txt, .el, .edges, "
    ".edgelist, .tsv), each also with .gz, or a matrix saved by SciPy (.npz)."
)
DTYPES = ("float32", "float64", "complex64", "complex128")


def run_spmv(words: list[str]) -> int:
    """The command. Returns the exit status.

    Raises UsageError, ArgumentError, ArtefactError (the file).
    """
    parser = Parser(prog="tracecut spmv", usage="tracecut spmv FILE [--dtype T] [--json]", description=DESCRIPTION)
    parser.add_argument("file", metavar="FILE", help="the matrix")
    parser.add_argument("--dtype", metavar="T", help=f"type of values: {', '.join(DTYPES)} (default: the matrix's)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(words)
    if options.dtype is not None and options.dtype not in DTYPES:
        raise UsageError(f"--dtype {options.dtype}: {' or '.join(DTYPES)} expected")
    begin_work()
    from tracecut.codegen.products.spmv import spmv
    from tracecut.codegen.sparse.compare import measure_forms
    from tracecut.codegen.sparse.csr import Csr
    from tracecut.partition.inputs.matrix_files import read_matrix

    matrix = Csr.of(read_matrix(options.file), options.dtype)
    plan = spmv(matrix.to_scipy(), threads=1).plan
    found = measure_forms(matrix, plan)
    if options.json:
        print(json.dumps(report(Path(options.file), plan, found), indent=1))
    else:
        print("\n".join(_lines(plan, found)))
    return 0


def report(path: Path, plan: SpmvPlan, found: list[Measured]) -> dict[str, Any]:
    """What `--json` prints."""
    from tracecut.ir.machine.machine import Machine
    from tracecut.support.version import __version__

    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    rows, cols = plan.shape
    return {
        "tracecut": __version__,
        "machine": Machine.detect().summary(),
        "input": {"path": str(path), "rows": rows, "cols": cols, "nnz": plan.entries, "sha256": digest},
        "candidates": [
            {
                "format": one.estimate.format,
                "order": one.estimate.order,
                "bytes": one.estimate.bytes,
                "padding": one.estimate.padding,
                "predicted_us": one.estimate.us,
                "measured_us": one.us,
            }
            for one in found
        ],
        "chosen": {"format": plan.format, "order": plan.order},
        "reason": plan.reason,
        "inspect_seconds": plan.inspect_seconds,
        "break_even": plan.break_even,
    }


def _lines(plan: SpmvPlan, found: list[Measured]) -> list[str]:
    rows, cols = plan.shape
    lines = [
        f"{rows:,} × {cols:,}, {plan.entries:,} entries of {plan.dtype}",
        f"  {'format':<10} {'order':<8} {'bytes':>15} {'padding':>8} {'predicted':>12} {'measured':>12}",
    ]
    for one in found:
        chosen = "*" if (one.estimate.format, one.estimate.order) == (plan.format, plan.order) else " "
        lines.append(
            f"{chosen} {one.estimate.format:<10} {one.estimate.order:<8} {one.estimate.bytes:>15,} "
            f"{one.estimate.padding:>8.3f} {one.estimate.us:>9.4g} µs {one.us:>9.4g} µs"
        )
    pays = "never paid back" if plan.break_even is None else f"paid back after {plan.break_even:,} products"
    lines.append(f"* chosen: {plan.reason}")
    lines.append(f"inspection: {plan.inspect_seconds * 1e3:.3g} ms, {pays}")
    return lines
