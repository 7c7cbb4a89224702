"""The walk over records of simple segments: it looks up what `templates` leave open, and `emit` writes the edges.

It does what `reference.walk` does, step for step, but for what is the same in all records of a segment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.ir.machine.cache_simulator import LATENCY, LINE_BITS, MASK, WAYS, Levels, access
from tracecut.support.arrays import Ints, Longs
from tracecut.tracer.depgraph.state.access_steps import Words, cost, long
from tracecut.tracer.depgraph.state.call_frames import (
    BASE,
    BLOCK,
    CALLED,
    DEPTH,
    DONE,
    EDGES,
    EXTRA_EDGES,
    EXTRA_PAGES,
    EXTRA_READS,
    FRAME_FIELDS,
    FULL,
    MAX_EDGES,
    MAX_NODES,
    MAX_OWNERS,
    MAX_PAGES,
    MAX_SINGLES,
    MAX_WRITERS,
    NODES,
    POSITION,
    SITE,
    UNDEFINED,
    Frames,
    enter,
    returned,
)
from tracecut.tracer.depgraph.state.call_frames import OF as FUNCTION
from tracecut.tracer.depgraph.state.object_places import place_of
from tracecut.tracer.depgraph.state.output import Output
from tracecut.tracer.depgraph.state.record_steps import CALL, Tables
from tracecut.tracer.depgraph.state.shadow_memory import (
    ANCHOR,
    GOLDEN,
    HIGH,
    LOW,
    MIXED,
    N_OWNERS,
    N_PAGES,
    N_SINGLES,
    N_WRITERS,
    NONE,
    PAGE,
    PAGE_BITS,
    PLACE,
    STACK_PLACE,
    WRITERS,
    Int,
    Shadow,
    collect,
    distinct,
    ensure,
    write,
    writers_of,
)

from .reference import CUT, SIMPLE, walk
from .templates import (
    ACCESS,
    ACCESSES,
    CLOSES,
    COSTS,
    FRESH,
    HEAD,
    HOLES,
    KEEPS,
    KEPT,
    LAST,
    LASTS,
    LIVES,
    N_EDGES,
    OF,
    PHIS,
    SIZE,
    TURNS,
    WORDS,
    Templates,
)

OTHER, READY = 6, 7  # what `_resolve` stops for: a record that is not simple, and an order that is full
N_RECORDS, N_SOURCES, N_COSTS, N_SEVERAL, N_STRETCHES, ORDERED = range(6)  # entries of `Order.counts`
# Fields of a stretch: where it begins and ends in the order, among the vertices and the edges.
FIRST_RECORD, FIRST_SOURCE, FIRST_COST, FIRST_NODE, FIRST_EDGE, END_RECORD, END_NODE, END_EDGE, STRETCH = range(9)
RECORDS, SOURCES, COSTLY, SEVERAL = 1 << 14, 1 << 17, 1 << 16, 1 << 14  # until an order is full: the caches hold it
STRETCHES = 1 << 10


ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
FEW = 63  # sources of a record of which a mask can tell
Masks = npt.NDArray[np.uint64]


class Order(NamedTuple):
    """Records that `emit` writes: what it needs beside the templates. All arrays have room for one more record.

    Attributes:
        records: int32, segments. masks: uint64, which of a record's sources there are not; ALL: look at each.
        sources: int32, of each record those that are looked up: −1 none, −2 − their place in `several`: as many as
            that says. costs: int32, of its accesses.
        several: int32, number of sources, and these.
        stretches: int64 (stretches · STRETCH): records that follow each other in the graph, too.
        counts: int64 (ORDERED), how much is used of each.
    """

    records: Ints
    masks: Masks
    sources: Ints
    costs: Ints
    several: Ints
    stretches: Longs
    counts: Longs


def order_of(templates: Templates) -> Order:
    """An empty order."""
    heads = templates.heads.reshape(-1, HEAD)
    holes, costs = int(heads[:, HOLES].max(initial=0)), int(heads[:, COSTS].max(initial=0))
    rooms = RECORDS, SOURCES + holes, COSTLY + costs, SEVERAL + 9 * holes
    records, sources, paid, several = (np.empty(room + 1, np.int32) for room in rooms)
    masks, stretches = np.empty(RECORDS + 1, np.uint64), np.empty(STRETCHES * STRETCH, np.int64)
    return Order(records, masks, sources, paid, several, stretches, np.zeros(ORDERED, np.int64))


@njit(cache=True, nogil=True)
def follow(
    words: Words,
    tables: Tables,
    templates: Templates,
    order: Order,
    out: Output,
    frames: Frames,
    shadow: Shadow,
    levels: Levels,
    limits: Longs,
    state: Longs,
    modelled: bool,
    timed: bool,
) -> Int:
    """`reference.walk`, but leaves records of simple segments to `order`. Also stops when that is full: READY."""
    while True:
        found = _resolve(words, tables, templates, order, frames, shadow, levels, limits, state, modelled, timed)
        if found != OTHER:
            return found
        found = walk(words, tables, out, frames, shadow, levels, limits, state, modelled, timed, None, templates.simple)
        if found != SIMPLE:
            return found


@njit(cache=True, nogil=True)
def _several(shadow: Shadow, address: Int, length: Int, several: Ints, at: Int) -> Int:
    """Append the number of writers of a byte range and the writers to `several`; the new end."""
    end = distinct(several, at + 1, collect(shadow, address, length, several, at + 1, at + 1))
    several[at] = end - at - 1
    return end


@njit(cache=True, nogil=True)
def _resolve(
    words: Words,
    tables: Tables,
    templates: Templates,
    order: Order,
    frames: Frames,
    shadow: Shadow,
    levels: Levels,
    limits: Longs,
    state: Longs,
    modelled: bool,
    timed: bool,
) -> Int:
    """Follow records up to the first that is not simple, which `walk` takes or refuses (OTHER), or as `follow`."""
    simple, heads, turns = templates.simple, templates.heads, templates.turns
    records, sources, costs, several, used = order.records, order.sources, order.costs, order.several, order.counts
    masks = order.masks
    stack, values = frames.frames, frames.registers
    keys, rows, pages, writers, counts = shadow.keys, shadow.values, shadow.pages, shadow.writers, shadow.counts
    tags, geometry, hits = levels.tags, levels.geometry, levels.counts
    nearest, line_bits, lines, ways = geometry[0, LATENCY], geometry[0, LINE_BITS], geometry[0, MASK], geometry[0, WAYS]
    position = state[POSITION]
    nodes, edges = state[NODES], state[EDGES]
    number, source_at, cost_at, more_at = used[N_RECORDS], used[N_SOURCES], used[N_COSTS], used[N_SEVERAL]
    stretch = used[N_STRETCHES] * STRETCH
    state[EXTRA_EDGES] = state[EXTRA_PAGES] = state[EXTRA_READS] = 0
    if stretch >= order.stretches.size:
        return np.int64(READY)
    order.stretches[stretch + FIRST_RECORD] = number
    order.stretches[stretch + FIRST_SOURCE], order.stretches[stretch + FIRST_COST] = source_at, cost_at
    order.stretches[stretch + FIRST_NODE], order.stretches[stretch + FIRST_EDGE] = nodes, edges
    known_frame, known_function = np.int64(-1), np.int64(-1)
    registers: Int = np.int64(0)
    result = np.int64(DONE)
    while position < words.size:
        segment = np.uint64(words[position])
        if segment >= np.uint64(simple.size) or not simple[segment]:
            result = np.int64(OTHER)
            break
        payload = position + 1
        head = segment * np.uint64(HEAD)
        if payload + heads[head + np.uint64(WORDS)] > words.size:
            result = np.int64(CUT)
            break
        if number >= RECORDS or source_at > SOURCES or cost_at > COSTLY or more_at > SEVERAL:
            result = np.int64(READY)
            break
        if (
            edges > limits[MAX_EDGES]
            or nodes > limits[MAX_NODES]
            or counts[N_PAGES] > limits[MAX_PAGES]
            or counts[N_WRITERS] > limits[MAX_WRITERS]
            or counts[N_SINGLES] > limits[MAX_SINGLES]
            or counts[N_OWNERS] > limits[MAX_OWNERS]
        ):
            result = np.int64(FULL)
            break
        frame = (state[DEPTH] - 1) * FRAME_FIELDS
        function, fresh = np.int64(heads[head + np.uint64(OF)]), heads[head + np.uint64(FRESH)] != 0
        if fresh or frame != known_frame or function != known_function:
            if not fresh and frame >= 0 and stack[frame + FUNCTION] == function:
                stack[frame + SITE] = -1
            else:
                found = enter(words, payload, np.int64(segment), tables, frames, shadow, limits, state)
                if found != DONE:
                    result = np.int64(found)
                    break
                frame = (state[DEPTH] - 1) * FRAME_FIELDS
            known_frame, known_function = frame, np.int64(stack[frame + FUNCTION])
            registers = stack[frame + BASE]
        base = nodes
        missing: Int = np.int64(0)
        mask = np.uint64(0)  # of a record with more than FEW sources only whether it is 0
        at = np.uint64(heads[head + np.uint64(TURNS)])
        hole = np.uint64(source_at)
        phis = np.int64(heads[head + np.uint64(PHIS)])
        if phis:
            count = tables.phi_count[segment]
            known = np.int64(tables.phi_first[segment])
            came = stack[frame + BLOCK]
            which = np.int64(0)
            while which < count and tables.predecessors[known + which] != came:
                which += 1
            begin = np.int64(tables.phi_source[segment]) + which * phis
            for place in range(phis):
                source: Int = np.int64(UNDEFINED)
                if which < count and tables.sources[begin + place] >= 0:
                    source = np.int64(values[np.uint64(registers + tables.sources[begin + place])])
                sources[hole] = source
                hole += np.uint64(1)
                if source < 0:
                    missing += 1
                    mask |= np.uint64(1) << (np.uint64(place) & np.uint64(63))
        for place in range(phis, phis + heads[head + np.uint64(LIVES)]):
            source = np.int64(values[np.uint64(registers + turns[at])])
            sources[hole] = source
            at += np.uint64(1)
            hole += np.uint64(1)
            missing -= source >> 63
            mask |= (np.uint64(source) >> np.uint64(63)) << (np.uint64(place) & np.uint64(63))
        for _ in range(heads[head + np.uint64(ACCESSES)]):
            word = payload + np.int64(turns[at])
            address = long(words, word)
            length: Int = np.int64(turns[at + np.uint64(1)])
            stores = length < 0
            length = abs(length)
            vertex = base + turns[at + np.uint64(2)]
            last = np.int64(turns[at + np.uint64(3)])
            at += np.uint64(ACCESS)
            hole, payer = np.uint64(source_at + (last >> 16)), np.uint64(cost_at + (last & 0xFFFF))
            offset = address & (PAGE - 1)
            if offset + length > PAGE:
                costs[payer] = cost(shadow, levels, address, length, modelled)
                if stores:
                    write(shadow, address, length, vertex + 1)
                    continue
                sources[hole], mask = -2 - more_at, ALL
                more_at = _several(shadow, address, length, several, more_at)
                missing += 1 - several[-2 - sources[hole]]
                continue
            page = address >> PAGE_BITS
            cut = np.uint64(keys.size - 1)
            slot = ((np.uint64(page) * GOLDEN) >> np.uint64(32)) & cut
            while keys[slot] != page and keys[slot] != NONE:
                slot = (slot + np.uint64(1)) & cut
            row = np.int64(rows[slot]) if keys[slot] == page else np.int64(NONE)
            if row < 0 and stores:
                row = np.int64(ensure(shadow, page))
            own: Int = np.int64(1)
            if modelled:
                spot: Int = pages[np.uint64(row + PLACE)] if row >= 0 else np.int64(NONE)
                if spot >= 0:
                    spot += offset
                elif counts[LOW] <= address < counts[HIGH]:
                    spot = STACK_PLACE + address - counts[ANCHOR]
                elif spot != NONE:
                    spot = place_of(shadow, row, address)
                own = nearest
                if spot >= 0:
                    line = spot >> line_bits
                    if lines >= 0 and (
                        tags[np.uint64((line & lines) * ways)] == line and (spot + length - 1) >> line_bits == line
                    ):
                        hits[0] += 1
                    else:
                        own = access(levels, spot, length)
            if timed and words[word + 2]:
                own = np.int64(words[word + 2])
            costs[payer] = own
            table = pages[np.uint64(row + WRITERS)] if row >= 0 else np.int64(NONE)
            if stores:
                if offset & 3 == 0 and length & 3 == 0:
                    if table < 0:
                        table = writers_of(shadow, row)
                    here = np.uint64(table + (offset >> 2))
                    writers[here] = vertex + 1
                    if length == 8:
                        writers[here + np.uint64(1)] = vertex + 1
                else:
                    write(shadow, address, length, vertex + 1)
                continue
            mark: Int = np.int64(0)
            if table >= 0:
                here = np.uint64(table + (offset >> 2))
                mark = np.int64(writers[here])
                if mark == MIXED or not (
                    (offset & 3) + length <= 4
                    or (offset & 3 == 0 and length == 8 and np.int64(writers[here + np.uint64(1)]) == mark)
                ):
                    sources[hole], mask = -2 - more_at, ALL
                    more_at = _several(shadow, address, length, several, more_at)
                    missing += 1 - several[-2 - sources[hole]]
                    continue
            sources[hole] = mark - 1
            if mark == 0:
                missing += 1
                mask |= np.uint64(1) << (np.uint64(last >> 16) & np.uint64(63))
        for _ in range(heads[head + np.uint64(KEEPS)]):
            values[np.uint64(registers + turns[at + np.uint64(1)])] = base + turns[at]
            at += np.uint64(KEPT)
        for _ in range(heads[head + np.uint64(LASTS)]):
            vertex = base + turns[at + np.uint64(1)]
            if turns[at] == CALL:
                stack[frame + CALLED] = vertex
                stack[frame + SITE] = turns[at + np.uint64(2)]
            else:
                returned(tables, frames, shadow, state, vertex)
            known_frame = np.int64(-1)
            at += np.uint64(LAST)
        if heads[head + np.uint64(CLOSES)] >= 0:
            stack[frame + BLOCK] = heads[head + np.uint64(CLOSES)]
        holes = np.int64(heads[head + np.uint64(HOLES)])
        records[np.uint64(number)] = segment
        masks[np.uint64(number)] = mask if holes <= FEW or (missing == 0 and mask == 0) else ALL
        number += 1
        source_at += holes
        cost_at += heads[head + np.uint64(COSTS)]
        nodes += heads[head + np.uint64(SIZE)]
        edges += heads[head + np.uint64(N_EDGES)] - missing
        position = payload + heads[head + np.uint64(WORDS)]
    if number > order.stretches[stretch + FIRST_RECORD]:
        order.stretches[stretch + END_RECORD] = number
        order.stretches[stretch + END_NODE], order.stretches[stretch + END_EDGE] = nodes, edges
        used[N_STRETCHES] += 1
    used[N_RECORDS], used[N_SOURCES], used[N_COSTS], used[N_SEVERAL] = number, source_at, cost_at, more_at
    state[POSITION], state[NODES], state[EDGES] = position, nodes, edges
    return result
