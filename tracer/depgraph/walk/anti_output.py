"""Anti and output dependences: who read each byte since it was written, and what a write comes after.

The readers of a word form a list. A list never changes once it is made: reading puts one more entry in front of it, and
words that were read together (both halves of a double) share it. A write drops the list; what no word leads to any more
is swept out when the entries run out (`compact`).
"""

from __future__ import annotations

import numpy as np
from tracecut.ir.dependence_graph import ANTI, OUTPUT
from tracecut.support.arrays import Ints, Longs
from tracecut.support.lazy_kernels import kept
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.access_steps import WalkState, accessed_range, range_count
from tracecut.tracer.depgraph.state.call_frames import EXTRA_EDGES, EXTRA_READS
from tracecut.tracer.depgraph.state.number_kernels import inner_kernel
from tracecut.tracer.depgraph.state.output import Edges, label
from tracecut.tracer.depgraph.state.record_steps import NOTED, PASSED_READ, WAS_READ, WAS_WRITTEN, Int
from tracecut.tracer.trace.events.event_words import Words

from .anti_output_words import NEXT_BITS, NEXT_MASK

SLACK = 64  # what the steps of one record before this one may change: parts of words become their own
MOST_BYTES = 1 << 36  # of one record: more than any machine has
MOST_VERTICES = 1 << 32  # that entries can name
# What `_range` does with a range of bytes. Callers pass `np.int64(…)`: Numba compiles a function once for each literal.
NOTE, ROOM, OVERWRITTEN, OVERREAD, CLEAR = range(5)


@inner_kernel
def hazards(
    words: Words,
    payload: Int,
    steps: Ints,
    step: Int,
    walk: WalkState,
    out: Edges,
    edges: Int,
    vertex: Int,
) -> Int:
    """Take a NOTED or an OVERWRITES step, which speaks of the steps behind it; the new number of edges.

    What `short_access` can do is not tried here.
    """
    src = out[0]
    if steps[step] == NOTED:
        _visit(np.int64(NOTE), words, payload, steps, step, walk, src, edges, edges, vertex)
        return edges
    wanted = np.int64(steps[step + 3])
    for what, bit, name in ((OVERWRITTEN, WAS_WRITTEN, OUTPUT), (OVERREAD, WAS_READ, ANTI)):
        if not wanted & bit:
            continue
        end = _visit(what, words, payload, steps, step, walk, src, edges, edges, vertex)
        end = sh.distinct(src, edges, end)
        label(out, edges, end, vertex, 1, name)
        edges = end
    if wanted & WAS_READ:
        _visit(np.int64(CLEAR), words, payload, steps, step, walk, src, edges, edges, vertex)
    return edges


@inner_kernel
def room(words: Words, payload: Int, steps: Ints, step: Int, walk: WalkState, src: sh.Writers) -> None:
    """Add what a NOTED or an OVERWRITES step may need to EXTRA_READS and EXTRA_EDGES."""
    state = walk.state
    none = np.int64(0)
    size = _visit(np.int64(ROOM), words, payload, steps, step, walk, src, none, none, none)
    if steps[step] == NOTED:
        state[EXTRA_READS] += size
    else:  # what the same record read before may be among them, too
        state[EXTRA_EDGES] += size + state[EXTRA_READS]


@inner_kernel
def _visit(
    what: Int,
    words: Words,
    payload: Int,
    steps: Ints,
    step: Int,
    walk: WalkState,
    found: sh.Writers,
    start: Int,
    at: Int,
    vertex: Int,
) -> Int:
    """Do something with each range that the steps behind this one touch; the end of what was found."""
    reads = steps[step] == NOTED
    for row in range(step + 5, step + 5 + 5 * np.int64(steps[step + 2]), 5):
        for number in range(range_count(steps, row)):
            address, length = accessed_range(words, payload, steps, row, number, walk)
            if length > 0 and steps[row] != PASSED_READ:
                at = _range(what, reads, walk.shadow, address, length, found, start, at, vertex)
    return at


@inner_kernel
def _range(
    what: Int,
    reads: bool,
    shadow: sh.Shadow,
    address: Int,
    length: Int,
    found: sh.Writers,
    start: Int,
    at: Int,
    vertex: Int,
) -> Int:
    if what == NOTE:
        _note(shadow, address, length, vertex)
        return at
    if what == ROOM and length > MOST_BYTES:  # a damaged record: the step that makes the access is refused
        return at
    if what == ROOM and reads:
        return at + SLACK + _entries(shadow, address, length, False)
    if what == ROOM:
        known = shadow.counts[sh.N_WRITERS] * sh.WORDS + shadow.counts[sh.N_SINGLES] * sh.PAGE
        return at + SLACK + min(length, known) + _entries(shadow, address, length, True)
    if what == OVERWRITTEN:
        return sh.collect(shadow, address, length, found, start, at)
    if what == OVERREAD:
        return _readers(shadow, address, length, found, start, at, vertex)
    end = address + length
    while address < end:
        stop = min(end, ((address >> sh.PAGE_BITS) + 1) << sh.PAGE_BITS)
        row = sh.find(shadow, address >> sh.PAGE_BITS)
        if row >= 0 and shadow.pages[row + sh.READERS] >= 0:
            sh.unread(shadow, row, address & (sh.PAGE - 1), stop - address)
        address = stop
    return at


