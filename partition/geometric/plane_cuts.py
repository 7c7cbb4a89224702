"""Cuts by planes: recursive coordinate and inertial bisection, and multi-jagged sections."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.fill_empty import fill_empty
from tracecut.partition.balance.rebalance import chunk_offsets, loads_and_shares
from tracecut.support.arrays import Floats, Ints, Longs

from .points import unit_points

Cut = Callable[[Floats, Floats, Floats], tuple[Floats, list[int]]]
FLAT = 1e-12  # tilt relative to the cube: chooses between principal axes of equal length independently of rounding


def rcb(
    graph: LocalityGraph,
    k: int,
    *,
    coords: Floats | None = None,
    weights: Floats | None = None,
    targets: Floats | None = None,
) -> Ints:
    """Recursive coordinate bisection: halve the clusters, and the data across their longest extent.

    Args:
        graph: the locality graph; only its number of data is used.
        k: number of clusters, any; an odd one splits unevenly.
        coords: float64 (data, dimensions), where the data lie; required.
        weights: float64 (data), positive; None means 1 each.
        targets: float64 (k), shares summing to 1; None means equal.

    Returns:
        int32 (data), labels in [0, k). Each cut is at most half the heaviest datum off its target; ties go by
        datum number. O(data · log data · log k).

    Raises:
        ArgumentError: there are no coordinates.

    Source: Berger and Bokhari 1987 (Hetero §III).
    """
    return _recursive(unit_points(graph, coords, "rcb"), k, weights, targets, _across_longest)


def rib(
    graph: LocalityGraph,
    k: int,
    *,
    coords: Floats | None = None,
    weights: Floats | None = None,
    targets: Floats | None = None,
) -> Ints:
    """Recursive inertial bisection: as `rcb`, each cut across the principal axis of the weighted data.

    Arguments and result as `rcb`. O(data · (log data + dimensions²) · log k).

    Source: Simon 1991 (Hetero §III).
    """
    return _recursive(unit_points(graph, coords, "rib"), k, weights, targets, _across_principal)


def multijagged(
    graph: LocalityGraph,
    k: int,
    *,
    coords: Floats | None = None,
    weights: Floats | None = None,
    targets: Floats | None = None,
) -> Ints:
    """Multi-jagged: sections across one dimension after the other, widest first, about the d-th root of k each.

    Each section is cut separately in the next dimension. Arguments and result as
    `rcb`; any k. O(data · log data · dimensions).

    Source: Deveci et al. 2016 (Hetero §III).
    """
    return _recursive(unit_points(graph, coords, "multijagged"), k, weights, targets, _across_each)


def _recursive(points: Floats, k: int, weights: Floats | None, targets: Floats | None, cut: Cut) -> Ints:
    """Cut until every piece is one cluster; `cut` returns the positions of points along a line, and the clusters of
    each piece."""
    n = points.shape[0]
    loads, shares = loads_and_shares(n, k, weights, targets)
    labels = np.zeros(n, np.int32)
    pieces: list[tuple[Longs, int, int]] = [(np.arange(n), 0, k)]
    while pieces:
        own, first, last = pieces.pop()
        if last - first == 1 or own.size == 0:
            labels[own] = first
            continue
        height, counts = cut(points[own], loads[own], shares[first:last])
        sorted_own = own[np.argsort(height, kind="stable")]
        edges = first + np.concatenate([[0], np.cumsum(counts)])
        wanted = np.array([shares[edges[i] : edges[i + 1]].sum() for i in range(len(counts))])
        cuts = chunk_offsets(loads[sorted_own], wanted / wanted.sum())
        for i in range(len(counts)):
            # Pieces keep datum order, so that ties of later cuts go by number.
            pieces.append((np.sort(sorted_own[cuts[i] : cuts[i + 1]]), int(edges[i]), int(edges[i + 1])))
    return fill_empty(labels, k, loads)


def _across_longest(points: Floats, loads: Floats, shares: Floats) -> tuple[Floats, list[int]]:
    return points[:, int(np.ptp(points, axis=0).argmax())], _halves(shares.size)


def _across_principal(points: Floats, loads: Floats, shares: Floats) -> tuple[Floats, list[int]]:
    if not loads.any():  # a piece without load: all its data count equally
        loads = np.ones_like(loads)
    centred = points - np.average(points, axis=0, weights=loads)
    inertia = (centred * loads[:, None]).T @ centred / loads.sum()
    # A tilt far below any real difference picks one axis where several are equally long.
    inertia[np.diag_indices_from(inertia)] -= FLAT * np.arange(inertia.shape[0])
    axis = np.linalg.eigh(inertia)[1][:, -1]
    axis = axis if axis[np.abs(axis).argmax()] > 0 else -axis
    return centred @ axis, _halves(shares.size)


def _across_each(points: Floats, loads: Floats, shares: Floats) -> tuple[Floats, list[int]]:
    """Cut the longest extent, into sections so that pieces have about equal extents."""
    k = shares.size
    extents = np.ptp(points, axis=0)
    longest = int(extents.argmax())
    used = extents > extents[longest] * 1e-6
    volume = float(np.exp(np.log(extents[used] / extents[longest]).sum())) if used.any() else 1.0
    side = (volume / k) ** (1.0 / max(1, int(used.sum())))  # extent of a cubic piece relative to the longest extent
    sections = min(k, max(2, round(1.0 / side)))
    return points[:, longest], [k * (i + 1) // sections - k * i // sections for i in range(sections)]


def _halves(k: int) -> list[int]:
    return [k // 2, k - k // 2]
