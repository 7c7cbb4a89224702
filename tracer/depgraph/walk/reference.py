"""The walk over a stream of records: every executed instruction, its dependences, and what its accesses cost."""

from __future__ import annotations

import numpy as np
from numba import njit
from tracecut.ir.dependence_graph import CONTROL as CONTROLLED
from tracecut.ir.dependence_graph import MEMORY, REGISTER
from tracecut.ir.machine.cache_simulator import LATENCY, LINE_BITS, MASK, WAYS, Levels, access
from tracecut.support.arrays import Bytes, Longs
from tracecut.tracer.depgraph.state.access_steps import Words, change, cost, long, read_many
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
    MAX_HEADS,
    MAX_NODES,
    MAX_OBJECTS,
    MAX_OWNERS,
    MAX_PAGES,
    MAX_READS,
    MAX_SINGLES,
    MAX_SLOTS,
    MAX_WORK,
    MAX_WRITERS,
    NODES,
    OF,
    POSITION,
    SITE,
    SLOTS,
    UNDEFINED,
    UNWINDER,
    WORK,
    Frames,
    enter,
    leave,
    returned,
    take_mark,
    variadic,
)
from tracecut.tracer.depgraph.state.object_places import place_of
from tracecut.tracer.depgraph.state.output import Output, label, since
from tracecut.tracer.depgraph.state.record_steps import (
    CALL,
    CONTROL,
    GATHER,
    KEEP,
    LEAVE,
    LIVE,
    LOAD,
    MANY_READS,
    NOTED,
    OPAQUE_READ,
    PASSED_READ,
    PHI,
    READS_DONE,
    REALLOC_READ,
    RETURN,
    STORE,
    UNWOUND,
    VARIADIC,
    Tables,
)
from tracecut.tracer.depgraph.state.shadow_memory import (
    ANCHOR,
    GOLDEN,
    HIGH,
    LOW,
    MIXED,
    N_HEADS,
    N_OBJECTS,
    N_OWNERS,
    N_PAGES,
    N_READS,
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
from tracecut.tracer.trace.events.event_words import FIRST_MARK

from .anti_output import hazards
from .anti_output_words import short_access
from .record_needs import needs

BAD_SEGMENT, CUT, SIMPLE = 3, 4, 5  # what `walk` stops for, beside DONE, FULL and BAD_FRAME
MOST = 2**31 - 1


@njit(cache=True, nogil=True)
def walk(
    words: Words,
    tables: Tables,
    out: Output,
    frames: Frames,
    shadow: Shadow,
    levels: Levels,
    limits: Longs,
    state: Longs,
    modelled: bool,
    timed: bool,
    origin: Int | None,
    until: Bytes | None,
) -> Int:
    """Follow records from `state[POSITION]` on. Returns DONE at the end of the words, FULL when an array is too short
    for the next record (what it needs is in `state`), or what is wrong with it.

    The common steps are written out here, over arrays that are taken out of their tuples first: handing a tuple of
    arrays to a function that is not inlined copies hundreds of bytes. `timed`: loads and stores bring their cycles.
    `origin`: the vertex that stands first in the arrays; None: 0, and no steps of `hazards`: that is compiled without.
    `until`: for each segment, whether to stop in front of its records, with SIMPLE.
    """
    steps, step_of, sizes, firsts, lengths = tables.steps, tables.step, tables.size, tables.first, tables.words
    entry, closes, frame_word, function_of = tables.entry, tables.closes, tables.frame, tables.function
    dynamic, own_time = tables.dynamic, tables.time
    src, dst, weight, kind = out.src, out.dst, out.weight, out.kind
    instruction, time, rest = out.instruction, out.time, (out.dst, out.weight, out.kind)
    stack, values = frames.frames, frames.registers
    keys, rows, pages, writers, counts = shadow.keys, shadow.values, shadow.pages, shadow.writers, shadow.counts
    heads, reads = shadow.heads, shadow.reads
    tags, geometry, hits = levels.tags, levels.geometry, levels.counts
    nearest = geometry[0, LATENCY]
    position = state[POSITION]
    nodes, edges = state[NODES], state[EDGES]
    result = DONE
    while position < words.size:
        segment = np.uint64(words[position])
        if segment >= np.uint64(FIRST_MARK):
            taken = take_mark(words, position, frames, shadow, limits, state, True)
            if taken <= 0:
                result = FULL if taken == 0 else CUT
                break
            position += taken
            continue
        if segment >= np.uint64(sizes.size) or segment == np.uint64(0):
            result = BAD_SEGMENT
            break
        if until is not None and until[segment]:
            result = SIMPLE
            break
        payload = position + 1
        if payload + lengths[segment] > words.size:
            result = CUT
            break
        begin, end = np.int64(step_of[segment]) * 5, np.int64(step_of[segment + np.uint64(1)]) * 5
        state[EXTRA_EDGES] = state[EXTRA_PAGES] = state[EXTRA_READS] = 0
        if dynamic[segment]:
            needs(words, payload, steps, begin, end, shadow, frames, state, src, origin)
            if (
                counts[N_HEADS] + 5 * state[EXTRA_PAGES] > limits[MAX_HEADS]
                or counts[N_READS] + state[EXTRA_READS] > limits[MAX_READS]
                or state[WORK] > limits[MAX_WORK]
            ):
                result = FULL
                break
        if (
            edges + state[EXTRA_EDGES] > limits[MAX_EDGES]
            or nodes > limits[MAX_NODES]
            or counts[N_PAGES] + state[EXTRA_PAGES] > limits[MAX_PAGES]
            or counts[N_WRITERS] + state[EXTRA_PAGES] > limits[MAX_WRITERS]
            or counts[N_SINGLES] > limits[MAX_SINGLES]
            or counts[N_OWNERS] > limits[MAX_OWNERS]
            or counts[N_OBJECTS] > limits[MAX_OBJECTS]
            or state[SLOTS] > limits[MAX_SLOTS]
        ):
            result = FULL
            break
        frame = (state[DEPTH] - 1) * FRAME_FIELDS
        if frame >= 0 and entry[segment] < 0 and frame_word[segment] < 0 and stack[frame + OF] == function_of[segment]:
            stack[frame + SITE] = -1
        else:
            found = enter(words, payload, np.int64(segment), tables, frames, shadow, limits, state)
            if found != DONE:
                result = found
                break
            frame = (state[DEPTH] - 1) * FRAME_FIELDS
        registers = stack[frame + BASE]
        base = nodes
        first = np.int64(firsts[segment])
        size = np.int64(sizes[segment])
        for place in range(size):
            instruction[np.uint64(since(base, origin) + place)] = first + place
            time[np.uint64(since(base, origin) + place)] = own_time[np.uint64(first + place)]
        nodes += size
        begin_reads = edges
        cycles: Int = np.int64(0)
        for step in range(begin, end, 5):
            at = np.uint64(step)
            code = steps[at]
            vertex = base + steps[at + np.uint64(1)]
            a = np.int64(steps[at + np.uint64(2)])
            if code <= LIVE:
                source = base + a
                if code == LIVE:
                    source = np.int64(values[np.uint64(registers + a)])
                if source >= 0:
                    here = np.uint64(edges)
                    src[here] = source
                    dst[here] = vertex
                    weight[here] = 1
                    kind[here] = REGISTER
                    edges += 1
            elif code == KEEP:
                values[np.uint64(registers + a)] = vertex
            elif code in (LOAD, STORE):
                address = long(words, payload + a)
                length: Int = np.int64(steps[at + np.uint64(3)])
                offset = address & (PAGE - 1)
                part = steps[at + np.uint64(4)]
                if part or offset + length > PAGE:
                    if code == STORE:
                        write(shadow, address, length, vertex + 1)
                        time[since(vertex, origin)] += cost(shadow, levels, address, length, modelled)
                        continue
                    if not part:
                        begin_reads, cycles = edges, np.int64(0)
                    edges = collect(shadow, address, length, src, begin_reads, edges)
                    cycles += cost(shadow, levels, address, length, modelled)
                    if not part:
                        edges = distinct(src, begin_reads, edges)
                        time[since(vertex, origin)] += cycles
                        label(rest, begin_reads, edges, vertex, cycles, MEMORY)
                    continue
                page = address >> PAGE_BITS
                mask = np.uint64(keys.size - 1)
                slot = ((np.uint64(page) * GOLDEN) >> np.uint64(32)) & mask
                while keys[slot] != page and keys[slot] != NONE:
                    slot = (slot + np.uint64(1)) & mask
                row = np.int64(rows[slot]) if keys[slot] == page else np.int64(NONE)
                if row < 0 and code == STORE:
                    row = ensure(shadow, page)
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
                        line = spot >> geometry[0, LINE_BITS]
                        lines = geometry[0, MASK]
                        if lines >= 0 and (
                            tags[np.uint64((line & lines) * geometry[0, WAYS])] == line
                            and (spot + length - 1) >> geometry[0, LINE_BITS] == line
                        ):
                            hits[0] += 1
                        else:
                            own = access(levels, spot, length)
                if timed and words[payload + a + 2]:
                    own = np.int64(words[payload + a + 2])
                time[np.uint64(since(vertex, origin))] += own
                table = pages[np.uint64(row + WRITERS)] if row >= 0 else np.int64(NONE)
                if code == LOAD:
                    if table < 0:
                        continue
                    word = np.uint64(table + (offset >> 2))
                    mark = np.int64(writers[word])
                    if mark != MIXED and (
                        (offset & 3) + length <= 4
                        or (offset & 3 == 0 and length == 8 and np.int64(writers[word + np.uint64(1)]) == mark)
                    ):
                        if mark > 0:
                            here = np.uint64(edges)
                            src[here] = mark - 1
                            dst[here] = vertex
                            weight[here] = own
                            kind[here] = MEMORY
                            edges += 1
                    else:
                        start = edges
                        edges = distinct(src, start, collect(shadow, address, length, src, start, edges))
                        label(rest, start, edges, vertex, own, MEMORY)
                elif offset & 3 == 0 and length & 3 == 0:
                    if table < 0:
                        table = writers_of(shadow, row)
                    word = np.uint64(table + (offset >> 2))
                    writers[word] = vertex + 1
                    if length == 8:
                        writers[word + np.uint64(1)] = vertex + 1
                else:
                    write(shadow, address, length, vertex + 1)
            elif code == PHI:
                count = tables.phi_count[segment]
                known = np.int64(tables.phi_first[segment])
                came = stack[frame + BLOCK]
                which = np.int64(0)
                while which < count and tables.predecessors[known + which] != came:
                    which += 1
                if which < count:
                    sources = tables.phi_source[segment] + which * a
                    for place in range(a):
                        slot = tables.sources[sources + place]
                        source = values[registers + slot] if slot >= 0 else UNDEFINED
                        if source >= 0:
                            src[edges] = source
                            dst[edges] = base + place
                            weight[edges] = 1
                            kind[edges] = REGISTER
                            edges += 1
            elif code == MANY_READS:
                begin_reads = edges
                cycles = np.int64(0)
            elif code == READS_DONE:
                edges = distinct(src, begin_reads, edges)
                cycles = min(MOST, cycles)
                time[since(vertex, origin)] = min(MOST, time[since(vertex, origin)] + cycles)
                label(rest, begin_reads, edges, vertex, cycles, MEMORY)
            elif code == CONTROL:
                latest: Int = np.int64(UNDEFINED)
                for choice in range(a, a + steps[step + 3]):
                    latest = max(latest, np.int64(values[registers + tables.controllers[choice]]))
                if latest >= 0:
                    src[edges] = latest
                    dst[edges] = vertex
                    weight[edges] = 1
                    kind[edges] = CONTROLLED
                    edges += 1
            elif code == CALL:
                stack[frame + CALLED] = vertex
                stack[frame + SITE] = a
            elif code == RETURN:
                returned(tables, frames, shadow, state, vertex)
            elif code == LEAVE:
                leave(frames, shadow, state)
                if a and state[DEPTH]:  # what the landing pad gets comes from the resume
                    stack[(state[DEPTH] - 1) * FRAME_FIELDS + CALLED] = vertex
            elif code == UNWOUND:
                source = state[UNWINDER]
                if source >= 0:
                    if steps[step + 1] < 0:
                        if a >= 0:
                            values[registers + a] = source
                    else:
                        src[edges] = source
                        dst[edges] = vertex
                        weight[edges] = 1
                        kind[edges] = REGISTER
                        edges += 1
            elif code == VARIADIC:
                variadic(words, payload + a, tables, frames, shadow, state)
            elif code >= NOTED and origin is not None:
                done: Int = np.int64(-1)
                if steps[step + 4]:
                    address = long(words, payload + steps[step + 7])
                    done = short_access(
                        steps, step, address, vertex, edges, keys, rows, pages, writers, heads, reads, counts, src, rest
                    )
                if done < 0:
                    done = hazards(words, payload, steps, step, shadow, frames, state, src, rest, edges, vertex)
                edges = done
            else:
                b, c = np.int64(steps[step + 3]), np.int64(steps[step + 4])
                if code <= GATHER or code in (OPAQUE_READ, REALLOC_READ, PASSED_READ):
                    reading = shadow, frames, levels, src, begin_reads, edges, modelled, state
                    edges, more = read_many(words, payload, code, a, b, c, *reading)
                    cycles += more
                else:
                    more = change(words, payload, code, a, b, c, shadow, frames, levels, vertex + 1, modelled, state)
                    time[since(vertex, origin)] = min(MOST, time[since(vertex, origin)] + more)
        if closes[segment] >= 0:
            stack[frame + BLOCK] = closes[segment]
        position = payload + lengths[segment]
    state[POSITION], state[NODES], state[EDGES] = position, nodes, edges
    return result
