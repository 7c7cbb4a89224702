"""Sectors of x and bytes of the L2 for SPMV in blocks, beside CSR with a warp a row: counted from the block schedules.

One job an entry (SPAC's form), or one job a row. No kernel runs for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gpu_matrices_made import Matrix, mesh, rmat
from rows import Row
from tracecut.codegen.gpu.best_blocks import BlockOrders, gathered_by_blocks
from tracecut.codegen.gpu.cut_blocks import JobPins, cut_jobs, data_of_blocks
from tracecut.codegen.gpu.gpu_schedule import BlockData
from tracecut.codegen.gpu.packed_starts import block_begins
from tracecut.ir.gpu.static_sectors import gather_sectors
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.ordering import Ordering

SHARED = 227 << 10
SECTOR = 32
ID = 4  # bytes of a datum's number in a block's list
BARS = {("mesh", 1024): 12.0, ("rmat18", 1024): 9.5, ("mesh", 16384): 27.0, ("rmat18", 16384): 27.0}


@dataclass(frozen=True)
class Counts:
    """Of one SPMV: sectors of x, bytes of the L2, and bytes of the matrix among them."""

    x_sectors: int
    l2_bytes: int
    matrix_bytes: int


def csr_counts(matrix: Matrix, size: int) -> Counts:
    """CSR, a warp a row: value and column of each entry, x by gathers, y and the starts once a row."""
    sectors = gather_sectors(matrix.columns, size, offsets=matrix.starts)
    stream = (size + 4) * matrix.rows.size + 4 * (matrix.n + 1)
    return Counts(sectors, stream + SECTOR * sectors + size * matrix.n, stream)


def blocks_of(
    graph: LocalityGraph, order: Ordering, jobs: int, size: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], tuple[BlockData, ...]]:
    """Bounds and data of the blocks that kernels of this order have."""
    places = np.empty(graph.n_data, np.int32)
    places[order.data] = np.arange(graph.n_data, dtype=np.int32)
    counts = np.diff(graph.offsets)[order.jobs]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    pins = np.repeat(graph.offsets[order.jobs] - offsets[:-1], counts) + np.arange(offsets[-1])
    starts = np.asarray(graph.space_offsets, np.int64)
    job_pins = JobPins(offsets, places[graph.data[pins]], starts)
    spaces = list(range(starts.size - 1))
    bounds = cut_jobs(job_pins, np.asarray(order.blocks), jobs, SHARED, [size] * len(spaces), [16] * len(spaces))
    return bounds, data_of_blocks(job_pins, bounds, spaces)[0]


def block_counts(matrix: Matrix, order: Ordering, jobs: int, size: int, *, by_rows: bool) -> Counts:
    """The variant `smem`: x copied in, y added up in shared memory, or one store a row."""
    graph = matrix.by_rows() if by_rows else matrix.graph()
    bounds, data = blocks_of(graph, gathered_by_blocks(graph, order, jobs), jobs, size)
    x = data[-1]
    sectors = gather_sectors(x.data.astype(np.int64), size, offsets=x.offsets)
    lists = ID * sum(item.data.size for item in data) + 8 * (len(data) + 1) * bounds.size
    if by_rows:
        counts = np.diff(graph.offsets)[order.jobs]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        packed = block_begins(starts, bounds)
        row_starts = 4 * starts.size if packed is None else 2 * starts.size + packed.nbytes
        stream = (size + 2) * matrix.rows.size + row_starts
        return Counts(sectors, stream + lists + SECTOR * sectors + size * matrix.n, stream)
    stream = (size + 2 * 2) * matrix.rows.size
    return Counts(sectors, stream + lists + SECTOR * (sectors + _written(data[0], size)), stream)


def _written(item: BlockData, size: int) -> int:
    """Sectors of what blocks store, and twice those of what they add to by atomics."""
    inside = np.arange(item.data.size) - np.repeat(item.offsets[:-1], np.diff(item.offsets))
    owned = inside < np.repeat(item.owned, np.diff(item.offsets))
    found = 0
    for mine, times in ((owned, 1), (~owned, 2)):
        index = np.where(mine, item.data, -1).astype(np.int64)
        found += times * gather_sectors(index, size, offsets=item.offsets)
    return found


def rows() -> list[Row]:
    """All rows."""
    found: list[Row] = []
    for matrix in (mesh(), rmat()):
        found += matrix_rows(matrix)
    return found


def matrix_rows(matrix: Matrix) -> list[Row]:
    """Both forms, fp32 and fp64, 1,024 and 16 K entries a block."""
    found: list[Row] = []
    entries = matrix.rows.size
    words = f"{matrix.n} rows, {entries} entries"
    orders, row_orders = BlockOrders(matrix.graph(), "auto"), BlockOrders(matrix.by_rows(), "auto")
    for jobs in (1024, 16384):
        order = orders.best(jobs)
        in_rows = max(16, jobs * matrix.n // entries)
        row_order = row_orders.best(in_rows)
        for size in (4, 8):
            csr = csr_counts(matrix, size)
            name = f"fp{8 * size}"
            made = block_counts(matrix, order, jobs, size, by_rows=False)
            rowwise = block_counts(matrix, row_order, in_rows, size, by_rows=True)
            form = f"{jobs} entries a block"
            bar = BARS[matrix.name, jobs] if size == 4 else None
            found.append(
                Row(matrix.name, name, f"CSR x sectors / smem's, {form}", csr.x_sectors / made.x_sectors,
                    "bar ≥" if bar else "", bar, note=f"{order.method}; {words}")
            )  # fmt: skip
            limit = 0.34 if jobs == 16384 and size == 4 else None
            for kind, counts, method in (("entries", made, order.method), ("rows", rowwise, row_order.method)):
                found.append(
                    Row(matrix.name, name, f"L2 bytes / CSR's, {kind}, {form}", counts.l2_bytes / csr.l2_bytes,
                        "bar ≤" if limit else "", limit,
                        note=f"{method}; {counts.l2_bytes / entries:.2f} B an entry, CSR {csr.l2_bytes / entries:.2f}")
                )  # fmt: skip
            if jobs == 16384:
                found.append(
                    Row(matrix.name, name, "matrix stream, rows, B an entry", rowwise.matrix_bytes / entries,
                        "bar ≤", size + 2.3, note=f"{entries / matrix.n:.1f} entries a row")
                )  # fmt: skip
    return found
