"""Heap objects, stack slots and globals: which object a pointer lies in, and the places of their bytes."""

from __future__ import annotations

import numpy as np
from numba import njit

from .shadow_memory import (
    ANCHOR,
    AT,
    FIRST_GLOBAL,
    GLOBAL_PLACE,
    GRANULE_BITS,
    GRANULES,
    HIGH,
    LOW,
    MANY,
    N_GLOBALS,
    N_OBJECTS,
    N_OWNERS,
    NEXT,
    NONE,
    OBJECT,
    OWNERS,
    PAGE,
    PAGE_BITS,
    PLACE,
    SIZE,
    STACK_PLACE,
    START,
    TOP,
    Int,
    Shadow,
    ensure,
    find,
    write,
)

LARGE = 1 << 16


@njit(cache=True, nogil=True)
def place_of(shadow: Shadow, row: Int, address: Int) -> Int:
    """Where a byte lies in the layout of the model, −1 when it has no place. `row`: of its page, −1 when unknown."""
    place = shadow.pages[row + PLACE] if row >= 0 else np.int64(NONE)
    if place >= 0:
        return place + (address & (PAGE - 1))
    if shadow.counts[LOW] <= address < shadow.counts[HIGH]:
        return STACK_PLACE + address - shadow.counts[ANCHOR]
    if place == NONE:
        return place
    owner = shadow.owners[shadow.pages[row + OWNERS] + ((address & (PAGE - 1)) >> GRANULE_BITS)]
    if owner == 0:
        return NONE
    return shadow.objects[4 * owner + AT] + address - shadow.objects[4 * owner + START]


@njit(cache=True, nogil=True)
def owner_of(shadow: Shadow, address: Int) -> Int:
    """Heap object that holds the byte, 0 when there is none."""
    row = find(shadow, address >> PAGE_BITS)
    if row < 0:
        return 0
    if shadow.pages[row + OWNERS] >= 0 and shadow.pages[row + OBJECT] == 0:
        return shadow.owners[shadow.pages[row + OWNERS] + ((address & (PAGE - 1)) >> GRANULE_BITS)]
    return shadow.pages[row + OBJECT]


@njit(cache=True, nogil=True)
def _bin(size: Int) -> Int:
    """Size class: multiples of 16 bytes, then powers of two."""
    if size <= LARGE:
        return max(0, (size - 1) >> 4)
    bits = 0
    while (1 << bits) < size:
        bits += 1
    return 4096 + bits


@njit(cache=True, nogil=True)
def _set_owner(shadow: Shadow, start: Int, size: Int, owner: Int) -> None:
    """Note that the granules of a range belong to a heap object, or to none."""
    end = start + max(1, size)
    address = start
    while address < end:
        page = address >> PAGE_BITS
        stop = min(end, (page + 1) << PAGE_BITS)
        row = ensure(shadow, page)
        whole = stop - address == PAGE
        if whole:
            shadow.pages[row + OBJECT] = owner
            shadow.pages[row + PLACE] = shadow.objects[4 * owner + AT] + address - start if owner else NONE
        else:
            table = shadow.pages[row + OWNERS]
            if table < 0:
                table = shadow.counts[N_OWNERS] * GRANULES
                shadow.counts[N_OWNERS] += 1
                shadow.pages[row + OWNERS] = table
            covering = shadow.pages[row + OBJECT]
            if covering:  # the object that had the whole page is gone, or was never reported free
                shadow.pages[row + OBJECT] = 0
            shadow.pages[row + PLACE] = MANY
            first = (address & (PAGE - 1)) >> GRANULE_BITS
            last = ((stop - 1) & (PAGE - 1)) >> GRANULE_BITS
            for granule in range(first, last + 1):
                shadow.owners[table + granule] = owner
        address = stop


@njit(cache=True, nogil=True)
def allocate(shadow: Shadow, address: Int, size: Int) -> None:
    """A fresh heap object: its bytes have no writer. A null address (out of memory) changes nothing."""
    if address == 0:
        return
    stale = owner_of(shadow, address)
    if stale and shadow.objects[4 * stale + START] == address:
        release(shadow, address)
    kind = _bin(max(1, size))
    owner = shadow.bins[kind]
    if owner:
        shadow.bins[kind] = shadow.objects[4 * owner + NEXT]
    else:
        owner = shadow.counts[N_OBJECTS]
        shadow.counts[N_OBJECTS] += 1
        room = (kind + 1) * 16 if kind < 4096 else 1 << (kind - 4096)
        shadow.objects[4 * owner + AT] = shadow.counts[TOP]
        shadow.counts[TOP] += room + 16
    shadow.objects[4 * owner + START] = address
    shadow.objects[4 * owner + SIZE] = size
    _set_owner(shadow, address, size, owner)
    write(shadow, address, size, 0)


@njit(cache=True, nogil=True)
def release(shadow: Shadow, address: Int) -> None:
    """The heap object at `address` is gone; its bytes have no writer. What was never allocated is left alone."""
    owner = owner_of(shadow, address)
    if owner == 0 or shadow.objects[4 * owner + START] != address:
        return
    size = shadow.objects[4 * owner + SIZE]
    _set_owner(shadow, address, size, 0)
    write(shadow, address, size, 0)
    kind = _bin(max(1, size))
    shadow.objects[4 * owner + START] = 0
    shadow.objects[4 * owner + NEXT] = shadow.bins[kind]
    shadow.bins[kind] = owner


@njit(cache=True, nogil=True)
def stack_slot(shadow: Shadow, address: Int, size: Int) -> None:
    """A stack slot begins its life: its bytes have no writer."""
    counts = shadow.counts
    if counts[ANCHOR] == 0:
        counts[ANCHOR] = counts[LOW] = address
    counts[LOW] = min(counts[LOW], address)
    counts[HIGH] = max(counts[HIGH], address + size)
    write(shadow, address, size, 0)


@njit(cache=True, nogil=True)
def global_variable(shadow: Shadow, address: Int, size: Int) -> None:
    """A global variable, told at the start; kept sorted by address."""
    if shadow.counts[FIRST_GLOBAL] == 0:
        shadow.counts[FIRST_GLOBAL] = address
    at = shadow.counts[N_GLOBALS]
    shadow.counts[N_GLOBALS] += 1
    while at > 0 and shadow.globals[2 * at - 2] > address:
        shadow.globals[2 * at] = shadow.globals[2 * at - 2]
        shadow.globals[2 * at + 1] = shadow.globals[2 * at - 1]
        at -= 1
    shadow.globals[2 * at] = address
    shadow.globals[2 * at + 1] = size
    for page in range(address >> PAGE_BITS, ((address + max(1, size) - 1) >> PAGE_BITS) + 1):
        row = ensure(shadow, page)
        if shadow.pages[row + PLACE] == NONE:
            shadow.pages[row + PLACE] = GLOBAL_PLACE + (page << PAGE_BITS) - shadow.counts[FIRST_GLOBAL]


@njit(cache=True, nogil=True)
def global_of(shadow: Shadow, address: Int) -> Int:
    """Number of the global variable that holds the byte, −1 when there is none. O(log globals)."""
    low, high = 0, shadow.counts[N_GLOBALS]
    while low < high:
        middle = (low + high) // 2
        if shadow.globals[2 * middle] <= address:
            low = middle + 1
        else:
            high = middle
    if low and address < shadow.globals[2 * low - 2] + max(1, shadow.globals[2 * low - 1]):
        return low - 1
    return -1
