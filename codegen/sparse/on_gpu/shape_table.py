"""The offline part of TileSpMV §3.3: how fast a card multiplies workloads of each shape, and where the table is kept.

A workload is w × h slots for a warp: row-major (w ≥ h, w whole warps) or column-major (h whole warps). Speeds are of
the whole card, full of workloads of one shape, with x in the nearest cache, in the L2, or in memory.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.gpu.description import Gpu
from tracecut.support.arrays import Floats
from tracecut.support.errors import ArgumentError, OutputError
from tracecut.support.files import write_json
from tracecut.tracer.toolchain.find_compilers import cache_home

VERSION = 1  # of the kernels, the memory model and the table: another one is made anew
LARGEST = 32_768  # slots of a workload (TileSpMV §4.4)
WARP = 32
Shares = tuple[float, float, float]
NEAR, L2, MEMORY = range(3)  # where x is
SIZES = (4, 8)  # bytes of a value
SLOWEST, FASTEST = 1e3, 1e16  # slots a second that can be believed


@dataclass(frozen=True, eq=False)
class ShapeTable:
    """Speeds by shape, for one card and one size of values.

    Attributes:
        gpu: name of the card. size: bytes of a value.
        speeds: float64 (2, 3, across, along), slots a second: column-major and row-major; x near, in the L2, in memory;
            2**i lines (rows, or columns) across; 2**k warps along each line. NaN for what is no shape.
        alone: float64, the same shape, seconds of workloads of which a multiprocessor has one block: what a warp waits.
        launch: seconds of starting a kernel.
        source: where the table comes from.
    """

    gpu: str
    size: int
    speeds: npt.NDArray[np.float64]
    alone: npt.NDArray[np.float64]
    launch: float
    source: str

    @property
    def fastest(self) -> Floats:
        """Slots a second of the best shape, float64 (3), by where x is."""
        found: Floats = np.nanmax(self.speeds, axis=(0, 2, 3))
        return found

    def performance(self, along: Any, across: Any, row_major: Any, shares: Shares) -> Floats:
        """Slots a second of the card, full of workloads like each one: Performance(w, h) of TileSpMV, Eq. 5.

        Args:
            along: slots of a line, whole warps; across: lines. row_major: bool. Arrays (workloads).
            shares: of x's elements that are near, in the L2, in memory; they sum up to 1.

        Returns float64 (workloads). Between shapes of the table, logarithms are interpolated; beyond it, the nearest
        shape holds. O(workloads).
        """
        slot = [share / _between(self.speeds[:, where], along, across, row_major) for where, share in _known(shares)]
        return 1 / np.sum(slot, axis=0)

    def waiting(self, along: Any, across: Any, row_major: Any, shares: Shares) -> Floats:
        """Seconds that the warp of each workload waits; arguments as of `performance`."""
        times = [share * _between(self.alone[:, where], along, across, row_major) for where, share in _known(shares)]
        beyond = np.maximum(1.0, np.asarray(along, float) * np.asarray(across, float) / LARGEST)
        return np.sum(times, axis=0) * beyond


def _known(shares: Shares) -> list[tuple[int, float]]:
    return [(where, share) for where, share in enumerate(shares) if share > 0]


def _between(grid: npt.NDArray[np.float64], along: Any, across: Any, row_major: Any) -> Floats:
    """The table's values for shapes between its own."""
    held = _filled(grid)
    i, di = _cell(np.log2(np.asarray(across, np.float64)), held.shape[1])
    k, dk = _cell(np.log2(np.asarray(along, np.float64) / WARP), held.shape[2])
    kind = np.asarray(row_major, bool).astype(np.int64)
    found = np.zeros(i.size)
    for a, weight_a in ((i, 1 - di), (i + 1, di)):
        for b, weight_b in ((k, 1 - dk), (k + 1, dk)):
            found += weight_a * weight_b * held[kind, a, b]
    return np.exp(found)


def shapes() -> list[tuple[bool, int, int]]:
    """Row-major or not, lines across and warps along each, as powers of two, of all shapes up to LARGEST slots."""
    most = (LARGEST // WARP).bit_length() - 1
    return [
        (row_major, across, along)
        for along in range(most + 1)
        for across in range(min(most - along, along + 5) + 1)
        for row_major in (True, False)
        if row_major or across < along + 5  # a square is row-major
    ]


def _filled(grid: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Logarithms, with the nearest shape of fewer lines, or of shorter ones, in the place of what is no shape."""
    found = np.log(grid)
    for across in range(1, found.shape[1]):
        found[:, across] = np.where(np.isnan(found[:, across]), found[:, across - 1], found[:, across])
    for along in range(1, found.shape[2]):
        found[:, :, along] = np.where(np.isnan(found[:, :, along]), found[:, :, along - 1], found[:, :, along])
    return found


def _cell(place: Floats, size: int) -> tuple[npt.NDArray[np.int64], Floats]:
    inside = np.clip(place, 0, size - 1)
    cell = np.minimum(inside.astype(np.int64), size - 2)
    return cell, inside - cell


def table_path(gpu: Gpu, size: int) -> Path:
    """Where the table of a card lies."""
    return cache_home() / f"spmv-shapes-{gpu_key(gpu)}-{size}.json"


@cache
def gpu_key(gpu: Gpu) -> str:
    """What tells cards apart: all that their description says."""
    return hashlib.sha256(repr(asdict(gpu)).encode()).hexdigest()[:16]


def read_table(path: Path, gpu: Gpu, size: int) -> ShapeTable | None:
    """A table; None where there is none of this version and card, or a damaged one: it is a cache."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if (found["version"], found["gpu"], found["size"]) != (VERSION, gpu_key(gpu), size):
            return None
        speeds, alone = (np.array(found[name], np.float64) for name in ("speeds", "alone"))  # None becomes NaN
        if not (_whole(speeds, SLOWEST, FASTEST) and _whole(alone, 1 / FASTEST, 1.0)):
            return None
        return ShapeTable(gpu.name, size, speeds, alone, float(found["launch"]), str(found["source"]))
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return None


def _whole(grid: npt.NDArray[np.float64], low: float, high: float) -> bool:
    """Whether all shapes have a number that can be believed, and nothing else has one."""
    if grid.shape != shape_of_speeds():
        return False
    kinds, lines, warps = (np.array(each) for each in zip(*shapes(), strict=True))
    there = np.zeros(grid.shape, bool)
    there[kinds.astype(int), :, lines, warps] = True
    return bool((~np.isnan(grid) == there).all() and ((grid[there] >= low) & (grid[there] <= high)).all())


def write_table(path: Path, table: ShapeTable, gpu: Gpu) -> None:
    """Keep a table for the processes to come. Raises OutputError."""
    grids: dict[str, Any] = {}
    for name, grid in (("speeds", table.speeds), ("alone", table.alone)):
        held = grid.astype(object)
        held[np.isnan(grid)] = None
        grids[name] = held.tolist()
    about = {"version": VERSION, "gpu": gpu_key(gpu), "size": table.size, "source": table.source}
    write_json(path, {**about, "launch": table.launch, **grids})
    if read_table(path, gpu, table.size) is None:
        raise OutputError(f"{path} does not hold what was written to it")


def shape_of_speeds() -> tuple[int, int, int, int]:
    """Of `ShapeTable.speeds`."""
    found = shapes()
    return 2, 3, 1 + max(across for _, across, _ in found), 1 + max(along for *_, along in found)


def check_size(size: int) -> int:
    """Raises ArgumentError for values that no table is made for."""
    if size not in SIZES:
        raise ArgumentError(f"size is {size}, one of {SIZES} bytes of a value was expected")
    return size
