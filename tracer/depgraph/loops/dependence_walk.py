"""The walk over a stream that follows the jobs of one loop."""

from __future__ import annotations

import numpy as np
from numba import njit
from tracecut.support.arrays import Bytes, Ints, Longs
from tracecut.tracer.depgraph.state.access_steps import Words, long
from tracecut.tracer.depgraph.state.call_frames import (
    CALLED,
    DEPTH,
    DONE,
    EXTRA_EDGES,
    EXTRA_PAGES,
    FRAME_FIELDS,
    FULL,
    MAX_EDGES,
    MAX_PAGES,
    MAX_SINGLES,
    MAX_WORK,
    POSITION,
    SITE,
    WORK,
    Frames,
    enter,
    leave,
    returned,
    take_mark,
)
from tracecut.tracer.depgraph.state.record_steps import (
    ALLOCATE,
    CALL,
    COPIED,
    DROP,
    GATHER,
    LANES_READ,
    LANES_WRITE,
    LEAVE,
    LOAD,
    OPAQUE_WRITE,
    RANGE_READ,
    RANGE_WRITE,
    REALLOCATE,
    RETURN,
    SCATTER,
    SLOT,
    STORE,
    Tables,
)
from tracecut.tracer.depgraph.state.shadow_memory import Int, Shadow
from tracecut.tracer.trace.events.event_words import FIRST_MARK

from .last_access import FIRST, JOB, KNOWN, PAGE_BITS, PAGES, SPLITS, Touched, forget, touch

INSIDE, RUNS = 0, 1  # entries of `where`: depth of the frame that runs the loop (0: none), number of runs


@njit(cache=True, nogil=True)
def follow(
    words: Words,
    tables: Tables,
    frames: Frames,
    nothing: Shadow,
    touched: Touched,
    inside: Bytes,
    header: Int,
    unknown: Bytes,
    limits: Longs,
    state: Longs,
    where: Longs,
) -> Int:
    """Follow records from `state[POSITION]` on. DONE, FULL when an array is too short, else what is wrong."""
    counts = touched.counts
    position = state[POSITION]
    result = DONE
    while position < words.size:
        segment = np.int64(words[position])
        if segment >= FIRST_MARK:
            length = take_mark(words, position, frames, nothing, limits, state, False)
            if length <= 0:
                result = -1
                break
            if state[DEPTH] == 0:
                where[INSIDE] = 0
            position += length
            continue
        payload = position + 1
        if segment == 0 or segment >= tables.size.size or payload + tables.words[segment] > words.size:
            result = -1
            break
        begin, end = np.int64(tables.step[segment]) * 5, np.int64(tables.step[segment + 1]) * 5
        state[EXTRA_EDGES] = state[EXTRA_PAGES] = 0
        if tables.dynamic[segment]:
            for step in range(begin, end, 5):
                size = size_of(words, payload, tables.steps, step)
                state[EXTRA_EDGES] += size
                state[WORK] += size
                state[EXTRA_PAGES] += (size >> PAGE_BITS) + 2
        if (
            counts[PAGES] + state[EXTRA_PAGES] > limits[MAX_PAGES]
            or counts[SPLITS] + state[EXTRA_EDGES] > limits[MAX_SINGLES]
            or counts[KNOWN] + 3 * state[EXTRA_EDGES] > limits[MAX_EDGES]
            or state[WORK] > limits[MAX_WORK]
        ):
            result = FULL
            break
        found = enter(words, payload, segment, tables, frames, nothing, limits, state)
        if found != DONE:
            result = FULL if found == FULL else -1
            break
        depth = state[DEPTH]
        if depth < where[INSIDE] or (depth == where[INSIDE] and inside[segment] == 0):
            where[INSIDE] = 0
        if segment == header and where[INSIDE] in (0, depth):
            if where[INSIDE] == 0:
                where[INSIDE] = depth
                where[RUNS] += 1
                counts[FIRST] = counts[JOB] + 1
            counts[JOB] += 1
            counts[KNOWN] = 0
        frame = (depth - 1) * FRAME_FIELDS
        for step in range(begin, end, 5):
            code = tables.steps[step]
            if code == CALL:
                frames.frames[frame + CALLED] = 0
                frames.frames[frame + SITE] = tables.steps[step + 2]
            elif code == RETURN:
                returned(tables, frames, nothing, state, 0)
            elif code == LEAVE:
                leave(frames, nothing, state)
            elif where[INSIDE] and LOAD <= code <= COPIED:
                site = np.int64(tables.first[segment] + tables.steps[step + 1])
                _access(words, payload, tables.steps, step, touched, site, unknown)
        position = payload + tables.words[segment]
    state[POSITION] = position
    return result


@njit(cache=True, nogil=True)
def size_of(words: Words, payload: Int, steps: Ints, step: Int) -> Int:
    """Bytes that a step touches when its length is part of the payload."""
    code, at = steps[step], payload + np.int64(steps[step + 2])
    if code in (RANGE_READ, RANGE_WRITE):
        return max(np.int64(0), long(words, payload + np.int64(steps[step + 3])))
    if code in (ALLOCATE, SLOT):
        return long(words, at + 2)
    if code in (DROP, COPIED):
        return np.int64(steps[step + 3])
    return np.int64(0)


@njit(cache=True, nogil=True)
def _access(words: Words, payload: Int, steps: Ints, step: Int, touched: Touched, site: Int, unknown: Bytes) -> None:
    code, at = steps[step], payload + np.int64(steps[step + 2])
    b, c = np.int64(steps[step + 3]), np.int64(steps[step + 4])
    address = long(words, at)
    if code in (LOAD, STORE):
        touch(touched, address, b, site, code == STORE)
    elif code in (RANGE_READ, RANGE_WRITE):
        touch(touched, address, long(words, payload + b), site, code == RANGE_WRITE)
    elif code in (LANES_READ, LANES_WRITE):
        for lane in range(c):
            if words[at + 2 + (lane >> 5)] >> (lane & 31) & 1:
                touch(touched, address + lane * b, b, site, code == LANES_WRITE)
    elif code in (GATHER, SCATTER):
        for lane in range(c):
            if words[at + 2 * c + (lane >> 5)] >> (lane & 31) & 1:
                touch(touched, long(words, at + 2 * lane), b, site, code == SCATTER)
    elif code in (ALLOCATE, SLOT):
        size = long(words, at + 2)
        if address:
            forget(touched, address, size)
        if code == ALLOCATE and b and address:
            touch(touched, address, size, site, True)
    elif code == DROP:
        forget(touched, address, b)
    elif code == COPIED:
        forget(touched, address, b)
        touch(touched, address, b, site, True)
    elif code in (REALLOCATE, OPAQUE_WRITE):
        unknown[site] = 1
