"""Which copies of a region its kernel can read as numbers of 16 bits, in blocks that have numbers of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from tracecut.codegen.gpu.check_blocks import HalfStarts
from tracecut.codegen.gpu.index_copies import IndexField
from tracecut.codegen.gpu.packed_starts import block_begins, lower_halves, piece_starts
from tracecut.codegen.ptx.packed_indices import packable
from tracecut.support.arrays import Longs

from .device_memory import DeviceMemory, LocalCopies


def packed_indices(
    device: DeviceMemory,
    local: Sequence[IndexField],
    most: Mapping[int, int],
    firsts: Mapping[int, int],
    indices: Collection[str],
) -> dict[int, int]:
    """Number of a copy of indices alone → how many times narrower its local numbers are.

    Args:
        device: knows all indices. local: those that have local numbers. most: space → data of its largest block.
        firsts: from `first_numbers`. indices: names of the loads of indices.
    """
    packed: dict[int, int] = {}
    for number, found in device.local.fields.items():
        mine = [item for item in local if item.copy == number]
        width = found[0].width
        alone = {item.offset for item in mine} == set(range(0, device.scheduled.copies[number].stride, width))
        fits = all(item.width == width and firsts[item.space] + item.shift >= 0 for item in mine)
        fits &= all(firsts[item.space] + most[item.space] + item.shift <= 1 << 16 for item in mine)
        if alone and fits and _packable(device, number, width, indices):
            packed[number] = width // 2
    return packed


def with_packed_starts(device: DeviceMemory, made: LocalCopies, bounds: Longs) -> LocalCopies:
    """The same with the starts of the pieces in 16 bits, where they fit. O(jobs).

    `bounds`: int64 (blocks + 1), the jobs of each block.
    """
    region = device.scheduled
    numbers = [
        number
        for number, copy in enumerate(region.copies)
        if copy.mode == "offsets" and _packable(device, number, copy.stride)
    ]
    cut = min((region.copies[number].cut for number in numbers), default=0)
    numbers = [number for number in numbers if region.copies[number].cut == cut]  # blocks have one first start
    begins = block_begins(piece_starts(region, region.copies[numbers[0]]), bounds) if numbers else None
    if begins is None:
        return made
    widths = {number: region.copies[number].stride for number in numbers}
    halves = {number: lower_halves(device.new_copy(number), width) for number, width in widths.items()}
    packed = {number: width // 2 for number, width in widths.items()}
    return LocalCopies({**made.data, **halves}, {**made.packed, **packed}, made.fields, made.third, begins)


def half_starts(device: DeviceMemory) -> Iterator[HalfStarts]:
    """What a kernel reads of packed starts, beside them."""
    copies, begins = device.scheduled.copies, device.local.begins
    if begins is None:
        return
    for number, data in device.local.data.items():
        if copies[number].mode == "offsets":
            starts = device.new_copy(number).view(f"i{copies[number].stride}").astype(np.int64)
            yield HalfStarts(starts, data.view(np.uint16).astype(np.int64), begins.astype(np.int64))


def _packable(device: DeviceMemory, number: int, width: int, indices: Collection[str] | None = None) -> bool:
    """Whether the code reads nothing else from a copy than whole numbers of `width` bytes, at multiples of it."""
    groups = [group for group, copy in device.scheduled.bases.items() if copy == number and group in device.roots]
    return width in (4, 8) and all(
        packable(device.outlined, group, width // 2, indices) and device.behind(group, number) % width == 0
        for group in groups
    )
