"""Two schedules of one order keep its long arrays once."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.codegen.schedule.schedule import Blocks, Guard, RegionSchedule, Schedule, SpaceOrder
from tracecut.codegen.schedule.shared_arrays import with_arrays_of

pytestmark = pytest.mark.quick


def schedule(jobs: list[int], data: list[int]) -> Schedule:
    blocks = Blocks(np.array([0, len(jobs)]), np.zeros(1, np.int32))
    region = RegionSchedule(7, np.array(jobs, np.int32), blocks, (), {}, np.zeros(0, np.int32))
    space = SpaceOrder(0, len(data), (0, len(data)), np.array(data, np.int32))
    return Schedule(7, (space,), (), (region,), Guard({}, (), (), (), ()), "given")


def test_equal_arrays_are_kept_once() -> None:
    first, second = schedule([2, 0, 1], [1, 0]), schedule([2, 1, 0], [1, 0])
    found = with_arrays_of(second, first)
    assert found.spaces[0].order is first.spaces[0].order
    assert found.regions[0].jobs is second.regions[0].jobs
    assert with_arrays_of(schedule([2, 0, 1], [0, 1]), first).regions[0].jobs is first.regions[0].jobs
