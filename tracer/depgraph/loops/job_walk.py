"""The walk over a stream that notes which data the jobs of one loop touch.

A datum is an aligned block of bytes. Memory that is allocated anew, or by a function that is called anew, is other data
than what lay there before. Data are numbered as they are met, so that the numbers do not depend on where the system put
the program's memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from tracecut.ir.locality_graph import READ, WRITE
from tracecut.support.arrays import Bytes, Ints, Longs
from tracecut.tracer.depgraph.state.access_steps import Words, long
from tracecut.tracer.depgraph.state.call_frames import (
    CALLED,
    DEPTH,
    DONE,
    EXTRA_EDGES,
    FRAME_FIELDS,
    FULL,
    MAX_EDGES,
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
from tracecut.tracer.depgraph.state.shadow_memory import GOLDEN, NONE, Int, Shadow
from tracecut.tracer.trace.events.event_words import FIRST_MARK

from .dependence_walk import INSIDE, RUNS, size_of

JOBS, PINS, DATA, KEYS, COUNTS = range(5)  # entries of `counts`: how many of each; KEYS: blocks in the hash table


class JobLog(NamedTuple):
    """What was noted; grows outside of the kernel.

    Attributes:
        keys, values: hash table block of memory → datum, −1 when its next life has not begun.
        job, pin: int64, for each datum the last job that touched it, from 1, and where that is noted.
        data, access, site: of each pin; access is a mask of READ and WRITE, site the first static instruction.
        first: int64, first pin of each job. work: int64, instructions of each job. run: int64, first job of each run.
        bits: int64 (1): a datum has 2**bits bytes.
    """

    keys: Longs
    values: Longs
    job: Longs
    pin: Longs
    data: Ints
    access: Bytes
    site: Ints
    first: Longs
    work: Longs
    run: Longs
    bits: Longs
    counts: Longs


@njit(cache=True, nogil=True)
def follow_jobs(
    words: Words,
    tables: Tables,
    frames: Frames,
    nothing: Shadow,
    log: JobLog,
    inside: Bytes,
    header: Int,
    unknown: Bytes,
    limits: Longs,
    state: Longs,
    where: Longs,
) -> Int:
    """Follow records from `state[POSITION]` on. DONE, FULL when an array is too short, else what is wrong."""
    counts = log.counts
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
        state[EXTRA_EDGES] = 0
        if tables.dynamic[segment]:
            for step in range(begin, end, 5):
                code = tables.steps[step]
                size = size_of(words, payload, tables.steps, step)
                state[WORK] += size
                if code not in (SLOT, DROP) and (code != ALLOCATE or tables.steps[step + 3]):
                    state[EXTRA_EDGES] += (size >> log.bits[0]) + 2
        most = max(counts[PINS], counts[KEYS], counts[JOBS], where[RUNS])
        if most + state[EXTRA_EDGES] > limits[MAX_EDGES] or state[WORK] > limits[MAX_WORK]:
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
                log.run[where[RUNS]] = counts[JOBS]
                where[RUNS] += 1
            log.first[counts[JOBS]] = counts[PINS]
            log.work[counts[JOBS]] = 0
            counts[JOBS] += 1
        if where[INSIDE]:
            log.work[counts[JOBS] - 1] += tables.size[segment]
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
            elif LOAD <= code <= COPIED:
                site = np.int64(tables.first[segment] + tables.steps[step + 1])
                _access(words, payload, tables.steps, step, log, site, where[INSIDE] > 0, unknown)
        position = payload + tables.words[segment]
    state[POSITION] = position
    return result


@njit(cache=True, nogil=True)
def _access(
    words: Words, payload: Int, steps: Ints, step: Int, log: JobLog, site: Int, inside: bool, unknown: Bytes
) -> None:
    code, at = steps[step], payload + np.int64(steps[step + 2])
    b, c = np.int64(steps[step + 3]), np.int64(steps[step + 4])
    address = long(words, at)
    if code in (ALLOCATE, SLOT, DROP, COPIED):
        size = long(words, at + 2) if code in (ALLOCATE, SLOT) else b
        if address:
            _renew(log, address, size)
        if inside and address and (code == COPIED or (code == ALLOCATE and b)):
            _touch(log, address, size, site, WRITE)
    elif not inside:
        return
    elif code in (LOAD, STORE):
        _touch(log, address, b, site, WRITE if code == STORE else READ)
    elif code in (RANGE_READ, RANGE_WRITE):
        _touch(log, address, long(words, payload + b), site, WRITE if code == RANGE_WRITE else READ)
    elif code in (LANES_READ, LANES_WRITE):
        for lane in range(c):
            if words[at + 2 + (lane >> 5)] >> (lane & 31) & 1:
                _touch(log, address + lane * b, b, site, WRITE if code == LANES_WRITE else READ)
    elif code in (GATHER, SCATTER):
        for lane in range(c):
            if words[at + 2 * c + (lane >> 5)] >> (lane & 31) & 1:
                _touch(log, long(words, at + 2 * lane), b, site, WRITE if code == SCATTER else READ)
    elif code in (REALLOCATE, OPAQUE_WRITE):
        unknown[site] = 1


@njit(cache=True, nogil=True)
def _slot(keys: Longs, block: Int) -> np.uint64:
    mask = np.uint64(keys.size - 1)
    slot = ((np.uint64(block) * GOLDEN) >> np.uint64(32)) & mask
    while keys[slot] != block and keys[slot] != NONE:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True, nogil=True)
def _renew(log: JobLog, address: Int, length: Int) -> None:
    """What lies in these blocks from now on is new."""
    first, last = address >> log.bits[0], (address + max(1, length) - 1) >> log.bits[0]
    if last - first >= log.keys.size:  # fewer blocks are known than it has
        for place in range(log.keys.size):
            if first <= log.keys[place] <= last:
                log.values[place] = NONE
        return
    for block in range(first, last + 1):
        slot = _slot(log.keys, block)
        if log.keys[slot] == block:
            log.values[slot] = NONE


@njit(cache=True, nogil=True)
def _touch(log: JobLog, address: Int, length: Int, site: Int, access: Int) -> None:
    """The job that runs reads or writes a range of bytes."""
    counts = log.counts
    for block in range(address >> log.bits[0], ((address + length - 1) >> log.bits[0]) + 1):
        slot = _slot(log.keys, block)
        if log.keys[slot] != block:
            log.keys[slot] = block
            log.values[slot] = NONE
            counts[KEYS] += 1
        datum = log.values[slot]
        if datum == NONE:
            datum = counts[DATA]
            counts[DATA] += 1
            log.values[slot] = datum
            log.job[datum] = 0
        if log.job[datum] == counts[JOBS]:
            log.access[log.pin[datum]] |= access
            continue
        pin = counts[PINS]
        counts[PINS] += 1
        log.job[datum], log.pin[datum] = counts[JOBS], pin
        log.data[pin], log.access[pin], log.site[pin] = datum, access, site
