"""Who wrote each byte last, and where it lies in a layout that does not depend on where the system put it.

Memory is followed in pages of 4 KiB, found by a hash table. For each aligned word of 4 bytes a page holds the vertex
that wrote it last, plus one; MIXED words have four writers of their own, in a second table. Who read it since then is
kept only where it is asked for (`hazards`).

Times must not depend on address randomisation, so that the caches are simulated on *places*: heap objects lie where a
model allocator puts them (size classes, last freed first reused), stack slots by their distance from the first one,
globals by their distance from the first one. Other memory (arguments of the program, the library's own) has no place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.support.arrays import Ints, Longs

from .number_kernels import inner_kernel, outer_kernel
from .record_steps import Int

PAGE_BITS = 12
PAGE = 1 << PAGE_BITS
WORDS = PAGE // 4  # words of a page
GRANULE_BITS = 4  # malloc aligns to 16 bytes: a granule belongs to one object
GRANULES = PAGE >> GRANULE_BITS
MIXED = -1
SPLIT = -1
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
NONE = -1
MANY = -2  # the place depends on the granule
BINS = 4096 + 64
STACK_PLACE = 1 << 44
GLOBAL_PLACE = 1 << 45

NUMBER, PLACE, WRITERS, SINGLES, OWNERS, OBJECT, READERS, READER_SINGLES, FIELDS = range(9)
START, SIZE, AT, NEXT = range(4)
N_PAGES, N_WRITERS, N_SINGLES, N_OWNERS, N_OBJECTS, N_GLOBALS = range(6)
# Next free place of the heap; first stack slot, lowest and highest address of any; first global.
TOP, ANCHOR, LOW, HIGH, FIRST_GLOBAL, N_HEADS, N_READS, COUNTERS = range(6, 14)

Writers = npt.NDArray[np.int32] | npt.NDArray[np.int64]


class Shadow(NamedTuple):
    """State of all followed memory; every table grows outside of the kernel.

    Attributes:
        keys, values: hash table page number → row of `pages`; a key of −1 is free. Length a power of two.
        pages: int64 (pages · FIELDS): page number, place of its first byte (NONE, MANY), its tables of writers, of
            single bytes and of owners (−1: none yet), heap object that covers all of it, and the tables of its readers
            by word and by byte (−1: none yet).
        writers: last writer + 1 of each word, 0 when there is none; WORDS a table.
        singles: the same for each byte of MIXED words; PAGE a table.
        owners: heap object of each granule, 0 when there is none; GRANULES a table.
        objects: int64 (objects · 4): address, bytes, place, next free one of its size; entry 0 is none.
        bins: first free object of each size class.
        globals: int64 (globals · 2): address and bytes, by address.
        heads: int32, for each word the first entry of its readers in `reads`: 0 there are none, SPLIT each byte has its
            own, in a second table; WORDS a table, of bytes PAGE.
        reads: int64, vertex · 2**31 + the next entry: lists that share their ends. Entry 0 is none.
        counts: numbers of used rows, and the reference addresses of the places.
    """

    keys: Longs
    values: Longs
    pages: Longs
    writers: Writers
    singles: Writers
    owners: Ints
    objects: Longs
    bins: Longs
    globals: Longs
    heads: Ints
    reads: Longs
    counts: Longs


def new_table(size: int) -> tuple[Longs, Longs]:
    """An empty hash table, (keys, values). `size`: a power of two."""
    return np.full(size, NONE, np.int64), np.zeros(size, np.int64)


def with_room(keys: Longs, values: Longs, entries: int, fill: Callable[..., None]) -> tuple[Longs, Longs]:
    """A hash table with the same entries and room for so many. `fill`: `rehash`, or its plain twin."""
    while keys.size // 2 < entries:
        larger = new_table(4 * keys.size)
        fill(keys, values, *larger)
        keys, values = larger
    return keys, values


def no_shadow() -> Shadow:
    """A memory in which nothing is followed, for walks that follow frames alone."""
    one, ids = np.zeros(1, np.int64), np.zeros(1, np.int32)
    return Shadow(one, one, one, ids, ids, ids, one, one, one, ids, one, np.zeros(COUNTERS, np.int64))


@njit(cache=True, nogil=True, inline="always")
def slot_of(keys: Longs, key: Int) -> np.uint64:
    """Where a key stands in a hash table, or the free slot that is its place."""
    mask = np.uint64(keys.size - 1)
    slot = ((np.uint64(np.int64(key)) * GOLDEN) >> np.uint64(32)) & mask
    while keys[slot] != key and keys[slot] != NONE:
        slot = (slot + np.uint64(1)) & mask
    return slot


@inner_kernel
def find(shadow: Shadow, page: Int) -> Int:
    """First entry of the page's row in `pages`, −1 when it was never touched."""
    slot = slot_of(shadow.keys, page)
    return shadow.values[slot] if shadow.keys[slot] == page else np.int64(NONE)


