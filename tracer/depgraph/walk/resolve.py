"""The walk over records of simple segments: it looks up what `templates` leave open, and `emit` writes the edges.

It does what `reference.follow_records` does, step for step, but for what is the same in all records of a segment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tracecut.ir.machine.cache_simulator import LATENCY, LINE_BITS, MASK, WAYS, access
from tracecut.support.arrays import Ints, Longs
from tracecut.tracer.depgraph.state import call_frames as fr
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.access_steps import WalkState, cost
from tracecut.tracer.depgraph.state.call_frames import enter, returned
from tracecut.tracer.depgraph.state.number_kernels import inner_kernel, outer_kernel
from tracecut.tracer.depgraph.state.object_places import place_of
from tracecut.tracer.depgraph.state.output import Output
from tracecut.tracer.depgraph.state.record_steps import CALL, Int, Tables, long
from tracecut.tracer.depgraph.state.shadow_memory import Shadow, collect, distinct, ensure, write, writers_of
from tracecut.tracer.trace.events.event_words import Words

from . import templates as tp
from .reference import CUT, SIMPLE, follow_records
from .templates import Templates

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
    heads = templates.heads.reshape(-1, tp.HEAD)
    holes, costs = int(heads[:, tp.HOLES].max(initial=0)), int(heads[:, tp.COSTS].max(initial=0))
    rooms = RECORDS, SOURCES + holes, COSTLY + costs, SEVERAL + 9 * holes
    records, sources, paid, several = (np.empty(room + 1, np.int32) for room in rooms)
    masks, stretches = np.empty(RECORDS + 1, np.uint64), np.empty(STRETCHES * STRETCH, np.int64)
    return Order(records, masks, sources, paid, several, stretches, np.zeros(ORDERED, np.int64))


@outer_kernel
def follow(
    words: Words,
    tables: Tables,
    templates: Templates,
    order: Order,
    walk: WalkState,
    out: Output,
    limits: Longs,
    timed: bool,
) -> Int:
    """`reference.follow_records`, but leaves records of simple segments to `order`. Stops with READY when that is full.

    O(words + accesses).
    """
    while True:
        found = _resolve(words, tables, templates, order, walk, limits, timed)
        if found != OTHER:
            return found
        found = follow_records(words, tables, walk, out, limits, timed, None, templates.simple)
        if found != SIMPLE:
            return found


@inner_kernel
def _several(shadow: Shadow, address: Int, length: Int, several: Ints, at: Int) -> Int:
    """Append the number of writers of a byte range and the writers to `several`; the new end."""
    end = distinct(several, at + 1, collect(shadow, address, length, several, at + 1, at + 1))
    several[at] = end - at - 1
    return end


@inner_kernel
def _resolve(
    words: Words, tables: Tables, templates: Templates, order: Order, walk: WalkState, limits: Longs, timed: bool
) -> Int:
    """Follow records up to the first that is not simple, which `walk` takes or refuses (OTHER), or as `follow`."""
    frames, shadow, levels, state, modelled = walk
    simple, heads, turns = templates.simple, templates.heads, templates.turns
    records, sources, costs, several, used = order.records, order.sources, order.costs, order.several, order.counts
    masks = order.masks
    stack, values = frames.frames, frames.registers
    keys, rows, pages, writers, counts = shadow.keys, shadow.values, shadow.pages, shadow.writers, shadow.counts
    tags, hits = levels.tags, levels.counts
    first = levels.geometry[0]
    latency, line_bits, sets, ways = first[LATENCY], first[LINE_BITS], first[MASK], first[WAYS]
    position = state[fr.POSITION]
    nodes, edges = state[fr.NODES], state[fr.EDGES]
    number, source_at, cost_at, more_at = used[N_RECORDS], used[N_SOURCES], used[N_COSTS], used[N_SEVERAL]
    stretch = used[N_STRETCHES] * STRETCH
    state[fr.EXTRA_EDGES] = state[fr.EXTRA_PAGES] = state[fr.EXTRA_READS] = 0
    if stretch >= order.stretches.size:
        return np.int64(READY)
    order.stretches[stretch + FIRST_RECORD] = number
    order.stretches[stretch + FIRST_SOURCE], order.stretches[stretch + FIRST_COST] = source_at, cost_at
    order.stretches[stretch + FIRST_NODE], order.stretches[stretch + FIRST_EDGE] = nodes, edges
    known_frame, known_function = np.int64(-1), np.int64(-1)
    registers: Int = np.int64(0)
    result = np.int64(fr.DONE)
    while position < words.size:
        segment = np.uint64(words[position])
        if segment >= np.uint64(simple.size) or not simple[segment]:
            result = np.int64(OTHER)
            break
        payload = position + 1
        head = segment * np.uint64(tp.HEAD)
        if payload + heads[head + np.uint64(tp.WORDS)] > words.size:
            result = np.int64(CUT)
            break
        if number >= RECORDS or source_at > SOURCES or cost_at > COSTLY or more_at > SEVERAL:
            result = np.int64(READY)
            break
        if (
            edges > limits[fr.MAX_EDGES]
            or nodes > limits[fr.MAX_NODES]
            or counts[sh.N_PAGES] > limits[fr.MAX_PAGES]
            or counts[sh.N_WRITERS] > limits[fr.MAX_WRITERS]
            or counts[sh.N_SINGLES] > limits[fr.MAX_SINGLES]
            or counts[sh.N_OWNERS] > limits[fr.MAX_OWNERS]
        ):
            result = np.int64(fr.FULL)
            break
        frame = (state[fr.DEPTH] - 1) * fr.FRAME_FIELDS
        function, fresh = np.int64(heads[head + np.uint64(tp.OF)]), heads[head + np.uint64(tp.FRESH)] != 0
        if fresh or frame != known_frame or function != known_function:
            if not fresh and frame >= 0 and stack[frame + fr.OF] == function:
                stack[frame + fr.SITE] = -1
            else:
                found = enter(words, payload, np.int64(segment), tables, frames, shadow, limits, state)
                if found != fr.DONE:
                    result = np.int64(found)
                    break
                frame = (state[fr.DEPTH] - 1) * fr.FRAME_FIELDS
            known_frame, known_function = frame, np.int64(stack[frame + fr.OF])
            registers = stack[frame + fr.BASE]
        base = nodes
        missing: Int = np.int64(0)
        mask = np.uint64(0)  # of a record with more than FEW sources only whether it is 0
        at = np.uint64(heads[head + np.uint64(tp.TURNS)])
        hole = np.uint64(source_at)
        phis = np.int64(heads[head + np.uint64(tp.PHIS)])
        if phis:
            count = tables.phi_count[segment]
            known = np.int64(tables.phi_first[segment])
            came = stack[frame + fr.BLOCK]
            which = np.int64(0)
            while which < count and tables.predecessors[known + which] != came:
                which += 1
            begin = np.int64(tables.phi_source[segment]) + which * phis
            for place in range(phis):
                source: Int = np.int64(fr.UNDEFINED)
                if which < count and tables.sources[begin + place] >= 0:
                    source = np.int64(values[np.uint64(registers + tables.sources[begin + place])])
                sources[hole] = source
                hole += np.uint64(1)
                if source < 0:
                    missing += 1
                    mask |= np.uint64(1) << (np.uint64(place) & np.uint64(63))
        for place in range(phis, phis + heads[head + np.uint64(tp.LIVES)]):
            source = np.int64(values[np.uint64(registers + turns[at])])
            sources[hole] = source
            at += np.uint64(1)
            hole += np.uint64(1)
            missing -= source >> 63
            mask |= (np.uint64(source) >> np.uint64(63)) << (np.uint64(place) & np.uint64(63))
        for _ in range(heads[head + np.uint64(tp.ACCESSES)]):
            word = payload + np.int64(turns[at])
            address = long(words, word)
            length: Int = np.int64(turns[at + np.uint64(1)])
            stores = length < 0
            length = abs(length)
            vertex = base + turns[at + np.uint64(2)]
            last = np.int64(turns[at + np.uint64(3)])
            at += np.uint64(tp.ACCESS)
            hole, payer = np.uint64(source_at + (last >> 16)), np.uint64(cost_at + (last & 0xFFFF))
            offset = address & (sh.PAGE - 1)
            if offset + length > sh.PAGE:
                costs[payer] = cost(shadow, levels, address, length, modelled)
                if stores:
                    write(shadow, address, length, vertex + 1)
                    continue
                sources[hole], mask = -2 - more_at, ALL
                more_at = _several(shadow, address, length, several, more_at)
                missing += 1 - several[-2 - sources[hole]]
                continue
            page = address >> sh.PAGE_BITS
            cut = np.uint64(keys.size - 1)
            slot = ((np.uint64(page) * sh.GOLDEN) >> np.uint64(32)) & cut
            while keys[slot] != page and keys[slot] != sh.NONE:
                slot = (slot + np.uint64(1)) & cut
            row = np.int64(rows[slot]) if keys[slot] == page else np.int64(sh.NONE)
            if row < 0 and stores:
                row = np.int64(ensure(shadow, page))
            own: Int = np.int64(1)
            if modelled:
                spot: Int = pages[np.uint64(row + sh.PLACE)] if row >= 0 else np.int64(sh.NONE)
                if spot >= 0:
                    spot += offset
                elif counts[sh.LOW] <= address < counts[sh.HIGH]:
                    spot = sh.STACK_PLACE + address - counts[sh.ANCHOR]
                elif spot != sh.NONE:
                    spot = place_of(shadow, row, address)
                own = latency
                if spot >= 0:
                    line = spot >> line_bits
                    if sets >= 0 and (
                        tags[np.uint64((line & sets) * ways)] == line and (spot + length - 1) >> line_bits == line
                    ):
                        hits[0] += 1
                    else:
                        own = np.int64(access(levels, spot, length))
            if timed and words[word + 2]:
                own = np.int64(words[word + 2])
            costs[payer] = own
            table = pages[np.uint64(row + sh.WRITERS)] if row >= 0 else np.int64(sh.NONE)
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
                if mark == sh.MIXED or not (
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
        for _ in range(heads[head + np.uint64(tp.KEEPS)]):
            values[np.uint64(registers + turns[at + np.uint64(1)])] = base + turns[at]
            at += np.uint64(tp.KEPT)
        for _ in range(heads[head + np.uint64(tp.LASTS)]):
            vertex = base + turns[at + np.uint64(1)]
            if turns[at] == CALL:
                stack[frame + fr.CALLED] = vertex
                stack[frame + fr.SITE] = turns[at + np.uint64(2)]
            else:
                returned(tables, frames, shadow, state, vertex)
            known_frame = np.int64(-1)
            at += np.uint64(tp.LAST)
        if heads[head + np.uint64(tp.CLOSES)] >= 0:
            stack[frame + fr.BLOCK] = heads[head + np.uint64(tp.CLOSES)]
        holes = np.int64(heads[head + np.uint64(tp.HOLES)])
        records[np.uint64(number)] = segment
        masks[np.uint64(number)] = mask if holes <= FEW or (missing == 0 and mask == 0) else ALL
        number += 1
        source_at += holes
        cost_at += heads[head + np.uint64(tp.COSTS)]
        nodes += heads[head + np.uint64(tp.SIZE)]
        edges += heads[head + np.uint64(tp.N_EDGES)] - missing
        position = payload + heads[head + np.uint64(tp.WORDS)]
    if number > order.stretches[stretch + FIRST_RECORD]:
        order.stretches[stretch + END_RECORD] = number
        order.stretches[stretch + END_NODE], order.stretches[stretch + END_EDGE] = nodes, edges
        used[N_STRETCHES] += 1
    used[N_RECORDS], used[N_SOURCES], used[N_COSTS], used[N_SEVERAL] = number, source_at, cost_at, more_at
    state[fr.POSITION], state[fr.NODES], state[fr.EDGES] = position, nodes, edges
    return result
