"""Requests for lines that are under way, of the event loop in `execute`: what each does next, and when.

A request travels between the nodes of the network on three legs at most: to the slice, on to another L1 or a bank,
back. See `caches` for what happens there.
"""

from __future__ import annotations

from typing import Any

from numba import njit
from tracecut.ir.machine.routes import Routes
from tracecut.support.arrays import Ints, Longs

from .caches import BUSY, FREE, LOAD, MEMORY, NODE, OTHER, Caches, ask

WHEEL = 1 << 12  # cycles; what is due later goes around more than once
NONE = -1
ASKS, LOOKS, SENT_ON, FETCHES, ANSWERED, ARRIVED = range(6)  # stages; the even ones are legs
WAITS, TRAVELS, DONE = range(3)
# Columns of a request: the access that made it, which is the first of those that wait for it; its line, whether it
# writes, where the line was found; stage; ends of its leg; next one in the wheel or free place; next one of its core.
ACCESS_NODE, LINE, WRITES, WHERE, STAGE, FROM, TO, AFTER, BESIDE = range(9)
FIELDS = 9


@njit(nogil=True)
def under_way(requests: Ints, first: Any, line: Any) -> Any:
    """The request of a core, whose first one is given, for a line; or NONE."""
    i = first
    while i != NONE and requests[i, LINE] != line:
        i = requests[i, BESIDE]
    return i


@njit(nogil=True)
def advance(
    requests: Ints,
    i: Any,
    now: Any,
    core: Any,
    caches: Caches,
    waits: Longs,
    banks: Longs,
    bank: Any,
    routes: Routes,
    nodes_of: Longs,
    hop: Any,
) -> Any:
    """Take one as far as it comes in a cycle: (DONE, WAITS or TRAVELS, about to take a link; until when it waits).

    `waits`, `banks`: members of `caches`. `bank`: that of its line.
    """
    while True:
        stage = requests[i, STAGE]
        if stage == ARRIVED:
            return DONE, now
        if stage & 1 == 0:
            if requests[i, FROM] != requests[i, TO]:
                return TRAVELS, now
            requests[i, STAGE] += 1
            continue
        due = now
        requests[i, FROM], requests[i, TO] = requests[i, TO], nodes_of[core]
        requests[i, STAGE] = ANSWERED
        if stage == LOOKS:
            where, owner, farthest = ask(caches, routes, nodes_of, hop, core, requests[i, LINE], requests[i, WRITES])
            requests[i, WHERE] = where
            due += waits[1] + farthest
            if where == OTHER:
                requests[i, TO], requests[i, STAGE] = nodes_of[owner], SENT_ON
            elif where == MEMORY:
                requests[i, TO], requests[i, STAGE] = banks[bank, NODE], SENT_ON
        elif requests[i, WHERE] == OTHER:
            due += waits[0]
        else:
            start = max(now, banks[bank, FREE])
            banks[bank, FREE] = start + banks[bank, BUSY]
            banks[bank, LOAD] += 1
            due = start + waits[2]
        if due > now:
            return WAITS, due
