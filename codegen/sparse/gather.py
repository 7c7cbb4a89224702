"""The sum over the entries of a row, which all loops over gathered entries are made of."""

from __future__ import annotations

from typing import Any

from numba import njit

# Sums may be taken in any order: then several are under way at a time, and entries are gathered by vector instructions.
FAST = {"reassoc", "nsz", "contract"}


@njit(cache=True, nogil=True, fastmath=FAST)
def gather(offsets: Any, sources: Any, weights: Any, x: Any, row: Any) -> float:
    """The sum of weight times x over the links of a row. weights: None where all are 1, which is another kernel."""
    total = 0.0
    if weights is None:
        for k in range(offsets[row], offsets[row + 1]):
            total += x[sources[k]]
    else:
        for k in range(offsets[row], offsets[row + 1]):
            total += weights[k] * x[sources[k]]
    return total
