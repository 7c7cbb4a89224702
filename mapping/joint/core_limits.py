"""What each core may hold: by the balance that is asked for, or by the least one that undivided vertices allow."""

from __future__ import annotations

import heapq

import numpy as np
from tracecut.partition.balance.least_imbalance import best_balance
from tracecut.partition.balance.target_sizes import ROUND
from tracecut.support.arrays import Floats


def core_limits(weights: Floats, shares: Floats, balance: float, capacities: Floats | None) -> Floats:
    """The most that each core may hold, float64 (cores): `balance` times its target, or the least multiple of the
    targets that vertices can keep, since they are not divided.

    Args:
        weights: float64 (n), of the vertices, at least one.
        shares: float64 (cores), what each core should get of the whole load; they sum to 1.
        balance: largest load over its target, at least 1.
        capacities: float64 (cores), loads that no core may exceed, if any; together they hold the whole load.

    Cores may stay empty. If all vertices weigh the same, the limits are multiples of that weight within the capacities,
    and exact: 1024 cores need ⌈5.3⌉ = 6 each for 5,433 vertices, a balance of 1.13. Else they are those of
    `least_imbalance.best_balance`, and do not know the capacities. O(n log n + heavy vertices · cores).
    """
    total, heaviest = float(weights.sum()), float(weights.max())
    wanted = shares * total
    if not total or float(weights.min()) < heaviest:
        return wanted * (best_balance(weights, shares, balance, empty=True) * ROUND)
    room = np.full(shares.size, np.inf) if capacities is None else _whole(capacities, heaviest)
    counts = np.minimum(_whole(wanted * balance, heaviest), room)
    missing = weights.size - int(counts.sum())
    if missing > 0:
        least = _least(counts, room, wanted / heaviest, missing)
        counts = np.minimum(_whole(wanted * least, heaviest), room)
    return counts * heaviest


def _whole(loads: Floats, each: float) -> Floats:
    """How many of weight `each` loads hold."""
    return np.floor(loads / each * ROUND)


def _least(counts: Floats, room: Floats, wanted: Floats, missing: int) -> float:
    """The largest count over wanted count when `missing` more are held, each where that ratio stays least."""
    counts, most = counts.copy(), 1.0
    heap = [(float((counts[core] + 1) / wanted[core]), core) for core in np.flatnonzero(counts < room)]
    heapq.heapify(heap)
    for _ in range(missing if heap else 0):
        most, core = heap[0]
        counts[core] += 1
        if counts[core] < room[core]:
            heapq.heapreplace(heap, (float((counts[core] + 1) / wanted[core]), core))
        else:
            heapq.heappop(heap)
    return most
