"""Links on disk by the node that something is gathered for, nodes renumbered as in memory (`in_links`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.gather import gather
from tracecut.codegen.sparse.row_threads import row_blocks, run_blocks
from tracecut.partition.inputs.entries.sort_piece import LARGEST, SUM, piece_cuts
from tracecut.partition.inputs.on_disk.row_file import Buffers, Piece, RowFile
from tracecut.partition.inputs.on_disk.sort_rows import Entries, sort_rows
from tracecut.support.arrays import Floats
from tracecut.support.lazy_kernels import kept

from .disk_links import DiskLinks, Longs

INTO, OUT = range(2)  # rows hold the nodes that link to a node, or those that it links to
Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class GatheredFile:
    """Rows on disk, and room for two pieces of them.

    blocks: where blocks of rows begin, and where the last one ends: those that the same links have in memory.
    """

    file: RowFile
    buffers: Buffers
    blocks: Longs

    @classmethod
    def of(cls, file: RowFile, blocks: Longs) -> GatheredFile:
        return cls(file, Buffers.of(file), blocks)

    def product(self, x: Floats, y: Floats, threads: int) -> None:
        """y = A x. Sums are those of `gather`. O(links)."""
        for piece in self.file.sweep(self.buffers):
            values = None if piece.values is None else piece.values.astype(np.float64, copy=False)
            known = (piece.low, piece.offsets, piece.columns, values, x, y)

            def rows(first: int, last: int, known: Any = known) -> None:
                _rows(first, last, *known)

            run_blocks(rows, row_blocks(piece.offsets.view(np.int32), threads))

    def pieces(self) -> Iterator[Piece]:
        return self.file.sweep(self.buffers)

    def __enter__(self) -> GatheredFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()


def gathered_file(links: DiskLinks, order: Words, rank: Words, way: int, blocks: int) -> GatheredFile:
    """The links into each node, or out of it, in the new order, with rising new numbers.

    order, rank: uint32 (n), the nodes in their new order, and the place of each. blocks: how many. Raises OutputError.
    O(links · log of the nodes).
    """
    counts = (links.into if way == INTO else links.out)[order]
    file = _sorted(links, rank, counts, (way,), SUM, ())
    return GatheredFile.of(file, row_borders(counts, blocks))


def both_ways_file(links: DiskLinks, order: Words, rank: Words, blocks: int) -> GatheredFile:
    """The neighbours of each node, as `both_ways` has them in memory. Its blocks do not cross pieces. O as above."""
    counts = (links.into + links.out)[order]
    borders = row_borders(counts, blocks)
    file = _sorted(links, rank, counts, (INTO, OUT), LARGEST, borders)
    return GatheredFile.of(file, np.union1d(borders, file.rows))


def row_borders(counts: Longs, blocks: int) -> Longs:
    """Blocks of rows of nearly equal work. counts: int64 (rows), entries of each."""
    offsets = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return np.array(row_blocks(offsets, blocks), np.int64)


def _sorted(
    links: DiskLinks, rank: Words, counts: Longs, ways: tuple[int, ...], combine: int, borders: npt.ArrayLike
) -> RowFile:
    def chunks() -> Iterator[Entries]:
        for piece, weights in links.pieces():
            for way in ways:
                keys = np.empty(piece.columns.size, np.uint64)
                _keys(piece.offsets, piece.columns, piece.low, rank, way == INTO, keys)
                if weights is None or weights.all():
                    yield keys, weights
                else:
                    yield keys[weights != 0.0], weights[weights != 0.0]

    cuts = piece_cuts(counts, links.matrix.most, borders)
    return sort_rows(chunks(), cuts, counts, np.dtype(np.float64), combine)


@kept
def _keys(offsets: Any, columns: Any, low: int, rank: Any, turned: bool, keys: Any) -> None:
    half = np.uint64(32)
    for row in range(offsets.size - 1):
        own = np.uint64(rank[low + row])
        for k in range(offsets[row], offsets[row + 1]):
            other = np.uint64(rank[columns[k]])
            keys[k] = (other << half) | own if turned else (own << half) | other


@kept
def _rows(first: int, last: int, low: int, offsets: Any, columns: Any, values: Any, x: Any, y: Any) -> None:
    for row in range(first, last):
        y[low + row] = gather(offsets, columns, values, x, row)
