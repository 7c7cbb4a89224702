"""What all formats share: slots, each with an entry of the matrix or padding, and the way back to compressed rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import Array, Csr
from tracecut.codegen.sparse.csr_kernels import vectors
from tracecut.support.arrays import Ints, Longs
from tracecut.support.errors import ArgumentError

MOST_SLOTS = 32  # for each entry: a matrix that would take more is refused, its padding does not fit anywhere
FEW = 1 << 20  # slots that are never refused


class Format(Protocol):
    """A matrix in a storage format; all of them are frozen."""

    @property
    def bytes(self) -> int:
        """Bytes that a product reads beside the vectors: indices and values, padding included."""

    @property
    def padding(self) -> float:
        """Slots for each entry, at least 1; 1 for a matrix without entries."""

    def to_csr(self) -> Csr:
        """The compressed rows that it was made of, entry by entry in their order. O(slots)."""

    def times(self, x: npt.ArrayLike) -> Array:
        """A x by the format's own arrays, in plain NumPy: for tests of kernels, not for speed."""


def rows_of(matrix: Csr) -> Ints:
    """int32 (entries), the row of each entry of a matrix of fewer than 2**31 rows and columns. O(rows + entries).

    Raises ArgumentError for a larger one: the formats have 32-bit indices.
    """
    if max(matrix.shape) >= 2**31:
        raise ArgumentError(f"formats hold fewer than 2**31 rows and columns, the matrix has {matrix.shape}")
    return np.repeat(np.arange(matrix.shape[0], dtype=np.int32), np.diff(matrix.offsets))


def check_slots(name: str, slots: int, entries: int) -> None:
    """Raises ArgumentError when padding would take more than 32 slots for each entry."""
    if slots > max(FEW, MOST_SLOTS * entries):
        raise ArgumentError(
            f"{name} would take {slots:,} slots for {entries:,} entries",
            hint=f"It is refused above {MOST_SLOTS} slots an entry; 'hyb' and 'tile-composite' bound their padding.",
        )


def back_to_csr(
    shape: tuple[int, int], index: npt.DTypeLike, rows: Array, columns: Array, values: Array, origin: Longs
) -> Csr:
    """Compressed rows from slots with entries: `origin` says which entry each is. O(rows + entries)."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))]).astype(index)
    found_columns, found_values = np.empty(origin.size, index), np.empty(origin.size, values.dtype)
    found_columns[origin], found_values[origin] = columns, values
    return Csr(offsets, found_columns, found_values, shape)


def vector(x: npt.ArrayLike, dtype: np.dtype[Any], size: int) -> Array:
    """One vector. Raises ArgumentError."""
    found = vectors("x", x, dtype, size)
    if found.ndim != 1:
        raise ArgumentError(f"x has the shape {found.shape}, ({size},) was expected")
    return found


def add_up(y: Array, rows: Array, products: Array) -> None:
    """y[rows] += products, duplicates one after the other."""
    with np.errstate(invalid="ignore", over="ignore"):
        np.add.at(y, rows, products)


def share(slots: int, entries: int) -> float:
    """Slots for each entry."""
    return slots / entries if entries else 1.0
