"""Buffers that change places: the states of a web, and what may be concluded from them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.tracer.loops.pointer_rotation import (
    MAX_CHOICES,
    State,
    agree,
    choices,
    in_all_states,
    in_each_state,
    rotation,
    split,
    turns_in,
)

pytestmark = pytest.mark.quick


@dataclass(frozen=True)
class Thing:
    name: str
    state: State = field(default_factory=dict)


def web(pool: Pool, name: str, *values: str) -> Expr:
    return pool.make("state", (name,), tuple(pool.live(value, "ptr") for value in values))


def test_pointers_of_one_web_are_chosen_together() -> None:
    pool = Pool()
    x, y = web(pool, "loop:2", "%a", "%b"), web(pool, "loop:2", "%b", "%a")
    address = pool.op("add", "ptr", x, pool.op("sub", "i64", y, x))
    found = choices(address)
    assert [state for _, state in found] == [{"loop:2": 0}, {"loop:2": 1}]
    assert [[node.data[0] for node in (chosen[x], chosen[y])] for chosen, _ in found] == [["%a", "%b"], ["%b", "%a"]]


def test_webs_and_other_choices_are_independent() -> None:
    pool = Pool()
    x, z = web(pool, "p", "%a", "%b"), web(pool, "q", "%c", "%d", "%e")
    either = pool.any_of([pool.live("%f", "ptr"), pool.live("%g", "ptr")])
    address = pool.op("add", "ptr", pool.op("add", "ptr", x, z), either)
    assert len(choices(address)) == 12
    more = pool.op("add", "ptr", address, pool.any_of([pool.live("%h", "ptr"), pool.live("%i", "ptr")]))
    assert MAX_CHOICES < 24 and choices(more) == [({}, {})]


def test_a_plain_address_has_one_choice() -> None:
    assert choices(Pool().live("%a", "ptr")) == [({}, {})]


def test_splits_by_state() -> None:
    always, first, second = Thing("always"), Thing("first", {"p": 0}), Thing("second", {"p": 1})
    assert split([always, first, second]) == [[always, first], [always, second]]
    assert split([always]) == [[always]]
    assert split([]) == [[]]


@given(st.lists(st.dictionaries(st.sampled_from("pqr"), st.integers(0, 2)), max_size=6))
def test_two_things_are_together_in_some_state_exactly_when_they_agree(states: list[dict[str, int]]) -> None:
    things = [Thing(str(number), state) for number, state in enumerate(states)]
    together = split(things)
    for a in things:
        for b in things:
            met = any(a in part and b in part for part in together)
            assert met == (agree(a.state, b.state) and agree(b.state, a.state))


def test_rotations() -> None:
    assert rotation(["x", "y"], {"x": "y", "y": "x"}, "x") == ["x", "y"]
    assert rotation(["a", "b", "c"], {"a": "b", "b": "c", "c": "a"}, "b") == ["b", "c", "a"]
    assert rotation(["x", "y"], {"x": "y", "y": "y"}, "x") == []  # y comes over x for good
    assert rotation(["x", "y"], {"x": "y", "y": "fresh"}, "x") == []
    assert rotation(["x"], {"x": "x"}, "x") == ["x"]


def test_lengths_of_buffers_that_change_places() -> None:
    """Begin and end go together: one number where the buffers are equally long, whichever stands where."""
    pool = Pool()
    first, last = web(pool, "loop:2", "%a", "%b"), web(pool, "loop:2", "%ae", "%be")
    length = pool.op("sub", "i64", last, first)
    assert [str(one) for one in in_each_state(length, pool)] == ["(%ae sub %a)", "(%be sub %b)"]
    assert in_each_state(pool.live("%a", "ptr"), pool) == [pool.live("%a", "ptr")]

    def length_of(**places: int) -> int | None:
        def number(one: Expr) -> int | None:
            values = [places.get(str(arg.data[0])[1:]) for arg in one.args]
            return None if values[0] is None or values[1] is None else values[0] - values[1]

        return in_all_states(length, pool, number)

    assert length_of(a=100, ae=180, b=300, be=380) == 80
    assert length_of(a=100, ae=180, b=300, be=390) is None
    assert length_of(a=100, ae=180, b=300) is None


def test_where_pointers_change_places() -> None:
    pool = Pool()
    x = web(pool, "loop.3:2", "%a", "%b")
    assert turns_in(x, {"loop.3", "body"}) and not turns_in(x, {"loop"})
    assert not turns_in(pool.live("loop.3:2", "ptr"), {"loop.3"})
