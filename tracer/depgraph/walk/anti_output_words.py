"""Anti and output dependences of one access to whole words: the common case of `hazards`, inlined into the walk."""

from __future__ import annotations

import numpy as np
from numba import njit
from tracecut.ir.dependence_graph import ANTI, OUTPUT
from tracecut.support.arrays import Ints, Longs
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.output import Edges, label
from tracecut.tracer.depgraph.state.record_steps import NOTED, OVERWRITES, WAS_READ, WAS_WRITTEN, Int

NEXT_BITS = 31
NEXT_MASK = (1 << NEXT_BITS) - 1


@njit(cache=True, nogil=True, inline="always")
def short_access(
    steps: Ints,
    step: Int,
    address: Int,
    vertex: Int,
    edges: Int,
    row: Int,
    pages: Longs,
    writers: sh.Writers,
    heads: Ints,
    reads: Longs,
    counts: Longs,
    out: Edges,
) -> Int:
    """Take a NOTED or an OVERWRITES step of one LOAD or STORE; the new number of edges, −1 when it is not of this kind.

    All words have to lie in one page, whose row in `pages` is `row` (−1: none), and none may be split into bytes.
    """
    src = out[0]
    code, wanted, length = steps[step], np.int64(steps[step + 3]), np.int64(steps[step + 8])
    offset = address & (sh.PAGE - 1)
    if (offset | length) & 3 or offset + length > sh.PAGE:
        return -1
    if row < 0:
        return edges if code == OVERWRITES else -1
    first, last = offset >> 2, (offset + length) >> 2
    table = pages[row + sh.READERS]
    if code == NOTED:
        if table < 0:
            return -1
        before = after = np.int64(-2)
        for word in range(table + first, table + last):
            if heads[word] == sh.SPLIT:
                return -1
        for word in range(table + first, table + last):
            head = np.int64(heads[word])
            if head != before:
                before = after = head
                if head == 0 or reads[head] >> NEXT_BITS != vertex:
                    after = counts[sh.N_READS]
                    counts[sh.N_READS] += 1
                    reads[after] = (vertex << NEXT_BITS) | head
            heads[word] = after
        return edges
    written = pages[row + sh.WRITERS]
    for word in range(first, last):
        if (table >= 0 and heads[table + word] == sh.SPLIT) or (written >= 0 and writers[written + word] == sh.MIXED):
            return -1
    if wanted & WAS_WRITTEN and written >= 0:
        start = edges
        for word in range(first, last):
            mark = np.int64(writers[written + word])
            if mark > 0 and (edges == start or src[edges - 1] != mark - 1):
                src[edges] = mark - 1
                edges += 1
        edges = sh.distinct(src, start, edges)
        label(out, start, edges, vertex, 1, OUTPUT)
    if wanted & WAS_READ and table >= 0:
        start = edges
        before = np.int64(0)
        for word in range(table + first, table + last):
            head = np.int64(heads[word])
            heads[word] = 0
            if head == before:
                continue
            before = head
            while head:
                entry = reads[head]
                head = entry & NEXT_MASK
                if entry >> NEXT_BITS != vertex:
                    if edges == src.size:
                        edges = sh.distinct(src, start, edges)
                    src[edges] = entry >> NEXT_BITS
                    edges += 1
        edges = sh.distinct(src, start, edges)
        label(out, start, edges, vertex, 1, ANTI)
    return edges
