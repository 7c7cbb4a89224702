"""Rows of a sparse matrix on disk, in pieces of whole rows, of which two are in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .scratch import Scratch

Words = npt.NDArray[np.uint32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows, valid until the next piece is asked for.

    Attributes:
        number: of the piece. low: its first row.
        offsets: uint32 (rows + 1), from 0. columns: uint32 (entries), rising in each row.
        values: (entries) of the file's dtype; None where all values of the file are 1.
    """

    number: int
    low: int
    offsets: Words
    columns: Words
    values: npt.NDArray[Any] | None

    @property
    def high(self) -> int:
        """The row behind the last one."""
        return self.low + self.offsets.size - 1


@dataclass(frozen=True, eq=False)
class RowFile:
    """The rows.

    Attributes:
        rows: int64 (pieces + 1), the first row of each piece, and how many there are.
        starts: int64 (pieces + 1), the entries before each piece. valued: bool (pieces), false where all values are 1.
        dtype: of the values.
    """

    rows: Longs
    starts: Longs
    valued: npt.NDArray[np.bool_]
    dtype: np.dtype[Any]
    offsets: Scratch
    columns: Scratch
    values: Scratch

    @property
    def entries(self) -> int:
        return int(self.starts[-1])

    @property
    def bytes(self) -> int:
        """On disk."""
        return self.offsets.bytes + self.columns.bytes + self.values.bytes

    def sweep(self, buffers: Buffers | None = None) -> Iterator[Piece]:
        """All pieces in order; a thread reads the next one while one is worked on. O(entries).

        buffers: of this file, to sweep again without allocating. Raises OutputError.
        """
        room = Buffers.of(self) if buffers is None else buffers
        with ThreadPoolExecutor(1) as pool:
            coming: Future[Piece] | None = None
            for number in range(self.rows.size - 1):
                piece = self._read(number, room) if coming is None else coming.result()
                if number + 2 < self.rows.size:
                    coming = pool.submit(self._read, number + 1, room)
                yield piece

    def close(self) -> None:
        """Gives the disk back. What was closed cannot be read."""
        for each in (self.offsets, self.columns, self.values):
            each.close()

    def _read(self, number: int, room: Buffers) -> Piece:
        low, high = (int(row) for row in self.rows[number : number + 2])
        first, last = (int(entry) for entry in self.starts[number : number + 2])
        offsets, columns, values = room.pairs[number % 2]
        offsets, columns = offsets[: high - low + 1], columns[: last - first]
        self.offsets.read(4 * (low + number), offsets)
        self.columns.read(4 * first, columns)
        if not self.valued.any():
            return Piece(number, low, offsets, columns, None)
        values = values[: last - first]
        if self.valued[number]:
            before = int((np.diff(self.starts)[:number] * self.valued[:number]).sum())
            self.values.read(self.dtype.itemsize * before, values)
        else:
            values[:] = 1
        return Piece(number, low, offsets, columns, values)


@dataclass(frozen=True, eq=False)
class Buffers:
    """Room for two pieces: offsets, columns and values of each."""

    pairs: tuple[tuple[Words, Words, npt.NDArray[Any]], ...]

    @classmethod
    def of(cls, file: RowFile) -> Buffers:
        rows, entries = (int(np.diff(each).max(initial=0)) for each in (file.rows, file.starts))
        valued = entries if file.valued.any() else 0
        return cls(
            tuple(
                (np.empty(rows + 1, np.uint32), np.empty(entries, np.uint32), np.empty(valued, file.dtype))
                for _ in range(2)
            )
        )
