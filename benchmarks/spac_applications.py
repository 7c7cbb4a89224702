"""The six applications of SPAC (Table 3) by the memory model: block sizes, variants and cards. No card is needed.

`python benchmarks/spac_applications.py --json benchmarks/results/spac_applications.json` takes about half an hour. The
programs are `samples/spac`; inputs are made, so times are not those of SPAC. What can be compared is what its sentences
and tables say of block sizes, cards and variants: `spac_claims.py` counts agreements. A row is one loop on one card in
one variant and block size, beside `original` with as many threads. SPAC is the best of `smem` (its software cache),
`readonly` and `swap` (its texture cache: what is only read takes the read-only path), a block of jobs for a block of
threads; for `gaussian`, whose sharing is known, `tiles`: squares of jobs. `fixed` is the program's simple remedy,
without a partition.

Kernels are made for compute capability 9.0, and have the registers that ptxas gives them there, on all cards.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import spac_claims
from gpu_programs import SAMPLES, Case, Loop, loop_of
from rows import Row, print_rows, read_rows, write_rows
from tracecut.codegen.kernels.choose_kernel import KernelSearch, Wanted
from tracecut.codegen.kernels.gpu_model import gpu_model
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.make_region_kernel import make_region_kernel
from tracecut.ir.gpu.description import Gpu, gpu
from tracecut.ir.ordering import Ordering
from tracecut.support.errors import TracecutError, UnsupportedError

CARDS = ("titan-x", "gtx680", "h200")
THREADS = (16, 32, 64, 128, 256, 384, 512, 1024)
VARIANTS = ("original", "swap", "smem", "readonly")
TILES, FIXED = "tiles", "fixed"


@dataclass(frozen=True)
class Application:
    """A loop: its program, its function, and the arguments. `fixed`: the program of its remedy, if there is one."""

    program: str
    function: str
    argv: tuple[str, ...]
    fixed: str = ""


APPLICATIONS = {
    "cfd edges": Application("cfd_edges", "compute_flux", ("400", "3"), "cfd_edges"),
    "cfd elements": Application("cfd_elements", "compute_flux", ("400", "3"), "cfd_elements"),
    "b+tree points": Application("btree", "find_points", ("100000", "3"), "btree"),
    "b+tree ranges": Application("btree", "find_ranges", ("100000", "3"), "btree"),
    "gaussian": Application("gaussian", "eliminate", ("512", "1"), "gaussian"),
    "particlefilter": Application("particlefilter", "resample", ("4096", "3"), "particlefilter"),
    "spmv nonzeros": Application("spmv_nonzeros", "multiply", ("65536", "3"), "spmv_nonzeros"),
    "spmv rows": Application("spmv_rows", "multiply", ("65536", "3"), "spmv_nonzeros"),
    "cg": Application("cg", "multiply", ("400", "3"), "cg"),
}


def loop_in(program: str, function: str, argv: tuple[str, ...], options: tuple[str, ...] = ()) -> Loop:
    """A loop of a program of the folder, captured in this process. Raises UnsupportedError."""
    case = Case(SAMPLES / "spac" / f"{program}.c", (), (), options, function)
    with tempfile.TemporaryDirectory() as folder:
        return loop_of(case, argv, Path(folder))


def in_tiles(jobs: int, threads: int) -> Ordering:
    """Jobs of `gaussian`, which go down its columns, tile by tile: as square as a block of threads can be."""
    rows = math.isqrt(jobs)  # a column more than rows
    wide = 1 << (int(math.log2(threads)) // 2)
    high = threads // wide
    job = np.arange(jobs)
    row, column = job % rows, job // rows
    order = np.lexsort((row, column, row // high, column // wide))
    return Ordering(order.astype(np.int32), np.arange(0, dtype=np.int32), TILES)


def kernels(name: str, loop: Loop, threads: int, search: KernelSearch) -> Iterator[tuple[str, Kernel | str]]:
    """The variants of a loop in blocks of so many threads, or why there is none."""
    for variant in VARIANTS:
        try:
            yield variant, search.make(variant, threads, threads)
        except UnsupportedError as error:
            yield variant, error.message
    if name == "gaussian":
        order = in_tiles(loop.source.graph.graph.n_jobs, threads)
        yield TILES, make_region_kernel(loop.source, order, "swap-indirect", threads=threads)


def modelled(kernel: Kernel, card: Gpu, registers: dict[str, int | None], variant: str) -> tuple[float, int, int]:
    """Predicted seconds, sectors that the L2 is asked for, and resident blocks."""
    if variant not in registers:
        try:
            registers[variant] = kernel.resources.registers
        except TracecutError:
            registers[variant] = None
    most = registers[variant]
    report = gpu_model(kernel, card, registers=None if most is None else min(most, card.max_registers))
    return report.time, report.l2_bytes // 32, report.occupancy.blocks


def rows_of(name: str, loop: Loop, only: str = "") -> list[Row]:
    """Rows of a loop on all cards. `only`: the name of the variant that the program's own order is told as."""
    search = KernelSearch(loop.source, Wanted(), gpu(CARDS[-1]))
    registers: dict[str, int | None] = {}
    found = []
    for threads in THREADS:
        for variant, kernel in kernels(name, loop, threads, search):
            told = only or variant
            if only and variant != "original":
                continue
            for card in CARDS:
                metric = f"{told}@{threads}"
                if isinstance(kernel, str):
                    if threads == THREADS[0]:
                        found.append(Row(name, card, told, None, note=kernel))
                    continue
                try:
                    seconds, sectors, blocks = modelled(kernel, gpu(card), registers, variant)
                except TracecutError as error:
                    found.append(Row(name, card, f"us, {metric}", None, note=error.message))
                    continue
                words = f"{blocks} blocks a multiprocessor, {registers[variant]} registers"
                found.append(Row(name, card, f"us, {metric}", 1e6 * seconds, note=words))
                found.append(Row(name, card, f"L2 sectors, {metric}", sectors))
    return found


