"""Space-filling curves: the data along a Hilbert or a Morton curve, cut into chunks of the target loads."""

from __future__ import annotations

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.fill_empty import fill_empty
from tracecut.partition.balance.rebalance import chunk_labels, loads_and_shares
from tracecut.partition.datastructures.radix_sort import Keys, radix_order
from tracecut.partition.datastructures.typed_views import Words, floats
from tracecut.partition.parallel.thread_pool import ThreadPool, blocks
from tracecut.support.arrays import Floats, Ints
from tracecut.support.lazy_kernels import kept

from .points import unit_points

BITS = 48  # of a key: 24 per dimension in 2D, 16 in 3D; each 8 bits cost one pass of the radix sort
AXES = 16  # with more dimensions a curve would have fewer than three bits for each


def hilbert(
    graph: LocalityGraph,
    k: int,
    *,
    coords: Floats | None = None,
    weights: Floats | None = None,
    targets: Floats | None = None,
) -> Ints:
    """Chunks of the Hilbert curve through the data.

    Args:
        graph: the locality graph.
        k: number of clusters.
        coords: float64 (data, dimensions), where the data lie; required.
        weights: float64 (data), positive; None means 1 each.
        targets: float64 (k), shares summing to 1; None means equal.

    Returns:
        int32 (data), labels in [0, k). No load is further than the heaviest datum from its target. O(data).

    Raises:
        ArgumentError: there are no coordinates.

    Source: Zoltan's HSFC (Hetero §III); the curve after Skilling 2004.
    """
    return _chunks(unit_points(graph, coords, "hilbert"), k, weights, targets, True)


def morton(
    graph: LocalityGraph,
    k: int,
    *,
    coords: Floats | None = None,
    weights: Floats | None = None,
    targets: Floats | None = None,
) -> Ints:
    """Chunks of the Morton curve through the data: faster but with worse locality than `hilbert`; same arguments.

    Source: Morton 1966.
    """
    return _chunks(unit_points(graph, coords, "morton"), k, weights, targets, False)


def curve_order(points: Floats, *, turning: bool = True, bits: int = BITS, pool: ThreadPool | None = None) -> Words:
    """The points in the order of a curve, `turning` for Hilbert's, else Morton's; uint32 (n).

    `points` is float64 (n, dimensions) in the unit cube. Cells have about `bits / dimensions` bits a side; points of
    one cell keep their order. The 16 widest dimensions count. O(n · bits).
    """
    if points.shape[1] > AXES:
        widest = np.argsort(-np.ptp(points, axis=0), kind="stable")[:AXES] if points.size else np.arange(AXES)
        points = points[:, np.sort(widest)]
    side = max(1, bits // points.shape[1])
    near = floats(points)
    keys = np.empty(points.shape[0], np.uint64)
    calls = [(near, side, turning, keys, *part) for part in blocks(points.shape[0])]
    if pool is None:
        pool = ThreadPool(1, points.shape[0])
    pool.each(_curve_keys, calls)
    return radix_order(keys, side * points.shape[1])


def _chunks(points: Floats, k: int, weights: Floats | None, targets: Floats | None, turning: bool) -> Ints:
    loads, shares = loads_and_shares(points.shape[0], k, weights, targets)
    order = curve_order(points, turning=turning).view(np.int32)
    labels = chunk_labels(order, loads, shares)
    return fill_empty(labels, k, loads)


@kept
def _curve_keys(points: Floats, side: int, turning: bool, keys: Keys, begin: int, end: int) -> None:
    dims = points.shape[1]
    cell = np.zeros(dims, np.uint64)
    most = (1 << side) - 1
    one = np.uint64(1)
    for i in range(begin, end):
        for j in range(dims):
            cell[j] = np.uint64(min(most, int(points[i, j] * (most + 1))))
        if turning:
            _to_hilbert(cell, side)
        key = np.uint64(0)
        for level in range(side - 1, -1, -1):
            for j in range(dims):
                key = (key << one) | ((cell[j] >> np.uint64(level)) & one)
        keys[i] = key


@kept
def _to_hilbert(cell: Keys, side: int) -> None:
    """Axes to the transposed Hilbert index, in place (Skilling 2004, `AxestoTranspose`)."""
    for level in range(side - 1, 0, -1):
        bit = np.uint64(1 << level)
        low = np.uint64((1 << level) - 1)
        for j in range(cell.size):
            if cell[j] & bit:
                cell[0] ^= low
            else:
                swap = (cell[0] ^ cell[j]) & low
                cell[0] ^= swap
                cell[j] ^= swap
    for j in range(1, cell.size):
        cell[j] ^= cell[j - 1]
    flip = np.uint64(0)
    for level in range(side - 1, 0, -1):
        if cell[cell.size - 1] & np.uint64(1 << level):
            flip ^= np.uint64((1 << level) - 1)
    for j in range(cell.size):
        cell[j] ^= flip
