"""Heap objects, stack slots and globals: which object a pointer lies in, and the places of their bytes."""

from __future__ import annotations

import numpy as np

from . import shadow_memory as sh
from .number_kernels import inner_kernel
from .record_steps import Int
from .shadow_memory import Shadow, ensure, find, write

LARGE = 1 << 16


@inner_kernel
def place_of(shadow: Shadow, row: Int, address: Int) -> Int:
    """Where a byte lies in the layout of the model, −1 when it has no place. `row`: of its page, −1 when unknown."""
    place = shadow.pages[row + sh.PLACE] if row >= 0 else np.int64(sh.NONE)
    if place >= 0:
        return place + (address & (sh.PAGE - 1))
    if shadow.counts[sh.LOW] <= address < shadow.counts[sh.HIGH]:
        return sh.STACK_PLACE + address - shadow.counts[sh.ANCHOR]
    if place == sh.NONE:
        return place
    owner = shadow.owners[shadow.pages[row + sh.OWNERS] + ((address & (sh.PAGE - 1)) >> sh.GRANULE_BITS)]
    if owner == 0:
        return sh.NONE
    return shadow.objects[4 * owner + sh.AT] + address - shadow.objects[4 * owner + sh.START]


@inner_kernel
def owner_of(shadow: Shadow, address: Int) -> Int:
    """Heap object that holds the byte, 0 when there is none."""
    row = find(shadow, address >> sh.PAGE_BITS)
    if row < 0:
        return 0
    if shadow.pages[row + sh.OWNERS] >= 0 and shadow.pages[row + sh.OBJECT] == 0:
        return shadow.owners[shadow.pages[row + sh.OWNERS] + ((address & (sh.PAGE - 1)) >> sh.GRANULE_BITS)]
    return shadow.pages[row + sh.OBJECT]


@inner_kernel
def _bin(size: Int) -> Int:
    """Size class: multiples of 16 bytes, then powers of two."""
    if size <= LARGE:
        return max(0, (size - 1) >> 4)
    bits = 0
    while (1 << bits) < size:
        bits += 1
    return 4096 + bits


@inner_kernel
def _set_owner(shadow: Shadow, start: Int, size: Int, owner: Int) -> None:
    """Note that the granules of a range belong to a heap object, or to none."""
    end = start + max(1, size)
    address = start
    while address < end:
        page = address >> sh.PAGE_BITS
        stop = min(end, (page + 1) << sh.PAGE_BITS)
        row = ensure(shadow, page)
        whole = stop - address == sh.PAGE
        if whole:
            shadow.pages[row + sh.OBJECT] = owner
            shadow.pages[row + sh.PLACE] = shadow.objects[4 * owner + sh.AT] + address - start if owner else sh.NONE
        else:
            table = shadow.pages[row + sh.OWNERS]
            if table < 0:
                table = shadow.counts[sh.N_OWNERS] * sh.GRANULES
                shadow.counts[sh.N_OWNERS] += 1
                shadow.pages[row + sh.OWNERS] = table
            covering = shadow.pages[row + sh.OBJECT]
            if covering:  # the object that had the whole page is gone, or was never reported free
                shadow.pages[row + sh.OBJECT] = 0
            shadow.pages[row + sh.PLACE] = sh.MANY
            first = (address & (sh.PAGE - 1)) >> sh.GRANULE_BITS
            last = ((stop - 1) & (sh.PAGE - 1)) >> sh.GRANULE_BITS
            for granule in range(first, last + 1):
                shadow.owners[table + granule] = owner
        address = stop


@inner_kernel
def allocate(shadow: Shadow, address: Int, size: Int) -> None:
    """A fresh heap object: its bytes have no writer. A null address (out of memory) changes nothing."""
    if address == 0:
        return
    stale = owner_of(shadow, address)
    if stale and shadow.objects[4 * stale + sh.START] == address:
        release(shadow, address)
    kind = _bin(max(1, size))
    owner = shadow.bins[kind]
    if owner:
        shadow.bins[kind] = shadow.objects[4 * owner + sh.NEXT]
    else:
        owner = shadow.counts[sh.N_OBJECTS]
        shadow.counts[sh.N_OBJECTS] += 1
        room = (kind + 1) * 16 if kind < 4096 else 1 << (kind - 4096)
        shadow.objects[4 * owner + sh.AT] = shadow.counts[sh.TOP]
        shadow.counts[sh.TOP] += room + 16
    shadow.objects[4 * owner + sh.START] = address
    shadow.objects[4 * owner + sh.SIZE] = size
    _set_owner(shadow, address, size, owner)
    write(shadow, address, size, np.int64(0))


@inner_kernel
def release(shadow: Shadow, address: Int) -> None:
    """The heap object at `address` is gone; its bytes have no writer. What was never allocated is left alone."""
    owner = owner_of(shadow, address)
    if owner == 0 or shadow.objects[4 * owner + sh.START] != address:
        return
    size = shadow.objects[4 * owner + sh.SIZE]
    _set_owner(shadow, address, size, np.int64(0))
    write(shadow, address, size, np.int64(0))
    kind = _bin(max(1, size))
    shadow.objects[4 * owner + sh.START] = 0
    shadow.objects[4 * owner + sh.NEXT] = shadow.bins[kind]
    shadow.bins[kind] = owner


@inner_kernel
def stack_slot(shadow: Shadow, address: Int, size: Int) -> None:
    """A stack slot begins its life: its bytes have no writer."""
    counts = shadow.counts
    if counts[sh.ANCHOR] == 0:
        counts[sh.ANCHOR] = counts[sh.LOW] = address
    counts[sh.LOW] = min(counts[sh.LOW], address)
    counts[sh.HIGH] = max(counts[sh.HIGH], address + size)
    write(shadow, address, size, np.int64(0))


@inner_kernel
def global_variable(shadow: Shadow, address: Int, size: Int) -> None:
    """A global variable, told at the start; kept sorted by address."""
    if shadow.counts[sh.FIRST_GLOBAL] == 0:
        shadow.counts[sh.FIRST_GLOBAL] = address
    at = shadow.counts[sh.N_GLOBALS]
    shadow.counts[sh.N_GLOBALS] += 1
    while at > 0 and shadow.globals[2 * at - 2] > address:
        shadow.globals[2 * at] = shadow.globals[2 * at - 2]
        shadow.globals[2 * at + 1] = shadow.globals[2 * at - 1]
        at -= 1
    shadow.globals[2 * at] = address
    shadow.globals[2 * at + 1] = size
    for page in range(address >> sh.PAGE_BITS, ((address + max(1, size) - 1) >> sh.PAGE_BITS) + 1):
        row = ensure(shadow, page)
        if shadow.pages[row + sh.PLACE] == sh.NONE:
            shadow.pages[row + sh.PLACE] = sh.GLOBAL_PLACE + (page << sh.PAGE_BITS) - shadow.counts[sh.FIRST_GLOBAL]


@inner_kernel
def global_of(shadow: Shadow, address: Int) -> Int:
    """Number of the global variable that holds the byte, −1 when there is none. O(log globals)."""
    low, high = 0, shadow.counts[sh.N_GLOBALS]
    while low < high:
        middle = (low + high) // 2
        if shadow.globals[2 * middle] <= address:
            low = middle + 1
        else:
            high = middle
    if low and address < shadow.globals[2 * low - 2] + max(1, shadow.globals[2 * low - 1]):
        return low - 1
    return -1