def with_peers(rows: list[Row]) -> list[Row]:
    """Rows of the variants beside `original` in blocks of the same size."""
    known = {(row.input, row.order, row.metric): row.value for row in rows}
    found = []
    for row in rows:
        kind, _, rest = row.metric.partition(", ")
        peer = known.get((row.input, row.order, f"{kind}, original@{rest.rpartition('@')[2]}"))
        if peer is None or rest.startswith("original@"):
            found.append(row)
        else:
            found.append(Row(row.input, row.order, row.metric, row.value, "original", peer, row.note))
    return found


def application_rows(name: str) -> list[Row]:
    """All rows of one application, its remedy among them."""
    app = APPLICATIONS[name]
    try:
        rows = rows_of(name, loop_in(app.program, app.function, app.argv))
    except UnsupportedError as error:
        return [Row(name, "", "no kernel", None, note=error.message)]
    if app.fixed:
        function = app.function if app.fixed == app.program else "multiply"
        rows += rows_of(name, loop_in(app.fixed, function, app.argv, ("-DFIXED",)), FIXED)
    return with_peers(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the rows there, beside those of other applications")
    parser.add_argument("--applications", nargs="*", default=list(APPLICATIONS), choices=list(APPLICATIONS))
    options = parser.parse_args()
    known = read_rows(options.json)
    for name in options.applications:
        rows = application_rows(name)
        known = {key: row for key, row in known.items() if key[0] not in (name, *spac_claims.INPUTS)}
        known |= {(row.input, row.order, row.metric): row for row in rows}
        print_rows([row for row in rows if row.metric.startswith("us")])
        if options.json is not None:
            write_rows(options.json, "spac_applications", list(known.values()), cards=list(CARDS))
    claims = spac_claims.rows([row for row in known.values() if row.input not in spac_claims.INPUTS])
    print_rows(claims)
    if options.json is not None:
        rows = [row for row in known.values() if row.input not in spac_claims.INPUTS]
        write_rows(options.json, "spac_applications", [*rows, *claims], cards=list(CARDS))


if __name__ == "__main__":
    main()
