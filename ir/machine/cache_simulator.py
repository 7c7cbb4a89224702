"""The one cache simulator: several levels, set-associative, least recently used.

`reuse` gives the misses of every size of fully associative cache at once, from an order that was never run; this
simulator says what one access costs, in a cache with sets, at the moment it is made. The tracer weighs loads with it,
mapping and code generation price what they plan; `mapping.simulation` has many caches that share lines, made of the
same sets (`keep`, `holds`, `drop`), and `gpu` caches whose lines come in sectors (`keep_sectors`). A miss at one level
asks the next; every level that was asked keeps the line. Levels do not throw out of each other (neither inclusive nor
exclusive by force).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.support.arrays import Ints, Longs, frozen
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

from .machine import Machine
from .parts import Cache

LINE_BITS, SETS, MASK, WAYS, START, LATENCY = range(6)
EMPTY = np.int64(-1)
Tags = Longs | Ints


class Levels(NamedTuple):
    """State of a cache hierarchy; changed by `touch`.

    Attributes:
        tags: int64 (Σ sets · ways), line numbers of each set, most recent first; −1 is empty.
        geometry: int64 (levels, 6): line bits, sets, mask of the set (−1: take the remainder), ways, first tag, cycles.
        counts: int64 (levels + 1), lines found at each level; the last entry counts those from memory.
        memory: cycles of a line from main memory.
    """

    tags: Longs
    geometry: Longs
    counts: Longs
    memory: int


@dataclass(frozen=True, eq=False)
class CacheRun:
    """What a stream of accesses cost: `cycles` int32, one per access; `found` int64, lines by level, memory last."""

    cycles: Ints
    found: Longs

    def __repr__(self) -> str:
        *levels, memory = self.found.tolist()
        shares = ", ".join(f"level {place + 1} {count}" for place, count in enumerate(levels))
        return f"<CacheRun {self.cycles.size} accesses: {shares}, memory {memory}>"


def levels_of(caches: Sequence[Cache], memory_latency: int) -> Levels:
    """Empty caches, nearest first.

    Raises:
        ArgumentError: a line that is no power of two, a size that is no whole number of sets, a line that is longer
            than one of the next level, latencies that fall.
    """
    rows: list[list[int]] = []
    start = before = 0
    for cache in caches:
        name = f"cache level {cache.level}"
        lines = cache.size // cache.line
        ways = cache.ways or lines
        if cache.line & (cache.line - 1) or cache.size % cache.line or lines % ways:
            raise ArgumentError(
                f"{name}: {cache.size} bytes in lines of {cache.line} and {ways} ways is no whole number of sets"
            )
        if rows and cache.line.bit_length() - 1 < rows[-1][LINE_BITS]:
            raise ArgumentError(f"{name} has shorter lines than the level before it")
        if cache.latency < max(1, before):
            raise ArgumentError(
                f"{name} answers in {cache.latency} cycles, at least {max(1, before)} expected",
                hint="Give every level a latency, rising from level to level.",
            )
        sets = lines // ways
        rows.append([cache.line.bit_length() - 1, sets, -1 if sets & (sets - 1) else sets - 1, ways, start])
        rows[-1].append(cache.latency)
        start += lines
        before = cache.latency
    if not rows or memory_latency < before:
        raise ArgumentError(f"memory answers in {memory_latency} cycles, behind {len(rows)} caches; more was expected")
    return Levels(
        np.full(start, EMPTY), np.array(rows, np.int64), np.zeros(len(rows) + 1, np.int64), int(memory_latency)
    )


def simulate(addresses: npt.ArrayLike, lengths: npt.ArrayLike | int = 8, machine: Machine | None = None) -> CacheRun:
    """Cycles of each access of a stream, starting with empty caches.

    Args:
        addresses: int64 (n), first byte of each access, not negative.
        lengths: int64 (n) or one number, bytes of each access; an access costs the sum over the lines it covers.
        machine: caches with latencies; None takes `Machine.model()`.

    Returns:
        A CacheRun. O(lines touched · ways).
    """
    machine = Machine.model() if machine is None else machine
    first = frozen("addresses", addresses, np.int64)
    given = np.asarray(lengths)
    size = frozen("lengths", np.full(first.size, given) if given.ndim == 0 else given, np.int64)
    if size.size != first.size:
        raise ArgumentError(f"{first.size} addresses and {size.size} lengths")
    if first.min(initial=0) < 0 or size.min(initial=1) < 1:
        raise ArgumentError("an address is negative, or a length below 1")
    levels = levels_of(machine.caches, machine.memory_latency)
    cycles = _simulate(levels, first, size)
    return CacheRun(frozen("cycles", cycles, np.int32), frozen("found", levels.counts, np.int64))


@kept
def _simulate(levels: Levels, addresses: Longs, lengths: Longs) -> Ints:
    cycles = np.empty(addresses.size, np.int32)
    for i in range(addresses.size):
        cycles[i] = access(levels, addresses[i], lengths[i])
    return cycles


@njit(nogil=True)
def access(levels: Levels, address: int, length: int) -> int:
    """Cycles of touching `length` bytes: the sum over the lines of the nearest level."""
    bits = levels.geometry[0, LINE_BITS]
    line = address >> bits
    last = (address + length - 1) >> bits
    cycles = touch(levels, line)
    while line < last:
        line += 1
        cycles += touch(levels, line)
    return cycles


@njit(nogil=True)
def touch(levels: Levels, line: int) -> int:
    """Cycles of touching one line of the nearest level, which it then holds as its most recent."""
    geometry = levels.geometry
    mask = geometry[0, MASK]
    start = (line & mask if mask >= 0 else line % geometry[0, SETS]) * geometry[0, WAYS]
    if levels.tags[start] == line:
        levels.counts[0] += 1
        return geometry[0, LATENCY]
    return _search(levels.tags, geometry, levels.counts, levels.memory, line)


@njit(nogil=True)
def _search(tags: Longs, geometry: Longs, counts: Longs, memory: int, line: int) -> int:
    """The same for a line that is not the most recent one of its set: what was before it moves on, in one pass."""
    bits = geometry[0, LINE_BITS]
    for level in range(geometry.shape[0]):
        number = line >> (geometry[level, LINE_BITS] - bits)
        first = geometry[level, START] + own_set(geometry, level, number) * geometry[level, WAYS]
        if keep(tags, first, geometry[level, WAYS], number) == number:
            counts[level] += 1
            return geometry[level, LATENCY]
    counts[geometry.shape[0]] += 1
    return memory


@njit(nogil=True, inline="always")
def own_set(geometry: Longs, level: int, number: Any) -> Any:
    """Set of a line in a level."""
    mask = geometry[level, MASK]
    return number & mask if mask >= 0 else number % geometry[level, SETS]


@njit(nogil=True, inline="always")
def keep(tags: Tags, first: Any, ways: Any, tag: Any) -> Any:
    """Make `tag` the most recent of the set that begins at `first`. Returns it if it was there, else what gave way."""
    place = np.uint64(first)
    end = place + np.uint64(ways)
    moved = tag
    while place < end:
        before = tags[place]
        tags[place] = moved
        if before == tag:
            return before
        moved = before
        place += np.uint64(1)
    return moved


@njit(nogil=True)
def holds(tags: Tags, first: Any, ways: Any, tag: Any) -> bool:
    """Whether the set that begins at `first` holds `tag`; nothing changes."""
    place = np.uint64(first)
    end = place + np.uint64(ways)
    while place < end and tags[place] != tag:
        place += np.uint64(1)
    return bool(place < end)


@njit(nogil=True)
def drop(tags: Tags, first: Any, ways: Any, tag: Any, empty: Any) -> bool:
    """Take `tag` out of the set that begins at `first`, `empty` into its last place. Returns whether it was there."""
    place = np.uint64(first)
    last = place + np.uint64(ways) - np.uint64(1)
    while tags[place] != tag:
        if place == last:
            return False
        place += np.uint64(1)
    while place < last:
        tags[place] = tags[place + np.uint64(1)]
        place += np.uint64(1)
    tags[last] = empty
    return True


@njit(nogil=True, inline="always")
def spread_set(line: Any, sets: Any, bits: Any) -> Any:
    """Set of a line where strides of powers of two shall not meet in few sets, as hashed caches have it.

    bits: ⌊log₂ sets⌋. Lines of an aligned run of 2^bits go to as many sets as without the hash.
    """
    number = np.uint64(line)
    by = np.uint64(bits)
    mixed = number ^ (number >> by) ^ (number >> (by + by))
    return np.int64((mixed & np.uint64(0xFFFFFFFF)) % np.uint64(sets))


@njit(nogil=True, inline="always")
def keep_sectors(tags: Longs, first: Any, ways: Any, line: Any, flags: Any) -> Any:
    """Make `line` the most recent of the set that begins at `first`, with these flags and those that it had.

    Words are line · 256 + flags; what the eight flags say is the caller's (sectors that are there, that are changed).
    Returns the word that the line had, else the word that gave way: EMPTY, or one of another line.
    """
    place = np.uint64(first)
    end = place + np.uint64(ways)
    moved = line << 8 | flags
    while place < end:
        before = tags[place]
        tags[place] = moved
        if before >> 8 == line:
            tags[first] |= before & 255
            return before
        moved = before
        place += np.uint64(1)
    return moved


@njit(nogil=True, inline="always")
def keep_sectors_last(tags: Longs, first: Any, ways: Any, line: Any, flags: Any) -> Any:
    """The same for a line that is to go first: a new one gets an empty place, else that of the least recent one.

    A line that was there keeps its place.
    """
    place = np.uint64(first)
    last = place + np.uint64(ways) - np.uint64(1)
    while True:
        before = tags[place]
        if before >> 8 == line:
            tags[place] = before | flags
            return before
        if before == EMPTY or place == last:
            tags[place] = line << 8 | flags
            return before
        place += np.uint64(1)
