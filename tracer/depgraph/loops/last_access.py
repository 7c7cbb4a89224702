"""Which jobs of a loop touched each byte last, in memory that grows with the program's data and not with its run.

A unit is an aligned word of four bytes as long as it is only touched whole; the first access to a part of it splits it
into its bytes for good. Jobs are numbered from 1 over all runs of the loop: what earlier runs left has lower numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tracecut.support.arrays import Bytes, Longs
from tracecut.support.lazy_kernels import kept
from tracecut.tracer.depgraph.state.number_kernels import inner_kernel, outer_kernel
from tracecut.tracer.depgraph.state.record_steps import Int
from tracecut.tracer.depgraph.state.shadow_memory import GOLDEN, NONE, PAGE_BITS, slot_of

from .loop_events import ADDRESS, FRESH, INSTRUCTION, ITERATION, KIND, LENGTH, WRITES
from .loop_events import FIELDS as EVENT_FIELDS

UNITS = 1 << (PAGE_BITS - 2)
WRITER, READER, BEFORE, SITE, FIELDS = range(5)
SPLIT = -1
# Entries of `counts`: pages, words split into bytes, the current job, the first one of its invocation, pairs that the
# current job has counted, and invocations.
PAGES, SPLITS, JOB, FIRST, KNOWN, INVOCATIONS, COUNTS = range(7)
FLOW, ANTI, OUTPUT = range(3)  # read after write, write after read, write after write
NEAR = 1024  # distances up to here are counted one by one
BINS = NEAR + 1 + 64  # then by powers of two
# Flags of a static instruction: three kinds of conflict, a read of what the job did not write itself, any access.
EXPOSED, TOUCHED, FLAGS = 3, 4, 5


class Touched(NamedTuple):
    """State; grows outside of the kernel.

    Attributes:
        keys, values: hash table page → first unit. units: int64 (units · FIELDS): last writer, last reader since then,
            the reader before that in another job, static instruction of the last access. `SPLIT` as the writer: the
            place of its four bytes in `bytes` is in READER.
        bytes: int64, units of single bytes.
        seen: int64 (2 · slots), pairs that this job has counted: key and stamp. bins: int64 (3 · BINS), pairs of jobs
            by kind and distance. parent: union of the static instructions that touch the same bytes.
        flags: uint8 (instructions · FLAGS).
    """

    keys: Longs
    values: Longs
    units: Longs
    bytes: Longs
    seen: Longs
    bins: Longs
    parent: Longs
    flags: Bytes
    counts: Longs


@outer_kernel
def root(parent: Longs, site: Int) -> Int:
    while parent[site] != site:
        parent[site] = parent[parent[site]]
        site = parent[site]
    return site


@inner_kernel
def bin_of(distance: Int) -> Int:
    """Place of a distance in a histogram."""
    if distance <= NEAR:
        return distance
    place = NEAR + 1
    while (NEAR << (place - NEAR)) < distance:
        place += 1
    return place


@inner_kernel
def _pair(touched: Touched, kind: Int, other: Int, site: Int, other_site: Int) -> None:
    """Count the pair of the current job and an earlier one, once for each kind."""
    counts, seen = touched.counts, touched.seen
    if other < counts[FIRST] or other >= counts[JOB]:
        return
    touched.flags[FLAGS * site + kind] = 1
    touched.flags[FLAGS * other_site + kind] = 1
    mask = np.uint64(seen.size // 2 - 1)
    key = np.int64(4 * other + kind)
    slot = ((np.uint64(key) * GOLDEN) >> np.uint64(32)) & mask
    while seen[np.uint64(2) * slot + np.uint64(1)] == counts[JOB]:
        if seen[np.uint64(2) * slot] == key:
            return
        slot = (slot + np.uint64(1)) & mask
    seen[np.uint64(2) * slot] = key
    seen[np.uint64(2) * slot + np.uint64(1)] = counts[JOB]
    counts[KNOWN] += 1
    touched.bins[kind * BINS + bin_of(counts[JOB] - other)] += 1


@inner_kernel
def _note(touched: Touched, unit: Longs, at: Int, site: Int, writes: bool) -> None:
    job = touched.counts[JOB]
    touched.flags[FLAGS * site + TOUCHED] = 1
    last = unit[at + SITE]
    fresh = unit[at + WRITER] < touched.counts[FIRST] and unit[at + READER] < touched.counts[FIRST]
    if fresh:
        last = site
    writer = unit[at + WRITER]
    if writes:
        if unit[at + READER] != 0:
            reader = unit[at + READER] if unit[at + READER] != job else unit[at + BEFORE]
            _pair(touched, np.int64(ANTI), reader, site, last)
        _pair(touched, np.int64(OUTPUT), writer, site, last)
        unit[at + WRITER] = job
        unit[at + READER] = unit[at + BEFORE] = 0
    else:
        _pair(touched, np.int64(FLOW), writer, site, last)
        if writer != job:
            touched.flags[FLAGS * site + EXPOSED] = 1
        if unit[at + READER] != job:
            unit[at + BEFORE] = unit[at + READER]
            unit[at + READER] = job
    first, second = root(touched.parent, site), root(touched.parent, last)
    if first != second:
        touched.parent[max(first, second)] = min(first, second)
    unit[at + SITE] = site


@inner_kernel
def _unit(touched: Touched, address: Int) -> Int:
    """Place of the word's unit, made when it is missing."""
    page = address >> PAGE_BITS
    slot = slot_of(touched.keys, page)
    if touched.keys[slot] == NONE:
        touched.keys[slot] = page
        touched.values[slot] = touched.counts[PAGES] * UNITS * FIELDS
        touched.counts[PAGES] += 1
    return touched.values[slot] + ((address & ((1 << PAGE_BITS) - 1)) >> 2) * FIELDS


