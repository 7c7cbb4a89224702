"""A matrix in compressed rows, checked once, so that kernels need no bounds checks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import check_compressed, check_offsets, check_range
from tracecut.support.errors import ArgumentError

from .native_code import VALUE_TYPES, address, addresses, native

if TYPE_CHECKING:
    import scipy.sparse as sp

Array = npt.NDArray[Any]
WANTED = "a scipy.sparse matrix or array, or a dense array of two dimensions"


@dataclass(frozen=True, eq=False)
class Csr:
    """A matrix in compressed rows. Entries of a row may be in any order; those of one place add up.

    Attributes:
        offsets: int32 or int64 (rows + 1), where each row begins.
        columns: of the same type (entries), the column of each entry.
        values: float32, float64, complex64 or complex128 (entries).
        shape: rows and columns.

    Raises ArgumentError, naming the first wrong entry, when they do not belong together. O(rows + entries).
    """

    offsets: Array
    columns: Array
    values: Array
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        rows, cols = self.shape
        if min(rows, cols) < 0:
            raise ArgumentError(f"the shape is {self.shape}, two numbers of at least 0 were expected")
        if self.values.dtype not in VALUE_TYPES:
            known = ", ".join(map(str, VALUE_TYPES))
            raise ArgumentError(f"the matrix holds {self.values.dtype} values; there are kernels for {known}")
        for name in ("offsets", "columns"):
            if getattr(self, name).dtype not in (np.int32, np.int64):
                raise ArgumentError(f"{name} holds {getattr(self, name).dtype}, int32 or int64 was expected")
        if self.offsets.dtype != self.columns.dtype:
            raise ArgumentError(f"offsets holds {self.offsets.dtype}, columns {self.columns.dtype}: one was expected")
        if self.offsets.size != rows + 1:
            raise ArgumentError(f"offsets has {self.offsets.size} entries, {rows + 1} for {rows} rows were expected")
        if self.columns.size != self.values.size:
            raise ArgumentError(f"columns has {self.columns.size} entries, values {self.values.size}")
        check_offsets("offsets", self.offsets, self.columns.size)
        check_range("columns", self.columns, 0, cols)

    @property
    def entries(self) -> int:
        """Stored entries, duplicates and zeros among them."""
        return self.values.size

    @property
    def bytes(self) -> int:
        """Bytes of the three arrays."""
        return self.offsets.nbytes + self.columns.nbytes + self.values.nbytes

    @cached_property
    def one_value(self) -> bool:
        """Whether there are several entries, all with the same bits; found once. O(entries)."""
        if self.entries < 2:
            return False
        words = self.values.view(np.uint64 if self.values.itemsize % 8 == 0 else np.uint32)
        bits = words.reshape(self.entries, -1)
        few = bits[:64]  # where most matrices differ
        return bool((few == bits[0]).all()) and bool((bits == bits[0]).all())

    def __repr__(self) -> str:
        return f"<Csr {self.shape[0]} × {self.shape[1]}, {self.entries} entries of {self.values.dtype}>"

    @classmethod
    def of(cls, matrix: Any, dtype: npt.DTypeLike | None = None) -> Csr:
        """The compressed rows of a matrix, sharing memory with it where it has that form.

        Args:
            matrix: scipy.sparse in any format, a Csr, or a dense array of two dimensions. Duplicates and stored zeros
                of compressed rows are kept.
            dtype: of the values. None: the matrix's own; float64 for whole numbers and truth values.

        Raises ArgumentError for other types, float16, objects, and damaged structures. O(entries).
        """
        if isinstance(matrix, Csr):
            return matrix if dtype is None else matrix.with_values(matrix.values.astype(value_type(dtype), copy=False))
        import scipy.sparse as sp

        if not sp.issparse(matrix):
            if not isinstance(matrix, np.ndarray) or matrix.ndim != 2:
                raise ArgumentError(f"A is a {type(matrix).__name__}, {WANTED} was expected")
            given = value_type(matrix.dtype if dtype is None else dtype)
            matrix = sp.csr_array(matrix if matrix.dtype.isnative else matrix.astype(given))
        if len(matrix.shape) != 2:
            raise ArgumentError(f"A has the shape {matrix.shape}, two dimensions were expected")
        wanted = value_type(matrix.dtype if dtype is None else dtype)
        if np.issubdtype(matrix.dtype, np.complexfloating) and wanted.kind == "f":
            raise ArgumentError(f"A holds {matrix.dtype} values, dtype = {wanted} would drop their imaginary parts")
        rows = matrix if matrix.format == "csr" else rows_of(matrix)
        kept = int(rows.indptr[-1]) if rows.indptr.size else 0  # scipy's arrays may be longer
        values = np.ascontiguousarray(rows.data[: max(kept, 0)], wanted)
        index = np.int32 if rows.indptr.dtype == np.int32 and rows.indices.dtype == np.int32 else np.int64
        offsets, columns = (_whole(name, getattr(rows, name), index) for name in ("indptr", "indices"))
        return cls(offsets, columns[: values.size], values, (int(rows.shape[0]), int(rows.shape[1])))

    def with_values(self, values: Array) -> Csr:
        """The same structure with other values, in the same order. Raises ArgumentError for a wrong size or type."""
        return Csr(self.offsets, self.columns, values, self.shape)

    def to_scipy(self) -> sp.csr_array:
        """A scipy array that shares the memory."""
        import scipy.sparse as sp

        return sp.csr_array((self.values, self.columns, self.offsets), shape=self.shape, copy=False)

    @cached_property
    def transpose(self) -> Csr:
        """The compressed rows of the transposed matrix, by counting; made once. O(rows + cols + entries)."""
        return self.transpose_with_places(places=False)[0]

    def transpose_with_places(self, *, places: bool = True) -> tuple[Csr, Array]:
        """The transposed matrix, and the entry here that each of its entries was: `values[places]` are its values."""
        rows, cols = self.shape
        index = self.columns.dtype
        starts = np.zeros(cols + 2, index)
        moved_rows, values = np.empty_like(self.columns), np.empty_like(self.values)
        came = np.empty_like(self.columns) if places else np.empty(0, index)
        call = native("csr_transpose", "nnppppppp", self.values.dtype, index)
        given = [address(array) for array in (self.offsets, self.columns, self.values, starts, moved_rows, values)]
        call(rows, cols, *given, address(came) if places else None)
        return Csr(starts[: cols + 1], moved_rows, values, (cols, rows)), came


def rows_of(matrix: Any) -> Any:
    """A scipy matrix of another format as compressed rows of scipy's, whose conversion reads and writes wherever an
    index says. Raises ArgumentError, naming the first index that is outside of the matrix. O(rows + columns + entries).
    """
    rows, cols = matrix.shape
    if matrix.format == "coo":
        for name, ids, size in (("row", matrix.row, rows), ("column", matrix.col, cols)):
            check_range(f"the {name} of entry", ids, 0, size)
        if not matrix.row.size == matrix.col.size == matrix.data.size:
            sizes = f"{matrix.row.size} rows, {matrix.col.size} columns and {matrix.data.size} values"
            raise ArgumentError(f"the matrix has {sizes}, one of each per entry was expected")
    elif matrix.format == "csc":
        check_compressed("", matrix, cols, rows)
    return matrix.tocsr()


def permuted_rows(matrix: Csr, which: npt.NDArray[np.uint32], numbers: npt.NDArray[np.uint32] | None = None) -> Csr:
    """Some rows as a matrix of their own, entries in their order; column j becomes column numbers[j].

    Args:
        which: uint32 (any), the rows; numbers: uint32 (columns), a permutation, or None.

    O(the rows' entries).
    """
    begins, ends = matrix.offsets[:-1][which], matrix.offsets[1:][which]
    offsets = np.zeros(which.size + 1, matrix.offsets.dtype)
    np.cumsum(ends - begins, out=offsets[1:])
    columns, values = np.empty(offsets[-1], offsets.dtype), np.empty(offsets[-1], matrix.values.dtype)
    call = native("permuted_rows", "npppppppp", matrix.values.dtype, offsets.dtype)
    given = (which, numbers, matrix.offsets, matrix.columns, matrix.values, offsets, columns, values)
    call(which.size, *addresses(*given))
    return Csr(offsets, columns, values, (which.size, matrix.shape[1]))


def value_type(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """The type that products of such values are computed in. Raises ArgumentError where there are no kernels."""
    try:
        given = np.dtype(dtype).newbyteorder("=")
    except TypeError as error:
        raise ArgumentError(f"dtype is {dtype!r}, the name of a type was expected") from error
    if given.kind in "biu":
        return np.dtype(np.float64)
    if given not in VALUE_TYPES:
        known = ", ".join(map(str, VALUE_TYPES))
        raise ArgumentError(f"dtype is {given}; there are kernels for {known}", hint="A.astype(…) converts a matrix.")
    return given


def _whole(name: str, indices: Array, index: npt.DTypeLike) -> Array:
    if indices.dtype.kind not in "iu":
        raise ArgumentError(f"A.{name} holds {indices.dtype}, whole numbers were expected")
    return np.ascontiguousarray(indices, index)
