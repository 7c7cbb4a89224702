"""The border of neighbourhood expansion: a record of each datum, and a queue of buckets by the number of open jobs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.partition.datastructures.bit_operations import lowest_bit
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

# Data with this many open jobs or more share the last bucket, so that the set of used buckets fits one word
BUCKETS = 64
HUBS = np.uint64(1) << np.uint64(BUCKETS - 1)  # the set of used buckets if only the last one is used
PATIENCE = 16  # a hub is deferred while its open jobs would fill more than 1 / PATIENCE of the room left in the cluster
NONE = np.uint32(0xFFFFFFFF)

# Columns of the record table: a visit of a datum reads one cache line.
BEGIN, END, OPEN, SET, NEXT, PREVIOUS, BUCKET, CURSOR = range(8)

Table = npt.NDArray[np.uint32]


class Queue(NamedTuple):
    """The border of the growing cluster: a priority queue of data by number of open jobs, in buckets of linked lists.

    Attributes:
        data: uint32 (data, 8), the record of each datum; NEXT, PREVIOUS and BUCKET are its links.
        heads, tails: uint32 (BUCKETS), the first and the last of each bucket, NONE if it is empty.
    """

    data: Table
    heads: Words
    tails: Words


@njit(cache=True, nogil=True, inline="always")
def link(queue: Queue, x: np.uint32, bucket: np.uint32, last: bool) -> None:
    """Insert x: `last`: to be taken after all others of its bucket, else before them. The tail is taken first."""
    data, heads, tails = queue
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
def unlink(queue: Queue, x: np.uint32, used: np.uint64) -> np.uint64:
    """Remove x from the queue; returns the set of used buckets."""
    data, heads, tails = queue
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
    if heads[bucket] == NONE:
        used &= ~(np.uint64(1) << np.uint64(bucket))
    return used


@njit(cache=True, nogil=True, inline="always")
def pop(queue: Queue, used: np.uint64) -> tuple[np.uint32, np.uint64]:
    """Remove the next datum of the lowest used bucket; returns it and the set of used buckets."""
    x = queue.tails[lowest_bit(used)]
    return x, unlink(queue, x, used)


@njit(cache=True, nogil=True, inline="always")
def push(queue: Queue, x: np.uint32, used: np.uint64) -> np.uint64:
    """Insert x if it has open jobs, after all others of its bucket; returns the set of used buckets."""
    if queue.data[x, OPEN] != 0:
        bucket = min(queue.data[x, OPEN], np.uint32(BUCKETS - 1))
        link(queue, x, bucket, True)
        used |= np.uint64(1) << np.uint64(bucket)
    return used


@njit(cache=True, nogil=True, inline="always")
def close_job(queue: Queue, x: np.uint32, used: np.uint64, even: bool) -> np.uint64:
    """Datum x has one open job less: if queued, it changes its bucket. Returns the set of used buckets."""
    left = queue.data[x, OPEN] - np.uint32(1)
    queue.data[x, OPEN] = left
    old = queue.data[x, BUCKET]
    new = min(left, np.uint32(BUCKETS - 1))
    if old != NONE and new != old:
        used = unlink(queue, x, used)
        if new != 0:
            link(queue, x, new, even)
            used |= np.uint64(1) << np.uint64(new)
    return used


@kept
def sorted_border(data: Table, members: Words) -> Words:
    """Empty the queue; returns the members with open jobs, sorted by that number, then by id."""
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


@kept
def data_table(starts: Longs) -> Table:
    table = np.empty((starts.size - 1, 8), np.uint32)
    for datum in range(starts.size - 1):
        table[datum, BEGIN] = starts[datum]
        table[datum, END] = starts[datum + 1]
        table[datum, OPEN] = starts[datum + 1] - starts[datum]
        table[datum, SET] = NONE
        table[datum, BUCKET] = NONE
    return table
