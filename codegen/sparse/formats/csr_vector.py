"""Compressed rows that warps, or half warps, walk along: CSR-vector, and the padded rows of half-warp CSR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import Array, Csr
from tracecut.support.argument_checks import whole_number
from tracecut.support.arrays import Longs

from .slots import add_up, back_to_csr, check_slots, rows_of, share, vector
from .tiles import segments

WARP = 32
SEGMENT = 128  # bytes of a memory transaction of the seed's cards (TileSpMV, appendix A)


@dataclass(frozen=True, eq=False)
class CsrVector:
    """Rows one after the other, each for a team of `lanes` threads that takes `lanes` slots at a time.

    Attributes:
        shape: rows and columns. index: the type of the indices that it was made of.
        lanes: threads of a row: 32 (a warp), or 16 (half a warp).
        starts: int64 (rows + 1), the first slot of each row. lengths: int64 (rows), its entries.
        columns: int32 (slots), -1 for padding. values: (slots), 0 there.
    """

    shape: tuple[int, int]
    index: np.dtype[Any]
    lanes: int
    starts: Longs
    lengths: Longs
    columns: npt.NDArray[np.int32]
    values: Array

    @classmethod
    def of(cls, matrix: Csr, lanes: int = WARP, *, padded: bool = False) -> CsrVector:
        """CSR-vector of Bell and Garland 2009. O(rows + slots).

        Args:
            lanes: threads of a row, at least 1.
            padded: fill each row to whole teams, so that all begin at a segment of the memory.

        Raises ArgumentError for lanes below 1, more than 32 slots an entry, and 2**31 rows or columns.
        """
        whole_number("lanes", lanes, 1, 1 << 10)
        rows, lengths = rows_of(matrix), np.diff(matrix.offsets).astype(np.int64)
        sizes = -(-lengths // lanes) * lanes if padded else lengths
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        check_slots("CSR-vector", int(starts[-1]), matrix.entries)
        place = starts[rows] + segments(lengths)
        columns = np.full(starts[-1], -1, np.int32)
        values = np.zeros(starts[-1], matrix.values.dtype)
        columns[place], values[place] = matrix.columns, matrix.values
        return cls(matrix.shape, matrix.columns.dtype, lanes, starts, lengths, columns, values)

    @classmethod
    def half_warp(cls, matrix: Csr) -> CsrVector:
        """Half-warp CSR of Baskaran and Bordawekar 2008: 16 threads a row, rows padded to that. As `of`."""
        return cls.of(matrix, WARP // 2, padded=True)

    @property
    def entries(self) -> int:
        return int(self.lengths.sum())

    @property
    def bytes(self) -> int:
        """Of slots, and 4 for each start."""
        return self.columns.nbytes + self.values.nbytes + 4 * self.starts.size

    @property
    def padding(self) -> float:
        return share(self.values.size, self.entries)

    @property
    def turns(self) -> float:
        """Turns of threads for each entry, at least 1: a team waits until its last thread is done. O(rows)."""
        return share(int((-(-np.diff(self.starts) // self.lanes)).sum()) * self.lanes, self.entries)

    def transactions(self, segment: int = SEGMENT) -> int:
        """Segments of memory that all teams ask for to read columns and values, if both begin at a segment.

        What a team takes at a time is a request; it is served by the segments in which it lies (TileSpMV, appendix A).
        O(requests). Raises ArgumentError for a segment below 1 byte.
        """
        whole_number("segment", segment, 1, 1 << 20)
        sizes = np.diff(self.starts)
        requests = -(-sizes // self.lanes)
        row = np.repeat(np.arange(sizes.size), requests)
        first = self.starts[:-1][row] + self.lanes * segments(requests)
        last = np.minimum(first + self.lanes, self.starts[1:][row]) - 1
        found = 0
        for size in (4, self.values.itemsize):
            found += int(((last * size + size - 1) // segment - first * size // segment + 1).sum())
        return found

    def _there(self) -> tuple[Longs, Longs]:
        """The row and the slot of each entry."""
        row = np.repeat(np.arange(self.lengths.size, dtype=np.int64), self.lengths)
        return row, self.starts[row] + segments(self.lengths)

    def to_csr(self) -> Csr:
        row, place = self._there()
        columns, values = self.columns[place], self.values[place]
        return back_to_csr(self.shape, self.index, row, columns, values, np.arange(row.size))

    def times(self, x: npt.ArrayLike) -> Array:
        given, y = vector(x, self.values.dtype, self.shape[1]), np.zeros(self.shape[0], self.values.dtype)
        row, place = self._there()
        with np.errstate(invalid="ignore", over="ignore"):
            products = self.values[place] * given[self.columns[place]]
        add_up(y, row, products)
        return y
