"""A sparse matrix on disk, and how much memory is left for work with it."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from tracecut.support.errors import ArgumentError
from tracecut.support.memory_amounts import size

from .row_file import RowFile
from .sort_rows import ENTRY_BYTES

if TYPE_CHECKING:
    import scipy.sparse as sp

TEXT_BYTES = 96 << 20  # pieces of text, and their entries, under way at a time
NODE_BYTES = 128  # vectors of an iteration, and what is counted for each row before
LEAST_ENTRIES = 1 << 10  # of a piece
MOST_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class DiskMatrix:
    """A sparse matrix in a temporary file without a name, as `tracecut.stream_matrix` makes it.

    `tracecut.pagerank`, `hits`, `rwr` and `cg` take it in place of a matrix; the vectors are in memory, the rows are
    read from disk for each product. Its disk space is free again once it is closed (`with`), no longer used, or the
    process has ended, however that was.

    Attributes:
        shape: rows and columns. dtype: float64, int64 or complex128. nnz: entries, at different places.
        memory: most bytes that this and the work with it may take. most: entries of a piece of rows.
        file: the rows.
    """

    shape: tuple[int, int]
    memory: int
    most: int
    file: RowFile

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.file.dtype

    @property
    def nnz(self) -> int:
        return self.file.entries

    @property
    def bytes(self) -> int:
        """What it takes on disk."""
        return self.file.bytes

    def to_csr(self) -> sp.csr_array[Any]:
        """The matrix in memory, as `tracecut.read_matrix` returns it. Raises ArgumentError where `memory` is less."""
        import scipy.sparse as sp

        check_room("the matrix", self.nnz * (4 + self.dtype.itemsize) + 16 * self.shape[0], self.memory)
        index = np.int64 if self.nnz >= 2**31 or max(self.shape) >= 2**31 else np.int32
        offsets, columns = np.zeros(self.shape[0] + 1, index), np.empty(self.nnz, index)
        values = np.ones(self.nnz, self.dtype)
        for piece in self.file.sweep():
            first = int(offsets[piece.low])
            offsets[piece.low + 1 : piece.high + 1] = piece.offsets[1:].astype(np.int64) + first
            columns[first : first + piece.columns.size] = piece.columns
            if piece.values is not None:
                values[first : first + piece.columns.size] = piece.values
        found: Any = sp.csr_array((values, columns, offsets), shape=self.shape)
        found.has_canonical_format = True
        return found

    def close(self) -> None:
        """Gives the disk back; the matrix cannot be used any more."""
        self.file.close()

    def __enter__(self) -> DiskMatrix:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<DiskMatrix {rows} × {columns}, {self.nnz} entries, {size(self.bytes)} on disk>"


def check_room(what: str, needed: int, memory: int) -> None:
    """Raises ArgumentError, which names the bytes, where `what` takes more than is allowed."""
    if needed > memory:
        raise ArgumentError(
            f"{what} takes {size(needed)} in memory, which is more than the {size(memory)} allowed",
            hint="memory= (--memory) allows more.",
        )


def entries_of_piece(memory: int, rows: int, columns: int) -> int:
    """The most entries of a piece, with the vectors of a square matrix beside it. Raises ArgumentError."""
    beside = TEXT_BYTES + NODE_BYTES * max(rows, columns)
    shape = f"{rows} × {columns}"
    check_room(f"work with a matrix of {shape} on disk", beside + ENTRY_BYTES * LEAST_ENTRIES, memory)
    return min(MOST_ENTRIES, (memory - beside) // ENTRY_BYTES)
