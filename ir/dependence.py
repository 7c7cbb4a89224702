"""The dynamic dependence graph: which executed instruction needs what another one made."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numba import njit

from .arrays import Bytes, Ints, Longs, frozen
from .errors import ArgumentError, ArtefactError
from .files import read_arrays, write_arrays

if TYPE_CHECKING:
    from .graph import LocalityGraph

REGISTER, MEMORY, ANTI, OUTPUT, CONTROL = 1, 2, 3, 4, 5
KINDS = {REGISTER: "register", MEMORY: "memory", ANTI: "anti", OUTPUT: "output", CONTROL: "control"}
SMALL_EDGES = 1_000_000  # what networkx holds in about a gigabyte
Ids = npt.NDArray[np.int32] | npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DependenceGraph:
    """Directed acyclic graph of dynamic instructions (VertexCut §3, definition 3.1).

    Vertex v is the v-th instruction that ran. Every edge leads from an earlier instruction to a later one. Two
    instructions have at most one edge of each kind.

    Attributes:
        src, dst: int32 (m), int64 from 2**31 vertices on; `dst` never falls.
        weight: int32 (m), cycles: for memory dependences those of the load that consumes them, 1 for all others.
        kind: uint8 (m), REGISTER, MEMORY (read after write), ANTI (write after read), OUTPUT (write after write) or
            CONTROL.
        instruction: int32 (n), static instruction of each vertex.
        time: int32 (n), cycles that the instruction takes by itself.
    """

    src: Ids
    dst: Ids
    weight: Ints
    kind: Bytes
    instruction: Ints
    time: Ints

    def __post_init__(self) -> None:
        wide = np.asarray(self.instruction).size >= 2**31
        for name, dtype in _members(wide).items():
            object.__setattr__(self, name, frozen(name, getattr(self, name), dtype))
        self.verify()

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.instruction.size

    @property
    def m(self) -> int:
        """Number of edges."""
        return self.src.size

    def verify(self) -> None:
        """Check every rule of the class docstring except that edges are unique; O(m + n). Raises ArgumentError."""
        for name, size in (("dst", self.m), ("weight", self.m), ("kind", self.m), ("time", self.n)):
            if getattr(self, name).size != size:
                raise ArgumentError(f"{name} has {getattr(self, name).size} entries, {size} expected")
        place, rule = _first_fault(self.src, self.dst, self.weight, self.kind, self.n)
        if place >= 0:
            edge = f"edge {place} from {self.src[place]} to {self.dst[place]}"
            raise ArgumentError(f"{edge} {_RULES[rule]}, in a graph of {self.n} vertices")
        for name, values in (("instruction", self.instruction), ("time", self.time)):
            if values.size and values.min() < 0:
                raise ArgumentError(f"{name}[{int(values.argmin())}] = {values.min()} is negative")

    @cached_property
    def offsets(self) -> Longs:
        """CSR by target, int64 (n + 1): the edges into v are `offsets[v]` up to `offsets[v + 1]`. O(n + m)."""
        return frozen("offsets", _offsets(self.dst, self.n), np.int64)

    @cached_property
    def adjacency(self) -> tuple[Longs, Ids]:
        """Undirected CSR `(offsets, neighbours)`: each edge stands at both of its ends. O(n + m)."""
        offsets, neighbours = _adjacency(self.src, self.dst, self.n)
        return frozen("offsets", offsets, np.int64), frozen("neighbours", neighbours, neighbours.dtype)

    def degrees(self) -> Longs:
        """Edges at each vertex, in and out, int64 (n)."""
        return _degrees(self.src, self.dst, self.n)

    def stats(self, *, sources: int = 64, seed: int = 0) -> dict[str, Any]:
        """Nodes, edges, power-law exponent and average path length: the columns of VertexCut's Table 4.

        Keys: nodes, edges, edges_per_node, `kinds` (edges by name); of the degrees exponent, exponent_from (smallest
        degree of the fit), exponent_distance (Kolmogorov and Smirnov), exponent_p (share of synthetic samples that fit
        worse; below 0.1 a power law is implausible) and exponent_all (over all degrees, continuous: nearest to how the
        seed's numbers come about); path_length (mean over sampled pairs that are connected, direction ignored) and
        path_sources. See `graphstats`. O(sources · (n + m)).
        """
        from .graphstats import average_path_length, continuous_exponent, power_law

        degrees = self.degrees()
        fit = power_law(degrees, seed=seed)
        return {
            "nodes": self.n,
            "edges": self.m,
            "edges_per_node": self.m / max(1, self.n),
            "kinds": {name: int(np.count_nonzero(self.kind == kind)) for kind, name in KINDS.items()},
            "exponent": fit.exponent,
            "exponent_from": fit.start,
            "exponent_distance": fit.distance,
            "exponent_p": fit.p,
            "exponent_all": continuous_exponent(degrees),
            "path_length": average_path_length(*self.adjacency, sources=sources, seed=seed),
            "path_sources": min(sources, self.n),
        }

    def as_locality(self) -> LocalityGraph:
        """Edges as jobs, vertices as data: what vertex cuts partition (VertexCut §4). Jobs weigh what the edges do."""
        from .graph import LocalityGraph

        if self.n >= 2**31 or self.m >= 2**31:
            raise ArgumentError(f"{self.n} vertices and {self.m} edges: both must be below 2**31 to be partitioned")
        pins = np.empty(2 * self.m, np.int32)
        pins[0::2], pins[1::2] = self.src, self.dst
        offsets = np.arange(self.m + 1, dtype=np.int64) * 2
        return LocalityGraph(offsets, pins, self.n, job_weights=np.maximum(self.weight, 1), names=("instructions",))

    def to_networkx(self) -> Any:
        """A `networkx.MultiDiGraph` with all attributes. Raises ArgumentError above 1,000,000 edges."""
        if self.m > SMALL_EDGES:
            raise ArgumentError(
                f"the graph has {self.m} edges, at most {SMALL_EDGES} fit a networkx graph",
                hint="Save it, or work on the arrays src and dst.",
            )
        import networkx

        graph = networkx.MultiDiGraph()
        for vertex, (instruction, time) in enumerate(zip(self.instruction.tolist(), self.time.tolist(), strict=True)):
            graph.add_node(vertex, instruction=instruction, time=time)
        columns = (self.src, self.dst, self.weight, self.kind)
        for src, dst, weight, kind in zip(*(column.tolist() for column in columns), strict=True):
            graph.add_edge(src, dst, weight=weight, kind=KINDS[kind])
        return graph

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write `.npz` (`save`), `.graphml`, `.dot`, `.graph` (METIS) or an edge list (`.txt`, `.el`, `.edges`)."""
        from .graphexport import export

        return export(self, path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an npz whose members are the six arrays; the same graph gives the same bytes."""
        arrays = {name: getattr(self, name) for name in _members(False)}
        return write_arrays(path, "DependenceGraph", arrays, {}, bare=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DependenceGraph:
        """Read what `save` wrote. Raises ArtefactError on anything else."""
        try:
            arrays, _ = read_arrays(path, "DependenceGraph", _members(False), also=_members(True))
            return cls(**arrays)
        except ArgumentError as error:
            raise ArtefactError(f"{path} holds no dependence graph: {error.message}") from error

    def __repr__(self) -> str:
        return f"<DependenceGraph {self.n} instructions, {self.m} dependences>"


_RULES = (
    "has an end that does not exist",
    "does not lead forward",
    "stands behind one with a later target",
    "has a negative weight",
    "is of an unknown kind",
)


def _members(wide: bool) -> dict[str, str]:
    ids = "int64" if wide else "int32"
    return {"src": ids, "dst": ids, "weight": "int32", "kind": "uint8", "instruction": "int32", "time": "int32"}


@njit(cache=True, nogil=True)
def _first_fault(src: Ids, dst: Ids, weight: Ints, kind: Bytes, n: int) -> tuple[int, int]:
    last = 0
    for edge in range(src.size):
        if src[edge] < 0 or dst[edge] >= n:
            return edge, 0
        if src[edge] >= dst[edge]:
            return edge, 1
        if dst[edge] < last:
            return edge, 2
        if weight[edge] < 0:
            return edge, 3
        if kind[edge] < REGISTER or kind[edge] > CONTROL:
            return edge, 4
        last = dst[edge]
    return -1, 0


@njit(cache=True, nogil=True)
def _offsets(dst: Ids, n: int) -> Longs:
    offsets = np.zeros(n + 1, np.int64)
    for edge in range(dst.size):
        offsets[dst[edge] + 1] += 1
    for vertex in range(n):
        offsets[vertex + 1] += offsets[vertex]
    return offsets


@njit(cache=True, nogil=True)
def _degrees(src: Ids, dst: Ids, n: int) -> Longs:
    degrees = np.zeros(n, np.int64)
    for edge in range(src.size):
        degrees[src[edge]] += 1
        degrees[dst[edge]] += 1
    return degrees


@njit(cache=True, nogil=True)
def _adjacency(src: Ids, dst: Ids, n: int) -> tuple[Longs, Ids]:
    offsets = np.zeros(n + 2, np.int64)
    for edge in range(src.size):
        offsets[src[edge] + 2] += 1
        offsets[dst[edge] + 2] += 1
    for vertex in range(n):
        offsets[vertex + 2] += offsets[vertex + 1]
    neighbours = np.empty(2 * src.size, src.dtype)
    for edge in range(src.size):
        first, second = src[edge], dst[edge]
        neighbours[offsets[first + 1]] = second
        offsets[first + 1] += 1
        neighbours[offsets[second + 1]] = first
        offsets[second + 1] += 1
    return offsets[: n + 1].copy(), neighbours
