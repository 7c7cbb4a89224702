"""Which data the iterations of one loop touch, noted event by event (`loop_events`).

A datum is an aligned block of bytes. Memory that is allocated anew, or by a function that is called anew, is other data
than what lay there before. Data are numbered as they are met, so that the numbers do not depend on where the system put
the program's memory.
"""

from __future__ import annotations

from typing import NamedTuple

from tracecut.ir.locality_graph import READ, WRITE
from tracecut.support.arrays import Bytes, Ints, Longs
from tracecut.tracer.depgraph.state.number_kernels import inner_kernel, outer_kernel
from tracecut.tracer.depgraph.state.record_steps import Int
from tracecut.tracer.depgraph.state.shadow_memory import NONE, slot_of

from .loop_events import ADDRESS, FIELDS, FRESH, INSTRUCTION, ITERATION, KIND, LENGTH, WRITES

# Entries of `counts`: how many of each. BLOCKS: of memory, in the hash table.
JOBS, PINS, DATA, BLOCKS, INVOCATIONS, COUNTS = range(6)


class JobLog(NamedTuple):
    """What was noted; grows outside of the kernel.

    Attributes:
        keys, values: hash table block of memory → datum, −1 when its next life has not begun.
        job, pin: int64, for each datum the last job that touched it, from 1, and where that is noted.
        data, access, site: of each pin; access is a mask of READ and WRITE, site the first static instruction.
        first: int64, first pin of each job. began: int64, instructions that the loop ran before each job.
        invocation: int64, first job of each invocation of the loop.
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
    began: Longs
    invocation: Longs
    bits: Longs
    counts: Longs


@outer_kernel
def blocks_of(length: Int, bits: Int) -> Int:
    """Most blocks that a range of bytes may touch."""
    return (length >> bits) + 2


@outer_kernel
def note_events(log: JobLog, events: Longs, first: Int, end: Int, room: Int) -> Int:
    """Note the events from `first` up to `end`; where the one stands that may need more than `room` entries."""
    counts = log.counts
    for number in range(first, end):
        at = number * FIELDS
        kind, address, length = events[at + KIND], events[at + ADDRESS], events[at + LENGTH]
        if kind == FRESH:
            _renew(log, address, length)
            continue
        most = max(counts[PINS], counts[BLOCKS], counts[JOBS], counts[INVOCATIONS])
        if most + (1 if kind == ITERATION else blocks_of(length, log.bits[0])) > room:
            return number
        if kind == ITERATION:
            if length:
                log.invocation[counts[INVOCATIONS]] = counts[JOBS]
                counts[INVOCATIONS] += 1
            log.first[counts[JOBS]] = counts[PINS]
            log.began[counts[JOBS]] = address
            counts[JOBS] += 1
        else:
            _touch(log, address, length, events[at + INSTRUCTION], WRITE if kind == WRITES else READ)
    return end


@inner_kernel
def _renew(log: JobLog, address: Int, length: Int) -> None:
    """These blocks hold other data from now on."""
    first, last = address >> log.bits[0], (address + max(1, length) - 1) >> log.bits[0]
    if last - first >= log.keys.size:  # fewer blocks are known than it has
        for place in range(log.keys.size):
            if first <= log.keys[place] <= last:
                log.values[place] = NONE
        return
    for block in range(first, last + 1):
        slot = slot_of(log.keys, block)
        if log.keys[slot] == block:
            log.values[slot] = NONE


@inner_kernel
def _touch(log: JobLog, address: Int, length: Int, site: Int, access: Int) -> None:
    """The current job reads or writes a range of bytes."""
    counts = log.counts
    for block in range(address >> log.bits[0], ((address + length - 1) >> log.bits[0]) + 1):
        slot = slot_of(log.keys, block)
        if log.keys[slot] != block:
            log.keys[slot] = block
            log.values[slot] = NONE
            counts[BLOCKS] += 1
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
