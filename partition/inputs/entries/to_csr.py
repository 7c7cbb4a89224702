"""Entries in any order to a CSR matrix in canonical form: by counting, and by sorting pieces of rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept
from tracecut.support.memory_amounts import size
from tracecut.support.memory_budget import default_budget

from .coordinate_lines import Chunk
from .sort_piece import SUM, merged, piece_cuts

if TYPE_CHECKING:
    import scipy.sparse as sp

# How the entry above the diagonal follows from the stored one below it.
GENERAL, SYMMETRIC, SKEW, HERMITIAN = range(4)
PIECE = 1 << 19  # entries, whose keys are 4 MiB


def to_csr(
    chunks: Callable[[], Iterable[Chunk]],
    shape: tuple[int, int] | None,
    dtype: npt.DTypeLike,
    mirror: int,
    memory: int | None,
) -> sp.csr_array[Any]:
    """The matrix with these entries; those at the same place are summed, rows and columns rise.

    chunks: called once, or a second time if the entries do not fit in memory beside the matrix. shape: None for the
    smallest square one. dtype: float64, int64 or complex128; values that are absent are 1. memory: most bytes of the
    matrix and all entries; None for the share of the free memory that is ours. O(entries · log of the columns) time.

    Raises ArgumentError, naming the bytes, where the matrix itself does not fit.
    """
    import scipy.sparse as sp

    budget = default_budget() if memory is None else memory
    kind = np.dtype(dtype)
    _check_room(0 if shape is None else 24 * (shape[0] + 1) + 8 * shape[1], budget)
    found = _count(chunks(), shape, kind, mirror, budget)
    high, wide = (found.widest, found.widest) if shape is None else shape
    long = found.total >= 2**31 or max(high, wide) >= 2**31
    needed = found.total * ((8 if long else 4) + kind.itemsize) + 24 * (high + 1)
    _check_room(needed, budget)
    if found.kept is not None and not found.sorted and not long and 2 * needed <= budget:
        whole: Any = sp.csr_array(_sorted(found.kept, found.counts[:high], kind, mirror), shape=(high, wide))
        whole.has_canonical_format = True
        return whole
    ids = np.dtype(np.int64 if long else np.int32)
    data, entries = np.empty(found.total, kind), found.kept if found.kept is not None else chunks()
    parts = (data, *_placed(entries, found.counts[:high], data, ids, mirror))
    matrix: Any = sp.csr_array(parts, shape=(high, wide))
    if not found.sorted:
        matrix.sort_indices()
    matrix.has_sorted_indices = True
    if _holds_duplicates(matrix.indptr, matrix.indices):
        matrix.has_canonical_format = False
        matrix.sum_duplicates()
    matrix.has_canonical_format = True
    return matrix


def _check_room(needed: int, budget: int) -> None:
    if needed > budget:
        raise ArgumentError(
            f"the matrix takes {size(needed)} in memory, which is more than the {size(budget)} allowed",
            hint="memory= allows more. tracecut.stream_matrix keeps it on disk, as --memory of the commands does.",
        )


@dataclass(eq=False)
class _Counted:
    """counts: int64 (at least rows), entries of each row. kept: the chunks, None if they are too many to keep. total:
    all entries, mirrored ones included. widest: the highest id and one. sorted: whether the entries stand row by row
    with rising columns, or column by column."""

    counts: npt.NDArray[np.int64]
    kept: list[Chunk] | None
    total: int
    widest: int
    sorted: bool


def _count(
    chunks: Iterable[Chunk], shape: tuple[int, int] | None, kind: np.dtype[Any], mirror: int, budget: int
) -> _Counted:
    counts = np.zeros(0 if shape is None else shape[0], np.int64)
    kept: list[Chunk] | None = []
    stored = total = widest = 0
    order = np.array([-1, -1, True, True], np.int64)
    for chunk in chunks:
        if not chunk.rows.size:
            continue
        if shape is None:
            widest = max(widest, int(chunk.rows.max()) + 1, int(chunk.columns.max()) + 1)
            counts = _grown(counts, widest)
        _follow(chunk.rows, chunk.columns, order)
        total += _add(chunk.rows, chunk.columns, mirror != GENERAL, counts)
        if kept is not None:
            kept.append(chunk)
            stored += chunk.rows.nbytes + chunk.columns.nbytes + chunk.values.nbytes
            if stored + total * (4 + kind.itemsize) > budget:
                kept = None
    return _Counted(counts, kept, int(total), widest, bool(order[2:].any()))


def _grown(counts: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    if width <= counts.size:
        return counts
    return np.concatenate([counts, np.zeros(max(width, 2 * counts.size) - counts.size, np.int64)])


def _sorted(
    chunks: list[Chunk], counts: npt.NDArray[np.int64], dtype: np.dtype[Any], mirror: int
) -> tuple[npt.NDArray[Any], ...]:
    """Values, int32 indices and offsets of entries in any order: spread over pieces of rows, each of which is sorted.

    Each piece fits in a cache, which rows do not that are filled all at a time. Empties `chunks`.
    """
    cuts = piece_cuts(counts, PIECE)
    ends = np.concatenate([[0], np.cumsum(counts)])[cuts]
    valued = any(chunk.values.size for chunk in chunks)
    keys, values = np.empty(int(ends[-1]), np.uint64), np.empty(int(ends[-1]) if valued else 0, dtype)
    pieces, free = np.repeat(np.arange(cuts.size - 1, dtype=np.int32), np.diff(cuts)), ends[:-1].copy()
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        _spread(chunk.rows, chunk.columns, chunk.values.view(dtype), mirror, pieces, free, keys, values)

    def work(number: int) -> tuple[npt.NDArray[Any], ...]:
        own = slice(int(ends[number]), int(ends[number + 1]))
        return merged(keys[own], values[own], int(cuts[number]), int(cuts[number + 1]), SUM)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(work, range(cuts.size - 1)))
    offsets, data = np.zeros(counts.size + 1, np.int64), np.ones(sum(part[1].size for part in found), dtype)
    indices = np.empty(data.size, np.int32)
    for number, (lengths, columns, numbers) in enumerate(found):
        first = int(offsets[cuts[number]])
        offsets[cuts[number] + 1 : cuts[number + 1] + 1] = lengths[1:].astype(np.int64) + first
        indices[first : first + columns.size] = columns
        data[first : first + numbers.size] = numbers
    return data, indices, offsets.astype(np.int32)


def _placed(
    chunks: Iterable[Chunk], counts: npt.NDArray[np.int64], data: npt.NDArray[Any], ids: Any, mirror: int
) -> tuple[Any, Any]:
    """Indices and offsets, int32 or int64, of entries put row by row; fills `data`.

    Each thread places the entries of some rows, in the order of the file.
    """
    offsets = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    indices = np.empty(data.size, ids)
    threads = len(os.sched_getaffinity(0)) if data.size > 1 << 16 else 1
    targets = np.arange(1, threads) * data.size // threads
    cuts = [0, *np.searchsorted(offsets, targets).tolist(), counts.size]
    free = offsets[:-1].copy()
    filled = False
    with ThreadPoolExecutor(threads) as pool:
        for chunk in chunks:
            values = chunk.values.view(data.dtype)
            filled |= values.size > 0

            def place(i: int, chunk: Chunk = chunk, values: Any = values) -> None:
                _place(chunk.rows, chunk.columns, values, mirror, cuts[i], cuts[i + 1], free, indices, data)

            list(pool.map(place, range(threads)))
    if not filled:
        data[:] = 1
    return indices, offsets.astype(ids)


@kept
def _add(rows: Any, columns: Any, mirrored: bool, counts: Any) -> int:
    """Counts the entries of each row, and those above the diagonal that follow; how many there are."""
    total = rows.size
    for k in range(rows.size):
        counts[rows[k]] += 1
    if mirrored:
        for k in range(rows.size):
            if rows[k] != columns[k]:
                counts[columns[k]] += 1
                total += 1
    return total


@kept
def _follow(rows: Any, columns: Any, order: Any) -> None:
    """order: the entry before, and whether all so far stand row by row with rising columns, or column by column."""
    row, column, by_rows, by_columns = order[0], order[1], True, True
    for k in range(rows.size):
        by_rows &= rows[k] > row or (rows[k] == row and columns[k] >= column)
        by_columns &= columns[k] >= column
        row, column = np.int64(rows[k]), np.int64(columns[k])
    order[0], order[1] = row, column
    order[2] &= by_rows
    order[3] &= by_columns


@kept
def _mirrored(value: Any, mirror: int) -> Any:
    if mirror == SKEW:
        return -value
    if mirror == HERMITIAN:
        return np.conj(value)
    return value


@kept
def _spread(rows: Any, columns: Any, given: Any, mirror: int, pieces: Any, free: Any, keys: Any, values: Any) -> None:
    """Puts the entries, and those that follow of them, at the next free places of their pieces."""
    half = np.uint64(32)
    for k in range(rows.size):
        row, column = np.uint64(rows[k]), np.uint64(columns[k])
        at = free[pieces[row]]
        free[pieces[row]] = at + 1
        keys[at] = (row << half) | column
        if given.size:
            values[at] = given[k]
        if mirror != GENERAL and row != column:
            at = free[pieces[column]]
            free[pieces[column]] = at + 1
            keys[at] = (column << half) | row
            if given.size:
                values[at] = _mirrored(given[k], mirror)


@kept
def _place(
    rows: Any, columns: Any, values: Any, mirror: int, low: int, high: int, free: Any, indices: Any, data: Any
) -> None:
    """Puts the entries of the rows in [low, high) at the next free place of their rows."""
    valued = values.size > 0
    for k in range(rows.size):
        row, column = rows[k], columns[k]
        if low <= row < high:
            at = free[row]
            free[row] = at + 1
            indices[at] = column
            if valued:
                data[at] = values[k]
        if mirror != GENERAL and row != column and low <= column < high:
            at = free[column]
            free[column] = at + 1
            indices[at] = row
            if valued:
                data[at] = _mirrored(values[k], mirror)


@kept
def _holds_duplicates(offsets: Any, indices: Any) -> bool:
    """Whether a row, whose indices do not fall, holds one twice."""
    for row in range(offsets.size - 1):
        for k in range(offsets[row] + 1, offsets[row + 1]):
            if indices[k - 1] == indices[k]:
                return True
    return False
