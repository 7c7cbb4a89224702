"""Linear-time sorts of jobs by where their data lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Ints, Longs
from tracecut.support.lazy_kernels import compiled

from .typed_views import Words, longs, words

Keys = npt.NDArray[np.uint64]

DIGIT = 8  # 256 open cache lines and pages a pass: still close to plain streams


def sort_jobs(offsets: Longs, data: Ints, rank: Words) -> Ints:
    """Jobs sorted by the (lowest, highest) rank of their data; ties keep the old job order.

    Args:
        offsets: int64 (jobs + 1), the CSR incidence.
        data: int32 (pins).
        rank: uint32 (data), the place of each datum.

    Returns:
        int32 (jobs), `result[new] = old`. Jobs without data come last. O(pins + jobs).
    """
    bits = rank.size.bit_length()
    keys = _extreme_keys(longs(offsets), words(data), words(rank), bits)
    return radix_order(keys, 2 * bits).view(np.int32)


def radix_order(keys: Keys, bits: int) -> Words:
    """Stable argsort of `keys`, all below `2**bits`; uint32 (n). O(n · bits). Overwrites `keys`."""
    return _radix_order(keys, bits)


def stable_order(labels: npt.NDArray[Any]) -> Ints:
    """Stable argsort of non-negative 32-bit labels, int32 (n). O(n · bits of the largest label)."""
    top = int(labels.max(initial=0))
    return radix_order(labels.astype(np.uint64), top.bit_length()).view(np.int32)


@compiled(cache=True, nogil=True)
def _extreme_keys(offsets: Longs, data: Words, rank: Words, bits: int) -> Keys:
    jobs = offsets.size - 1
    keys = np.empty(jobs, np.uint64)
    shift = np.uint64(bits)
    for job in range(jobs):
        low, high = np.uint32(rank.size), np.uint32(0)
        for pin in range(offsets[job], offsets[job + 1]):
            place = rank[data[pin]]
            low = min(low, place)
            high = max(high, place)
        keys[job] = (np.uint64(low) << shift) | np.uint64(high)
    return keys


@compiled(cache=True, nogil=True)
def _radix_order(keys: Keys, bits: int) -> Words:
    """Least significant digit first; a pass whose digit is the same everywhere is skipped."""
    size = keys.size
    order = np.empty(size, np.uint32)
    for i in range(size):
        order[i] = i
    other_keys, other_order = np.empty_like(keys), np.empty_like(order)
    mask = np.uint64((1 << DIGIT) - 1)
    for low in range(0, bits, DIGIT):
        shift = np.uint64(low)
        counts = np.zeros(1 << DIGIT, np.int64)
        for i in range(size):
            counts[(keys[i] >> shift) & mask] += 1
        if size == 0 or counts[(keys[0] >> shift) & mask] == size:
            continue
        total = 0
        for digit in range(counts.size):
            count = counts[digit]
            counts[digit] = total
            total += count
        for i in range(size):
            bucket = (keys[i] >> shift) & mask
            place = counts[bucket]
            counts[bucket] = place + 1
            other_keys[place] = keys[i]
            other_order[place] = order[i]
        keys, other_keys = other_keys, keys
        order, other_order = other_order, order
    return order
