"""Gathers pins in stream order and scatters labels back, so that the placement kernels read memory sequentially."""

from __future__ import annotations

import numpy as np
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.lazy_kernels import kept


@kept
def count_pins(pins: Words, n_data: int) -> Words:
    """Pins of each datum, uint32 (data). O(pins + data)."""
    counts = np.zeros(n_data, np.uint32)
    for pin in pins:
        counts[pin] += np.uint32(1)
    return counts


@kept
def gather_pins(pins: Words, order: Words) -> Words:
    """The two pins of each job in stream order, uint32 (2 · jobs). O(jobs)."""
    gathered = np.empty(pins.size, np.uint32)
    for i in range(order.size):
        job = np.uint64(order[i])
        gathered[2 * i] = pins[2 * job]
        gathered[2 * i + 1] = pins[2 * job + np.uint64(1)]
    return gathered


@kept
def scatter_labels(labels: Words, order: Words) -> Words:
    """Labels in stream order back to job order, uint32 (jobs). O(jobs)."""
    scattered = np.empty(labels.size, np.uint32)
    for i in range(order.size):
        scattered[order[i]] = labels[i]
    return scattered
