"""Memory steps of records: the ranges that they access, what they read, what they write, and what they cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tracecut.ir.machine.cache_simulator import LATENCY, LINE_BITS, Levels, access
from tracecut.support.arrays import Ints, Longs
from tracecut.tracer.trace.events.event_words import Words

from . import call_frames as fr
from . import record_steps as op
from .argument_passing import GENERAL_END, REAL_END
from .call_frames import Frames, passed_end
from .number_kernels import inner_kernel
from .object_places import allocate, global_of, owner_of, place_of, release, stack_slot
from .record_steps import Int, long
from .shadow_memory import PAGE_BITS, SIZE, START, Shadow, Writers, collect, find, write


class WalkState(NamedTuple):
    """What a walk over records works on. `state`: see `call_frames`; `modelled`: whether caches are simulated."""

    frames: Frames
    shadow: Shadow
    levels: Levels
    state: Longs
    modelled: bool


@inner_kernel
def cost(shadow: Shadow, levels: Levels, address: Int, length: Int, modelled: bool) -> Int:
    """Cycles of an access; without a model 1. Memory without a place counts as found in the first level."""
    if not modelled:
        return np.int64(1)
    place = place_of(shadow, find(shadow, address >> PAGE_BITS), address)
    if place < 0:
        return (((length - 1) >> levels.geometry[0, LINE_BITS]) + 1) * levels.geometry[0, LATENCY]
    return access(levels, place, length)


@inner_kernel
def range_count(steps: Ints, row: Int) -> Int:
    """Number of the ranges that a memory step may access: its lanes, or one."""
    return np.int64(steps[row + 4]) if steps[row] in op.LANED else np.int64(1)


@inner_kernel
def range_of(words: Words, payload: Int, steps: Ints, row: Int, number: Int) -> tuple[Int, Int]:
    """(address, bytes) of a range of a step from LOAD to SCATTER; 0 bytes for a lane that is masked off."""
    code, at = steps[row], payload + np.int64(steps[row + 2])
    b, lanes = np.int64(steps[row + 3]), np.int64(steps[row + 4])
    address = long(words, at)
    if code in (op.RANGE_READ, op.RANGE_WRITE):
        return address, long(words, payload + b)
    if code in op.LANED:
        mask = at + 2
        if code in (op.GATHER, op.SCATTER):
            address, mask = long(words, at + 2 * number), at + 2 * lanes
        else:
            address += number * b
        if words[mask + (number >> 5)] >> (number & 31) & 1 == 0:
            b = np.int64(0)
    return address, b


@inner_kernel
def object_of(walk: WalkState, address: Int) -> tuple[Int, Int]:
    """(start, bytes) of the object that holds an address, (0, 0) when it is not known."""
    shadow, slots = walk.shadow, walk.frames.slots
    owner = owner_of(shadow, address)
    if owner:
        return shadow.objects[4 * owner + START], shadow.objects[4 * owner + SIZE]
    number = global_of(shadow, address)
    if number >= 0:
        return shadow.globals[2 * number], shadow.globals[2 * number + 1]
    for slot in range(walk.state[fr.SLOTS] - 1, -1, -1):
        if slots[2 * slot] <= address < slots[2 * slot] + slots[2 * slot + 1]:
            return slots[2 * slot], slots[2 * slot + 1]
    return np.int64(0), np.int64(0)


@inner_kernel
def kept_bytes(shadow: Shadow, words: Words, at: Int) -> Int:
    """Bytes that a realloc keeps; 0 when it failed or there was nothing."""
    old, new, size = long(words, at), long(words, at + 2), long(words, at + 4)
    owner = owner_of(shadow, old) if old else 0
    if new == 0 or owner == 0 or shadow.objects[4 * owner + START] != old:
        return np.int64(0)
    return min(size, shadow.objects[4 * owner + SIZE])


@inner_kernel
def accessed_range(words: Words, payload: Int, steps: Ints, row: Int, number: Int, walk: WalkState) -> tuple[Int, Int]:
    """As `range_of`, also of steps that access a whole object."""
    at = payload + np.int64(steps[row + 2])
    if steps[row] in (op.OPAQUE_READ, op.OPAQUE_WRITE):
        return object_of(walk, long(words, at))
    if steps[row] == op.REALLOC_READ:
        return long(words, at), kept_bytes(walk.shadow, words, at)
    return range_of(words, payload, steps, row, number)


@inner_kernel
def dynamic_size(words: Words, payload: Int, steps: Ints, row: Int, walk: WalkState) -> Int:
    """Bytes that a step may access beyond what is known statically."""
    code, at = steps[row], payload + np.int64(steps[row + 2])
    if code in (op.RANGE_READ, op.RANGE_WRITE):
        return max(np.int64(0), long(words, payload + np.int64(steps[row + 3])))
    if code in (op.COPIED, op.DROP):
        return np.int64(steps[row + 3])
    if code in (op.ALLOCATE, op.SLOT):
        return long(words, at + 2)
    if code == op.REALLOC_READ:
        return kept_bytes(walk.shadow, words, at)
    if code == op.REALLOCATE:
        return max(long(words, at + 4), object_of(walk, long(words, at))[1])
    if code == op.PASSED_READ:
        stack = long(words, at)
        return REAL_END + passed_end(walk.frames, walk.state, stack) - stack
    if code in (op.RELEASE, op.OPAQUE_READ, op.OPAQUE_WRITE):
        return object_of(walk, long(words, at))[1]
    return np.int64(0)


@inner_kernel
def read_many(
    words: Words, payload: Int, steps: Ints, row: Int, walk: WalkState, found: Writers, start: Int, at: Int
) -> tuple[Int, Int]:
    """Append the writers of what a step reads to `found`; the new end, and the cycles of the access."""
    shadow, levels, code = walk.shadow, walk.levels, steps[row]
    cycles, first, end = np.int64(0), np.int64(0), np.int64(0)
    if code == op.PASSED_READ:
        place = payload + np.int64(steps[row + 2])
        first, save = long(words, place), long(words, place + 2)
        general, real = np.int64(words[place + 4]), np.int64(words[place + 5])
        at = collect(shadow, save + general, GENERAL_END - general, found, start, at)
        at = collect(shadow, save + real, REAL_END - real, found, start, at)
        end = passed_end(walk.frames, walk.state, first)
        if end > first:
            at = collect(shadow, first, end - first, found, start, at)
    else:
        for number in range(range_count(steps, row)):
            address, length = accessed_range(words, payload, steps, row, number, walk)
            if length > 0:
                at = collect(shadow, address, length, found, start, at)
                if code == op.GATHER:
                    cycles += cost(shadow, levels, address, length, walk.modelled)
                else:  # the lanes of a vector are one access, from the first active one to the last
                    first, end = first if end else address, address + length
            elif code == op.OPAQUE_READ and address == 0 and long(words, payload + np.int64(steps[row + 2])) != 0:
                walk.state[fr.UNRESOLVED] += 1
    if end > first:
        cycles += cost(shadow, levels, first, end - first, walk.modelled)
    return at, cycles


@inner_kernel
def change(words: Words, payload: Int, steps: Ints, row: Int, walk: WalkState, mark: Int) -> Int:
    """Take a step that writes, allocates or clears; its cycles. `mark` is its vertex + 1."""
    frames, shadow, state = walk.frames, walk.shadow, walk.state
    code, at = steps[row], payload + np.int64(steps[row + 2])
    b, c = np.int64(steps[row + 3]), np.int64(steps[row + 4])
    address = long(words, at)
    cycles, length = np.int64(0), np.int64(0)
    if code in (op.LANES_WRITE, op.SCATTER):
        for lane in range(c):
            one, size = range_of(words, payload, steps, row, lane)
            if size > 0:
                write(shadow, one, size, mark)
                cycles += cost(shadow, walk.levels, one, size, walk.modelled)
    elif code in (op.RANGE_WRITE, op.OPAQUE_WRITE):
        address, length = accessed_range(words, payload, steps, row, 0, walk)
    elif code == op.ALLOCATE:
        size = long(words, at + 2)
        allocate(shadow, address, size)
        if b and address:
            length = size
    elif code == op.RELEASE:
        release(shadow, address)
    elif code == op.REALLOCATE:
        length = kept_bytes(shadow, words, at)
        new, size = long(words, at + 2), long(words, at + 4)
        if new or size == 0:
            release(shadow, address)
        allocate(shadow, new, size)
        address = new
    elif code == op.SLOT:
        size = long(words, at + 2)
        stack_slot(shadow, address, size)
        _push_slot(frames, state, address, size)
    elif code in (op.DROP, op.COPIED):
        write(shadow, address, b, np.int64(0))
        if code == op.COPIED:
            below = (state[fr.DEPTH] - 2) * fr.FRAME_FIELDS
            known = below >= 0 and frames.frames[below + fr.SITE] >= 0
            write(shadow, address, b, frames.frames[below + fr.CALLED] + 1 if known else 0)
    if length > 0:
        if code != op.RANGE_WRITE or c == 0:
            write(shadow, address, length, mark)
        cycles = cost(shadow, walk.levels, address, length, walk.modelled)
    return cycles


@inner_kernel
def _push_slot(frames: Frames, state: Longs, address: Int, size: Int) -> None:
    """Note a stack slot; those that it overlaps are gone (a loop that allocates and frees the same one)."""
    slots = frames.slots
    while state[fr.SLOTS]:
        top = 2 * state[fr.SLOTS] - 2
        if slots[top] >= address + size or slots[top] + slots[top + 1] <= address:
            break
        state[fr.SLOTS] -= 1
    slots[2 * state[fr.SLOTS]] = address
    slots[2 * state[fr.SLOTS] + 1] = size
    state[fr.SLOTS] += 1
