"""Balanced k-means: compact clusters of given loads from coordinates, with borders that follow the graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition.balance.fill_empty import fill_empty
from tracecut.partition.balance.rebalance import capacities, chunk_offsets, loads_and_shares
from tracecut.partition.datastructures.typed_views import Words, floats
from tracecut.partition.parallel.thread_pool import ThreadPool, blocks
from tracecut.support.arrays import Floats, Ints
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .kmeans_sweeps import swept
from .points import unit_points
from .smooth_borders import follow
from .space_filling_curves import curve_order
from .trim_cells import trim
from .voronoi_cells import FLAT, Cells, padded

# (sampling rate: one point in this many, sweeps with moving centres on that sample)
SAMPLES = ((64, 60), (16, 80), (4, 60), (1, 12))
AGAIN = ((4, 120), (1, 30))  # the same for a start that is nearly right
PER_CELL = 32  # least points per cell in a sample, so that its mean is meaningful
MANY, LONGEST = 1 << 16, 40  # from MANY points on, at most LONGEST sweeps over all of them
EVEN = 30  # further sweeps with fixed centres, to bring the loads within the balance bound
SLACK = 0.014  # a reach is not changed while the load is this close to its target: cells stay rounder


def kmeans(
    graph: LocalityGraph,
    k: int,
    *,
    coords: Floats | None = None,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    threads: int | None = None,
    borders: bool = True,
) -> Ints:
    """Compact clusters of the target loads, by coordinates.

    Centres start along the Hilbert curve. Sweeps assign every point to the centre with the least distance over reach,
    move centres to the means, and widen the reach of cells with less than their target; first on samples, then on all.
    Cells that are still overfull give away the points closest to a neighbour with room. Up to here only coordinates
    count; finally, data at nearly equal distance to two centres join most of their neighbours in the graph
    (`smooth_borders.follow`).

    Args:
        graph: the locality graph; without `borders` only its number of data counts.
        k: number of clusters.
        coords: float64 (data, dimensions), coordinates of the data; required.
        weights: float64 (data), positive; None means 1 each.
        targets: float64 (k), shares summing to 1; None means equal.
        balance: largest load of a cluster over its target.
        threads: threads at most; the labels do not depend on it.
        borders: whether data near a border follow the graph; without, clusters are cells of the plane or of space.

    Returns:
        int32 (data), labels in [0, k); no cluster is empty when k ≤ data. O(sweeps · (data + k²) + pins).

    Raises:
        ArgumentError: there are no coordinates.

    Source: Geographer, von Looz et al. 2018 (Hetero §V), without its distance bounds: `cells.assign` has better ones.
    The last step is not in it.
    """
    points = unit_points(graph, coords, "kmeans")
    loads, shares = loads_and_shares(graph.n_data, k, weights, targets)
    with ThreadPool(threads, graph.n_data) as pool:
        labels, cells = cluster(points, loads, shares, balance, pool)
        if borders and k < graph.n_data:
            labels = follow(graph, padded(points), loads, labels, cells, capacities(loads, shares, balance), pool)
    return fill_empty(labels, k, loads)


def hkmeans(
    graph: LocalityGraph,
    k: int,
    *,
    coords: Floats | None = None,
    weights: Floats | None = None,
    targets: Floats | None = None,
    balance: float = 1.03,
    hierarchy: Sequence[int] | None = None,
    threads: int | None = None,
    smooth: bool = True,
    borders: bool = True,
) -> Ints:
    """Hierarchical k-means: clusters with consecutive numbers are close together, for machines with a hierarchy.

    Args:
        graph, k, coords, weights, targets, balance, threads, borders: as in `kmeans`.
        hierarchy: the fan-outs, from the outermost level to the innermost, of product k; None takes two levels, the
            outer one the largest divisor of k up to its square root. Cluster c of the result is child `c % fan_out[-1]`
            of cluster `c // fan_out[-1]` of the level above.
        smooth: repartition all data at the end, starting from the centres found, so that borders between levels are
            smoothed. Without it, borders do not follow the graph.

    Returns:
        int32 (data), as `kmeans`. O(levels · sweeps · data + k²).

    Raises:
        ArgumentError: there are no coordinates, or the product of `hierarchy` is not k.

    Source: Hetero §V.
    """
    points = unit_points(graph, coords, "hkmeans")
    loads, shares = loads_and_shares(graph.n_data, k, weights, targets)
    fans = fan_outs(hierarchy, k)
    tight = 1.0 + (balance - 1.0) / max(1, len(fans))
    with ThreadPool(threads, graph.n_data) as pool:
        labels = np.zeros(graph.n_data, np.int32)
        done = 1
        for fan in fans:
            wanted = shares.reshape(done, fan, -1).sum(axis=2)
            order = np.argsort(labels, kind="stable")
            cuts = np.searchsorted(labels[order], np.arange(done + 1))
            finer = np.empty_like(labels)
            for c in range(done):
                own = order[cuts[c] : cuts[c + 1]]
                part = wanted[c] / wanted[c].sum()
                some, cells = cluster(np.ascontiguousarray(points[own]), loads[own], part, tight, pool)
                finer[own] = c * fan + some
            labels, done = finer, done * fan
        if smooth and len(fans) > 1:
            labels, cells = cluster(points, loads, shares, balance, pool, labels)
        if smooth and borders and k < graph.n_data:
            labels = follow(graph, padded(points), loads, labels, cells, capacities(loads, shares, balance), pool)
    return fill_empty(labels, k, loads)


def fan_outs(hierarchy: Sequence[int] | None, k: int) -> list[int]:
    """The fan-outs of `hkmeans`, checked. Raises ArgumentError naming the first that is not a positive whole number."""
    if hierarchy is None:
        outer = max(i for i in range(1, int(k**0.5) + 1) if k % i == 0)
        return [outer, k // outer] if outer > 1 else [k]
    fans = list(hierarchy)
    for place, fan in enumerate(fans):
        if isinstance(fan, bool) or not isinstance(fan, int | np.integer) or fan < 1:
            raise ArgumentError(f"hierarchy[{place}] = {fan!r}, a whole number from 1 was expected")
    product = int(np.prod([int(fan) for fan in fans], dtype=object))
    if product != k:
        raise ArgumentError(f"hierarchy = {fans!r} has the product {product}, k = {k} was expected")
    return [int(fan) for fan in fans]


def cluster(
    points: Floats,
    loads: Floats,
    shares: Floats,
    balance: float,
    pool: ThreadPool,
    start: Ints | None = None,
    order: Words | None = None,
) -> tuple[Ints, Cells]:
    """Cells of points of the unit cube; from `start`, int32 (n), where given, else from the Hilbert curve.

    `order` is that curve (`along_curve`), for callers that have it already. Returns labels, int32 (n), and the cells,
    which match the labels except for some points on borders.
    """
    n, k = points.shape[0], shares.size
    if k == 1 or n <= k:
        alone: Ints = np.arange(n, dtype=np.int32) % np.int32(k)
        return alone, Cells(padded(points[:k]), np.ones(min(n, k)))
    order = along_curve(points, pool) if order is None else order
    near, load = _gathered(points, loads, order, pool)
    if start is None:
        cuts = chunk_offsets(load, shares)
        first = fill_empty(np.repeat(np.arange(k, dtype=np.int32), np.diff(cuts)), k, load)
    else:
        first = fill_empty(start[order], k, load)
    labels = np.ascontiguousarray(first).view(np.uint32)
    few = slice(None, None, max(1, n // max(PER_CELL * k, 1 << 14)))
    cells = _first_cells(near[few], load[few], labels[few], k)
    dims = points.shape[1]
    slack = min(SLACK, (balance - 1.0) / 2)
    sweeps = 0
    for stride, more in SAMPLES if start is None else AGAIN:
        sweeps += more  # the sweeps of a sample that is too small are done on the next one
        if n > MANY and stride == 1:
            sweeps = min(sweeps, LONGEST)
        if stride == 1 or n // stride >= max(PER_CELL * k, 1 << 12):
            few = slice(None, None, stride)
            own = np.ascontiguousarray(labels[few])
            some = (floats(near[few]), floats(load[few]), own)
            cells, _ = swept(*some, cells, shares, pool, sweeps=sweeps, power=1.0 / dims, slack=slack)
            sweeps = 0
    aim = 1.0 + (balance - 1.0) / 2
    cells, _ = swept(near, load, labels, cells, shares, pool, sweeps=EVEN, power=1.0 / dims, slack=slack, aim=aim)
    limits = capacities(load, shares, balance)
    result = np.empty(n, np.int32)
    result[order] = fill_empty(trim(near, load, labels, cells, limits), k, load)
    return result, cells


def along_curve(points: Floats, pool: ThreadPool) -> Words:
    """The points along the Hilbert curve, at the resolution that memory locality needs; uint32 (n). O(n · log n)."""
    return curve_order(points, bits=points.shape[0].bit_length() + 4, pool=pool)


def _gathered(points: Floats, loads: Floats, order: Words, pool: ThreadPool) -> tuple[Floats, Floats]:
    """`padded` points and loads in another order."""
    n, dims = points.shape
    near, load = np.zeros((n, max(FLAT, dims))), np.empty(n)
    pool.each(_gather, [(floats(points), floats(loads), order, near, load, *part) for part in blocks(n)])
    return floats(near), floats(load)


@kept
def _gather(points: Floats, loads: Floats, order: Words, near: Floats, load: Floats, begin: int, end: int) -> None:
    for i in range(begin, end):
        load[i] = loads[order[i]]
        for j in range(points.shape[1]):
            near[i, j] = points[order[i], j]


def _first_cells(points: Floats, loads: Floats, labels: Words, k: int) -> Cells:
    mass = np.maximum(np.bincount(labels, loads, k), 1e-300)
    centres = [np.bincount(labels, loads * points[:, j], k) / mass for j in range(points.shape[1])]
    means = np.ascontiguousarray(np.stack(centres, axis=1))
    spread = np.bincount(labels, loads * ((points - means[labels]) ** 2).sum(axis=1), k) / mass
    return Cells(means, np.sqrt(spread) + 1e-3 * np.sqrt(spread.mean()) + 1e-150)