@inner_kernel
def _note(shadow: sh.Shadow, address: Int, length: Int, vertex: Int) -> None:
    """The vertex reads a range of bytes."""
    end = address + length
    before = after = np.int64(-2)
    while address < end:
        stop = min(end, ((address >> sh.PAGE_BITS) + 1) << sh.PAGE_BITS)
        row = sh.ensure(shadow, address >> sh.PAGE_BITS)
        table = shadow.pages[row + sh.READERS]
        if table < 0:
            table = shadow.counts[sh.N_HEADS] * sh.WORDS
            shadow.counts[sh.N_HEADS] += 1
            shadow.pages[row + sh.READERS] = table
        while address < stop:
            offset = address & (sh.PAGE - 1)
            upto = min(stop, (address | 3) + 1)
            first, last = table + (offset >> 2), table + (offset >> 2) + 1
            if upto - address < 4 or shadow.heads[first] == sh.SPLIT:
                first = sh.split_readers(shadow, row, first, offset & ~3) + (offset & 3)
                last = first + upto - address
            for place in range(first, last):
                head = np.int64(shadow.heads[place])
                if head != before:
                    before = after = head
                    if head == 0 or shadow.reads[head] >> NEXT_BITS != vertex:
                        after = shadow.counts[sh.N_READS]
                        shadow.counts[sh.N_READS] += 1
                        shadow.reads[after] = (vertex << NEXT_BITS) | head
                shadow.heads[place] = after
            address = upto


@inner_kernel
def _heads_of(shadow: sh.Shadow, row: Int, address: Int, upto: Int) -> tuple[Int, Int]:
    """First and end in `heads` of the readers of a word, or, where they differ, of its bytes up to `upto`."""
    offset = address & (sh.PAGE - 1)
    first = shadow.pages[row + sh.READERS] + (offset >> 2)
    if shadow.heads[first] != sh.SPLIT:
        return first, first + 1
    first = shadow.pages[row + sh.READER_SINGLES] + offset
    return first, first + upto - address


@inner_kernel
def _entries(shadow: sh.Shadow, address: Int, length: Int, whole: bool) -> Int:
    """Number of lists that a byte range has, one for neighbours that share it; `whole`: the sum of their lengths."""
    count = np.int64(1)
    end = address + length
    before = np.int64(0)
    while address < end:
        stop = min(end, ((address >> sh.PAGE_BITS) + 1) << sh.PAGE_BITS)
        row = sh.find(shadow, address >> sh.PAGE_BITS)
        if row < 0 or shadow.pages[row + sh.READERS] < 0:
            count += 1
            address = stop
            continue
        while address < stop:
            upto = min(stop, (address | 3) + 1)
            first, last = _heads_of(shadow, row, address, upto)
            for place in range(first, last):
                head = np.int64(shadow.heads[place])
                if head == before:
                    continue
                before = head
                count += 1
                while whole and head:
                    head = shadow.reads[head] & NEXT_MASK
                    count += 1
            address = upto
    return count


@inner_kernel
def _readers(shadow: sh.Shadow, address: Int, length: Int, found: sh.Writers, start: Int, at: Int, vertex: Int) -> Int:
    """Append the readers of a byte range other than `vertex`; the new end."""
    end = address + length
    before = np.int64(0)
    while address < end:
        stop = min(end, ((address >> sh.PAGE_BITS) + 1) << sh.PAGE_BITS)
        row = sh.find(shadow, address >> sh.PAGE_BITS)
        if row < 0 or shadow.pages[row + sh.READERS] < 0:
            address = stop
            continue
        while address < stop:
            upto = min(stop, (address | 3) + 1)
            first, last = _heads_of(shadow, row, address, upto)
            for place in range(first, last):
                head = np.int64(shadow.heads[place])
                if head == before:
                    continue
                before = head
                while head:
                    entry = shadow.reads[head]
                    head = entry & NEXT_MASK
                    if entry >> NEXT_BITS != vertex:
                        if at == found.size:  # there is room for the different ones
                            at = sh.distinct(found, start, at)
                        found[at] = entry >> NEXT_BITS
                        at += 1
            address = upto
    return at


@kept
def compact(heads: Ints, n_heads: Int, reads: Longs, n_reads: Int) -> Int:
    """Drop the entries that no head leads to, in place and in order; the number that is left. O(heads + entries).

    An entry leads to an older one: one pass from the newest to the oldest finds all that are in use.
    """
    used = np.zeros(n_reads, np.uint8)
    for place in range(n_heads):
        if heads[place] > 0:
            used[heads[place]] = 1
    for entry in range(n_reads - 1, 0, -1):
        if used[entry]:
            used[reads[entry] & NEXT_MASK] = 1
    moved = np.zeros(n_reads, np.int32)
    left = np.int64(1)
    for entry in range(1, n_reads):
        if used[entry]:
            value = reads[entry]
            reads[left] = (value >> NEXT_BITS << NEXT_BITS) | np.int64(moved[value & NEXT_MASK])
            moved[entry] = left
            left += 1
    for place in range(n_heads):
        if heads[place] > 0:
            heads[place] = moved[heads[place]]
    return left
