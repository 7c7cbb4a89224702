"""Coordinates: the row, the column and the value of each entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import Array, Csr
from tracecut.support.arrays import Ints

from .slots import add_up, back_to_csr, rows_of, share, vector

WARP = 32


@dataclass(frozen=True, eq=False)
class Coo:
    """Entries row by row, in intervals of equal length for warps (TileSpMV §3.1): only the last one is padded.

    Attributes:
        shape: rows and columns. index: the type of the indices that it was made of.
        rows, columns: int32 (entries). values: (entries).
        interval: entries of a warp's interval, a multiple of its 32 threads.
    """

    shape: tuple[int, int]
    index: np.dtype[Any]
    rows: Ints
    columns: Ints
    values: Array
    interval: int = WARP

    @classmethod
    def of(cls, matrix: Csr) -> Coo:
        """O(rows + entries). Raises ArgumentError for 2**31 rows or columns."""
        return cls(
            matrix.shape, matrix.columns.dtype, rows_of(matrix), matrix.columns.astype(np.int32), matrix.values.copy()
        )

    @property
    def slots(self) -> int:
        return -(-self.values.size // self.interval) * self.interval

    @property
    def bytes(self) -> int:
        return self.slots * (8 + self.values.itemsize)

    @property
    def padding(self) -> float:
        return share(self.slots, self.values.size)

    def to_csr(self) -> Csr:
        origin = np.arange(self.values.size)
        return back_to_csr(self.shape, self.index, self.rows, self.columns, self.values, origin)

    def times(self, x: npt.ArrayLike) -> Array:
        y = np.zeros(self.shape[0], self.values.dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            products = self.values * vector(x, self.values.dtype, self.shape[1])[self.columns]
        add_up(y, self.rows, products)
        return y
