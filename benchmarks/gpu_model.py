"""GPU kernels by the memory model: what they ask the L2 and the memory for, and what the search takes. No card.

`python benchmarks/gpu_model.py --json benchmarks/results/gpu_model.json` takes minutes of CPU time. Parts:
`search`: `auto` beside an exhaustive search, and the variants' bytes (`gpu_search.py`); `spmv`: sectors of x beside a
gather of CSR by warps (`gpu_spmv.py`); `matrices`: transactions on stand-ins for the matrices of SPAC's Table 4
(`gpu_matrices.py`); `variants`: all variants assemble for three architectures and leave what the program left, and
what making a kernel takes (`gpu_variants.py`). With `--parts` or `--cases` the other rows of the file stay as they are.
Counts and predicted times are the same on every machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import gpu_matrices
import gpu_search
import gpu_spmv
import gpu_variants
from gpu_programs import CASES
from rows import Row, print_rows, read_rows, write_rows
from tracecut.support.errors import UnsupportedError

PARTS = ("search", "spmv", "matrices", "variants")


def jobs(parts: list[str], cases: list[str], full: bool) -> list[tuple[str, Callable[[], list[Row]]]]:
    """What is to be done: names, and functions that give rows."""
    found: list[tuple[str, Callable[[], list[Row]]]] = []
    for name in cases if "search" in parts else ():
        for order in ("scattered", "natural"):
            exhaustive = full and order == "scattered"
            found.append((f"{name}, {order}", lambda n=name, o=order, e=exhaustive: gpu_search.case_rows(n, o, full=e)))
    found += [("spmv", gpu_spmv.rows)] if "spmv" in parts else []
    found += [("matrices", gpu_matrices.rows)] if "matrices" in parts else []
    for name in cases if "variants" in parts else ():
        found.append((name, lambda n=name: gpu_variants.case_rows(n)))
    return found


def put(path: Path, new: list[Row]) -> None:
    """Write rows to the file; what it has of other inputs, orders and metrics stays."""
    merged = read_rows(path) | {(row.input, row.order, row.metric): row for row in new}
    write_rows(path, "gpu_model", list(merged.values()), gpu=gpu_search.GPU)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the rows there")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--quick", action="store_true", help="without the exhaustive search")
    options = parser.parse_args()
    for name, make in jobs(options.parts, options.cases, not options.quick):
        try:
            rows = make()
        except UnsupportedError as error:
            rows = [Row(name, "", "no kernel", None, note=error.message)]
        print_rows(rows)
        if options.json is not None:
            put(options.json, rows)


if __name__ == "__main__":
    main()
