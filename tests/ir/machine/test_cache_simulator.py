"""The cache simulator against ordered dictionaries, and against reuse distances."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import Cache, Core, Machine
from tracecut.ir.machine.cache_simulator import keep_sectors, keep_sectors_last, levels_of, simulate, spread_set
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


def slow_sectors(own: OrderedDict[int, int], ways: int, line: int, flags: int, last: bool) -> int:
    """One touch of a set whose first line goes first; the word that was there, or that gave way, or EMPTY."""
    word = -1
    if line in own:
        word = line << 8 | own[line]
    elif len(own) == ways:
        gone, had = own.popitem(last=False)
        word = gone << 8 | had
    new = line not in own
    own[line] = own.get(line, 0) | flags
    if not last:
        own.move_to_end(line)
    elif new:
        own.move_to_end(line, last=False)
    return word


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 255), st.booleans()), max_size=120),
    st.sampled_from([1, 2, 3, 16]),
)
def test_sets_with_sectors_equal_ordered_dictionaries(touches: list[tuple[int, int, bool]], ways: int) -> None:
    tags = np.full(3 * ways, -1)
    own: OrderedDict[int, int] = OrderedDict()
    for line, flags, last in touches:
        before = keep_sectors_last if last else keep_sectors
        assert before.py_func(tags, ways, ways, line, flags) == slow_sectors(own, ways, line, flags, last)
        words = [line << 8 | flags for line, flags in reversed(own.items())]
        assert tags.tolist() == [-1] * ways + words + [-1] * (2 * ways - len(words)), "most recent first"


@pytest.mark.parametrize("sets", [1, 2, 12, 64, 30720])
def test_spread_sets_are_even_for_runs_and_for_strides(sets: int) -> None:
    bits = max(1, sets.bit_length() - 1)
    run = 1 << bits
    for first in (0, 5 * run, 1 << 40):
        own = [spread_set.py_func(line, sets, bits) for line in range(first, first + run)]
        assert all(0 <= each < sets for each in own)
        assert max(np.bincount(own)) == -(-run // sets)
    if sets == 64:
        strided = [spread_set.py_func(line * 64, sets, bits) for line in range(64)]
        assert max(np.bincount(strided)) == 1, "without the hash all would meet in one set"