@inner_kernel
def ensure(shadow: Shadow, page: Int) -> Int:
    """First entry of the page's row, made when it is missing."""
    slot = slot_of(shadow.keys, page)
    if shadow.keys[slot] == page:
        return shadow.values[slot]
    row = shadow.counts[N_PAGES] * FIELDS
    shadow.counts[N_PAGES] += 1
    shadow.keys[slot] = page
    shadow.values[slot] = row
    shadow.pages[row + NUMBER] = page
    for field in (PLACE, WRITERS, SINGLES, OWNERS, READERS, READER_SINGLES):
        shadow.pages[row + field] = NONE
    shadow.pages[row + OBJECT] = 0
    return row


@inner_kernel
def writers_of(shadow: Shadow, row: Int) -> Int:
    """First entry of the page's writers, made when they are missing."""
    table = shadow.pages[row + WRITERS]
    if table < 0:
        table = shadow.counts[N_WRITERS] * WORDS
        shadow.counts[N_WRITERS] += 1
        shadow.pages[row + WRITERS] = table
    return table


@inner_kernel
def _singles_of(shadow: Shadow, row: Int) -> Int:
    table = shadow.pages[row + SINGLES]
    if table < 0:
        table = shadow.counts[N_SINGLES] * PAGE
        shadow.counts[N_SINGLES] += 1
        shadow.pages[row + SINGLES] = table
    return table


@inner_kernel
def write(shadow: Shadow, address: Int, length: Int, mark: Int) -> None:
    """Make `mark` (vertex + 1, or 0 for no value, which nobody has read) the last writer of a byte range."""
    end = address + length
    while address < end:
        stop = min(end, ((address >> PAGE_BITS) + 1) << PAGE_BITS)
        if mark == 0:
            row = find(shadow, address >> PAGE_BITS)
            if row >= 0 and shadow.pages[row + READERS] >= 0:
                unread(shadow, row, address & (PAGE - 1), stop - address)
            if row < 0 or shadow.pages[row + WRITERS] < 0:
                address = stop
                continue
        else:
            row = ensure(shadow, address >> PAGE_BITS)
        table = writers_of(shadow, row)
        if address & 3:
            upto = min(stop, (address | 3) + 1)
            _write_part(shadow, row, table, address & (PAGE - 1), upto - address, mark)
            address = upto
        first = table + ((address & (PAGE - 1)) >> 2)
        whole = (stop - address) >> 2
        for word in range(whole):
            shadow.writers[np.uint64(first + word)] = mark
        address += whole << 2
        if address < stop:
            _write_part(shadow, row, table, address & (PAGE - 1), stop - address, mark)
            address = stop


