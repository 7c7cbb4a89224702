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
import numpy.typing as npt
from numba import njit

from ...datastructures.radix_sort import radix_order
from .row_file import Longs, RowFile
from .scratch import Scratch

Keys = npt.NDArray[np.uint64]
Values = npt.NDArray[Any]
Entries = tuple[Keys, Values | None]  # values: None where all are 1
SORTERS = 2  # pieces that are sorted side by side
ENTRY_BYTES = SORTERS * 64  # memory for each entry of a piece: keys, values and places, each twice, and what comes out
SUM, LARGEST = range(2)  # what becomes of entries at the same place
HALF = 0xFFFFFFFF
SLICE = 1 << 20  # entries that are read at a time


def piece_cuts(counts: Longs, most: int, borders: npt.ArrayLike = ()) -> Longs:
    """Where pieces of at most `most` entries begin, and where the last one ends; a longer row is a piece of its own.

    counts: int64 (rows), entries of each row. borders: rows at which pieces begin where they can. Among the pieces
    between two of these, all but the last are as long as they may be. O(rows).
    """
    wanted = np.unique(np.array([0, *np.asarray(borders, np.int64).tolist(), counts.size], np.int64))
    cuts = np.empty(counts.size + 1, np.int64)
    return cuts[: int(_cut(counts, most, wanted, cuts))].copy() if counts.size else np.zeros(1, np.int64)


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
        return _merged(own, given, int(cuts[number]), int(cuts[number + 1]), combine)

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


def _merged(keys: Keys, values: Values, low: int, high: int, combine: int) -> tuple[Values, ...]:
    """Offsets, columns and values of the rows [low, high); no values where all are 1, as in what is given."""
    shift = int(np.bitwise_and(keys, HALF).max(initial=0)).bit_length()
    bits = shift + (high - low).bit_length()
    place = keys.size.bit_length() if values.size else 0
    if bits + place <= 64:  # NumPy sorts numbers, by vector instructions, faster than places by numbers
        _narrow(keys, low, shift, place)
        keys.sort()
        if values.size:
            values = _moved(keys, place, values)
    else:
        _narrow(keys, low, shift, 0)
        order = radix_order(keys.copy(), bits)
        keys, values = keys[order], values[order]
    offsets, columns = np.zeros(high - low + 1, np.uint32), np.empty(keys.size, np.uint32)
    if not values.size and combine == SUM and _holds_equal(keys):
        values = np.ones(keys.size, values.dtype)
    count = int(_merge(keys, shift, combine, offsets, columns, values))
    values = values[:count]
    return offsets, columns[:count], values[:0] if (values == 1).all() else values


@njit(cache=True, nogil=True)
def _cut(counts: Any, most: int, borders: Any, cuts: Any) -> int:
    """Fills `cuts`; how many there are. Pieces end at the last border that they reach, or within a long stretch."""
    found, begin = 0, 0
    cuts[0] = 0
    held = np.int64(0)
    for i in range(borders.size - 1):
        stretch = np.int64(0)
        for row in range(borders[i], borders[i + 1]):
            stretch += counts[row]
        if begin < borders[i] and held + stretch > most:
            found, begin, held = found + 1, borders[i], np.int64(0)
            cuts[found] = begin
        for row in range(borders[i], borders[i + 1]):
            if begin < row and held + counts[row] > most:
                found, begin, held = found + 1, row, np.int64(0)
                cuts[found] = begin
            held += counts[row]
    cuts[found + 1] = counts.size
    return found + 2


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _narrow(keys: Any, low: int, shift: int, place: int) -> None:
    """Keys of few bits, in place: rows from `low` on, `shift` bits of the column, `place` bits of where it stands."""
    for k in range(keys.size):
        row = (keys[k] >> np.uint64(32)) - np.uint64(low)
        narrow = (row << np.uint64(shift)) | (keys[k] & np.uint64(HALF))
        keys[k] = (narrow << np.uint64(place)) | (np.uint64(k) if place else np.uint64(0))


@njit(cache=True, nogil=True)
def _moved(keys: Any, place: int, values: Any) -> Any:
    """The values in the order of keys that end in their places, which are taken off."""
    found = np.empty_like(values)
    mask = (np.uint64(1) << np.uint64(place)) - np.uint64(1)
    for k in range(keys.size):
        found[k] = values[keys[k] & mask]
        keys[k] >>= np.uint64(place)
    return found


@njit(cache=True, nogil=True)
def _holds_equal(keys: Any) -> bool:
    equal = False
    for k in range(1, keys.size):
        equal |= keys[k] == keys[k - 1]
    return equal


@njit(cache=True, nogil=True)
def _merge(keys: Any, shift: int, combine: int, offsets: Any, columns: Any, values: Any) -> int:
    """Puts equal keys together in place; how many are left. offsets: zeros. values: none, or one for each key."""
    count, valued = 0, values.size > 0
    mask = (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
    for k in range(keys.size):
        if k and keys[k] == keys[k - 1]:
            if valued and combine == SUM:
                values[count - 1] += values[k]
            elif valued and (values[k].real > values[count - 1].real or values[k] != values[k]):
                values[count - 1] = values[k]
            continue
        columns[count] = np.uint32(keys[k] & mask)
        if valued:
            values[count] = values[k]
        count += 1
        offsets[np.int64(keys[k] >> np.uint64(shift)) + 1] += np.uint32(1)
    for row in range(offsets.size - 1):
        offsets[row + 1] += offsets[row]
    return count
