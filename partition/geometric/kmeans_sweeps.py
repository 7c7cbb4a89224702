"""Sweeps of balanced k-means: assign points to cells, move centres to the means, adapt reaches to the targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tracecut.partition.datastructures.typed_views import Words, floats, longs
from tracecut.partition.parallel.barrier import new_barrier, next_item, run_threads, wait_all
from tracecut.partition.parallel.thread_pool import ThreadPool
from tracecut.support.arrays import Floats, Longs
from tracecut.support.lazy_kernels import kept

from .voronoi_cells import WALLS, Cells, Walls, assign_block, find_walls

BLOCKS, SMALLEST = 16, 512  # points are summed in at most this many blocks of at least this size
STEP = 1.2  # largest change of a reach in one sweep
MOVING = -1.0  # value of `aim` if centres move
CALMING = 15  # with fixed centres, steps of reaches are halved after this many sweeps


class Rule(NamedTuple):
    """How sweeps change the reaches; see `swept`."""

    sweeps: int
    power: float
    slack: float
    aim: float


class SweepSpace(NamedTuple):
    """Data that the threads of a sweep share.

    Attributes:
        cuts: int64 (blocks + 1), blocks of points that are summed up on their own.
        walls: the nearest walls of each cell.
        sums: float64 (blocks, k, 1 + dimensions), load and centre of mass times load of each cell in each block.
        total: float64 (k, 1 + dimensions), their sums.
        last: the cells after the last sweep.
    """

    cuts: Longs
    walls: Walls
    sums: Floats
    total: Floats
    last: Cells


def swept(
    points: Floats,
    loads: Floats,
    labels: Words,
    cells: Cells,
    shares: Floats,
    pool: ThreadPool,
    *,
    sweeps: int,
    power: float,
    slack: float,
    aim: float | None = None,
) -> tuple[Cells, Floats]:
    """Assign points to cells and then move centres and reaches, `sweeps` times.

    Args:
        points: float64 (n, dimensions), from `voronoi_cells.padded`.
        loads: float64 (n).
        labels: uint32 (n), any valid labels, overwritten; the better, the faster.
        cells: the initial cells.
        shares: float64 (k), the targets, of sum 1.
        pool: the threads; the result does not depend on them.
        power: a reach is multiplied by this power of target / load.
        slack: a reach is not changed while that ratio is this close to 1.
        aim: if given, centres are fixed, and reaches change in decreasing steps until no load exceeds `aim` times its
            target.

    Returns:
        The cells; and float64 (k, 1 + dimensions), loads and sums of the points, times their loads, of the last labels.
        O(sweeps · (k · centres looked at + n · walls asked)).
    """
    n, k = points.shape[0], cells.reach.size
    count = max(1, min(BLOCKS, n // max(SMALLEST, k)))
    cuts = longs(n * np.arange(count + 1) // count)
    walls = Walls(np.empty((k, min(k - 1, WALLS))), np.empty((k, min(k - 1, WALLS)), np.uint32))
    sums, total = np.empty((count, k, points.shape[1] + 1)), np.empty((k, points.shape[1] + 1))
    last = Cells(cells.centres.copy(), cells.reach.copy())
    start = (Cells(floats(cells.centres), floats(cells.reach)), floats(shares))
    rule = Rule(sweeps, power, slack, MOVING if aim is None else aim)
    space = SweepSpace(cuts, walls, sums, total, last)
    run_threads(_sweep, (points, loads, labels, *start, rule, space), min(pool.threads, count), new_barrier())
    return last, total


@kept
def _sweep(
    points: Floats, loads: Floats, labels: Words, start: Cells, shares: Floats, rule: Rule, space: SweepSpace,
    barrier: Longs, rank: int, n_threads: int,
) -> None:  # fmt: skip
    """The work of one thread. Each computes its own copy of the cells from the shared sums."""
    sweeps, power, slack, aim = rule
    cuts, walls, sums, total, last_cells = space
    k, dims = start.centres.shape
    cells = Cells(start.centres.copy(), start.reach.copy())
    centres, reach = cells
    count = cuts.size - 1
    first, last = k * rank // n_threads, k * (rank + 1) // n_threads
    for sweep in range(sweeps):
        axis = _widest_axis(centres)
        line = np.argsort(centres[:, axis], kind="mergesort").astype(np.uint32)
        find_walls(cells, line, axis, reach.max(), walls, first, last)
        if not wait_all(barrier, n_threads):
            return
        inverse = 1.0 / (reach * reach)
        while True:
            block = next_item(barrier, sweep * (count + n_threads))
            if block >= count:
                break
            sums[block] = 0.0
            assign_block(points, loads, labels, centres, inverse, walls, cuts[block], cuts[block + 1], sums[block])
        if not wait_all(barrier, n_threads):
            return
        for c in range(first, last):
            for j in range(dims + 1):
                total[c, j] = 0.0
                for block in range(count):
                    total[c, j] += sums[block, c, j]
        if not wait_all(barrier, n_threads):
            return
        whole = total[:, 0].sum()
        if aim >= 0.0 and (total[:, 0] <= aim * shares * whole).all():
            break
        if aim < 0.0:
            for c in range(k):
                if total[c, 0] > 0.0:
                    for j in range(dims):
                        centres[c, j] = total[c, 1 + j] / total[c, 0]
        step = power if aim < 0.0 else power * 0.5 ** (sweep / CALMING)
        _widen(reach, total[:, 0], shares * whole, step, slack)
    if rank == 0:
        last_cells.centres[:], last_cells.reach[:] = centres, reach


@kept
def _widest_axis(centres: Floats) -> int:
    best, most = 0, -1.0
    for j in range(centres.shape[1]):
        extent = centres[:, j].max() - centres[:, j].min()
        if extent > most:
            best, most = j, extent
    return best


@kept
def _widen(reach: Floats, loads: Floats, wanted: Floats, power: float, slack: float) -> None:
    """A step towards the targets: the load of a cell grows with the power `dimensions` of its reach. The mean reach
    stays 1."""
    logs = 0.0
    for c in range(reach.size):
        lack = wanted[c] / max(loads[c], 1e-300)
        if abs(lack - 1.0) >= slack:
            reach[c] *= min(max(lack**power, 1.0 / STEP), STEP)
        logs += np.log(reach[c])
    reach /= np.exp(logs / reach.size)
