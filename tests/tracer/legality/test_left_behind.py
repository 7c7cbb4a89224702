"""In which iteration inner loops are left, and by which exit, compared with a walk through them."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Expr
from tracecut.ir.loops.path_conditions import ALWAYS, Condition, both

from ..reference import interpret
from .test_evaluate import ROWS, Setting, expressions, setting

pytestmark = pytest.mark.quick
COUNTED = ("bb1", "behind")

Test = list[tuple[Expr, bool]]


def with_exits(here: Setting, tests: list[Test], after: bool, counted: bool) -> Setting:
    """The inner loop with an exit for each test, which leads to a block of its own."""
    found = []
    for place, test in enumerate(tests):
        taken: Condition = ALWAYS
        for literal in test:
            taken = both(taken, literal)
        found.append((("bb1", f"out{place}"), taken))
    info = here.nest.loops[1]
    assert info.trip is not None
    trip = here.pool.make("trip", (*info.trip.data[:2], after, info.trip.data[3]), info.trip.args) if counted else None
    changed = replace(info, early=tuple(found), exit=COUNTED if counted else ("", ""), trip=trip)
    return replace(here, nest=replace(here.nest, loops={**here.nest.loops, 1: changed}))


def contradicts(test: Test) -> bool:
    return any((expr, not wanted) in test for expr, wanted in test)


def walk(here: Setting, tests: list[Test], row: int, after: bool, counted: bool) -> tuple[int, set[str]] | str | None:
    """(number, targets of exits) with which one row is left, None where it is not entered; "" if that is unknown."""
    info = here.nest.loops[1]
    of = lambda expr, counters: interpret(expr, counters, here.lives, here.memory)  # noqa: E731
    assert info.reach is not None and info.trip is not None
    if not any(all(bool(of(expr, {0: row})) == wanted for expr, wanted in term) for term in info.reach):
        return None
    start, _, bound = (of(part, {0: row}) for part in info.trip.args)
    assert isinstance(start, int) and isinstance(bound, int)
    trip = max(0, bound - start) + after if counted else 100
    for number in range(trip):
        values = [[(of(expr, {0: row, 1: number}), wanted) for expr, wanted in test] for test in tests]
        must = [all(value is not None and bool(value) == wanted for value, wanted in test) for test in values]
        may = [all(value is None or bool(value) == wanted for value, wanted in test) for test in values]
        may = [taken and not contradicts(test) for taken, test in zip(may, tests, strict=True)]
        if any(must):
            return number, {f"out{place}" for place, taken in enumerate(must) if taken}
        if any(may):
            return ""
    return (trip - after, {"behind"}) if counted else ""


@settings(max_examples=60, deadline=None)
@given(
    st.data(),
    st.lists(st.lists(st.booleans(), min_size=1, max_size=2), min_size=1, max_size=3),
    *[st.booleans()] * 4,
    st.sampled_from([1, 2, 1 << 17]),
)
def test_numbers_and_exits(
    data: st.DataObject,
    wanted: list[list[bool]],
    following: bool,
    entered: bool,
    after: bool,
    counted: bool,
    piece: int,
) -> None:
    here = setting(following=following, entered=entered)
    tests = [[(data.draw(expressions(here.pool, "i1", 3, True)), sense) for sense in test] for test in wanted]
    evaluation = with_exits(here, tests, after, counted).evaluation()
    evaluation.limit = evaluation.room.limit = 1 << 20
    number = here.pool.left(1, 0)
    edges = {name: here.pool.left(1, 0, ("bb1", name)) for name in [f"out{place}" for place in range(len(tests))]}
    edges |= {"behind": here.pool.left(1, 0, COUNTED)} if counted else {}
    with patch("tracecut.tracer.legality.evaluation.evaluate.PIECE", piece):
        found = evaluation.at(number, 0)
    truth = {name: evaluation.at(edge, 0) for name, edge in edges.items()}
    expected = [walk(here, tests, row, after, counted) for row in range(ROWS)]
    if "" in expected:
        assert not np.any(found.known)
        return
    for row, told in enumerate(expected):
        here_known = bool(np.broadcast_to(found.known, ROWS)[row])
        if not here_known and counted:
            assert told is None
        if isinstance(told, tuple) and here_known:
            assert int(np.broadcast_to(found.data, ROWS)[row]) == told[0]
            for name, values in truth.items():
                assert values.all_known
                assert bool(np.broadcast_to(values.data, ROWS)[row]) == (name in told[1]), name
        if told is None:
            assert not here_known
            for values in truth.values():
                assert values.all_known or not counted
                assert not np.broadcast_to(values.known & (values.data != 0), ROWS)[row]


def test_an_edge_that_is_no_exit_is_not_known() -> None:
    here = setting()
    evaluation = with_exits(here, [], after=False, counted=True).evaluation()
    assert not np.any(evaluation.at(here.pool.left(1, 0, ("bb1", "elsewhere")), 0).known)
    assert np.all(evaluation.at(here.pool.left(1, 0, COUNTED), 0).data)
