"""Gathers of a sparse matrix-vector product before and after reordering: figures of an earlier measurement, made anew.

A matrix is a mesh of 36³ points that is numbered at random, with its diagonal, or an R-MAT graph of scale 14 with 16
edges a vertex. A job is an entry; a block has 1,024 of them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from tracecut.ir import LocalityGraph
from tracecut.ir.gpu.description import gpu
from tracecut.ir.gpu.memory_model import MemoryModel
from tracecut.ir.gpu.sites import Sites
from tracecut.ir.gpu.static_sectors import gather_sectors
from tracecut.partition import order, partition

BLOCK = 1024
CLOSE = {"rel": 0.03}


@cache
def mesh() -> Any:
    cells = np.random.default_rng(0).permutation(36**3).reshape(36, 36, 36)
    pairs = [(cells[1:], cells[:-1]), (cells[:, 1:], cells[:, :-1]), (cells[:, :, 1:], cells[:, :, :-1])]
    u, v = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1))
    every = np.arange(cells.size)
    return _matrix(np.concatenate([u, v, every]), np.concatenate([v, u, every]), cells.size)


@cache
def rmat() -> Any:
    draw = np.random.default_rng(5)
    n, count = 1 << 14, 16 << 14
    u, v = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(14):
        x = draw.random(count)
        u, v = 2 * u + (x >= 0.76), 2 * v + (((x >= 0.57) & (x < 0.76)) | (x >= 0.95))
    names = draw.permutation(n)
    key = np.unique(names[u] * n + names[v])
    return _matrix(key // n, key % n, n)


def _matrix(row: Any, column: Any, n: int) -> Any:
    found = csr_matrix((np.ones(row.size, np.float32), (row, column)), (n, n))
    found.sort_indices()
    return found


def entries(matrix: Any) -> tuple[Any, Any]:
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return row, matrix.indices.astype(np.int64)


def preloads(row: Any, column: Any, place: Any) -> tuple[float, float, float, int]:
    """Per entry: loads of x, updates of y, sectors of x, each once a block; and the sectors that warps request.

    row, column: of the entries in the order of the jobs. place: of each element of x in memory.
    """
    n, size = place.size, row.size
    block = np.arange(size) // BLOCK
    loads = np.unique(block * n + place[column])
    offsets = np.searchsorted(loads, n * np.arange(block[-1] + 2))
    requested = gather_sectors(loads % n, 4, offsets=offsets)
    sectors = np.unique(loads // n * n + loads % n // 8).size
    return loads.size / size, np.unique(block * n + row).size / size, sectors / size, requested


def inverse(order_of: Any) -> Any:
    place = np.empty(order_of.size, np.int64)
    place[order_of] = np.arange(order_of.size)
    return place


@pytest.mark.parametrize(("matrix", "entries_of", "sectors"), [(mesh, 318_816, 0.897), (rmat, 228_379, 0.953)])
def test_a_warp_of_consecutive_entries_gathers_nearly_a_sector_each(
    matrix: Any, entries_of: int, sectors: float
) -> None:
    found = matrix()
    assert found.nnz == entries_of
    assert gather_sectors(found.indices, 4) / found.nnz == pytest.approx(sectors, **CLOSE)


def test_blocks_of_consecutive_entries_of_a_mesh() -> None:
    row, column = entries(mesh())
    loads, updates, _, _ = preloads(row, column, np.arange(mesh().shape[0]))
    assert (loads, updates) == pytest.approx((0.991, 0.147), **CLOSE)


def test_rcm_rows_of_a_mesh() -> None:
    matrix = mesh()
    row, column = entries(matrix)
    edges = LocalityGraph.from_edges(row.astype(np.int32), column.astype(np.int32), matrix.shape[0])
    place = inverse(order(edges, "rcm").data)
    jobs = np.lexsort((place[column], place[row]))
    loads, updates, sectors, requested = preloads(row[jobs], column[jobs], place)
    assert (loads, updates) == pytest.approx((0.481, 0.147), **CLOSE)
    assert sectors == pytest.approx(0.063, rel=0.05)
    assert requested / row.size < 0.897 / 10, "ten times fewer than the warp gather"


def test_degree_sort_and_z_order_of_a_power_law() -> None:
    matrix = rmat()
    n = matrix.shape[0]
    row, column = entries(matrix)
    pairs = np.stack([row, column + n], 1).ravel()
    graph = LocalityGraph(2 * np.arange(row.size + 1), pairs, 2 * n, space_offsets=[0, n, 2 * n])
    found = order(graph, "degree-z")
    loads, updates, sectors, requested = preloads(row[found.jobs], column[found.jobs], inverse(found.data[n:] - n))
    assert (loads, updates) == pytest.approx((0.261, 0.321), **CLOSE)
    assert sectors == pytest.approx(0.048, rel=0.05)
    assert requested / row.size < 0.953 / 15


@pytest.mark.parametrize(
    ("matrix", "copies", "sectors"), [(mesh, 0.225 + 0.215, 0.073), (rmat, 0.302 + 0.230, 0.133)], ids=["mesh", "rmat"]
)
def test_split_and_connect(matrix: Any, copies: float, sectors: float) -> None:
    """As many loads and updates as before, within a tenth, and no more sectors; x is numbered by its first cluster."""
    n = matrix().shape[0]
    row, column = entries(matrix())
    pairs = np.stack([row, column + n], 1).ravel()
    graph = LocalityGraph(2 * np.arange(row.size + 1), pairs, 2 * n, space_offsets=[0, n, 2 * n])
    cluster = partition(graph, -(-row.size // BLOCK), "spac-split").labels.astype(np.int64)
    loads = np.unique(cluster * n + column)
    x, first = np.unique(loads % n, return_index=True)
    place = np.full(n, n)
    place[x[np.argsort(first, kind="stable")]] = np.arange(x.size)
    assert loads.size + np.unique(cluster * n + row).size == pytest.approx(copies * row.size, rel=0.1)
    assert np.unique(loads // n * n + place[loads % n] // 8).size / row.size <= 1.02 * sectors


def test_a_run_of_the_gather_counts_what_the_index_array_says() -> None:
    """Value, column and x of each entry, thread after thread: 4 + 4 sectors of a request, and those of the gather."""
    matrix = rmat()
    sites = Sites.of(
        [("global", "load", 4, "evict-first"), ("global", "load", 4, "evict-first"), ("global", "load", 4)]
    )
    model = MemoryModel(gpu("h200"), sites, BLOCK)
    for begin in range(0, matrix.nnz, BLOCK):
        own = np.arange(begin, min(begin + BLOCK, matrix.nnz))
        x = (1 << 30) + 4 * matrix.indices[own].astype(np.int64)
        model.consume_steps(begin // BLOCK, [0, 1, 2], np.stack([4 * own, (1 << 28) + 4 * own, x]))
    found = model.report()
    streams = -(-matrix.nnz // 8)
    assert found.sectors_by_site.tolist() == [streams, streams, gather_sectors(matrix.indices, 4)]
    touched = np.unique(matrix.indices // 8).size
    assert found.hbm_read == 2 * streams + touched, "x stays in the L2"
    assert found.sectors_per_request_by_site[:2] == pytest.approx(4, rel=1e-3)
