"""Disjoint sets that several threads can join concurrently, without locks.

An entry below 0 is a root and holds minus the size of its set; any other is the number of the parent. A root is linked
by one compare-and-swap, always under a root of lower number, so that links never form a cycle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept


def _swap(typing: Any, array: Any, place: Any, expected: Any, value: Any) -> Any:
    """Put `value` at `place` of an int64 array if `expected` stands there, in one step; whether it did."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = cgutils.get_item_pointer(
            context, builder, signature.args[0], view, [arguments[1]], wraparound=False, boundscheck=False
        )
        word = ir.IntType(64)
        found = builder.cmpxchg(pointer, arguments[2], arguments[3], "seq_cst", "seq_cst")
        assert found.type.elements[0] == word
        return builder.extract_value(found, 1)

    return types.boolean(array, types.intp, types.int64, types.int64), emit


swap: Any = intrinsic(_swap)


@kept
def find(parents: Longs, item: int | np.int64) -> int:
    """The root of an item. Paths are not compressed, since other threads may be following them. O(depth)."""
    while True:
        parent = parents[item]
        if parent < 0:
            return int(item)
        item = parent


@kept
def join(parents: Longs, a: int | np.int64, b: int | np.int64) -> bool:
    """Make one set of those of a and b; False if they are one already."""
    while True:
        a, b = find(parents, a), find(parents, b)
        if a == b:
            return False
        low, high = min(a, b), max(a, b)
        size = parents[high]
        # Another thread may have linked the higher root since: then both are looked for again.
        if size < 0 and swap(parents, high, size, low):
            break
    while True:
        low = find(parents, low)
        old = parents[low]
        if old < 0 and swap(parents, low, old, old + size):
            return True


@kept
def depth(parents: Longs) -> int:
    """Items on the longest way to a root; O(n · depth)."""
    longest = 0
    for item in range(parents.size):
        steps, place = 1, item
        while parents[place] >= 0:
            place = parents[place]
            steps += 1
        longest = max(longest, steps)
    return longest
