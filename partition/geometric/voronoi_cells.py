"""Weighted Voronoi cells: each point belongs to the centre with the smallest distance divided by that centre's reach.

Reaches are multiplicative (Geographer's influence), so that they act equally in dense and sparse regions: doubling a
reach doubles the extent of the cell, whatever its size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats
from tracecut.support.lazy_kernels import kept

WALLS = 40  # walls stored per cell: it has about 6 in 2D and 15 in 3D; beyond the last, all centres are compared
FLAT = 3  # coordinates of every point; 2D points are padded, so that the innermost loop has a fixed length


class Cells(NamedTuple):
    """k centres and their reaches.

    Attributes:
        centres: float64 (k, dimensions), from `padded`.
        reach: float64 (k), positive; a larger one makes a larger cell.
    """

    centres: Floats
    reach: Floats


class Walls(NamedTuple):
    """The nearest walls of each cell, nearest first.

    Attributes:
        distance: float64 (k, walls), from the centre.
        behind: uint32 (k, walls), the cell behind each wall.
    """

    distance: Floats
    behind: Words


def padded(points: Floats) -> Floats:
    """Points with at least three coordinates, the added ones zero; float64 (n, max(3, dimensions)). O(n)."""
    missing = FLAT - points.shape[1]
    return np.ascontiguousarray(np.pad(points, ((0, 0), (0, missing)))) if missing > 0 else points


@kept
def find_walls(cells: Cells, line: Words, axis: int, widest: float, found: Walls, begin: int, end: int) -> None:
    """The nearest walls of the cells at positions [begin, end) of `line`, nearest first.

    `line` has the centres in order along `axis`. The search goes outwards on it and stops when the distance along
    the axis, with the `widest` reach, excludes nearer walls, so that few of the k centres are visited.
    """
    centres, reach = cells
    walls, other = found
    k, dims = centres.shape
    most = walls.shape[1]
    for middle in range(begin, end):
        c = line[middle]
        count, left, right = 0, middle - 1, middle + 1
        near = reach[c] / (reach[c] + widest)
        while most > 0 and (left >= 0 or right < k):
            before = centres[c, axis] - centres[line[left], axis] if left >= 0 else np.inf
            after = centres[line[right], axis] - centres[c, axis] if right < k else np.inf
            if count == most and min(before, after) * near >= walls[c, most - 1]:
                break
            if before <= after:
                b = line[left]
                left -= 1
            else:
                b = line[right]
                right += 1
            gap = 0.0
            for j in range(dims):
                gap += (centres[c, j] - centres[b, j]) ** 2
            wall = np.sqrt(gap) * reach[c] / (reach[c] + reach[b])
            if count == most and wall >= walls[c, most - 1]:
                continue
            place = min(count, most - 1)
            while place > 0 and walls[c, place - 1] > wall:
                walls[c, place] = walls[c, place - 1]
                other[c, place] = other[c, place - 1]
                place -= 1
            walls[c, place] = wall
            other[c, place] = b
            count = min(count + 1, most)


@njit(cache=True, nogil=True, inline="always")
def _square(points: Floats, i: int, centres: Floats, c: int) -> float:
    x = points[i, 0] - centres[c, 0]
    y = points[i, 1] - centres[c, 1]
    z = points[i, 2] - centres[c, 2]
    total = x * x + y * y + z * z
    for j in range(3, points.shape[1]):
        total += (points[i, j] - centres[c, j]) ** 2
    return total


@kept
def assign_block(
    points: Floats, loads: Floats, labels: Words, centres: Floats, inverse: Floats, found: Walls, begin: int, end: int,
    sums: Floats,
) -> None:  # fmt: skip
    """Move the points of [begin, end) to their cells and add their loads and centres of mass to `sums`.

    A point closer to its old centre than all walls of the old cell needs one distance; others compare the cells behind
    the walls that are nearer than themselves, nearest wall first. On ties a point stays.
    """
    walls, other = found
    count = walls.shape[1]
    all_listed = count == inverse.size - 1
    for i in range(begin, end):
        old = labels[i]
        square = _square(points, i, centres, old)
        best, least = old, square * inverse[old]
        if count > 0:
            first = walls[old, 0]
            if square > first * first:
                radius = np.sqrt(square)
                place = 0
                while place < count and walls[old, place] < radius:
                    b = other[old, place]
                    value = _square(points, i, centres, b) * inverse[b]
                    if value < least:
                        best, least = b, value
                    place += 1
                if place == count and not all_listed:
                    for b in range(inverse.size):
                        value = _square(points, i, centres, b) * inverse[b]
                        if value < least:
                            best, least = np.uint32(b), value
                labels[i] = best
        load = loads[i]
        sums[best, 0] += load
        for j in range(points.shape[1]):
            sums[best, 1 + j] += load * points[i, j]
