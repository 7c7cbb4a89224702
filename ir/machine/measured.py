"""Latencies, misses under way and bandwidth of the machine at hand, which no file of the system states.

Latency: chains of loads, each from where the one before it says: over half of the first cache, twice the cache before
for the others, eight times the last one for memory. Misses under way: the latency of memory over the time of a load
where none waits for another. Bandwidth: 1, 2, … cores reading in order. Each is the best of many short runs: others
that use the machine slow some of them. Where others use the last cache too, less of it is left than its size: it counts
as large as what a chain runs over nearer to its latency than to that of memory, in most of the runs.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Barrier
from typing import Any

import numpy as np
from numba import njit
from tracecut.support.arrays import Ints, Longs

from .machine import Machine
from .parts import Bank

WORDS = 8  # of 8 bytes in a line of 64
STEPS = 20_000
RUNS = 60
CHAIN = 6  # instructions of a step of `_spin`, each waiting for the one before it, of one cycle each


@dataclass(frozen=True)
class Measured:
    """A machine with what was measured.

    Attributes:
        machine: with its clock, latencies and misses under way, and the last cache as large as was found.
        forward: cycles from one update of a number in memory to the next.
        carried: bytes a cycle that memory gives to 1, 2, … cores.
    """

    machine: Machine
    forward: float
    carried: tuple[float, ...]

    def used_by(self, cores: int) -> Machine:
        """The machine with the bandwidth that memory has for so many cores."""
        return replace(self.machine, banks=(Bank(0, self.machine.memory, self.carried[cores - 1]),))


def measured(machine: Machine, runs: int = RUNS) -> Measured:
    """The machine at hand with its clock, latencies, `mshrs` and a bank's bandwidth. Some seconds.

    Latencies are whole cycles and rise from level to level.
    """
    random = np.random.default_rng(0)
    cycle = _least(lambda: _spin(STEPS * 10), runs) / (CHAIN * 10 * STEPS)
    latency: list[int] = []
    for place, cache in enumerate(machine.caches):
        size = 2 * machine.caches[place - 1].size if place else cache.size // 2
        took = _chase(min(size, cache.size), random, runs) / cycle
        latency.append(max(round(took), latency[-1] if latency else 1, 1))
    last = machine.caches[-1].size
    memory = max(round(_chase(8 * last, random, runs) / cycle), latency[-1])
    middle, left = (latency[-1] + memory) / 2 * cycle, last
    while left > 4 * machine.caches[-2].size and _chase(left, random, runs, statistics.median) > middle:
        left //= 2
    last *= 8
    words = np.ones(last // 8, np.int64)
    places = (random.integers(0, words.size // WORDS, (runs, STEPS)) * WORDS).astype(np.int32)
    turn = iter(np.concatenate([places, places]))
    _gather(words, places[0])
    apart = _least(lambda: _gather(words, next(turn)), runs) / STEPS / cycle
    cores = range(1, len(machine.cores) + 1)
    carried = tuple(_stream(words, count, runs) * cycle for count in cores)
    sums, zeros = np.zeros(1), np.zeros(STEPS, np.int64)
    forward = _least(lambda: _update(sums, zeros), runs) / STEPS / cycle
    caches = tuple(replace(cache, latency=cycles) for cache, cycles in zip(machine.caches, latency, strict=True))
    caches = (*caches[:-1], replace(caches[-1], size=left - left % (caches[-1].line * max(1, caches[-1].ways))))
    found = replace(
        machine,
        caches=caches,
        memory_latency=memory,
        clock=1e9 / cycle,
        mshrs=max(1, math.ceil(memory / apart)),
        banks=(Bank(0, machine.memory, carried[-1]),),
        notes=(*machine.notes, "latencies, misses under way and bandwidth were measured"),
    )
    return Measured(found, forward, carried)


def _times(step: Callable[[], Any], runs: int) -> list[int]:
    """Nanoseconds of each run, the first one being left out."""
    step()
    found = []
    for _ in range(runs):
        start = time.perf_counter_ns()
        step()
        found.append(time.perf_counter_ns() - start)
    return found


def _least(step: Callable[[], Any], runs: int) -> float:
    """Nanoseconds of the fastest run."""
    return min(_times(step, runs))


def _chase(size: int, random: np.random.Generator, runs: int, of: Callable[[list[int]], float] = min) -> float:
    """Nanoseconds of a load that waits for the one before it, in `size` bytes. `of`: which of the runs counts."""
    lines = size // 64
    order = random.permutation(lines).astype(np.int64)
    after = np.zeros(lines * WORDS, np.int64)
    after[order * WORDS] = np.roll(order, -1) * WORDS
    place = [0]
    if size < 1 << 21 or of is not min:  # what the best run found in a cache, others may have had to fetch
        _follow(after, 0, lines)

    def step() -> None:
        place[0] = _follow(after, place[0], STEPS)

    return of(_times(step, runs)) / STEPS


def _stream(words: Longs, cores: int, runs: int) -> float:
    """Bytes a nanosecond that so many cores read in order, together."""
    part, turn = 1 << 18, itertools.count()
    pieces = words.size // part

    def read(core: int, at: int) -> None:
        start.wait()
        _sum(words[at * part : (at + 1) * part])
        ends[core] = time.perf_counter_ns()

    best, ends = math.inf, [0] * cores
    _sum(words[:1])
    with ThreadPoolExecutor(cores) as pool:
        for _ in range(runs):
            start = Barrier(cores + 1)
            waiting = [pool.submit(read, core, next(turn) % pieces) for core in range(cores)]
            begun = time.perf_counter_ns()
            start.wait()
            for item in waiting:
                item.result()
            best = min(best, max(ends) - begun)
    return 8 * part * cores / best


@njit(nogil=True)
def _spin(steps: int) -> Any:
    x = np.uint64(88172645463325252)
    for _ in range(steps):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
    return x


@njit(nogil=True)
def _follow(after: Longs, place: int, steps: int) -> int:
    for _ in range(steps):
        place = after[place]
    return place


@njit(nogil=True)
def _gather(words: Longs, places: Ints) -> int:
    total = 0
    for i in range(places.size):
        total += words[places[i]]
    return total


@njit(nogil=True)
def _sum(words: Longs) -> int:
    total = 0
    for i in range(words.size):
        total += words[i]
    return total


@njit(nogil=True)
def _update(sums: Any, places: Longs) -> None:
    for i in range(places.size):
        sums[places[i]] += 1.5
