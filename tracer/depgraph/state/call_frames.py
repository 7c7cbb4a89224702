"""Frames of the traced thread: calls, returns, unwinding, and the room that a record needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tracecut.support.arrays import Longs
from tracecut.tracer.trace.events.event_words import Mark, Words

from .argument_passing import ALIGNED, COPIED, GENERAL, GENERAL_END, PAIR, REAL, REAL_END, WIDE
from .number_kernels import inner_kernel
from .object_places import global_variable
from .record_steps import DIRECT, INDIRECT, Int, Tables, long
from .shadow_memory import N_GLOBALS, N_PAGES, N_SINGLES, N_WRITERS, Shadow, Writers, write

# Entries of `state`. EXTRA_…: what the record that did not fit needs beyond the static bounds. ORIGIN: the vertex that
# stands first in the arrays of vertices. WORK: bytes that
# records touched which say so themselves: what a walk over few records may take long for.
POSITION, NODES, EDGES, DEPTH, UNWINDER, SLOTS, UNRESOLVED = range(7)
LOST, ENDED, REASON, STATUS, EXTRA_EDGES, EXTRA_PAGES, EXTRA_READS, ORIGIN, WORK, STATE = range(7, 17)
# Entries of `limits`: how far each count may have come for the next record to fit.
MAX_EDGES, MAX_NODES, MAX_PAGES, MAX_WRITERS, MAX_SINGLES, MAX_OWNERS = range(6)
MAX_OBJECTS, MAX_SLOTS, MAX_DEPTH, MAX_REGISTERS, MAX_GLOBALS, MAX_HEADS, MAX_READS, MAX_WORK, LIMITS = range(6, 15)

# Fields of a frame: function, first register, block that it was in last, vertex of its last call, site of the call that
# is under way (−1: none), address, whether the caller's arguments are its parameters, stack slots below it, where its
# variable arguments on the stack begin and end.
OF, BASE, BLOCK, CALLED, SITE, ADDRESS, KNOWN, SLOTS_BELOW, PASSED, PASSED_END, FRAME_FIELDS = range(11)
UNDEFINED = -1
DONE, FULL, BAD_FRAME = range(3)


class Frames(NamedTuple):
    """`frames`: int64 (depth · FRAME_FIELDS). `registers`: vertex that made each value, −1 when none did.

    `slots`: int64 (slots · 2), address and bytes of the stack slots in use.
    """

    frames: Longs
    registers: Writers
    slots: Longs


def fresh_state() -> Longs:
    """The state before the first record."""
    state = np.zeros(STATE, np.int64)
    state[UNWINDER] = UNDEFINED
    return state


@inner_kernel
def take_mark(
    words: Words, position: Int, frames: Frames, shadow: Shadow, limits: Longs, state: Longs, objects: bool | np.bool_
) -> Int:
    """Take a mark, of memory only with `objects`.

    Its length in words, 0 when there is no room, −1 when it is cut off or not known.
    """
    mark = np.int64(words[position])
    left = words.size - position - 1
    if mark == np.int64(Mark.GLOBAL):
        if left < 5:
            return -1
        if not objects:
            return 6
        start, length = long(words, position + 2), long(words, position + 4)
        state[EXTRA_EDGES], state[EXTRA_PAGES] = 0, (length >> 12) + 2
        state[WORK] += length >> 6  # pages are entered, bytes are not
        if shadow.counts[N_GLOBALS] > limits[MAX_GLOBALS] or state[WORK] > limits[MAX_WORK]:
            return 0
        if shadow.counts[N_PAGES] + state[EXTRA_PAGES] > limits[MAX_PAGES]:
            return 0
        global_variable(shadow, start, length)
        return 6
    if mark == np.int64(Mark.WROTE):
        if left < 4:
            return -1
        start, length = long(words, position + 1), long(words, position + 3)
        state[EXTRA_EDGES], state[EXTRA_PAGES] = 0, (max(0, length) >> 12) + 2
        if not objects or length <= 0:
            return 5
        counts, more = shadow.counts, state[EXTRA_PAGES]
        state[WORK] += max(0, length)
        if counts[N_PAGES] + more > limits[MAX_PAGES] or counts[N_WRITERS] + more > limits[MAX_WRITERS]:
            return 0
        if counts[N_SINGLES] > limits[MAX_SINGLES] or state[WORK] > limits[MAX_WORK]:
            return 0
        write(shadow, start, length, np.int64(0))  # nobody has read it since then
        if state[DEPTH]:
            write(shadow, start, length, frames.frames[(state[DEPTH] - 1) * FRAME_FIELDS + CALLED] + 1)
        return 5
    if mark == np.int64(Mark.PAUSED):
        return 1
    if mark == np.int64(Mark.RESUMED):
        state[DEPTH] = 0
        state[SLOTS] = 0
        return 1
    if left < 2:
        return -1
    low, high = np.int64(words[position + 1]), np.int64(words[position + 2])
    if mark == np.int64(Mark.END):
        state[ENDED], state[REASON], state[STATUS] = 1, low, high
    elif mark == np.int64(Mark.TRUNCATED):
        state[LOST] += low + (high << 32)
        state[DEPTH] = 0
        state[SLOTS] = 0
    elif mark != np.int64(Mark.THREAD):
        return -1
    return 3


@inner_kernel
def enter(
    words: Words,
    payload: Int,
    segment: Int,
    tables: Tables,
    frames: Frames,
    shadow: Shadow,
    limits: Longs,
    state: Longs,
) -> Int:
    """Make the frame of the next record the top one: a call, a return, or unwinding.

    DONE, FULL when there is no room for one more frame, BAD_FRAME when the record cannot come next.
    """
    function = np.int64(tables.function[segment])
    address = np.int64(0)
    at = tables.frame[segment]
    if at >= 0:
        address = long(words, payload + at)
    if tables.entry[segment] >= 0:
        if not _room(tables, frames, limits, state):
            return FULL
        _call(tables, frames, state, function, address)
        return DONE
    if state[DEPTH] and at >= 0:
        _unwind(tables, frames, shadow, state, segment, function, address)
    if state[DEPTH] == 0:  # tracing began or went on in the middle of it
        _push(tables, frames, state, function, address, np.bool_(False))
        return DONE
    top = (state[DEPTH] - 1) * FRAME_FIELDS
    frames.frames[top + SITE] = -1
    return DONE if frames.frames[top + OF] == function else BAD_FRAME


@inner_kernel
def _room(tables: Tables, frames: Frames, limits: Longs, state: Longs) -> bool:
    if state[DEPTH] == 0:
        return True
    frame = (state[DEPTH] - 1) * FRAME_FIELDS
    top = frames.frames[frame + BASE] + tables.slots[frames.frames[frame + OF]]
    return state[DEPTH] <= limits[MAX_DEPTH] and top <= limits[MAX_REGISTERS]


@inner_kernel
def _push(tables: Tables, frames: Frames, state: Longs, function: Int, address: Int, known: bool | np.bool_) -> None:
    depth = state[DEPTH]
    frame = depth * FRAME_FIELDS
    base = np.int64(0)
    if depth:
        below = frame - FRAME_FIELDS
        base = frames.frames[below + BASE] + tables.slots[frames.frames[below + OF]]
    frames.frames[frame + OF] = function
    frames.frames[frame + BASE] = base
    frames.frames[frame + BLOCK] = -1
    frames.frames[frame + CALLED] = UNDEFINED
    frames.frames[frame + SITE] = -1
    frames.frames[frame + ADDRESS] = address
    frames.frames[frame + KNOWN] = known
    frames.frames[frame + SLOTS_BELOW] = state[SLOTS]
    frames.frames[frame + PASSED] = frames.frames[frame + PASSED_END] = 0
    for register in range(base, base + tables.slots[function]):
        frames.registers[register] = UNDEFINED
    state[DEPTH] = depth + 1


@inner_kernel
def _call(tables: Tables, frames: Frames, state: Longs, function: Int, address: Int) -> None:
    """A function begins. Its parameters are the caller's arguments, or, called from outside, what that call made."""
    depth = state[DEPTH]
    below = (depth - 1) * FRAME_FIELDS
    site = np.int64(-1)
    known = False
    if depth:
        site = frames.frames[below + SITE]
    if site >= 0:
        kind, given, named = tables.site_kind[site], tables.site_count[site], tables.parameters[function]
        known = kind == DIRECT and tables.site_callee[site] == function
        known |= kind == INDIRECT and (given == named or (tables.variadic[function] == 1 and given >= named))
    _push(tables, frames, state, function, address, known)
    if site < 0:
        return
    own, outer = frames.frames[below + FRAME_FIELDS + BASE], frames.frames[below + BASE]
    for place in range(tables.parameters[function]):
        slot = tables.parameter_slot[tables.parameter_first[function] + place]
        if slot >= 0 and not known:
            frames.registers[own + slot] = frames.frames[below + CALLED]
        elif slot >= 0 and place < tables.site_count[site]:
            argument = tables.arguments[tables.site_first[site] + place]
            if argument >= 0:
                frames.registers[own + slot] = frames.registers[outer + argument]


