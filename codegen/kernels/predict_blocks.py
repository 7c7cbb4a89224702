"""What a kernel with other blocks would take, from one that the model has run: by counting, without another run.

Bytes grow with the data that the blocks copy; cycles of shared memory and issue with the work of the busiest
multiprocessor. A prediction says which blocks are worth a run of the model, and what no blocks can fall short of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tracecut.codegen.gpu.gpu_schedule import GpuSchedule
from tracecut.ir.gpu.description import WARP, Gpu
from tracecut.ir.gpu.memory_report import MemoryReport
from tracecut.ir.gpu.occupancy import occupancy, waiting
from tracecut.ir.gpu.roofline import PARTS, together
from tracecut.support.arrays import Longs

from .kernel import Kernel

DATUM_ID = 4  # bytes
BEGIN = 8  # indices that take as long as beginning a warp, fitted to the model
SLOPE = 4.0  # bytes of the L2 that a byte more of data costs: reads and atomics of whole sectors; by a fit where known


@dataclass(frozen=True)
class BlockCounts:
    """What the blocks of a kernel have to do.

    Attributes:
        copied: bytes of the data that all blocks copy into shared memory, and of their numbers.
        busiest: what the busiest multiprocessor deals with: indices, data, and warps that begin.
        warps: of a multiprocessor that wait at a time.
    """

    copied: int
    busiest: int
    warps: int = 1


def count_blocks(kernel: Kernel, degrees: Longs, gpu: Gpu, registers: int | None = None) -> BlockCounts:
    """Counts of a kernel whose blocks keep data. O(jobs + blocks).

    Args:
        degrees: int64 (jobs), indices of each job in the program's order. registers: of a thread.
    """
    schedule = kernel.schedule
    assert schedule is not None
    data = sum((np.diff(item.offsets) for item in schedule.spaces), np.zeros(schedule.blocks, np.int64))
    each = kernel.shared_bytes / max(1, sum(item.most for item in schedule.spaces))
    (region,) = (item for item in kernel.host.regions if item.region == schedule.region)
    pins = np.concatenate([[0], np.cumsum(degrees[region.jobs])])
    work = np.diff(pins[schedule.bounds]) + data + BEGIN * -(-kernel.threads // WARP)
    shares = np.bincount(np.arange(schedule.blocks) % gpu.multiprocessors, work, minlength=1)
    resident = occupancy(gpu, kernel.threads, registers, kernel.shared_bytes).warps
    warps = waiting(resident, schedule.blocks * -(-kernel.threads // WARP), gpu)
    return BlockCounts(int(data.sum() * (each + DATUM_ID)), int(shares.max()), warps)


def predict(report: MemoryReport, known: BlockCounts, other: BlockCounts, gpu: Gpu, slope: float = SLOPE) -> float:
    """Seconds of a kernel with other blocks than those that a report is of. `slope`: of `fitted_slope`."""
    more = slope * (other.copied - known.copied)
    share = other.busiest / max(1, known.busiest)
    hbm, l2, requests, shared, issue, latency = (report.seconds[PARTS.index(name)] for name in PARTS)
    before = l2
    l2 = max(0.0, l2 + (more / gpu.l2_bandwidth if gpu.l2_size else 0.0))  # the count may predict more than there is
    requests *= l2 / before if before > 0 else 1.0
    hbm = max(0.0, hbm + (0.0 if gpu.l2_size else more / gpu.hbm_bandwidth))
    latency *= share * known.warps / other.warps
    return together((hbm, l2, requests, shared * share, issue * share, latency), report.overlap) + report.launch


def fitted_slope(known: Sequence[tuple[BlockCounts, MemoryReport]]) -> float:
    """Bytes of the L2 for each byte of data, from the least and the most that were run; SLOPE from fewer than two."""
    pairs = sorted((counts.copied, report.l2_bytes) for counts, report in known)
    if len(pairs) < 2 or pairs[0][0] == pairs[-1][0]:
        return SLOPE
    found = (pairs[-1][1] - pairs[0][1]) / (pairs[-1][0] - pairs[0][0])
    return min(max(found, 1.0), 4 * SLOPE)


def least_seconds(counts: BlockCounts, gpu: Gpu) -> float:
    """Seconds that no kernel with these blocks falls short of: what it copies has to come from somewhere."""
    return counts.copied / (gpu.l2_bandwidth if gpu.l2_size else gpu.hbm_bandwidth) + gpu.launch_overhead


def same_blocks(one: GpuSchedule | None, other: GpuSchedule | None) -> bool:
    """Whether two kernels have the same jobs in their blocks."""
    if one is None or other is None:
        return one is other
    return np.array_equal(one.bounds, other.bounds)
