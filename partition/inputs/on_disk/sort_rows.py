"""Entries in any order to rows on disk: cut into pieces by row, each of which is sorted in memory (a bucket sort).

An entry is a key, its row in the upper and its column in the lower half of 64 bits, and perhaps a value. All entries go
to the disk and back twice: as they come into the region of their piece, and as sorted rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from tracecut.support.lazy_kernels import kept

from ..entries.sort_piece import SUM, Keys, Values, merged
from .row_file import Longs, RowFile
from .scratch import Scratch

Entries = tuple[Keys, Values | None]  # values: None where all are 1
SORTERS = 2  # pieces that are sorted side by side
ENTRY_BYTES = SORTERS * 64  # memory for each entry of a piece: keys, values and places, each twice, and what comes out
SLICE = 1 << 20  # entries that are read at a time


def sort_rows(
    chunks: Iterable[Entries], cuts: Longs, counts: Longs, dtype: np.dtype[Any], combine: int = SUM
) -> RowFile:
    """The rows of these entries.

    Args:
        cuts: where pieces begin (`piece_cuts`). counts: int64 (rows), entries of each row, as they come.
        dtype: of the values. combine: what becomes of entries at the same place.

    Raises OutputError. O(entries · log of the columns) time; ENTRY_BYTES for each entry of a piece.
    """
    ends = np.concatenate([[0], np.cumsum(counts)])[cuts]
    keys, values = Scratch("entries"), Scratch("values")
    valued = False
    try:
        free = ends[:-1].copy()
        for chunk_keys, chunk_values in chunks:
            valued |= chunk_values is not None
            _spread(chunk_keys, chunk_values, cuts, free, keys, values)
        return sorted_pieces(keys, values if valued else None, cuts, ends, dtype, combine)
    finally:
        keys.close()
        values.close()


def sorted_pieces(
    keys: Scratch, values: Scratch | None, cuts: Longs, ends: Longs, dtype: np.dtype[Any], combine: int = SUM
) -> RowFile:
    """As `sort_rows`, for entries that lie piece by piece. ends: int64 (pieces + 1), the entries before each."""
    files = [Scratch(f"the {what} of a matrix") for what in ("row offsets", "columns", "values")]
    starts, valued = np.zeros(cuts.size, np.int64), np.zeros(cuts.size - 1, np.bool_)

    def work(number: int) -> tuple[Values, ...]:
        first, last = int(ends[number]), int(ends[number + 1])
        own, given = np.empty(last - first, np.uint64), np.empty(0 if values is None else last - first, dtype)
        keys.read(8 * first, own)
        if values is not None:
            values.read(dtype.itemsize * first, given)
        return merged(own, given, int(cuts[number]), int(cuts[number + 1]), combine)

    try:
        waiting: deque[Future[tuple[Values, ...]]] = deque()
        with ThreadPoolExecutor(SORTERS) as pool:
            for number in range(cuts.size - 1 + SORTERS):
                if number >= SORTERS:
                    done = number - SORTERS
                    offsets, columns, found = waiting.popleft().result()
                    starts[done + 1], valued[done] = starts[done] + columns.size, found.size > 0
                    for file, array in zip(files, (offsets, columns, found), strict=True):
                        file.append(array)
                if number < cuts.size - 1:
                    waiting.append(pool.submit(work, number))
    except BaseException:
        for file in files:
            file.close()
        raise
    return RowFile(cuts, starts, valued, dtype, *files)


def _spread(
    keys: Keys, values: Values | None, cuts: Longs, free: Longs, key_file: Scratch, value_file: Scratch
) -> None:
    """Appends entries to the regions of their pieces, of which `free` has the ends."""
    for low in range(0, keys.size, SLICE):
        own = keys[low : low + SLICE]
        given = np.zeros(0) if values is None else values[low : low + SLICE]
        sorted_keys, sorted_values = np.empty_like(own), np.empty_like(given)
        counts = np.zeros(cuts.size, np.int64)
        _by_piece(own, given, cuts, counts, sorted_keys, sorted_values)
        first = 0
        for piece in np.flatnonzero(counts[:-1]).tolist():
            last = first + int(counts[piece])
            key_file.write(8 * int(free[piece]), sorted_keys[first:last])
            if values is not None:
                value_file.write(given.itemsize * int(free[piece]), sorted_values[first:last])
            free[piece] += last - first
            first = last


@kept
def _by_piece(keys: Any, values: Any, cuts: Any, counts: Any, sorted_keys: Any, sorted_values: Any) -> None:
    """A stable counting sort by piece; counts: zeros, then the entries of each piece."""
    pieces = np.empty(keys.size, np.int32)
    for k in range(keys.size):
        row = np.int64(keys[k] >> np.uint64(32))
        low, high = 0, cuts.size - 1
        while high - low > 1:
            middle = (low + high) // 2
            if cuts[middle] <= row:
                low = middle
            else:
                high = middle
        pieces[k] = low
        counts[low] += 1
    free = np.cumsum(counts) - counts
    for k in range(keys.size):
        at = free[pieces[k]]
        free[pieces[k]] = at + 1
        sorted_keys[at] = keys[k]
        if values.size:
            sorted_values[at] = values[k]