@inner_kernel
def _unwind(
    tables: Tables, frames: Frames, shadow: Shadow, state: Longs, segment: Int, function: Int, address: Int
) -> None:
    """Drop the frames that longjmp or an exception left; `state[UNWINDER]` is the call that did it, −1: none did."""
    top = (state[DEPTH] - 1) * FRAME_FIELDS
    site = frames.frames[top + SITE]
    state[UNWINDER] = UNDEFINED
    if frames.frames[top + ADDRESS] == address and site >= 0 and tables.site_next[site] == segment:
        return
    state[UNWINDER] = frames.frames[top + CALLED]
    while state[DEPTH]:
        top = (state[DEPTH] - 1) * FRAME_FIELDS
        if frames.frames[top + ADDRESS] == address and frames.frames[top + OF] == function:
            return
        leave(frames, shadow, state)


@inner_kernel
def leave(frames: Frames, shadow: Shadow, state: Longs) -> None:
    """The top frame ends; what lies in its stack slots has no writer any more.

    Later frames use the memory, and not all of what they use is announced: variable arguments are saved there.
    """
    state[DEPTH] -= 1
    below = frames.frames[state[DEPTH] * FRAME_FIELDS + SLOTS_BELOW]
    for slot in range(below, state[SLOTS]):
        write(shadow, frames.slots[2 * slot], frames.slots[2 * slot + 1], np.int64(0))
    state[SLOTS] = below


