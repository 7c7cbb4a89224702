"""Weights near the ends of float64, moved to its middle: scores depend on proportions alone.

All factors are powers of two, so that no weight is rounded but those that vanish beside the largest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tracecut.support.lazy_kernels import kept

from .in_links import unsigned
from .links import Links

LOW, HIGH = 2.0**-400, 2.0**400  # between these, sums of products of two weights are far from either end


def by_largest(links: Links) -> Links:
    """With all weights times one number, which brings the largest to [0.5, 1) if it lies near an end. O(links)."""
    largest = links.weights.max(initial=0.0)
    if largest == 0.0 or LOW <= largest <= HIGH:
        return links
    return replace(links, weights=np.ldexp(links.weights, -np.frexp(largest)[1]))


def by_rows(links: Links) -> Links:
    """With the weights of each node's links times one number, which brings their largest between the ends if it lies
    near one. O(links)."""
    weights = links.weights
    if not weights.size or (weights.min() >= LOW and weights.max() <= HIGH):
        return links
    scaled = weights.copy()
    _scale_rows(unsigned(links.offsets), scaled)
    return replace(links, weights=scaled)


@kept
def _scale_rows(offsets: Any, weights: Any) -> None:
    for row in range(offsets.size - 1):
        low, high = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
        largest = 0.0
        for k in range(low, high):
            largest = max(largest, weights[k])
        if largest == 0.0 or LOW <= largest <= HIGH:
            continue
        raised = 0
        while largest < LOW:
            largest *= HIGH
            raised += 1
        while largest > HIGH:
            largest *= LOW
            raised -= 1
        factor = HIGH if raised > 0 else LOW
        for k in range(low, high):
            for _ in range(abs(raised)):
                weights[k] *= factor
