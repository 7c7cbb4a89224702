"""Regions of a machine: its cores, halved along its own geometry until each region is one core."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tracecut.ir.machine.machine import Machine
from tracecut.partition.datastructures.typed_views import Words
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

SCALE = 64  # of distances between regions, which are means: they become whole numbers
MOST_NEXT = 8  # regions next to one that are tried beside those of a vertex's neighbours
Table = npt.NDArray[np.int32]


class Layout(NamedTuple):
    """Regions that vertices are laid onto.

    Attributes:
        table: int32 (r, r), symmetric, distances between regions.
        first, nearest: int64 (r + 1), uint32: the regions next to each.
        limits: float64 (r), the most that each may hold.
    """

    table: Table
    first: Longs
    nearest: Words
    limits: Floats


class Stage(NamedTuple):
    """One depth of the tree of regions.

    Attributes:
        region_of: uint32 (cores).
        parent: int64 (regions), the region of the stage above; siblings follow each other.
        table: int32 (regions, regions), distances; those between cores at the last stage.
    """

    region_of: Words
    parent: Longs
    table: Table


def stages(machine: Machine, distances: Table) -> list[Stage]:
    """The stages from two regions on (none for one core) down to one core a region. O(cores² · log cores).

    A mesh or torus is halved across its longer side, a tree between children of the topmost unit; other networks
    between the two cores that are furthest from each other. Distances between regions are the means over their cores,
    less half of what the means inside of both are: what a cut between them costs beyond what is cut inside of them
    later. `distances`: int32 (cores, cores), symmetric.
    """
    cores = [np.arange(len(machine.cores))]
    depths: list[tuple[list[npt.NDArray[np.int64]], list[int]]] = []
    known: dict[bytes, tuple[npt.NDArray[np.int64], ...]] = {}
    while any(each.size > 1 for each in cores):
        parts: list[npt.NDArray[np.int64]] = []
        parent: list[int] = []
        for place, each in enumerate(cores):
            halves = _halves(machine, each, distances, known) if each.size > 1 else (each,)
            parts += halves
            parent += [place] * len(halves)
        cores = parts
        depths.append((parts, parent))
    order = np.concatenate(cores)
    table = np.ascontiguousarray(distances[np.ix_(order, order)], np.int32)
    found: list[Stage] = []
    sums = table.astype(np.float64)
    for depth, (parts, parent) in reversed(list(enumerate(depths))):
        sizes = np.array([each.size for each in parts])
        if depth + 1 < len(depths):
            begins = np.searchsorted(depths[depth + 1][1], np.arange(len(parts)))
            sums = _added(sums, np.append(begins, len(sums)))
            table = _means(sums, sizes)
        region_of = np.empty(len(machine.cores), np.uint32)
        region_of[order] = np.repeat(np.arange(len(parts), dtype=np.uint32), sizes)
        found.append(Stage(region_of, np.array(parent, np.int64), table))
    return found[::-1]


def layout(table: Table, limits: Floats) -> Layout:
    """The regions of a table with what each may hold. O(r²)."""
    first, nearest = _nearest(table)
    return Layout(table, first, nearest, limits)


def _halves(
    machine: Machine,
    cores: npt.NDArray[np.int64],
    distances: Table,
    known: dict[bytes, tuple[npt.NDArray[np.int64], ...]],
) -> tuple[npt.NDArray[np.int64], ...]:
    """Two halves of some cores, which are sorted; `known` are places in halves of meshes by their shapes."""
    network = machine.joined
    nodes = machine.core_nodes[cores]
    if network.kind in ("mesh", "torus"):
        y, x = np.divmod(nodes, network.shape[0])
        x, y = x - x.min(), y - y.min()
        shape = (x * network.shape[1] + y).tobytes()
        if shape not in known:
            across = x.max() >= y.max()
            known[shape] = _cut(np.arange(cores.size), x if across else y, y if across else x)
        first, second = known[shape]
        return cores[first], cores[second]
    if network.kind == "tree":
        for level in range(1, len(network.shape) + 1):
            units = nodes // int(network.routes.below[level])
            if units[0] != units.max() or units[0] != units.min():
                return _cut(cores, units, nodes)
        return _cut(cores, nodes, nodes)
    block = distances[np.ix_(cores, cores)].astype(np.int64)
    one, other = np.unravel_index(int(np.argmax(block)), block.shape)
    return _cut(cores, block[one] - block[other], cores)


def _cut(cores: npt.NDArray[np.int64], keys: Longs, ties: Longs) -> tuple[npt.NDArray[np.int64], ...]:
    """Two halves by keys: where a key changes, if it does within a quarter of the cores of the middle."""
    order = np.lexsort((ties, keys))
    keys, middle = keys[order], cores.size // 2
    steps = 1 + np.flatnonzero(keys[1:] != keys[:-1])
    if steps.size:
        nearest = int(steps[np.argmin(np.abs(steps - cores.size / 2))])
        if 4 * abs(nearest - middle) <= cores.size:
            middle = nearest
    return np.sort(cores[order[:middle]]), np.sort(cores[order[middle:]])


def _means(sums: npt.NDArray[np.float64], sizes: Longs) -> Table:
    """Distances between regions from the sums of those between their cores, float64 (regions, regions)."""
    means = sums / np.outer(sizes, sizes)
    inside = np.diag(means)
    scale = min(SCALE, (2**31 - 1) / max(1.0, float(means.max())))
    found = np.maximum(0, np.rint(scale * (means - (inside[:, None] + inside[None, :]) / 2)))
    np.fill_diagonal(found, 0)
    return found.astype(np.int32)


@kept
def _added(sums: npt.NDArray[np.float64], begins: Longs) -> npt.NDArray[np.float64]:
    """Sums over the children of regions in both directions; those of region r are [begins[r], begins[r + 1])."""
    count = begins.size - 1
    found = np.zeros((count, count))
    for a in range(count):
        for one in range(begins[a], begins[a + 1]):
            for b in range(count):
                for other in range(begins[b], begins[b + 1]):
                    found[a, b] += sums[one, other]
    return found


@kept
def _nearest(table: Table) -> tuple[Longs, Words]:
    count = table.shape[0]
    first = np.zeros(count + 1, np.int64)
    found = np.empty(count * MOST_NEXT, np.uint32)
    place = 0
    for a in range(count):
        least = np.int64(2**62)
        for b in range(count):
            if b != a:
                least = min(least, np.int64(table[a, b]))
        for step in range(1, count):
            b = (a + step) % count
            if table[a, b] <= least + (least >> 2) and place - first[a] < MOST_NEXT:
                found[place] = b
                place += 1
        first[a + 1] = place
    return first, found[:place].copy()
