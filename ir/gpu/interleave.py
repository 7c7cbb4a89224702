"""The order in which the caches see what warps ask for.

Blocks are dealt out to multiprocessors in turn, and as many as reside on the GPU at once are a wave. Requests wait in a
window until the wave has been read. Then each multiprocessor serves one request of each of its warps, in the order of
their numbers, the next multiprocessor does, and so on until all are served. Where the window fills up before, what is
in it is served so; nothing is kept longer, so memory does not grow with the number of accesses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

from .caches import answer_all, l1_set, serve
from .prefetch import prefetch
from .state import (
    AT_SETS,
    AT_STREAMS,
    AT_WINDOW,
    END,
    FILLED,
    MOST_STREAMS,
    MULTIPROCESSORS,
    NEXT,
    PROCESSOR,
    STREAM_WORDS,
    STREAMS,
)

_AHEAD = 4  # warps whose requests the host loads meanwhile


@njit(nogil=True)
def open_stream(state: Longs, sm: Any) -> None:
    """What comes next into the window is of another warp, on this multiprocessor."""
    if state[STREAMS] == state[MOST_STREAMS]:
        play(state)
    at = state[AT_STREAMS] + STREAM_WORDS * state[STREAMS]
    state[at + NEXT] = state[at + END] = state[FILLED]
    state[at + PROCESSOR] = sm
    state[STREAMS] += 1


@kept
def play(state: Longs) -> None:
    """Let the caches see all that is in the window, and empty it. O(lines · ways)."""
    begin, window = state[AT_STREAMS], state[AT_WINDOW]
    places = np.zeros(state[MULTIPROCESSORS] + 1, np.int64)
    for stream in range(state[STREAMS]):
        at = begin + STREAM_WORDS * stream
        if state[at + NEXT] < state[at + END]:
            places[state[at + PROCESSOR] + 1] += 1
    for sm in range(places.size - 1):
        places[sm + 1] += places[sm]
    active = places[-1]
    order = np.empty(active, np.int64)
    for stream in range(state[STREAMS]):
        at = begin + STREAM_WORDS * stream
        if state[at + NEXT] < state[at + END]:
            sm = state[at + PROCESSOR]
            order[places[sm]] = at
            places[sm] += 1
    while active:
        kept = 0
        for turn in range(active):
            at = order[turn]
            if turn + _AHEAD < active:
                prefetch(state, window + state[order[turn + _AHEAD] + NEXT])
            word = window + state[at + NEXT]
            site, lines, sm = state[word] & 0xFFFF, state[word] >> 16, state[at + PROCESSOR]
            for line in range(1, lines + 1):
                state[AT_SETS - 1 + line] = l1_set(state, sm, site, state[word + line] >> 8)
            for line in range(1, lines + 1):
                serve(state, state[AT_SETS - 1 + line], site, state[word + line])
            state[at + NEXT] += 1 + lines
            if state[at + NEXT] < state[at + END]:
                order[kept] = at
                kept += 1
        active = kept
    answer_all(state)
    state[FILLED] = 0
    state[STREAMS] = 0
