"""The choice of `tracecut.spmv` beside exhaustive search: every form and order of a matrix, predicted and measured.

    python benchmarks/spmv_tuning.py --json FILE [--repeat 15] [--only NAME …]

Metrics are `FORMAT: us`, in each order, with what the model predicts beside them, and `chosen: us` beside the fastest
of all. Vectors are moved in each call, on one thread; times are the least CPU seconds of some rounds, forms in turn.
Run `tracecut tune` first; without it, the table of another machine is what is tested.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

from rows import Row, kept_rows, print_rows, write_rows
from spmv import DTYPES, load
from tracecut.codegen.sparse.compare import measure_forms
from tracecut.codegen.sparse.costs import known_costs
from tracecut.codegen.sparse.csr import Csr

import tracecut

NAMES = (
    *("bcsstk32", "cnr-2000", "delaunay_n15", "email-Enron", "facebook-combined", "fe_pwt", "ibm10", "memplus"),
    *("soc-Slashdot0902", "wiki-Vote", "wing", "rmat18", "rmat19", "stencil27-80", "delaunay1m"),
)
NEAR = 1.2  # predictions that are off by less than this


def rows_of(name: str, dtype: str, repeat: int) -> list[Row]:
    """Those of one matrix."""
    matrix = load(name)
    if matrix is None:
        raise SystemExit(f"{name} is too small")
    matrix = matrix.astype(dtype)
    plan = tracecut.spmv(matrix, threads=1).plan
    found = measure_forms(Csr.of(matrix), plan, repeat, least=True)
    rows = [
        Row(name, one.estimate.order, f"{one.estimate.format} {dtype}: us", one.us, "predicted", one.estimate.us, "")
        for one in found
    ]
    chosen = next(one for one in found if (one.estimate.format, one.estimate.order) == (plan.format, plan.order))
    best = min(found, key=lambda one: one.us)
    names = f"{best.estimate.format}, {best.estimate.order} order"
    rows.append(Row(name, plan.order, f"chosen {dtype}: us", chosen.us, names, best.us, f"{plan.format} was chosen"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="The choice of spmv beside exhaustive search.")
    parser.add_argument(
        "--json", type=Path, required=True, metavar="FILE", help="for the rows; those of other matrices stay"
    )
    parser.add_argument("--repeat", type=int, default=15, help="timed rounds")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="matrices (default: fifteen)")
    options = parser.parse_args()
    rows = kept_rows(options.json)
    for name in options.only or NAMES:
        new = [row for dtype in DTYPES for row in rows_of(name, dtype, options.repeat)]
        print_rows([row for row in new if row.metric.startswith("chosen")])
        rows = [*(row for row in rows if row.input != name), *new]
        write_rows(options.json, "spmv_tuning", rows, costs=known_costs().source, when=time.strftime("%F"))
    lost = [row.value / row.peer_value for row in rows if row.metric.startswith("chosen") and row.peer_value]
    off = [row.peer_value / row.value for row in rows if row.peer == "predicted" and row.peer_value]
    near = sum(1 / NEAR < each < NEAR for each in off) / len(off)
    mean = math.exp(sum(map(math.log, lost)) / len(lost))
    print(f"chosen: {mean:.3f} of the best (geometric mean), at most {max(lost):.3f}; {near:.0%} predicted within 20 %")


if __name__ == "__main__":
    main()
