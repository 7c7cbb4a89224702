"""What the walks write: edges and vertices, and their sums where they are not kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from tracecut.ir.dependence_graph import CONTROL, KINDS
from tracecut.support.arrays import Bytes, Ints, Longs
from tracecut.support.plain_kernels import fitting

from .number_kernels import inner_kernel, outer_kernel
from .record_steps import Int
from .shadow_memory import Writers

EDGES = {"src": np.int32, "dst": np.int32, "weight": np.int32, "kind": np.uint8}
NODES = {"instruction": np.int32, "time": np.int32}
ADDRESSES = {"address": np.int64, "access": np.uint8}  # of each vertex, where they are kept
EDGE_BYTES, WIDE_EDGE_BYTES, NODE_BYTES, ADDRESS_BYTES = 13, 21, 8, 9


Edges = tuple[Writers, Writers, Ints, Bytes]  # source, target, weight and kind of each


class Output(NamedTuple):
    """Edges and vertices so far; views of arrays that grow outside. `address` and `access` are empty if not kept."""

    src: Writers
    dst: Writers
    weight: Ints
    kind: Bytes
    instruction: Ints
    time: Ints
    address: Longs
    access: Bytes


@dataclass(frozen=True)
class GraphTotals:
    """Exact sums over a dependence graph that was not kept.

    Attributes:
        nodes, edges: their numbers. kinds: edges by name (`ir.dependence_kinds.KINDS`).
        weight, time: cycles on all edges, and of all instructions.
    """

    nodes: int
    edges: int
    kinds: dict[str, int]
    weight: int
    time: int

    @property
    def bytes(self) -> int:
        """What the graph takes in memory."""
        wide = self.nodes >= 2**31 - 2
        return self.nodes * NODE_BYTES + self.edges * (WIDE_EDGE_BYTES if wide else EDGE_BYTES)

    def stats(self) -> dict[str, Any]:
        """The same keys as of `DependenceGraph.stats`, as far as they are sums."""
        each = self.edges / max(1, self.nodes)
        return {"nodes": self.nodes, "edges": self.edges, "edges_per_node": each, "kinds": dict(self.kinds)}


class Sums:
    """Adds up vertices and edges that are then forgotten."""

    def __init__(self) -> None:
        self.nodes = self.edges = 0
        self.rows = np.zeros(CONTROL + 3, np.int64)  # edges by kind, then the sums of weight and time

    def add(self, out: Output, edges: int, nodes: int) -> None:
        """Count the first so many of each."""
        self.nodes += nodes
        self.edges += edges
        fitting(_add, edges + nodes)(out.weight[:edges], out.kind[:edges], out.time[:nodes], self.rows)

    def totals(self) -> GraphTotals:
        """All that was added."""
        kinds = {name: int(self.rows[kind]) for kind, name in KINDS.items()}
        return GraphTotals(self.nodes, self.edges, kinds, int(self.rows[-2]), int(self.rows[-1]))


@outer_kernel
def _add(weight: Ints, kind: Bytes, time: Ints, rows: Longs) -> None:
    for edge in range(kind.size):
        rows[kind[edge]] += 1
        rows[-2] += weight[edge]
    for vertex in range(time.size):
        rows[-1] += time[vertex]


@inner_kernel
def since(vertex: Int, origin: Int | None) -> Int:
    """Place of a vertex in arrays that begin with `origin`."""
    return vertex if origin is None else vertex - origin


@inner_kernel
def note_access(out: Output, at: Int, place: Int, access: Int) -> None:
    """Note the first access of a vertex (`at`: its place in the arrays) where addresses are kept, and all its kinds."""
    if out.access.size:
        if out.access[at] == 0:
            out.address[at] = place
        out.access[at] |= np.uint8(access)


@inner_kernel
def add_edge(
    src: Writers, dst: Writers, weight: Ints, kind: Bytes, at: Int, source: Int, target: Int, cycles: Int, name: Int
) -> Int:
    """Write an edge at a place of the arrays; the next place."""
    here = np.uint64(at)
    src[here] = source
    dst[here] = target
    weight[here] = cycles
    kind[here] = name
    return at + 1


@inner_kernel
def label(out: Edges, begin: Int, end: Int, vertex: Int, cycles: Int, name: Int) -> None:
    """Give edges whose sources stand there already their target, weight and kind."""
    _, dst, weight, kind = out
    for edge in range(begin, end):
        dst[edge] = vertex
        weight[edge] = cycles
        kind[edge] = name
