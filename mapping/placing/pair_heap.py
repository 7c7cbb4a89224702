"""A heap of pairs (key, number) in two arrays of its owner: the least key first, of equals the smaller number."""

from __future__ import annotations

from typing import Any

from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept


@kept
def push(keys: Floats, numbers: Longs, size: Any, key: Any, number: Any) -> Any:
    """Puts a pair into a heap of `size`; returns its new size. O(log size)."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if key > keys[above] or (key == keys[above] and number >= numbers[above]):
            break
        keys[at], numbers[at] = keys[above], numbers[above]
        at = above
    keys[at], numbers[at] = key, number
    return size + 1


@kept
def drop_first(keys: Floats, numbers: Longs, size: Any) -> Any:
    """Takes the least pair, which stands first, out of a heap that has one; returns its new size. O(log size)."""
    size -= 1
    key, number = keys[size], numbers[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        right = below + 1
        if right < size and (
            keys[right] < keys[below] or (keys[right] == keys[below] and numbers[right] < numbers[below])
        ):
            below = right
        if key < keys[below] or (key == keys[below] and number <= numbers[below]):
            break
        keys[at], numbers[at] = keys[below], numbers[below]
        at = below
    keys[at], numbers[at] = key, number
    return size
