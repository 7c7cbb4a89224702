"""Sparse products: `tracecut.spmv` beside SciPy, MKL and GraphBLAS, in four orders of each matrix.

    python benchmarks/spmv.py --json FILE [--repeat 9] [--only NAME …] [--threads 1 2]

Metrics are `auto DTYPE Nt: WHAT` with vectors kept in the operator's own order, `… +permute: WHAT` with vectors
moved in each call; `us` has the fastest peer of the same matrix in the same order beside it, and each peer has a row of
its own. `auto` reckons with moving vectors. Where a matrix is numbered at random, `rcm DTYPE Nt: us` and `degree …` are
products in those orders with vectors kept there. One thread: medians of CPU time; more: of wall-clock time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from graphs import DATA, million
from measuring import cpu_seconds, wall
from rows import Row, print_rows, read_rows, write_rows
from spmv_peers import Peer, peers, with_small_indices
from tracecut.codegen.sparse.costs import known_costs
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.orders import degree_order, rcm_order
from tracecut.partition.inputs.matrix_files import read_matrix

import tracecut

LEAST = 100_000  # nonzeros of a real matrix
ORDERS = ("natural", "random", "rcm", "degree")
DTYPES = ("float64", "float32")


def mesh() -> sp.csr_array:
    """A million points, triangulated, in the order of a space-filling curve."""
    from tracecut.partition.geometric.space_filling_curves import curve_order

    graph = million()
    order = curve_order(graph.coords)
    place = np.empty(graph.n, np.int64)
    place[order] = np.arange(graph.n)
    return _symmetric(place[graph.u], place[graph.v], graph.n)


def power_law(scale: int) -> sp.csr_array:
    """R-MAT with 16 edges a vertex (0.57, 0.19, 0.19), both ways, numbered at random."""
    draw = np.random.default_rng(5)
    n, edges = 1 << scale, 16 << scale
    u, v = np.zeros(edges, np.int64), np.zeros(edges, np.int64)
    for _ in range(scale):
        x = draw.random(edges)
        u, v = 2 * u + (x >= 0.76), 2 * v + (((x >= 0.57) & (x < 0.76)) | (x >= 0.95))
    names = draw.permutation(n)
    return _symmetric(names[u], names[v], n)


def stencil(side: int = 80) -> sp.csr_array:
    """27 points in three dimensions."""
    line = sp.diags_array([np.ones(side - 1), np.ones(side), np.ones(side - 1)], offsets=[-1, 0, 1])
    return sp.csr_array(sp.kron(sp.kron(line, line), line))


def _symmetric(u: Any, v: Any, n: int) -> sp.csr_array:
    half = sp.csr_array((np.ones(u.size), (u, v)), shape=(n, n))
    whole = sp.csr_array(half + half.T + sp.eye_array(n))
    whole.sum_duplicates()
    return whole


GENERATED: dict[str, Callable[[], sp.csr_array]] = {
    "delaunay1m": mesh,
    "rmat18": lambda: power_law(18),
    "rmat19": lambda: power_law(19),
    "stencil27-80": stencil,
}


def real_names() -> list[str]:
    return sorted(path.name.removesuffix(".mtx.gz") for path in DATA.glob("*.mtx.gz"))


def load(name: str) -> sp.csr_array | None:
    """A generated matrix, or one of the data folder with enough nonzeros; values drawn by a fixed seed."""
    matrix = GENERATED[name]() if name in GENERATED else read_matrix(DATA / f"{name}.mtx.gz")
    if matrix.nnz < LEAST:
        return None
    matrix = with_small_indices(matrix)
    matrix.data = np.random.default_rng(0).random(matrix.nnz)
    return matrix


def in_order(matrix: sp.csr_array, order: str) -> sp.csr_array | None:
    """The matrix with its rows and columns in an order; None where it has none of that name."""
    rows, cols = matrix.shape
    if order == "natural":
        return matrix
    if order == "random":
        draw = np.random.default_rng(1)
        first = draw.permutation(rows)
        other = first if rows == cols else draw.permutation(cols)
    elif order == "rcm":
        if rows != cols:
            return None
        first = other = rcm_order(Csr.of(matrix)).rows
    else:
        found = degree_order(Csr.of(matrix))
        first, other = np.arange(rows) if found.rows is None else found.rows, found.columns
    moved = with_small_indices(matrix[first][:, other])
    moved.sort_indices()
    return moved


def measure(name: str, order: str, matrix: sp.csr_array, threads: int, repeat: int, found: list[Peer]) -> list[Row]:
    """Rows of one matrix, with its type of values, in one order on some threads."""
    dtype = matrix.dtype.name
    x, y = np.random.default_rng(2).random(matrix.shape[1]).astype(dtype), np.empty(matrix.shape[0], dtype)
    start = cpu_seconds()
    operator = tracecut.spmv(matrix, threads=threads)
    inspect = cpu_seconds() - start
    making, others = {}, {}
    for peer in (one for one in found if threads <= one.most_threads):
        start = cpu_seconds()
        others[peer.name] = partial(peer.make(matrix, threads), x, y)
        making[peer.name] = cpu_seconds() - start
    calls: dict[str, Callable[[], Any]] = {
        "permute": partial(operator.times, x, out=y),
        **others,
        "stream": matrix.data.max,  # by one thread, unlike a BLAS whose idle threads would be charged to the next call
        "kept": partial(operator.permuted.times, operator.to_permuted(x), out=y),
    }
    square = matrix.shape[0] == matrix.shape[1]
    asked = [kind for kind in ("rcm", "degree") if order == "random" and square]
    for kind in asked:
        other = tracecut.spmv(matrix, order=kind, threads=threads)
        calls[kind] = partial(other.permuted.times, other.to_permuted(x), out=y)
    _check(operator, matrix, x)
    clock = cpu_seconds if threads == 1 else wall
    times = in_turn(calls, repeat, clock)
    best = min(others, key=times.__getitem__)
    plan = operator.plan
    note = f"{plan.format}, {plan.order} order; {'CPU' if threads == 1 else 'wall-clock'} time"
    prefix = f"auto {dtype} {threads}t"
    volume = plan.bytes + sum(matrix.shape) * matrix.data.itemsize
    rows = [
        (f"{prefix} +permute: us", 1e6 * times["permute"], best, 1e6 * times[best]),
        (f"{prefix}: us", 1e6 * times["kept"], best, 1e6 * times[best]),
        (f"{prefix}: gflops", 2e-9 * matrix.nnz / times["kept"], "", None),
        (f"{prefix}: gbs", 1e-9 * volume / times["kept"], "read", 1e-9 * matrix.data.nbytes / times["stream"]),
        (f"{prefix}: bytes_per_nnz", volume / matrix.nnz, "", None),
        (f"{prefix} inspect: ns_per_nnz", 1e9 * inspect / matrix.nnz, *_inspector(making, matrix.nnz)),
        *((f"{kind} {dtype} {threads}t: us", 1e6 * times[kind], best, 1e6 * times[best]) for kind in asked),
        *((f"{peer} {dtype} {threads}t: us", 1e6 * times[peer], "", None) for peer in others),
    ]
    return [Row(name, order, *row, note) for row in rows]


def in_turn(calls: dict[str, Callable[[], Any]], repeat: int, clock: Callable[[], float]) -> dict[str, float]:
    """Medians of the seconds of each call, one after the other, round after round.

    Each is called twice and timed the second time, with its arrays where they are in a loop of products; in the first
    call they would be where those of its neighbour have left room for them.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeat):
        for name, call in calls.items():
            call()
            start = clock()
            call()
            seconds[name].append(clock() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def _inspector(making: dict[str, float], nnz: int) -> tuple[str, float | None]:
    mkl = next((peer for peer in making if peer.startswith("MKL")), "")
    return mkl, 1e9 * making[mkl] / nnz if mkl else None


def _check(operator: Any, matrix: sp.csr_array, x: Any) -> None:
    """Speed of wrong results is worth nothing."""
    tolerance = 1e-3 if matrix.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(operator @ x, matrix @ x, rtol=tolerance, atol=tolerance)


def main() -> None:
    parser = argparse.ArgumentParser(description="Products of sparse matrices with vectors, beside those of others.")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="for the rows; others in it stay")
    parser.add_argument("--repeat", type=int, default=9, help="timed rounds")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="matrices (default: all)")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], metavar="N")
    options = parser.parse_args()
    found, rows = peers(), read_rows(options.json)
    inputs = json.loads(options.json.read_text())["inputs"] if rows else {}
    for name in options.only or [*GENERATED, *real_names()]:
        matrix = load(name)
        if matrix is None:
            continue
        digest = hashlib.sha256(matrix.indptr.tobytes() + matrix.indices.tobytes()).hexdigest()
        inputs[name] = {"rows": matrix.shape[0], "cols": matrix.shape[1], "nnz": matrix.nnz, "structure": digest}
        for order in ORDERS:
            moved = in_order(matrix, order)
            if moved is None:
                continue
            for dtype, threads in product(DTYPES, options.threads):
                new = measure(name, order, moved.astype(dtype), threads, options.repeat, found)
                print_rows([row for row in new if row.peer])
                rows |= {(row.input, row.order, row.metric): row for row in new}
        meta = {"peers": [peer.name for peer in found], "inputs": inputs, "costs": known_costs().source}
        write_rows(options.json, "spmv", list(rows.values()), **meta, when=time.strftime("%F"))


if __name__ == "__main__":
    main()
