"""The closed form of a trip count, compared with the loop run literally in the machine's arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.tracer.loops.trip_counts import affine, apart, behind, count, extended

pytestmark = pytest.mark.quick

STEPS = 600  # of the literal loop
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def holds(predicate: str, a: int, b: int, bits: int) -> bool:
    """An icmp of two `bits` wide integers."""
    read = unsigned if predicate[0] == "u" else signed
    a, b = read(a, bits), read(b, bits)
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[
        predicate if predicate in ("eq", "ne") else predicate[1:]
    ]


def literal(data: tuple[int, str, bool, int], start: int, step: int, bound: int) -> int | None:
    """Iterations of the loop itself, None when it runs longer than STEPS. `narrow` as in a trip node."""
    bits, predicate, after, narrow = data
    value = signed(start, abs(narrow) or bits)
    for passed in range(STEPS):
        tested = value if narrow <= 0 else unsigned(value, narrow)
        if not holds(predicate, tested, bound, bits):
            return passed + after
        value = signed(value + step, abs(narrow) or bits)
    return None


@st.composite
def loops(draw: st.DrawFn) -> tuple[tuple[int, str, bool, int], int, int, int]:
    bits = draw(st.sampled_from([1, 2, 3, 4, 5, 8, 16, 31, 32, 33, 61, 62, 63, 64]))
    predicate = draw(st.sampled_from(PREDICATES))
    narrow = 0
    if bits > 1 and draw(st.booleans()):
        narrow = draw(st.integers(1, bits - 1)) * draw(st.sampled_from([1, -1]))
    width = abs(narrow) or bits
    edges = [0, 1, (1 << (width - 1)) - 1, 1 << (width - 1), (1 << width) - 1, 1 << max(0, width - 2)]
    start = draw(st.sampled_from(edges)) + draw(st.integers(-20, 20))
    near = start + draw(st.integers(-300, 300))
    bound = draw(st.one_of(st.just(near), st.sampled_from(edges), st.integers(-(1 << 63), (1 << 63) - 1)))
    step = draw(st.one_of(st.integers(-9, 9), st.sampled_from([*edges, -1, -edges[3]]), st.integers(-200, 200)))
    step = signed(step, width)
    value = signed(start, width) if narrow <= 0 else unsigned(start, width)
    return (bits, predicate, draw(st.booleans()), narrow), value, step, signed(bound, bits)


@settings(max_examples=800, deadline=None)
@given(loops())
@example(((8, "ult", False, 0), 250, 3, signed(255, 8)))  # the last step wraps
@example(((8, "ne", False, 0), 250, 3, 4))  # it wraps and still meets its bound
@example(((32, "sle", False, 0), 0, 1, (1 << 31) - 1))  # never ends
@example(((64, "slt", False, -32), (1 << 31) - 3, 1, 1 << 40))  # the extended counter wraps first
@example(((64, "ne", False, 32), 3, -1, 0))
@example(((64, "ult", True, 0), 5, -1, 3))
def test_closed_form_is_the_loop_itself(loop: tuple[tuple[int, str, bool, int], int, int, int]) -> None:
    data, start, step, bound = loop
    expected = literal(data, start, step, bound)
    found, known = count(data, np.array([start]), np.array([step]), np.array([bound]))
    if not known[0]:
        return
    if expected is None:
        assert found[0] > STEPS - 2, f"{found[0]} iterations, but it runs longer than {STEPS}"
    else:
        assert found[0] == expected


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([8, 16, 32, 64]),
    st.booleans(),
    st.integers(-100, 100),
    st.integers(1, 7),
    st.integers(0, 200),
    st.booleans(),
)
def test_ordinary_loops_are_known(bits: int, up: bool, start: int, step: int, length: int, after: bool) -> None:
    """What C programmers write has to be understood: no wrapping, a bound ahead."""
    if bits == 8:
        start, length = start % 50, length % 60
    bound = start + length if up else start - length
    data = (bits, "slt" if up else "sgt", after, 0)
    found, known = count(data, np.array([start]), np.array([step if up else -step]), np.array([bound]))
    assert known[0]
    assert found[0] == -(-length // step) + after


@pytest.mark.parametrize(
    ("data", "start", "step", "bound"),
    [
        ((32, "slt", False, 0), 0, 0, 5),  # stands still
        ((32, "slt", False, 0), 0, -1, 5),  # runs away
        ((32, "sle", False, 0), 0, 1, (1 << 31) - 1),  # the bound is the largest number
        ((8, "ule", False, 0), 0, 1, -1),
        ((64, "ne", False, 0), 0, 2, 5),  # steps over its bound
        ((64, "slt", False, 0), 0, 1, (1 << 62)),  # beyond what is reckoned with
        ((64, "ult", False, 0), 0, 1, -1),
        ((64, "slt", False, -32), 0, 1, 1 << 31),  # an int counter against a larger bound
        ((64, "ult", False, 32), 0, 2, (1 << 32) - 1),
        ((32, "eq", False, 0), 7, 0, 7),
    ],
)
def test_what_wraps_or_never_ends_is_not_known(
    data: tuple[int, str, bool, int], start: int, step: int, bound: int
) -> None:
    assert not count(data, np.array([start]), np.array([step]), np.array([bound]))[1].any()


def test_vectors_and_numbers_mix() -> None:
    found, known = count((32, "slt", False, 0), np.array([0, 5, 9, 12]), np.array(2), np.array(9))
    assert found.tolist() == [5, 2, 0, 0]
    assert known.all()


def value_of(expr: Expr, counter: int, lives: dict[str, int]) -> int | None:
    """The machine's value of an integer expression (slow reference), None for poison."""
    if expr.kind == "const":
        return int(expr.data[0])
    if expr.kind == "live":
        return lives[expr.data[0]]
    if expr.kind == "counter":
        return counter
    parts = [value_of(arg, counter, lives) for arg in expr.args]
    if None in parts:
        return None
    if expr.kind == "cast":
        opcode, source, target = expr.data
        bits = int(source[1:])
        if opcode == "trunc":
            return signed(parts[0], int(target[1:]))
        return signed(parts[0], bits) if opcode == "sext" else unsigned(parts[0], bits)
    opcode, type = expr.data
    bits = int(type[1:])
    a, b = parts
    if opcode == "shl":
        return signed(a << b, bits) if 0 <= b < bits else None
    if opcode == "sdiv":
        return None if b == 0 else signed(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1), bits)
    return signed({"add": a + b, "sub": a - b, "mul": a * b, "and": a & b, "or": a | b}[opcode], bits)