@inner_kernel
def _write_part(shadow: Shadow, row: Int, table: Int, offset: Int, length: Int, mark: Int) -> None:
    """Write some bytes of one word."""
    word = table + (offset >> 2)
    old = shadow.writers[word]
    if old == mark:
        return
    singles = _singles_of(shadow, row) + (offset & ~3)
    if old != MIXED:
        for place in range(4):
            shadow.singles[singles + place] = old
    for place in range(offset & 3, (offset & 3) + length):
        shadow.singles[singles + place] = mark
    same = True
    for place in range(4):
        same &= shadow.singles[singles + place] == mark
    shadow.writers[word] = mark if same else MIXED


@inner_kernel
def unread(shadow: Shadow, row: Int, offset: Int, length: Int) -> None:
    """Nobody has read these bytes of a page, which has a table of readers."""
    table, end = shadow.pages[row + READERS], offset + length
    while offset < end:
        upto = min(end, (offset | 3) + 1)
        word = table + (offset >> 2)
        if upto - offset == 4 or shadow.heads[word] == 0:
            shadow.heads[word] = 0
        else:
            singles = split_readers(shadow, row, word, offset & ~3)
            for place in range(offset & 3, (offset & 3) + upto - offset):
                shadow.heads[singles + place] = 0
        offset = upto


@inner_kernel
def split_readers(shadow: Shadow, row: Int, word: Int, offset: Int) -> Int:
    """First of the four entries of a word whose bytes have readers of their own; made when it is missing."""
    table = shadow.pages[row + READER_SINGLES]
    if table < 0:
        table = shadow.counts[N_HEADS] * WORDS
        shadow.counts[N_HEADS] += PAGE // WORDS
        shadow.pages[row + READER_SINGLES] = table
    singles = table + offset
    if shadow.heads[word] != SPLIT:
        for place in range(4):
            shadow.heads[singles + place] = shadow.heads[word]
        shadow.heads[word] = SPLIT
    return singles


@inner_kernel
def collect(shadow: Shadow, address: Int, length: Int, found: Writers, start: Int, at: Int) -> Int:
    """Append the writers of a byte range to `found[at:]`; equal neighbours (from `start` on) once. The new end."""
    end = address + length
    while address < end:
        stop = min(end, ((address >> PAGE_BITS) + 1) << PAGE_BITS)
        row = find(shadow, address >> PAGE_BITS)
        if row < 0 or shadow.pages[row + WRITERS] < 0:
            address = stop
            continue
        table = shadow.pages[row + WRITERS]
        while address < stop:
            offset = address & (PAGE - 1)
            mark = shadow.writers[table + (offset >> 2)]
            upto = min(stop, (address | 3) + 1)
            if mark == MIXED:
                singles = shadow.pages[row + SINGLES] + offset
                for place in range(upto - address):
                    mark = shadow.singles[singles + place]
                    if mark > 0 and (at == start or found[at - 1] != mark - 1):
                        found[at] = mark - 1
                        at += 1
            elif mark > 0 and (at == start or found[at - 1] != mark - 1):
                found[at] = mark - 1
                at += 1
            address = upto
    return at


@inner_kernel
def distinct(found: Writers, start: Int, end: Int) -> Int:
    """Sort `found[start:end]` and drop doubles; the new end."""
    if end - start < 2:
        return end
    # Shell's sort: it is compiled in a tenth of the time of NumPy's, and fast where most stands in order already.
    gap: Int = np.int64(1)
    while gap < (end - start) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, end):
            value = found[i]
            j = i
            while j >= start + gap and found[j - gap] > value:
                found[j] = found[j - gap]
                j -= gap
            found[j] = value
        gap //= 3
    at = start + 1
    for i in range(start + 1, end):
        if found[i] != found[at - 1]:
            found[at] = found[i]
            at += 1
    return at


@outer_kernel
def rehash(keys: Longs, values: Longs, new_keys: Longs, new_values: Longs) -> None:
    """Fill a larger hash table."""
    for old in range(keys.size):
        if keys[old] != NONE:
            slot = slot_of(new_keys, keys[old])
            new_keys[slot] = keys[old]
            new_values[slot] = values[old]
