"""The least imbalance that a set of weights allows, and labels that achieve it."""

from __future__ import annotations

import numpy as np
from tracecut.partition.datastructures.typed_views import floats
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

from .target_sizes import ROUND

FEW = 24  # number of items that are packed optimally
STEPS = 1 << 18  # steps of the search for an optimal packing
WORK = 1 << 25  # largest items × clusters of a greedy packing; lighter items fill the rest


def best_balance(weights: Floats, targets: Floats, balance: float, *, empty: bool = False) -> float:
    """The balance bound `balance`, or the least possible imbalance if it is larger.

    Heavy items are packed greedily, the heaviest first, each where it fills least; a few items are packed optimally.
    Items lighter than the slack of a mean cluster always find room afterwards: as long as no cluster is above its
    limit, the one with the most room can take another item. No cluster stays empty if there are enough items, unless
    `empty` allows it.

    Args: float64 (n) at least 0; float64 (k) shares summing to 1; a number from 1 on. O(n log n + heavy · k).
    """
    return _packed(weights, targets, balance, empty)[0]


def seated(
    labels: Ints, weights: Floats, targets: Floats, limits: Floats, balance: float, *, empty: bool = False
) -> Ints:
    """Labels within `limits`, from `rebalance.bounds`, and without empty clusters; with some if they are of
    `best_balance(…, empty=True)`.

    First each item, heaviest first, stays in its cluster if that has room, or goes to the one with the most room. If
    an item does not fit, the heavy items are packed again. O(n log n + moved · k).
    """
    if _keeps(labels, weights, limits, empty):
        return labels
    found = pack_by_weight(labels, weights, limits, fill=not empty)
    if not _keeps(found, weights, limits, empty):
        packed = _packed(weights, targets, balance, empty)[1]
        found = pack_by_weight(labels, weights, limits, packed, fill=not empty)
    return found


def pack_by_weight(
    labels: Ints, weights: Floats, limits: Floats, fixed: Longs | None = None, *, fill: bool = False
) -> Ints:
    """Labels within `limits` if possible: heaviest first, items stay where they fit, or go to the cluster with the most
    room.

    `fixed` bins, int64 (n), come first, -1 for none; with `fill` the lightest items go to bins that are empty. int32
    (n). O(n log n + moved · k).
    """
    order = np.argsort(-weights, kind="stable")
    fixed = np.full(labels.size, -1, np.int64) if fixed is None else fixed
    return _seat(order, floats(weights), floats(limits), labels.astype(np.int64), fixed, fill).astype(np.int32)


def _keeps(labels: Ints | Longs, weights: Floats, limits: Floats, empty: bool) -> bool:
    k = limits.size
    within = bool((np.bincount(labels, weights, k) <= limits).all())
    return within and (empty or labels.size < k or np.bincount(labels, minlength=k).min() > 0)


