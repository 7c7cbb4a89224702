"""Time of a kernel by what it keeps busy longest: memory, L2, L1 and shared memory, or the issue of instructions."""

from __future__ import annotations

from .description import SECTOR, Gpu

PARTS = ("HBM", "L2", "L1/shared", "issue")


def times(
    gpu: Gpu,
    hbm_bytes: int,
    l2_bytes: int,
    l1_cycles: int,
    shared_cycles: int,
    requests: int,
    instructions: float = 0.0,
) -> tuple[float, ...]:
    """Seconds of each of PARTS.

    Args:
        l1_cycles, shared_cycles: wavefronts that the busiest multiprocessor serves. They are one after the other where
            L1 and shared memory are one, else at the same time.
        requests, instructions: of warps, on the busiest multiprocessor.
    """
    cycles = l1_cycles + shared_cycles if gpu.unified else max(l1_cycles, shared_cycles)
    return (
        hbm_bytes / gpu.hbm_bandwidth,
        l2_bytes / gpu.l2_bandwidth if gpu.l2_size else 0.0,
        cycles / gpu.clock,
        max(requests / gpu.memory_rate, instructions / gpu.issue_rate) / gpu.clock,
    )


def bound(seconds: tuple[float, ...], launch: float) -> str:
    """Which of PARTS takes longest; "launch" where starting the kernel takes longer than all of them."""
    longest = max(seconds)
    return "launch" if longest <= launch else PARTS[seconds.index(longest)]


def bytes_of(sectors: int) -> int:
    """Bytes of sectors."""
    return sectors * SECTOR
