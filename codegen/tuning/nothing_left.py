"""Whether a further order of a region can still pay, by what the orders gained that were measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from tracecut.codegen.schedule.graph.candidate_orders import NEARLY, OWN, Forecast, no_reason
from tracecut.support.optional_parts import optional

from .interleaved_timing import ALIKE
from .region_statistics import least_lines
from .trial import ALONE, REFUSED, Candidate, Subject

FAR = 0.9  # an order that costs less than this share of the original's time may pay after all
LEFT = 0.5  # share of the avoidable misses that an order may leave and still show what avoiding them is worth
ONCE = "the program's own order already fetches each cache line about once"
COPIED = 0.5  # share of the copies of one order that any other order needs, at the least


def nothing_left(subject: Subject, candidates: Sequence[Candidate], sweeps: float) -> str:
    """Why no further order can pay, empty if one may.

    No order that was tried did, on any number of threads, and one of these holds: the program's own order fetches each
    cache line about once, beyond every cache; an order avoids most of the misses that can be avoided, and avoiding the
    others as well gains no more than it did; the copies at the edges of the scope alone take as long as the loop. Or
    threads gain by that own order, and share little.
    O(pins).
    """
    original, *tried = candidates
    measured = [item for item in tried if item.measured]
    before = original.cost(sweeps)
    if not gains_nothing(candidates, sweeps):
        return _own_is_best(subject, candidates)
    if why := copies_outweigh(candidates, sweeps):
        return why
    if not original.predicted:
        return ""
    with optional("whether an order could gain more", []):  # unknown: all are tried
        least = least_misses(subject)
        if each_line_once(original, least):
            return ONCE
        for item in measured:
            saved = max(0.0, original.kernel_ms - item.kernel_ms)
            if ALIKE * (item.cost(sweeps) - saved) >= before and _avoids_most(original, item, least):
                return f"{item.method} avoids most of the cache misses that can be avoided, and gains nothing"
    return ""


def _own_is_best(subject: Subject, candidates: Sequence[Candidate]) -> str:
    """Why no other order can gain more than the program's own does on threads, empty if one may."""
    own = next((item for item in candidates if item.method == OWN and item.measured), None)
    if own is not None:
        with optional("whether threads share much", []):  # unknown: others are tried
            if no_reason(Forecast((0.0, *own.predicted), own.shared), least_misses(subject)):
                return f"{ONCE}, and threads share little"
    return ""


def each_line_once(original: Candidate, least: float) -> bool:
    """Whether the program's own order fetches each cache line about once, beyond every cache."""
    return bool(original.predicted and no_reason(Forecast((0.0, *original.predicted), 0.0), least))


def gains_nothing(candidates: Sequence[Candidate], sweeps: float) -> bool:
    """Whether orders were measured, and none is far cheaper than the original, the first of the candidates.

    Also where the program's own order, which was to show what threads gain, cannot be shared out to them, or not
    without other results.
    """
    costs = [item.cost(sweeps) for item in candidates[1:] if item.measured]
    alone = [item.note for item in candidates if item.method == OWN]
    known = bool(costs) or any(note == ALONE or note.startswith(REFUSED) for note in alone)
    return known and min(costs, default=math.inf) >= FAR * candidates[0].cost(sweeps)


def to_beat(candidates: Sequence[Candidate], sweeps: float, threads: int, least: float) -> Candidate | None:
    """The order that a further one has to fetch less than to be worth a measurement; None: any may pay.

    The original where no order gains anything: threads had their chance with the order that was tried. Else the
    cheapest that was measured, if it fetches each line about once beyond the nearest cache, and threads gain by it and
    share little: fewer misses of the nearest cache are then all that another order can have.
    """
    if gains_nothing(candidates, sweeps):
        return candidates[0]
    measured = [item for item in candidates[1:] if item.measured]
    if not measured:
        return None
    best = min(measured, key=lambda item: item.cost(sweeps))
    shared = threads == 1 or (best.region_all_ms is not None and best.region_all_ms <= (best.region_ms or math.inf))
    return best if shared and best.predicted and no_reason(best.forecast, least) else None


def copies_outweigh(candidates: Sequence[Candidate], sweeps: float) -> str:
    """Why no order can pay whatever it makes of the loop, empty if one may: another one needs at least `COPIED` of the
    cheapest copies that were measured."""
    original, *tried = candidates
    copies = [item.copy_ms for item in tried if item.measured and item.copy_ms is not None]
    if copies and COPIED * min(copies) >= sweeps * original.kernel_ms:
        return "copying the data to another layout and back takes longer than the loop"
    return ""


@lru_cache(maxsize=1)
def least_misses(subject: Subject) -> float:
    """Lines a job that have to be fetched in any order: each datum that is touched, once a sweep. Asked for after each
    order."""
    return least_lines(subject.inspection, subject.graph)


def _avoids_most(original: Candidate, item: Candidate, least: float) -> bool:
    """Whether an order leaves at most `LEFT` of the misses beyond each cache that the original could do without."""
    if len(item.predicted) != len(original.predicted):
        return False
    pairs = zip(original.predicted, item.predicted, strict=True)
    return all(old <= NEARLY * least or new - least <= LEFT * (old - least) for old, new in pairs)
