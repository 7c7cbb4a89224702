"""The placement rules of `streaming` on bit masks: jobs of two data, whole-number weights, equal targets.

A cluster's load and number form one key, `load << shift | cluster`, so that the smallest key is the least loaded
cluster, with the lowest number on ties. Loads only grow, so a cluster too full for the lightest job is closed
permanently; one `and` removes closed clusters from the candidates, and the smallest of 64 masked keys takes a few
vector minima. Rows of data that are needed soon are prefetched.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.partition.datastructures.bit_operations import least_masked, lowest_bit, prefetch_row
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

Masks = npt.NDArray[np.uint64]
Whole = npt.NDArray[np.uint64]

FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
ONE, ZERO, SIX, LAST = np.uint64(1), np.uint64(0), np.uint64(6), np.uint64(63)
NARROW = 64  # clusters of one mask
WIDE = 64 * 64  # clusters of one summary mask over 64 masks
SHIFT = np.uint64(12)  # bits of a cluster's number in a wide key
SOON, SOONER = 24, 8  # how many jobs ahead heads and rows are prefetched, to hide the latency of memory


@kept
def place_narrow(
    pins: Words, heads: Masks, k: int, libra: bool, either: bool, weights: Whole, limit: int, lightest: int
) -> Words:
    """Labels of the jobs of `pins` for k ≤ 64, in stream order, uint32 (jobs). O(jobs).

    Args:
        pins: uint32 (2 · jobs), the data of each job in stream order.
        heads: uint64 (data, 2), the clusters of each datum (none) and its number of pins. Overwritten.
        libra: prefer the datum of the lower degree; else that of more unassigned pins.
        either: candidates are all clusters of any of the data (the simple rule).
        weights: uint64 (jobs) in stream order, positive; empty for 1 each.
        limit: largest load of a cluster. lightest: smallest weight of a job.
    """
    jobs = pins.size // 2
    labels = np.empty(jobs, np.uint32)
    keys = np.arange(NARROW).astype(np.uint64)
    everything = FULL >> np.uint64(NARROW - k)
    opened = everything if limit >= lightest else ZERO
    bound, slack = np.uint64(limit), np.uint64(max(0, limit - lightest))
    weight, last, last_key = ONE, ZERO, ZERO
    for job in range(jobs):
        if job + SOON < jobs:
            prefetch_row(heads, np.uint64(pins[2 * (job + SOON)]), ZERO)
            prefetch_row(heads, np.uint64(pins[2 * (job + SOON) + 1]), ZERO)
        u, v = pins[2 * job], pins[2 * job + 1]
        a, b = heads[u, 0], heads[v, 0]
        first = _prefers_first(heads, u, v, libra)
        if weights.size:
            weight = weights[job]
        both, some = a & b, a | b
        wanted = a if first else b
        wanted = wanted if wanted != ZERO and not either else some
        wanted = both if both != ZERO and not either else wanted
        wanted &= opened
        some &= opened
        some = wanted if wanted != ZERO else some
        some = some if some != ZERO else everything
        # A vector load that covers a key stored just before would stall on the store (no store forwarding from a narrow
        # store to a wide load), so the last key is kept in a register and merged in.
        if some & (some - ONE) == ZERO:
            keys[last] = last_key
            key = keys[lowest_bit(some)]
        else:
            key = min(_least(keys, ZERO, some & ~(ONE << last)), last_key | (((some >> last) & ONE) - ONE))
            keys[last] = last_key
        if weights.size and some != everything and (key >> SIX) + weight > bound:
            some = (a | b) & opened
            key = _least(keys, ZERO, some)
            if (key >> SIX) + weight > bound:
                key = _least(keys, ZERO, everything)
        cluster = key & LAST
        bit = ONE << cluster
        key += weight << SIX
        last, last_key = cluster, key
        if (key >> SIX) > slack:
            opened &= ~bit
        heads[u, 0] = a | bit
        heads[v, 0] |= bit
        labels[job] = cluster
    return labels


@kept
def place_wide(
    pins: Words, heads: Masks, rows: Masks, k: int, libra: bool, either: bool, weights: Whole, limit: int, lightest: int
) -> Words:
    """The same for k ≤ 4096. The clusters of a datum are a row of masks and a summary of the masks with any bit.

    Only masks whose bits are set in both summaries and in the summary of open clusters are read. The smallest key of
    each 64 clusters is kept, so the least loaded cluster is a minimum over k / 64 keys. O(jobs · k / 64), nearly
    O(jobs) while most clusters are empty or closed, as in natural orders.

    Args:
        heads: uint64 (data, 2), the summary of each datum (none) and its number of pins. Overwritten.
        rows: uint64 (data, ⌈k / 64⌉), zeros. Overwritten.
        pins, k, libra, either, weights, limit, lightest: as in `place_narrow`.
    """
    jobs, groups = pins.size // 2, rows.shape[1]
    lines = min(4, (groups + 7) // 8)
    labels = np.empty(jobs, np.uint32)
    keys = np.full(64 * groups, FULL)
    keys[:k] = np.arange(k).astype(np.uint64)
    tops = keys[::64].copy()
    opened = np.full(groups, FULL)
    opened[groups - 1] = FULL >> np.uint64(64 * groups - k)
    summary = FULL >> np.uint64(64 - groups)
    if limit < lightest:
        opened[:] = ZERO
        summary = ZERO
    bound, slack = np.uint64(limit), np.uint64(max(0, limit - lightest))
    weight = ONE
    for job in range(jobs):
        if job + SOON < jobs:
            prefetch_row(heads, np.uint64(pins[2 * (job + SOON)]), ZERO)
            prefetch_row(heads, np.uint64(pins[2 * (job + SOON) + 1]), ZERO)
            for line in range(lines):
                prefetch_row(rows, np.uint64(pins[2 * (job + SOONER)]), np.uint64(line))
                prefetch_row(rows, np.uint64(pins[2 * (job + SOONER) + 1]), np.uint64(line))
        u, v = pins[2 * job], pins[2 * job + 1]
        a, b = heads[u, 0], heads[v, 0]
        first = _prefers_first(heads, u, v, libra)
        if weights.size:
            weight = weights[job]
        key = FULL
        if not either:
            key, shared = _least_shared(rows, u, v, a & b & summary, opened, keys)
            if key == FULL and not shared:
                shared = _any_shared(rows, u, v, a & b & ~summary)
            if key == FULL and not shared:
                chosen = u if (a != ZERO and (first or b == ZERO)) else v
                key = _least_of(rows, chosen, chosen, heads[chosen, 0] & summary, opened, keys)
        if key == FULL or (key >> SHIFT) + weight > bound:
            key = _least_of(rows, u, v, (a | b) & summary, opened, keys)
        if key == FULL or (key >> SHIFT) + weight > bound:
            key = tops.min()
        cluster = key & ((ONE << SHIFT) - ONE)
        group = cluster >> SIX
        bit = ONE << (cluster & LAST)
        old, key = key, key + (weight << SHIFT)
        if tops[group] == old:
            tops[group] = min(key, _least(keys, group << SIX, ~bit))
        keys[cluster] = key
        if (key >> SHIFT) > slack:
            opened[group] &= ~bit
            if opened[group] == ZERO:
                summary &= ~(ONE << group)
        heads[u, 0] = a | (ONE << group)
        heads[v, 0] |= ONE << group
        rows[u, group] |= bit
        rows[v, group] |= bit
        labels[job] = cluster
    return labels


@kept
def count_held(offsets: Longs, data: Words, labels: Words, held: Masks) -> int:
    """Number of (datum, cluster) pairs in which the cluster has a job of the datum. O(pins).

    `held` is uint64 (data, ⌈k / 64⌉), zeros. Overwritten.
    """
    total = 0
    for job in range(labels.size):
        word, bit = labels[job] >> np.uint32(6), ONE << np.uint64(labels[job] & np.uint32(63))
        for pin in range(offsets[job], offsets[job + 1]):
            mask = held[data[pin], word]
            total += mask & bit == ZERO
            held[data[pin], word] = mask | bit
    return total


@njit(inline="always")
def _prefers_first(heads: Masks, u: Any, v: Any, libra: bool) -> Any:
    """Whether the rule prefers u over v; the PowerGraph rule counts down the unassigned pins."""
    pins_u, pins_v = heads[u, 1], heads[v, 1]
    if libra:
        return pins_u <= pins_v
    heads[u, 1] = pins_u - ONE
    heads[v, 1] -= ONE
    return pins_u >= pins_v


@njit(inline="always")
def _least(keys: Whole, base: Any, mask: Any) -> Any:
    """Smallest of the 64 keys from `base` on whose bits are set in `mask`; FULL if none is."""
    if mask != ZERO and mask & (mask - ONE) == ZERO:
        return keys[base + lowest_bit(mask)]
    return least_masked(keys, np.uint64(base), mask)


@njit(inline="always")
def _least_shared(rows: Masks, u: Any, v: Any, groups: Any, opened: Masks, keys: Whole) -> Any:
    """Smallest key of an open cluster in both rows, and whether the rows share any cluster in the groups that were
    read."""
    best, shared = FULL, False
    while groups != ZERO:
        group = lowest_bit(groups)
        groups &= groups - ONE
        mask = rows[u, group] & rows[v, group]
        shared |= mask != ZERO
        mask &= opened[group]
        if mask != ZERO:
            best = min(best, _least(keys, group << SIX, mask))
    return best, shared


@njit(inline="always")
def _any_shared(rows: Masks, u: Any, v: Any, groups: Any) -> Any:
    while groups != ZERO:
        group = lowest_bit(groups)
        groups &= groups - ONE
        if rows[u, group] & rows[v, group] != ZERO:
            return True
    return False


@njit(inline="always")
def _least_of(rows: Masks, u: Any, v: Any, groups: Any, opened: Masks, keys: Whole) -> Any:
    """Smallest key of an open cluster in one of the rows."""
    best = FULL
    while groups != ZERO:
        group = lowest_bit(groups)
        groups &= groups - ONE
        mask = (rows[u, group] | rows[v, group]) & opened[group]
        if mask != ZERO:
            best = min(best, _least(keys, group << SIX, mask))
    return best
