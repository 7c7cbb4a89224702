"""Tile-COO: tiles of columns by length, each as coordinates; the sparser part as HYB (TileSpMV §3.1, Solution 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import Array, Csr
from tracecut.support.arrays import Longs

from .coo import Coo
from .ell import Hyb
from .slots import back_to_csr, rows_of, share, vector
from .tiles import WIDTH, Tiling, tiling


@dataclass(frozen=True, eq=False)
class TileCoo:
    """Coordinates of each tile of the denser part, row by row, and HYB for the rest.

    Attributes:
        tiling: which columns lie in which tile. tiles: one for each of the denser part.
        rest: the sparser part; None where there is none.
        origin: for the tiles, then the rest: int64 (entries), the entries of the compressed rows. Products do not read
            it.
    """

    shape: tuple[int, int]
    index: np.dtype[Any]
    dtype: np.dtype[Any]
    tiling: Tiling
    tiles: tuple[Coo, ...]
    rest: Hyb | None
    origin: tuple[Longs, ...]

    @classmethod
    def of(cls, matrix: Csr, width: int = WIDTH, most: int | None = None) -> TileCoo:
        """`most`: tiles of the denser part, at most. O(tiles · entries + rows + columns).

        Raises ArgumentError for a width below 1, and for `most` below 0.
        """
        found, rows, index = tiling(matrix, width, most), rows_of(matrix), matrix.columns.dtype
        number = np.full(matrix.shape[1], found.dense, np.int32)
        for tile in range(found.dense):
            number[found.columns[found.starts[tile] : found.starts[tile + 1]]] = tile
        labels = number[matrix.columns]
        origin = tuple(np.flatnonzero(labels == tile) for tile in range(found.dense + 1))
        parts = [(rows[own], matrix.columns[own].astype(np.int32), matrix.values[own]) for own in origin]
        tiles = tuple(Coo(matrix.shape, index, *part) for part in parts[: found.dense])
        last = parts[found.dense]
        rest = None
        if last[0].size:
            offsets = np.concatenate([[0], np.cumsum(np.bincount(last[0], minlength=matrix.shape[0]))])
            rest = Hyb.of(Csr(offsets.astype(index), last[1].astype(index), last[2], matrix.shape))
        return cls(matrix.shape, index, matrix.values.dtype, found, tiles, rest, origin)

    @property
    def _parts(self) -> list[Coo | Hyb]:
        return [*self.tiles, *([] if self.rest is None else [self.rest])]

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self._parts)

    @property
    def padding(self) -> float:
        entries = sum(own.size for own in self.origin)
        slots = sum(tile.slots for tile in self.tiles)
        if self.rest is not None:
            slots += self.rest.ell.values.size + self.rest.coo.slots
        return share(slots, entries)

    def to_csr(self) -> Csr:
        parts = [(part.rows, part.columns, part.values) for part in self.tiles]
        if self.rest is not None:
            rest = self.rest.to_csr()
            parts.append((rows_of(rest), rest.columns.astype(np.int32), rest.values))
        if not parts:
            empty = np.zeros(0, self.index)
            return Csr(np.zeros(self.shape[0] + 1, self.index), empty, np.zeros(0, self.dtype), self.shape)
        rows, columns, values = (np.concatenate(column) for column in zip(*parts, strict=True))
        return back_to_csr(self.shape, self.index, rows, columns, values, np.concatenate(self.origin))

    def times(self, x: npt.ArrayLike) -> Array:
        """Tile after tile, each adding to y."""
        given, y = vector(x, self.dtype, self.shape[1]), np.zeros(self.shape[0], self.dtype)
        for part in self._parts:
            with np.errstate(invalid="ignore", over="ignore"):
                y += part.times(given)
        return y
