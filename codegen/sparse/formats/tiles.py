"""Columns by falling length, cut into tiles whose part of x fits a cache (TileSpMV §3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import Array, Csr
from tracecut.codegen.sparse.orders import column_counts, degree_order
from tracecut.partition.datastructures.radix_sort import stable_order
from tracecut.support.arrays import Ints, Longs
from tracecut.support.errors import ArgumentError

from .slots import rows_of

WIDTH = 65_536  # columns of a tile: 256 KiB of float32, the texture cache of TileSpMV §3.1


@dataclass(frozen=True, eq=False)
class Tiling:
    """Which columns lie in which tile.

    Attributes:
        columns: int32 (columns), by falling number of entries, ties by number.
        starts: int64 (tiles + 1), where each tile begins in `columns`; the last tile is the sparser part, if any.
        dense: tiles of the denser part.
    """

    columns: Ints
    starts: Longs
    dense: int


@dataclass(frozen=True, eq=False)
class Tile:
    """The entries of a tile in the order of its rows: by falling length, ties by number; a row's own order is kept.

    Attributes:
        rows, lengths: int32 (rows with entries). columns: int32 (entries), of the matrix.
        values: (entries). origin: int64 (entries), the entries of the compressed rows.
    """

    rows: Ints
    lengths: Ints
    columns: Ints
    values: Array
    origin: Longs


def tiling(matrix: Csr, width: int = WIDTH, most: int | None = None) -> Tiling:
    """Tiles of `width` columns from the longest on, until a tile's first column holds one entry (Algorithm 1 there).

    `most`: tiles of the denser part, at most. O(columns + entries). Raises ArgumentError for a width below 1, and for
    `most` below 0.
    """
    if width < 1:
        raise ArgumentError(f"width is {width}, a whole number of at least 1 was expected")
    if most is not None and most < 0:
        raise ArgumentError(f"most is {most}, a whole number of at least 0 was expected")
    columns = degree_order(matrix).columns
    assert columns is not None
    lengths = column_counts(matrix)[columns]
    cols = matrix.shape[1]
    dense = 0
    while dense * width < cols and lengths[dense * width] > 1 and dense != most:
        dense += 1
    ends = [min(tile * width, cols) for tile in range(dense + 1)]
    filled = int(np.count_nonzero(lengths))
    if ends[-1] < filled:
        ends.append(cols)
    return Tiling(columns.astype(np.int32), np.array(ends, np.int64), dense)


def tiles_of(matrix: Csr, tiles: Tiling) -> Iterator[Tile]:
    """The tiles of a matrix. Sorted by counting: O(rows + columns + entries) for each of them at most."""
    rows = rows_of(matrix)
    number = np.full(matrix.shape[1], tiles.starts.size - 1, np.int32)  # columns without entries lie in no tile
    for tile in range(tiles.starts.size - 1):
        number[tiles.columns[tiles.starts[tile] : tiles.starts[tile + 1]]] = tile
    labels = number[matrix.columns]
    by_tile = stable_order(labels).astype(np.int64)
    cuts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=tiles.starts.size - 1))])
    for tile in range(tiles.starts.size - 1):
        own = by_tile[cuts[tile] : cuts[tile + 1]]
        lengths = np.bincount(rows[own], minlength=matrix.shape[0])
        filled = np.flatnonzero(lengths)
        ranked = filled[stable_order(lengths.max(initial=0) - lengths[filled])]
        rank = np.zeros(matrix.shape[0], np.int64)
        rank[ranked] = np.arange(ranked.size)
        origin = own[stable_order(rank[rows[own]])]
        yield Tile(
            ranked.astype(np.int32),
            lengths[ranked].astype(np.int32),
            matrix.columns[origin].astype(np.int32),
            matrix.values[origin],
            origin,
        )


def segments(sizes: npt.NDArray[np.integer]) -> Longs:
    """0, 1, … within each of consecutive runs of these sizes. O(their sum)."""
    begins = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum()), dtype=np.int64) - np.repeat(begins, sizes)
