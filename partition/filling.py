"""No part stays empty while another has members to give."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..ir.arrays import Floats, Ints, Longs
from .views import floats


def fill_empty(labels: Ints, k: int, weights: Floats) -> Ints:
    """Labels in which a part is empty only if there are fewer items than parts; the same labels where none is.

    Empty parts get one item each, from the first item to the last: first out of parts with more than the mean load,
    then out of any with two items and more. One item never exceeds a part's capacity (`loads.capacities`).

    Args: int32 (n) labels in [0, k), k, float64 (n) weights. Returns int32 (n). O(n + k).
    """
    sizes = np.bincount(labels, minlength=k).astype(np.int64)
    if labels.size == 0 or sizes.min() > 0:
        return labels
    filled = labels.astype(np.int32)
    loads = np.bincount(labels, weights, k).astype(np.float64)
    _fill_empty(filled, sizes, loads, floats(weights))
    return filled


@njit(cache=True, nogil=True)
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
