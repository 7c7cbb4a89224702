"""Slices of rows of about equal length, side by side: the form for short rows on CPUs.

A loop over short rows spends its time on mispredicted ends of rows; a slice runs 8 or 16 rows together to one end
(Kreutzer et al. 2014, SELL-C-σ). Columns count from the first one of the slice and take 16 bits where they fit. Rows of
LONG entries and more stay compressed rows: what they would be padded with is not bounded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Longs
from tracecut.support.errors import ArgumentError

from .csr import Array, Csr, permuted_rows
from .native_code import address, addresses, aligned, native
from .row_threads import row_blocks, run_blocks

Words = npt.NDArray[np.uint32]
WINDOW = 64  # rows among which those of equal length find together; x is read in their order
LONG = 64  # entries of a row that is not put into a slice
_U32 = np.dtype(np.uint32)


class _Struct(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name in ("starts", "column_starts", "columns", "bases", "rows", "lengths")),
    )


@dataclass(frozen=True, eq=False)
class Sliced:
    """A matrix in slices of `lanes` rows, 16 of float32 values and 8 of others.

    Attributes:
        shape: rows and columns.
        count: rows in slices.
        rows: uint32 (rows), which row of the matrix each lane is; then the long rows.
        lengths: uint8 (slices · lanes), entries of the lanes.
        starts: int64 (slices + 1), where the slots of each slice begin; column_starts: in `columns`.
        bases: uint32 (slices), the first column of each slice.
        columns: uint16 (any), columns from there; where a slice has two words a slot, they are uint32.
        values: (slots), entry k of lane l of a slice at k · lanes + l; 0 where the lane has no such entry.
        far: the long rows as compressed rows.
    """

    shape: tuple[int, int]
    count: int
    rows: Words
    lengths: npt.NDArray[np.uint8]
    starts: Longs
    column_starts: Longs
    bases: Words
    columns: npt.NDArray[np.uint16]
    values: Array
    far: Csr

    @property
    def lanes(self) -> int:
        return lanes_of(self.values.dtype)

    @property
    def entries(self) -> int:
        return int(self.lengths.sum(dtype=np.int64)) + self.far.entries

    @property
    def padding(self) -> float:
        """Slots for each entry, at least 1."""
        return (self.values.size + self.far.entries) / max(1, self.entries)

    @property
    def bytes(self) -> int:
        """Bytes that a product reads, x and y apart."""
        own = (self.rows, self.starts, self.column_starts, self.bases, self.columns, self.values, self.lengths)
        return sum(array.nbytes for array in own) + self.far.bytes

    def __repr__(self) -> str:
        return f"<Sliced {self.shape[0]} × {self.shape[1]}, {self.entries} entries, {self.padding:.3f} slots each>"

    @classmethod
    def of(
        cls,
        matrix: Csr,
        order: Words | None = None,
        numbers: Words | None = None,
        *,
        shape: SlicedShape | None = None,
    ) -> Sliced:
        """The slices of a matrix, perhaps in an order.

        Args:
            matrix: fewer than 2**31 rows and columns.
            order: uint32 (rows), row i of the slices is row order[i] of the matrix.
            numbers: uint32 (columns), column j of the matrix is column numbers[j] of the slices.
            shape: `sliced_shape` of the matrix in that order, if it is known.

        Raises ArgumentError for a larger matrix. O(rows + entries).
        """
        if max(matrix.shape) >= 2**31:
            raise ArgumentError(f"slices hold fewer than 2**31 rows and columns, the matrix has {matrix.shape}")
        shape = sliced_shape(matrix, order) if shape is None else shape
        lanes, count, rows, lengths = lanes_of(matrix.values.dtype), shape.count, shape.rows, shape.lengths
        flat = np.empty(int(lengths.sum(dtype=np.int64)), np.uint32)
        known = addresses(matrix.offsets, matrix.columns, order, numbers, rows, lengths, flat)
        native("sliced_flat", "nppppppp", None, matrix.columns.dtype)(count, *known)
        slices = lengths.size // lanes
        starts, column_starts = np.empty(slices + 1, np.int64), np.empty(slices + 1, np.int64)
        bases = np.empty(slices, np.uint32)
        known = addresses(flat, lengths, starts, column_starts, bases)
        native("sliced_starts", "nnppppp", None, _U32)(count, lanes, *known)
        columns = aligned(int(column_starts[-1]), np.dtype(np.uint16))
        native("sliced_columns", "nnpppppp", None, _U32)(count, lanes, *known, address(columns))
        del flat
        values = _filled(matrix, order, count, rows, lengths, starts)
        far = permuted_rows(matrix, _old(order, rows[count:]), numbers)
        return cls(matrix.shape, count, rows, lengths, starts, column_starts, bases, columns, values, far)

    def with_values(self, matrix: Csr, order: Words | None = None, numbers: Words | None = None) -> Sliced:
        """The same slices with the values of a matrix of the same structure, made with the same order. O(entries)."""
        values = _filled(matrix, order, self.count, self.rows, self.lengths, self.starts)
        far = permuted_rows(matrix, _old(order, self.rows[self.count :]), numbers)
        return Sliced(
            *(self.shape, self.count, self.rows, self.lengths, self.starts, self.column_starts),
            *(self.bases, self.columns, values, far),
        )

    def to_csr(self) -> Csr:
        """The compressed rows, entry by entry as they were. O(slots)."""
        lanes, rows = self.lanes, self.shape[0]
        sizes = np.zeros(rows, np.int64)
        sizes[self.rows[: self.count]] = self.lengths[: self.count]
        sizes[self.rows[self.count :]] = np.diff(self.far.offsets)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        lane = np.repeat(np.arange(self.count), self.lengths[: self.count])
        begun = np.cumsum(self.lengths[: self.count], dtype=np.int64) - self.lengths[: self.count]
        step = np.arange(lane.size) - begun[lane]
        piece, place = lane // lanes, step * lanes + lane % lanes
        narrow = np.diff(self.column_starts) == np.diff(self.starts)
        column = np.empty(lane.size, np.int64)
        own, at = narrow[piece], self.column_starts[:-1][piece]
        column[own] = self.columns[(at + place)[own]]
        low = (at + 2 * place)[~own]
        column[~own] = self.columns[low].astype(np.int64) | self.columns[low + 1].astype(np.int64) << 16
        columns, values = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], self.values.dtype)
        to = offsets[self.rows[lane]] + step
        columns[to], values[to] = column + self.bases[piece], self.values[self.starts[piece] + place]
        far = np.repeat(np.arange(self.count, rows), np.diff(self.far.offsets))
        to = offsets[self.rows[far]] + np.arange(far.size) - self.far.offsets[far - self.count]
        columns[to], values[to] = self.far.columns, self.far.values
        index = self.far.columns.dtype
        return Csr(offsets.astype(index), columns.astype(index), values, self.shape)

    @cached_property
    def _struct(self) -> _Struct:
        arrays = (self.starts, self.column_starts, self.columns, self.bases, self.rows, self.lengths)
        return _Struct(self.count, *addresses(*arrays))

    @cached_property
    def _single(self) -> tuple[Callable[..., int], int, int]:
        """The product of the slices with one vector, and the addresses that it begins with."""
        call = native("sliced_times", "nnppppp", self.values.dtype, _U32)
        return call, ctypes.addressof(self._struct), address(self.values)

    @cached_property
    def _far_places(self) -> list[int | None]:
        return addresses(self._far_which, self.far.offsets, self.far.columns, self.far.values)

    @cached_property
    def _far_which(self) -> Words:
        return np.ascontiguousarray(self.rows[self.count :])

    def times(self, x: Array, y: Array, scale: Array, count: int, threads: int) -> None:
        """y = α A x + β y, on arrays as in `csr_kernels.Product`; `count` right-hand sides."""
        index, value, far = self.far.columns.dtype, self.values.dtype, self.far
        vectors = addresses(x, y, scale)
        call, *places = self._single
        known = (*places, *vectors)
        if count == 1:
            run_blocks(lambda first, last: call(first, last, *known), row_blocks(self.starts, threads))
            if self.count == self.shape[0]:
                return
            row = native("row_vector_times", "nnppppppp", value, index)
        else:
            many = native("sliced_times_many", "nnpppppnn", value, _U32)
            run_blocks(lambda first, last: many(first, last, *known, count, 0), row_blocks(self.starts, threads))
            several = native("csr_times_rows", "nnpppppppn", value, index)

            def row(first: int, last: int, *given: int | None) -> int:
                return several(first, last, *given, count)

        parts = (*self._far_places, *vectors)
        run_blocks(lambda first, last: row(first, last, *parts), row_blocks(far.offsets, threads))

    def transposed_times(self, x: Array, y: Array, scale: Array, count: int) -> None:
        """y = α Aᵀ x + β y; on one thread."""
        far, value = self.far, self.values.dtype
        if scale[1] != 0:
            y *= scale[1]
        else:
            y[...] = 0
        known = (ctypes.addressof(self._struct), address(self.values), address(x), address(y), address(scale))
        native("sliced_times_many", "nnpppppnn", value, _U32)(0, self.starts.size - 1, *known, count, 1)
        side = np.ascontiguousarray(x[self._far_which])
        one = np.array([scale[0], 1], scale.dtype)
        call = native("csr_transposed_times", "nnppppppn", value, far.columns.dtype)
        parts = addresses(far.offsets, far.columns, far.values, side, y, one)
        call(*far.shape, *parts, count)


@dataclass(frozen=True, eq=False)
class SlicedShape:
    """How rows would be put into slices: `Sliced.count`, `rows` and `lengths`."""

    count: int
    rows: Words
    lengths: npt.NDArray[np.uint8]

    def slots(self, lanes: int) -> int:
        """Slots of all slices."""
        return int(self.lengths.reshape(-1, lanes).max(axis=1, initial=0).sum(dtype=np.int64)) * lanes


def sliced_shape(matrix: Csr, order: Words | None = None, *, window: int = WINDOW) -> SlicedShape:
    """What `Sliced.of` begins with: enough to know the bytes. `window`: rows that are sorted together. O(rows)."""
    total, lanes = matrix.shape[0], lanes_of(matrix.values.dtype)
    rows, lengths = np.empty(total, np.uint32), np.zeros(-(-total // lanes) * lanes, np.uint8)
    call = native("sliced_rows", "nnnpppp", None, matrix.columns.dtype)
    given = None if order is None else address(order)
    count = call(total, window, LONG, address(matrix.offsets), given, address(rows), address(lengths))
    return SlicedShape(count, rows, lengths[: -(-count // lanes) * lanes])


def lanes_of(value: np.dtype[Any]) -> int:
    """Rows of a slice."""
    return 16 if value == np.float32 else 8


def _filled(matrix: Csr, order: Words | None, count: int, rows: Words, lengths: Array, starts: Longs) -> Array:
    values = aligned(int(starts[-1]), matrix.values.dtype)
    known = addresses(matrix.offsets, order, rows, lengths, starts, matrix.values, values)
    native("sliced_values", "nnppppppp", matrix.values.dtype, matrix.columns.dtype)(
        count, lanes_of(matrix.values.dtype), *known
    )
    return values


def _old(order: Words | None, rows: Words) -> Words:
    return np.ascontiguousarray(rows) if order is None else order[rows]
