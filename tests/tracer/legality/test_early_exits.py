"""Which iterations of inner loops run, compared with a walk through them one after the other."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Expr
from tracecut.ir.loops.path_conditions import ALWAYS, Condition, both
from tracecut.tracer.legality.evaluation import evaluate
from tracecut.tracer.legality.evaluation.evaluate import Evaluation

from ..reference import interpret
from .test_evaluate import ROWS, Setting, expressions, int32, loop, setting

pytestmark = pytest.mark.quick


def with_exits(here: Setting, *exits: Condition) -> Setting:
    """The same with exits of the inner loop."""
    found = tuple((("bb1", "out"), taken) for taken in exits)
    loops = {**here.nest.loops, 1: replace(here.nest.loops[1], early=found)}
    return replace(here, nest=replace(here.nest, loops=loops))


def walk(here: Setting, tests: list[list[tuple[Expr, bool]]]) -> list[tuple[int, int]]:
    """(row, number) of each iteration that may run: up to the first one in which all of a test is known to hold."""
    found = []
    left: set[int] = set()
    for counters in here.iterations(inner=True):
        if counters[0] not in left:
            found.append((counters[0], counters[1]))
        for test in tests:
            values = [(interpret(expr, counters, here.lives, here.memory), wanted) for expr, wanted in test]
            if all(value is not None and bool(value) == wanted for value, wanted in values):
                left.add(counters[0])
    return found


@settings(max_examples=200, deadline=None)
@given(
    st.data(),
    st.lists(st.lists(st.booleans(), min_size=1, max_size=2), min_size=1, max_size=2),
    st.booleans(),
    st.sampled_from([1, 2, 1 << 17]),
)
def test_up_to_the_first_exit_that_is_known(
    data: st.DataObject, wanted: list[list[bool]], following: bool, piece: int
) -> None:
    here = setting(following=following)
    tests = [[(data.draw(expressions(here.pool, "i1", 3, True)), sense) for sense in test] for test in wanted]
    exits = []
    for test in tests:
        taken: Condition = ALWAYS
        for literal in test:
            taken = both(taken, literal)
        exits.append(taken)
    evaluation = with_exits(here, *exits).evaluation()
    with patch("tracecut.tracer.legality.evaluation.evaluate.PIECE", piece):
        domain = evaluation.domain(1)
    assert domain is not None and domain.parent is not None
    found = list(zip(domain.parent.tolist(), domain.counter.tolist(), strict=True))
    assert found == walk(here, tests)
    assert (evaluation.whole(1) is domain) == (1 not in evaluation.cut)
    if found != list(walk(here, [])):
        assert evaluation.whole(1) is None


def third(here: Setting) -> Expr:
    """Whether it is the third iteration of a row."""
    return here.pool.make("cmp", ("icmp eq", "i64"), (here.pool.counter(1), here.pool.const(2)))


def test_what_is_computed_behind_an_exit_is_forgotten() -> None:
    here = setting()
    evaluation = with_exits(here, both(ALWAYS, (third(here), True))).evaluation()
    expected = [counters[1] for counters in here.iterations(inner=True) if counters[1] <= 2]
    assert evaluation.at(here.pool.counter(1), 1).data.tolist() == expected
    assert len(expected) < len(list(here.iterations(inner=True)))


def test_an_exit_that_is_never_taken_changes_nothing() -> None:
    here = setting()
    never = here.pool.make("cmp", ("icmp slt", "i64"), (here.pool.counter(1), here.pool.const(0)))
    evaluation = with_exits(here, both(ALWAYS, (never, True))).evaluation()
    domain = evaluation.whole(1)
    assert domain is not None and domain.size == len(list(here.iterations(inner=True)))


def test_where_an_exit_is_not_understood_all_iterations_may_run() -> None:
    here = setting()
    evaluation = with_exits(here, None).evaluation()
    domain = evaluation.domain(1)
    assert domain is not None and domain.size == len(list(here.iterations(inner=True)))
    assert evaluation.whole(1) is None


def test_the_iterations_of_what_may_be_a_region_have_to_be_known() -> None:
    """In a scope around both loops the inner one is the region: its iterations are jobs."""
    here = with_exits(setting(), both(ALWAYS, (third(setting()), True)))
    assert Evaluation(here.nest, here.memory, here.lives, single=True).domain(1) is None


def test_an_exit_through_an_inner_loop_leaves_the_outer_one() -> None:
    here = with_exits(setting(), None)
    loops = {**here.nest.loops, 0: replace(here.nest.loops[0], through=(1,))}
    here = replace(here, nest=replace(here.nest, loops=loops))
    assert here.evaluation().domain(0) is None


@pytest.mark.parametrize("number", [0, 2, 3, 6])
@pytest.mark.parametrize("glance", [3, 1 << 12])
def test_a_loop_that_is_left_early_is_seen_in_its_first_iterations(
    monkeypatch: pytest.MonkeyPatch, number: int, glance: int
) -> None:
    """Whatever is looked at first, an exit anywhere is found, and none where there is none."""
    monkeypatch.setattr(evaluate, "GLANCE", glance)
    here = setting()

    def leaving(value: int) -> Setting:
        taken = here.pool.make("cmp", ("icmp eq", "i64"), (here.pool.counter(0), here.pool.const(value)))
        found = replace(here.nest.loops[0], early=((("bb0", "out"), both(ALWAYS, (taken, True))),))
        return replace(here, nest=replace(here.nest, loops={**here.nest.loops, 0: found}))

    evaluation = leaving(number).evaluation()
    assert evaluation.domain(0) is None and evaluation.whole(0) is None and 0 in evaluation.cut
    stays = leaving(ROWS).evaluation().whole(0)
    assert stays is not None and stays.size == ROWS


@pytest.mark.parametrize("following", [True, False])
@pytest.mark.parametrize("piece", [1, 2, 3, 5])
def test_pieces_may_begin_in_the_middle_of_a_row(following: bool, piece: int) -> None:
    """A loop in the loop over the pieces of rows: its exits depend on what is loaded along a row."""
    here = setting(following=following)
    pool = here.pool
    start = (
        int32(pool, "%from", 0x1000, pool.counter(0))
        if following
        else int32(pool, "%loose", 0x2000, pool.counter(0), 8)
    )
    value = int32(pool, "%along", 0x8000, pool.op("add", "i64", start, pool.counter(1)))
    low = pool.op("and", "i64", pool.make("cast", ("sext", "i32", "i64"), (value,)), pool.const(3))
    found = pool.make("cmp", ("icmp eq", "i64"), (low, pool.counter(2)))
    trip = pool.make("trip", (64, "slt", False, 0), (pool.const(0), pool.const(1), pool.const(4)))
    search = replace(loop(2, 1, trip), depth=3, early=((("bb2", "out"), both(ALWAYS, (found, True))),))
    nest = replace(here.nest, loops={**here.nest.loops, 2: search})
    whole, parts = (Evaluation(nest, here.memory, here.lives) for _ in range(2))
    with patch("tracecut.tracer.legality.evaluation.evaluate.PIECE", piece):
        cut = parts.domain(2)
    expected = whole.domain(2)
    assert expected is not None and cut is not None and expected.parent is not None and cut.parent is not None
    rows = whole.domain(1)
    assert rows is not None and rows.size < expected.size < 4 * rows.size
    assert cut.parent.tolist() == expected.parent.tolist() and cut.counter.tolist() == expected.counter.tolist()
    assert (parts.cut, parts.hidden, parts.spans) == (whole.cut, whole.hidden, whole.spans)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.lists(st.lists(st.booleans(), min_size=1, max_size=2), min_size=1, max_size=2), st.booleans())
def test_a_loop_that_only_exits_end(data: st.DataObject, wanted: list[list[bool]], entered: bool) -> None:
    """Known up to the first exit: else it is not known how often it runs."""
    here = setting(entered=entered)
    exits = []
    tests = [[(data.draw(expressions(here.pool, "i1", 3, True)), sense) for sense in test] for test in wanted]
    for test in tests:
        taken: Condition = ALWAYS
        for literal in test:
            taken = both(taken, literal)
        exits.append(taken)
    ended = with_exits(here, *exits)
    info = replace(ended.nest.loops[1], trip=None)
    evaluation = replace(ended, nest=replace(ended.nest, loops={**ended.nest.loops, 1: info})).evaluation()
    evaluation.limit = evaluation.room.limit = 1 << 16
    domain = evaluation.domain(1)
    if domain is None:
        return
    assert domain.counts is not None and 1 in evaluation.cut
    for row, count in enumerate(domain.counts.tolist()):
        for number in range(count):
            values = [
                [(interpret(expr, {0: row, 1: number}, here.lives, here.memory), sense) for expr, sense in test]
                for test in tests
            ]
            taken_now = [all(value is not None and bool(value) == sense for value, sense in test) for test in values]
            unsure = any(all(value is None or bool(value) == sense for value, sense in test) for test in values)
            assert any(taken_now) == (number + 1 == count) and (unsure == any(taken_now))
    assert (domain.counts > 0).tolist() == [not entered or row % 2 == 0 for row in range(ROWS)]


@pytest.mark.parametrize(
    ("end", "counts"), [(12, [8, 7, 6, 5, 4, 3, 2]), (9, [5, 4, 3, 2, 1, 1, 1]), (4, None), (77, None)]
)
def test_a_list_that_ends_by_a_number_in_it_is_known(end: int, counts: list[int] | None) -> None:
    """And one behind whose end nothing can be read is not."""
    here = setting()
    pool = here.pool
    value = int32(pool, "%along", 0x1000, pool.op("add", "i64", pool.counter(0), pool.counter(1)))
    found = pool.make("cmp", ("icmp eq", "i32"), (value, pool.const(end)))
    ended = with_exits(here, both(ALWAYS, (found, True)))
    loops = {**ended.nest.loops, 1: replace(ended.nest.loops[1], trip=None, reach=ALWAYS)}
    domain = replace(ended, nest=replace(ended.nest, loops=loops)).evaluation().domain(1)
    known = None if domain is None or domain.counts is None else domain.counts.tolist()
    assert known == counts
