"""How wide tiles are on a card, how many there are, and what a rectangle holds."""

from __future__ import annotations

from dataclasses import dataclass

from tracecut.codegen.devices.device import Device
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.on_gpu.kernels import active_warps
from tracecut.codegen.sparse.on_gpu.shape_table import SIZES, ShapeTable, read_table, table_path
from tracecut.codegen.sparse.on_gpu.tune_tiles import predicted_formats, tile_width, tune_tiles
from tracecut.ir.gpu.description import Gpu, gpu, names
from tracecut.support.errors import ArgumentError

from .card_products import is_emulated

STAND_IN = "h200"  # what the emulated card, and one that nobody has described, is taken for


@dataclass(frozen=True)
class CardTiles:
    """Columns of a tile; tiles of the denser part at most, None: as Algorithm 1 has it; entries of a rectangle."""

    width: int
    tiles: int | None
    workloads: int | tuple[int, ...]


def card_of(device: Device) -> Gpu:
    """The description of a card."""
    try:
        return gpu(STAND_IN if is_emulated(device) else device.arch)
    except ArgumentError:
        return gpu(STAND_IN)


def table_of(card: Gpu, matrix: Csr) -> ShapeTable | None:
    """The table that `tracecut tune --device` has kept, if it has; of the larger values where they are complex."""
    size = min(matrix.values.itemsize, SIZES[-1])
    return read_table(table_path(card, size), card, size)


def tuning_command(device: Device, matrix: Csr) -> str:
    """What makes the table that `table_of` looks for."""
    card = card_of(device)
    name = next(name for name in names() if gpu(name) == card)
    return f"tracecut tune --device {name} --dtype {'float32' if matrix.values.itemsize == 4 else 'float64'}"


def source_of(device: Device, matrix: Csr) -> str:
    """Where what is known of the card's workloads comes from."""
    table = table_of(card_of(device), matrix)
    return "no table of workloads" if table is None else table.source


def tiles_for(device: Device, matrix: Csr) -> CardTiles:
    """By the table of the card where there is one, else an equal share of its warps. O(tiles · (rows + entries))."""
    card = card_of(device)
    table = table_of(card, matrix)
    if table is not None and matrix.entries:
        found = tune_tiles(matrix, card, table)
        return CardTiles(found.width, found.tiles, found.workloads)
    return CardTiles(tile_width(card, matrix.values.itemsize), None, max(32, matrix.entries // active_warps(card)))


def predicted(device: Device, matrix: Csr) -> dict[str, float]:
    """Format → seconds of a product by the table of the card; empty without one, or without entries."""
    card = card_of(device)
    table = table_of(card, matrix)
    return {} if table is None or matrix.entries == 0 else predicted_formats(matrix, card, table)
