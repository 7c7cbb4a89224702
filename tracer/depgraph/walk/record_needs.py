"""What a record needs whose accesses are as long as its payload says, or which change who has read a byte."""

from __future__ import annotations

from numba import njit
from tracecut.support.arrays import Ints
from tracecut.tracer.depgraph.state import call_frames as fr
from tracecut.tracer.depgraph.state import record_steps as op
from tracecut.tracer.depgraph.state import shadow_memory as sh
from tracecut.tracer.depgraph.state.access_steps import WalkState, dynamic_size
from tracecut.tracer.depgraph.state.record_steps import Int
from tracecut.tracer.depgraph.state.shadow_memory import Writers
from tracecut.tracer.trace.events.event_words import Words

from .anti_output import SLACK, room


@njit(cache=True, nogil=True, inline="always")
def needs(
    words: Words, payload: Int, steps: Ints, begin: Int, end: Int, walk: WalkState, src: Writers, origin: Int | None
) -> None:
    """Add what the steps of a record may need beyond the bounds of its segment to EXTRA_EDGES, _PAGES and _READS.

    WORK grows by the bytes that they access. Inlined into `reference.follow_records`, which with "war" and "waw" needs
    it for every record.
    """
    state, counts = walk.state, walk.shadow.counts
    for row in range(begin, end, 5):
        if origin is not None and steps[row] >= op.NOTED:
            if steps[row + 4]:  # a write finds no more readers than there are: no need to look for them
                state[fr.EXTRA_READS] += SLACK
                state[fr.EXTRA_EDGES] += (counts[sh.N_READS] + state[fr.EXTRA_READS]) * (steps[row] > op.NOTED)
                continue
            room(words, payload, steps, row, walk, src)
            continue
        if steps[row] < op.RANGE_READ or steps[row] >= op.MANY_READS:
            continue
        extra = dynamic_size(words, payload, steps, row, walk)
        state[fr.WORK] += extra
        if steps[row] in (op.RANGE_READ, op.OPAQUE_READ, op.REALLOC_READ, op.PASSED_READ):
            # there are no more writers than words and bytes
            state[fr.EXTRA_EDGES] += min(extra, counts[sh.N_WRITERS] * sh.WORDS + counts[sh.N_SINGLES] * sh.PAGE)
        state[fr.EXTRA_PAGES] += (extra >> sh.PAGE_BITS) + 2
