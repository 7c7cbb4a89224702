"""What a record needs whose accesses are as long as its payload says, or which change who has read a byte."""

from __future__ import annotations

from numba import njit
from tracecut.support.arrays import Ints, Longs
from tracecut.tracer.depgraph.state.access_steps import Words, dynamic_size
from tracecut.tracer.depgraph.state.call_frames import EXTRA_EDGES, EXTRA_PAGES, EXTRA_READS, WORK, Frames
from tracecut.tracer.depgraph.state.record_steps import (
    MANY_READS,
    NOTED,
    OPAQUE_READ,
    PASSED_READ,
    RANGE_READ,
    REALLOC_READ,
)
from tracecut.tracer.depgraph.state.shadow_memory import (
    N_READS,
    N_SINGLES,
    N_WRITERS,
    PAGE,
    PAGE_BITS,
    WORDS,
    Int,
    Shadow,
    Writers,
)

from .anti_output import SLACK, room


@njit(cache=True, nogil=True, inline="always")
def needs(
    words: Words,
    payload: Int,
    steps: Ints,
    begin: Int,
    end: Int,
    shadow: Shadow,
    frames: Frames,
    state: Longs,
    src: Writers,
    origin: Int | None,
) -> None:
    """Add what the steps of a record may need beyond the bounds of its segment to EXTRA_EDGES, _PAGES and _READS.

    And to WORK the bytes that they touch.

    It becomes a part of `reference.walk`: with "war" and "waw" every record comes here.
    """
    for step in range(begin, end, 5):
        if origin is not None and steps[step] >= NOTED:
            if steps[step + 4]:  # a write finds no more readers than there are: no need to look for them
                state[EXTRA_READS] += SLACK
                state[EXTRA_EDGES] += (shadow.counts[N_READS] + state[EXTRA_READS]) * (steps[step] > NOTED)
                continue
            room(words, payload, steps, step, shadow, frames, state, src)
            continue
        if steps[step] < RANGE_READ or steps[step] >= MANY_READS:
            continue
        extra = dynamic_size(words, payload, steps, step, shadow, frames, state)
        state[WORK] += extra
        if steps[step] in (
            RANGE_READ,
            OPAQUE_READ,
            REALLOC_READ,
            PASSED_READ,
        ):  # no more writers than words and bytes have
            known = shadow.counts[N_WRITERS] * WORDS + shadow.counts[N_SINGLES] * PAGE
            state[EXTRA_EDGES] += min(extra, known)
        state[EXTRA_PAGES] += (extra >> PAGE_BITS) + 2
