"""Entries as numbers, cut into pieces of rows; a piece sorted by rows and columns, what is at one place put together.

An entry is a key, its row in the upper and its column in the lower half of 64 bits, and perhaps a value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import kept

from ...datastructures.radix_sort import radix_order

Keys = npt.NDArray[np.uint64]
Values = npt.NDArray[Any]
Longs = npt.NDArray[np.int64]
SUM, LARGEST = range(2)  # what becomes of entries at the same place
HALF = 0xFFFFFFFF


def piece_cuts(counts: Longs, most: int, borders: npt.ArrayLike = ()) -> Longs:
    """Where pieces of at most `most` entries begin, and where the last one ends; a longer row is a piece of its own.

    counts: int64 (rows), entries of each row. borders: rows at which pieces begin where they can. Among the pieces
    between two of these, all but the last are as long as they may be. O(rows).
    """
    wanted = np.unique(np.array([0, *np.asarray(borders, np.int64).tolist(), counts.size], np.int64))
    cuts = np.empty(counts.size + 1, np.int64)
    return cuts[: int(_cut(counts, most, wanted, cuts))].copy() if counts.size else np.zeros(1, np.int64)


def merged(keys: Keys, values: Values, low: int, high: int, combine: int) -> tuple[Values, ...]:
    """Offsets, columns and values of the rows [low, high); no values where all are 1, as in what is given.

    keys, values: of these rows, overwritten; (0) values where all are 1. combine: SUM, in the order given, or LARGEST.
    O(entries · log entries).
    """
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


@kept
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


@kept
def _narrow(keys: Any, low: int, shift: int, place: int) -> None:
    """Keys of few bits, in place: rows from `low` on, `shift` bits of the column, `place` bits of where it stands."""
    for k in range(keys.size):
        row = (keys[k] >> np.uint64(32)) - np.uint64(low)
        narrow = (row << np.uint64(shift)) | (keys[k] & np.uint64(HALF))
        keys[k] = (narrow << np.uint64(place)) | (np.uint64(k) if place else np.uint64(0))


@kept
def _moved(keys: Any, place: int, values: Any) -> Any:
    """The values in the order of keys that end in their places, which are taken off."""
    found = np.empty_like(values)
    mask = (np.uint64(1) << np.uint64(place)) - np.uint64(1)
    for k in range(keys.size):
        found[k] = values[keys[k] & mask]
        keys[k] >>= np.uint64(place)
    return found


@kept
def _holds_equal(keys: Any) -> bool:
    equal = False
    for k in range(1, keys.size):
        equal |= keys[k] == keys[k - 1]
    return equal


@kept
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
