"""One iteration in the place of all of an inner loop that nothing tells the number of, compared with every one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Pool
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.iteration_domains import counter_ranges

from ..reference import interpret
from .test_evaluate import FLOATS, INTEGERS, ROWS, Setting, expressions, loop, same, setting

pytestmark = pytest.mark.quick


def untold(here: Setting, *, trip: bool = False, single: bool = False, limit: int | None = None) -> Evaluation:
    """`trip`: the inner loop has a trip count, of which a load is not trusted."""
    nest = here.nest
    if not trip:
        nest = replace(nest, loops={**nest.loops, 1: replace(nest.loops[1], trip=None)})
    found = Evaluation(
        nest, here.memory, here.lives, single, frozenset({"%end", "%length"} if trip else ()), limit=limit
    )
    for number in nest.loops:
        found.stands_for_all(number)
    return found


@settings(max_examples=250, deadline=None)
@given(st.data(), st.sampled_from([*INTEGERS, *FLOATS]), st.booleans(), st.booleans(), st.booleans())
def test_what_is_known_holds_in_every_iteration(
    data: st.DataObject, type: str, following: bool, entered: bool, trip: bool
) -> None:
    here = setting(following=following, entered=entered)
    expr = data.draw(expressions(here.pool, type, 4, True))
    evaluation = untold(here, trip=trip)
    domain = evaluation.domain(1)
    assert domain is not None and domain.parent is not None and evaluation.whole(1) is None
    found = evaluation.at(expr, 1)
    values, known = (np.broadcast_to(part, domain.size) for part in (found.data, found.known))
    place = {row: place for place, row in enumerate(domain.parent.tolist())}
    assert len(place) == domain.size
    for counters in here.iterations(inner=True):
        if known[place[counters[0]]]:
            expected = interpret(expr, counters, here.lives, here.memory)
            assert expected is not None and same(values[place[counters[0]]].item(), expected), (str(expr), counters)


def test_its_number_is_not_known() -> None:
    here = setting()
    evaluation = untold(here)
    counter = here.pool.counter(1)
    assert evaluation.is_step(1) and not evaluation.is_step(0)
    assert not np.any(evaluation.at(counter, 1).known)
    assert evaluation.extremes(counter, 1) is None and counter_ranges(evaluation, [counter]) == {}
    assert not np.any(evaluation.at(here.pool.left(1, 0), 0).known)
    assert np.all(evaluation.at(here.pool.counter(0), 1).known)


@pytest.mark.parametrize("entered", [False, True])
def test_there_is_one_where_the_loop_may_be_entered(entered: bool) -> None:
    domain = untold(setting(entered=entered)).domain(1)
    assert domain is not None and not domain.sure
    assert domain.in_each(ROWS).tolist() == [1 - (entered and row % 2) for row in range(ROWS)]


def test_where_the_number_is_known_all_stay() -> None:
    here = setting()
    evaluation = here.evaluation()
    evaluation.stands_for_all(1)
    whole = evaluation.whole(1)
    assert whole is not None and whole.size == len(list(here.iterations(inner=True))) and not evaluation.is_step(1)


def test_none_stands_for_those_of_the_outermost_loop() -> None:
    pool = Pool()
    here = setting()
    outer = pool.make("trip", (64, "slt", False, 0), (pool.const(0), pool.const(1), pool.live("unknown", "i64")))
    nest = replace(here.nest, loops={0: loop(0, None, outer), 1: here.nest.loops[1]})
    evaluation = Evaluation(nest, here.memory, here.lives)
    for number in (0, 1):
        evaluation.stands_for_all(number)
    assert evaluation.domain(0) is None and evaluation.domain(1) is None and evaluation.untold == set()


def test_none_stands_for_those_that_do_not_fit_in_memory() -> None:
    here = setting()
    tight = Evaluation(here.nest, here.memory, here.lives, limit=32 * ROWS)
    tight.stands_for_all(1)
    assert tight.domain(1) is None and 1 in tight.too_long and tight.untold == set()
    assert untold(here, limit=32 * ROWS).domain(1) is None


def test_a_loop_in_such_a_loop_is_known_as_far_as_it_does_not_change() -> None:
    """`while (…) for (k = row[v]; k < row[v + 1]; k++)`: as often each time; up to the number of the round: not."""
    here = setting()
    pool, trip = here.pool, here.nest.loops[1].trip
    ends = {1: trip, 2: pool.make("trip", (64, "slt", False, 0), (pool.const(0), pool.const(1), pool.counter(1)))}
    for number, end in ends.items():
        inner = replace(loop(2, 1, end), depth=3)
        nest = replace(here.nest, loops={0: here.nest.loops[0], 1: loop(1, 0, None), 2: inner})
        evaluation = Evaluation(nest, here.memory, here.lives)
        for each in nest.loops:
            evaluation.stands_for_all(each)
        assert evaluation.untold == ({1} if number == 1 else {1, 2})
        domain = evaluation.domain(2)
        assert domain is not None
        if number == 1:
            rows = [counters[0] for counters in here.iterations(inner=True)]
            assert domain.in_each(ROWS).tolist() == [rows.count(row) for row in range(ROWS)]
            assert evaluation.jobs(2, 0).tolist() == rows
