"""What jobs cost on cores with caches: one step is one access of a job to a record, or to a line that is streamed.

Each core takes its jobs in turn. A step is begun `share` cycles behind the one before it, and not before all but
`window` instructions before it have ended, in order: that is how far a core looks ahead. A line that the first cache
has not needs one of the core's `mshrs` until it is there; one from memory occupies the banks for line / bandwidth
cycles first, and so does a line that was changed when the last cache gives it up. A record that is updated can be
updated again `forward` cycles later. Streamed lines are fetched ahead: they occupy no `mshrs`, and a job waits for one
only where the banks are behind. So are lines near the last one that the first cache had not in their page, of those
pages that the core missed in last: their step takes what it takes in the first cache, or waits for the banks. A core
that changes a line takes it from the private caches of the others. The core that is least far runs its next job, so
that all see the same caches and banks in nearly the order of time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from tracecut.ir.machine.cache_simulator import LATENCY, LINE_BITS, SETS, START, WAYS, drop, keep, own_set
from tracecut.support.arrays import Bytes, Floats, Ints, Longs

CORES_A_LEVEL = 6  # behind the columns of the geometry of one core's caches
PAGE_BITS = 12
AHEAD = 20  # lines that a stream is fetched ahead (Intel 64 and IA-32 Architectures Optimization Reference Manual)

Sharers = npt.NDArray[np.uint64]


class Work(NamedTuple):
    """What is run. Records of array a begin at byte `base[a]`, `stride[a]` apart; a record begins its pins' accesses.

    Attributes:
        offsets: int64 (jobs + 1); data: int32 (pins), positions in the order of the data; array: int32 (pins).
        changes: uint8 (pins), 0 read, 1 written, 2 updated.
        base, stride, first: int64 (arrays); `first`: of the records of all arrays together, number of the first one.
        streamed: int64 (jobs + 1), first streamed byte of each place of the job order.
        jobs: int32 (jobs), the order. places: places of the order, wave by wave and there core by core; in each wave
            a core runs [begins[wave, core], ends[wave, core]) of them.
    """

    offsets: Longs
    data: Ints
    array: Ints
    changes: Bytes
    base: Longs
    stride: Longs
    first: Longs
    streamed: Longs
    jobs: Ints
    places: Ints
    begins: Longs
    ends: Longs


class Cores(NamedTuple):
    """State of the cores and of what they share; times are cycles.

    Attributes:
        tags, geometry: of all caches of all cores; a row a level, with the cores that share one as its last column.
        found: int64 (levels + 1), lines by the level that had them.
        sharers: uint64 (lines), cores whose private caches may hold it. dirty: uint8 (lines).
        front, retired: float64 (cores). slots: float64 (cores, mshrs), when each is free again.
        streams: int64 (cores, pages, 2), pages that a core missed in, the last one first, and the line there.
        ends, counts: float64 (cores, room), ring of the last steps. ring: int64 (cores, 2), first and last of them.
        issued: float64 (cores), instructions. updated: float64 (records).
        bank: float64 (1), when it is free. moved: int64 (1), lines that it moved.
    """

    tags: Ints
    geometry: Longs
    found: Longs
    sharers: Sharers
    dirty: Bytes
    front: Floats
    retired: Floats
    slots: Floats
    streams: Longs
    ends: Floats
    counts: Floats
    ring: Longs
    issued: Floats
    updated: Floats
    bank: Floats
    moved: Longs


class Costs(NamedTuple):
    """`share` cycles and `instructions` a step, `window` instructions, cycles of memory, of a line there, `forward`."""

    share: float
    instructions: float
    window: float
    memory: float
    line: float
    forward: float


@njit(nogil=True)
def run_waves(work: Work, cores: Cores, costs: Costs, low: int, high: int) -> float:
    """Run waves [low, high) on the caches as they are. Returns the cycles; O(pins · ways)."""
    count = cores.front.size
    start = cores.retired.max()
    next = np.zeros(count, np.int64)
    for wave in range(low, high):
        begin = cores.retired.max()
        for core in range(count):
            cores.front[core] = cores.retired[core] = begin
            next[core] = work.begins[wave, core]
        while True:
            least = -1
            for core in range(count):
                if next[core] < work.ends[wave, core] and (least < 0 or cores.front[core] < cores.front[least]):
                    least = core
            if least < 0:
                break
            _job(work, cores, costs, least, int(work.places[next[least]]))
            next[least] += 1
    return cores.retired.max() - start


@njit(nogil=True)
def _job(work: Work, cores: Cores, costs: Costs, core: int, place: int) -> None:
    bits = cores.geometry[0, LINE_BITS]
    inputs = cores.front[core]
    low, high = work.streamed[place], work.streamed[place + 1]
    if high > low:
        for line in range((low + (1 << bits) - 1) >> bits, ((high - 1) >> bits) + 1):
            level = _look(cores, costs, core, line, inputs, False)
            if level == cores.geometry.shape[0]:
                inputs = _from_bank(cores, costs, inputs) + costs.line
    job = work.jobs[place]
    for pin in range(work.offsets[job], work.offsets[job + 1]):
        begin = _begin(cores, costs, core)
        array, changes = work.array[pin], work.changes[pin]
        address = work.base[array] + work.stride[array] * work.data[pin]
        done = begin
        for line in range(address >> bits, ((address + work.stride[array] - 1) >> bits) + 1):
            done = max(done, _fetch(cores, costs, core, line, begin, changes != 0))
        if changes == 0:
            inputs = max(inputs, done)
        elif changes == 1:
            done = begin  # nobody waits for what is written
        else:
            record = work.first[array] + work.data[pin]
            done = max(done, inputs, cores.updated[record] + costs.forward)
            cores.updated[record] = done
        _end(cores, costs, core, done)
    _wait(cores, core, inputs)


@njit(nogil=True, inline="always")
def _begin(cores: Cores, costs: Costs, core: Any) -> Any:
    """When the next step of a core begins: what leaves its window has ended."""
    room = cores.ends.shape[1]
    cores.issued[core] += costs.instructions
    begin = cores.front[core]
    first = cores.ring[core, 0]
    while first < cores.ring[core, 1] and cores.issued[core] - cores.counts[core, first % room] > costs.window:
        begin = max(begin, cores.ends[core, first % room])
        first += 1
    cores.ring[core, 0] = first
    cores.front[core] = begin + costs.share
    return begin


@njit(nogil=True, inline="always")
def _end(cores: Cores, costs: Costs, core: Any, done: Any) -> None:
    """A step has what it needs: it ends behind the one before it."""
    end = max(cores.retired[core] + costs.share, done)
    cores.retired[core] = end
    last = cores.ring[core, 1]
    cores.ends[core, last % cores.ends.shape[1]] = end
    cores.counts[core, last % cores.ends.shape[1]] = cores.issued[core]
    cores.ring[core, 1] = last + 1


@njit(nogil=True, inline="always")
def _wait(cores: Cores, core: Any, inputs: Any) -> None:
    """A job ends with the last line that it reads, and the steps behind it end later."""
    cores.retired[core] = max(cores.retired[core], inputs)


@njit(nogil=True)
def _look(cores: Cores, costs: Costs, core: int, line: int, begin: float, changes: bool) -> int:
    """Level that has a line; all that were asked have it then, and the other cores nothing that was changed."""
    geometry = cores.geometry
    levels = geometry.shape[0]
    bits = geometry[0, LINE_BITS]
    level = 0
    while level < levels:
        number = np.int32(line >> (geometry[level, LINE_BITS] - bits))
        ways = geometry[level, WAYS]
        own = core // geometry[level, CORES_A_LEVEL]
        first = geometry[level, START] + (own * geometry[level, SETS] + own_set(geometry, level, number)) * ways
        before = keep(cores.tags, first, ways, number)
        if before == number:
            break
        if level == levels - 1 and before >= 0 and cores.dirty[before]:
            cores.dirty[before] = 0
            _from_bank(cores, costs, begin)
        level += 1
    cores.found[level] += 1
    mine = np.uint64(1) << np.uint64(core)
    if changes:
        cores.dirty[line >> (geometry[levels - 1, LINE_BITS] - bits)] = 1
        if cores.sharers[line] & ~mine:
            _take(cores, core, line)
        cores.sharers[line] = mine
    else:
        cores.sharers[line] |= mine
    return level


@njit(nogil=True, inline="always")
def _from_bank(cores: Cores, costs: Costs, begin: Any) -> Any:
    """When the banks begin with a line; they are occupied by it."""
    begin = max(begin, cores.bank[0])
    cores.bank[0] = begin + costs.line
    cores.moved[0] += 1
    return begin


@njit(nogil=True)
def _fetch(cores: Cores, costs: Costs, core: int, line: int, begin: float, changes: bool) -> float:
    """When a line is there that a step asks for at `begin`."""
    level = _look(cores, costs, core, line, begin, changes)
    if level == 0:
        return begin + cores.geometry[0, LATENCY]
    if _follows(cores, core, line):
        if level == cores.geometry.shape[0]:
            begin = _from_bank(cores, costs, begin) + costs.line
        return begin + cores.geometry[0, LATENCY]
    slots = cores.slots[core]
    free = 0
    for slot in range(1, slots.size):
        if slots[slot] < slots[free]:
            free = slot
    begin = max(begin, slots[free])
    if level < cores.geometry.shape[0]:
        done = begin + cores.geometry[level, LATENCY]
    else:
        done = _from_bank(cores, costs, begin) + costs.memory
    slots[free] = done
    return done


@njit(nogil=True)
def _follows(cores: Cores, core: int, line: int) -> bool:
    """Whether a missed line is near the last one of its page; it is the last one from now on."""
    streams = cores.streams[core]
    page = line >> (PAGE_BITS - cores.geometry[0, LINE_BITS])
    place = 0
    while place < streams.shape[0] - 1 and streams[place, 0] != page:
        place += 1
    near = streams[place, 0] == page and abs(streams[place, 1] - line) <= AHEAD
    for later in range(place, 0, -1):
        streams[later, 0], streams[later, 1] = streams[later - 1, 0], streams[later - 1, 1]
    streams[0, 0], streams[0, 1] = page, line
    return bool(near)


@njit(nogil=True)
def _take(cores: Cores, core: int, line: int) -> None:
    """Take a line out of the private caches of the other cores."""
    geometry = cores.geometry
    bits = geometry[0, LINE_BITS]
    for other in range(cores.front.size):
        if other == core or not (cores.sharers[line] >> np.uint64(other)) & np.uint64(1):
            continue
        for level in range(geometry.shape[0]):
            shared = geometry[level, CORES_A_LEVEL]
            if other // shared != core // shared:
                number = np.int32(line >> (geometry[level, LINE_BITS] - bits))
                own = (other // shared) * geometry[level, SETS] + own_set(geometry, level, number)
                ways = geometry[level, WAYS]
                drop(cores.tags, geometry[level, START] + own * ways, ways, number, np.int32(-1))
