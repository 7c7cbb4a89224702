"""The entries that one rank multiplies, taken out of the matrix, in local numbers, by what their columns wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats
from tracecut.support.lazy_kernels import kept

from .split import Entries, Ranks

Parts = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], Floats]  # offsets, columns, values


@dataclass(frozen=True, eq=False)
class LocalMatrix:
    """Entries by local rows; values are none where all are 1.

    Attributes:
        near: those whose columns the rank owns. far: those of the columns that it receives, counted from the first.
        shape: rows and columns, own ones first.
        own: how many rows, and columns, are its own.
    """

    near: Parts
    far: Parts
    shape: tuple[int, int]
    own: int

    def turned(self) -> LocalMatrix:
        """The transposed one. O(rows + columns + entries)."""
        joined = _joined(self.near, self.far, self.own)
        starts = joined[0].view(np.int64)
        rows = np.repeat(np.arange(self.shape[0], dtype=np.uint32), starts[1:] - starts[:-1])
        order = np.argsort(joined[1], kind="stable")
        offsets = np.zeros(self.shape[1] + 1, np.uint64)
        np.cumsum(np.bincount(joined[1], minlength=self.shape[1]), out=offsets[1:])
        values = joined[2][order] if joined[2].size else joined[2]
        every = np.arange(self.shape[1], dtype=np.uint32)
        return localized(every, offsets, rows[order], values, (self.shape[1], self.shape[0]), self.own)


def extract(matrix: Entries, places: Ranks, rank: int) -> tuple[Any, ...]:
    """The entries of one rank: its rows with entries, where these begin, columns and values. O(all entries)."""
    count = int(np.count_nonzero(places == rank))
    rows, offsets = np.empty(min(count, matrix.size), np.uint32), np.zeros(min(count, matrix.size) + 1, np.uint64)
    columns, values = np.empty(count, np.uint32), np.empty(count if matrix.values.size else 0)
    used = _extract(matrix.offsets, matrix.columns, matrix.values, places, rank, rows, offsets, columns, values)
    return rows[:used], offsets[: used + 1], columns, values


def localized(
    rows: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.uint64],
    columns: npt.NDArray[np.uint32],
    values: Floats,
    shape: tuple[int, int],
    own: int,
) -> LocalMatrix:
    """Sorted into near and far entries of each local row; `rows` and `columns` are local numbers.

    Columns rise in each row: x is then read in one direction, whatever numbers the columns had before. O(rows +
    entries · log(entries of a row)).
    """
    parts = []
    for low, high in ((0, own), (own, shape[1])):
        starts = np.zeros(shape[0] + 1, np.uint64)
        count = int(_starts(rows, offsets, columns, low, high, starts))
        near, kept = np.empty(count, np.uint32), np.empty(count if values.size else 0)
        _fill(rows, offsets, columns, values, low, high, starts, near, kept)
        parts.append((starts, near, kept))
    return LocalMatrix(parts[0], parts[1], shape, own)


def _joined(near: Parts, far: Parts, own: int) -> Parts:
    offsets = near[0] + far[0]
    columns = np.empty(near[1].size + far[1].size, np.uint32)
    values = np.empty(near[2].size + far[2].size)
    _join(near, far, own, offsets, columns, values)
    return offsets, columns, values


@kept
def _extract(
    starts: Any, near: Any, weights: Any, places: Any, rank: int, rows: Any, offsets: Any, columns: Any, values: Any
) -> int:
    used, at = 0, 0
    for row in range(starts.size - 1):
        before = at
        for k in range(starts[row], starts[row + 1]):
            if places[k] == rank:
                columns[at] = near[k]
                if values.size:
                    values[at] = weights[k]
                at += 1
        if at > before:
            rows[used] = row
            used += 1
            offsets[used] = at
    return used


@kept
def _starts(rows: Any, offsets: Any, columns: Any, low: int, high: int, starts: Any) -> Any:
    for i in range(rows.size):
        count = np.uint64(0)
        for k in range(offsets[i], offsets[i + 1]):
            if low <= columns[k] < high:
                count += np.uint64(1)
        starts[rows[i] + 1] = count
    for row in range(starts.size - 1):
        starts[row + 1] += starts[row]
    return starts[-1]


@kept
def _fill(
    rows: Any, offsets: Any, columns: Any, values: Any, low: int, high: int, starts: Any, near: Any, kept: Any
) -> None:
    for i in range(rows.size):
        at = starts[rows[i]]
        for k in range(offsets[i], offsets[i + 1]):
            if low <= columns[k] < high:
                near[at] = columns[k] - low
                if kept.size:
                    kept[at] = values[k]
                at += np.uint64(1)
        _sort(near[starts[rows[i]] : at], kept[starts[rows[i]] : at] if kept.size else kept)


@kept
def _sort(columns: Any, values: Any) -> None:
    """By insertion as long as that is cheap: most rows are short, and many rise already."""
    moves = 0
    for end in range(1, columns.size):
        column, value, at = columns[end], values[end] if values.size else 0.0, end
        while at > 0 and columns[at - 1] > column:
            columns[at] = columns[at - 1]
            if values.size:
                values[at] = values[at - 1]
            at -= 1
        moves += end - at
        columns[at] = column
        if values.size:
            values[at] = value
        if moves > 16 * columns.size:
            order = np.argsort(columns, kind="mergesort")  # stable, as the insertions before it are
            columns[:] = columns[order]
            if values.size:
                values[:] = values[order]
            return


@kept
def _join(near: Any, far: Any, own: int, offsets: Any, columns: Any, values: Any) -> None:
    for row in range(offsets.size - 1):
        at = offsets[row]
        for k in range(near[0][row], near[0][row + 1]):
            columns[at] = near[1][k]
            if values.size:
                values[at] = near[2][k]
            at += np.uint64(1)
        for k in range(far[0][row], far[0][row + 1]):
            columns[at] = far[1][k] + own
            if values.size:
                values[at] = far[2][k]
            at += np.uint64(1)
