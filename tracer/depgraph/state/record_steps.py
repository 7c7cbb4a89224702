"""What one record of a segment does, as steps of five numbers: the words that maker and walk of the graph share.

A step is one row: code, place of the instruction in the segment, and three operands. The register dependences inside of
a segment are known statically (LOCAL). Values that are used outside of the segment which makes them, by phis, or by
calls of traced functions have a slot in the register file of their frame: KEEP writes it, LIVE reads it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from tracecut.support.arrays import Ints
from tracecut.tracer.trace.events.event_words import Words

# In compiled code every number is an int64 or a uint64; for type checkers NumPy's scalars and int do not mix.
Int = Any

# Register steps. LOCAL: producer's place. LIVE, KEEP: slot. PHI: number of phis.
LOCAL, LIVE, KEEP, PHI = range(4)
# Memory steps: payload word, length (of a lane), lanes. LOAD, STORE: 1 in the place of the lanes for what the short way
# cannot do. RANGE_…: word of the address, word of the length; RANGE_WRITE: 1 when a mark will say that it is done.
LOAD, STORE, RANGE_READ, LANES_READ, GATHER, RANGE_WRITE, LANES_WRITE, SCATTER = range(4, 12)
# Objects: payload word. ALLOCATE: whether the bytes are written, too. DROP: length. OPAQUE_READ, OPAQUE_WRITE: all of
# the object that the pointer lies in. REALLOC_READ: what stays of the old object. COPIED: length; the caller wrote it.
# PASSED_READ: all variable arguments that a va_list has left.
ALLOCATE, RELEASE, REALLOCATE, SLOT, DROP, OPAQUE_READ, OPAQUE_WRITE, REALLOC_READ, COPIED, PASSED_READ = range(12, 22)
# MANY_READS and READS_DONE stand around the reads of an instruction with several. CALL: site. RETURN: whether a value
# comes back. LEAVE: whether an exception goes on from here. VARIADIC: payload word, of a va_list that begins. UNWOUND:
# the call that unwound to here; place −1: it is kept in a slot instead.
# CONTROL: first entry in `controllers`, and their number: the latest of these branches decided that the block runs.
# NOTED, OVERWRITES (`hazards`): how many steps behind it read, or write; which edges are wanted; 1: one short access.
MANY_READS, READS_DONE, CALL, RETURN, LEAVE, VARIADIC, UNWOUND, CONTROL, NOTED, OVERWRITES = range(22, 32)

EXTERNAL, DIRECT, INDIRECT = range(3)  # kinds of call sites
WAS_WRITTEN, WAS_READ = 1, 2  # bits of OVERWRITES: edges from the last writer, from the readers since then
WRITING = (STORE, RANGE_WRITE, LANES_WRITE, SCATTER, OPAQUE_WRITE)
LANED = (LANES_READ, LANES_WRITE, GATHER, SCATTER)
SIMPLE_BYTES = 8  # a load of at most as many takes the short way


class Tables(NamedTuple):
    """Flat tables. S segments, C call sites, F functions.

    Attributes:
        steps: int32 (steps · 5); segment s has the rows `step[s]` up to `step[s + 1]`.
        step, first, size: int32, of each segment: first step, first instruction, number of instructions.
        words: int32 (S), payload words. entry: function that the segment opens, else −1. closes: block that it ends,
            else −1. frame: payload word of the frame's address, else −1. function: of each segment.
        edges, pages: int32 (S), most edges and pages that one record can add, dynamic lengths apart.
        dynamic: int32 (S), 1 when what a record needs depends on its payload, or on what was read before.
        predecessors: int32, (phi block's) list of predecessors, blocks; sources: int32, slots by predecessor and phi.
        phi_first, phi_count: int32 (S), its part of `predecessors`; phi_source: first entry of `sources`.
        site_kind, site_callee, site_first, site_count, site_result, site_next: int32 (C): kind, function, its
            arguments in `arguments`, slot of the result (−1: none), and the segment behind it.
        arguments: int32, slots (−1: a constant). passed: int32, how each is passed where it has no name (`passing`).
        slots, parameters, parameter_first, variadic: int32 (F): registers of a frame, number of named parameters, first
            one in `parameter_slot`, whether there may be more.
        time: int32 (instructions), cycles without memory accesses.
        controllers: int32, slots of branches; empty without control dependences.
    """

    steps: Ints
    step: Ints
    first: Ints
    size: Ints
    words: Ints
    entry: Ints
    closes: Ints
    frame: Ints
    function: Ints
    edges: Ints
    pages: Ints
    dynamic: Ints
    predecessors: Ints
    sources: Ints
    phi_first: Ints
    phi_count: Ints
    phi_source: Ints
    site_kind: Ints
    site_callee: Ints
    site_first: Ints
    site_count: Ints
    site_result: Ints
    site_next: Ints
    arguments: Ints
    passed: Ints
    slots: Ints
    parameters: Ints
    parameter_first: Ints
    parameter_slot: Ints
    variadic: Ints
    time: Ints
    controllers: Ints


@njit(cache=True, nogil=True, inline="always")
def long(words: Words, at: Int) -> Int:
    """The 64-bit value of two words of a payload."""
    return np.int64(np.uint64(words[at]) | (np.uint64(words[at + 1]) << np.uint64(32)))
