"""The dynamic dependence graph: executed instructions, and which results of others they need."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Bytes, Ints, Longs, frozen
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.files import read_arrays, write_arrays
from tracecut.support.lazy_kernels import kept
from tracecut.support.plain_kernels import fitting

from .dependence_graph_export import export
from .dependence_kinds import ANTI, CONTROL, KINDS, MEMORY, OUTPUT, REGISTER
from .graph_statistics import average_path_length, continuous_exponent, power_law
from .instruction_table import Instructions, member_types
from .locality_graph import LocalityGraph

SMALL_EDGES = 1_000_000  # what networkx holds in about a gigabyte
PATH_WORK = 1 << 28  # edges that are followed for the average path length: some seconds
READ, WRITE = 1, 2  # what `DependenceGraph.access` is made of
ADDRESSES = {"address": "int64", "access": "uint8"}
PIECE = 1 << 22  # edges that one thread checks faster than two
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
        table: the static instructions, None if unknown.
        address: int64 (n), first byte of the first access of each vertex in the memory layout of the model, which does
            not depend on where the system put the program's memory; −1 for vertices that access none, or none that has
            a place. None where addresses were not kept.
        access: uint8 (n), READ, WRITE, their sum, or 0; None with `address`.
    """

    src: Ids
    dst: Ids
    weight: Ints
    kind: Bytes
    instruction: Ints
    time: Ints
    table: Instructions | None = None
    address: Longs | None = None
    access: Bytes | None = None

    def __post_init__(self) -> None:
        wide = np.asarray(self.instruction).size >= 2**31
        for name, dtype in _members(wide).items():
            object.__setattr__(self, name, frozen(name, getattr(self, name), dtype))
        for name, dtype in ADDRESSES.items():
            if getattr(self, name) is not None:
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
        self._check_addresses()
        place, rule = self._fault()
        if place >= 0:
            edge = f"edge {place} from {self.src[place]} to {self.dst[place]}"
            raise ArgumentError(f"{edge} {_RULES[rule]}, in a graph of {self.n} vertices")
        for name, values in (("instruction", self.instruction), ("time", self.time)):
            if values.size and values.min() < 0:
                raise ArgumentError(f"{name}[{int(values.argmin())}] = {values.min()} is negative")
        if self.table is not None and self.n and self.instruction.max() >= self.table.size:
            place = int(self.instruction.argmax())
            raise ArgumentError(f"instruction[{place}] = {self.instruction[place]}, of {self.table.size} in the table")

    def _check_addresses(self) -> None:
        if (self.address is None) != (self.access is None):
            raise ArgumentError("address and access belong together: one of them is missing")
        if self.address is None or self.access is None:
            return
        for name in ADDRESSES:
            if getattr(self, name).size != self.n:
                raise ArgumentError(f"{name} has {getattr(self, name).size} entries, {self.n} expected")
        if self.n and (self.access.max() > READ + WRITE or self.address.min() < -1):
            raise ArgumentError("an access is neither read nor write, or an address below -1")

    def _fault(self) -> tuple[int, int]:
        """The first edge that breaks a rule, and which of _RULES; −1 when none does. Large graphs on two threads."""
        half = self.m // 2 if self.m > PIECE else self.m
        pieces = [slice(0, half), slice(max(0, half - 1), self.m)]  # the second one compares with the edge before it
        first_fault = fitting(_first_fault, self.m)
        with ThreadPoolExecutor(1) as pool:
            parts = [(self.src[part], self.dst[part], self.weight[part], self.kind[part]) for part in pieces]
            second = pool.submit(first_fault, *parts[1], self.n) if half < self.m else None
            place, rule = first_fault(*parts[0], self.n)
            if place < 0 and second is not None:
                place, rule = second.result()
                place += pieces[1].start if place >= 0 else 0
        return place, rule

    @cached_property
    def offsets(self) -> Longs:
        """CSR by target, int64 (n + 1): the edges into v are `offsets[v]` up to `offsets[v + 1]`. O(n + m)."""
        return frozen("offsets", fitting(_offsets, self.n + self.m)(self.dst, self.n), np.int64)

    @cached_property
    def adjacency(self) -> tuple[Longs, Ids]:
        """Undirected CSR `(offsets, neighbours)`: each edge stands at both of its ends. O(n + m)."""
        offsets, neighbours = fitting(_adjacency, self.n + self.m)(self.src, self.dst, self.n)
        return frozen("offsets", offsets, np.int64), frozen("neighbours", neighbours, neighbours.dtype)

    def _users(self) -> tuple[Longs, Ids]:
        """CSR by source `(offsets, targets)`."""
        offsets = fitting(_offsets, self.n + self.m)(self.src, self.n)
        targets = self.dst[np.argsort(self.src, kind="stable")]
        return frozen("offsets", offsets, np.int64), frozen("targets", targets, targets.dtype)

    def with_one_source(self) -> DependenceGraph:
        """The graph in which each instruction depends on one register only, the last of its operands that has a maker.

        VertexCut §3.3 calls the pointer of a store *the* source register of that store, whose value is a register, too;
        with one source for each instruction the graphs of the unoptimised programs have the edges per node that its
        Table 4 states. All other kinds of edges stay. O(m).
        """
        keep = fitting(_one_source, self.m)(self.dst, self.kind)
        edges = self.src[keep], self.dst[keep], self.weight[keep], self.kind[keep]
        return DependenceGraph(*edges, self.instruction, self.time, self.table, self.address, self.access)

    def degrees(self) -> Longs:
        """Edges at each vertex, in and out, int64 (n)."""
        return fitting(_degrees, self.n + self.m)(self.src, self.dst, self.n)

    def stats(self, *, sources: int | None = None, seed: int = 0) -> dict[str, Any]:
        """Nodes, edges, power-law exponent and average path length: the columns of VertexCut's Table 4.

        The paper does not say how it fits its exponent nor which paths it averages, so each stands here in two ways.
        See `graphstats`; O(sources · (n + m)). Keys:

        - nodes, edges, edges_per_node, and `kinds`: edges by name;
        - exponent_all: over all degrees from 1 on, continuous (the nearest to the paper's numbers);
        - exponent_tail: of the tail for which a power law is least implausible, which begins at exponent_tail_from,
          with exponent_tail_distance (Kolmogorov and Smirnov) and exponent_tail_p (share of synthetic samples that fit
          worse; below 0.1 a power law is implausible);
        - path_length: mean over pairs that are connected when direction is ignored; path_directed: along the
          dependences; from path_sources and path_directed_sources random vertices, `sources` or without it 64 in graphs
          of up to some million edges and fewer, down to 4, in larger ones.

        Raises ArgumentError for `sources` below 1.
        """
        if sources is not None and sources < 1:
            raise ArgumentError(f"sources = {sources}, at least 1 expected")
        # Along the dependences a wave comes no further than to what was executed later, and seldom to much of that.
        any_way, directed = (
            min(self.n, min(64, max(4, work // (self.n + self.m + 1))) if sources is None else sources)
            for work in (PATH_WORK // 2, 4 * PATH_WORK)
        )
        degrees = self.degrees()
        fit = power_law(degrees, seed=seed)
        return {
            "nodes": self.n,
            "edges": self.m,
            "edges_per_node": self.m / max(1, self.n),
            "kinds": {name: int(np.count_nonzero(self.kind == kind)) for kind, name in KINDS.items()},
            "exponent_all": continuous_exponent(degrees),
            "exponent_tail": fit.exponent,
            "exponent_tail_from": fit.start,
            "exponent_tail_distance": fit.distance,
            "exponent_tail_p": fit.p,
            "path_length": average_path_length(*self.adjacency, sources=any_way, seed=seed),
            "path_directed": average_path_length(*self._users(), sources=directed, seed=seed),
            "path_sources": any_way,
            "path_directed_sources": directed,
        }

    def as_locality(self) -> LocalityGraph:
        """Edges as jobs, vertices as data: what vertex cuts partition (VertexCut §4). Jobs weigh what the edges do."""
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
            more = {} if self.table is None else self.table.attributes(instruction)
            graph.add_node(vertex, instruction=instruction, time=time, **more)
        columns = (self.src, self.dst, self.weight, self.kind)
        for src, dst, weight, kind in zip(*(column.tolist() for column in columns), strict=True):
            graph.add_edge(src, dst, weight=weight, kind=KINDS[kind])
        return graph

    def export(self, path: str | os.PathLike[str]) -> Path:
        """Write `.npz` (`save`), `.graphml`, `.dot`, `.graph` (METIS), `.parquet`, or an edge list (`.txt`, `.el`, …).

        Each names opcode, function and `file:line` of the vertices where `table` knows them: see `graphexport`. Parquet
        needs pyarrow (`pip install 'tracecut[arrow]'`).
        """
        return export(self, path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an npz whose members are the six arrays and those of `table`; the same graph gives the same bytes."""
        arrays = {name: getattr(self, name) for name in _members(False)}
        arrays |= {} if self.table is None else self.table.members()
        arrays |= {name: getattr(self, name) for name in ADDRESSES if self.address is not None}
        return write_arrays(path, "DependenceGraph", arrays, {}, bare=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DependenceGraph:
        """Read what `save` wrote. Raises ArtefactError on anything else."""
        try:
            members = {**_members(False), **member_types(), **{f"{name}?": dtype for name, dtype in ADDRESSES.items()}}
            arrays, _ = read_arrays(path, "DependenceGraph", members, also=_members(True))
            src, dst, weight, kind, instruction, time = (arrays[name] for name in _members(False))
            table, more = Instructions.from_members(arrays), (arrays.get(name) for name in ADDRESSES)
            return cls(src, dst, weight, kind, instruction, time, table, *more)
        except ArgumentError as error:
            raise ArtefactError(f"{path} holds no dependence graph: {error.message}") from error

    def __repr__(self) -> str:
        return f"<DependenceGraph {self.n} instructions, {self.m} dependences>"


__all__ = ["ANTI", "CONTROL", "KINDS", "MEMORY", "OUTPUT", "REGISTER", "DependenceGraph"]

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


@kept
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


@kept
def _offsets(dst: Ids, n: int) -> Longs:
    offsets = np.zeros(n + 1, np.int64)
    for edge in range(dst.size):
        offsets[dst[edge] + 1] += 1
    for vertex in range(n):
        offsets[vertex + 1] += offsets[vertex]
    return offsets


@kept
def _one_source(dst: Ids, kind: Bytes) -> npt.NDArray[np.bool_]:
    keep = np.ones(dst.size, np.bool_)
    last = -1  # register edge of the same vertex
    for edge in range(dst.size):
        if kind[edge] == REGISTER:
            if last >= 0 and dst[last] == dst[edge]:
                keep[last] = False
            last = edge
    return keep


@kept
def _degrees(src: Ids, dst: Ids, n: int) -> Longs:
    degrees = np.zeros(n, np.int64)
    for edge in range(src.size):
        degrees[src[edge]] += 1
        degrees[dst[edge]] += 1
    return degrees


@kept
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
