"""The forms that a product runs on: plain compressed rows, the same by gathers along rows, slices, and tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from .csr import Array, Csr, permuted_rows
from .native_code import address, addresses, native
from .orders import MatrixOrder, Words
from .row_threads import row_blocks, run_blocks
from .sliced import Sliced, SlicedShape
from .tiled import Tiled

_U32 = np.dtype(np.uint32)
FORMATS = ("csr", "csr-vector", "sliced", "tiled")
CARD_FORMATS = ("csr-vector", "tile-composite")  # on a card, or on the emulated one
NARROW = ("sliced", "tiled")  # have 32-bit places


class Form(Protocol):
    """A matrix as products read it. Vectors are contiguous and of its type, `count` of them side by side."""

    @property
    def bytes(self) -> int:
        """Bytes that a product reads, the vectors apart."""

    def times(self, x: Array, y: Array, scale: Array, count: int, threads: int) -> None:
        """y = α A x + β y, with `scale` α and β; the same bits on any number of threads."""

    def transposed_times(self, x: Array, y: Array, scale: Array, count: int) -> None:
        """y = α Aᵀ x + β y."""

    def with_values(self, matrix: Csr, order: Words | None = None, numbers: Words | None = None) -> Form:
        """The same form of a matrix of the same structure: row i is its row order[i], column j becomes numbers[j]."""


@dataclass(frozen=True, eq=False)
class CsrForm:
    """Compressed rows: row by row, or with `vector` several entries of a row at a time."""

    matrix: Csr
    vector: bool = False

    @property
    def bytes(self) -> int:
        return self.matrix.bytes

    @cached_property
    def _single(self) -> tuple[Callable[..., int], list[int | None]]:
        """The product with one vector, and the addresses that it begins with."""
        a = self.matrix
        places = addresses(a.offsets, a.columns, a.values)
        if self.vector:
            return native("row_vector_times", "nnppppppp", a.values.dtype, a.columns.dtype), [None, *places]
        return native("csr_times", "nnpppppp", a.values.dtype, a.columns.dtype), places

    def times(self, x: Array, y: Array, scale: Array, count: int, threads: int) -> None:
        call, places = self._single
        parts = (*places, *addresses(x, y, scale))
        a = self.matrix
        cuts = row_blocks(a.offsets, threads)
        if count == 1:
            run_blocks(lambda first, last: call(first, last, *parts), cuts)
        else:
            rows = native("csr_times_rows", "nnpppppppn", a.values.dtype, a.columns.dtype)
            known = parts if self.vector else (None, *parts)
            run_blocks(lambda first, last: rows(first, last, *known, count), cuts)

    def transposed_times(self, x: Array, y: Array, scale: Array, count: int) -> None:
        a = self.matrix
        call = native("csr_transposed_times", "nnppppppn", a.values.dtype, a.columns.dtype)
        call(*a.shape, *addresses(a.offsets, a.columns, a.values, x, y, scale), count)

    def with_values(self, matrix: Csr, order: Words | None = None, numbers: Words | None = None) -> CsrForm:
        return CsrForm(in_order(matrix, order, numbers), self.vector)


def make_form(matrix: Csr, name: str, order: MatrixOrder, shape: SlicedShape | None = None) -> Form:
    """The form of that name of `FORMATS`, of a matrix in an order. O(rows + entries); nothing for CSR as it is."""
    numbers = order.numbers
    if name == "sliced":
        return Sliced.of(matrix, order.rows, numbers, shape=shape)
    if name == "tiled":
        return Tiled.of(matrix, order.rows, numbers)
    return CsrForm(in_order(matrix, order.rows, numbers), name == "csr-vector")


def in_order(matrix: Csr, order: Words | None, numbers: Words | None) -> Csr:
    """The matrix with its rows in an order, and its columns renumbered. O(rows + entries); nothing without both."""
    if order is None and numbers is None:
        return matrix
    which = np.arange(matrix.shape[0], dtype=np.uint32) if order is None else order
    return permuted_rows(matrix, which, numbers)


def take(order: Words, x: Array, out: Array, count: int) -> None:
    """out = x[order], `count` values side by side. O(x)."""
    native("take", "nnpppn", x.dtype, _U32)(0, order.size, address(order), address(x), address(out), count)
