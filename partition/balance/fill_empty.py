"""Fills empty parts with items of larger parts."""

from __future__ import annotations

import numpy as np
from tracecut.partition.datastructures.typed_views import Words, floats, words
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept


def fill_empty(labels: Ints, k: int, weights: Floats | None) -> Ints:
    """Labels in which a part is empty only if there are fewer items than parts; unchanged if no part is empty.

    Each empty part gets one item, in the order of items: first from parts with more than the mean load, then from any
    part with at least two items. One item never exceeds a part's capacity (`rebalance.capacities`).

    Args: int32 (n) labels in [0, k), k, float64 (n) weights, None for 1 each. Returns int32 (n). O(n + k).
    """
    if labels.size == 0 or _all_occur(words(labels), k):
        return labels
    sizes = counted(words(labels), k)
    filled = labels.astype(np.int32)
    each = np.ones(labels.size) if weights is None else weights
    loads = np.bincount(labels, each, k).astype(np.float64)
    _fill_empty(filled, sizes, loads, floats(each))
    return filled


@kept
def counted(labels: Words, k: int) -> Longs:
    """How often each of k labels occurs: `np.bincount` without a copy of the labels in 64 bits."""
    sizes = np.zeros(k, np.int64)
    for i in range(labels.size):
        sizes[labels[i]] += 1
    return sizes


@kept
def _all_occur(labels: Words, k: int) -> bool:
    """Whether each of k labels occurs; stops reading as soon as this is known."""
    seen = np.zeros(k, np.bool_)
    left = k
    for i in range(labels.size):
        if not seen[labels[i]]:
            seen[labels[i]] = True
            left -= 1
            if left == 0:
                return True
    return False


@kept
def _fill_empty(labels: Ints, sizes: Longs, loads: Floats, weights: Floats) -> None:
    mean = loads.sum() / sizes.size
    part = 0
    for least in (mean, 0.0):
        for i in range(labels.size):
            while part < sizes.size and sizes[part] > 0:
                part += 1
            if part == sizes.size:
                return
            giver = labels[i]
            if sizes[giver] > 1 and loads[giver] > least:
                labels[i] = part
                sizes[giver] -= 1
                loads[giver] -= weights[i]
                sizes[part] += 1
                loads[part] += weights[i]