@outer_kernel
def follow_events(touched: Touched, events: Longs, first: Int, end: Int) -> Int:
    """Take the events from `first` up to `end`; where the one stands that the arrays may be too short for."""
    counts = touched.counts
    for number in range(first, end):
        at = number * EVENT_FIELDS
        kind, address, length = events[at + KIND], events[at + ADDRESS], events[at + LENGTH]
        instruction = events[at + INSTRUCTION]
        if kind == ITERATION:
            if length:
                counts[INVOCATIONS] += 1
                counts[FIRST] = counts[JOB] + 1
            counts[JOB] += 1
            counts[KNOWN] = 0
        elif instruction >= 0:
            if (
                (counts[PAGES] + (length >> PAGE_BITS) + 2) > min(touched.keys.size // 2, pages_of(touched.units))
                or counts[SPLITS] + 2 > touched.bytes.size // (4 * FIELDS)
                or (kind != FRESH and 4 * (counts[KNOWN] + 3 * length) > touched.seen.size)
            ):
                return number
            if kind == FRESH:
                _forget(touched, address, length)
            else:
                _touch(touched, address, length, instruction, kind == WRITES)
    return end


@inner_kernel
def pages_of(units: Longs) -> Int:
    """Pages that there is room for."""
    return units.size // (UNITS * FIELDS)


@inner_kernel
def _touch(touched: Touched, address: Int, length: Int, site: Int, writes: bool) -> None:
    """The current job reads or writes a range of bytes at a static instruction."""
    end = address + length
    while address < end:
        stop = min(end, (address | 3) + 1)
        at = _unit(touched, address)
        if touched.units[at + WRITER] != SPLIT and stop - address == 4:
            _note(touched, touched.units, at, site, writes)
        else:
            first = _split(touched, at)
            for byte in range(address & 3, (address & 3) + stop - address):
                _note(touched, touched.bytes, first + byte * FIELDS, site, writes)
        address = stop


@inner_kernel
def _split(touched: Touched, at: Int) -> Int:
    if touched.units[at + WRITER] != SPLIT:
        place = touched.counts[SPLITS] * 4 * FIELDS
        touched.counts[SPLITS] += 1
        for byte in range(4):
            for field in range(FIELDS):
                touched.bytes[place + byte * FIELDS + field] = touched.units[at + field]
        touched.units[at + WRITER] = SPLIT
        touched.units[at + READER] = place
    return touched.units[at + READER]


@inner_kernel
def _forget(touched: Touched, address: Int, length: Int) -> None:
    """Nobody has touched the range since it was allocated."""
    end = address + length
    while address < end:
        stop = min(end, (address | 3) + 1)
        at = _unit(touched, address)
        if touched.units[at + WRITER] != SPLIT and stop - address == 4:
            touched.units[at : at + FIELDS] = 0
        else:
            first = _split(touched, at)
            for byte in range(address & 3, (address & 3) + stop - address):
                touched.bytes[first + byte * FIELDS : first + (byte + 1) * FIELDS] = 0
        address = stop


@kept
def reseen(seen: Longs, job: Int) -> Longs:
    """A table of pairs with room for four times as many."""
    larger = np.zeros(4 * seen.size, np.int64)
    mask = np.uint64(larger.size // 2 - 1)
    for old in range(0, seen.size, 2):
        if seen[old + 1] == job:
            slot = ((np.uint64(seen[old]) * GOLDEN) >> np.uint64(32)) & mask
            while larger[np.uint64(2) * slot + np.uint64(1)] == job:
                slot = (slot + np.uint64(1)) & mask
            larger[np.uint64(2) * slot] = seen[old]
            larger[np.uint64(2) * slot + np.uint64(1)] = job
    return larger
