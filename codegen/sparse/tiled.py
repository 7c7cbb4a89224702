"""Tiles of columns whose part of x fits a cache: the form for power laws on CPUs.

Where the columns of a row lie anywhere and x is larger than the second-level cache, most elements of x come from
beyond it. Blocks of rows are therefore multiplied tile by tile (TileSpMV §3.1; Buluç et al. 2009): within one, columns
and rows take 16 bits. Rows of equal length there stand side by side in slices, so that no end of a row is mispredicted
and nothing is padded. Where all values are the same there is one of them: two bytes an entry are left to read.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Longs
from tracecut.support.errors import ArgumentError

from .csr import Array, Csr
from .native_code import address, addresses, aligned, native
from .orders import Words
from .row_threads import row_blocks, run_blocks
from .sliced import lanes_of

Halves = npt.NDArray[np.uint16]
ROWS = 1 << 16  # of a block, at most: what 16 bits count
BLOCKS = 8  # that even a small matrix has, for threads to share
FEWEST, ENTRIES = 1 << 16, 1 << 21  # of a block: what pays for another thread, and for loading all of x once more
TILE = 1 << 18  # bytes of x that a tile reads: a part of any second-level cache
LONG = 64  # entries of a row in a tile that is not put into slices
_U32 = np.dtype(np.uint32)


class _Struct(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("first_rows", "head_starts", "row_starts", "starts")),
        *((name, ctypes.c_void_p) for name in ("heads", "rows", "columns")),
        *((name, ctypes.c_uint64) for name in ("shift", "one")),
    )


class _Job(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("first_rows", "order", "numbers")),
        *((name, ctypes.c_void_p) for name in ("head_starts", "row_starts", "starts", "origin")),
        *((name, ctypes.c_void_p) for name in ("heads", "rows", "columns")),
        ("shift", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name in ("tile_starts", "cell_entries", "cell_rows", "cell_columns")),
        *((name, ctypes.c_void_p) for name in ("moved", "run_starts", "run_lengths", "sorted")),
    )


@dataclass(frozen=True, eq=False)
class Tiled:
    """A matrix in blocks of rows and tiles of columns; a cell is where both meet.

    Attributes:
        shape: rows and columns. index: the type of the indices that it was made of.
        shift: a tile has 2**shift columns.
        first_rows: int64 (blocks + 1), where each block begins.
        head_starts, row_starts, starts: int64 (blocks + 1), where its parts of `heads`, `rows`, `values` begin.
        heads: uint32 (any), what the cells of a block hold; see `native/tiled.h`.
        rows: uint16 (any), the row of each long row, lane of a slice, and single entry, counted from the block's first.
        columns: uint16 (entries), counted from the tile's first one.
        values: (entries), or (1) where all are the same: products have the same bits as if each were there.
        origin: int64 (entries), entries of the compressed rows, where they were asked for. Products do not read it.
    """

    shape: tuple[int, int]
    index: np.dtype[Any]
    shift: int
    first_rows: Longs
    head_starts: Longs
    row_starts: Longs
    starts: Longs
    heads: Words
    rows: Halves
    columns: Halves
    values: Array
    origin: Longs | None = None

    @property
    def entries(self) -> int:
        return self.columns.size

    @property
    def padding(self) -> float:
        """Slots for each entry: there are no others."""
        return 1.0

    @property
    def bytes(self) -> int:
        """Bytes that a product reads, x and y apart."""
        starts = (self.first_rows, self.head_starts, self.row_starts, self.starts)
        return sum(array.nbytes for array in (*starts, self.heads, self.rows, self.columns, self.values))

    def __repr__(self) -> str:
        return f"<Tiled {self.shape[0]} × {self.shape[1]}, {self.entries} entries, {self.first_rows.size - 1} blocks>"

    @classmethod
    def of(
        cls,
        matrix: Csr,
        order: Words | None = None,
        numbers: Words | None = None,
        *,
        shift: int | None = None,
        block: tuple[int, int] | None = None,
        origin: bool = False,
    ) -> Tiled:
        """The tiles of a matrix, perhaps in an order.

        Args:
            matrix: fewer than 2**31 rows and columns.
            order: uint32 (rows), row i of the tiles is row order[i] of the matrix.
            numbers: uint32 (columns), column j of the matrix is column numbers[j] of the tiles.
            shift: the logarithm of a tile's columns, at most 16. None: 256 KiB of x.
            block: rows that a block has at most, and entries with which it ends before. None: 65,536 and
                `block_entries`.
            origin: keep which entry each was: `to_csr` then restores rows whose columns do not rise, too.

        Raises ArgumentError for a larger matrix. O(rows + entries + blocks · tiles).
        """
        if max(matrix.shape) >= 2**31:
            raise ArgumentError(f"tiles hold fewer than 2**31 rows and columns, the matrix has {matrix.shape}")
        value, index = matrix.values.dtype, matrix.columns.dtype
        shift = tile_shift(value) if shift is None else shift
        ends = _ends(matrix, order)
        first_rows = _blocks(ends, *((ROWS, block_entries(matrix.entries)) if block is None else block))
        most = int(np.diff(ends[first_rows]).max(initial=0))
        if most >= 2**32:
            raise ArgumentError(f"tiles hold blocks of fewer than 2**32 entries, one of the matrix has {most}")
        blocks, tiles, entries = first_rows.size - 1, -(-matrix.shape[1] >> shift), matrix.entries
        head_starts, row_starts, starts = (np.zeros(blocks + 1, np.int64) for _ in range(3))
        heads = np.empty(_most_heads(min(blocks * tiles, entries), entries, lanes_of(value)), np.uint32)
        rows, columns = np.empty(entries, np.uint16), aligned(entries, np.dtype(np.uint16))
        one, came = matrix.one_value, np.empty(entries, np.int64) if origin else None
        values = matrix.values[:1].copy() if one else aligned(entries, value)
        room = [np.empty(size, np.uint32) for size in (most, ROWS, ROWS, ROWS)]
        cells = (np.empty(most if origin else 0, np.int64), np.empty(most, np.uint16), np.empty(most, np.uint16))
        held, tile_starts = np.empty(0 if one else most, value), np.empty(tiles + 1, np.int64)
        job = _Job(
            *addresses(first_rows, order, numbers, head_starts, row_starts, starts, came, heads, rows, columns),
            *(shift, *addresses(tile_starts, *cells, *room)),
        )
        call = native("tiled_build", "nnnpppppp", value, index)
        given = addresses(matrix.offsets, matrix.columns, matrix.values, held, None if one else values)
        used = call(blocks, tiles, lanes_of(value), ctypes.addressof(job), *given)
        return cls(
            *(matrix.shape, index, shift, first_rows, head_starts, row_starts, starts),
            *(heads[:used].copy(), rows[: row_starts[-1]].copy(), columns, values, came),
        )

    def with_values(self, matrix: Csr, order: Words | None = None, numbers: Words | None = None) -> Tiled:
        """The same tiles with the values of a matrix of the same structure, made with the same order. O(entries)."""
        return Tiled.of(matrix, order, numbers, shift=self.shift, origin=self.origin is not None)

    def to_csr(self) -> Csr:
        """The compressed rows: entry by entry as they were where the tiles of each row's entries rise, or with
        `origin`; else each row's entries tile by tile. O(entries log entries)."""
        places = [self._cell_places(block) for block in range(self.first_rows.size - 1)]
        none = np.zeros(0, np.int64)
        rows = np.concatenate([none, *(part[0] for part in places)])
        columns = np.concatenate([none, *(part[1] for part in places)]) + self.columns
        to = np.argsort(rows, kind="stable") if self.origin is None else np.argsort(self.origin)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.shape[0]))])
        return Csr(
            offsets.astype(self.index),
            columns[to].astype(self.index),
            np.broadcast_to(self.values, to.shape)[to],
            self.shape,
        )

    def _cell_places(self, block: int) -> tuple[Longs, Longs]:
        """The row of each entry of a block, and the first column of its tile."""
        lanes = lanes_of(self.values.dtype)
        heads = self.heads[self.head_starts[block] : self.head_starts[block + 1]].astype(np.int64)
        own = self.rows[self.row_starts[block] : self.row_starts[block + 1]] + self.first_rows[block]
        rows, bases, at, listed = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0, 0
        while at < heads.size:
            tile, longs, runs, single = heads[at : at + 4]
            begun, at = len(rows), at + 4
            for length in heads[at : at + longs]:
                rows.append(np.repeat(own[listed], length))
                listed += 1
            at += longs
            for width, count in heads[at : at + 2 * runs].reshape(-1, 2):
                slices = own[listed : listed + count * lanes].reshape(count, 1, lanes)
                rows.append(np.broadcast_to(slices, (count, width, lanes)).ravel())
                listed += count * lanes
            at += 2 * runs
            rows.append(own[listed : listed + single])
            listed += single
            bases.append(np.full(sum(part.size for part in rows[begun:]), tile << self.shift))
        return np.concatenate(rows), np.concatenate(bases)

    @cached_property
    def _struct(self) -> _Struct:
        arrays = (self.first_rows, self.head_starts, self.row_starts, self.starts, self.heads, self.rows, self.columns)
        return _Struct(*addresses(*arrays), self.shift, self.values.size < self.entries)

    @cached_property
    def _single(self) -> tuple[Callable[..., int], int, int]:
        """The product with one vector, and the addresses that it begins with."""
        call = native("tiled_times", "nnppppp", self.values.dtype, _U32)
        return call, ctypes.addressof(self._struct), address(self.values)

    def times(self, x: Array, y: Array, scale: Array, count: int, threads: int) -> None:
        """y = α A x + β y, on arrays as in `csr_kernels.Product`; `count` right-hand sides."""
        call, *places = self._single
        known = (*places, *addresses(x, y, scale))
        cuts = row_blocks(self.starts, threads)
        if count == 1:
            run_blocks(lambda first, last: call(first, last, *known), cuts)
        else:
            many = native("tiled_times_many", "nnpppppnn", self.values.dtype, _U32)
            run_blocks(lambda first, last: many(first, last, *known, count, 0), cuts)

    def transposed_times(self, x: Array, y: Array, scale: Array, count: int) -> None:
        """y = α Aᵀ x + β y; on one thread."""
        if scale[1] != 0:
            y *= scale[1]
        else:
            y[...] = 0
        known = (ctypes.addressof(self._struct), address(self.values), *addresses(x, y, scale))
        call = native("tiled_times_many", "nnpppppnn", self.values.dtype, _U32)
        call(0, self.first_rows.size - 1, *known, count, 1)


