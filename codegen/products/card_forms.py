"""The forms that a product runs on on a card: CSR-vector, and tile-composite."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from tracecut.codegen.devices.device import Device
from tracecut.codegen.sparse.csr import Array, Csr
from tracecut.codegen.sparse.formats.tile_composite import TileComposite, Workloads
from tracecut.codegen.sparse.forms import in_order
from tracecut.codegen.sparse.orders import MatrixOrder, Words
from tracecut.support.errors import ArgumentError

from .card_products import CardProducts, name_of, opened
from .card_tiles import CardTiles, tiles_for
from .product_kernels import RECTANGLES, ROWS, WARP

MOST = 2**31  # rows and columns: places on the card have 32 bits


class CardRows:
    """Compressed rows on a card, a team of threads for each: CSR-vector. A form, as of `forms.Form`.

    Attributes:
        lanes: threads of a team: the power of two, 32 at most, that the mean row fills.
    """

    def __init__(self, device: Device, matrix: Csr) -> None:
        self.lanes = lanes_for(matrix)
        self._device, self._matrix = device, matrix
        self._card = CardProducts(device, matrix.values.dtype, [ROWS], self.lanes)
        starts, columns = matrix.offsets.astype(np.int64), matrix.columns.astype(np.int32)
        self.bytes = starts.nbytes + columns.nbytes + matrix.values.nbytes
        self._held = [self._card.put(part) for part in (starts, columns, matrix.values)]

    @cached_property
    def _turned(self) -> CardRows:
        return CardRows(self._device, self._matrix.transpose)

    def times(self, x: Array, y: Array, scale: Array, count: int, threads: int) -> None:
        """y = α A x + β y."""
        rows = np.int64(self._matrix.shape[0] if self._matrix.entries else 0)
        arrays = [self._card.address(part) for part in self._held]

        def run(given: Any, out: Any, factors: Any, count: Any, which: Any) -> None:
            self._card.launch(ROWS, int(rows) * self.lanes, *arrays, given, out, factors, rows, count, which)

        self._card.times(x, y, scale, count, run)

    def transposed_times(self, x: Array, y: Array, scale: Array, count: int) -> None:
        """y = α Aᵀ x + β y; the first one puts the transposed matrix on the card."""
        self._turned.times(x, y, scale, count, 1)

    def with_values(self, matrix: Csr, order: Words | None = None, numbers: Words | None = None) -> CardRows:
        return CardRows(self._device, in_order(matrix, order, numbers))


class CardRectangles:
    """Tile-composite on a card: tile after tile, each adding to y, a warp a rectangle. A form, as of `forms.Form`."""

    def __init__(self, device: Device, matrix: Csr, choice: CardTiles) -> None:
        self._device, self._matrix, self._choice = device, matrix, choice
        made = TileComposite.of(matrix, choice.width, workload=choice.workloads, most=choice.tiles)
        self._card = CardProducts(device, matrix.values.dtype, [RECTANGLES])
        self._tiles = [(tile.width.size, [self._card.put(part) for part in _arrays(tile)]) for tile in made.tiles]
        self.bytes = sum(part.nbytes for tile in made.tiles for part in _arrays(tile))

    @cached_property
    def _turned(self) -> CardRows:
        return CardRows(self._device, self._matrix.transpose)

    def times(self, x: Array, y: Array, scale: Array, count: int, threads: int) -> None:
        """y = α A x + β y."""

        def run(given: Any, out: Any, factors: Any, count: Any, which: Any) -> None:
            for size, held in self._tiles:
                arrays = [self._card.address(part) for part in held]
                self._card.launch(RECTANGLES, size * WARP, *arrays, given, out, factors, np.int64(size), count, which)

        self._card.times(x, y, scale, count, run)

    def transposed_times(self, x: Array, y: Array, scale: Array, count: int) -> None:
        """y = α Aᵀ x + β y, by rows: the first one puts the transposed matrix on the card."""
        self._turned.times(x, y, scale, count, 1)

    def with_values(self, matrix: Csr, order: Words | None = None, numbers: Words | None = None) -> CardRectangles:
        return CardRectangles(self._device, in_order(matrix, order, numbers), self._choice)


CardForm = CardRows | CardRectangles


def card_form(device: Device, matrix: Csr, name: str, order: MatrixOrder) -> CardForm:
    """The form of that name of `forms.CARD_FORMATS`, of a matrix in an order. O(rows + entries).

    Raises ArgumentError for 2**31 rows or columns, KernelError where the card has no room.
    """
    if max(matrix.shape) >= MOST:
        raise ArgumentError(f"cards take fewer than 2**31 rows and columns, A has {matrix.shape}")
    moved = in_order(matrix, order.rows, order.numbers)
    if name == "tile-composite":
        return CardRectangles(device, moved, tiles_for(device, moved))
    return CardRows(device, moved)


def lanes_for(matrix: Csr) -> int:
    """Threads of a row."""
    mean = matrix.entries / max(1, matrix.shape[0])
    lanes = 1
    while lanes < WARP and lanes < mean:
        lanes *= 2
    return lanes


def _arrays(tile: Workloads) -> list[Array]:
    """As the kernel takes them."""
    firsts = np.cumsum(tile.height) - tile.height
    steps = np.where(tile.row_major, 0, tile.width)
    numbers = [part.astype(np.int32) for part in (firsts, tile.height, tile.stride, steps, tile.rows)]
    return [tile.starts[:-1].astype(np.int64), *numbers, tile.columns, tile.values]


__all__ = ["CardForm", "CardRectangles", "CardRows", "card_form", "name_of", "opened"]
