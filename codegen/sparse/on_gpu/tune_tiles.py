"""The online part of TileSpMV's tuning: how many tiles, which workloads, which format (§3.3, Algorithms 1 to 3).

Nothing of the matrix is run: rows are packed into workloads, and the table says what each shape takes. Beyond the seed,
the number of warps is the card's, the share of x that no cache has follows from the lengths of the columns
(`x_shares.py`), tiles may be fewer than Algorithm 1 has, and workloads smaller than the longest row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.formats.slots import rows_of
from tracecut.codegen.sparse.formats.tile_composite import TileComposite, rectangles
from tracecut.codegen.sparse.formats.tiles import tiling
from tracecut.codegen.sparse.orders import column_counts
from tracecut.ir.gpu.description import Gpu
from tracecut.support.argument_checks import whole_number
from tracecut.support.arrays import Ints, Longs

from .kernels import BLOCK, active_warps, launches
from .lane_walks import modelled
from .measure_shapes import known_table, nearest_cache
from .shape_table import WARP, ShapeTable, Shares
from .x_shares import x_shares

TRIED = 3  # numbers of tiles
MULTIPLES = 24  # of the longest row that are tried, evenly by their logarithms where there are more


@dataclass(frozen=True)
class TileChoice:
    """What a tile-composite product is expected to take at best.

    Attributes:
        width: columns of a tile. tiles: of the denser part; `TileComposite.of(matrix, width, workload=workloads,
            most=tiles)` makes them. seed_tiles: how many Algorithm 1 has.
        seconds: predicted, of all kernels and starting them.
        by_tiles, workloads_by_tiles: predicted seconds for 0, 1, … tiles, and the workloads of each.
    """

    width: int
    tiles: int
    seed_tiles: int
    seconds: float
    by_tiles: tuple[float, ...]
    workloads_by_tiles: tuple[tuple[int, ...], ...]

    @property
    def workloads(self) -> tuple[int, ...]:
        """Of the chosen number of tiles."""
        return self.workloads_by_tiles[self.tiles]


def tune_tiles(matrix: Csr, gpu: Gpu, table: ShapeTable | None = None, width: int | None = None) -> TileChoice:
    """The number of tiles and the workloads that are predicted to be fastest.

    Args:
        table: of the card; None: `known_table`, which may take a minute once.
        width: columns of a tile; None: `tile_width`.

    O(entries + tiles · (rows + columns) + workloads that are tried). Raises ArgumentError for a width below 1.
    """
    size = matrix.values.itemsize
    table = known_table(gpu, size) if table is None else table
    width = tile_width(gpu, size) if width is None else whole_number("width", width, 1, 1 << 31)
    cut = tiling(matrix, width)
    counts = column_counts(matrix)[cut.columns]
    lengths = _lengths(matrix, cut.columns, width, cut.dense)
    rest = np.diff(matrix.offsets).astype(np.int64)
    dense: list[tuple[int, float]] = []
    found: list[tuple[float, tuple[int, ...]]] = []
    for tiles in range(cut.dense + 1):
        if tiles:
            own = lengths[tiles - 1]
            shares = x_shares(counts[(tiles - 1) * width : tiles * width], size, gpu)
            dense.append(best_workload(_falling(own), table, shares, gpu))
            rest = rest - own
        parts = list(dense)
        if rest.any():
            shares = x_shares(counts[tiles * width :], size, gpu)
            parts.append(best_workload(_falling(rest), table, shares, gpu))
        seconds = sum(each for _, each in parts) + len(parts) * table.launch
        found.append((seconds, tuple(workload for workload, _ in parts)))
    tiles = min(range(len(found)), key=lambda each: found[each][0])
    by_tiles, chosen = zip(*found, strict=True)
    return TileChoice(width, tiles, cut.dense, found[tiles][0], by_tiles, chosen)


def tile_width(gpu: Gpu, size: int) -> int:
    """Columns whose x fits the cache that it is read through: behind a texture cache the L2, else the L1."""
    cache = gpu.l2_size if gpu.read_only_size and gpu.l2_size else nearest_cache(gpu)
    return max(WARP, cache // size)


def best_workload(lengths: Longs, table: ShapeTable, shares: Shares, gpu: Gpu) -> tuple[int, float]:
    """Algorithm 2: the workload of a tile that is predicted to take least, and its seconds.

    lengths: int64 (rows), entries of the tile's rows, falling, none 0.
    """
    tried = workload_sizes(lengths, active_warps(gpu))
    times = [predicted_seconds(lengths, size, table, shares, gpu) for size in tried]
    best = int(np.argmin(times))
    return tried[best], times[best]


def workload_sizes(lengths: Longs, warps: int) -> list[int]:
    """Workloads that are tried, rising: multiples of the longest row, up to an equal share of `warps` (Algorithm 2).

    Also powers of two below the longest row: rows with more entries than a workload then stand alone in one.
    """
    longest, entries = int(lengths[0]), int(lengths.sum())
    most = max(1, entries // warps // longest)
    times = np.arange(1, most + 1) if most <= MULTIPLES else np.rint(np.geomspace(1, most, MULTIPLES)).astype(np.int64)
    several = np.unique(times) * longest
    smaller = [1 << power for power in range(5, 31) if 1 << power < longest]
    return [*smaller, *map(int, several)]


def predicted_seconds(lengths: Longs, workload: int, table: ShapeTable, shares: Shares, gpu: Gpu) -> float:
    """Algorithm 3: what a tile takes with that workload, starting the kernel apart."""
    width, height = rectangles(lengths, workload)
    row_major = width >= height
    longer, lines = np.where(row_major, width, height), np.where(row_major, height, width)
    along = -(-longer // WARP) * WARP
    filled = int(lengths.sum()) / max(1, int((along.astype(np.int64) * lines).sum()))
    return seconds_of(along, lines, row_major, table, _with_padding(shares, filled), gpu)


def _with_padding(shares: Shares, filled: float) -> Shares:
    """Padding reads an x that is near."""
    _, l2, memory = shares
    return 1 - filled * (l2 + memory), filled * l2, filled * memory


def seconds_of(
    along: npt.NDArray[np.integer],
    across: npt.NDArray[np.integer],
    row_major: npt.NDArray[np.bool_],
    table: ShapeTable,
    shares: Shares,
    gpu: Gpu,
) -> float:
    """Lines 6 to 20 of Algorithm 3: as many workloads at a time as the card runs warps; t = Σ size / mean performance.

    along, across, row_major: (workloads), as of `ShapeTable.performance`.

    Warps of a small kernel wait without others that could run: as many at a time as there are, on the multiprocessor
    that has most of it. This the seed does not have; it adds as `roofline.together` has it. O(workloads).
    """
    if along.size == 0:
        return 0.0
    active = active_warps(gpu)
    speed = table.performance(along, across, row_major, shares)
    begins = np.arange(0, along.size, active)
    held = np.diff(np.append(begins, along.size))
    work = np.add.reduceat(along.astype(np.float64) * across, begins)
    busy = float((work / (np.add.reduceat(speed, begins) / held)).sum())
    alone = table.waiting(along, across, row_major, shares)
    block = np.add.reduceat(alone, np.arange(0, alone.size, BLOCK))
    busiest = np.bincount(np.arange(block.size) % gpu.multiprocessors, block).max()
    running = min(gpu.max_warps, -(-along.size // gpu.multiprocessors))
    waits, usual = float(busiest) / running, float(alone.sum()) / active  # what full cards wait is in their speed
    return float((busy**gpu.overlap + max(0.0, waits**gpu.overlap - usual**gpu.overlap)) ** (1 / gpu.overlap))


def try_tiles(matrix: Csr, gpu: Gpu, choice: TileChoice, tiles: int = TRIED) -> TileChoice:
    """The best by the memory model of some choices near a prediction, as a card would time a few.

    Args:
        choice: of `tune_tiles`.
        tiles: numbers of tiles that are tried, those predicted to be best, with 0 and 1 beside them, which take fewest
            kernels; workloads are tried as chosen, and of half and twice the size.

    Returns the choice with the modelled seconds. O(tiles · accesses).
    """
    known = range(len(choice.by_tiles))
    order = dict.fromkeys([*sorted(known, key=lambda each: choice.by_tiles[each])[:tiles], *known[:2]])
    best: tuple[float, int, tuple[int, ...]] | None = None
    for count in order:
        chosen = choice.workloads_by_tiles[count]
        times, each = [], []
        for scale in (0.5, 1.0, 2.0):
            sizes = tuple(max(1, int(size * scale)) for size in chosen)
            made = TileComposite.of(matrix, choice.width, workload=sizes, most=count)
            if made.tiles:
                times.append(modelled(launches(made, gpu), gpu, matrix.values.itemsize).each)
                each.append(sizes)
        if not times:
            return choice
        fastest = np.argmin(times, axis=0)  # of each tile, whatever the others have
        seconds = float(np.min(times, axis=0).sum())
        if best is None or seconds < best[0]:
            best = seconds, count, tuple(each[k][tile] for tile, k in enumerate(fastest.tolist()))
    assert best is not None
    by_tiles = list(choice.workloads_by_tiles)
    by_tiles[best[1]] = best[2]
    return replace(choice, seconds=best[0], tiles=best[1], workloads_by_tiles=tuple(by_tiles))


def predicted_formats(matrix: Csr, gpu: Gpu, table: ShapeTable | None = None) -> dict[str, float]:
    """Seconds of the formats that are special cases of tile-composite, and of itself (TileSpMV §5).

    CSR-vector is one tile whose workloads are its rows, padded to warps. ELL is one tile of workloads of 32 rows, as
    wide as the longest row; it is left out where it would be refused. Reads of x count as independent ones.
    """
    size = matrix.values.itemsize
    table = known_table(gpu, size) if table is None else table
    lengths = np.diff(matrix.offsets).astype(np.int64)
    shares = x_shares(column_counts(matrix), size, gpu)
    filled = lengths[lengths > 0]
    one = np.ones(filled.size, np.int64)
    found = {"tile-composite": tune_tiles(matrix, gpu, table).seconds}
    row_major = np.ones(filled.size, bool)
    padded = -(-filled // WARP) * WARP
    near = _with_padding(shares, matrix.entries / max(1, int(padded.sum())))
    vector = seconds_of(padded, one, row_major, table, near, gpu)
    found["csr-vector"] = vector + table.launch
    wide, warps = int(lengths.max(initial=0)), -(-lengths.size // WARP)
    if wide and wide * lengths.size <= 32 * matrix.entries:
        along, across = np.full(warps, WARP, np.int64), np.full(warps, wide, np.int64)
        near = _with_padding(shares, matrix.entries / (warps * WARP * wide))
        found["ell"] = seconds_of(along, across, np.zeros(warps, bool), table, near, gpu) + table.launch
    return found


def _lengths(matrix: Csr, columns: Ints, width: int, tiles: int) -> list[Longs]:
    """Entries of each row in each tile of the denser part."""
    number = np.full(matrix.shape[1], tiles, np.int64)
    for tile in range(tiles):
        number[columns[tile * width : (tile + 1) * width]] = tile
    labels, rows = number[matrix.columns], rows_of(matrix)
    return [np.bincount(rows[labels == tile], minlength=matrix.shape[0]) for tile in range(tiles)]


def _falling(lengths: Longs) -> Longs:
    return np.sort(lengths[lengths > 0])[::-1]
