"""What is measured of the machine at hand keeps the rules of a machine."""

from __future__ import annotations

import pytest
from tracecut.ir.machine.cache_simulator import levels_of
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.measured import measured
from tracecut.ir.machine.parts import Cache, Core

pytestmark = pytest.mark.quick


def test_measured() -> None:
    small = Machine("small", (Core(0), Core(1)), (Cache(1, 1 << 12), Cache(2, 1 << 15), Cache(3, 1 << 20)), 1 << 30)
    found = measured(small, runs=2)
    machine = found.machine
    levels_of(machine.caches, machine.memory_latency)  # latencies rise
    assert machine.clock > 1e6
    assert machine.mshrs >= 1
    assert found.forward > 0
    assert len(found.carried) == 2
    assert found.used_by(2).banks[0].bandwidth == found.carried[1] > 0
    assert 1 << 15 < machine.caches[-1].size <= 1 << 20
    assert machine.caches[:2] != small.caches[:2]
    assert machine.cores == small.cores
