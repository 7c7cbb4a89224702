"""Shuffled orders and mixed bits, the same on every machine."""

from __future__ import annotations

import numpy as np
from numba import njit
from tracecut.support.lazy_kernels import kept

from .typed_views import Words

WINDOW = 1024  # nodes shuffled among each other


@kept
def shuffle(values: Words, seed: int) -> None:
    """Shuffle within windows of `WINDOW`: as good as any for breaking ties, and near in memory what is near."""
    state = mixed(np.uint64(seed))
    for begin in range(0, values.size, WINDOW):
        for i in range(min(begin + WINDOW, values.size) - 1, begin, -1):
            state = mixed(state)
            j = begin + np.int64(((state >> np.uint64(32)) * np.uint64(i - begin + 1)) >> np.uint64(32))
            values[i], values[j] = values[j], values[i]


@njit(cache=True, nogil=True, inline="always")
def mixed(x: np.uint64) -> np.uint64:
    """Splitmix64's finaliser."""
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
