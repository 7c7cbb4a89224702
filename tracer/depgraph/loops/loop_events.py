"""One loop of a traced program as a list of events: where its iterations begin, and which memory they access.

Both analyses of a loop (`last_access`, `job_log`) take these events, so that only this file knows how calls, returns
and unwinding lead into the loop and out of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tracecut.support.arrays import Bytes, Ints, Longs
from tracecut.tracer.depgraph.state import call_frames as fr
from tracecut.tracer.depgraph.state import record_steps as op
from tracecut.tracer.depgraph.state.access_steps import range_count, range_of
from tracecut.tracer.depgraph.state.call_frames import Frames, enter, leave, returned, take_mark
from tracecut.tracer.depgraph.state.number_kernels import inner_kernel, outer_kernel
from tracecut.tracer.depgraph.state.record_steps import Int, Tables, long
from tracecut.tracer.depgraph.state.shadow_memory import Shadow
from tracecut.tracer.trace.events.event_words import FIRST_MARK, Words

# Kinds of events. ITERATION: an iteration begins; FRESH: the range holds no value from here on.
ITERATION, FRESH, READS, WRITES = range(4)
# Fields of an event. Of an ITERATION, ADDRESS holds the instructions that the loop ran before it, LENGTH whether it is
# the first of an invocation. INSTRUCTION: static id of the access; −1 of FRESH memory outside of the loop.
KIND, ADDRESS, LENGTH, INSTRUCTION, FIELDS = range(5)
# Entries of `Loop.where`: depth of the frame that runs the loop (0: none), instructions that the loop ran, and events.
INSIDE, RAN, COUNT, WHERE = range(4)


class Loop(NamedTuple):
    """The loop that is followed.

    Attributes:
        inside: uint8 (segments), whether a segment belongs to the loop itself.
        header: int64 (1), the segment that begins an iteration.
        unknown: uint8 (instructions), set where the effect of an instruction on memory is not known.
        where: int64 (WHERE), the state between calls of `loop_events`.
    """

    inside: Bytes
    header: Longs
    unknown: Bytes
    where: Longs


def most_events(tables: Tables) -> int:
    """Most events of one record. O(steps)."""
    rows = tables.steps.reshape(-1, 5)
    each = np.where(np.isin(rows[:, 0], op.LANED), np.maximum(rows[:, 4], 2), 2)
    ends = np.append(0, np.cumsum(each))[tables.step]
    return 1 + int(np.diff(ends).max(initial=0))


@outer_kernel
def loop_events(
    words: Words,
    tables: Tables,
    frames: Frames,
    nothing: Shadow,
    loop: Loop,
    limits: Longs,
    state: Longs,
    events: Longs,
) -> Int:
    """Fill `events` with those of the records from `state[POSITION]` on; `loop.where[COUNT]` says how many.

    DONE at the end of the words; FULL when events are to be taken or frames to be enlarged before it goes on; −1 for a
    damaged record. `nothing`: an empty shadow memory, for the frames. O(words + events).
    """
    where = loop.where
    where[COUNT] = 0
    position = state[fr.POSITION]
    result = fr.DONE
    while position < words.size:
        segment = np.int64(words[position])
        if segment >= FIRST_MARK:
            length = take_mark(words, position, frames, nothing, limits, state, np.bool_(False))
            if length <= 0:
                result = -1
                break
            if state[fr.DEPTH] == 0:
                where[INSIDE] = 0
            position += length
            continue
        payload = position + 1
        if segment == 0 or segment >= tables.size.size or payload + tables.words[segment] > words.size:
            result = -1
            break
        if FIELDS * where[COUNT] > limits[fr.MAX_EDGES] or state[fr.WORK] > limits[fr.MAX_WORK]:
            result = fr.FULL
            break
        found = enter(words, payload, segment, tables, frames, nothing, limits, state)
        if found != fr.DONE:
            result = fr.FULL if found == fr.FULL else -1
            break
        depth = state[fr.DEPTH]
        if depth < where[INSIDE] or (depth == where[INSIDE] and loop.inside[segment] == 0):
            where[INSIDE] = 0
        if segment == loop.header[0] and where[INSIDE] in (0, depth):
            _put(loop, events, ITERATION, where[RAN], np.int64(where[INSIDE] == 0), 0)
            where[INSIDE] = depth
        if where[INSIDE]:
            where[RAN] += tables.size[segment]
        frame = (depth - 1) * fr.FRAME_FIELDS
        for row in range(np.int64(tables.step[segment]) * 5, np.int64(tables.step[segment + 1]) * 5, 5):
            code = tables.steps[row]
            if code == op.CALL:
                frames.frames[frame + fr.CALLED] = 0
                frames.frames[frame + fr.SITE] = tables.steps[row + 2]
            elif code == op.RETURN:
                returned(tables, frames, nothing, state, np.int64(0))
            elif code == op.LEAVE:
                leave(frames, nothing, state)
            elif op.LOAD <= code <= op.COPIED:
                instruction = np.int64(tables.first[segment] + tables.steps[row + 1])
                state[fr.WORK] += _accesses(words, payload, tables.steps, row, instruction, loop, events)
        position = payload + tables.words[segment]
    state[fr.POSITION] = position
    return result


@inner_kernel
def _put(loop: Loop, events: Longs, kind: Int, address: Int, length: Int, instruction: Int) -> None:
    at = FIELDS * loop.where[COUNT]
    loop.where[COUNT] += 1
    events[at + KIND], events[at + ADDRESS] = kind, address
    events[at + LENGTH], events[at + INSTRUCTION] = length, instruction


@inner_kernel
def _accesses(words: Words, payload: Int, steps: Ints, row: Int, instruction: Int, loop: Loop, events: Longs) -> Int:
    """Add the events of a memory step. Returns the bytes of accesses whose length only the payload tells."""
    code, at = steps[row], payload + np.int64(steps[row + 2])
    inside = loop.where[INSIDE] > 0
    if code in (op.ALLOCATE, op.SLOT, op.DROP, op.COPIED):  # also outside of the loop: the memory may be used in it
        address, length = long(words, at), np.int64(steps[row + 3])
        written = code == op.COPIED or (code == op.ALLOCATE and length != 0)
        if code in (op.ALLOCATE, op.SLOT):
            length = long(words, at + 2)
        if address:
            _put(loop, events, FRESH, address, length, instruction if inside else -1)
            if inside and written and length > 0:
                _put(loop, events, WRITES, address, length, instruction)
        return max(np.int64(0), length)
    if inside and code in (op.REALLOCATE, op.OPAQUE_WRITE):
        loop.unknown[instruction] = 1
    work: Int = np.int64(0)
    if inside and code <= op.SCATTER:
        for number in range(range_count(steps, row)):
            address, length = range_of(words, payload, steps, row, number)
            if length > 0:
                _put(loop, events, WRITES if code in op.WRITING else READS, address, length, instruction)
            if code in (op.RANGE_READ, op.RANGE_WRITE):
                work += max(np.int64(0), length)
    return work
