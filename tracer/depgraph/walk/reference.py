"""The walk over a stream of records: every executed instruction, its dependences, and what its accesses cost."""

from __future__ import annotations

import numpy as np
from tracecut.ir.dependence_graph import CONTROL, MEMORY, READ, REGISTER, WRITE
from tracecut.ir.machine.cache_simulator import LATENCY, LINE_BITS, MASK, WAYS, access
from tracecut.support.arrays import Bytes, Longs
from tracecut.tracer.depgraph.state import call_frames as fr
from tracecut.tracer.depgraph.state import record_steps as op
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.access_steps import WalkState, change, cost, range_count, range_of, read_many
from tracecut.tracer.depgraph.state.call_frames import enter, leave, returned, take_mark, variadic
from tracecut.tracer.depgraph.state.number_kernels import outer_kernel
from tracecut.tracer.depgraph.state.object_places import place_of
from tracecut.tracer.depgraph.state.output import Output, add_edge, label, note_access, since
from tracecut.tracer.depgraph.state.record_steps import Int, Tables, long
from tracecut.tracer.depgraph.state.shadow_memory import collect, distinct, ensure, find, write, writers_of
from tracecut.tracer.trace.events.event_words import FIRST_MARK, Words

from .anti_output import hazards
from .anti_output_words import short_access
from .record_needs import needs

BAD_SEGMENT, CUT, SIMPLE = 3, 4, 5  # what `follow_records` stops for, beside DONE, FULL and BAD_FRAME
MOST = 2**31 - 1


