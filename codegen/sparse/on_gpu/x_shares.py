"""Where the elements of x come from in a product, by how often each is read: the approximation of Che et al. 2002.

Reads are taken as independent draws. A cache of least recent use then keeps what was read in the last T reads, with
that T for which as many lines were read as it has.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tracecut.ir.gpu.description import SECTOR, Gpu
from tracecut.support.arrays import Floats

from .measure_shapes import nearest_cache

ROUNDS = 60  # halvings of the interval in which T lies


def x_shares(counts: npt.NDArray[np.integer], size: int, gpu: Gpu) -> tuple[float, float, float]:
    """Shares of reads of x that are near, in the L2, in memory.

    Args:
        counts: (elements of x), how often a product reads each, in the order in which they lie in memory.
        size: bytes of an element.

    O(elements). Multiprocessors share the reads evenly; all caches are empty of this x at first: another tile was read
    before, and where all tiles fit, that is a small share.
    """
    per = SECTOR // size
    rates: Floats = np.add.reduceat(counts, np.arange(0, counts.size, per)).astype(np.float64)
    rates = rates[rates > 0]
    reads = float(rates.sum())
    if reads == 0:
        return 1.0, 0.0, 0.0
    rates /= reads
    own = reads / gpu.multiprocessors
    missed = misses(rates, own, nearest_cache(gpu) // SECTOR) / own
    beyond = min(missed, misses(rates, reads, gpu.l2_size // SECTOR) / reads)
    return 1 - missed, missed - beyond, beyond


def misses(rates: Floats, reads: float, lines: int) -> float:
    """Reads that a cache, empty at first, does not have. O(rates).

    Args:
        rates: float64, the share of reads of each line, summing up to 1. reads: how many. lines: of the cache.
    """
    if lines == 0:
        return reads
    time = min(reads, _time(rates, lines))
    seldom = np.exp(-rates * time)  # not read in that time
    return min(reads, float((1 - seldom).sum() + (reads - time) * (rates @ seldom)))


def _time(rates: Floats, lines: int) -> float:
    """Reads in which as many different lines are read as the cache has; infinite where it has all."""
    if rates.size <= lines:
        return float("inf")
    low, high = 0.0, 1.0
    while (1 - np.exp(-rates * high)).sum() < lines:
        high *= 2
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 - np.exp(-rates * middle)).sum() < lines else (low, middle)
        if high - low < 1e-3 * high:
            break
    return high
