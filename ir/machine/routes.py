"""Kernels of networks: distances and routes between nodes. Importing this loads Numba."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Longs
from tracecut.support.lazy_kernels import kept

MESH, TORUS, TREE, FULL, BUS = range(5)  # kinds, in the order of `network.KINDS`


class Routes(NamedTuple):
    """What the kernels below read; made by `Network.routes`.

    Attributes:
        shape: int64 (5): kind, nodes, width, height, 1 where `table` holds the distances.
        below: int64 (levels + 1), nodes under a unit of each level of a tree, the root first, 1 last.
        costs: int64 (levels), distance between nodes that part at each level of a tree.
        first: int64 (levels + 1), first link of each level of a tree.
        table: int64 (n, n), distances of a full network that states them.
    """

    shape: Longs
    below: Longs
    costs: Longs
    first: Longs
    table: Longs


@kept
def distance(routes: Routes, a: int, b: int) -> Any:
    """Hops from node a to node b. O(1), O(levels) in a tree."""
    kind = routes.shape[0]
    if a == b:
        return 0
    if kind <= TORUS:
        width, height = routes.shape[2], routes.shape[3]
        across, along = abs(a % width - b % width), abs(a // width - b // width)
        if kind == TORUS:
            across, along = min(across, width - across), min(along, height - along)
        return across + along
    if kind == TREE:
        level = 0
        while a // routes.below[level + 1] == b // routes.below[level + 1]:
            level += 1
        return routes.costs[level]
    return routes.table[a, b] if routes.shape[4] else np.int64(1)


@kept
def route(routes: Routes, a: int, b: int, links: Longs) -> int:
    """Writes the links from node a to node b into `links`; returns their number. O(links).

    Meshes and tori number those of a node 4 · node + direction (+x, −x, +y, −y). A unit of a tree has one up and one
    behind it down. In a full network the link is a · nodes + b.
    """
    kind = routes.shape[0]
    if a == b:
        return 0
    count = 0
    if kind <= TORUS:
        width, height = routes.shape[2], routes.shape[3]
        x, y, to_x, to_y = a % width, a // width, b % width, b // width
        while x != to_x or y != to_y:
            ahead, size, step = (to_x - x, width, 0) if x != to_x else (to_y - y, height, 2)
            forward = ahead > 0
            if kind == TORUS and 2 * abs(ahead) > size:
                forward = not forward
            links[count] = 4 * (y * width + x) + step + (0 if forward else 1)
            count += 1
            move = 1 if forward else -1
            if step == 0:
                x = (x + move) % width
            else:
                y = (y + move) % height
        return count
    if kind == TREE:
        depth = routes.costs.size
        top = 0
        while a // routes.below[top + 1] == b // routes.below[top + 1]:
            top += 1
        for level in range(depth, top, -1):
            links[count] = routes.first[level - 1] + 2 * (a // routes.below[level])
            count += 1
        for level in range(top + 1, depth + 1):
            links[count] = routes.first[level - 1] + 2 * (b // routes.below[level]) + 1
            count += 1
        return count
    links[0] = a * routes.shape[1] + b if kind == FULL else 0
    return 1


@kept
def table(routes: Routes, nodes: Longs) -> npt.NDArray[np.int32]:
    """Hops between each two nodes, int32 (n, n). O(n²)."""
    found = np.empty((nodes.size, nodes.size), np.int32)
    for i in range(nodes.size):
        for j in range(nodes.size):
            found[i, j] = distance(routes, nodes[i], nodes[j])
    return found
