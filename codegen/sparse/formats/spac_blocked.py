"""SPAC-blocked: entries in blocks of an edge partition, each with the x that it preloads and the y that it flushes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import Array, Csr
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.partition import partition
from tracecut.support.argument_checks import whole_number
from tracecut.support.arrays import Ints, Longs, check_range, frozen
from tracecut.support.errors import ArgumentError, UnsupportedError

from .slots import add_up, back_to_csr, rows_of, vector

ENTRIES = 1024  # of a block, a thread each (SPAC §5.2)
SHARED = 48 << 10  # bytes of shared memory that a block may have
NUMBERED = 1 << 16  # x or y of a block: what 16 bits count
Halves = npt.NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class SpacBlocked:
    """Blocks of entries. All of a block's x are copied into shared memory, and its sums are added up there.

    Attributes:
        shape: rows and columns. index: the type of the indices that it was made of.
        starts: int64 (blocks + 1), where the entries of each block begin.
        x, y: int32 (any), the columns that each block preloads and the rows that it flushes, rising in a block; of the
            rows those first that no other block has, which are stored and not added.
        x_starts, y_starts: int64 (blocks + 1), where each block begins there. owned: int32 (blocks), rows that no other
            block has.
        rows, columns: uint16 (entries), places in the block's parts of `y` and `x`.
        values: (entries), in a block by row, then in their own order.
        origin: int64 (entries), entries of the compressed rows. Products do not read it.
    """

    shape: tuple[int, int]
    index: np.dtype[Any]
    starts: Longs
    x: Ints
    x_starts: Longs
    y: Ints
    y_starts: Longs
    owned: Ints
    rows: Halves
    columns: Halves
    values: Array
    origin: Longs

    @classmethod
    def of(
        cls,
        matrix: Csr,
        labels: npt.ArrayLike | None = None,
        *,
        entries: int = ENTRIES,
        shared: int = SHARED,
        seed: int = 0,
    ) -> SpacBlocked:
        """Blocks by split-and-connect on the graph of SPAC's Fig. 10: x and y are vertices, entries edges.

        Args:
            labels: int32 (entries), the block of each entry, from any partition of edges. None: `spac`.
            entries: of a block on average.
            shared: bytes that x and y of the largest block may take: all blocks of a kernel have as much.
            seed: of the partition.

        O(entries log entries), and the partition.

        Raises:
            ArgumentError: sizes below 1, labels of another size, negative ones; 2**31 rows and columns together.
            UnsupportedError: a block needs more shared memory, or more x or y than 16 bits count.
            BackendError: the partitioner failed.

        Source: SPAC §5.2, Fig. 10.
        """
        whole_number("entries", entries, 1, NUMBERED)
        whole_number("shared", shared, 1, 1 << 30)
        rows = rows_of(matrix)
        label = _edge_blocks(matrix, rows, entries, seed) if labels is None else frozen("labels", labels, np.int32)
        if label.size != matrix.entries:
            raise ArgumentError(f"labels has {label.size} entries, one for each of {matrix.entries} was expected")
        check_range("labels", label, 0, max(1, matrix.entries))
        order = np.lexsort((rows, label))
        block = label[order].astype(np.int64)
        blocks = int(block[-1]) + 1 if block.size else 0
        starts = np.searchsorted(block, np.arange(blocks + 1)).astype(np.int64)
        size = matrix.shape[0]
        touching = np.bincount(np.unique(block * size + rows[order]) % max(1, size), minlength=size)
        foreign = (touching > 1).astype(np.int64)
        x, x_starts, columns = _lists(block, matrix.columns[order].astype(np.int64), matrix.shape[1], blocks)
        # Rows of one block come before those of several, whose number is therefore raised.
        y, y_starts, local = _lists(block, foreign[rows[order]] * size + rows[order], 2 * size, blocks)
        owned = np.bincount(np.repeat(np.arange(blocks), np.diff(y_starts))[y < size], minlength=blocks)
        _check(np.diff(x_starts), np.diff(y_starts), matrix.values.itemsize, shared)
        return cls(
            *(matrix.shape, matrix.columns.dtype, starts, x.astype(np.int32), x_starts),
            *((y % max(1, size)).astype(np.int32), y_starts, owned.astype(np.int32)),
            rows=local.astype(np.uint16),
            columns=columns.astype(np.uint16),
            values=matrix.values[order],
            origin=order,
        )

    @property
    def blocks(self) -> int:
        return self.starts.size - 1

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block: that of the one with most x and y."""
        most = np.diff(self.x_starts) + np.diff(self.y_starts)
        return int(most.max(initial=0)) * self.values.itemsize

    @property
    def bytes(self) -> int:
        """Of entries and both lists, and 16 for each block."""
        held = self.rows.nbytes + self.columns.nbytes + self.values.nbytes + self.x.nbytes + self.y.nbytes
        return held + 16 * self.blocks

    @property
    def padding(self) -> float:
        """1: blocks are as long as they are, and nothing is filled up."""
        return 1.0

    def _block(self) -> Longs:
        return np.repeat(np.arange(self.blocks), np.diff(self.starts))

    def to_csr(self) -> Csr:
        block = self._block()
        rows, columns = self.y[self.y_starts[block] + self.rows], self.x[self.x_starts[block] + self.columns]
        return back_to_csr(self.shape, self.index, rows, columns, self.values, self.origin)

    def times(self, x: npt.ArrayLike) -> Array:
        """Preload, products, flush, as a kernel has it."""
        given, y = vector(x, self.values.dtype, self.shape[1]), np.zeros(self.shape[0], self.values.dtype)
        preloaded, sums = given[self.x], np.zeros(self.y.size, self.values.dtype)
        block = self._block()
        with np.errstate(invalid="ignore", over="ignore"):
            products = self.values * preloaded[self.x_starts[block] + self.columns]
        add_up(sums, self.y_starts[block] + self.rows, products)
        add_up(y, self.y, sums)
        return y


