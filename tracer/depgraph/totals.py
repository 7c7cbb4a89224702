"""Totals of loops that were recorded as runs: what each iteration adds to the sums, without a record of it.

In a loop of one block the register edges of all iterations but the first two are the same, because the set of values
with a maker does not change any more. They are counted once. What remains are the accesses, whose addresses the run
holds: their writers and their cycles are looked up as `reference.follow_records` does it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tracecut.ir.dependence_graph import MEMORY, REGISTER
from tracecut.ir.machine.cache_simulator import LATENCY, LINE_BITS, MASK, WAYS, access
from tracecut.support.arrays import Bytes, Ints, Longs
from tracecut.support.lazy_kernels import kept
from tracecut.support.plain_kernels import fitting
from tracecut.tracer.depgraph.state import call_frames as fr
from tracecut.tracer.depgraph.state import record_steps as op
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.access_steps import WalkState, cost
from tracecut.tracer.depgraph.state.number_kernels import outer_kernel
from tracecut.tracer.depgraph.state.object_places import place_of
from tracecut.tracer.depgraph.state.record_steps import Int, Tables, long
from tracecut.tracer.depgraph.state.shadow_memory import collect, distinct, ensure, find, write, writers_of
from tracecut.tracer.trace.compact.loop_runs import Shape
from tracecut.tracer.trace.events.event_words import FIRST_MARK, Words
from tracecut.tracer.trace.tables.expand import Expander
from tracecut.tracer.trace.tables.records import Lengths

from .builder import Builder

WARM = 2  # iterations that are followed as records; the registers are then as in all others
FEWEST = 1 << 12  # iterations of a run that is folded: setting up takes about as long as following these
STEPPED, FREE, SIGNED = np.uint8(Shape.STEPPED), np.uint8(Shape.FREE), np.uint8(Shape.SIGNED)


class Body(NamedTuple):
    """What one iteration of a run does.

    Attributes:
        accesses: int32 (n, 3), field of the address, bytes, negative for a store, and place of the instruction.
        keeps: int32 (n, 2), place and slot of what is kept. lives: int32, slots that are read.
        local: edges inside of the iteration. size, time: instructions, and their cycles without the accesses.
    """

    accesses: Ints
    keeps: Ints
    lives: Ints
    local: int
    size: int
    time: int


class Addresses(NamedTuple):
    """The addresses of a run: `loop_runs.Shape`, begin and step of each field."""

    shapes: Bytes
    begins: Longs
    steps: Longs


class Folder:
    """Feeds one stream to a builder of totals, and folds runs where possible.

    Args:
        builder: with `totals`. Loops with other steps than register steps and accesses of at most 8 bytes are expanded
            for it, as are all with anti, output or control dependences.
        fewest: iterations of a run that is folded; more than WARM.
    """

    def __init__(self, builder: Builder, fewest: int = FEWEST) -> None:
        static = builder.static
        self.builder = builder
        self._expander = Expander(static, reuse=True)
        self._lengths, self._fewest = Lengths.of(static), fewest
        self._fields = static.run_field.tolist()
        self._shapes, self._steps = static.field_shape, static.field_step
        self._bodies = [_body(builder.tables, segment) for segment in static.run_segment.tolist()]
        self._folds = np.array([body is not None for body in self._bodies], np.uint8)

    def feed(self, words: Words) -> None:
        """Follow one chunk of whole records, runs among them. Raises as `Builder.feed`.

        O(accesses of runs + instructions of all other records).
        """
        words = np.ascontiguousarray(words, np.uint32)
        lengths, place = self._lengths, 0
        tables = lengths.words, lengths.free, lengths.marks, np.uint32(lengths.first_run), self._folds, self._fewest
        while place < words.size:
            at = int(fitting(_next, words.size)(words, place, *tables))
            self._plain(words[place:at])
            place = at if at == words.size else self._run(words, at)

    def _plain(self, words: Words) -> None:
        for part in self._expander.pieces(words, 0):
            self.builder.feed(part)

    def _run(self, words: Words, at: int) -> int:
        """Fold a run; where it ends."""
        builder, number = self.builder, int(words[at]) - self._lengths.first_run
        head, free = int(self._lengths.words[words[at]]), int(self._lengths.free[words[at]])
        times, body, sums = int(words[at + 1]), self._bodies[number], builder.sums
        assert body is not None and sums is not None
        warm = words[at : at + head + WARM * free].copy()
        warm[1] = WARM
        self._plain(warm)
        own = slice(*self._fields[number : number + 2])
        shapes, steps = self._shapes[own], self._steps[own].copy()
        begins = np.zeros(shapes.size, np.int64)
        _begins(words, at + 2, shapes, begins, steps)
        builder._forget()  # what is not among the sums yet
        before, done = int(sums.rows[:-2].sum()), WARM
        while True:
            limits = builder.limits()
            if builder.arrays["src"].dtype == np.int64:
                limits[fr.MAX_NODES] = 2**62
            else:
                limits[fr.MAX_NODES] = builder.narrow - int(builder.tables.size.max())
            walk, addresses = builder.walk_state(), Addresses(shapes, begins, steps)
            found = _fold(words, at + head, done, times, addresses, body, walk, limits, sums.rows)
            del walk  # a view would keep the arrays from growing
            sums.nodes += (found - done) * body.size
            done = found
            if done == times:
                break
            builder._grow()
        sums.edges += int(sums.rows[:-2].sum()) - before
        return at + head + times * free


def _body(tables: Tables, segment: int) -> Body | None:
    """The effects of an iteration of the run of a segment; None when it cannot be folded. O(its steps)."""
    accesses, keeps, lives = [], [], []
    local = 0
    for code, place, a, b, c in tables.steps.reshape(-1, 5)[tables.step[segment] : tables.step[segment + 1]].tolist():
        if code == op.LOCAL:
            local += 1
        elif code == op.LIVE:
            lives.append(a)
        elif code == op.PHI:
            first, count = int(tables.phi_first[segment]), int(tables.phi_count[segment])
            known = tables.predecessors[first : first + count].tolist()
            if tables.closes[segment] not in known:
                return None
            begin = int(tables.phi_source[segment]) + known.index(tables.closes[segment]) * a
            lives += [slot for slot in tables.sources[begin : begin + a].tolist() if slot >= 0]
        elif code in (op.LOAD, op.STORE) and b > 0 and not c:
            accesses.append((a // 2, b if code == op.LOAD else -b, place))
        elif code == op.KEEP:
            keeps.append((place, a))
        else:
            return None
    first, size = int(tables.first[segment]), int(tables.size[segment])
    return Body(
        np.array(accesses, np.int32).reshape(-1, 3),
        np.array(keeps, np.int32).reshape(-1, 2),
        np.array(lives, np.int32),
        local,
        size,
        int(tables.time[first : first + size].sum()),
    )


@outer_kernel
def _next(
    words: Words, place: Int, lengths: Words, free: Words, marks: Words, first_run: Int, folds: Bytes, fewest: Int
) -> Int:
    """Where the next run begins that is to be folded; the end of the words when there is none."""
    at, size = np.uint64(place), np.uint64(words.size)
    while at < size:
        word = words[at]
        if word >= np.uint32(FIRST_MARK):
            at += np.uint64(marks[word & np.uint32(0xFF)])
        elif word < first_run:
            at += np.uint64(lengths[word])
        else:
            times = words[at + np.uint64(1)]
            if times >= fewest and folds[word - first_run]:
                return np.int64(at)
            at += np.uint64(lengths[word]) + np.uint64(times) * np.uint64(free[word])
    return np.int64(size)


@outer_kernel
def _begins(words: Words, at: Int, shapes: Bytes, begins: Longs, steps: Longs) -> None:
    """Read where the fields of a run begin, and the steps that its record holds."""
    for field in range(shapes.size):
        if shapes[field] == FREE:
            continue
        begins[field] = long(words, at)
        at += 2
        if shapes[field] == STEPPED:
            steps[field] = long(words, at)
            at += 2


@kept
def _fold(
    words: Words,
    source: Int,
    done: Int,
    times: Int,
    addresses: Addresses,
    body: Body,
    walk: WalkState,
    limits: Longs,
    rows: Longs,
) -> Int:
    """Add iterations `done` to `times` to the sums `rows`; how far it came before an array was too short."""
    frames, shadow, levels, state, modelled = walk
    shapes, begins, steps = addresses
    pages, writers, counts = shadow.pages, shadow.writers, shadow.counts
    tags, hits = levels.tags, levels.counts
    first = levels.geometry[0]
    latency, line_bits, sets, ways = first[LATENCY], first[LINE_BITS], first[MASK], first[WAYS]
    accesses, registers = body.accesses, frames.frames[(state[fr.DEPTH] - 1) * fr.FRAME_FIELDS + fr.BASE]
    each = np.int64(body.local)
    for place in range(body.lives.size):
        each += frames.registers[registers + body.lives[place]] >= 0
    address = begins.copy()
    words_each: Int = np.int64(0)
    for field in range(shapes.size):
        if shapes[field] >= FREE:
            words_each += 2 if shapes[field] == FREE else 1
        else:
            address[field] += done * steps[field]
    source += done * words_each
    known, row_of = np.full(accesses.shape[0], sh.NONE, np.int64), np.zeros(accesses.shape[0], np.int64)
    found = np.zeros(64, np.int64)
    nodes, first = state[fr.NODES], done
    none, memory = np.int64(0), np.int64(0)
    weight: Int = np.int64(0)
    time: Int = np.int64(0)
    if accesses.shape[0] == 0 and nodes <= limits[fr.MAX_NODES]:  # all iterations at once
        now = min(times - done, (limits[fr.MAX_NODES] - nodes) // body.size + 1)
        nodes += now * body.size
        done += now
    while done < times:
        if (
            nodes > limits[fr.MAX_NODES]
            or counts[sh.N_PAGES] > limits[fr.MAX_PAGES]
            or counts[sh.N_WRITERS] > limits[fr.MAX_WRITERS]
            or counts[sh.N_SINGLES] > limits[fr.MAX_SINGLES]
            or counts[sh.N_OWNERS] > limits[fr.MAX_OWNERS]
        ):
            break
        for field in range(shapes.size):
            if shapes[field] == FREE:
                address[field] = long(words, source)
                source += 2
            elif shapes[field] > FREE:
                turned = words[source] ^ np.uint32(0xFFFFFFFF)
                index = np.int64(np.int32(turned)) if shapes[field] == SIGNED else np.int64(turned)
                address[field] = begins[field] + index * steps[field]
                source += 1
        for number in range(accesses.shape[0]):
            at: Int = address[accesses[number, 0]]
            length: Int = np.int64(accesses[number, 1])
            stores = length < 0
            length = abs(length)
            vertex = nodes + accesses[number, 2]
            offset = at & (sh.PAGE - 1)
            if offset + length > sh.PAGE:
                own: Int = np.int64(cost(shadow, levels, at, length, modelled))
                time += own
                if stores:
                    write(shadow, at, length, vertex + 1)
                else:
                    several = distinct(found, none, collect(shadow, at, length, found, none, none))
                    memory += several
                    weight += several * own
                continue
            page = at >> sh.PAGE_BITS
            row = row_of[number]
            if known[number] != page:
                row = np.int64(ensure(shadow, page) if stores else find(shadow, page))
                if row >= 0:
                    known[number], row_of[number] = page, row
            own = np.int64(1)
            if modelled:
                spot: Int = pages[np.uint64(row + sh.PLACE)] if row >= 0 else np.int64(sh.NONE)
                if spot >= 0:
                    spot += offset
                elif counts[sh.LOW] <= at < counts[sh.HIGH]:
                    spot = sh.STACK_PLACE + at - counts[sh.ANCHOR]
                elif spot != sh.NONE:
                    spot = place_of(shadow, row, at)
                own = latency
                if spot >= 0:
                    line = spot >> line_bits
                    if sets >= 0 and (
                        tags[np.uint64((line & sets) * ways)] == line and (spot + length - 1) >> line_bits == line
                    ):
                        hits[0] += 1
                    else:
                        own = np.int64(access(levels, spot, length))
            time += own
            if stores:
                if offset & 3 or length & 3:
                    write(shadow, at, length, vertex + 1)
                    continue
                word = writers_of(shadow, row) + (offset >> 2)
                writers[word] = vertex + 1
                if length == 8:
                    writers[word + 1] = vertex + 1
                continue
            if row < 0 or pages[row + sh.WRITERS] < 0:
                continue
            word = pages[row + sh.WRITERS] + (offset >> 2)
            mark = np.int64(writers[word])
            if mark != sh.MIXED and (
                (offset & 3) + length <= 4 or (offset & 3 == 0 and length == 8 and np.int64(writers[word + 1]) == mark)
            ):
                memory += mark > 0
                weight += own * (mark > 0)
            else:
                several = distinct(found, none, collect(shadow, at, length, found, none, none))
                memory += several
                weight += several * own
        for field in range(shapes.size):
            if shapes[field] < FREE:
                address[field] += steps[field]
        nodes += body.size
        done += 1
    if done > first:
        for place in range(body.keeps.shape[0]):
            frames.registers[registers + body.keeps[place, 1]] = nodes - body.size + body.keeps[place, 0]
    state[fr.NODES] = state[fr.ORIGIN] = nodes
    state[fr.EXTRA_EDGES] = state[fr.EXTRA_PAGES] = state[fr.EXTRA_READS] = 0
    rows[REGISTER] += (done - first) * each
    rows[MEMORY] += memory
    rows[-2] += (done - first) * each + weight
    rows[-1] += (done - first) * body.time + time
    return done