@inner_kernel
def returned(tables: Tables, frames: Frames, shadow: Shadow, state: Longs, vertex: Int) -> None:
    """The top frame returns: for its caller, when it is the one that called it, `vertex` made the result."""
    leave(frames, shadow, state)
    if state[DEPTH] == 0 or frames.frames[state[DEPTH] * FRAME_FIELDS + KNOWN] == 0:
        return
    frame = (state[DEPTH] - 1) * FRAME_FIELDS
    result = tables.site_result[frames.frames[frame + SITE]]
    if result >= 0:
        frames.registers[frames.frames[frame + BASE] + result] = vertex


@inner_kernel
def variadic(words: Words, at: Int, tables: Tables, frames: Frames, shadow: Shadow, state: Longs) -> None:
    """The unnamed arguments of the top frame lie where its new va_list says, written by what made their values.

    Called from outside, or by a call with other arguments, all of them come from that call.
    """
    stack, save = long(words, at), long(words, at + 2)
    general, real = np.int64(words[at + 4]), np.int64(words[at + 5])
    frame = (state[DEPTH] - 1) * FRAME_FIELDS
    below = frame - FRAME_FIELDS
    site = frames.frames[below + SITE] if below >= 0 else np.int64(-1)
    called: Int = np.int64(0)
    if site >= 0:
        called = frames.frames[below + CALLED] + 1
    mark = called if frames.frames[frame + KNOWN] == 0 else np.int64(0)
    write(shadow, save + general, GENERAL_END - general, mark)
    write(shadow, save + real, REAL_END - real, mark)
    frames.frames[frame + PASSED] = frames.frames[frame + PASSED_END] = stack
    if site < 0 or frames.frames[frame + KNOWN] == 0:
        return
    first = tables.site_first[site]
    for place in range(tables.parameters[frames.frames[frame + OF]], tables.site_count[site]):
        slot, way = tables.arguments[first + place], np.int64(tables.passed[first + place])
        mark = frames.registers[frames.frames[below + BASE] + slot] + 1 if slot >= 0 else np.int64(0)
        size, aligned = way & ~7, way & ALIGNED
        if way >= 8 and way & COPIED:
            mark = called
        elif GENERAL <= way <= PAIR:
            size, aligned = 8 * way, np.int64(way == PAIR)
            if general + size <= GENERAL_END:
                write(shadow, save + general, size, mark)
                general += size
                continue
        elif REAL <= way <= WIDE:
            size, aligned = 8 * (way - GENERAL - 1), np.int64(way == WIDE)
            if real + 16 <= REAL_END:
                write(shadow, save + real, np.int64(16), mark)
                real += 16
                continue
        if aligned:
            stack = (stack + 15) & ~15
        write(shadow, stack, size, mark)
        stack += size
    frames.frames[frame + PASSED_END] = stack


@inner_kernel
def passed_end(frames: Frames, state: Longs, stack: Int) -> Int:
    """Where the variable arguments end that lie on the stack from an address on, in whatever frame."""
    for frame in range((state[DEPTH] - 1) * FRAME_FIELDS, -1, -FRAME_FIELDS):
        if frames.frames[frame + PASSED] <= stack <= frames.frames[frame + PASSED_END]:
            return frames.frames[frame + PASSED_END]
    return stack
