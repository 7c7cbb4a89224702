"""The caches between warps and memory: an L1 for each multiprocessor, one L2, both in sectors of 32 bytes.

Both are the sets of the one cache simulator: a line of 128 bytes has one place, least recently used, and only the
sectors that somebody asked for.

**Loads** ask the L1 (read-only ones the texture cache, where that is one apart), what it lacks the L2, what that lacks
memory. What is evict-first takes the place of the least recent line and goes first.
**Stores** go through to the L2 and change nothing in the L1, where they take no line. A sector that a request does not
fill is read from memory first if the L2 lacks it. **Atomic accesses** are done by the L2: a sector is read there and
written there. Changed sectors are written to memory when their line gives way, or in the end.
Without an L2 all of these go to memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from tracecut.ir.machine.cache_simulator import EMPTY, keep_sectors, keep_sectors_last, spread_set
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

from .prefetch import prefetch
from .sites import ATOMIC, EVICT_FIRST, LOAD, READ_ONLY
from .state import (
    ASKED,
    AT_COUNTS,
    AT_L1,
    AT_L2,
    AT_QUEUE,
    AT_READ_ONLY,
    AT_SITES,
    HBM_READ,
    HBM_WRITTEN,
    HINT,
    KIND,
    L1_BITS,
    L1_FOUND,
    L1_GLOBAL,
    L1_SETS,
    L1_WAYS,
    L2_ASKED,
    L2_BITS,
    L2_FOUND,
    L2_SETS,
    L2_WAYS,
    QUEUE,
    READ_ONLY_BITS,
    READ_ONLY_SETS,
    SITE_COUNTS,
    SITE_WORDS,
)
from .wide_sets import WIDE, keep_wide

_SITE = 0xFFFF


@njit(nogil=True, inline="always")
def sectors_in(mask: Any) -> Any:
    """Bits of a mask of four."""
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)


@njit(nogil=True)
def l1_set(state: Longs, sm: Any, site: Any, line: Any) -> Any:
    """Where the set begins that a line of a request asks first, and the host may load; 0 for none: it asks the L2."""
    about = state[AT_SITES] + SITE_WORDS * site
    if state[about + KIND] != LOAD:
        return 0
    if state[about + HINT] == READ_ONLY and state[READ_ONLY_SETS]:
        sets, own = state[READ_ONLY_SETS], spread_set(line, state[READ_ONLY_SETS], state[READ_ONLY_BITS])
        begin = state[AT_READ_ONLY] + (sm * sets + own) * state[L1_WAYS]
    elif state[L1_SETS] and (state[L1_GLOBAL] or state[about + HINT] == READ_ONLY):
        sets, own = state[L1_SETS], spread_set(line, state[L1_SETS], state[L1_BITS])
        begin = state[AT_L1] + (sm * sets + own) * state[L1_WAYS]
    else:
        return 0
    prefetch(state, begin)
    prefetch(state, begin + 8)
    return begin


@njit(nogil=True)
def serve(state: Longs, begin: Any, site: Any, word: Any) -> None:
    """One line of a request: the L1 at once; what it lacks, or must not keep, goes into the queue before the L2."""
    line, wanted = word >> 8, word & 15
    about = state[AT_SITES] + SITE_WORDS * site
    kind = state[about + KIND]
    sectors = wanted
    if kind == LOAD:
        if begin:
            had = _touch(state, begin, state[L1_WAYS], line, wanted, state[about + HINT] == EVICT_FIRST)
            if had >> 8 == line:
                state[state[AT_COUNTS] + SITE_COUNTS * site + L1_FOUND] += sectors_in(wanted & had)
                sectors = wanted & ~had
                if sectors == 0:
                    return
        sectors |= sectors << 4
    elif kind == ATOMIC:
        sectors |= wanted << 4 | wanted << 8
    else:
        sectors |= (wanted & ~(word >> 4)) << 4 | wanted << 8
    _ask(state, line, site, sectors)


@njit(nogil=True, inline="always")
def _touch(state: Longs, begin: Any, ways: Any, line: Any, flags: Any, last: Any) -> Any:
    """The word that a line had in its set, else the one that gave way."""
    if last:
        return keep_sectors_last(state, begin, ways, line, flags)
    if ways == WIDE:
        return keep_wide(state, begin, line, flags)
    return keep_sectors(state, begin, ways, line, flags)


@njit(nogil=True, inline="always")
def _ask(state: Longs, line: Any, site: Any, sectors: Any) -> None:
    """Put a question to the L2 into its queue, which is there only so that the host can load the set meanwhile.

    sectors: four bits each: those that are touched, to be read where they are not there, changed.
    """
    begin = np.int64(0)
    if state[L2_SETS]:
        begin = state[AT_L2] + spread_set(line, state[L2_SETS], state[L2_BITS]) * state[L2_WAYS]
        prefetch(state, begin)
        prefetch(state, begin + 8)
    head = state[ASKED]
    at = AT_QUEUE + head % QUEUE * 3
    if head >= QUEUE:
        _answer(state, at)
    state[at], state[at + 1], state[at + 2] = line, begin, sectors << 16 | site
    state[ASKED] = head + 1


@njit(nogil=True)
def answer_all(state: Longs) -> None:
    """Empty the queue before the L2."""
    head = state[ASKED]
    for number in range(max(0, head - QUEUE), head):
        _answer(state, AT_QUEUE + number % QUEUE * 3)
    state[ASKED] = 0


@njit(nogil=True)
def _answer(state: Longs, at: Any) -> None:
    line, begin, asked = state[at], state[at + 1], state[at + 2]
    site = asked & _SITE
    wanted, needed, changed = asked >> 16 & 15, asked >> 20 & 15, asked >> 24
    counts = state[AT_COUNTS] + SITE_COUNTS * site
    state[counts + L2_ASKED] += sectors_in(wanted)
    there = np.int64(0)
    if state[L2_SETS] == 0:
        state[HBM_WRITTEN] += sectors_in(changed)
    else:
        about = state[AT_SITES] + SITE_WORDS * site
        last = state[about + HINT] == EVICT_FIRST and state[about + KIND] != ATOMIC
        word = _touch(state, begin, state[L2_WAYS], line, wanted | changed << 4, last)
        if word >> 8 == line:
            there = word & 15
        elif word != EMPTY:
            state[HBM_WRITTEN] += sectors_in(word >> 4 & 15)
        state[counts + L2_FOUND] += sectors_in(wanted & there)
    state[HBM_READ] += sectors_in(needed & ~there)


@kept
def changed_sectors(state: Longs) -> int:
    """Sectors in the L2 that memory does not have yet."""
    total = 0
    begin = state[AT_L2]
    for place in range(begin, begin + state[L2_SETS] * state[L2_WAYS]):
        if state[place] != EMPTY:
            total += sectors_in(state[place] >> 4 & 15)
    return total
