"""The cache simulator against ordered dictionaries, and against reuse distances."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Cache, Core, Machine
from tracecut.ir.machine.cache_simulator import levels_of, simulate
from tracecut.ir.reuse_distance import predicted_misses, stack_distances
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick

SMALL = Machine(
    "small",
    (Core(0),),
    (Cache(1, 256, 32, 2, latency=3), Cache(2, 768, 64, 4, latency=10)),  # 4 sets, and 3: no power of two
    1 << 20,
    memory_latency=70,
)


def slow(addresses: list[int], lengths: list[int], machine: Machine) -> tuple[list[int], list[int]]:
    """Cycles of each access and lines found by level, one ordered dictionary a set."""
    sets: list[dict[int, OrderedDict[int, None]]] = [{} for _ in machine.caches]
    found = [0] * (len(machine.caches) + 1)
    cycles = []
    for address, length in zip(addresses, lengths, strict=True):
        total = 0
        line = machine.caches[0].line
        for first in range(address // line * line, address + length, line):
            for level, cache in enumerate(machine.caches):
                number = first // cache.line
                count = cache.size // cache.line // cache.ways
                own = sets[level].setdefault(number % count, OrderedDict())
                hit = number in own
                own[number] = None
                own.move_to_end(number)
                if len(own) > cache.ways:
                    own.popitem(last=False)
                if hit:
                    found[level] += 1
                    total += cache.latency
                    break
            else:
                found[-1] += 1
                total += machine.memory_latency
        cycles.append(total)
    return cycles, found


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 100)), max_size=80))
def test_cycles_equal_the_slow_caches(accesses: list[tuple[int, int]]) -> None:
    addresses, lengths = [item[0] for item in accesses], [item[1] for item in accesses]
    run = simulate(np.array(addresses, np.int64), np.array(lengths, np.int64), SMALL)
    assert (run.cycles.tolist(), run.found.tolist()) == slow(addresses, lengths, SMALL)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 30), max_size=80), st.integers(1, 5))
def test_full_associativity_equals_reuse_distances(lines: list[int], size: int) -> None:
    machine = replace(SMALL, caches=(Cache(1, size * 64, latency=1),))
    run = simulate(np.array(lines, np.int64) * 64, 1, machine)
    assert run.found[1] == predicted_misses(stack_distances(np.array(lines, np.int64)), [size])[0]


def test_the_model_is_the_one_that_is_stated() -> None:
    run = simulate([0, 0, 32, 60], [8, 8, 8, 8])
    assert run.cycles.tolist() == [200, 4, 200, 4 + 200]
    assert "level 1 2, level 2 0, memory 3" in repr(run)


@pytest.mark.parametrize(
    ("caches", "memory", "message"),
    [
        ((Cache(1, 96, 48, latency=1),), 9, "no whole number of sets"),
        ((Cache(1, 320, 64, 2, latency=1),), 9, "no whole number of sets"),
        ((Cache(1, 256, 64, latency=0),), 9, "answers in 0 cycles, at least 1 expected"),
        ((Cache(1, 256, 64, latency=5), Cache(2, 512, 64, latency=4)), 9, "at least 5 expected"),
        ((Cache(1, 256, 64, latency=1), Cache(2, 512, 32, latency=4)), 9, "shorter lines"),
        ((Cache(1, 256, 64, latency=5),), 4, "memory answers in 4 cycles"),
        ((), 4, "behind 0 caches"),
    ],
)
def test_impossible_caches_are_refused(caches: tuple[Cache, ...], memory: int, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        levels_of(caches, memory)


@pytest.mark.parametrize(("addresses", "lengths"), [([1, 2], [3]), ([-1], [1]), ([1], [0])])
def test_impossible_accesses_are_refused(addresses: list[int], lengths: list[int]) -> None:
    with pytest.raises(ArgumentError):
        simulate(addresses, lengths)
