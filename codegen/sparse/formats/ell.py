"""ELLPACK: all rows of one length, column by column; and HYB, which keeps long rows' ends as coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import Array, Csr
from tracecut.support.arrays import Ints
from tracecut.support.errors import ArgumentError

from .coo import Coo
from .slots import add_up, back_to_csr, check_slots, rows_of, share, vector

PAD = -1
LEAST_ROWS = 4096  # rows that must reach a length for ELL to be faster there than coordinates
ELL_OVER_COO = 3  # how much faster it is, where all rows are full


@dataclass(frozen=True, eq=False)
class Ell:
    """Entry k of row i at [k, i]; what a row does not have is padding.

    Attributes:
        shape: rows and columns. index: the type of the indices that it was made of.
        columns: int32 (width, rows), -1 where there is no entry. values: (width, rows), 0 there.
    """

    shape: tuple[int, int]
    index: np.dtype[Any]
    columns: npt.NDArray[np.int32]
    values: Array

    @classmethod
    def of(cls, matrix: Csr, width: int | None = None) -> Ell:
        """The first `width` entries of each row; None: all of them. O(slots).

        Raises ArgumentError for more than 32 slots an entry, and for 2**31 rows or columns.
        """
        rows, lengths = rows_of(matrix), np.diff(matrix.offsets)
        width = int(lengths.max(initial=0)) if width is None else width
        check_slots("ELL", width * matrix.shape[0], matrix.entries)
        columns = np.full((width, matrix.shape[0]), PAD, np.int32)
        values = np.zeros((width, matrix.shape[0]), matrix.values.dtype)
        step = np.arange(matrix.entries) - matrix.offsets[rows]
        kept = step < width
        columns[step[kept], rows[kept]] = matrix.columns[kept]
        values[step[kept], rows[kept]] = matrix.values[kept]
        return cls(matrix.shape, matrix.columns.dtype, columns, values)

    @property
    def entries(self) -> int:
        return int(np.count_nonzero(self.columns != PAD))

    @property
    def bytes(self) -> int:
        return self.columns.nbytes + self.values.nbytes

    @property
    def padding(self) -> float:
        return share(self.values.size, self.entries)

    def entries_by_row(self) -> tuple[Ints, Ints, Array]:
        """Rows, columns and values, row by row."""
        columns, values = self.columns.T, self.values.T
        rows, step = np.nonzero(columns != PAD)
        return rows.astype(np.int32), columns[rows, step], values[rows, step]

    def to_csr(self) -> Csr:
        rows, columns, values = self.entries_by_row()
        return back_to_csr(self.shape, self.index, rows, columns, values, np.arange(rows.size))

    def times(self, x: npt.ArrayLike) -> Array:
        given, y = vector(x, self.values.dtype, self.shape[1]), np.zeros(self.shape[0], self.values.dtype)
        for columns, values in zip(self.columns, self.values, strict=True):
            there = columns != PAD
            with np.errstate(invalid="ignore", over="ignore"):
                y[there] += values[there] * given[columns[there]]
        return y


@dataclass(frozen=True, eq=False)
class Hyb:
    """The first entries of each row as ELL, the others as coordinates."""

    ell: Ell
    coo: Coo

    @classmethod
    def of(cls, matrix: Csr, width: int | None = None) -> Hyb:
        """O(rows + slots).

        Args:
            width: entries of a row in ELL. None: `hyb_width`.
        """
        width = hyb_width(np.diff(matrix.offsets)) if width is None else width
        if width < 0:
            raise ArgumentError(f"width is {width}, a whole number of at least 0 was expected")
        ell = Ell.of(matrix, width)
        rows = rows_of(matrix)
        rest = np.arange(matrix.entries) - matrix.offsets[rows] >= width
        coo = Coo(
            *(matrix.shape, matrix.columns.dtype, rows[rest]),
            *(matrix.columns[rest].astype(np.int32), matrix.values[rest]),
        )
        return cls(ell, coo)

    @property
    def bytes(self) -> int:
        return self.ell.bytes + self.coo.bytes

    @property
    def padding(self) -> float:
        return share(self.ell.values.size + self.coo.slots, self.ell.entries + self.coo.values.size)

    def to_csr(self) -> Csr:
        rows, columns, values = self.ell.entries_by_row()
        first = np.bincount(rows, minlength=self.ell.shape[0])
        sizes = first + np.bincount(self.coo.rows, minlength=self.ell.shape[0])
        begins = np.cumsum(sizes) - sizes
        step = np.arange(rows.size) - (np.cumsum(first) - first)[rows]
        more = np.arange(self.coo.rows.size) - (np.cumsum(sizes - first) - (sizes - first))[self.coo.rows]
        origin = np.concatenate([begins[rows] + step, (begins + first)[self.coo.rows] + more])
        return back_to_csr(
            *(self.ell.shape, self.ell.index, np.concatenate([rows, self.coo.rows])),
            *(np.concatenate([columns, self.coo.columns]), np.concatenate([values, self.coo.values]), origin),
        )

    def times(self, x: npt.ArrayLike) -> Array:
        y = self.ell.times(x)
        given = vector(x, y.dtype, self.ell.shape[1])
        with np.errstate(invalid="ignore", over="ignore"):
            products = self.coo.values * given[self.coo.columns]
        add_up(y, self.coo.rows, products)
        return y


def hyb_width(lengths: npt.NDArray[np.integer[Any]]) -> int:
    """The most entries of a row that enough rows have: a third of them, and 4096 (Bell and Garland 2009). O(rows)."""
    enough = max(LEAST_ROWS, lengths.size // ELL_OVER_COO)
    if lengths.size < enough:
        return 0
    at_least = np.cumsum(np.bincount(lengths)[::-1])[::-1]  # rows of this length or more
    return int(np.flatnonzero(at_least >= enough).max(initial=0))
