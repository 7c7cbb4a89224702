"""What neighbourhood expansion knows of the data: a record each, and the border as a queue of buckets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Longs

BUCKETS = 64  # data with more open jobs are never the best while any other is left; one word holds the bucket set
HUBS = np.uint64(1) << np.uint64(BUCKETS - 1)  # the bucket set when no other datum is left
PATIENCE = 16  # a hub waits while its open jobs would take more than this part of the room that a cluster has left
NONE = np.uint32(0xFFFFFFFF)

# Columns of the record table: what one visit needs lies in one cache line.
BEGIN, END, OPEN, SET, NEXT, PREVIOUS, BUCKET, CURSOR = range(8)

Table = npt.NDArray[np.uint32]


@njit(cache=True, nogil=True, inline="always")
def link(data: Table, heads: Words, tails: Words, x: np.uint32, bucket: np.uint32, last: bool) -> None:
    """Queue x: `last` to be taken after all others of its bucket, else before them. The tail is taken first."""
    if last:
        other = heads[bucket]
        data[x, NEXT], data[x, PREVIOUS] = other, NONE
        if other != NONE:
            data[other, PREVIOUS] = x
        else:
            tails[bucket] = x
        heads[bucket] = x
    else:
        other = tails[bucket]
        data[x, NEXT], data[x, PREVIOUS] = NONE, other
        if other != NONE:
            data[other, NEXT] = x
        else:
            heads[bucket] = x
        tails[bucket] = x
    data[x, BUCKET] = bucket


@njit(cache=True, nogil=True, inline="always")
def unlink(data: Table, heads: Words, tails: Words, x: np.uint32) -> None:
    bucket, after, before = data[x, BUCKET], data[x, NEXT], data[x, PREVIOUS]
    if before != NONE:
        data[before, NEXT] = after
    else:
        heads[bucket] = after
    if after != NONE:
        data[after, PREVIOUS] = before
    else:
        tails[bucket] = before
    data[x, BUCKET] = NONE


@njit(cache=True, nogil=True)
def sorted_border(data: Table, members: Words) -> Words:
    """Empty the queue; the members with open jobs, by their number, then by id."""
    keys = np.empty(members.size, np.int64)
    size = 0
    for i in range(members.size):
        y = members[i]
        data[y, BUCKET] = NONE
        if data[y, OPEN] != 0:
            keys[size] = (np.int64(data[y, OPEN]) << 32) | np.int64(y)
            size += 1
    ordered = np.sort(keys[:size])
    border = np.empty(size, np.uint32)
    for i in range(size):
        border[i] = ordered[i] & 0xFFFFFFFF
    return border


@njit(cache=True, nogil=True)
def data_table(starts: Longs) -> Table:
    table = np.empty((starts.size - 1, 8), np.uint32)
    for datum in range(starts.size - 1):
        table[datum, BEGIN] = starts[datum]
        table[datum, END] = starts[datum + 1]
        table[datum, OPEN] = starts[datum + 1] - starts[datum]
        table[datum, SET] = NONE
        table[datum, BUCKET] = NONE
    return table
