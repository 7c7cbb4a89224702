"""The kernels of the formats, as walks of lanes: who reads which slot, and when y is written.

Each is the one that the format's paper describes: Bell and Garland 2009 for CSR, COO, ELL, HYB, DIA and PKT,
Baskaran and Bordawekar 2008 for half warps, TileSpMV §3.1 for tiles, SPAC §5.2 for blocks of entries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.formats.coo import Coo
from tracecut.codegen.sparse.formats.csr_vector import CsrVector
from tracecut.codegen.sparse.formats.dia import Dia
from tracecut.codegen.sparse.formats.ell import Ell, Hyb
from tracecut.codegen.sparse.formats.packets import Pkt
from tracecut.codegen.sparse.formats.spac_blocked import SpacBlocked
from tracecut.codegen.sparse.formats.tile_composite import TileComposite, Workloads
from tracecut.codegen.sparse.formats.tile_coo import TileCoo
from tracecut.codegen.sparse.formats.tiles import Tiling
from tracecut.ir.gpu.description import Gpu
from tracecut.support.arrays import Ints, Longs
from tracecut.support.errors import ArgumentError

from .lane_walks import ARRAYS_AT, COLUMN, HEAD, LIST, ROW, SHORT_COLUMN, SHORT_ROW, VALUE, WARP, Launch, Phase

BLOCK = 8  # warps of a block (TileSpMV §3.3)
ALIGNED = 256  # bytes, where arrays begin


class Memory:
    """Hands out addresses, so that no two arrays of a product share any."""

    def __init__(self) -> None:
        self._free = ARRAYS_AT

    def take(self, count: int, size: int) -> int:
        """The address of a new array of `count` elements of `size` bytes."""
        found = self._free
        self._free += -(-count * size // ALIGNED) * ALIGNED + ALIGNED
        return found


@dataclass(frozen=True, eq=False)
class Numbers:
    """New numbers of x and y, in the order of the tiles' columns, so that the x of a tile lies side by side.

    Attributes:
        x: int32 (columns), the new place of each. y: int32 (rows), the same where the matrix is square: a y is
            the x of the next.
    """

    x: Ints
    y: Ints

    @classmethod
    def of(cls, tiling: Tiling, shape: tuple[int, int]) -> Numbers:
        x = np.empty(shape[1], np.int32)
        x[tiling.columns] = np.arange(shape[1], dtype=np.int32)
        return cls(x, x if shape[0] == shape[1] else np.arange(shape[0], dtype=np.int32))

    def renumbered(self, launch: Launch) -> Launch:
        """The same launch on vectors in the new order. O(places)."""
        return replace(launch, phases=tuple(self._phase(each) for each in launch.phases))

    def _phase(self, phase: Phase) -> Phase:
        numbers = self.x if phase.use == "x" else self.y
        if phase.elements.size == 0:
            return phase
        moved = np.where(phase.elements < 0, -1, numbers[np.maximum(phase.elements, 0)])
        return replace(phase, elements=moved.astype(np.int32))


def launches(made: Any, gpu: Gpu) -> list[Launch]:
    """The kernels of a product in a format, in their order.

    Args:
        made: a matrix in compressed rows (one row a thread), or in any format of `formats`.
        gpu: says how many warps COO's entries are cut for.

    O(slots). Raises ArgumentError for anything else.
    """
    memory = Memory()
    if isinstance(made, Csr):
        return [_csr(made, memory)]
    if isinstance(made, CsrVector):
        return [_csr_vector(made, memory)]
    if isinstance(made, Coo):
        return _coo(made, memory, gpu)
    if isinstance(made, Ell):
        return [_ell(made, memory)] if made.values.size else []
    if isinstance(made, Hyb):
        return _hyb(made, memory, gpu)
    if isinstance(made, Dia):
        return [_dia(made, memory)] if made.values.size else []
    if isinstance(made, Pkt):
        return [*_packets(made, memory), *_coo(made.rest, memory, gpu, -(-made.threads // WARP))]
    if isinstance(made, TileCoo):
        numbers = Numbers.of(made.tiling, made.shape)
        rest = [] if made.rest is None else _hyb(made.rest, memory, gpu)
        found = [each for tile in made.tiles for each in _coo(tile, memory, gpu)] + rest
        return [numbers.renumbered(each) for each in found]
    if isinstance(made, TileComposite):
        numbers = Numbers.of(made.tiling, made.shape)
        return [numbers.renumbered(workload_launch(tile, memory)) for tile in made.tiles]
    if isinstance(made, SpacBlocked):
        return [_spac(made, memory)]
    raise ArgumentError(f"a {type(made).__name__} is no format that kernels are known of")


def _hyb(made: Hyb, memory: Memory, gpu: Gpu) -> list[Launch]:
    return [*([_ell(made.ell, memory)] if made.ell.values.size else []), *_coo(made.coo, memory, gpu)]


def _lanes(count: int) -> Longs:
    """0 … count − 1, and as many again as fill the last warp."""
    return np.arange(-(-count // WARP) * WARP, dtype=np.int64)


def _padded(values: Longs, size: int) -> Longs:
    return np.pad(values, (0, size - values.size))


def _csr(matrix: Csr, memory: Memory) -> Launch:
    """A thread a row: lanes read at places that lie apart."""
    lane = _lanes(matrix.shape[0])
    offsets = matrix.offsets.astype(np.int64)
    lengths, begin = _padded(np.diff(offsets), lane.size), _padded(offsets[:-1], lane.size)
    held = _padded(np.ones(matrix.shape[0], np.int64), lane.size)
    one, size = np.ones(lane.size, np.int64), matrix.values.itemsize
    entries = ((VALUE, memory.take(matrix.entries, size)), (COLUMN, memory.take(matrix.entries, 4)))
    starts = (HEAD, memory.take(offsets.size, 4))
    rows = np.arange(matrix.shape[0], dtype=np.int32)
    return Launch(
        (
            Phase(begin, one, lengths, entries, matrix.columns.astype(np.int32)),
            Phase(lane, one, held, (starts,), rows, "store"),
        ),
        BLOCK,
    )


def _csr_vector(made: CsrVector, memory: Memory) -> Launch:
    """A team a row, `lanes` slots at a time; its first thread stores the sum."""
    teams = _lanes(made.lengths.size * made.lanes)
    row, thread = teams // made.lanes, teams % made.lanes
    there = row < made.lengths.size
    row = np.where(there, row, 0) if made.lengths.size else row * 0
    sizes = np.diff(made.starts) if made.lengths.size else np.zeros(1, np.int64)
    left = np.maximum(sizes[row] - thread, 0)
    count = np.where(there, -(-left // made.lanes), 0)
    stride = np.full(teams.size, made.lanes, np.int64)
    size = made.values.itemsize
    entries = ((VALUE, memory.take(made.values.size, size)), (COLUMN, memory.take(made.values.size, 4)))
    rows = np.arange(made.lengths.size, dtype=np.int32)
    begin = np.where(count > 0, made.starts[row] + thread, 0)
    last = (there & (thread == 0)).astype(np.int64)
    head = ((HEAD, memory.take(made.starts.size, 4)),)
    return Launch(
        (
            Phase(begin, stride, count, entries, np.maximum(made.columns, 0)),
            Phase(np.where(last, row, 0), stride, last, head, rows, "store"),
        ),
        BLOCK,
    )


def _coo(made: Coo, memory: Memory, gpu: Gpu, block: int = BLOCK) -> list[Launch]:
    """An interval a warp, as many as reside on the card; y is added to where a row ends in an interval."""
    entries = made.values.size
    if entries == 0:
        return []
    interval = -(-entries // active_warps(gpu))
    interval = -(-interval // made.interval) * made.interval
    warps = -(-entries // interval)
    lane = np.arange(warps * WARP, dtype=np.int64)
    begin = lane // WARP * interval + lane % WARP
    stride = np.full(lane.size, WARP, np.int64)
    ends = np.minimum((lane // WARP + 1) * interval, entries)
    count = np.maximum(0, -(-(ends - begin) // WARP))
    size = made.values.itemsize
    streams = ((VALUE, memory.take(entries, size)), *((site, memory.take(entries, 4)) for site in (COLUMN, ROW)))
    place = np.arange(entries)
    last = np.append(made.rows[1:] != made.rows[:-1], True) | ((place + 1) % interval == 0)
    sums = np.where(last, made.rows, -1).astype(np.int32)
    begin = np.where(count > 0, begin, 0)
    return [Launch((Phase(begin, stride, count, streams, made.columns.astype(np.int32)),
                    Phase(begin, stride, count, (), sums, "add")), block)]  # fmt: skip


def _ell(made: Ell, memory: Memory) -> Launch:
    """A thread a row; the warp's lanes read side by side."""
    width, rows = made.values.shape
    lane = _lanes(rows)
    there = (lane < rows).astype(np.int64)
    stride, size = np.full(lane.size, rows, np.int64), made.values.itemsize
    entries = ((VALUE, memory.take(made.values.size, size)), (COLUMN, memory.take(made.values.size, 4)))
    begin = np.where(there, lane, 0)
    return Launch(
        (
            Phase(begin, stride, width * there, entries, made.columns.ravel()),
            Phase(begin, stride, there, (), np.arange(rows, dtype=np.int32), "store"),
        ),
        BLOCK,
    )


