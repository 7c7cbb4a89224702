"""Networks: how the nodes of a machine are joined, how far they are from each other, which links a message takes.

Nodes are numbered from 0. Every kind has routes that are fixed by the two ends (dimension-ordered on meshes), so a link
is a number and a route is a list of links. What travels inside of one node takes none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.support.arrays import Longs, frozen
from tracecut.support.errors import ArgumentError

KINDS = ("mesh", "torus", "tree", "full", "bus")
MESH, TORUS, TREE, FULL, BUS = range(5)
MOST_NODES = 1 << 17
MOST_IN_TABLE = 8192  # nodes whose distances are handed out as one table (int32, 256 MiB)


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


@dataclass(frozen=True)
class Network:
    """How nodes are joined.

    Attributes:
        kind: `mesh` and `torus` (two dimensions, messages go along x first), `tree`, `full` (a link from every node
            to every other) or `bus` (one link for all).
        shape: (width, height) of a mesh or torus, fan-outs of a tree from the root, (nodes,) of the others.
        bandwidth: bytes that a link carries in a cycle.
        hop_latency: cycles until the head of a message has passed a router and the link behind it.
        flit: bytes; messages travel in whole flits.
        distances: tree: hops between nodes whose paths part at the root, one level below, …; () counts links. full: a
            row for each node, 0 on the diagonal; () makes all others 1 apart.
    """

    kind: str
    shape: tuple[int, ...]
    bandwidth: float = 16.0
    hop_latency: int = 2
    flit: int = 16
    distances: tuple[int, ...] | tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ArgumentError(f"network.kind = {self.kind!r}, one of {', '.join(KINDS)} was expected")
        dimensions = {"mesh": 2, "torus": 2, "tree": max(1, len(self.shape))}.get(self.kind, 1)
        if len(self.shape) != dimensions or any(type(side) is not int or side < 1 for side in self.shape):
            raise ArgumentError(
                f"network.shape = {list(self.shape)}: a {self.kind} has {dimensions} sides of at least 1"
            )
        if self.nodes > MOST_NODES:
            raise ArgumentError(f"network.shape = {list(self.shape)} has {self.nodes} nodes, at most {MOST_NODES} fit")
        for name in ("bandwidth", "hop_latency", "flit"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ArgumentError(f"network.{name} = {value}, a positive number was expected")
        self._check_distances()

    def _check_distances(self) -> None:
        given = self.distances
        if not given:
            return
        if self.kind == "tree":
            levels = [step for step in given if isinstance(step, int)]
            if len(levels) != len(self.shape) or min(levels) < 0 or levels != sorted(levels, reverse=True):
                raise ArgumentError(
                    f"network.distances = {list(given)}: a tree of {len(self.shape)} levels has as many, "
                    "none negative, none longer than that of the level above"
                )
        elif self.kind == "full":
            rows = [row for row in given if isinstance(row, tuple) and len(row) == self.nodes]
            if len(rows) != self.nodes or len(given) != self.nodes:
                raise ArgumentError(f"network.distances: {self.nodes} rows of {self.nodes} numbers were expected")
            for a, row in enumerate(rows):
                for b, hops in enumerate(row):
                    if hops < 0 or (a == b) != (hops == 0):
                        raise ArgumentError(
                            f"network.distances[{a}][{b}] = {hops}: 0 on the diagonal, more beside it was expected"
                        )
        else:
            raise ArgumentError(f"network.distances: a {self.kind} has none of its own")

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return prod(self.shape)

    @property
    def links(self) -> int:
        """Number of links, each in one direction (that of a bus in both)."""
        if self.kind in ("mesh", "torus"):
            return 4 * self.nodes
        if self.kind == "tree":
            return int(self.routes.first[-1])
        return self.nodes * self.nodes if self.kind == "full" else 1

    @cached_property
    def routes(self) -> Routes:
        """The network as arrays for kernels."""
        kind = KINDS.index(self.kind)
        width, height = self.shape if len(self.shape) == 2 and kind <= TORUS else (self.nodes, 1)
        tabled = kind == FULL and bool(self.distances)
        shape = np.array([kind, self.nodes, width, height, tabled], np.int64)
        fan = np.array(self.shape if kind == TREE else (1,), np.int64)
        below = np.concatenate([self.nodes // np.cumprod(np.concatenate([[1], fan]))]).astype(np.int64)
        depth = fan.size
        given = self.distances if kind == TREE and self.distances else tuple(2 * (depth - at) for at in range(depth))
        first = np.concatenate([[0], np.cumsum(2 * np.cumprod(fan))]).astype(np.int64)
        table = np.array(self.distances if tabled else np.zeros((0, 0)), np.int64)
        return Routes(shape, below, np.array(given, np.int64), first, table)

    def distance(self, a: int, b: int) -> int:
        """Hops from node a to node b."""
        return int(distance(self.routes, a, b))

    def route(self, a: int, b: int) -> Longs:
        """Links that a message from node a to node b takes, in their order; int64."""
        found = np.empty(self.longest_route, np.int64)
        return found[: route(self.routes, a, b, found)]

    @property
    def longest_route(self) -> int:
        """Links of the longest route, at least 1."""
        if self.kind == "mesh":
            return max(1, sum(self.shape) - 2)
        if self.kind == "torus":
            return max(1, sum(side // 2 for side in self.shape))
        return 2 * len(self.shape) if self.kind == "tree" else 1

    def table(self, nodes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Hops between each two of `nodes`, int32 (n, n), of at most 8,192 nodes. O(n²)."""
        chosen = frozen("nodes", nodes, np.int64)
        if chosen.size > MOST_IN_TABLE:
            raise ArgumentError(f"a table of {chosen.size} nodes was asked for, {MOST_IN_TABLE} fit")
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < self.nodes:
            raise ArgumentError(f"the network has {self.nodes} nodes, {chosen.max()} was asked for")
        return _table(self.routes, chosen)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _table(routes: Routes, nodes: Longs) -> npt.NDArray[np.int32]:
    found = np.empty((nodes.size, nodes.size), np.int32)
    for i in range(nodes.size):
        for j in range(nodes.size):
            found[i, j] = distance(routes, nodes[i], nodes[j])
    return found