def _edge_blocks(matrix: Csr, rows: Ints, entries: int, seed: int) -> Ints:
    """Clusters of entries by SPAC. Raises ArgumentError for too many rows and columns."""
    size, total = matrix.shape[0], sum(matrix.shape)
    if total >= 2**31:
        raise ArgumentError(f"SPAC's graph has fewer than 2**31 vertices, the matrix has the shape {matrix.shape}")
    k = -(-matrix.entries // entries)
    if k <= 1:
        return np.zeros(matrix.entries, np.int32)
    data = np.stack([rows, (matrix.columns + size).astype(np.int32)], axis=1).ravel()
    offsets = 2 * np.arange(matrix.entries + 1, dtype=np.int64)
    spaces = np.array([0, size, total], np.int64)
    graph = LocalityGraph(offsets, data, total, space_offsets=spaces, names=("y", "x"))
    return partition(graph, k, "spac", seed=seed).labels


def _lists(block: Longs, number: Longs, size: int, blocks: int) -> tuple[Longs, Longs, Longs]:
    """The different numbers of each block, where each block begins among them, and each entry's place in its block."""
    found, place = np.unique(block * size + number, return_inverse=True)
    starts = np.searchsorted(found, np.arange(blocks + 1) * size).astype(np.int64)
    return found % max(1, size), starts, place - starts[block]


def _check(x: Longs, y: Longs, itemsize: int, shared: int) -> None:
    for name, each in (("x", x), ("y", y)):
        if each.max(initial=0) > NUMBERED:
            large = int(np.argmax(each))
            raise UnsupportedError(f"block {large} has {each[large]} elements of {name}, 16 bits count {NUMBERED}")
    if (x + y).max(initial=0) * itemsize > shared:
        large = int(np.argmax(x + y))
        raise UnsupportedError(
            f"block {large} needs {(x[large] + y[large]) * itemsize} bytes of shared memory for {x[large]} elements of "
            f"x and {y[large]} of y, there are {shared}",
            hint="Smaller blocks (entries=) need less.",
        )
