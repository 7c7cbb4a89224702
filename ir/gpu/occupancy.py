"""Blocks that reside on a multiprocessor at a time, and what keeps more from it.

The rules are those of the occupancy tables that NVIDIA publishes for each compute capability: registers are given to
warps (before compute capability 2 to blocks) in units, shared memory to blocks in units and with a reserve.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracecut.support.argument_checks import whole_number
from tracecut.support.errors import ArgumentError

from .description import Gpu

ESTIMATED_REGISTERS = 32  # of a thread whose kernel no assembler has seen


@dataclass(frozen=True)
class Occupancy:
    """How full a multiprocessor is.

    Attributes:
        blocks: that reside on it. warps: of these blocks.
        share: of the warps that may reside on it.
        limits: blocks that would reside on it if nothing else counted, by what limits them.
        shared: bytes of shared memory that the blocks take, reserve included. l1: bytes of L1 beside it.
        estimated: whether the registers are an estimate.
    """

    blocks: int
    warps: int
    share: float
    limits: tuple[tuple[str, int], ...]
    shared: int
    l1: int
    estimated: bool

    @property
    def limited_by(self) -> tuple[str, ...]:
        """What allows no more blocks, in words; several where they are equal."""
        return tuple(name for name, blocks in self.limits if blocks == self.blocks)

    def __repr__(self) -> str:
        words = " and ".join(self.limited_by)
        return f"<Occupancy {self.share:.0%}: {self.blocks} blocks, {self.warps} warps, limited by {words}>"


def occupancy(gpu: Gpu, block: int, registers: int | None = None, shared: int = 0) -> Occupancy:
    """Blocks of a kernel that reside on a multiprocessor. O(1).

    Args:
        block: threads of a block.
        registers: of a thread, as the assembler says; None: an estimate of 32, or fewer where a block needs it.
        shared: bytes of shared memory of a block, static and dynamic.

    Raises:
        ArgumentError: a block that no multiprocessor can hold, with what it has too much of.
    """
    whole_number("block", block, 1, gpu.max_block_threads)
    whole_number("shared", shared, 0, gpu.shared_block)
    warps = -(-block // gpu.warp_size)
    most = gpu.max_registers if registers is not None else ESTIMATED_REGISTERS
    estimated = registers is None
    if registers is not None:
        given = whole_number("registers", registers, 1, gpu.max_registers)
    else:
        given = next((count for count in range(most, 0, -1) if _by_registers(gpu, warps, count)), 1)
    by_registers = _by_registers(gpu, warps, given)
    if by_registers == 0:
        raise ArgumentError(
            f"a block of {block} threads with {given} registers each needs more than the {gpu.registers} of {gpu.name}",
            hint="Take smaller blocks, or bound the registers.",
        )
    taken = _multiple(shared + gpu.shared_reserve, gpu.shared_unit)
    limits = {"warps": gpu.max_warps // warps, "blocks": gpu.max_blocks, "registers": by_registers}
    if taken:
        limits["shared memory"] = gpu.shared_memory // taken
    blocks = min(limits.values())
    return Occupancy(
        blocks=blocks,
        warps=blocks * warps,
        share=blocks * warps / gpu.max_warps,
        limits=tuple(limits.items()),
        shared=blocks * taken,
        l1=gpu.l1_beside(blocks * taken if shared else 0),
        estimated=estimated,
    )


def waiting(resident: int, warps: int, gpu: Gpu) -> int:
    """Warps of a multiprocessor that wait at a time: those that reside on it, or fewer where a kernel has fewer.

    Args:
        resident: warps that may reside on a multiprocessor. warps: of the whole kernel.
    """
    return max(1, min(resident, -(-warps // gpu.multiprocessors)))


def _by_registers(gpu: Gpu, warps: int, registers: int) -> int:
    """Blocks whose registers fit."""
    if gpu.register_scope == "block":
        each = _multiple(_multiple(warps, gpu.warp_unit) * gpu.warp_size * registers, gpu.register_unit)
        return gpu.registers // each
    each = _multiple(registers * gpu.warp_size, gpu.register_unit)
    return gpu.registers // each // gpu.warp_unit * gpu.warp_unit // warps


def _multiple(value: int, unit: int) -> int:
    return -(-value // unit) * unit
