"""Sectors that a kernel will touch, from its index arrays alone: what an emulated run would count, without the run.

To choose a variant or a block size the counts of requests are enough; a gather costs a few nanoseconds an index here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.argument_checks import whole_number
from tracecut.support.arrays import Longs, check_offsets, frozen
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .description import SECTOR, WARP
from .sites import SIZES

_SLOTS = 4 * WARP
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def gather_sectors(
    index: npt.ArrayLike,
    size: int,
    *,
    lanes: int = WARP,
    base: int = 0,
    offsets: npt.ArrayLike | None = None,
    stride: int = 0,
) -> int:
    """Sectors of all requests of a gather or scatter of `index`, thread after thread.

    Args:
        index: int64 (n), the element that each thread accesses; negative: the thread does not.
        size: bytes of an access. stride: bytes between elements, where that is not `size`.
        lanes: of a request: 32, or 16.
        base: address of element 0.
        offsets: int64 (groups + 1): a warp begins anew with each group, such as a row. Without, all threads are in one.

    Returns:
        Σ over requests of their distinct sectors of 32 bytes. O(n).

    Raises:
        ArgumentError: an odd size, a negative address, offsets that fall or do not end at n.
    """
    return int(by_request(index, size, lanes=lanes, base=base, offsets=offsets, stride=stride).sum())


def by_request(
    index: npt.ArrayLike,
    size: int,
    *,
    lanes: int = WARP,
    base: int = 0,
    offsets: npt.ArrayLike | None = None,
    stride: int = 0,
) -> Longs:
    """Sectors of each request of `gather_sectors`, int64 (requests); 0 where no thread accesses anything."""
    own = frozen("index", index, np.int64)
    if size not in SIZES or lanes not in (WARP, WARP // 2):
        raise ArgumentError(f"{size} bytes by {lanes} lanes: {SIZES} bytes by 32 or 16 were expected")
    whole_number("base", base, 0, 1 << 61)
    step = whole_number("stride", stride or size, 1, 1 << 20)
    if own.max(initial=0) >= 1 << 40:
        raise ArgumentError(f"index {own.max()} is above 2^40")
    groups = frozen("offsets", [0, own.size] if offsets is None else offsets, np.int64)
    check_offsets("offsets", groups, own.size)
    return _by_request(own, size, step, lanes, base, groups)


def stream_sectors(count: int, size: int, *, lanes: int = WARP, base: int = 0) -> int:
    """Sectors of all requests of threads 0 … count − 1 that access consecutive elements: `gather_sectors`, O(1).

    Raises:
        ArgumentError: a negative count, an odd size or number of lanes, a negative address.
    """
    whole_number("count", count, 0, 1 << 50)
    whole_number("base", base, 0, 1 << 61)
    if size not in SIZES or lanes not in (WARP, WARP // 2):
        raise ArgumentError(f"{size} bytes by {lanes} lanes: {SIZES} bytes by 32 or 16 were expected")
    width = size * lanes
    # Requests begin `width` bytes apart; where they begin within a sector comes again after SECTOR bytes.
    period = max(1, SECTOR // np.gcd(SECTOR, width))
    full, rest = divmod(count, lanes)
    total = 0
    for phase in range(min(int(period), full)):
        begin = base + phase * width
        total += _between(begin, begin + width) * ((full - phase - 1) // int(period) + 1)
    begin = base + full * width
    return total + (_between(begin, begin + rest * size) if rest else 0)


def _between(low: int, high: int) -> int:
    return (high - 1) // SECTOR - low // SECTOR + 1


@kept
def _by_request(index: Longs, size: int, stride: int, lanes: int, base: int, offsets: Longs) -> Longs:
    total = 0
    for group in range(offsets.size - 1):
        total += -(-(offsets[group + 1] - offsets[group]) // lanes)
    found = np.zeros(total, np.int64)
    slots = np.full(_SLOTS, -1, np.int64)  # sectors of one request, by hash
    taken = np.empty(_SLOTS, np.int64)
    request = 0
    for group in range(offsets.size - 1):
        for begin in range(offsets[group], offsets[group + 1], lanes):
            count = 0
            recent: Any = np.int64(-1)
            for place in range(begin, min(begin + lanes, offsets[group + 1])):
                if index[place] < 0:
                    continue
                address = base + index[place] * stride
                for sector in range(address >> 5, ((address + size - 1) >> 5) + 1):
                    if sector == recent:
                        continue
                    recent = sector
                    slot = np.int64((np.uint64(sector) * _SPREAD) >> np.uint64(57))
                    while slots[slot] >= 0 and slots[slot] != sector:
                        slot = (slot + 1) & (_SLOTS - 1)
                    if slots[slot] < 0:
                        slots[slot] = sector
                        taken[count] = slot
                        count += 1
            for entry in range(count):
                slots[taken[entry]] = -1
            found[request] = count
            request += 1
    return found
