"""The caches, directory and memory banks that a simulated program shares: their state, and the effect of an access.

Each core has a level of its own (L1). The last level (L2) is distributed where cores of several nodes share it: one
slice of its stated size at each of them, lines dealt out in turn; else it is one piece for each group of `shared_by`
cores. A machine with one level asks the banks at once. Lines are dealt out to the memory banks in turn, too. Both
levels are the sets of the one cache simulator: least recently used, every level that was asked keeps the line, neither
throws out of the other.

**An access** is of one line, that of its first byte, on the core where `mapping.simulation.plan` has it; it is a write
when it writes at all. It takes the L1's latency when its L1 holds the line, a write only if no other L1 may. A core has
one request for a line under way: a read of a line that is on its way finishes when that arrives (L1 latency at least)
and so does a write of a line that is on its way to be written; a write of a line that is on its way to be read waits
before it begins, and its core with it. Else the access needs a miss register and

1. asks, after the L1's latency, the slice that has the line, with a word over the network;
2. the slice looks: if another core alone has the line, a word goes there, and after the L1's latency of that core the
   line from there to the one that asked; else the line is sent after the L2's latency less the L1's, if the slice has
   it; else a word goes to the bank, which begins one line after the other, each ⌈line / bandwidth⌉ cycles after the one
   before, and sends it after the memory's latency less the L2's. So a lone core pays just the stated latencies;
3. a line travels with a word in front. Requests, answers and values share the links, values first, then by the order
   of the program. A write of a line that its own L1 holds is answered by a word.

**Directory.** Per line: the L1s that hold it, and whether one of them alone has it; that one may write it. A read makes
its core the sole owner if no other L1 holds the line, else a sharer beside the owner so far. A write drops all other
copies; unless the line comes from the only one, the slice waits for the farthest, there and back by hops. Tags,
directory and slice change at the moment when the slice looks, so no two requests race. Other groups' L2 lose a line
when a core begins to change it.

**Cost.** The access stands in for the cycles that the graph states for it: the weight of its memory edges, all of
`time` where it has none; what a statement has beyond the machine's memory latency (accesses of many lines) is spent
after the access. Latencies are cycles of the machine, whatever the speed of the core. A dependence through memory sends
its word as every other does: it tells the reader that the line is written.

**What VertexCut's Table 2 has and this has not:** virtual channels, and a window of instructions beside the miss
registers. Lines that are written back (counted) and invalidations take no links, lines that leave an L2 no time at
their bank. The table states no policies, banks, latencies or coherence: those above are ours.
"""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.ir.machine.cache_simulator import LATENCY, LINE_BITS, SETS, WAYS, drop, holds, keep, levels_of, own_set
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.parts import Bank
from tracecut.ir.machine.routes import Routes, distance
from tracecut.support.arrays import Bytes, Ints, Longs
from tracecut.support.errors import ArgumentError
from tracecut.support.lazy_kernels import kept

NEAR, UNDER_WAY, SHARED, OTHER, MEMORY = range(5)  # where the line of an access was found
FOUND = ("own", "under_way", "shared", "other", "memory")
INVALIDATIONS, WRITTEN_BACK = range(2)
OWNER, CHANGED, FAR_LINE, NEAR_SET = range(4)  # columns of `Caches.lines`
NODE, FREE, BUSY, LOAD = range(4)  # columns of `Caches.banks`
FIRST, COUNT = range(2)  # columns of `Caches.groups`
LARGEST_DIRECTORY = 4 << 30  # bytes
NOBODY = np.int32(-1)
Masks = npt.NDArray[np.uint64]


class Caches(NamedTuple):
    """State of all caches; changed by the functions below. A tag is the number of a line below, plus 1; 0 is empty.

    Attributes:
        geometry: int64 (levels, 6), as the cache simulator's.
        near, far: int32, tags of all L1s, and of all slices.
        groups: int32 (cores, 2), slices of the group of each core: FIRST, COUNT.
        slices: int64, node of each slice.
        banks: int64 (banks, 4): NODE; FREE, when it may begin a line; BUSY, cycles between two; LOAD, lines sent.
        number: int64 (lines), of the accessed lines of L1, in the order of the program's first accesses.
        lines: int32 (lines, 4): OWNER, core that alone has it, or NOBODY; CHANGED, whether it wrote it; FAR_LINE, which
            different line of L2 it lies in, counted as these are; NEAR_SET, first tag of its set in an L1.
        sharers: uint64 (lines, ⌈cores / 64⌉), L1s that hold the line.
        found: int64 (5), accesses by where their line was. counts: int64 (2), INVALIDATIONS, WRITTEN_BACK.
        waits: int64 (3), cycles of the L1, and beyond it of a slice, and beyond that of the memory.
    """

    geometry: Longs
    near: Ints
    far: Ints
    groups: Ints
    slices: Longs
    banks: Longs
    number: Longs
    lines: Ints
    sharers: Masks
    found: Longs
    counts: Longs
    waits: Longs


