"""The offline table of `shape_table.py`, made with the memory model: modelled, not measured on a card.

As TileSpMV §3.3 has it: a matrix whose workloads have one shape, as many as fill the card. A slice of the card is
enough, some multiprocessors with their share of the bandwidth: all of them do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from tracecut.ir.gpu.description import Gpu
from tracecut.support.arrays import Ints

from .kernels import BLOCK, Memory, active_warps
from .lane_walks import COLUMN, HEAD, VALUE, WARP, Launch, Phase, modelled
from .shape_table import (
    L2,
    MEMORY,
    NEAR,
    ShapeTable,
    check_size,
    read_table,
    shape_of_speeds,
    shapes,
    table_path,
    write_table,
)

SLICE = 1  # multiprocessors
SEED = 12
FAR = 1 << 27  # elements of an x, or a y, that no cache holds
AMPLE = 1e3  # times the bandwidth of a card: it takes no time


def known_table(gpu: Gpu, size: int = 4, said: Callable[[str], None] = lambda text: None) -> ShapeTable:
    """The table of a card: kept from an earlier run, or made now, in about a minute, and kept.

    Raises ArgumentError for a size of values without a table, OutputError where it cannot be kept.
    """
    path = table_path(gpu, check_size(size))
    found = read_table(path, gpu, size)
    if found is None:
        write_table(path, measure_shapes(gpu, size, said), gpu)
        found = read_table(path, gpu, size)
    assert found is not None  # `write_table` has read it
    return found


def measure_shapes(gpu: Gpu, size: int = 4, said: Callable[[str], None] = lambda text: None) -> ShapeTable:
    """Speeds of all shapes by the memory model. `said`: called with what is done next."""
    check_size(size)
    part = slice_of(gpu)
    speeds, alone = np.full(shape_of_speeds(), np.nan), np.full(shape_of_speeds(), np.nan)
    # A warp waits as long as the caches take to answer, however many others the memory has to serve.
    idle = replace(part, l2_bandwidth=AMPLE * part.l2_bandwidth, hbm_bandwidth=AMPLE * part.hbm_bandwidth)
    warps, scale = active_warps(part), gpu.multiprocessors / part.multiprocessors
    for where, name in ((NEAR, "near"), (L2, "in the L2"), (MEMORY, "in memory")):
        said(f"{gpu.name}: x {name}")
        for row_major, across, along in shapes():
            place, shape = (int(row_major), where, across, along), (row_major, 1 << across, WARP << along)
            seconds = _seconds(part, size, *shape, warps, where)
            speeds[place] = scale * warps * (WARP << across + along) / seconds
            alone[place] = _seconds(idle, size, *shape, BLOCK, where)
    return ShapeTable(gpu.name, size, speeds, alone, gpu.launch_overhead, f"the memory model of {gpu.name}")


def slice_of(gpu: Gpu, multiprocessors: int = SLICE) -> Gpu:
    """Some multiprocessors of a card with their share of the bandwidth, and all of its L2."""
    share = min(1.0, multiprocessors / gpu.multiprocessors)
    return replace(
        gpu,
        multiprocessors=min(multiprocessors, gpu.multiprocessors),
        l2_bandwidth=gpu.l2_bandwidth * share,
        hbm_bandwidth=gpu.hbm_bandwidth * share,
        launch_overhead=0,
    )


def _seconds(gpu: Gpu, size: int, row_major: bool, across: int, along: int, warps: int, where: int) -> float:
    """Of a product of `warps` workloads."""
    launch = _uniform(gpu, size, row_major, across, along, warps, where)
    # The second product finds in the L2 what the first has brought there.
    times = 2 if where == L2 and gpu.l2_size > 0 else 1
    return modelled([launch] * times, gpu, size).each[-1]


def _uniform(gpu: Gpu, size: int, row_major: bool, across: int, along: int, warps: int, where: int) -> Launch:
    """`warps` workloads of one shape; x anywhere in as many elements as that cache holds, y anywhere."""
    random = np.random.default_rng(SEED)
    slots = across * along
    lane = np.arange(warps * WARP, dtype=np.int64)
    warp, thread = lane // WARP, lane % WARP
    steps = np.full(lane.size, slots // WARP, np.int64)
    stride = np.full(lane.size, WARP, np.int64)
    memory = Memory()
    entries = ((VALUE, memory.take(warps * slots, size)), (COLUMN, memory.take(warps * slots, 4)))
    x = random.integers(0, x_elements(gpu, size, where), warps * slots, dtype=np.int32)
    rows = across if row_major else along
    # Behind a texture cache y comes from memory, whose rows are anywhere; else the L2 has it.
    places = random.integers(0, FAR, warps * rows) if gpu.read_only_size else random.permutation(warps * rows)
    y: Ints = places.astype(np.int32)
    held = np.where(thread == 0, rows, 0) if row_major else np.full(lane.size, rows // WARP, np.int64)
    begin = np.where(held > 0, warp * rows + (0 if row_major else thread), 0)
    listed = ((HEAD, memory.take(y.size, 4)),)
    return Launch(
        (
            Phase(warp * slots + thread, stride, steps, entries, x),
            Phase(begin, stride * 0 + (1 if row_major else WARP), held, listed, y, "add"),
        ),
        BLOCK,
    )


def nearest_cache(gpu: Gpu) -> int:
    """Bytes of the cache of a multiprocessor that x goes through; 0 without one."""
    return gpu.read_only_size or gpu.l1_size


def x_elements(gpu: Gpu, size: int, where: int) -> int:
    """Elements of an x that is near, in the L2, or in memory."""
    if where == MEMORY:
        return FAR
    near = nearest_cache(gpu)
    if where == NEAR:
        return max(WARP, near // 4 // size)
    return max(WARP, min(gpu.l2_size // 2, 16 * near) // size)
