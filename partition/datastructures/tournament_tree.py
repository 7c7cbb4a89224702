"""The largest of many values that change one by one: a tournament over their places."""

from __future__ import annotations

import numpy as np
from numba import njit
from tracecut.support.arrays import Floats
from tracecut.support.lazy_kernels import kept

from .typed_views import Words

NOBODY = np.uint32(0xFFFFFFFF)


@kept
def contest(values: Floats, entered: int, room: int) -> Words:
    """A tournament of the first `entered` of `room` places: node 1 is the winner, of equals the lowest. O(room)."""
    width = 1
    while width < room:
        width *= 2
    tree = np.full(2 * width, NOBODY)
    for place in range(entered):
        tree[width + place] = place
    for node in range(width - 1, 0, -1):
        tree[node] = _better(tree[2 * node], tree[2 * node + 1], values)
    return tree


@kept
def play(tree: Words, values: Floats, place: int, enters: bool) -> None:
    """Update the winners above a place whose value changed, that enters or that leaves. O(log room)."""
    node = tree.size // 2 + place
    tree[node] = place if enters else NOBODY
    node //= 2
    while node > 0:
        tree[node] = _better(tree[2 * node], tree[2 * node + 1], values)
        node //= 2


@njit(cache=True, nogil=True, inline="always")
def _better(left: np.uint32, right: np.uint32, values: Floats) -> np.uint32:
    if right == NOBODY or (left != NOBODY and values[left] >= values[right]):
        return left
    return right
