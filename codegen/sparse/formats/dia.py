"""Diagonals: the values along each diagonal that has an entry, and no column numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import Array, Csr
from tracecut.support.arrays import Longs

from .slots import back_to_csr, check_slots, rows_of, share, vector


@dataclass(frozen=True, eq=False)
class Dia:
    """Diagonals by rising offset, one more of the same offset for each further entry of one place.

    Attributes:
        shape: rows and columns. index: the type of the indices that it was made of.
        offsets: int64 (diagonals), column minus row. values: (diagonals, rows), 0 where there is no entry.
        origin: int64 (diagonals, rows), the entry of the compressed rows; -1 where there is none. Products do not
            read it.
    """

    shape: tuple[int, int]
    index: np.dtype[Any]
    offsets: Longs
    values: Array
    origin: Longs

    @classmethod
    def of(cls, matrix: Csr) -> Dia:
        """O(entries log entries + slots).

        Raises ArgumentError for more than 32 slots an entry, and for 2**31 rows or columns.
        """
        rows = rows_of(matrix)
        offset = matrix.columns.astype(np.int64) - rows
        order = np.lexsort((offset, rows))
        same = (np.diff(rows[order]) == 0) & (np.diff(offset[order]) == 0)
        turn = np.zeros(rows.size, np.int64)  # how many entries of the same place come before
        run = np.concatenate([[False], same]) if rows.size else np.zeros(0, bool)
        at = np.arange(rows.size)
        begun = np.maximum.accumulate(np.where(run, 0, at)) if rows.size else at
        turn[order] = at - begun
        found, which = np.unique(np.stack([offset, turn], axis=1), axis=0, return_inverse=True)
        check_slots("DIA", len(found) * matrix.shape[0], matrix.entries)
        values = np.zeros((len(found), matrix.shape[0]), matrix.values.dtype)
        origin = np.full(values.shape, -1, np.int64)
        values[which, rows], origin[which, rows] = matrix.values, at
        return cls(matrix.shape, matrix.columns.dtype, found[:, 0].copy(), values, origin)

    @property
    def bytes(self) -> int:
        return self.offsets.size * 4 + self.values.nbytes

    @property
    def padding(self) -> float:
        return share(self.values.size, int(np.count_nonzero(self.origin >= 0)))

    def to_csr(self) -> Csr:
        which, rows = np.nonzero(self.origin >= 0)
        columns, values = self.offsets[which] + rows, self.values[which, rows]
        return back_to_csr(self.shape, self.index, rows, columns, values, self.origin[which, rows])

    def times(self, x: npt.ArrayLike) -> Array:
        """As a kernel has it: what is padded is multiplied as 0, so an infinite x gives NaN there, too."""
        given, y = vector(x, self.values.dtype, self.shape[1]), np.zeros(self.shape[0], self.values.dtype)
        for offset, values in zip(self.offsets.tolist(), self.values, strict=True):
            first, last = max(0, -offset), min(self.shape[0], self.shape[1] - offset)
            with np.errstate(invalid="ignore", over="ignore"):
                y[first:last] += values[first:last] * given[first + offset : last + offset]
        return y
