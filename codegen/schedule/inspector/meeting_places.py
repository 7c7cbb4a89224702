"""Where jobs of a region may meet: records of arrays that one of them writes, and who touches them.

It does not depend on an order. What was found for one schedule of a plan can be kept for the next one.
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

Touches = tuple[Ints, npt.NDArray[Any]]  # (jobs, records): who touches what; records are int32 where they fit


@dataclass(frozen=True, eq=False)
class SharedArray:
    """Who touches which of the `size` records of an array that is written.

    Attributes:
        array: its place in the plan. touches: of each way to touch it, jobs[i] touches records[i].
        accesses: how many there are, in all iterations, those of the same record in the same job included.
    """

    array: int
    touches: tuple[Touches, ...]
    size: int
    accesses: int


Meetings = dict[int, list[SharedArray] | None]  # of regions; None: not known


def meeting_places(plan: ScopePlan, region: int, kept: Meetings | None = None) -> list[SharedArray] | None:
    """What two jobs of a region may both touch while one writes; None: not known. O(pins).

    `kept`: what was found before of regions of this plan; it is looked up, and added.
    """
    kept = {} if kept is None else kept
    if region not in kept:
        kept[region] = _find(plan, region)
    return kept[region]


def _find(plan: ScopePlan, region: int) -> list[SharedArray] | None:
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
    records = (values if pattern.step > 0 else -values) + (array.record(pattern) - low)
    jobs = plan.accesses.evaluation.jobs(site.loop, region)
    valid = valid & (records >= 0) & (records < high - low)
    if not valid.all():
        jobs, records = jobs[valid], records[valid]
    count = jobs.size
    jobs, records = without_repeats(jobs, records)
    narrow = np.int32 if high - low < 2**31 else np.int64
    return (jobs.astype(np.int32), records.astype(narrow)), count
