"""Who touches which record of an array that is written, against the address of every access."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.codegen.schedule.inspector.meeting_places import meeting_places
from tracecut.tracer.loops.pointer_rotation import split

from ...checking import Subject

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(("name", "mark", "arrays"), [("pairs", "pairs", 1), ("pairs", "flagged", 1)])
def test_each_job_and_record_once(subject: Subject, name: str, mark: str, arrays: int) -> None:
    item = subject(name, mark)
    plan, region = item.inspection.plan, item.region
    found = meeting_places(plan, region)
    assert found is not None and len(found) == arrays
    written = [
        (use.array, patterns)
        for use in plan.uses[region]
        for patterns in split(use.patterns)
        if any(pattern.access.site.writes for pattern in patterns)
    ]
    for shared in found:
        patterns = next(patterns for place, patterns in written if place == shared.array)
        array, expected, accesses = plan.arrays[shared.array], set(), 0
        for pattern in patterns:
            addresses, runs = plan.accesses.addresses(pattern.access) or (np.zeros(0), np.zeros(0, bool))
            jobs = plan.accesses.evaluation.jobs(pattern.access.site.loop, region)[runs]
            records = (addresses[runs] - array.object.base - array.origin) // array.stride - array.touched[0]
            expected |= set(zip(jobs.tolist(), records.tolist(), strict=True))
            accesses += jobs.size
        pins = [(a.tolist() or list(range(b.size)), b.tolist()) for a, b in shared.touches]
        assert {pin for jobs, records in pins for pin in zip(jobs, records, strict=True)} == expected
        assert shared.accesses == accesses >= sum(len(jobs) for jobs, _ in pins)
        assert all(0 <= record < shared.size for _, records in pins for record in records)
