"""The caches, directory and memory banks that a simulated program shares: what there is, and what an access does to it.

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
from tracecut.ir.machine.cache_simulator import LATENCY, LINE_BITS, WAYS, drop, holds, keep, levels_of, own_set
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.parts import Bank
from tracecut.ir.machine.routes import Routes, distance
from tracecut.support.arrays import Bytes, Ints, Longs
from tracecut.support.errors import ArgumentError

NEAR, UNDER_WAY, SHARED, OTHER, MEMORY = range(5)  # where the line of an access was found
FOUND = ("own", "under_way", "shared", "other", "memory")
INVALIDATIONS, WRITTEN_BACK = range(2)
LARGEST_DIRECTORY = 4 << 30  # bytes
NOBODY = np.int32(-1)


class Caches(NamedTuple):
    """State of all caches; changed by the functions below. A tag is the number of a line below, plus 1; 0 is empty.

    Attributes:
        geometry: int64 (levels, 6), as the cache simulator's.
        near, far: int32, tags of all L1s, and of all slices.
        first_slice, slices: int32 (cores), slices of the group of each core, from which on and how many.
        slice_node, bank_node: int64, where they are.
        number: int64 (lines), of the accessed lines of L1, rising in the order of the program's first accesses.
        far_line: int32 (lines), which different line of L2 each lies in, numbered as they are.
        owner: int32 (lines), core that alone has the line, or NOBODY. dirty: uint8 (lines), whether it wrote it.
        sharers: uint64 (lines, ⌈cores / 64⌉), L1s that hold the line.
        bank_free, bank_busy, bank_load: int64 (banks): when each may begin a line, cycles between two, lines sent.
        found: int64 (5), accesses by where their line was. counts: int64 (2), INVALIDATIONS, WRITTEN_BACK.
        waits: int64 (3), cycles of the L1, and beyond it of a slice, and beyond that of the memory.
    """

    geometry: Longs
    near: Ints
    far: Ints
    first_slice: Ints
    slices: Ints
    slice_node: Longs
    bank_node: Longs
    number: Longs
    far_line: Ints
    owner: Ints
    dirty: Bytes
    sharers: npt.NDArray[np.uint64]
    bank_free: Longs
    bank_busy: Longs
    bank_load: Longs
    found: Longs
    counts: Longs
    waits: Longs


def unfit(machine: Machine) -> str:
    """Why the caches of a machine can not be simulated; empty where they can."""
    caches = machine.caches
    if not 1 <= len(caches) <= 2:
        return f"{machine.name} has {len(caches)} levels of caches, one or two can be simulated"
    if not machine.memory_latency or not all(cache.latency for cache in caches):
        return f"{machine.name} states no latencies of its caches and memory"
    if caches[0].shared_by != 1:
        return f"{caches[0].shared_by} cores of {machine.name} share their first cache, one of its own was expected"
    return ""


def caches_of(machine: Machine, number: Longs) -> Caches:
    """Empty caches of a machine for the lines of L1 with these numbers. Raises ArgumentError: what can not be."""
    levels = levels_of(machine.caches, machine.memory_latency)
    geometry, cores = levels.geometry, len(machine.cores)
    banks = machine.banks or (Bank(0, machine.memory),)
    bank_node = np.array([bank.node for bank in banks], np.int64)
    first_slice, slices = np.zeros(cores, np.int32), np.full(cores, len(banks), np.int32)
    slice_node, lines = bank_node, 0
    if len(machine.caches) == 2:
        nodes: list[int] = []
        shared = max(1, machine.caches[1].shared_by)
        for first in range(0, cores, shared):
            there = machine.core_nodes[first : first + shared]
            held = there.tolist() if np.unique(there).size > 1 else [int(there[0])]
            first_slice[first : first + shared], slices[first : first + shared] = len(nodes), len(held)
            nodes += held
        slice_node = np.array(nodes, np.int64)
        lines = slice_node.size * (machine.caches[1].size // machine.caches[1].line)
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
    return Caches(
        geometry,
        np.zeros(cores * (machine.caches[0].size // machine.caches[0].line), np.int32),
        np.zeros(lines, np.int32),
        first_slice,
        slices,
        slice_node,
        bank_node,
        number,
        numbered(number >> (geometry[-1, LINE_BITS] - geometry[0, LINE_BITS]))[0],
        np.full(number.size, NOBODY),
        np.zeros(number.size, np.uint8),
        np.zeros((number.size, words), np.uint64),
        np.zeros(len(banks), np.int64),
        np.array(busy, np.int64),
        np.zeros(len(banks), np.int64),
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
    geometry, sharers = np.zeros((0, 6), np.int64), np.zeros((0, 0), np.uint64)
    counts = longs, longs, longs, np.zeros(len(FOUND), np.int64), np.zeros(2, np.int64), np.zeros(3, np.int64)
    lines = longs, ints, ints, np.zeros(0, np.uint8), sharers
    return Caches(geometry, ints, ints, ints, ints, longs, longs, *lines, *counts)


@njit(cache=True, nogil=True)
def numbered(lines: Longs) -> tuple[Ints, Longs]:
    """Lines, −1 for none, by their place among all different ones in the order in which they come; those. O(n)."""
    size = 64
    table, different = np.full(size, NOBODY), np.empty(size, np.int64)
    found = np.empty(lines.size, np.int32)
    count = 0
    for i in range(lines.size):
        if lines[i] < 0:
            found[i] = NOBODY
            continue
        if 2 * count >= size:
            size *= 2
            longer = np.empty(size, np.int64)
            longer[:count] = different[:count]
            different, table = longer, np.full(size, NOBODY)
            for one in range(count):
                table[_place(table, different, different[one])] = one
        place = _place(table, different, lines[i])
        if table[place] == NOBODY:
            table[place] = count
            different[count] = lines[i]
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


@njit(nogil=True, inline="always")
def _near_set(caches: Caches, core: Any, line: Any) -> Any:
    """First tag of the set of a line in the L1 of a core."""
    one = np.int64(caches.near.size // caches.first_slice.size)
    return core * one + own_set(caches.geometry, 0, caches.number[line]) * caches.geometry[0, WAYS]


@njit(nogil=True, inline="always")
def slice_of(caches: Caches, core: Any, line: Any) -> Any:
    """The slice that a core asks for a line."""
    number = caches.number[line] >> _shift(caches)
    return caches.first_slice[core] + number % np.int64(caches.slices[core])


@njit(nogil=True, inline="always")
def bank_of(caches: Caches, line: Any) -> Any:
    """The bank that has a line."""
    return (caches.number[line] >> _shift(caches)) % np.int64(caches.bank_node.size)


@njit(nogil=True, inline="always")
def _shift(caches: Caches) -> Any:
    return caches.geometry[caches.geometry.shape[0] - 1, LINE_BITS] - caches.geometry[0, LINE_BITS]


@njit(nogil=True, inline="always")
def _far_set(caches: Caches, core: Any, line: Any) -> Any:
    """First tag of the set of a line in the slice that a core asks for it; its slices' sets are all used."""
    one = np.int64(caches.far.size // caches.slice_node.size)
    number = (caches.number[line] >> _shift(caches)) // np.int64(caches.slices[core])
    return slice_of(caches, core, line) * one + own_set(caches.geometry, 1, number) * caches.geometry[1, WAYS]


@njit(nogil=True, inline="always")
def found_near(caches: Caches, core: Any, line: Any, write: bool) -> bool:
    """Whether an access is done in the L1 of its core; if so, it is."""
    if write and caches.owner[line] != core:
        return False
    first, ways = _near_set(caches, core, line), caches.geometry[0, WAYS]
    tag = np.int32(line + 1)
    if caches.near[first] != tag:
        if not holds(caches.near, first, ways, tag):
            return False
        keep(caches.near, first, ways, tag)
    caches.found[NEAR] += 1
    if write and not caches.dirty[line]:
        _written(caches, core, line)
    return True


@njit(nogil=True)
def _written(caches: Caches, core: Any, line: Any) -> None:
    """Its owner has changed a line: no other group's L2 holds it."""
    caches.dirty[line] = 1
    if caches.geometry.shape[0] == 1:
        return
    tag = np.int32(caches.far_line[line] + 1)
    other, cores = 0, caches.first_slice.size
    while other < cores:
        first = caches.first_slice[other]
        if first != caches.first_slice[core]:
            drop(caches.far, _far_set(caches, other, line), caches.geometry[1, WAYS], tag, np.int32(0))
        while other < cores and caches.first_slice[other] == first:
            other += 1


@njit(nogil=True)
def ask(caches: Caches, routes: Routes, nodes_of: Longs, hop: Any, core: Any, line: Any, write: bool) -> Any:
    """What the slice of a line finds for a core: (where, owner before, cycles of the farthest invalidation)."""
    tag, ways = np.int32(line + 1), caches.geometry[0, WAYS]
    word, bit = core >> 6, np.uint64(1) << np.uint64(core & 63)
    held = caches.sharers[line, word] & bit != 0
    owner = caches.owner[line]
    where = NEAR if held else OTHER if owner != NOBODY else MEMORY
    if not held and caches.geometry.shape[0] == 2:
        far_tag = np.int32(caches.far_line[line] + 1)
        hit = keep(caches.far, _far_set(caches, core, line), caches.geometry[1, WAYS], far_tag) == far_tag
        where = SHARED if hit and where == MEMORY else where
    farthest = 0
    alone = True
    for place in range(caches.sharers.shape[1]):
        rest = caches.sharers[line, place]
        if place == word:
            rest &= ~bit
        if rest == 0:
            continue
        alone = False
        if not write:
            break
        node = caches.slice_node[slice_of(caches, core, line)]
        for i in range(64):
            if rest >> np.uint64(i) & np.uint64(1):
                other = 64 * place + i
                drop(caches.near, _near_set(caches, other, line), ways, tag, np.int32(0))
                caches.counts[INVALIDATIONS] += 1
                if where != OTHER:
                    farthest = max(farthest, 2 * hop * distance(routes, node, nodes_of[other]))
        caches.sharers[line, place] ^= rest
    gone = keep(caches.near, _near_set(caches, core, line), ways, tag)
    if gone != tag and gone != 0:
        _leaves(caches, core, gone - 1)
    caches.sharers[line, word] |= bit
    if write:
        caches.owner[line] = core
        _written(caches, core, line)
    else:
        caches.counts[WRITTEN_BACK] += caches.dirty[line]
        caches.dirty[line] = 0
        caches.owner[line] = core if alone else NOBODY
    caches.found[where] += 1
    if where == MEMORY:
        caches.bank_load[bank_of(caches, line)] += 1
    return where, owner, farthest


@njit(nogil=True)
def _leaves(caches: Caches, core: Any, line: Any) -> None:
    """A line gives way in the L1 of a core."""
    caches.sharers[line, core >> 6] &= ~(np.uint64(1) << np.uint64(core & 63))
    if caches.owner[line] == core:
        caches.counts[WRITTEN_BACK] += caches.dirty[line]
        caches.dirty[line] = 0
        caches.owner[line] = NOBODY
