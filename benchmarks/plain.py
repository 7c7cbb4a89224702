"""The weight-balanced streaming rules as one would write them first: what the fast ones must equal and beat."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit


@njit(cache=True)
def plain_stream(
    u: npt.NDArray[np.int32],
    v: npt.NDArray[np.int32],
    degree: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    k: int,
    libra: bool,
    limit: float,
) -> npt.NDArray[np.int32]:
    """Labels of the edges by WB-Libra or WB-PG with scans over all clusters; int32 (edges). O(edges · k)."""
    held = np.zeros((degree.size, k), np.bool_)
    left = degree.copy()
    loads = np.zeros(k)
    labels = np.empty(u.size, np.int32)
    for e in range(u.size):
        a, b = held[u[e]], held[v[e]]
        any_a, any_b, both = False, False, False
        for c in range(k):
            any_a |= a[c]
            any_b |= b[c]
            both |= a[c] and b[c]
        first = degree[u[e]] <= degree[v[e]] if libra else left[u[e]] >= left[v[e]]
        left[u[e]] -= 1
        left[v[e]] -= 1
        best = -1
        for c in range(k):
            if both:
                candidate = a[c] and b[c]
            elif any_a and any_b:
                candidate = a[c] if first else b[c]
            else:
                candidate = a[c] or b[c] or not (any_a or any_b)
            if candidate and (best < 0 or loads[c] < loads[best]):
                best = c
        if (any_a or any_b) and loads[best] + weights[e] > limit:
            best = -1
            for c in range(k):
                if (a[c] or b[c]) and loads[c] + weights[e] <= limit and (best < 0 or loads[c] < loads[best]):
                    best = c
            if best < 0:
                best = np.argmin(loads)
        labels[e] = best
        loads[best] += weights[e]
        held[u[e], best] = True
        held[v[e], best] = True
    return labels
