"""Requests for lines that are under way, of the event loop in `execute`: what each does next, and when.

A request is due at a cycle, in a wheel of lists as all else is. It travels between the nodes of the network on three
legs at most: to the slice, on to another L1 or a bank, back. See `caches` for what happens there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from tracecut.ir.machine.routes import Routes
from tracecut.support.arrays import Bytes, Ints, Longs

from .caches import MEMORY, NEAR, OTHER, Caches, ask, bank_of, slice_of

WHEEL = 1 << 12  # cycles; what is due later goes around more than once
NONE = -1
ASKS, LOOKS, SENT_ON, FETCHES, ANSWERED, ARRIVED = range(6)  # stages; the even ones are legs
WAITS, TRAVELS, DONE = range(3)


class Requests(NamedTuple):
    """The requests under way, in places that are used again.

    Attributes, one entry for each place but for the last three:
        node: int32, the access that made it, first of those that wait for it. line: int32. write, where: uint8.
        stage: uint8. due: int64. a, b: int32, ends of its leg.
        after: int32, next one in the wheel, or free place. beside: int32, next one of the core.
        at: int32 (WHEEL), first one due. of: int32 (cores), first of each core. free: int32 (1), first free place.
    """

    node: Ints
    line: Ints
    write: Bytes
    where: Bytes
    stage: Bytes
    due: Longs
    a: Ints
    b: Ints
    after: Ints
    beside: Ints
    at: Ints
    of: Ints
    free: Ints


@njit(cache=True, nogil=True)
def no_requests(most: int, cores: int) -> Requests:
    """Room for so many."""
    after = np.arange(1, most + 1).astype(np.int32)
    if most:
        after[most - 1] = NONE
    ints = [np.empty(most, np.int32) for _ in range(5)]
    bytes_ = [np.empty(most, np.uint8) for _ in range(3)]
    at, of = np.full(WHEEL, NONE, np.int32), np.full(cores, NONE, np.int32)
    due = np.empty(most, np.int64)
    return Requests(
        ints[0], ints[1], bytes_[0], bytes_[1], bytes_[2], due, ints[2], ints[3], after, ints[4], at, of,
        np.full(1, 0 if most else NONE, np.int32),
    )  # fmt: skip


@njit(nogil=True, inline="always")
def under_way(requests: Requests, core: Any, line: Any) -> Any:
    """The request of a core for a line, or NONE."""
    i = requests.of[core]
    while i != NONE and requests.line[i] != line:
        i = requests.beside[i]
    return i


@njit(nogil=True, inline="always")
def make(
    requests: Requests, caches: Caches, nodes_of: Longs, core: Any, node: Any, line: Any, write: bool, now: Any
) -> None:
    """A new one, due when its core's L1 has looked."""
    i = requests.free[0]
    requests.free[0] = requests.after[i]
    requests.node[i], requests.line[i], requests.write[i], requests.stage[i] = node, line, write, ASKS
    requests.where[i] = NEAR
    requests.a[i], requests.b[i] = nodes_of[core], caches.slice_node[slice_of(caches, core, line)]
    requests.beside[i], requests.of[core] = requests.of[core], i
    wait(requests, i, now + caches.waits[0])


@njit(nogil=True, inline="always")
def wait(requests: Requests, i: Any, due: Any) -> None:
    """It is due at a cycle."""
    place = due & (WHEEL - 1)
    requests.due[i] = due
    requests.after[i], requests.at[place] = requests.at[place], i


@njit(nogil=True)
def advance(
    requests: Requests, i: Any, now: Any, core: Any, caches: Caches, routes: Routes, nodes_of: Longs, hop: Any
) -> Any:
    """Take one as far as it comes in a cycle: DONE, WAITS in the wheel, or TRAVELS, about to take a link."""
    line = requests.line[i]
    while True:
        stage = requests.stage[i]
        if stage == ARRIVED:
            return DONE
        if stage & 1 == 0:
            if requests.a[i] != requests.b[i]:
                return TRAVELS
            requests.stage[i] += 1
            continue
        due = now
        requests.a[i], requests.b[i] = requests.b[i], nodes_of[core]
        if stage == LOOKS:
            where, owner, farthest = ask(caches, routes, nodes_of, hop, core, line, requests.write[i] != 0)
            requests.where[i], requests.stage[i] = where, ANSWERED
            due += caches.waits[1] + farthest
            if where == OTHER:
                requests.b[i], requests.stage[i] = nodes_of[owner], SENT_ON
            elif where == MEMORY:
                requests.b[i], requests.stage[i] = caches.bank_node[bank_of(caches, line)], SENT_ON
        else:
            requests.stage[i] = ANSWERED
            if requests.where[i] == OTHER:
                due += caches.waits[0]
            else:
                bank = bank_of(caches, line)
                start = max(due, caches.bank_free[bank])
                caches.bank_free[bank] = start + caches.bank_busy[bank]
                due = start + caches.waits[2]
        if due > now:
            wait(requests, i, due)
            return WAITS


@njit(nogil=True)
def end(requests: Requests, i: Any, core: Any) -> None:
    """One is answered: its place is free."""
    before = requests.of[core]
    if before == i:
        requests.of[core] = requests.beside[i]
    else:
        while requests.beside[before] != i:
            before = requests.beside[before]
        requests.beside[before] = requests.beside[i]
    requests.after[i], requests.free[0] = requests.free[0], i
