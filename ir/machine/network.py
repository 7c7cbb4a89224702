"""Networks: topology, distances and routes between the nodes of a machine.

Nodes are numbered from 0. Every kind has routes that are fixed by the two ends (dimension-ordered on meshes), so a link
is a number and a route is a list of links. Messages within a node use no link. The kernels, which load Numba,
are in `routes.py`.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Longs, frozen
from tracecut.support.errors import ArgumentError

if TYPE_CHECKING:
    from .routes import Routes

KINDS = ("mesh", "torus", "tree", "full", "bus")  # in the order of the numbers in `routes`
MOST_NODES = 1 << 17
SLOWEST, FASTEST = 2.0**-20, 2.0**40  # bytes of a link in a cycle
MOST_HOPS = 1 << 30  # between two nodes; cycles of a hop, bytes of a flit
MOST_IN_TABLE = 8192  # nodes whose distances are handed out as one table (int32, 256 MiB)


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
            row for each node, 0 on the diagonal; () makes all others 1 apart. Placements
            go by them; `simulate` counts the links that a message takes instead.
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
        object.__setattr__(self, "shape", self._checked_shape())
        if self.nodes > MOST_NODES:
            raise ArgumentError(f"network.shape = {list(self.shape)} has {self.nodes} nodes, at most {MOST_NODES} fit")
        for name in ("bandwidth", "hop_latency", "flit"):
            value = getattr(self, name)
            whole = name == "bandwidth" or (type(value) is int and value < MOST_HOPS)
            if isinstance(value, str | bool) or not whole or not 0 < value < float("inf"):
                wanted = "number" if name == "bandwidth" else f"whole number of at most {MOST_HOPS - 1}"
                raise ArgumentError(f"network.{name} = {value!r}, a positive {wanted} was expected")
        if not SLOWEST <= self.bandwidth <= FASTEST:
            raise ArgumentError(f"network.bandwidth = {self.bandwidth!r}, from {SLOWEST:g} to {FASTEST:g} was expected")
        self._check_distances()

    def _checked_shape(self) -> tuple[int, ...]:
        sides = {"mesh": 2, "torus": 2, "tree": 0}.get(self.kind, 1)
        try:
            found = tuple(operator.index(side) for side in self.shape if not isinstance(side, bool))
        except TypeError:
            found = ()
        if not found or len(found) != (sides or len(self.shape)) or min(found) < 1:
            wanted = f"{sides} whole number{'s' * (sides > 1)}" if sides else "whole numbers"
            raise ArgumentError(f"network.shape = {self.shape!r}: a {self.kind} has {wanted} of at least 1")
        return found

    def _check_distances(self) -> None:
        given = self.distances
        if not isinstance(given, tuple):
            raise ArgumentError("network.distances: a tuple was expected")
        if not given:
            return
        if self.kind == "tree":
            levels = [step for step in given if type(step) is int and 0 <= step < MOST_HOPS]
            if len(levels) != len(self.shape) or len(given) != len(levels) or levels != sorted(levels, reverse=True):
                raise ArgumentError(
                    f"network.distances = {list(given)}: a tree of {len(self.shape)} levels has as many, "
                    f"none negative, none above {MOST_HOPS - 1}, none longer than that of the level above"
                )
        elif self.kind == "full":
            rows = [row for row in given if isinstance(row, tuple) and len(row) == self.nodes]
            if len(rows) != self.nodes or len(given) != self.nodes:
                raise ArgumentError(f"network.distances: {self.nodes} rows of {self.nodes} numbers were expected")
            for a, row in enumerate(rows):
                for b, hops in enumerate(row):
                    if type(hops) is not int or not 0 <= hops < MOST_HOPS or (a == b) != (hops == 0):
                        raise ArgumentError(
                            f"network.distances[{a}][{b}] = {hops!r}: 0 on the diagonal, "
                            f"a whole number from 1 to {MOST_HOPS - 1} beside it was expected"
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
        from .routes import Routes

        kind = KINDS.index(self.kind)
        width, height = self.shape if self.kind in ("mesh", "torus") else (self.nodes, 1)
        tabled = self.kind == "full" and bool(self.distances)
        shape = np.array([kind, self.nodes, width, height, tabled], np.int64)
        fan = np.array(self.shape if self.kind == "tree" else (1,), np.int64)
        below = np.concatenate([self.nodes // np.cumprod(np.concatenate([[1], fan]))]).astype(np.int64)
        depth = fan.size
        given = (
            self.distances if self.kind == "tree" and self.distances else tuple(2 * (depth - at) for at in range(depth))
        )
        first = np.concatenate([[0], np.cumsum(2 * np.cumprod(fan))]).astype(np.int64)
        table = np.array(self.distances if tabled else np.zeros((0, 0)), np.int64)
        return Routes(shape, below, np.array(given, np.int64), first, table)

    def distance(self, a: int, b: int) -> int:
        """Hops from node a to node b."""
        from .routes import distance

        return int(distance(self.routes, a, b))

    def route(self, a: int, b: int) -> Longs:
        """Links that a message from node a to node b takes, in their order; int64."""
        from .routes import route

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
        from .routes import table

        chosen = frozen("nodes", nodes, np.int64)
        if chosen.size > MOST_IN_TABLE:
            raise ArgumentError(f"a table of {chosen.size} nodes was asked for, {MOST_IN_TABLE} fit")
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < self.nodes:
            raise ArgumentError(f"the network has {self.nodes} nodes, {chosen.max()} was asked for")
        found: npt.NDArray[np.int32] = table(self.routes, chosen)
        return found
