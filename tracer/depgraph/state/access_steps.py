"""Steps over ranges, lanes and whole objects: what they read, what they write, what they cost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.ir.machine.cache_simulator import Levels, access
from tracecut.support.arrays import Ints, Longs

from .argument_passing import GENERAL_END, REAL_END
from .call_frames import CALLED, DEPTH, FRAME_FIELDS, SITE, SLOTS, UNRESOLVED, Frames, passed_end
from .object_places import allocate, global_of, owner_of, place_of, release, stack_slot
from .record_steps import (
    ALLOCATE,
    COPIED,
    DROP,
    GATHER,
    LANES_READ,
    LANES_WRITE,
    OPAQUE_READ,
    OPAQUE_WRITE,
    PASSED_READ,
    RANGE_READ,
    RANGE_WRITE,
    REALLOC_READ,
    REALLOCATE,
    RELEASE,
    SCATTER,
    SLOT,
)
from .shadow_memory import PAGE_BITS, SIZE, START, Int, Shadow, Writers, collect, find, write

Words = npt.NDArray[np.uint32]
LINE_BITS, LATENCY = 0, 5  # of the first level, in `Levels.geometry`


@njit(cache=True, nogil=True, inline="always")
def long(words: Words, at: Int) -> Int:
    """The 64-bit value of two words."""
    return np.int64(np.uint64(words[at]) | (np.uint64(words[at + 1]) << np.uint64(32)))


@njit(cache=True, nogil=True)
def cost(shadow: Shadow, levels: Levels, address: Int, length: Int, modelled: bool) -> Int:
    """Cycles of an access; without a model 1. Memory without a place counts as found in the first level."""
    if not modelled:
        return np.int64(1)
    place = place_of(shadow, find(shadow, address >> PAGE_BITS), address)
    if place < 0:
        return (((length - 1) >> levels.geometry[0, LINE_BITS]) + 1) * levels.geometry[0, LATENCY]
    return access(levels, place, length)


@njit(cache=True, nogil=True)
def object_of(shadow: Shadow, frames: Frames, state: Longs, address: Int) -> tuple[Int, Int]:
    """(start, bytes) of the object that holds an address, (0, 0) when it is not known."""
    owner = owner_of(shadow, address)
    if owner:
        return shadow.objects[4 * owner + START], shadow.objects[4 * owner + SIZE]
    number = global_of(shadow, address)
    if number >= 0:
        return shadow.globals[2 * number], shadow.globals[2 * number + 1]
    for slot in range(state[SLOTS] - 1, -1, -1):
        start, size = frames.slots[2 * slot], frames.slots[2 * slot + 1]
        if start <= address < start + size:
            return start, size
    return np.int64(0), np.int64(0)


@njit(cache=True, nogil=True)
def kept_bytes(shadow: Shadow, words: Words, at: Int) -> Int:
    """Bytes that a realloc keeps; 0 when it failed or there was nothing."""
    old, new, size = long(words, at), long(words, at + 2), long(words, at + 4)
    owner = owner_of(shadow, old) if old else 0
    if new == 0 or owner == 0 or shadow.objects[4 * owner + START] != old:
        return np.int64(0)
    return min(size, shadow.objects[4 * owner + SIZE])


@njit(cache=True, nogil=True)
def dynamic_size(
    words: Words, payload: Int, steps: Ints, step: Int, shadow: Shadow, frames: Frames, state: Longs
) -> Int:
    """Bytes that a step may touch beyond what is known statically."""
    code, at = steps[step], payload + np.int64(steps[step + 2])
    if code in (RANGE_READ, RANGE_WRITE):
        return max(np.int64(0), long(words, payload + np.int64(steps[step + 3])))
    if code == COPIED:
        return np.int64(steps[step + 3])
    if code in (ALLOCATE, SLOT):
        return long(words, at + 2)
    if code == REALLOC_READ:
        return kept_bytes(shadow, words, at)
    if code == REALLOCATE:
        return max(long(words, at + 4), object_of(shadow, frames, state, long(words, at))[1])
    if code == DROP:
        return np.int64(steps[step + 3])
    if code == PASSED_READ:
        stack = long(words, at)
        return REAL_END + passed_end(frames, state, stack) - stack
    if code in (RELEASE, OPAQUE_READ, OPAQUE_WRITE):
        return object_of(shadow, frames, state, long(words, at))[1]
    return np.int64(0)


@njit(cache=True, nogil=True)
def read_many(
    words: Words,
    payload: Int,
    code: Int,
    a: Int,
    b: Int,
    c: Int,
    shadow: Shadow,
    frames: Frames,
    levels: Levels,
    found: Writers,
    start: Int,
    at: Int,
    modelled: bool,
    state: Longs,
) -> tuple[Int, Int]:
    """Append the writers of what a step reads to `found`; the new end, and the cycles of the access."""
    address = long(words, payload + a)
    cycles = np.int64(0)
    if code == LANES_READ:
        first: Int = c
        last: Int = np.int64(-1)
        for lane in range(c):
            if words[payload + a + 2 + (lane >> 5)] >> (lane & 31) & 1:
                at = collect(shadow, address + lane * b, b, found, start, at)
                first, last = min(first, lane), lane
        if last >= 0:
            cycles = cost(shadow, levels, address + first * b, (last + 1 - first) * b, modelled)
        return at, cycles
    if code == GATHER:
        for lane in range(c):
            if words[payload + a + 2 * c + (lane >> 5)] >> (lane & 31) & 1:
                one = long(words, payload + a + 2 * lane)
                at = collect(shadow, one, b, found, start, at)
                cycles += cost(shadow, levels, one, b, modelled)
        return at, cycles
    if code == PASSED_READ:
        save = long(words, payload + a + 2)
        general, real = np.int64(words[payload + a + 4]), np.int64(words[payload + a + 5])
        at = collect(shadow, save + general, GENERAL_END - general, found, start, at)
        at = collect(shadow, save + real, REAL_END - real, found, start, at)
        length = passed_end(frames, state, address) - address
    elif code == RANGE_READ:
        length = long(words, payload + b)
    elif code == REALLOC_READ:
        length = kept_bytes(shadow, words, payload + a)
    else:
        pointer = address
        address, length = object_of(shadow, frames, state, pointer)
        if address == 0 and pointer != 0:
            state[UNRESOLVED] += 1
    if length > 0:
        at = collect(shadow, address, length, found, start, at)
        cycles = cost(shadow, levels, address, length, modelled)
    return at, cycles


@njit(cache=True, nogil=True)
def change(
    words: Words,
    payload: Int,
    code: Int,
    a: Int,
    b: Int,
    c: Int,
    shadow: Shadow,
    frames: Frames,
    levels: Levels,
    mark: Int,
    modelled: bool,
    state: Longs,
) -> Int:
    """Take a step that writes, allocates or clears; its cycles. `mark` is its vertex + 1."""
    address = long(words, payload + a)
    cycles = np.int64(0)
    length = np.int64(0)
    if code == RANGE_WRITE:
        length = long(words, payload + b)
    elif code == OPAQUE_WRITE:
        address, length = object_of(shadow, frames, state, address)
    elif code == LANES_WRITE:
        for lane in range(c):
            if words[payload + a + 2 + (lane >> 5)] >> (lane & 31) & 1:
                write(shadow, address + lane * b, b, mark)
                cycles += cost(shadow, levels, address + lane * b, b, modelled)
    elif code == SCATTER:
        for lane in range(c):
            if words[payload + a + 2 * c + (lane >> 5)] >> (lane & 31) & 1:
                one = long(words, payload + a + 2 * lane)
                write(shadow, one, b, mark)
                cycles += cost(shadow, levels, one, b, modelled)
    elif code == ALLOCATE:
        size = long(words, payload + a + 2)
        allocate(shadow, address, size)
        if b and address:
            length = size
    elif code == RELEASE:
        release(shadow, address)
    elif code == REALLOCATE:
        length = kept_bytes(shadow, words, payload + a)
        new, size = long(words, payload + a + 2), long(words, payload + a + 4)
        if new or size == 0:
            release(shadow, address)
        allocate(shadow, new, size)
        address = new
    elif code == SLOT:
        size = long(words, payload + a + 2)
        stack_slot(shadow, address, size)
        _push_slot(frames, state, address, size)
    elif code == DROP:
        write(shadow, address, b, 0)
    elif code == COPIED:
        write(shadow, address, b, 0)
        below = (state[DEPTH] - 2) * FRAME_FIELDS
        known = below >= 0 and frames.frames[below + SITE] >= 0
        write(shadow, address, b, frames.frames[below + CALLED] + 1 if known else 0)
    if length > 0:
        if code != RANGE_WRITE or c == 0:
            write(shadow, address, length, mark)
        cycles = cost(shadow, levels, address, length, modelled)
    return cycles


@njit(cache=True, nogil=True)
def _push_slot(frames: Frames, state: Longs, address: Int, size: Int) -> None:
    """Note a stack slot; those that it lies over are gone (a loop that makes and drops the same one)."""
    slots = frames.slots
    while state[SLOTS]:
        top = 2 * state[SLOTS] - 2
        if slots[top] >= address + size or slots[top] + slots[top + 1] <= address:
            break
        state[SLOTS] -= 1
    slots[2 * state[SLOTS]] = address
    slots[2 * state[SLOTS] + 1] = size
    state[SLOTS] += 1
