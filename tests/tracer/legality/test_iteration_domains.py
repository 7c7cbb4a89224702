"""The room that the values of all iterations may take: refused before it is made, counted when it is there."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.loops.nest import NOWHERE, Read, Site
from tracecut.ir.loops.path_conditions import ALWAYS
from tracecut.tracer.legality.evaluation.elements import LONG, load_aligned, load_pieces
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.iteration_domains import inner_domain, is_even, pieces
from tracecut.tracer.legality.evaluation.masked_arithmetic import runs_inside
from tracecut.tracer.legality.evaluation.memory import HEAP, Object
from tracecut.tracer.legality.probe_addresses import ends_inside
from tracecut.tracer.loops.linear_forms import linear_form

from .test_evaluate import int32, setting

pytestmark = pytest.mark.quick


def test_a_loop_that_is_too_long_is_not_looked_at() -> None:
    """Found out before any memory is taken: the reason has the number, and other loops are as they were."""
    here = setting()
    lives = {**here.lives, "n": 1 << 40}
    evaluation = Evaluation(here.nest, here.memory, lives, limit=1 << 30)
    tracemalloc.start()
    try:
        assert evaluation.domain(0) is None
        assert evaluation.root_size() == 1 << 40
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert "for 1,099,511,627,776 iterations" in evaluation.too_long[0]
    assert "1 GiB are allowed (--memory)" in evaluation.too_long[0]


@given(st.lists(st.integers(0, 5), min_size=2, max_size=30), st.booleans())
def test_iterations_of_an_inner_loop(counts: list[int], compiled: bool) -> None:
    found = inner_domain(7, np.array(counts, np.int64))
    pairs = [(outer, number) for outer, count in enumerate(counts) for number in range(count)]
    with patch("tracecut.tracer.legality.evaluation.iteration_domains.LONG", 0 if compiled else LONG):
        assert found.parent is not None and (found.loop, found.size) == (7, len(pairs))
        assert list(zip(found.parent.tolist(), found.counter.tolist(), strict=True)) == pairs
    few = np.arange(0, len(pairs), 2)
    assert list(zip(found.parents_of(few).tolist(), found.numbers_of(few).tolist(), strict=True)) == pairs[::2]
    assert found.numbers == (0, max(max(counts) - 1, 0))


@given(
    st.lists(st.tuples(st.integers(10, 20), st.integers(1, 4)), min_size=1, max_size=9),
    st.integers(-2, 3),
    st.sampled_from([np.int16, np.uint32, np.float32, np.float64]),
    st.booleans(),
)
def test_pieces_of_an_array(pieces: list[tuple[int, int]], step: int, type: type, compiled: bool) -> None:
    elements = np.arange(100, 140).astype(type)
    starts, counts = (np.array(side, np.int64) for side in zip(*pieces, strict=True))
    with patch("tracecut.tracer.legality.evaluation.elements.LONG", 0 if compiled else LONG):
        found = load_pieces(elements, starts, counts, step)
    assert found.tolist() == [100 + start + step * number for start, count in pieces for number in range(count)]
    assert found.dtype == (type if found.dtype.kind == "f" else np.int64)


@given(st.lists(st.integers(980, 1060), max_size=9), st.sampled_from([np.int8, np.int32, np.float64]), st.booleans())
def test_elements_at_addresses(addresses: list[int], type: type, compiled: bool) -> None:
    """Those that are not aligned, or lie outside, are none."""
    elements = np.arange(1, 7).astype(type)
    width = elements.itemsize
    with patch("tracecut.tracer.legality.evaluation.elements.LONG", 0 if compiled else LONG):
        values, ok = load_aligned(np.array(addresses, np.int64), 1000, elements)
    at = [(address - 1000) / width for address in addresses]
    assert ok.tolist() == [place in range(6) for place in at] and values.dtype == elements.dtype
    assert values.tolist() == [1 + place if place in range(6) else 0 for place in at]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 12))
def test_pieces_hold_every_entry_once_and_no_more_than_one_too_many(counts: list[int], most: int) -> None:
    found = list(pieces(np.array(counts, np.int64), most))
    assert [low for low, _ in found] == [0, *(high for _, high in found[:-1])] and found[-1][1] == len(counts)
    assert all(low < high and sum(counts[low : high - 1]) < most for low, high in found)


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans(), st.booleans()), max_size=9), st.integers(-3, 3))
def test_numbers_that_may_be_asked_for(entries: list[tuple[int, bool, bool]], low: int) -> None:
    data, known, mask = (np.array(part) for part in zip(*entries, strict=True)) if entries else (np.zeros(0),) * 3
    runs = np.empty(len(entries), np.bool_)
    told = runs_inside(data.astype(np.int64), known.astype(bool), mask.astype(bool), low, low + 2, runs)
    assert told == all(known or not asked for _, known, asked in entries)
    assert runs.tolist() == [known and asked and low <= number <= low + 2 for number, known, asked in entries]
    one = np.broadcast_to(np.int64(low), 4), np.broadcast_to(np.bool_(True), 4)
    runs = np.empty(4, np.bool_)
    assert runs_inside(*one, one[1], low, low, runs) and runs.all()


@given(st.integers(1, 9), st.integers(-3, 3), st.integers(0, 8), st.integers(2, 9))
def test_even_steps(count: int, step: int, odd: int, many: int) -> None:
    addresses = step * np.arange(count)
    with patch("tracecut.tracer.legality.evaluation.iteration_domains.MANY", many):
        assert is_even(addresses, step)
        addresses[odd:] += 1
        assert is_even(addresses, step) == (odd == 0 or odd >= count)


def test_steps_on_the_way_to_one_value_are_not_kept() -> None:
    """What they are made for is, and so is what is needed for more; asked for afterwards they are the same again."""
    here = setting()
    pool, counter = here.pool, here.pool.counter(1)
    once, twice = (pool.op("mul", "i64", counter, pool.const(number)) for number in (3, 5))
    first, second = pool.op("add", "i64", once, twice), pool.op("xor", "i64", twice, counter)
    address = pool.op("add", "i64", first, second)
    site = Site("load", Read(), "i64", 8, address, None, 1, ALWAYS, NOWHERE)
    nest = replace(here.nest, sites=(site,))
    assert {id(once), id(first), id(second)} <= nest.mere_steps
    assert not {id(twice), id(site.address)} & nest.mere_steps
    evaluation = Evaluation(nest, here.memory, here.lives, limit=1 << 30)
    assert evaluation.domain(1) is not None
    before = evaluation.room.left
    sums = evaluation.at(site.address, 1).data
    assert before - evaluation.room.left == 2 * 8 * sums.size  # with `twice`
    other = Evaluation(here.nest, here.memory, here.lives, limit=1 << 30)  # does not know what is a step
    for value in (once, twice, first, second, site.address):
        assert np.array_equal(evaluation.at(value, 1).data, other.at(value, 1).data)


def test_loops_share_the_memory_that_is_allowed() -> None:
    here = setting()
    roomy = Evaluation(here.nest, here.memory, here.lives, limit=1 << 20)
    domains = [roomy.domain(loop) for loop in here.nest.loops]
    assert all(domain is not None for domain in domains) and not roomy.too_long
    needed = (1 << 20) - roomy.room.left
    assert needed >= 8 * sum(4 * domain.size for domain in domains if domain is not None)
    tight = Evaluation(here.nest, here.memory, here.lives, limit=needed - 1)
    assert [tight.domain(loop) for loop in here.nest.loops][-1] is None
    assert len(tight.too_long) == 1


def test_what_is_counted_is_what_is_kept() -> None:
    """Not more: an estimate that is many times too high refuses programs that fit."""
    here = setting()
    evaluation = Evaluation(here.nest, here.memory, here.lives, limit=1 << 30)
    assert evaluation.domain(1) is not None
    before = evaluation.room.left
    expr = here.pool.op("add", "i64", here.pool.counter(1), here.pool.const(3))
    size = evaluation.at(expr, 1).data.size
    assert before - evaluation.room.left == 8 * size  # the sum; the counter is the domain's


def test_a_value_that_does_not_fit_is_unknown() -> None:
    here = setting()
    roomy = Evaluation(here.nest, here.memory, here.lives, limit=1 << 30)
    domain = roomy.domain(1)
    assert domain is not None
    taken = (1 << 30) - roomy.room.left
    tight = Evaluation(here.nest, here.memory, here.lives, limit=taken + 24 * domain.size - 1)
    assert tight.domain(1) is not None and not tight.too_long
    assert not np.any(tight.at(here.pool.op("add", "i64", here.pool.counter(1), here.pool.const(3)), 1).known)
    assert f"for {domain.size:,} iterations" in tight.too_long[1]


@given(st.integers(-3, 3), st.integers(-40, 200), st.integers(0, 60), st.booleans())
def test_ends_of_walks_stand_for_what_lies_between(step: int, base: int, size: int, following: bool) -> None:
    """What is inside by the ends of each walk is inside at each step."""
    here = setting(following=following)
    pool, evaluation = here.pool, here.evaluation()
    start = int32(pool, "%begin", 0x1000, pool.counter(0))
    walk = pool.op("mul", "i64", pool.counter(1), pool.const(4 * step))
    wide = pool.op("mul", "i64", pool.make("cast", ("sext", "i32", "i64"), (start,)), pool.const(8))
    address = pool.op("add", "i64", pool.op("add", "i64", wide, walk), pool.const(40))
    form, item = linear_form(address, here.lives), Object(base, size, HEAP)
    numbers = evaluation.at(address, 1).data
    assert ends_inside(evaluation, 1, form, item) == bool(np.all((numbers >= base) & (numbers < base + size)))
    inner = pool.op("add", "i64", address, pool.op("and", "i64", pool.counter(1), pool.const(1)))
    assert not ends_inside(evaluation, 1, linear_form(inner, here.lives), item)  # not by the loop around alone
    assert not ends_inside(evaluation, 0, form, item)


def test_what_is_forgotten_leaves_its_room_to_others() -> None:
    here = setting()
    evaluation = Evaluation(here.nest, here.memory, here.lives, limit=1 << 30)
    assert evaluation.domain(0) is not None
    before = evaluation.room.left
    for _ in range(3):
        evaluation.room.take(np.zeros(LONG))
        assert evaluation.room.left == before - 8 * LONG
        evaluation.forget()
    assert evaluation.room.left == before
