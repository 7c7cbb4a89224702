"""Pins while a locality graph is made: pairs of equally long arrays, of jobs and of what they touch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tracecut.support.arrays import Longs

Pins = tuple[Longs, Longs]


def without_repeats(jobs: Longs, data: Longs) -> Pins:
    """Pins of which none is the one before: an inner loop over the pieces of a record makes many."""
    if jobs.size < 2:
        return jobs, data
    other = np.empty(jobs.size, bool)
    other[0] = True
    np.not_equal(jobs[1:], jobs[:-1], out=other[1:])
    other[1:] |= data[1:] != data[:-1]
    return (jobs, data) if other.all() else (jobs[other], data[other])


def together(parts: Sequence[Pins]) -> Pins:
    """The pins of all parts, each once, by job. O(pins log pins)."""
    pins = np.unique(np.stack([np.concatenate([part[side] for part in parts]) for side in (0, 1)], axis=1), axis=0)
    return pins[:, 0], pins[:, 1]
