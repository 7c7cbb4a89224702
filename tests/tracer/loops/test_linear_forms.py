"""Linear forms: where they claim to hold they are the machine's value, wrap-around included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.tracer.legality.evaluation.memory import Memory
from tracecut.tracer.loops import linear_forms
from tracecut.tracer.loops.linear_forms import Forms, Linear, linear_form

from ..reference import interpret, signed

pytestmark = pytest.mark.quick

EDGES = [0, 1, -1, 7, 127, -128, 255, 1 << 31, (1 << 31) - 1, -(1 << 31), (1 << 32) - 1, 1 << 62, (1 << 63) - 1]
LIVES = {"%s8": -100, "%s32": 2_000_000_000, "%s64": (1 << 62) + 11, "%base": 0x7F00_0000_1000}


@st.composite
def addresses(draw: st.DrawFn, pool: Pool, bits: int, depth: int) -> Expr:
    """A random integer expression such as addresses are made of; its atoms are counters and the live %a…."""
    type = f"i{bits}"
    if depth == 0:
        match draw(st.integers(0, 3)):
            case 0:
                counter = pool.counter(draw(st.integers(0, 1)))
                return counter if bits == 64 else pool.make("cast", ("trunc", "i64", type), (counter,))
            case 1:
                return pool.live(draw(st.sampled_from([f"%s{bits}", f"%a{bits}", f"%b{bits}"])), type)
        return pool.const(signed(draw(st.one_of(st.integers(-9, 70), st.sampled_from(EDGES))), bits))
    shape = draw(st.sampled_from("op op op cast choice odd mask mask".split()))
    if shape == "mask":
        low = draw(st.integers(0, min(bits - 1, 8)))
        mask = (1 << draw(st.integers(low + 1, bits))) - (1 << low)
        masked = draw(addresses(pool, bits, depth - 1))
        if draw(st.booleans()):
            masked = pool.op("shl", type, masked, pool.const(low))
        return pool.op("mask", type, masked, pool.const(signed(mask, bits)))
    if shape == "op":
        left, right = (draw(addresses(pool, bits, depth - 1)) for _ in range(2))
        return pool.op(draw(st.sampled_from(["add", "sub", "mul", "shl"])), type, left, right)
    if shape == "choice":
        condition = pool.make("cmp", ("icmp slt", "i64"), (pool.counter(0), pool.const(3)))
        return pool.make("choice", (), (condition, *(draw(addresses(pool, bits, depth - 1)) for _ in range(2))))
    if shape == "odd":
        return pool.op("xor", type, draw(addresses(pool, bits, depth - 1)), draw(addresses(pool, bits, depth - 1)))
    other = draw(st.sampled_from([width for width in (8, 32, 64) if width != bits]))
    opcode = "trunc" if other > bits else draw(st.sampled_from(["sext", "zext"]))
    return pool.make("cast", (opcode, f"i{other}", type), (draw(addresses(pool, other, depth - 1)),))


def atoms_at(form: Linear, numbers: Mapping[str, int], counters: Mapping[int, int]) -> dict[Expr, int] | None:
    """Value of every atom in one iteration, None when one is not known."""
    found: dict[Expr, int] = {}
    for atom in form.atoms():
        number = interpret(atom, counters, numbers, Memory([], {}))
        if not isinstance(number, int):
            return None
        found[atom] = number
    return found


@settings(max_examples=120, deadline=None)
@given(st.data(), st.sampled_from([8, 32, 64]))
def test_a_form_that_holds_is_the_value(data: st.DataObject, bits: int) -> None:
    pool = Pool()
    expr = data.draw(addresses(pool, bits, 4))
    form = linear_form(expr, LIVES)
    number = st.one_of(st.integers(-300, 300), st.sampled_from(EDGES))
    iterations = []
    for _ in range(3):
        lives = dict(LIVES)
        lives |= {f"%{name}{width}": signed(data.draw(number), width) for name in "ab" for width in (8, 32, 64)}
        counters = {0: data.draw(st.integers(0, 400)), 1: data.draw(st.sampled_from([0, 1, 5, 1 << 31, 1 << 40]))}
        atoms = atoms_at(form, lives, counters)
        if atoms is not None:
            iterations.append((lives, counters, atoms))
    assume(iterations)
    ranges = {
        atom: (min(atoms[atom] for *_, atoms in iterations), max(atoms[atom] for *_, atoms in iterations))
        for atom in form.atoms()
    }
    low, high = form.range(ranges)
    if not form.holds(ranges):
        return
    for lives, counters, atoms in iterations:
        expected = interpret(expr, counters, lives, Memory([], {}))
        found = form.const + sum(factor * atoms[atom] for atom, factor in form.terms.items())
        assert low <= found <= high
        if expected is not None:
            assert found == expected, (str(expr), form, counters, lives)


def indexed(pool: Pool, opcode: str, index: Expr) -> Expr:
    """&base[index], an index of 32 bits."""
    wide = pool.make("cast", (opcode, "i32", "i64"), (index,))
    return pool.op("add", "ptr", pool.live("%base", "ptr"), pool.op("mul", "i64", wide, pool.const(8)))


@pytest.mark.parametrize(
    ("opcode", "offset", "low", "high", "holds"),
    [
        ("sext", 0, -5, 5, True),
        ("sext", 5, 0, (1 << 31) - 6, True),
        ("sext", 5, 0, (1 << 31) - 5, False),  # i + 5 wraps
        ("sext", -5, -(1 << 31), 0, False),
        ("zext", 0, 0, (1 << 31) - 1, True),
        ("zext", 0, -1, 5, False),  # −1 is 4294967295
        ("zext", 5, -5, 5, True),
    ],
)
def test_where_an_index_would_wrap(opcode: str, offset: int, low: int, high: int, holds: bool) -> None:
    pool = Pool()
    load = pool.make("load", ("%i", "i32"), (pool.live("%p", "ptr"),))
    expr = indexed(pool, opcode, pool.op("add", "i32", load, pool.const(offset)))
    form = linear_form(expr, LIVES)
    assert (form.const, dict(form.terms)) == (LIVES["%base"] + 8 * offset, {load: 8})
    assert form.holds({load: (low, high)}) == holds
    assert form.range({load: (low, high)}) == (form.const + 8 * low, form.const + 8 * high)


def test_a_64_bit_sum_may_wrap_and_come_back() -> None:
    pool = Pool()
    k = pool.counter(0)
    far = pool.op("add", "i64", k, pool.const((1 << 63) - 1))
    back = pool.op("sub", "i64", far, pool.const((1 << 63) - 1))
    form = linear_form(back, {})
    assert (form.const, dict(form.terms)) == (0, {k: 1})
    assert form.holds({k: (0, 100)})
    assert not linear_form(far, {}).holds({k: (0, 100)})


def test_what_is_not_linear_is_an_atom() -> None:
    pool = Pool()
    k, j = pool.counter(0), pool.counter(1)
    for expr in (pool.op("mul", "i64", k, j), pool.op("xor", "i64", k, j), pool.op("shl", "i64", pool.const(1), k)):
        assert dict(linear_form(expr, {}).terms) == {expr: 1}
    assert linear_form(pool.op("sub", "i64", k, k), {}) == Linear(0, {})


def test_a_choice_is_followed_when_it_is_made() -> None:
    pool = Pool()
    k = pool.counter(0)
    a, b = pool.live("%base", "ptr"), pool.live("%other", "ptr")
    choice = pool.make("choice", (), (pool.make("cmp", ("icmp eq", "i64"), (k, pool.const(0))), a, b))
    expr = pool.op("add", "ptr", choice, k)
    assert dict(linear_form(expr, LIVES).terms) == {choice: 1, k: 1}
    assert linear_form(expr, LIVES, {choice: a}).const == LIVES["%base"]
    assert dict(linear_form(expr, LIVES, {choice: b}).terms) == {b: 1, k: 1}


def test_shared_parts_do_not_multiply_the_conditions() -> None:
    pool = Pool()
    node: Expr = pool.make("cast", ("trunc", "i64", "i32"), (pool.counter(0),))
    for _ in range(40):  # 2**40 paths
        node = pool.op("add", "i32", node, node)
    form = linear_form(node, {})
    assert dict(form.terms) == {pool.counter(0): 1 << 40}
    assert len(form.fits) <= 41


@settings(deadline=None)
@given(st.data(), st.booleans())
def test_forms_of_expressions_that_share_parts(data: st.DataObject, masks: bool) -> None:
    pool, forms = Pool(), Forms(LIVES, masks=masks)
    first = data.draw(addresses(pool, 64, 3))
    for expr in (first, pool.op("add", "i64", first, data.draw(addresses(pool, 64, 3))), first):
        one, other = forms.of(expr), linear_form(expr, LIVES, masks=masks)
        assert (one.const, dict(one.terms), one.atoms()) == (other.const, dict(other.terms), other.atoms())
        held = [[(inner.const, dict(inner.terms), *span) for inner, *span in form.fits] for form in (one, other)]
        assert held[0] == held[1]


def test_each_part_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []

    def form(node: Expr, *known: Any) -> Linear:
        looked.append(node)
        return made(node, *known)

    made = linear_forms._form
    monkeypatch.setattr(linear_forms, "_form", form)
    pool, forms = Pool(), Forms({})
    shared = pool.op("add", "i64", pool.counter(0), pool.const(8))
    for number in (1, 2, 1):
        forms.of(pool.op("mul", "i64", shared, pool.const(number + 2)))
    assert len(looked) == len(set(looked)) == 3 + 2 * 2


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-9, 9), st.integers(0, 9))
@example(0, 0, 0, 0)
def test_the_range_is_that_of_the_corners(const: int, low: int, factor: int, width: int) -> None:
    pool = Pool()
    k = pool.counter(0)
    values = [const + factor * value for value in range(low, low + width + 1)]
    assert Linear(const, {k: factor}).range({k: (low, low + width)}) == (min(values), max(values))


@pytest.mark.parametrize(
    ("shift", "mask", "high", "holds"),
    [
        (6, 0x7FFFFFFC0, (1 << 29) - 1, True),
        (6, 0x7FFFFFFC0, 1 << 29, False),  # the mask takes a bit away
        (3, 0x7FFFFFFF8, 9, True),
        (0, 7, 7, True),
        (0, 7, 8, False),
    ],
)
def test_a_mask_that_takes_nothing_away(shift: int, mask: int, high: int, holds: bool) -> None:
    pool = Pool()
    counter = pool.counter(0)
    form = linear_form(pool.op("mask", "i64", pool.op("shl", "i64", counter, pool.const(shift)), pool.const(mask)), {})
    assert dict(form.terms) == {counter: 1 << shift}
    assert form.holds({counter: (0, high)}) == holds
    assert not form.holds({counter: (-1, 0)})


@pytest.mark.parametrize("mask", [0x7FFFFFFC0, 5, -8])
def test_other_masks_are_atoms(mask: int) -> None:
    """Of numbers that are no multiples, with gaps, or without an end."""
    pool = Pool()
    masked = pool.op("mask", "i64", pool.counter(0), pool.const(mask))
    assert dict(linear_form(masked, {}).terms) == {masked: 1}


@pytest.mark.parametrize(("mask", "shift"), [(-1, 0), (-8, 3), (-8, 5)])
def test_a_mask_without_an_end_leaves_multiples_as_they_are(mask: int, shift: int) -> None:
    pool = Pool()
    counter = pool.counter(0)
    form = linear_form(pool.op("mask", "i64", pool.op("shl", "i64", counter, pool.const(shift)), pool.const(mask)), {})
    assert dict(form.terms) == {counter: 1 << shift}
    assert form.holds({counter: (-5, 1 << 40)})


def test_only_a_mask_that_does_not_change_is_looked_through() -> None:
    """The code takes new numbers through that one alone (`index_roles.forms`)."""
    pool = Pool()
    both = pool.op("and", "i64", pool.counter(0), pool.live("%mask", "i64"))
    assert dict(linear_form(both, {"%mask": 255}).terms) == {both: 1}
    masked = pool.op("mask", "i64", pool.counter(0), pool.live("%mask", "i64"))
    assert dict(linear_form(masked, {"%mask": 255}).terms) == {pool.counter(0): 1}
