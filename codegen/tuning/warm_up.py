"""What a tuning worker can load before it knows its region: Numba, and the kernels that nearly every region needs."""

from __future__ import annotations

import numpy as np
from tracecut.codegen.schedule.graph.candidate_orders import LINEAR, make_order, shared_data
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.ir.machine.machine import Machine
from tracecut.ir.reuse_distance import locality_profile
from tracecut.partition.linear_orders.z_order import along_z

JOBS = 64


def warm_up() -> None:
    """Order a small ring, so that what this takes is loaded, or compiled where it never was."""
    places = np.arange(JOBS, dtype=np.int32)
    ends = np.stack([places, (places + 1) % JOBS], axis=1).astype(np.int32)
    ring = LocalityGraph(2 * np.arange(JOBS + 1, dtype=np.int64), ends.ravel(), JOBS)
    caches = Machine.detect().caches
    for name in LINEAR:
        found = make_order(ring, name, k=None, seed=0)
        locality_profile(ring, found, [8], caches)
        shared_data(ring, found, 2)
    along_z(ring, found)
