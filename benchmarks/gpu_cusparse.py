"""cuSPARSE on the matrices of `spmv_cg`, beside tracecut's kernels, on a card: each algorithm, with its preprocessing.

python benchmarks/gpu_cusparse.py KIT --json benchmarks/results/gpu_cusparse.json     KIT: made by gpu.py --prepare

The matrix is read from the memory of the program. The library is found in the system or among Python's packages. Both
sides are timed by the card's events, with caches that hold nothing of their data. Preprocessing, which cuSPARSE keeps
for a matrix, is not in the times of a product; it is told in the notes, and so is ours.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
import time
from ctypes import byref, c_double, c_int, c_int64, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from gpu import SHARED, Task, card_of_process
from gpu_kit import INPUTS
from gpu_timing import COLD, Card
from rows import Row, print_rows, read_rows, write_rows
from tracecut.codegen.kernels.choose_kernel import KernelSearch, Wanted
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.ir.gpu.description import gpu

NAMES = ("libcusparse.so", "libcusparse.so.12", "libcusparse.so.13", "libcusparse.so.11")
FOLDERS = ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib", "/usr/lib/x86_64-linux-gnu")
# Variant, threads and jobs of a block: those that were fastest on an H200. The first one has the matrix.
OURS = (("original", 256, 1024), ("swap", 256, 1024), ("swap", 1024, 4096))
DOUBLE, INT32 = 1, 2  # cudaDataType, cusparseIndexType_t
ALGORITHMS = {"default": (0, "csr"), "csr 1": (2, "csr"), "csr 2": (3, "csr"), "coo 1": (1, "coo"), "coo 2": (4, "coo")}


@dataclass(frozen=True, eq=False)
class Matrix:
    """CSR, int32 and float64; x as the program had it."""

    starts: np.ndarray[Any, Any]
    columns: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]
    x: np.ndarray[Any, Any]

    @property
    def rows(self) -> int:
        return int(self.starts.size - 1)


def matrix_of(kernel: Kernel) -> Matrix:
    """The matrix in the arrays of the kernel `original`: told by what they hold."""
    arrays = [item.data for item in kernel.arrays if item.object >= 0]
    starts = next(
        found
        for found in (data.view(np.int32) for data in arrays if data.size % 4 == 0)
        if found.size > 2 and found[0] == 0 and np.all(found[1:] >= found[:-1]) and found[-1] > found.size
    )
    entries = int(starts[-1])
    columns = next(data.view(np.int32) for data in arrays if data.size == 4 * entries)
    values = next(data.view(np.float64) for data in arrays if data.size == 8 * entries)
    x = next(data.view(np.float64) for data in arrays if data.size == 8 * (starts.size - 1))
    return Matrix(starts, columns, values, x)


def cusparse() -> ctypes.CDLL | None:
    """The library, None where there is none."""
    packages = [str(path) for root in sys.path for path in Path(root).glob("nvidia/*/lib") if root]
    for folder in ("", *FOLDERS, *packages):
        for name in NAMES:
            try:
                return ctypes.CDLL(f"{folder}/{name}" if folder else name)
            except OSError:
                continue
    return None


class Peer:
    """One matrix in cuSPARSE."""

    def __init__(self, library: ctypes.CDLL, card: Card, matrix: Matrix) -> None:
        self.library, self.card, self.matrix = library, card, matrix
        self.handle = c_void_p()
        self.call("cusparseCreate", byref(self.handle))
        put = card.device.put
        rows = np.repeat(np.arange(matrix.rows, dtype=np.int32), np.diff(matrix.starts))
        self.kept = [put(item) for item in (matrix.starts, matrix.columns, matrix.values, matrix.x, rows)]
        self.y = put(np.zeros(matrix.rows))
        starts, columns, values, x, row = (c_void_p(item.place) for item in self.kept)
        size, entries = c_int64(matrix.rows), c_int64(matrix.columns.size)
        self.descriptions = {"csr": c_void_p(), "coo": c_void_p()}
        types = (c_int(INT32), c_int(INT32), c_int(0), c_int(DOUBLE))
        self.call(
            "cusparseCreateCsr", byref(self.descriptions["csr"]), size, size, entries, starts, columns, values, *types
        )
        self.call(
            "cusparseCreateCoo", byref(self.descriptions["coo"]), size, size, entries, row, columns, values, *types[1:]
        )
        self.vectors = c_void_p(), c_void_p()
        for vector, place in zip(self.vectors, (x, c_void_p(self.y.place)), strict=True):
            self.call("cusparseCreateDnVec", byref(vector), size, place, c_int(DOUBLE))

    def call(self, name: str, *arguments: Any) -> None:
        code = getattr(self.library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: error {code}")

    def time(self, number: int, form: str) -> tuple[float, float, float]:
        """Seconds of a product and of the preprocessing, and the largest relative error."""
        one, none = c_double(1.0), c_double(0.0)
        x, y = self.vectors
        words = (
            self.handle, c_int(0), byref(one), self.descriptions[form], x, byref(none), y, c_int(DOUBLE), c_int(number)
        )  # fmt: skip
        size = c_size_t()
        self.call("cusparseSpMV_bufferSize", *words, byref(size))
        buffer = self.card.device.put(np.zeros(max(1, size.value), np.uint8))
        start = time.perf_counter()
        if hasattr(self.library, "cusparseSpMV_preprocess"):
            self.call("cusparseSpMV_preprocess", *words, c_void_p(buffer.place))
        self.card.backend.call("cuCtxSynchronize")
        before = time.perf_counter() - start
        self.call("cusparseSpMV", *words, c_void_p(buffer.place))
        found = self.card.device.get(self.y).view(np.float64)
        expected = np.add.reduceat(self.matrix.values * self.matrix.x[self.matrix.columns], self.matrix.starts[:-1])
        error = float(np.abs(found - expected).max() / np.abs(expected).max())
        times = []
        for _ in range(COLD):
            self.card.empty_caches()
            times.append(self.card.timed(lambda: self.call("cusparseSpMV", *words, c_void_p(buffer.place))))
        return median(times), before, error


def rows_of(task: Task, library: ctypes.CDLL, card: Card) -> list[Row]:
    """Rows of one input: each algorithm beside the fastest of `OURS`."""
    with tempfile.TemporaryDirectory() as folder:
        search = KernelSearch(task.loop(Path(folder)).source, Wanted(shared=SHARED), gpu(task.gpu))
        made = {f"{variant} {threads}x{jobs}": search.make(variant, threads, jobs) for variant, threads, jobs in OURS}
        ours = {name: card.run(item)[1].cold for name, item in made.items()}
        peer = Peer(library, card, matrix_of(next(iter(made.values()))))
    best = min(ours, key=lambda name: ours[name])
    rows = [Row(task.name, task.order, "nonzeros", peer.matrix.columns.size, note=f"{peer.matrix.rows} rows, fp64")]
    rows.append(Row(task.name, task.order, "us@best of ours", 1e6 * ours[best], note=best))
    for name, (number, form) in ALGORITHMS.items():
        try:
            seconds, before, error = peer.time(number, form)
        except RuntimeError as failed:
            rows.append(Row(task.name, task.order, f"us@cusparse {name}", None, note=str(failed)))
            continue
        note = f"preprocessing {1e6 * before:.0f} us, error {error:.1e}"
        rows.append(Row(task.name, task.order, f"us@cusparse {name}", 1e6 * seconds, best, 1e6 * ours[best], note))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kit", type=Path, help="what gpu.py --prepare made")
    parser.add_argument("--json", type=Path, help="write the rows there")
    parser.add_argument("--gpu", default="h200", help="the card's name among tracecut's descriptions")
    parser.add_argument("--inputs", nargs="*", help="such as 'spmv_cg 5'; default: all")
    parser.add_argument("--orders", nargs="*", default=["scattered", "natural"], choices=["scattered", "natural"])
    options = parser.parse_args()
    library = cusparse()
    if library is None:
        raise SystemExit("cuSPARSE is not installed")
    card = card_of_process()
    version = c_int()
    handle = c_void_p()
    library.cusparseCreate(byref(handle))
    library.cusparseGetVersion(handle, byref(version))
    rows = read_rows(options.json)
    for item in (item for item in INPUTS if item.program == "spmv_cg"):
        if options.inputs and f"{item.program} {item.size}" not in options.inputs:
            continue
        for order in options.orders:
            new = rows_of(Task(options.kit.resolve(), item, order, options.gpu), library, card)
            print_rows(new)
            rows |= {(row.input, row.order, row.metric): row for row in new}
            if options.json is not None:
                meta = {"gpu": options.gpu, "card": card.name, "cuda": card.cuda, "cusparse": version.value}
                write_rows(options.json, "gpu_cusparse", list(rows.values()), **meta)


if __name__ == "__main__":
    main()