def _dia(made: Dia, memory: Memory) -> Launch:
    """A thread a row, diagonal after diagonal; columns are computed."""
    diagonals, rows = made.values.shape
    lane = _lanes(rows)
    there = (lane < rows).astype(np.int64)
    columns = made.offsets[:, None] + np.arange(rows)
    columns = np.where((columns >= 0) & (columns < made.shape[1]), columns, -1).astype(np.int32)
    begin, stride = np.where(there, lane, 0), np.full(lane.size, rows, np.int64)
    entries = ((VALUE, memory.take(made.values.size, made.values.itemsize)),)
    return Launch(
        (
            Phase(begin, stride, diagonals * there, entries, columns.ravel()),
            Phase(begin, stride, there, (), np.arange(rows, dtype=np.int32), "store"),
        ),
        BLOCK,
    )


def workload_launch(tile: Workloads, memory: Memory) -> Launch:
    """A rectangle a warp, 32 slots at a time whichever way they lie; what pads them reads the tile's first x.

    Row-major, the warp's first thread adds to y row after row; column-major, each thread adds to those of its own.
    """
    warps = tile.width.size
    lane = np.arange(warps * WARP, dtype=np.int64)
    warp, thread = lane // WARP, lane % WARP
    across = np.where(tile.row_major, tile.height, tile.width).astype(np.int64)
    slots = tile.stride.astype(np.int64) * across  # without what keeps partitions of the memory apart
    count = np.maximum(0, -(-(slots[warp] - thread) // WARP))
    stride, size = np.full(lane.size, WARP, np.int64), tile.values.itemsize
    entries = ((VALUE, memory.take(tile.values.size, size)), (COLUMN, memory.take(tile.values.size, 4)))
    first_row = np.cumsum(tile.height, dtype=np.int64) - tile.height
    height, row_major = tile.height.astype(np.int64)[warp], tile.row_major[warp]
    by_row = np.where(thread == 0, height, 0)
    by_column = np.maximum(0, -(-(height - thread) // WARP))
    held = np.where(row_major, by_row, by_column)
    y_begin = np.where(held > 0, first_row[warp] + np.where(row_major, 0, thread), 0)
    y_stride = np.where(row_major, 1, WARP)
    near = tile.columns[tile.columns >= 0][:1]
    columns = np.where(tile.columns < 0, near, tile.columns).astype(np.int32) if near.size else tile.columns
    listed = ((HEAD, memory.take(tile.rows.size, 4)),)
    begin = np.where(count > 0, tile.starts[:-1][warp] + thread, 0)
    return Launch(
        (
            Phase(begin, stride, count, entries, columns),
            Phase(y_begin, y_stride, held, listed, tile.rows, "add"),
        ),
        BLOCK,
    )


def _block_walk(starts: Longs, threads: int) -> tuple[Longs, Longs, Longs]:
    """A block of threads for each part of a list, which it walks through `threads` at a time."""
    block = np.repeat(np.arange(starts.size - 1), threads)
    thread = np.tile(np.arange(threads, dtype=np.int64), starts.size - 1)
    left = np.maximum(0, (starts[1:] - starts[:-1])[block] - thread)
    count = -(-left // threads)
    return np.where(count > 0, starts[:-1][block] + thread, 0), np.full(block.size, threads, np.int64), count


def _packets(made: Pkt, memory: Memory) -> list[Launch]:
    """A block a packet: x is copied, slots are multiplied in shared memory, y is stored."""
    threads = -(-made.threads // WARP) * WARP
    if made.starts.size == 1:
        return []
    size, slots = made.values.itemsize, made.values.size
    place = memory.take(made.members.size, 4)
    members = _block_walk(made.member_starts, threads)
    block = np.repeat(np.arange(made.starts.size - 1), threads)
    thread = np.tile(np.arange(threads, dtype=np.int64), made.starts.size - 1)
    turns = np.where(thread < made.threads, (np.diff(made.starts) // made.threads)[block], 0)
    begin = np.where(turns > 0, made.starts[:-1][block] + thread, 0)
    entries = ((VALUE, memory.take(slots, size)), (COLUMN, memory.take(slots, 4)))
    return [
        Launch(
            (
                Phase(*members, ((LIST, place),), made.members),
                Phase(begin, np.full(begin.size, made.threads, np.int64), turns, entries),
                Phase(*members, ((HEAD, place),), made.members, "store"),
            ),
            threads // WARP,
        )
    ]


def _spac(made: SpacBlocked, memory: Memory, threads: int = 1024) -> Launch:
    """A block of 1024 threads for each block of entries: preload x, add up in shared memory, flush y."""
    size, entries = made.values.itemsize, made.values.size
    x_list, y_list = ((LIST, memory.take(made.x.size, 4)),), ((HEAD, memory.take(made.y.size, 4)),)
    streams = (
        (VALUE, memory.take(entries, size)),
        (SHORT_COLUMN, memory.take(entries, 2)),
        (SHORT_ROW, memory.take(entries, 2)),
    )
    inside = np.arange(made.y.size) - np.repeat(made.y_starts[:-1], np.diff(made.y_starts))
    mine = inside < np.repeat(made.owned, np.diff(made.y_starts))
    flush = _block_walk(made.y_starts, threads)
    stored, added = (np.where(which, made.y, -1).astype(np.int32) for which in (mine, ~mine))
    return Launch(
        (
            Phase(*_block_walk(made.x_starts, threads), x_list, made.x),
            Phase(*_block_walk(made.starts, threads), streams),
            Phase(*flush, y_list, stored, "store"),
            Phase(*flush, (), added, "atomic"),
        ),
        threads // WARP,
    )


def active_warps(gpu: Gpu) -> int:
    """Warps that a card runs at a time: 960 on the seed's, as many as this one has (TileSpMV §3.3)."""
    return gpu.multiprocessors * gpu.max_warps