@st.composite
def expressions(draw: st.DrawFn, pool: Pool, bits: int, depth: int) -> Expr:
    """A random integer expression of one width over the counter and two live values."""
    leaf = depth == 0 or draw(st.integers(0, 3)) == 0
    if leaf:
        choice = draw(st.integers(0, 2))
        if choice == 0:
            counter = pool.counter(0)
            return counter if bits == 64 else pool.make("cast", ("trunc", "i64", f"i{bits}"), (counter,))
        if choice == 1:
            return pool.live(draw(st.sampled_from(["a", "b"])) + str(bits), f"i{bits}")
        return pool.const(signed(draw(st.integers(-5, 70)), bits))
    opcode = draw(st.sampled_from(["add", "sub", "mul", "shl", "and", "or", "sdiv", "trunc", "sext", "zext"]))
    if opcode == "trunc" and bits < 64:
        inner = draw(expressions(pool, 64, depth - 1))
        return pool.make("cast", ("trunc", "i64", f"i{bits}"), (inner,))
    if opcode in ("sext", "zext") and bits > 8:
        inner = draw(expressions(pool, 8, depth - 1))
        return pool.make("cast", (opcode, "i8", f"i{bits}"), (inner,))
    if opcode in ("trunc", "sext", "zext"):
        opcode = "add"
    left, right = draw(expressions(pool, bits, depth - 1)), draw(expressions(pool, bits, depth - 1))
    return pool.op(opcode, f"i{bits}", left, right)


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from([8, 32, 64]), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-130, 130))
def test_affine_is_value_at_zero_plus_steps(data: st.DataObject, bits: int, a: int, b: int) -> None:
    pool = Pool()
    expr = data.draw(expressions(pool, bits, 4))
    lives = {f"{name}{width}": signed(number, width) for name, number in (("a", a), ("b", b)) for width in (8, 32, 64)}
    found = affine(pool, expr, pool.counter(0))
    values = [value_of(expr, counter, lives) for counter in (0, 1, 2, 3, 100, 1000)]
    if found is None or None in values:
        return
    start, step = (value_of(part, 0, lives) for part in found)
    assert start is not None and step is not None
    for counter, value in zip((0, 1, 2, 3, 100, 1000), values, strict=True):
        assert value == signed(start + counter * step, bits)


