"""The passes of a step of conjugate gradients, block by block of rows; sums as in `steps`."""

from __future__ import annotations

from typing import Any

from numba import njit
from tracecut.codegen.sparse.gather import FAST


@njit(cache=True, nogil=True, fastmath=FAST)
def dot_step(first: int, last: int, cuts: Any, p: Any, q: Any, sums: Any) -> None:
    """p · q."""
    for block in range(first, last):
        own, other = p[cuts[block] : cuts[block + 1]], q[cuts[block] : cuts[block + 1]]
        total = 0.0
        for i in range(own.size):
            total += own[i] * other[i]
        sums[block] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def advance_step(first: int, last: int, cuts: Any, p: Any, q: Any, alpha: float, x: Any, r: Any, sums: Any) -> None:
    """x += α p, r −= α q, and r · r."""
    for block in range(first, last):
        low, high = cuts[block], cuts[block + 1]
        along, product, place, rest = p[low:high], q[low:high], x[low:high], r[low:high]
        total = 0.0
        for i in range(along.size):
            place[i] += alpha * along[i]
            rest[i] -= alpha * product[i]
            total += rest[i] * rest[i]
        sums[block] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def turn_step(first: int, last: int, cuts: Any, r: Any, beta: float, p: Any) -> None:
    """p = r + β p."""
    for block in range(first, last):
        rest, along = r[cuts[block] : cuts[block + 1]], p[cuts[block] : cuts[block + 1]]
        for i in range(along.size):
            along[i] = rest[i] + beta * along[i]
