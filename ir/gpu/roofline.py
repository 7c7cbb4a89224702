"""Time of a kernel by what it keeps busy, memory, L2, L1 and shared memory, issue; and by what its warps wait for."""

from __future__ import annotations

from .description import SECTOR, Gpu

PARTS = ("HBM", "L2", "L2 requests", "L1/shared", "issue", "latency")


def times(
    gpu: Gpu,
    hbm_bytes: int,
    l2_bytes: int,
    l2_requests: float,
    l1_cycles: int,
    shared_cycles: float,
    requests: int,
    instructions: float = 0.0,
    waits: float = 0.0,
) -> tuple[float, ...]:
    """Seconds of each of PARTS.

    Args:
        l2_requests: lines that the L2 was asked for, `gpu.l2_atomic` for each lane of an atomic access beside them. The
            L2 takes as long for a line of which one sector is wanted as it takes to pass a sector on.
        l1_cycles, shared_cycles: wavefronts that the busiest multiprocessor serves. They are one after the other where
            L1 and shared memory are one, else at the same time.
        requests, instructions: of warps, on the busiest multiprocessor.
        waits: cycles of its warps until what they asked for is there, by the number of those that wait at a time.
    """
    cycles = l1_cycles + shared_cycles if gpu.unified else max(l1_cycles, shared_cycles)
    bandwidth = gpu.l2_bandwidth if gpu.l2_size else float("inf")
    return (
        hbm_bytes / gpu.hbm_bandwidth,
        l2_bytes / bandwidth,
        SECTOR * l2_requests / bandwidth,
        cycles / gpu.clock,
        max(requests / gpu.memory_rate, instructions / gpu.issue_rate) / gpu.clock,
        waits / gpu.clock,
    )


def together(seconds: tuple[float, ...], overlap: float) -> float:
    """Seconds of parts that are busy at the same time: (Σ seconds^overlap)^(1/overlap), the longest at least.

    The larger `overlap`, the better the parts hide behind the longest; with 1 they are one after the other.
    """
    longest = max(seconds)
    if longest == 0:
        return 0.0
    total: float = sum((part / longest) ** overlap for part in seconds)
    return longest * total ** (1 / overlap)


def bound(seconds: tuple[float, ...], launch: float) -> str:
    """Which of PARTS takes longest; "launch" where starting the kernel takes longer than all of them."""
    longest = max(seconds)
    return "launch" if longest <= launch else PARTS[seconds.index(longest)]


def bytes_of(sectors: int) -> int:
    """Bytes of sectors."""
    return sectors * SECTOR
