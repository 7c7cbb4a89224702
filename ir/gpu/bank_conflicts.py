"""Bank conflicts: how many wavefronts the lanes of one request take in a memory of banks of 4 bytes.

A wavefront serves each bank once, a word for all lanes that want it. Accesses of 8 bytes go in half-warps, those of 16
in quarters, each its own wavefront at least. Atomic accesses of one word wait for each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.support.arrays import Longs, frozen
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .description import WARP
from .sites import SIZES

# Places in the scratch memory: first and count by bank, then next and word by entry.
_COUNT, _NEXT, _WORD, BANK_SCRATCH = 32, 64, 256, 448


def bank_wavefronts(
    addresses: npt.ArrayLike, size: int, banks: int = 32, atomic: bool = False, lanes: npt.ArrayLike | None = None
) -> tuple[int, int]:
    """Wavefronts of one request, and how many of them are conflicts: what is more than one for each part of the warp.

    Args:
        addresses: int64 (n), first byte of each active lane, n ≤ 32.
        size: bytes that a lane accesses. banks: 32 or 16. atomic: whether equal words wait for each other.
        lanes: int64 (n), number of each active lane, rising; None: 0 … n − 1.

    Returns:
        (wavefronts, conflicts). O(n · conflicts).

    Raises:
        ArgumentError: more than 32 lanes, lanes that do not rise, a size or a number of banks that there is not.
    """
    given = frozen("addresses", addresses, np.int64)
    active = frozen("lanes", np.arange(given.size) if lanes is None else lanes, np.int64)
    if given.size != active.size or given.size > WARP or (active.size and (active.min() < 0 or active.max() >= WARP)):
        raise ArgumentError(f"{given.size} addresses of {active.size} lanes; at most one of each of 32 was expected")
    if (np.diff(active) <= 0).any() or given.min(initial=0) < 0:
        raise ArgumentError("lanes do not rise, or an address is negative")
    if size not in SIZES or banks not in (16, 32):
        raise ArgumentError(f"{size} bytes in {banks} banks; {SIZES} in 16 or 32 were expected")
    if given.size == 0:
        return 0, 0
    found, parts = _one(given, active, size, banks, atomic)
    return int(found), int(found - parts)


@kept
def _one(addresses: Longs, lanes: Longs, size: int, banks: int, atomic: bool) -> tuple[int, int]:
    count = addresses.size
    memory = np.concatenate((addresses, lanes, np.empty(BANK_SCRATCH, np.int64)))
    found = wavefronts(memory, 0, count, 0, count, size, banks, atomic, 2 * count)
    return found, parts_of(memory, count, 0, count, size, banks)


@njit(nogil=True, inline="always")
def _part_bits(size: Any, banks: Any) -> Any:
    """log₂ of the lanes that share a wavefront."""
    bits = 4 if banks == 16 else 5
    return bits if size <= 4 else bits - 1 if size == 8 else bits - 2


@njit(nogil=True)
def parts_of(memory: Longs, lanes: Any, begin: Any, end: Any, size: Any, banks: Any) -> Any:
    """Parts of the warp in which one of the lanes begin … end − 1 is. Lane numbers stand at memory[lanes]."""
    bits = _part_bits(size, banks)
    low, high = memory[lanes + begin] >> bits, memory[lanes + end - 1] >> bits
    if high - low < 2:
        return high - low + 1
    parts = np.int64(1)
    for lane in range(lanes + begin + 1, lanes + end):
        parts += memory[lane] >> bits != memory[lane - 1] >> bits
    return parts


@njit(nogil=True)
def wavefronts(
    memory: Longs,
    addresses: Any,
    lanes: Any,
    begin: Any,
    end: Any,
    size: Any,
    banks: Any,
    atomic: Any,
    scratch: Any,
) -> Any:
    """Wavefronts of the accesses begin … end − 1.

    addresses, lanes, scratch: where these begin in `memory`.
    """
    bits = _part_bits(size, banks)
    total = np.int64(0)
    while begin < end:
        part = memory[lanes + begin] >> bits
        stop = begin
        low = high = memory[addresses + begin] >> 2
        while stop < end and memory[lanes + stop] >> bits == part:
            low = min(low, memory[addresses + stop] >> 2)
            high = max(high, (memory[addresses + stop] + size - 1) >> 2)
            stop += 1
        if high - low < banks and not atomic:
            total += 1
        else:
            total += _fullest_bank(memory, addresses + begin, addresses + stop, size, banks, atomic, scratch)
        begin = stop
    return total


@njit(nogil=True)
def wavefronts_at_most(
    memory: Longs, addresses: Any, lanes: Any, begin: Any, end: Any, size: Any, banks: Any, scratch: Any
) -> Any:
    """As many as if no two lanes wanted the same word: quicker, and enough where something else takes longer."""
    bits = _part_bits(size, banks)
    total = np.int64(0)
    while begin < end:
        part = memory[lanes + begin] >> bits
        for place in range(np.uint64(scratch), np.uint64(scratch + banks)):
            memory[place] = 0
        most = np.int64(1)
        while begin < end and memory[lanes + begin] >> bits == part:
            address = memory[addresses + begin]
            for word in range(address >> 2, ((address + size - 1) >> 2) + 1):
                bank = np.uint64(scratch + (word & (banks - 1)))
                memory[bank] += 1
                most = max(most, memory[bank])
            begin += 1
        total += most
    return total


@njit(nogil=True)
def _fullest_bank(memory: Longs, begin: Any, end: Any, size: Any, banks: Any, atomic: Any, scratch: Any) -> Any:
    for bank in range(scratch, scratch + banks):
        memory[bank] = -1
        memory[bank + _COUNT] = 0
    entries = most = np.int64(0)
    for place in range(begin, end):
        for word in range(memory[place] >> 2, ((memory[place] + size - 1) >> 2) + 1):
            bank = scratch + (word & (banks - 1))
            entry = memory[bank]
            if atomic:
                entry = -1
            while entry >= 0 and memory[scratch + _WORD + entry] != word:
                entry = memory[scratch + _NEXT + entry]
            if entry < 0:
                memory[scratch + _WORD + entries] = word
                memory[scratch + _NEXT + entries] = memory[bank]
                memory[bank] = entries
                memory[bank + _COUNT] += 1
                most = max(most, memory[bank + _COUNT])
                entries += 1
    return most
