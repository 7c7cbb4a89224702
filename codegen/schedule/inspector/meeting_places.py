"""Where jobs of a region may meet: records of arrays that one of them writes, and who touches them.

It does not depend on an order. It takes as much memory as the graph does, so it is found anew for each schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.graph.pins import without_repeats
from tracecut.codegen.schedule.plan.scope_plan import ScopePlan
from tracecut.support.arrays import Ints
from tracecut.tracer.legality.access_patterns import DIRECT, INDIRECT, Array, Pattern
from tracecut.tracer.loops.pointer_rotation import split

# (jobs, records): who touches what, no jobs where each touches one, in sequence; records are int32 where they fit
Touches = tuple[Ints, npt.NDArray[Any]]
NOBODY = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class SharedArray:
    """Who touches which of the `size` records of an array that is written.

    Attributes:
        array: its place in the plan. touches: of each way to touch it, jobs[i] touches records[i]; job i without jobs.
        accesses: how many there are, in all iterations, those of the same record in the same job included.
    """

    array: int
    touches: tuple[Touches, ...]
    size: int
    accesses: int


def meeting_places(plan: ScopePlan, region: int) -> list[SharedArray] | None:
    """What two jobs of a region may both touch while one writes; None: not known. O(pins)."""
    found = []
    for use in plan.uses[region]:
        array = plan.arrays[use.array]
        for patterns in split(use.patterns):
            if not any(pattern.access.site.writes for pattern in patterns) or _own_records(array, patterns, region):
                continue
            alike: dict[object, list[Pattern]] = {}  # an update reads what it writes
            for pattern in patterns:
                alike.setdefault(_same_records(array, pattern), []).append(pattern)
            touches, accesses = [], 0
            for same in alike.values():
                mine = _touches(plan, region, array, same[0])
                if mine is None:
                    return None
                touches.append(mine[0])
                plan.accesses.evaluation.forget()  # the next one has long vectors of its own
                accesses += mine[1] * len(same)
            low, high = array.touched
            found.append(SharedArray(use.array, tuple(touches), high - low, accesses))
    return found


def _own_records(array: Array, patterns: Sequence[Pattern], region: int) -> bool:
    return (
        array.stride > 0
        and all(
            pattern.kind == DIRECT and pattern.major is not None and pattern.major.data[0] == region
            for pattern in patterns
        )
        and len({array.record(pattern) for pattern in patterns}) == 1
    )


def _same_records(array: Array, pattern: Pattern) -> object:
    """What accesses have in common that touch the same records in the same iterations."""
    if not array.stride or pattern.kind not in (DIRECT, INDIRECT):  # not known
        return id(pattern)
    site = pattern.access.site
    return pattern.kind, pattern.major, pattern.step > 0, array.record(pattern), site.loop, site.reach


def _touches(plan: ScopePlan, region: int, array: Array, pattern: Pattern) -> tuple[Touches, int] | None:
    """Who touches what, and how often; None: not known."""
    if not array.stride or pattern.kind not in (DIRECT, INDIRECT):
        return None
    assert pattern.major is not None
    site, (low, high) = pattern.access.site, array.touched
    values, valid = plan.accesses.values(pattern.major, site)
    shift, ahead = array.record(pattern) - low, pattern.step > 0
    first, last = (-shift, high - low - shift - 1) if ahead else (shift - (high - low) + 1, shift)
    inside = values >= first
    inside &= values <= last
    inside &= valid
    jobs = None if site.loop == region else plan.accesses.evaluation.jobs(site.loop, region)
    if not inside.all():
        values = values[inside]
        jobs = np.flatnonzero(inside) if jobs is None else jobs[inside]
    count = values.size
    if jobs is not None:
        jobs, values = without_repeats(jobs, values)
    records = np.empty(values.size, np.int32 if high - low < 2**31 else np.int64)
    np.add(values, shift, out=records, casting="unsafe") if ahead else np.subtract(
        shift, values, out=records, casting="unsafe"
    )
    return (NOBODY if jobs is None else jobs.astype(np.int32), records), count