@outer_kernel
def follow_records(
    words: Words,
    tables: Tables,
    walk: WalkState,
    out: Output,
    limits: Longs,
    timed: bool,
    origin: Int | None,
    until: Bytes,
) -> Int:
    """Follow records from `state[POSITION]` on. Returns DONE at the end of the words, FULL when an array is too short
    for the next record (what it needs is in `state`), or what is wrong with it.

    The common steps are written out here, over arrays that are taken out of their tuples first: passing a tuple of
    arrays to a function that is not inlined copies hundreds of bytes.

    Args:
        timed: loads and stores bring their cycles.
        origin: the vertex that stands first in the arrays; None: 0, and there are no steps for anti and output
            dependences, which are then left out of the compiled code.
        until: uint8, of each segment, whether to stop in front of its records, with SIMPLE.
    """
    frames, shadow, levels, state, modelled = walk
    steps, step_of, sizes, firsts, lengths = tables.steps, tables.step, tables.size, tables.first, tables.words
    entry, closes, frame_word, function_of = tables.entry, tables.closes, tables.frame, tables.function
    dynamic, own_time = tables.dynamic, tables.time
    src, dst, weight, kind = out.src, out.dst, out.weight, out.kind
    instruction, time, rest = out.instruction, out.time, (out.src, out.dst, out.weight, out.kind)
    stack, values = frames.frames, frames.registers
    keys, rows, pages, writers, counts = shadow.keys, shadow.values, shadow.pages, shadow.writers, shadow.counts
    heads, reads = shadow.heads, shadow.reads
    tags, hits = levels.tags, levels.counts
    first = levels.geometry[0]
    latency, line_bits, sets, ways = first[LATENCY], first[LINE_BITS], first[MASK], first[WAYS]
    position = state[fr.POSITION]
    nodes, edges = state[fr.NODES], state[fr.EDGES]
    result = fr.DONE
    while position < words.size:
        segment = np.uint64(words[position])
        if segment >= np.uint64(FIRST_MARK):
            taken = take_mark(words, position, frames, shadow, limits, state, np.bool_(True))
            if taken <= 0:
                result = fr.FULL if taken == 0 else CUT
                break
            position += taken
            continue
        if segment >= np.uint64(sizes.size) or segment == np.uint64(0):
            result = BAD_SEGMENT
            break
        if until[segment]:
            result = SIMPLE
            break
        payload = position + 1
        if payload + lengths[segment] > words.size:
            result = CUT
            break
        begin, end = np.int64(step_of[segment]) * 5, np.int64(step_of[segment + np.uint64(1)]) * 5
        state[fr.EXTRA_EDGES] = state[fr.EXTRA_PAGES] = state[fr.EXTRA_READS] = 0
        if dynamic[segment]:
            needs(words, payload, steps, begin, end, walk, src, origin)
            if (
                counts[sh.N_HEADS] + 5 * state[fr.EXTRA_PAGES] > limits[fr.MAX_HEADS]
                or counts[sh.N_READS] + state[fr.EXTRA_READS] > limits[fr.MAX_READS]
                or state[fr.WORK] > limits[fr.MAX_WORK]
            ):
                result = fr.FULL
                break
        if (
            edges + state[fr.EXTRA_EDGES] > limits[fr.MAX_EDGES]
            or nodes > limits[fr.MAX_NODES]
            or counts[sh.N_PAGES] + state[fr.EXTRA_PAGES] > limits[fr.MAX_PAGES]
            or counts[sh.N_WRITERS] + state[fr.EXTRA_PAGES] > limits[fr.MAX_WRITERS]
            or counts[sh.N_SINGLES] > limits[fr.MAX_SINGLES]
            or counts[sh.N_OWNERS] > limits[fr.MAX_OWNERS]
            or counts[sh.N_OBJECTS] > limits[fr.MAX_OBJECTS]
            or state[fr.SLOTS] > limits[fr.MAX_SLOTS]
        ):
            result = fr.FULL
            break
        frame = (state[fr.DEPTH] - 1) * fr.FRAME_FIELDS
        if (
            frame >= 0
            and entry[segment] < 0
            and frame_word[segment] < 0
            and stack[frame + fr.OF] == function_of[segment]
        ):
            stack[frame + fr.SITE] = -1
        else:
            found = enter(words, payload, np.int64(segment), tables, frames, shadow, limits, state)
            if found != fr.DONE:
                result = found
                break
            frame = (state[fr.DEPTH] - 1) * fr.FRAME_FIELDS
        registers = stack[frame + fr.BASE]
        base = nodes
        first = np.int64(firsts[segment])
        size = np.int64(sizes[segment])
        for place in range(size):
            instruction[np.uint64(since(base, origin) + place)] = first + place
            time[np.uint64(since(base, origin) + place)] = own_time[np.uint64(first + place)]
        if out.access.size:
            out.address[since(base, origin) : since(base, origin) + size] = -1
            out.access[since(base, origin) : since(base, origin) + size] = 0
        nodes += size
        begin_reads = edges
        cycles: Int = np.int64(0)
        for step in range(begin, end, 5):
            at = np.uint64(step)
            code = steps[at]
            vertex = base + steps[at + np.uint64(1)]
            a = np.int64(steps[at + np.uint64(2)])
            if code <= op.LIVE:
                source = base + a
                if code == op.LIVE:
                    source = np.int64(values[np.uint64(registers + a)])
                if source >= 0:
                    edges = add_edge(src, dst, weight, kind, edges, source, vertex, 1, REGISTER)
            elif code == op.KEEP:
                values[np.uint64(registers + a)] = vertex
            elif code in (op.LOAD, op.STORE):
                address = long(words, payload + a)
                length: Int = np.int64(steps[at + np.uint64(3)])
                offset = address & (sh.PAGE - 1)
                part = steps[at + np.uint64(4)]
                if out.access.size:
                    where: Int = place_of(shadow, find(shadow, address >> sh.PAGE_BITS), address)
                    note_access(out, since(vertex, origin), where, READ if code == op.LOAD else WRITE)
                if part or offset + length > sh.PAGE:
                    if code == op.STORE:
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
                page = address >> sh.PAGE_BITS
                mask = np.uint64(keys.size - 1)
                slot = ((np.uint64(page) * sh.GOLDEN) >> np.uint64(32)) & mask
                while keys[slot] != page and keys[slot] != sh.NONE:
                    slot = (slot + np.uint64(1)) & mask
                row = np.int64(rows[slot]) if keys[slot] == page else np.int64(sh.NONE)
                if row < 0 and code == op.STORE:
                    row = ensure(shadow, page)
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
                if timed and words[payload + a + 2]:
                    own = np.int64(words[payload + a + 2])
                time[np.uint64(since(vertex, origin))] += own
                table = pages[np.uint64(row + sh.WRITERS)] if row >= 0 else np.int64(sh.NONE)
                if code == op.LOAD:
                    if table < 0:
                        continue
                    word = np.uint64(table + (offset >> 2))
                    mark = np.int64(writers[word])
                    if mark != sh.MIXED and (
                        (offset & 3) + length <= 4
                        or (offset & 3 == 0 and length == 8 and np.int64(writers[word + np.uint64(1)]) == mark)
                    ):
                        if mark > 0:
                            edges = add_edge(src, dst, weight, kind, edges, mark - 1, vertex, own, MEMORY)
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
            elif code == op.PHI:
                count = tables.phi_count[segment]
                known = np.int64(tables.phi_first[segment])
                came = stack[frame + fr.BLOCK]
                which = np.int64(0)
                while which < count and tables.predecessors[known + which] != came:
                    which += 1
                if which < count:
                    sources = tables.phi_source[segment] + which * a
                    for place in range(a):
                        register = tables.sources[sources + place]
                        source = values[registers + register] if register >= 0 else fr.UNDEFINED
                        if source >= 0:
                            edges = add_edge(src, dst, weight, kind, edges, source, base + place, 1, REGISTER)
            elif code == op.MANY_READS:
                begin_reads = edges
                cycles = np.int64(0)
            elif code == op.READS_DONE:
                edges = distinct(src, begin_reads, edges)
                cycles = min(MOST, cycles)
                time[since(vertex, origin)] = min(MOST, time[since(vertex, origin)] + cycles)
                label(rest, begin_reads, edges, vertex, cycles, MEMORY)
            elif code == op.CONTROL:
                latest: Int = np.int64(fr.UNDEFINED)
                for choice in range(a, a + steps[step + 3]):
                    latest = max(latest, np.int64(values[registers + tables.controllers[choice]]))
                if latest >= 0:
                    edges = add_edge(src, dst, weight, kind, edges, latest, vertex, 1, CONTROL)
            elif code == op.CALL:
                stack[frame + fr.CALLED] = vertex
                stack[frame + fr.SITE] = a
            elif code == op.RETURN:
                returned(tables, frames, shadow, state, vertex)
            elif code == op.LEAVE:
                leave(frames, shadow, state)
                if a and state[fr.DEPTH]:  # what the landing pad gets comes from the resume
                    stack[(state[fr.DEPTH] - 1) * fr.FRAME_FIELDS + fr.CALLED] = vertex
            elif code == op.UNWOUND:
                source = state[fr.UNWINDER]
                if source >= 0:
                    if steps[step + 1] < 0:
                        if a >= 0:
                            values[registers + a] = source
                    else:
                        edges = add_edge(src, dst, weight, kind, edges, source, vertex, 1, REGISTER)
            elif code == op.VARIADIC:
                variadic(words, payload + a, tables, frames, shadow, state)
            elif code >= op.NOTED and origin is not None:
                done: Int = np.int64(-1)
                if steps[step + 4]:
                    address = long(words, payload + steps[step + 7])
                    page = address >> sh.PAGE_BITS
                    mask = np.uint64(keys.size - 1)
                    slot = ((np.uint64(page) * sh.GOLDEN) >> np.uint64(32)) & mask
                    while keys[slot] != page and keys[slot] != sh.NONE:
                        slot = (slot + np.uint64(1)) & mask
                    row = np.int64(rows[slot]) if keys[slot] == page else np.int64(sh.NONE)
                    done = short_access(
                        steps, step, address, vertex, edges, row, pages, writers, heads, reads, counts, rest
                    )
                if done < 0:
                    done = hazards(words, payload, steps, step, walk, rest, edges, vertex)
                edges = done
            else:
                if out.access.size and op.LOAD <= code <= op.SCATTER:
                    reads_memory = code <= op.GATHER
                    for number in range(range_count(steps, step)):
                        address, length = range_of(words, payload, steps, step, number)
                        if length:
                            where = place_of(shadow, find(shadow, address >> sh.PAGE_BITS), address)
                            note_access(out, since(vertex, origin), where, READ if reads_memory else WRITE)
                if code <= op.GATHER or code in (op.OPAQUE_READ, op.REALLOC_READ, op.PASSED_READ):
                    edges, more = read_many(words, payload, steps, step, walk, src, begin_reads, edges)
                    cycles += more
                else:
                    more = change(words, payload, steps, step, walk, vertex + 1)
                    time[since(vertex, origin)] = min(MOST, time[since(vertex, origin)] + more)
        if closes[segment] >= 0:
            stack[frame + fr.BLOCK] = closes[segment]
        position = payload + lengths[segment]
    state[fr.POSITION], state[fr.NODES], state[fr.EDGES] = position, nodes, edges
    return result
