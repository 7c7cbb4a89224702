"""Orders of the rows and columns of a matrix that let a product find x in its caches, in linear time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError, known_names

from .csr import Csr
from .native_code import address, addresses, native

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class MatrixOrder:
    """New places of rows and columns.

    Attributes:
        name: how it was made.
        rows: uint32 (rows), row i of the new matrix is row rows[i] of the old one; None: as they are.
        columns: the same for columns. One array for both where the matrix is square.
    """

    name: str
    rows: Words | None = None
    columns: Words | None = None

    @property
    def bytes(self) -> int:
        same = self.rows is self.columns
        return sum(part.nbytes for part in (self.rows, None if same else self.columns) if part is not None)

    @cached_property
    def numbers(self) -> Words | None:
        """uint32 (columns), the new place of each column; None: as they are."""
        return None if self.columns is None else inverse_order(self.columns)


NATURAL = MatrixOrder("natural")


def inverse_order(order: Words) -> Words:
    """The place of each number in a permutation. O(n)."""
    found = np.empty_like(order)
    found[order] = np.arange(order.size, dtype=np.uint32)
    return found


def rcm_order(matrix: Csr) -> MatrixOrder:
    """Rows and columns of a square matrix in reverse Cuthill-McKee order: neighbours stand near each other.

    Its entries are edges from rows to columns; unsymmetric ones are followed in that direction alone. A row of many
    entries joins all with all and comes last. O(rows + entries).

    Raises ArgumentError for a matrix that is not square. Source: Cuthill and McKee 1969.
    """
    rows, cols = matrix.shape
    if rows != cols:
        raise ArgumentError(f"order = 'rcm' takes a square matrix, this one is {rows} × {cols}")
    order, mark = np.empty(rows, np.uint32), np.zeros(rows, np.uint8)
    call = native("level_order", "nnpppp", None, matrix.columns.dtype)
    most = max(16, int(10 * matrix.entries**0.5))
    call(rows, most, *addresses(matrix.offsets, matrix.columns, order, mark))
    return MatrixOrder("rcm", order, order)


def degree_order(matrix: Csr) -> MatrixOrder:
    """Columns by falling number of entries, ties in their order; the rows of a square matrix alike.

    What most rows read then shares cache lines, as in TileSpMV §3.1. O(columns + entries).
    """
    rows, cols = matrix.shape
    counts, places, order = column_counts(matrix), np.zeros(65537, np.uint64), np.empty(cols, np.uint32)
    native("degree_order", "nppp", None, counts.dtype)(cols, *addresses(counts, places, order))
    return MatrixOrder("degree", order if rows == cols else None, order)


def column_counts(matrix: Csr) -> Words:
    """uint32 (columns), entries of each column. O(columns + entries)."""
    counts = np.zeros(matrix.shape[1], np.uint32)
    call = native("column_counts", "npp", None, matrix.columns.dtype)
    call(matrix.entries, *addresses(matrix.columns, counts))
    return counts


def spac_order(matrix: Csr, *, seed: int = 0) -> MatrixOrder:
    """The order of a SPAC partition of the entries into cached blocks (`partition.order`); takes much longer."""
    from tracecut.ir.locality_graph import LocalityGraph
    from tracecut.partition.api import order

    rows, cols = matrix.shape
    u = np.repeat(np.arange(rows, dtype=np.int32), np.diff(matrix.offsets))
    v = matrix.columns.astype(np.int32)
    if rows == cols:
        graph = LocalityGraph.from_edges(u, v, rows)
        both = order(graph, "spac", seed=seed).data.astype(np.uint32)
        return MatrixOrder("spac", both, both)
    offsets = np.arange(0, 2 * u.size + 1, 2)
    pins = np.stack([u, v + np.int32(rows)], axis=1).ravel()
    graph = LocalityGraph(offsets, pins, rows + cols, space_offsets=np.array([0, rows, rows + cols]))
    data = order(graph, "spac", seed=seed).data
    return MatrixOrder("spac", data[:rows].astype(np.uint32), (data[rows:] - rows).astype(np.uint32))


ORDERS: dict[str, Callable[[Csr, int], MatrixOrder]] = {
    "natural": lambda matrix, seed: NATURAL,
    "rcm": lambda matrix, seed: rcm_order(matrix),
    "degree": lambda matrix, seed: degree_order(matrix),
    "spac": lambda matrix, seed: spac_order(matrix, seed=seed),
}


def make_order(matrix: Csr, name: str, seed: int = 0) -> MatrixOrder:
    """An order by its name in `ORDERS`. Raises ArgumentError for an unknown one."""
    if name not in ORDERS:
        raise ArgumentError(f"there is no order {name!r} of matrices", hint=known_names(name, ORDERS))
    return ORDERS[name](matrix, seed)


def structure_key(matrix: Csr) -> int:
    """A number of 64 bits for where the entries are, which another matrix hardly ever has. O(rows + entries)."""
    call = native("structure_key", "nnpp", None, matrix.columns.dtype)
    return call(matrix.shape[0], matrix.entries, address(matrix.offsets), address(matrix.columns))
