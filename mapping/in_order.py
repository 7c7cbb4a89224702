"""Clusters of one order onto the cores of one machine."""

from __future__ import annotations

import numpy as np
from tracecut.ir.machine.machine import Machine
from tracecut.ir.placement import Placement
from tracecut.support.errors import ArgumentError


def place_in_order(machine: Machine, k: int, threads: int | None = None) -> Placement:
    """Neighbouring clusters on the same core, the same number on each (±1): cluster c runs on core c · threads / k.

    Clusters that follow each other in a linear order share data, and sharing is free inside of a core.
    O(k). Raises ArgumentError when there are no clusters or more threads than cores.
    """
    count = len(machine.cores) if threads is None else threads
    if k < 1:
        raise ArgumentError(f"k = {k}, at least 1 cluster expected")
    if not 1 <= count <= len(machine.cores):
        raise ArgumentError(f"threads = {count}, the machine has {len(machine.cores)} cores")
    return Placement((np.arange(k, dtype=np.int64) * count // k).astype(np.int32), len(machine.cores), "in order")