def unfit(machine: Machine) -> str:
    """Why the caches of a machine cannot be simulated; empty where they can."""
    caches = machine.caches
    if not 1 <= len(caches) <= 2:
        return f"{machine.name} has {len(caches)} levels of caches, one or two can be simulated"
    if not machine.memory_latency or not all(cache.latency for cache in caches):
        return f"{machine.name} states no latencies of its caches and memory"
    if caches[0].shared_by != 1:
        return f"{caches[0].shared_by} cores of {machine.name} share their first cache, one of its own was expected"
    return ""


def caches_of(machine: Machine, number: Longs) -> Caches:
    """Empty caches of a machine for the lines of L1 with these numbers. Raises ArgumentError: what cannot be."""
    levels = levels_of(machine.caches, machine.memory_latency)
    geometry, cores = levels.geometry, len(machine.cores)
    banks = machine.banks or (Bank(0, machine.memory),)
    groups = np.zeros((cores, 2), np.int32)
    slices, tags = np.array([bank.node for bank in banks], np.int64), 0
    groups[:, COUNT] = len(banks)
    if len(machine.caches) == 2:
        nodes: list[int] = []
        shared = max(1, machine.caches[1].shared_by)
        for first in range(0, cores, shared):
            there = machine.core_nodes[first : first + shared]
            held = there.tolist() if np.unique(there).size > 1 else [int(there[0])]
            groups[first : first + shared] = len(nodes), len(held)
            nodes += held
        slices = np.array(nodes, np.int64)
        tags = slices.size * (machine.caches[1].size // machine.caches[1].line)
    words = -(-cores // 64)
    if 8 * words * number.size > LARGEST_DIRECTORY:
        raise ArgumentError(
            f"a directory of {number.size} lines and {cores} cores takes more than {LARGEST_DIRECTORY >> 30} GiB",
            hint="Simulate with caches=False, the cycles that the graph states.",
        )
    last = machine.last_cache().line
    busy = [max(1, ceil(last / bank.bandwidth)) if bank.bandwidth else 1 for bank in banks]
    latencies = [*geometry[:, LATENCY].tolist(), machine.memory_latency]
    if len(latencies) == 2:
        latencies.insert(1, latencies[0])
    lines = np.zeros((number.size, 4), np.int32)
    lines[:, OWNER] = NOBODY
    lines[:, FAR_LINE] = numbered(
        number, np.ones(number.size, np.uint8), int(geometry[-1, LINE_BITS] - geometry[0, LINE_BITS])
    )[0]
    lines[:, NEAR_SET] = (number % geometry[0, SETS]) * geometry[0, WAYS]
    return Caches(
        geometry,
        np.zeros(cores * (machine.caches[0].size // machine.caches[0].line), np.int32),
        np.zeros(tags, np.int32),
        groups,
        slices,
        np.array([(bank.node, 0, cycles, 0) for bank, cycles in zip(banks, busy, strict=True)], np.int64),
        number,
        lines,
        np.zeros((number.size, words), np.uint64),
        np.zeros(len(FOUND), np.int64),
        np.zeros(2, np.int64),
        np.array([latencies[0], latencies[1] - latencies[0], latencies[2] - latencies[1]], np.int64),
    )


def near_line(machine: Machine) -> int:
    """Bytes of a line of the L1, 0 without."""
    return machine.caches[0].line if machine.caches else 0


def no_caches() -> Caches:
    """Of a machine whose accesses take the cycles that the graph states."""
    ints, longs = np.zeros(0, np.int32), np.zeros(0, np.int64)
    rows, banks, sharers = np.zeros((0, 4), np.int32), np.zeros((0, 4), np.int64), np.zeros((0, 0), np.uint64)
    counts = np.zeros(len(FOUND), np.int64), np.zeros(2, np.int64), np.zeros(3, np.int64)
    geometry, groups = np.zeros((0, 6), np.int64), np.zeros((0, 2), np.int32)
    return Caches(geometry, ints, ints, groups, longs, banks, longs, rows, sharers, *counts)


@kept
def numbered(addresses: Longs, accesses: Bytes, bits: int) -> tuple[Ints, Longs]:
    """Lines of 2^bits bytes by their place among all different ones, in the order in which they come; those. O(n).

    A line is −1 where the address is, or the access is 0.
    """
    size = 64
    table, different = np.full(size, NOBODY), np.empty(size, np.int64)
    found = np.empty(addresses.size, np.int32)
    count = 0
    for i in range(addresses.size):
        if addresses[i] < 0 or accesses[i] == 0:
            found[i] = NOBODY
            continue
        line = addresses[i] >> bits
        if 2 * count >= size:
            size *= 2
            longer = np.empty(size, np.int64)
            longer[:count] = different[:count]
            different, table = longer, np.full(size, NOBODY)
            for one in range(count):
                table[_place(table, different, different[one])] = one
        place = _place(table, different, line)
        if table[place] == NOBODY:
            table[place] = count
            different[count] = line
            count += 1
        found[i] = table[place]
    return found, different[:count].copy()


@njit(nogil=True)
def _place(table: Ints, different: Longs, line: Any) -> Any:
    """Of the line in the hash table, or where it would be."""
    mixed = np.uint64(line) * np.uint64(0x9E3779B97F4A7C15)
    place = np.int64(mixed >> np.uint64(32)) & (table.size - 1)
    while table[place] != NOBODY and different[table[place]] != line:
        place = (place + 1) & (table.size - 1)
    return place


# The members of a tuple are looked up once in the functions below: each look takes and leaves a reference.


@njit(nogil=True)
def far_number(geometry: Longs, number: Longs, line: Any) -> Any:
    """Number of the line of the last level in which a line lies."""
    return number[line] >> (geometry[geometry.shape[0] - 1, LINE_BITS] - geometry[0, LINE_BITS])


@njit(nogil=True)
def slice_of(groups: Ints, core: Any, number: Any) -> Any:
    """The slice that a core asks for a line of the last level."""
    return groups[core, FIRST] + number % np.int64(groups[core, COUNT])


@njit(nogil=True)
def _far_set(geometry: Longs, groups: Ints, size: Any, core: Any, number: Any) -> Any:
    """First tag of its set in that slice, which has `size` tags and uses all of its sets."""
    own = own_set(geometry, 1, number // np.int64(groups[core, COUNT]))
    return slice_of(groups, core, number) * size + own * geometry[1, WAYS]


@njit(nogil=True)
def renewed(tags: Ints, first: Any, ways: Any, tag: Any) -> bool:
    """Whether a set holds a tag, which is its most recent one then."""
    if tags[first] == tag:
        return True
    if not holds(tags, first, ways, tag):
        return False
    keep(tags, first, ways, tag)
    return True


@njit(nogil=True)
def change(caches: Caches, core: Any, line: Any) -> None:
    """Its owner begins to change a line: no other group's L2 holds it."""
    geometry, groups, far, lines = caches.geometry, caches.groups, caches.far, caches.lines
    lines[line, CHANGED] = 1
    if geometry.shape[0] == 1:
        return
    tag = np.int32(lines[line, FAR_LINE] + 1)
    number, size = far_number(geometry, caches.number, line), np.int64(far.size // caches.slices.size)
    other, cores = 0, groups.shape[0]
    mine = groups[core, FIRST]
    while other < cores:
        first = groups[other, FIRST]
        if first != mine:
            drop(far, _far_set(geometry, groups, size, other, number), geometry[1, WAYS], tag, np.int32(0))
        elif mine == 0 and groups[cores - 1, FIRST] == 0:
            return  # one group
        while other < cores and groups[other, FIRST] == first:
            other += 1


@njit(nogil=True)
def ask(caches: Caches, routes: Routes, nodes_of: Longs, hop: Any, core: Any, line: Any, write: Any) -> Any:
    """What the slice of a line finds for a core: (where, owner before, cycles of the farthest invalidation)."""
    geometry, near, far, groups, lines = caches.geometry, caches.near, caches.far, caches.groups, caches.lines
    sharers, counts = caches.sharers, caches.counts
    tag, ways, size = np.int32(line + 1), geometry[0, WAYS], np.int64(near.size // nodes_of.size)
    number, near_set = far_number(geometry, caches.number, line), lines[line, NEAR_SET]
    word, bit = core >> 6, np.uint64(1) << np.uint64(core & 63)
    held = sharers[line, word] & bit != 0
    owner = lines[line, OWNER]
    where = NEAR if held else OTHER if owner != NOBODY else MEMORY
    if not held and geometry.shape[0] == 2:
        far_tag = np.int32(lines[line, FAR_LINE] + 1)
        first = _far_set(geometry, groups, np.int64(far.size // caches.slices.size), core, number)
        hit = keep(far, first, geometry[1, WAYS], far_tag) == far_tag
        where = SHARED if hit and where == MEMORY else where
    farthest = 0
    alone = True
    node = caches.slices[slice_of(groups, core, number)]
    for place in range(sharers.shape[1]):
        rest = sharers[line, place]
        if place == word:
            rest &= ~bit
        if rest == 0:
            continue
        alone = False
        if not write:
            break
        sharers[line, place] ^= rest
        other = 64 * place
        while rest:
            if rest & np.uint64(1):
                drop(near, other * size + near_set, ways, tag, np.int32(0))
                counts[INVALIDATIONS] += 1
                if where != OTHER:
                    farthest = max(farthest, 2 * hop * distance(routes, node, nodes_of[other]))
            rest >>= np.uint64(1)
            other += 1
    gone = keep(near, core * size + near_set, ways, tag)
    if gone != tag and gone != 0:
        sharers[gone - 1, word] &= ~bit
        if lines[gone - 1, OWNER] == core:
            counts[WRITTEN_BACK] += lines[gone - 1, CHANGED]
            lines[gone - 1, CHANGED] = 0
            lines[gone - 1, OWNER] = NOBODY
    sharers[line, word] |= bit
    if write:
        lines[line, OWNER] = core
        change(caches, core, line)
    else:
        counts[WRITTEN_BACK] += lines[line, CHANGED]
        lines[line, CHANGED] = 0
        lines[line, OWNER] = core if alone else NOBODY
    caches.found[where] += 1
    return where, owner, farthest
