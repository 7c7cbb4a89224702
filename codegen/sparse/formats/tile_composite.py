"""Tile-composite: tiles of columns by length, rows of a tile by length in rectangles of equal work (TileSpMV §3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import Array, Csr
from tracecut.support.arrays import Ints, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .slots import add_up, back_to_csr, check_slots, share, vector
from .tiles import WIDTH, Tile, Tiling, segments, tiles_of, tiling

WARP = 32
CAMPING = 2048  # bytes between places of one memory partition of the C1060
PAD_BYTES = 256


@dataclass(frozen=True, eq=False)
class Workloads:
    """The rectangles of one tile, each for a warp.

    A rectangle is `width` × `height` entries: as wide as its first row is long. Row-major where width ≥ height, width
    padded to whole warps (CSR-vector); else column-major, height padded (ELL).

    Attributes:
        size: entries that a rectangle may hold, unless its first row alone has more.
        width, height: int32 (rectangles), before padding to warps. row_major: bool (rectangles).
        stride: int32 (rectangles), slots from one row (one column) to the next: the padded width (height).
        starts: int64 (rectangles + 1), where each begins among the slots.
        rows: int32 (rows of the tile), in rectangles one after the other.
        columns: int32 (slots), -1 for padding; values: (slots), 0 there.
        origin: int64 (slots), entries of the compressed rows; -1 for padding. Products do not read it.
    """

    size: int
    width: Ints
    height: Ints
    row_major: npt.NDArray[np.bool_]
    stride: Ints
    starts: Longs
    rows: Ints
    columns: Ints
    values: Array
    origin: Longs

    @property
    def bytes(self) -> int:
        """Of slots and rows, and 16 for each rectangle."""
        return self.columns.nbytes + self.values.nbytes + self.rows.nbytes + 16 * self.width.size

    def row_of_slots(self) -> Ints:
        """int32 (slots), the row that each slot belongs to; -1 for what lies in none. O(slots)."""
        sizes = np.diff(self.starts)
        piece, place = np.repeat(np.arange(sizes.size), sizes), segments(sizes)
        across, along = place // self.stride[piece], place % self.stride[piece]
        line = np.where(self.row_major[piece], across, along)
        first = (np.cumsum(self.height) - self.height)[piece]
        inside = line < self.height[piece]
        found = np.full(place.size, -1, np.int32)
        found[inside] = self.rows[(first + line)[inside]]
        return found


@dataclass(frozen=True, eq=False)
class TileComposite:
    """All tiles of a matrix, the sparser part as the last one."""

    shape: tuple[int, int]
    index: np.dtype[Any]
    dtype: np.dtype[Any]
    tiling: Tiling
    tiles: tuple[Workloads, ...]

    @classmethod
    def of(
        cls,
        matrix: Csr,
        width: int = WIDTH,
        *,
        workload: int | Sequence[int] | None = None,
        most: int | None = None,
        warp: int = WARP,
        camping: bool = False,
    ) -> TileComposite:
        """Tiles of `width` columns, rectangles of `workload` entries.

        Args:
            workload: of all tiles, or of each. None: as many as the first row of each tile has, the least there is
                (Algorithm 2 there).
            most: tiles of the denser part, at most. None: as many as `tiling` finds.
            warp: threads of a warp, to which rectangles are padded.
            camping: 256 bytes after each rectangle of a multiple of 2048 bytes of values, so that not all of them begin
                in one partition of the memory of old cards.

        O(tiles · (rows + columns) + entries + slots), by counting sorts.

        Raises ArgumentError for sizes below 1, another number of workloads than of tiles, and for more than 32 slots an
        entry.
        """
        found = tiling(matrix, width, most)
        tiles = found.starts.size - 1
        each = list(workload) if isinstance(workload, Sequence) else [workload] * tiles
        if len(each) != tiles:
            raise ArgumentError(f"workload has {len(each)} sizes, one for each of {tiles} tiles was expected")
        for name, size in (*(("workload", one) for one in (*each, workload) if isinstance(one, int)), ("warp", warp)):
            if size < 1:
                raise ArgumentError(f"{name} is {size}, a whole number of at least 1 was expected")
        parts = zip(tiles_of(matrix, found), each, strict=True)
        made = tuple(workloads(tile, size, warp, camping) for tile, size in parts)
        return cls(matrix.shape, matrix.columns.dtype, matrix.values.dtype, found, made)

    @property
    def bytes(self) -> int:
        return sum(tile.bytes for tile in self.tiles)

    @property
    def padding(self) -> float:
        slots, entries = (sum(sizes) for sizes in zip(*self._sizes(), strict=True)) if self.tiles else (0, 0)
        return share(slots, entries)

    def _sizes(self) -> list[tuple[int, int]]:
        return [(tile.values.size, int(np.count_nonzero(tile.origin >= 0))) for tile in self.tiles]

    def to_csr(self) -> Csr:
        ints, longs = np.zeros(0, np.int32), np.zeros(0, np.int64)
        parts: list[tuple[Array, ...]] = [(ints, ints, np.zeros(0, self.dtype), longs)]
        for tile in self.tiles:
            there = tile.origin >= 0
            parts.append((tile.row_of_slots()[there], tile.columns[there], tile.values[there], tile.origin[there]))
        rows, columns, values, origin = (np.concatenate(column) for column in zip(*parts, strict=True))
        return back_to_csr(self.shape, self.index, rows, columns, values, origin)

    def times(self, x: npt.ArrayLike) -> Array:
        """Tile after tile, each adding to y."""
        given, y = vector(x, self.dtype, self.shape[1]), np.zeros(self.shape[0], self.dtype)
        for tile in self.tiles:
            there = tile.columns >= 0
            with np.errstate(invalid="ignore", over="ignore"):
                products = tile.values[there] * given[tile.columns[there]]
            add_up(y, tile.row_of_slots()[there], products)
        return y


def rectangles(lengths: npt.NDArray[np.integer[Any]], workload: int) -> tuple[Ints, Ints]:
    """Widths and heights of the rectangles that rows of falling length are packed into (Algorithm 3 of TileSpMV).

    A rectangle is as wide as its first row, and takes as many rows as keep width · height within `workload`, one at
    least; the last one takes those that are left. O(rows).
    """
    width, height = np.empty(lengths.size, np.int32), np.empty(lengths.size, np.int32)
    count = _pack(lengths, workload, width, height)
    return width[:count].copy(), height[:count].copy()


@kept
def _pack(lengths: Any, workload: int, width: Any, height: Any) -> int:
    row = count = 0
    while row < lengths.size:
        width[count] = lengths[row]
        height[count] = min(max(1, workload // lengths[row]), lengths.size - row)
        row += height[count]
        count += 1
    return count


def workloads(tile: Tile, workload: int | None = None, warp: int = WARP, camping: bool = False) -> Workloads:
    """The rectangles of one tile; arguments and errors as of `TileComposite.of`. O(rows + entries + slots)."""
    size = int(tile.lengths[0]) if workload is None else workload
    width, height = rectangles(tile.lengths, size)
    row_major = width >= height
    stride = -(-np.where(row_major, width, height) // warp) * warp
    slots = stride.astype(np.int64) * np.where(row_major, height, width)
    if camping:
        slots += np.where(slots * tile.values.itemsize % CAMPING == 0, PAD_BYTES // tile.values.itemsize, 0)
    starts = np.concatenate([[0], np.cumsum(slots)])
    check_slots("tile-composite", int(starts[-1]), tile.values.size)
    piece = np.repeat(np.arange(width.size), height)  # of each row
    line, step = segments(height), segments(tile.lengths)
    row = np.repeat(np.arange(tile.lengths.size), tile.lengths)  # of each entry
    own = piece[row]
    inner = np.where(row_major[own], line[row] * stride[own] + step, step * stride[own] + line[row])
    place = starts[own] + inner
    columns, origin = np.full(starts[-1], -1, np.int32), np.full(starts[-1], -1, np.int64)
    values = np.zeros(starts[-1], tile.values.dtype)
    columns[place], origin[place], values[place] = tile.columns, tile.origin, tile.values
    return Workloads(
        size, width, height, row_major, stride.astype(np.int32), starts, tile.rows, columns, values, origin
    )
