"""What one record of a segment adds to the graph whenever it runs: written once, copied for each record.

A segment is *simple* when its records do nothing but use registers, read and write memory in one piece each, call and
return. All that differs between two of its records is where the vertices and edges go, where values from outside of the
segment came from, and what its accesses cost. `resolve` looks that up, `emit` fills it into the template.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from tracecut.ir.dependence_graph import MEMORY, REGISTER
from tracecut.support.arrays import Bytes, Ints
from tracecut.tracer.depgraph.state.record_steps import CALL, KEEP, LIVE, LOAD, LOCAL, PHI, RETURN, STORE, Tables

from .simd import LANES

SIMPLE = (LOCAL, LIVE, KEEP, PHI, CALL, RETURN)  # and LOAD and STORE, unless their last operand is set
MOST = 1 << 15  # edges and steps of a segment whose numbers fit a turn
# Fields of a head: words of the payload, function, whether the frame changes with it, phis, its first number in `turns`
# and how many of each kind follow there, sources that are looked up, costs, sizes, and the block that it ends (or −1).
WORDS, OF, FRESH, PHIS, TURNS, LIVES, ACCESSES, KEEPS, LASTS, HOLES, COSTS, SIZE, N_EDGES, CLOSES, HEAD = range(15)
ACCESS, KEPT, LAST = 4, 2, 3  # numbers of a turn, by kind


class Templates(NamedTuple):
    """Flat tables; S segments. Those that are read by eights have that many entries more than they need.

    Attributes:
        simple: uint8 (S). All others are empty for segments that are not.
        heads: int32 (S · HEAD).
        turns: int32, for each segment: slots that are read; (word of the address, length, negative for a store, place,
            number of its source · 2**16 + of its cost) of each access; (place, slot) of what is kept; (code, place,
            operand) of a call or return. The sources are numbered phis first, then slots, then loads; loads cost first.
        source, target: int32, places of the edges' ends in the segment (0 for a source that is looked up); kind: uint8;
            in the order of the steps. looked, paid: int32, number of an edge's source and of its cost, −1: none.
            Those of segment s end at `edge[s + 1]`.
        payer: int32, places of what costs something; those of segment s end at `payers[s + 1]`.
        time: int32 (instructions), cycles without memory accesses.
    """

    simple: Bytes
    heads: Ints
    turns: Ints
    source: Ints
    target: Ints
    kind: Bytes
    looked: Ints
    paid: Ints
    edge: Ints
    payer: Ints
    payers: Ints
    time: Ints


def templates_of(tables: Tables) -> Templates:
    """Templates of all simple segments. O(steps)."""
    count = tables.size.size
    rows = tables.steps.reshape(-1, 5).tolist()
    fresh = (tables.entry >= 0) | (tables.frame >= 0)
    heads = np.zeros((count, HEAD), np.int32)
    simple = np.zeros(count, np.uint8)
    turns: list[int] = []
    edges: list[tuple[int, int, int, int, int]] = []
    payer: list[int] = []
    ends = [(0, 0)]
    for segment, (begin, end) in enumerate(zip(tables.step[:-1].tolist(), tables.step[1:].tolist(), strict=True)):
        steps = rows[begin:end]
        if segment and max(tables.edges[segment], len(steps)) < MOST and _is_simple(steps):
            simple[segment] = 1
            made = _Made(steps)
            flat = [*made.lives, *made.accesses, *made.keeps, *made.lasts]
            numbers = len(made.lives), len(made.accesses) // ACCESS, len(made.keeps) // KEPT, len(made.lasts) // LAST
            costs = made.reads + made.writes
            sizes = made.holes, len(costs), tables.size[segment], len(made.edges), tables.closes[segment]
            where = tables.words[segment], tables.function[segment], fresh[segment], made.phis, len(turns)
            heads[segment] = *where, *numbers, *sizes
            turns += flat
            edges += made.edges
            payer += costs
        ends.append((len(edges), len(payer)))
    columns = np.array(edges, np.int32).reshape(-1, 5).T
    edge, payers = np.array(ends, np.int32).T.copy()
    return Templates(
        simple=simple,
        heads=heads.reshape(-1),
        turns=_wide(turns),
        source=_wide(columns[0]),
        target=_wide(columns[1]),
        kind=_wide(columns[2]).astype(np.uint8),
        looked=_wide(columns[3]),
        paid=_wide(columns[4]),
        edge=edge,
        payer=_wide(payer),
        payers=payers,
        time=_wide(tables.time),
    )


def _wide(values: Sequence[int] | Ints) -> Ints:
    return np.concatenate([np.asarray(values, np.int32), np.zeros(LANES, np.int32)])


def _is_simple(steps: list[list[int]]) -> bool:
    """Whether the steps may be taken in another order: what is read was not made in the segment."""
    kept = {a for code, _, a, _, _ in steps if code == KEEP}
    read = {a for code, _, a, _, _ in steps if code == LIVE}
    known = all(code in SIMPLE or (code in (LOAD, STORE) and b > 0 and not c) for code, _, _, b, c in steps)
    return known and not kept & read


class _Made:
    """What the steps of one segment become."""

    def __init__(self, steps: list[list[int]]) -> None:
        self.edges: list[tuple[int, int, int, int, int]] = []
        self.lives: list[int] = []
        self.accesses: list[int] = []
        self.keeps: list[int] = []
        self.lasts: list[int] = []
        self.reads: list[int] = []
        self.writes: list[int] = []
        self.phis = sum(a for code, _, a, _, _ in steps if code == PHI)
        first_load = self.phis + sum(code == LIVE for code, *_ in steps)
        first_store = sum(code == LOAD for code, *_ in steps)
        self.holes = first_load + first_store
        for code, place, a, b, _ in steps:
            if code == LOCAL:
                self.edges.append((a, place, REGISTER, -1, -1))
            elif code == LIVE:
                self.edges.append((0, place, REGISTER, self.phis + len(self.lives), -1))
                self.lives.append(a)
            elif code == PHI:
                self.edges += [(0, phi, REGISTER, phi, -1) for phi in range(a)]
            elif code == LOAD:
                number = len(self.reads)
                self.edges.append((0, place, MEMORY, first_load + number, number))
                self.accesses += (a, b, place, (first_load + number) << 16 | number)
                self.reads.append(place)
            elif code == STORE:
                self.accesses += (a, -b, place, first_store + len(self.writes))
                self.writes.append(place)
            elif code == KEEP:
                self.keeps += (place, a)
            else:
                self.lasts += (code, place, a)
