"""PKT: clusters of rows and columns whose entries a block multiplies in shared memory, the others as coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import Array, Csr
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition import partition
from tracecut.support.argument_checks import whole_number
from tracecut.support.arrays import Ints, Longs, check_range, frozen
from tracecut.support.errors import ArgumentError, UnsupportedError

from .coo import Coo
from .slots import FEW, add_up, back_to_csr, rows_of, share, vector
from .tiles import segments

THREADS = 512  # of a block, the most of the seed's card
SHARED = 16 << 10  # bytes of shared memory of a block there: x and y of a packet have to fit
MOST_SLOTS = 8  # for each entry of the packets: threads that wait for the one with the longest rows
MOST_ROWS = 1 << 16  # of a packet: 16 bits count them


@dataclass(frozen=True, eq=False)
class Pkt:
    """Packets, one for a block of threads; each thread has whole rows, and as many slots as the busiest one needs.

    Attributes:
        shape: rows and columns. index: the type of the indices that it was made of. threads: of a block.
        members: int32 (rows), the rows, and columns, of each packet, one packet after the other.
        member_starts: int64 (packets + 1), where each packet begins there.
        starts: int64 (packets + 1), the first slot of each packet: slot k of thread t lies at k · threads + t.
        places: uint32 (slots), 2**16 · row + column, both counted in the packet; 0 for padding.
        values: (slots), 0 for padding.
        origin: int64 (slots), entries of the compressed rows; -1 for padding. Products do not read it.
        rest: what lies in no packet. rest_origin: int64 (its entries), as `origin`.
    """

    shape: tuple[int, int]
    index: np.dtype[Any]
    threads: int
    members: Ints
    member_starts: Longs
    starts: Longs
    places: npt.NDArray[np.uint32]
    values: Array
    origin: Longs
    rest: Coo
    rest_origin: Longs

    @classmethod
    def of(
        cls,
        matrix: Csr,
        labels: npt.ArrayLike | None = None,
        *,
        threads: int = THREADS,
        shared: int = SHARED,
        seed: int = 0,
    ) -> Pkt:
        """Packets of a square matrix (Bell and Garland 2009, by TileSpMV, appendix B).

        Args:
            labels: int32 (rows), the packet of each row and column. None: METIS on the matrix's graph, as many equal
                clusters as shared memory asks for.
            threads, shared: of a block, and its bytes for x and y of a packet.
            seed: of METIS.

        O(entries log entries + slots), and METIS.

        Raises:
            ArgumentError: a matrix that is not square, sizes below 1, labels of another size, negative ones.
            UnsupportedError: the packets are not balanced: one has more rows than shared memory holds, or rows so
                long that its threads would have more than 8 slots for each entry of all packets.
            BackendError: METIS failed.
        """
        if matrix.shape[0] != matrix.shape[1]:
            raise ArgumentError(f"PKT clusters rows and columns alike, the matrix has the shape {matrix.shape}")
        whole_number("threads", threads, 1, 1024)
        size = matrix.shape[0]
        most = min(MOST_ROWS, whole_number("shared", shared, 1, 1 << 30) // (2 * matrix.values.itemsize))
        if most == 0:
            raise ArgumentError(f"shared is {shared}, {2 * matrix.values.itemsize} bytes of a row were expected")
        rows = rows_of(matrix)
        label = _clusters(matrix, rows, most, seed) if labels is None else frozen("labels", labels, np.int32)
        if label.size != size:
            raise ArgumentError(f"labels has {label.size} entries, one for each of {size} rows was expected")
        check_range("labels", label, 0, max(1, size))
        members = np.argsort(label, kind="stable").astype(np.int32)
        held = np.bincount(label, minlength=int(label.max(initial=-1)) + 1)
        if held.max(initial=0) > most:
            large = int(np.argmax(held))
            raise UnsupportedError(
                f"packets are not balanced: packet {large} has {held[large]} rows, {most} fit into shared memory",
                hint="HYB and tile-composite take such matrices.",
            )
        member_starts = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)
        local = np.empty(size, np.int64)
        local[members] = segments(held)
        inside = label[rows] == label[matrix.columns]
        near, far = np.flatnonzero(inside), np.flatnonzero(~inside)
        starts, place = _deal(rows[near], label, members, member_starts, threads, near.size)
        places, values = np.zeros(starts[-1], np.uint32), np.zeros(starts[-1], matrix.values.dtype)
        origin = np.full(starts[-1], -1, np.int64)
        places[place] = (local[rows[near]] << 16) + local[matrix.columns[near]]
        values[place], origin[place] = matrix.values[near], near
        index = matrix.columns.dtype
        rest = Coo(matrix.shape, index, rows[far], matrix.columns[far].astype(np.int32), matrix.values[far])
        return cls(matrix.shape, index, threads, members, member_starts, starts, places, values, origin, rest, far)

    @property
    def bytes(self) -> int:
        """Of slots, members, 16 for each packet, and the rest."""
        held = self.places.nbytes + self.values.nbytes + self.members.nbytes
        return held + 16 * (self.starts.size - 1) + self.rest.bytes

    @property
    def padding(self) -> float:
        entries = int(np.count_nonzero(self.origin >= 0)) + self.rest_origin.size
        return share(self.values.size + self.rest.slots, entries)

    def _inside(self) -> tuple[Ints, Ints, Longs]:
        """Row, column and slot of each entry of the packets."""
        there = np.flatnonzero(self.origin >= 0)
        packet = np.searchsorted(self.starts, there, side="right") - 1
        first = self.member_starts[packet]
        places = self.places[there].astype(np.int64)
        return self.members[first + (places >> 16)], self.members[first + (places & 0xFFFF)], there

    def to_csr(self) -> Csr:
        rows, columns, there = self._inside()
        return back_to_csr(
            *(self.shape, self.index, np.concatenate([rows, self.rest.rows])),
            *(np.concatenate([columns, self.rest.columns]), np.concatenate([self.values[there], self.rest.values])),
            np.concatenate([self.origin[there], self.rest_origin]),
        )

    def times(self, x: npt.ArrayLike) -> Array:
        y = self.rest.times(x)
        given = vector(x, y.dtype, self.shape[1])
        rows, columns, there = self._inside()
        with np.errstate(invalid="ignore", over="ignore"):
            products = self.values[there] * given[columns]
        add_up(y, rows, products)
        return y


def _clusters(matrix: Csr, rows: Ints, most: int, seed: int) -> Ints:
    """METIS on the graph of the entries, rows balanced: fewer than fit, since it exceeds its goal by some per cent."""
    size = matrix.shape[0]
    k = -(-size * 21 // (20 * most))
    if k <= 1:
        return np.zeros(size, np.int32)
    low, high = np.minimum(rows, matrix.columns).astype(np.int64), np.maximum(rows, matrix.columns)
    pairs = np.unique((low * size + high)[low != high])
    graph = LocalityGraph.from_edges((pairs // size).astype(np.int32), (pairs % size).astype(np.int32), size)
    return partition(graph, k, "metis", of="data", weights=np.ones(size), seed=seed).labels


def _deal(
    rows: Ints, label: Ints, members: Ints, member_starts: Longs, threads: int, entries: int
) -> tuple[Longs, Longs]:
    """Where packets begin, and the slot of each entry: the longest row goes to the thread that has least so far.

    Raises UnsupportedError for too many slots.
    """
    lengths = np.bincount(rows, minlength=label.size)
    thread, first = np.zeros(label.size, np.int64), np.zeros(label.size, np.int64)
    starts = np.zeros(member_starts.size, np.int64)
    for packet in range(starts.size - 1):
        own = members[member_starts[packet] : member_starts[packet + 1]]
        own = own[np.argsort(-lengths[own], kind="stable")]
        loads = [(0, each) for each in range(threads)]
        heapify(loads)
        most = 0
        for row, length in zip(own.tolist(), lengths[own].tolist(), strict=True):
            if length == 0:
                break
            load, which = loads[0]
            thread[row], first[row] = which, load
            heapreplace(loads, (load + length, which))
            most = max(most, load + length)
        starts[packet + 1] = starts[packet] + most * threads
        if starts[packet + 1] > max(FEW, MOST_SLOTS * entries):
            raise UnsupportedError(
                f"packets are not balanced: packet {packet} has a row of {int(lengths[own].max())} entries, all would "
                f"take more than {MOST_SLOTS} slots an entry",
                hint="HYB and tile-composite take such matrices.",
            )
    begins = np.concatenate([[0], np.cumsum(lengths)])
    step = np.arange(rows.size) - begins[rows]  # the entries of a row stand together in the compressed rows
    return starts, starts[label[rows]] + (first[rows] + step) * threads + thread[rows]