def _packed(weights: Floats, targets: Floats, balance: float, empty: bool) -> tuple[float, Longs]:
    """`best_balance`, and where the heavy items are then, int64 (n), -1 for the others."""
    k, total = targets.size, float(weights.sum())
    places = np.full(weights.size, -1, np.int64)
    if k == 1 or weights.size == 0 or total == 0:
        return balance, places
    order = np.argsort(-weights, kind="stable")
    light = (balance - 1.0) * total / (k - 1)  # lighter items fit into some cluster as long as all keep `balance`
    heavy = weights.size if weights.size <= FEW else int(np.count_nonzero(weights > light))
    heavy = min(heavy, max(FEW, WORK // k))
    wanted = floats(targets * total)
    heaviest = floats(weights[order[:heavy]])
    ratio, bins = _pack(heaviest, wanted, balance, k if empty else weights.size - heavy)
    if empty and ratio > balance and heavy > FEW:
        fitted = _best_fit(heaviest, wanted * (balance * ROUND))
        if fitted.min() >= 0:
            ratio, bins = balance, fitted
    places[order[:heavy]] = bins
    if heavy < weights.size:
        ratio = max(ratio, 1.0 + float(weights[order[heavy]]) * (k - 1) / total)
        if weights.size >= k and not empty:  # the lightest item may have to go to the cluster with the smallest target
            ratio = max(ratio, float((np.sort(weights)[:k] / np.sort(wanted)).max()))
    return max(balance, ratio), places


@kept
def _pack(weights: Floats, wanted: Floats, enough: float, others: int) -> tuple[float, Longs]:
    """The largest load over target, and the bin of each item; `others`: number of lighter items, which can fill empty
    bins."""
    n, k = weights.size, wanted.size
    bins = np.zeros(n, np.int64)
    loads, sizes = np.zeros(k), np.zeros(k, np.int64)
    empty = k
    most = 0.0
    for i in range(n):
        needed = n - i + others <= empty  # all remaining items are needed for empty bins
        best = -1
        for b in range(k):
            if needed and sizes[b] > 0 and empty > 0:
                continue
            if best < 0 or (loads[b] + weights[i]) * wanted[best] < (loads[best] + weights[i]) * wanted[b]:
                best = b
        empty -= sizes[best] == 0
        loads[best] += weights[i]
        sizes[best] += 1
        bins[i] = best
    for b in range(k):
        most = max(most, loads[b] / wanted[b])
    if most <= enough or n > FEW:
        return most, bins
    # Branch and bound: depth-first over all packings that may be better.
    own = np.full(n, -1, np.int64)
    loads[:], sizes[:] = 0.0, 0
    empty, depth = k, 0
    for _ in range(STEPS):
        if depth < 0 or most <= enough:
            break
        if depth == n:
            worst = 0.0
            for b in range(k):
                worst = max(worst, loads[b] / wanted[b])
            if worst < most and empty <= others:
                most = worst
                bins[:] = own
            depth -= 1
            continue
        b = own[depth]
        if b >= 0:  # backtrack
            loads[b] -= weights[depth]
            sizes[b] -= 1
            empty += sizes[b] == 0
        b += 1
        while b < k:
            fits = (loads[b] + weights[depth]) / wanted[b] < most
            left = empty - (sizes[b] == 0)
            if fits and left <= n - depth - 1 + others:
                twin = False
                for c in range(b):  # symmetric to a bin of the same load and target
                    twin |= loads[c] == loads[b] and wanted[c] == wanted[b] and sizes[c] == sizes[b]
                if not twin:
                    break
            b += 1
        if b == k:
            own[depth] = -1
            depth -= 1
            continue
        own[depth] = b
        empty -= sizes[b] == 0
        loads[b] += weights[depth]
        sizes[b] += 1
        depth += 1
    return most, bins


@kept
def _best_fit(weights: Floats, limits: Floats) -> Longs:
    """The bin of each item, the heaviest first, each where least room is left; -1 from the first one that does not fit.

    It finds some packings that filling evenly misses, but leaves bins empty.
    """
    bins, room = np.full(weights.size, -1, np.int64), limits.copy()
    for i in range(weights.size):
        best = -1
        for b in range(room.size):
            if room[b] >= weights[i] and (best < 0 or room[b] < room[best]):
                best = b
        if best < 0:
            break
        room[best] -= weights[i]
        bins[i] = best
    return bins


@kept
def _seat(order: Longs, weights: Floats, limits: Floats, labels: Longs, fixed: Longs, fill: bool) -> Longs:
    """Items in `order` go to their `fixed` bin, else to their own label if it has room, else to the bin with the most
    room."""
    k = limits.size
    found, loads, sizes = labels.copy(), np.zeros(k), np.zeros(k, np.int64)
    for turn in range(2):
        for item in order:
            if (fixed[item] >= 0) != (turn == 0):
                continue
            place = fixed[item] if turn == 0 else labels[item]
            if turn == 1 and loads[place] + weights[item] > limits[place]:
                for b in range(k):
                    if limits[b] - loads[b] > limits[place] - loads[place]:
                        place = b
            found[item] = place
            loads[place] += weights[item]
            sizes[place] += 1
    lightest = order.size - 1
    for _ in range(k if fill else 0):
        target = -1  # of the empty bins, the one with the least room
        for b in range(k):
            if sizes[b] == 0 and (target < 0 or limits[b] < limits[target]):
                target = b
        while lightest >= 0 and sizes[found[order[lightest]]] < 2:
            lightest -= 1
        if target < 0 or lightest < 0:
            break
        item = order[lightest]
        lightest -= 1
        here = found[item]
        loads[here] -= weights[item]
        sizes[here] -= 1
        found[item] = target
        loads[target] += weights[item]
        sizes[target] += 1
    return found
