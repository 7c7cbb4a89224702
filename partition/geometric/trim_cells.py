"""Overfull cells give their outermost points to neighbours with room."""

from __future__ import annotations

import numpy as np
from tracecut.partition.datastructures.typed_views import Words, floats, longs, words
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.lazy_kernels import kept

from .voronoi_cells import Cells

NEAREST = 16  # number of nearest cells that a point may go to
ROUNDS = 8  # a cell among full ones passes its new points on in the next round


def trim(points: Floats, loads: Floats, labels: Words, cells: Cells, limits: Floats) -> Ints:
    """Move points out of cells above their limit to one of the 16 nearest cells, those closest to the boundary first.

    Points go to a cell with room; if no near cell has room, to the least full, which passes points on in the next of 8
    rounds. Some cells may stay above their limits; `rebalance.rebalance` corrects them.

    Args:
        points: float64 (n, dimensions); loads: float64 (n); labels: uint32 (n); cells, limits: float64 (k).

    Returns:
        int32 (n). O(rounds · (n + points of full cells · log)).
    """
    own = labels.copy()
    k = limits.size
    held = np.bincount(own, loads, k).astype(np.float64)
    for _ in range(ROUNDS if k > 1 else 0):
        over = np.flatnonzero(held > limits)
        if over.size == 0:
            break
        order = np.argsort(own, kind="stable").astype(np.uint32)
        cuts = np.concatenate([[0], np.cumsum(np.bincount(own, minlength=k))])
        for c in over[np.argsort(-(held / limits)[over], kind="stable")]:
            distance = np.sqrt(((cells.centres - cells.centres[c]) ** 2).sum(axis=1))
            distance *= cells.reach[c] / (cells.reach[c] + cells.reach)
            distance[c] = np.inf
            nearest = np.argsort(distance, kind="stable")[: min(NEAREST, k - 1)]
            members = order[cuts[c] : cuts[c + 1]]
            _give(
                points, loads, own, floats(cells.centres), floats(cells.reach), limits, held, words(members),
                longs(nearest), c,
            )  # fmt: skip
    return own.view(np.int32)


@kept
def _give(
    points: Floats,
    loads: Floats,
    labels: Words,
    centres: Floats,
    reach: Floats,
    limits: Floats,
    held: Floats,
    members: Words,
    nearest: Longs,
    c: int,
) -> None:
    emptiest = nearest[0]
    for b in nearest:
        if held[b] * limits[emptiest] < held[emptiest] * limits[b]:
            emptiest = b
    cost = np.empty(members.size)
    goal = np.empty(members.size, np.int64)
    for m in range(members.size):
        i = members[m]
        here, least, best = 0.0, np.inf, -1
        for j in range(points.shape[1]):
            here += (points[i, j] - centres[c, j]) ** 2
        for b in nearest:
            if held[b] + loads[i] > limits[b]:
                continue
            away = 0.0
            for j in range(points.shape[1]):
                away += (points[i, j] - centres[b, j]) ** 2
            if away / (reach[b] * reach[b]) < least:
                best, least = b, away / (reach[b] * reach[b])
        if best < 0:
            best, least = emptiest, 0.0
            for j in range(points.shape[1]):
                least += (points[i, j] - centres[best, j]) ** 2
            least /= reach[best] * reach[best]
        cost[m] = least - here / (reach[c] * reach[c])
        goal[m] = best
    for m in np.argsort(cost, kind="mergesort"):
        if held[c] <= limits[c]:
            break
        i, b = members[m], goal[m]
        if labels[i] != c or (held[b] + loads[i] > limits[b] and b != emptiest):
            continue
        labels[i] = b
        held[c] -= loads[i]
        held[b] += loads[i]
