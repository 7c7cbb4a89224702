"""The passes of a step of conjugate gradients, block by block of rows; sums as in `steps`."""

from __future__ import annotations

from typing import Any

from numba import njit

from .steps import FAST


@njit(cache=True, nogil=True, fastmath=FAST)
def dot_step(first: int, last: int, cuts: Any, p: Any, q: Any, sums: Any) -> None:
    """p · q."""
    for block in range(first, last):
        total = 0.0
        for i in range(cuts[block], cuts[block + 1]):
            total += p[i] * q[i]
        sums[block] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def advance_step(first: int, last: int, cuts: Any, p: Any, q: Any, alpha: float, x: Any, r: Any, sums: Any) -> None:
    """x += α p, r −= α q, and r · r."""
    for block in range(first, last):
        total = 0.0
        for i in range(cuts[block], cuts[block + 1]):
            x[i] += alpha * p[i]
            r[i] -= alpha * q[i]
            total += r[i] * r[i]
        sums[block] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def turn_step(first: int, last: int, cuts: Any, r: Any, beta: float, p: Any) -> None:
    """p = r + β p."""
    for block in range(first, last):
        for i in range(cuts[block], cuts[block + 1]):
            p[i] = r[i] + beta * p[i]