@pytest.mark.parametrize("opcode", ["sext", "zext"])
def test_extension_of_a_counter(opcode: str) -> None:
    """`narrow` tells what the tested value was extended from; the step of an unsigned one may still be negative."""
    pool = Pool()
    counter = pool.counter(0)
    narrow = pool.make("cast", ("trunc", "i64", "i32"), (counter,))
    value = pool.op("add", "i32", pool.live("start", "i32"), pool.op("mul", "i32", pool.const(-1), narrow))
    found = extended(pool, pool.make("cast", (opcode, "i32", "i64"), (value,)), counter)
    assert found is not None
    start, step, width = found
    assert start.data == (opcode, "i32", "i64")
    assert step.data == (-1,)
    assert width == (32 if opcode == "zext" else -32)


def test_how_far_pointers_are_apart() -> None:
    """Where what both were reached by is loaded, and nothing else of them is made of that."""
    pool = Pool()
    links, eight = pool.live("%links", "ptr"), pool.const(8)
    first, count, other = (
        pool.make("cast", ("sext", "i32", "i64"), (pool.make("load", (name, "i32"), (pool.live(name, "ptr"),)),))
        for name in ("%first", "%count", "%other")
    )

    def ahead(of: Expr, number: Expr) -> Expr:
        return pool.op("add", "ptr", of, pool.op("mul", "i64", number, eight))

    begin, end = ahead(links, first), ahead(ahead(links, first), count)
    assert apart(pool, begin, end) == (pool.const(0), pool.op("mul", "i64", count, eight))
    assert apart(pool, pool.op("add", "ptr", begin, eight), end) == (eight, pool.op("mul", "i64", count, eight))
    assert apart(pool, begin, ahead(links, other)) is None
    assert apart(pool, begin, ahead(begin, pool.op("sub", "i64", other, first))) is None
    twice = pool.op("add", "ptr", pool.op("add", "ptr", links, first), pool.op("add", "i64", first, eight))
    assert apart(pool, twice, pool.op("add", "ptr", links, first)) is None  # the rest is made of it, too
    assert apart(pool, twice, pool.op("add", "ptr", twice, count)) == (pool.const(0), count)


@pytest.mark.parametrize("word", ["slt", "ne"])
def test_the_larger_of_start_and_end_is_the_end(word: str) -> None:
    """As a bound of a loop that begins one behind the start, in 64 bits: as many iterations, or never known."""
    first, last = (part.ravel() for part in np.meshgrid(np.arange(-9, 9), np.arange(-9, 9)))
    found = [count((64, word, True, 0), first + 1, np.array(1), bound) for bound in (np.maximum(first, last), last)]
    assert np.array_equal(found[0][1], found[1][1])
    assert np.array_equal(found[0][0][found[0][1]], found[1][0][found[1][1]])
    assert found[0][1][last > first].all()


def test_bounds_that_are_the_larger_of_two_numbers() -> None:
    pool = Pool()
    one, two, three = (pool.make("load", (name, "i32"), (pool.live(name, "ptr"),)) for name in ("%a", "%b", "%c"))

    def wide(number: Expr) -> Expr:
        return pool.make("cast", ("sext", "i32", "i64"), (number,))

    step = pool.const(1)
    start, bound = pool.op("add", "i64", wide(one), step), wide(pool.op("smax", "i32", one, two))
    assert behind(pool, start, step, bound) is wide(two)
    assert behind(pool, start, step, wide(pool.op("smax", "i32", two, one))) is wide(two)
    assert behind(pool, pool.op("add", "i64", wide(three), step), step, bound) is bound
    assert behind(pool, wide(one), step, bound) is bound
    assert behind(pool, pool.op("add", "i64", wide(one), pool.const(2)), pool.const(2), bound) is bound
    lower = wide(pool.op("smin", "i32", one, two))
    assert behind(pool, start, step, lower) is lower