def tile_shift(value: np.dtype[Any]) -> int:
    """The logarithm of the columns of a tile: 256 KiB of x, and no more than 16 bits count."""
    return min(16, (TILE // value.itemsize).bit_length() - 1)


def block_entries(entries: int) -> int:
    """Entries of a block of a matrix: an eighth of them, within bounds."""
    return min(ENTRIES, max(FEWEST, entries // BLOCKS))


def _most_heads(cells: int, entries: int, lanes: int) -> int:
    """Words that `heads` may take; memory that is not written to is not used."""
    return 4 * cells + entries // LONG + 2 * min((LONG - 1) * cells, entries // lanes)


def _ends(matrix: Csr, order: Words | None) -> Longs:
    """Entries before each row in an order, and all of them."""
    if order is None:
        return matrix.offsets.astype(np.int64)
    ends = np.zeros(order.size + 1, np.int64)
    np.cumsum(np.diff(matrix.offsets)[order], out=ends[1:])
    return ends


def _blocks(ends: Longs, rows: int, entries: int) -> Longs:
    """Where blocks begin, and where the last one ends: as many rows as hold `entries`, and at most `rows`."""
    last, cuts = ends.size - 1, [0]
    while cuts[-1] < last:
        full = int(np.searchsorted(ends, ends[cuts[-1]] + entries))
        cuts.append(min(last, cuts[-1] + rows, max(full, cuts[-1] + 1)))
    return np.array(cuts, np.int64)
