"""The forms that a product runs on: plain compressed rows, the same by gathers along rows, slices, and tiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from .csr import Array, Csr, permuted_rows
from .native_code import addresses, native
from .orders import MatrixOrder, Words
from .row_threads import row_blocks, run_blocks
from .sliced import Sliced, SlicedShape
from .tiled import Tiled

FORMATS = ("csr", "csr-vector", "sliced", "tiled")
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


@dataclass(frozen=True, eq=False)
class CsrForm:
    """Compressed rows: row by row, or with `vector` several entries of a row at a time."""

    matrix: Csr
    vector: bool = False

    @property
    def bytes(self) -> int:
        return self.matrix.bytes

    @cached_property
    def _places(self) -> list[int | None]:
        return addresses(None, self.matrix.offsets, self.matrix.columns, self.matrix.values)

    def times(self, x: Array, y: Array, scale: Array, count: int, threads: int) -> None:
        a = self.matrix
        parts = (*self._places, *addresses(x, y, scale))
        cuts, value, index = row_blocks(a.offsets, threads), a.values.dtype, a.columns.dtype
        if count != 1:
            rows = native("csr_times_rows", "nnpppppppn", value, index)
            run_blocks(lambda first, last: rows(first, last, *parts, count), cuts)
        elif self.vector:
            row = native("row_vector_times", "nnppppppp", value, index)
            run_blocks(lambda first, last: row(first, last, *parts), cuts)
        else:
            plain = native("csr_times", "nnpppppp", value, index)
            run_blocks(lambda first, last: plain(first, last, *parts[1:]), cuts)

    def transposed_times(self, x: Array, y: Array, scale: Array, count: int) -> None:
        a = self.matrix
        call = native("csr_transposed_times", "nnppppppn", a.values.dtype, a.columns.dtype)
        call(*a.shape, *addresses(a.offsets, a.columns, a.values, x, y, scale), count)


def make_form(matrix: Csr, name: str, order: MatrixOrder, shape: SlicedShape | None = None) -> Form:
    """The form of that name of `FORMATS`, of a matrix in an order. O(rows + entries); nothing for CSR as it is."""
    numbers = order.numbers
    if name == "sliced":
        return Sliced.of(matrix, order.rows, numbers, shape=shape)
    if name == "tiled":
        return Tiled.of(matrix, order.rows, numbers)
    if order.rows is not None or numbers is not None:
        which = np.arange(matrix.shape[0], dtype=np.uint32) if order.rows is None else order.rows
        matrix = permuted_rows(matrix, which, numbers)
    return CsrForm(matrix, name == "csr-vector")


def remade_form(form: Form, matrix: Csr, order: MatrixOrder) -> Form:
    """The form with the values of a matrix of the same structure. O(entries)."""
    if isinstance(form, Sliced | Tiled):
        return form.with_values(matrix, order.rows, order.numbers)
    assert isinstance(form, CsrForm)
    return make_form(matrix, "csr-vector" if form.vector else "csr", order)


def take(order: Words, x: Array, out: Array, count: int) -> None:
    """out = x[order], `count` values side by side. O(x)."""
    call = native("take", "nnpppn", x.dtype, np.dtype(np.uint32))
    call(0, order.size, *addresses(order, x, out), count)
