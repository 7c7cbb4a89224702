"""Vectorised evaluation, compared with an interpreter that takes one iteration after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.ir.loops.nest import NOWHERE, Nest, NestLoop
from tracecut.ir.loops.path_conditions import ALWAYS, Condition, both
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.few_iterations import few_values
from tracecut.tracer.legality.evaluation.memory import GLOBAL, HEAP, Memory, Object

from ..reference import Number, interpret, signed

pytestmark = pytest.mark.quick

FLOATS = ("float", "double")
INTEGERS = ("i1", "i8", "i16", "i32", "i64")
SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}
ROWS = 7
STARTS = np.array([0, 3, 3, 4, 9, 9, 9, 12], np.int32)  # pieces that follow each other, some empty
LOOSE = np.array([5, 2, 0, 7, 1, 6, 3], np.int64)  # starts that do not
LENGTHS = np.array([2, 0, 3, 1, 0, 4, 1], np.int32)


def memory() -> Memory:
    """Index arrays with extreme numbers, data, and a hole that cannot be read."""
    draw = np.random.default_rng(3)
    parts = {
        0x1000: STARTS,
        0x2000: LOOSE,
        0x3000: LENGTHS,
        0x4000: np.array([0, 1, -1, 127, -128, 77, 7, 3, 2, 5, 11, 4, 6], np.int8),
        0x5000: draw.integers(-(1 << 63), (1 << 63) - 1, 13, dtype=np.int64),
        0x6000: np.array([0.0, -0.0, 1.5, -2.25, 1e300, math.inf, -math.inf, math.nan, 3e9, -1e-310, 2.0, 9e18, 1e19]),
        0x7000: np.array([0.0, 1.5, -3.25, 1e30, math.inf, math.nan, 2.0, -0.0, 1e-40, 7.0, 8.0, 3e9, 1.0], np.float32),
        0x8000: draw.integers(-(1 << 31), (1 << 31) - 1, 13, dtype=np.int32),
    }
    objects = [Object(base, data.nbytes, HEAP) for base, data in parts.items()]
    contents = {base: np.frombuffer(data.tobytes(), np.uint8) for base, data in parts.items()}
    return Memory([*objects, Object(0x9000, 64, GLOBAL, "@unread")], contents)


BASES = {"i1": 0x4000, "i8": 0x4000, "i16": 0x4000, "i32": 0x8000, "i64": 0x5000, "double": 0x6000, "float": 0x7000}
LIVES: dict[str, Number] = {
    "i1": -1,
    "i8": -128,
    "i16": 300,
    "i32": -(1 << 31),
    "i64": (1 << 62) + 5,
    "float": 2.5,
    "double": -1e-3,
}


def loop(number: int, parent: int | None, trip: Expr | None, reach: Condition = ALWAYS) -> NestLoop:
    depth = 1 if parent is None else 2
    return NestLoop(number, parent, f"bb{number}", depth, NOWHERE, trip, "", reach, (), (), (), 1)


def int32(pool: Pool, name: str, address: int, index: Expr, size: int = 4) -> Expr:
    place = pool.op("add", "ptr", pool.live(f"base{address:x}", "ptr"), pool.op("mul", "i64", index, pool.const(size)))
    return pool.make("load", (name, "i32" if size == 4 else "i64"), (place,))


@dataclass
class Setting:
    """A loop over rows and one over the pieces of each row, on known numbers."""

    pool: Pool
    nest: Nest
    lives: Mapping[str, Number]
    memory: Memory

    def evaluation(self) -> Evaluation:
        return Evaluation(self.nest, self.memory, self.lives)

    def iterations(self, inner: bool) -> Iterator[dict[int, int]]:
        for row in range(ROWS):
            if not inner:
                yield {0: row}
                continue
            info = self.nest.loops[1]
            assert info.trip is not None
            start, _, bound = (interpret(arg, {0: row}, self.lives, self.memory) for arg in info.trip.args)
            assert isinstance(start, int) and isinstance(bound, int)
            assert info.reach is not None
            enters = any(
                all(bool(interpret(expr, {0: row}, self.lives, self.memory)) == wanted for expr, wanted in term)
                for term in info.reach
            )
            for counter in range(max(0, bound - start) if enters else 0):
                yield {0: row, 1: counter}


def setting(*, following: bool = True, entered: bool = False) -> Setting:
    """`following`: the pieces are rows of a CSR matrix. `entered`: an odd row is skipped."""
    pool = Pool()
    row = pool.counter(0)
    if following:
        start = int32(pool, "%start", 0x1000, row)
        bound = int32(pool, "%end", 0x1000, pool.op("add", "i64", row, pool.const(1)))
    else:
        start = pool.const(0)
        bound = int32(pool, "%length", 0x3000, row)
    outer = pool.make("trip", (64, "slt", False, 0), (pool.const(0), pool.const(1), pool.live("n", "i64")))
    inner = pool.make("trip", (32, "slt", False, 0), (start, pool.const(1), bound))
    odd = pool.make("cmp", ("icmp eq", "i64"), (pool.op("and", "i64", row, pool.const(1)), pool.const(0)))
    reach = both(ALWAYS, (odd, True)) if entered else ALWAYS
    nest = Nest("@f", 0, {0: loop(0, None, outer), 1: loop(1, 0, inner, reach)}, (), {}, {}, {}, pool)
    lives = {**LIVES, "n": ROWS, **{f"base{at:x}": at for at in range(0x1000, 0xA000, 0x1000)}}
    return Setting(pool, nest, lives, memory())


@st.composite
def expressions(draw: st.DrawFn, pool: Pool, type: str, depth: int, inner: bool) -> Expr:
    """A random expression of a type, over counters, live values, loads and constants."""
    deeper = expressions(pool, type, depth - 1, inner)
    of = lambda kind: draw(expressions(pool, kind, depth - 1, inner))  # noqa: E731
    if depth == 0:
        return draw(leaves(pool, type, inner))
    shape = draw(st.sampled_from(["leaf", "op", "op", "cast", "choice", "load", "cmp"]))
    if shape == "leaf":
        return draw(leaves(pool, type, inner))
    if shape == "choice":
        return pool.make("choice", (), (of("i1"), draw(deeper), draw(deeper)))
    if shape == "load":
        index = of("i64")
        base = pool.live(f"base{draw(st.sampled_from([BASES[type], 0x9000])):x}", "ptr")
        if draw(st.booleans()):  # mostly a place that exists
            index = pool.op("and", "i64", index, pool.const(7))
        place = pool.op("add", "ptr", base, pool.op("mul", "i64", index, pool.const(SIZES[type])))
        return pool.make("load", (f"%x{place.serial}.{type}", type), (place,))
    if type in FLOATS:
        if shape == "cast":
            source = draw(st.sampled_from(["i1", "i8", "i32", "i64", "float", "double"]))
            if source in FLOATS:
                opcode = "fpext" if type == "double" else "fptrunc"
                return draw(deeper) if source == type else pool.make("cast", (opcode, source, type), (of(source),))
            return pool.make("cast", (draw(st.sampled_from(["sitofp", "uitofp"])), source, type), (of(source),))
        opcode = draw(st.sampled_from(["fadd", "fsub", "fmul", "fdiv", "fabs"]))
        return pool.op(opcode, type, draw(deeper), draw(deeper))
    if shape == "cmp" and type == "i1":
        return draw(comparisons(pool, depth, inner))
    if shape == "cast":
        return draw(casts(pool, type, depth, inner))
    opcode = draw(
        st.sampled_from(
            "add sub mul and or xor smin smax umin umax shl lshr ashr".split() + "udiv urem sdiv srem abs".split()
        )
    )
    return pool.op(opcode, type, draw(deeper), draw(deeper))


@st.composite
def leaves(draw: st.DrawFn, pool: Pool, type: str, inner: bool) -> Expr:
    if type in FLOATS:
        if draw(st.booleans()):
            return pool.live(type, type)
        return pool.make("const", (draw(st.sampled_from([0.0, -0.0, 1.0, 2.5, 1024.0])),))
    match draw(st.integers(0, 3)):
        case 0:
            number = pool.counter(draw(st.integers(0, int(inner))))
            return number if type == "i64" else pool.make("cast", ("trunc", "i64", type), (number,))
        case 1:
            return pool.live(type, type)
    bits = int(type[1:])
    return pool.const(signed(draw(st.one_of(st.integers(-3, 9), st.integers(-(1 << 63), (1 << 63) - 1))), bits))


@st.composite
def comparisons(draw: st.DrawFn, pool: Pool, depth: int, inner: bool) -> Expr:
    type = draw(st.sampled_from([*INTEGERS, *FLOATS]))
    sides = [draw(expressions(pool, type, depth - 1, inner)) for _ in range(2)]
    words = "oeq one olt ole ogt oge ueq une ult ule ugt uge ord uno true false".split()
    if type not in FLOATS:
        words = "eq ne slt sle sgt sge ult ule ugt uge".split()
    op = "fcmp" if type in FLOATS else "icmp"
    return pool.make("cmp", (f"{op} {draw(st.sampled_from(words))}", type), tuple(sides))


@st.composite
def casts(draw: st.DrawFn, pool: Pool, type: str, depth: int, inner: bool) -> Expr:
    source = draw(st.sampled_from([*INTEGERS, *FLOATS]))
    value = draw(expressions(pool, source, depth - 1, inner))
    if source in FLOATS:
        return pool.make("cast", (draw(st.sampled_from(["fptosi", "fptoui"])), source, type), (value,))
    if int(source[1:]) == int(type[1:]):
        return value
    opcode = "trunc" if int(source[1:]) > int(type[1:]) else draw(st.sampled_from(["sext", "zext"]))
    return pool.make("cast", (opcode, source, type), (value,))


def same(a: Number, b: Number) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return a == b


@settings(max_examples=250, deadline=None)
@given(st.data(), st.sampled_from([*INTEGERS, *FLOATS]), st.booleans(), st.booleans(), st.booleans())
def test_every_value_of_every_iteration(
    data: st.DataObject, type: str, inner: bool, following: bool, entered: bool
) -> None:
    here = setting(following=following, entered=entered)
    expr = data.draw(expressions(here.pool, type, 4, inner))
    evaluation = here.evaluation()
    number = int(inner)
    domain = evaluation.domain(number)
    assert domain is not None
    found = evaluation.at(expr, number)
    values = np.broadcast_to(found.data, domain.size)
    known = np.broadcast_to(found.known, domain.size)
    iterations = list(here.iterations(inner))
    assert domain.size == len(iterations)
    for place, counters in enumerate(iterations):
        expected = interpret(expr, counters, here.lives, here.memory)
        assert bool(known[place]) == (expected is not None), (str(expr), counters, expected)
        if expected is not None:
            value = values[place].item()
            assert same(value, expected), (str(expr), counters, value, expected)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.booleans(), st.booleans())
def test_picked_and_extreme_values_are_those_of_all(data: st.DataObject, inner: bool, following: bool) -> None:
    here = setting(following=following)
    expr = data.draw(expressions(here.pool, "i64", 3, inner))
    number = int(inner)
    evaluation = here.evaluation()
    whole = evaluation.at(expr, number)
    domain = evaluation.domain(number)
    assert domain is not None
    values, known = (np.broadcast_to(part, domain.size) for part in (whole.data, whole.known))
    places = np.array(data.draw(st.lists(st.integers(0, domain.size - 1), min_size=1)), np.int64)
    few = few_values(evaluation, expr, number, places)
    few_known = np.broadcast_to(few.known, places.size)
    assert np.array_equal(few_known, known[places])
    assert np.array_equal(np.broadcast_to(few.data, places.size)[few_known], values[places][few_known])
    extremes = evaluation.extremes(expr, number)
    if extremes is not None:
        assert known.all()
        assert extremes == (values.min(), values.max())


@settings(max_examples=100, deadline=None)
@given(st.data(), st.lists(st.lists(st.booleans(), min_size=1, max_size=3), max_size=3))
def test_truth_of_conditions(data: st.DataObject, wanted: list[list[bool]]) -> None:
    here = setting()
    terms = [[(data.draw(expressions(here.pool, "i1", 3, True)), sense) for sense in term] for term in wanted]
    may = here.evaluation().truth(frozenset(frozenset(term) for term in terms), 1)
    for place, counters in enumerate(here.iterations(True)):
        judged = []
        for term in terms:
            values = [(interpret(expr, counters, here.lives, here.memory), sense) for expr, sense in term]
            sure = [None if value is None else bool(value) == sense for value, sense in values]
            judged.append(False if False in sure else None if None in sure else True)
        size = sum(1 for _ in here.iterations(True))
        assert bool(np.broadcast_to(may, size)[place]) == any(found is not False for found in judged)


def test_an_unknown_condition_may_hold() -> None:
    assert bool(setting().evaluation().truth(None, 0))


@pytest.mark.parametrize("following", [True, False])
@pytest.mark.parametrize("entered", [True, False])
def test_ragged_domains(following: bool, entered: bool) -> None:
    here = setting(following=following, entered=entered)
    domain = here.evaluation().domain(1)
    assert domain is not None and domain.parent is not None
    expected = [(counters[0], counters[1]) for counters in here.iterations(True)]
    assert list(zip(domain.parent.tolist(), domain.counter.tolist(), strict=True)) == expected
    assert here.evaluation().jobs(1, 0).tolist() == [row for row, _ in expected]


def load_of(here: Setting, name: str, start: Expr, size: int = 4) -> Expr:
    """%name = load i32 from 0x8000 at index start + k1."""
    index = here.pool.op("add", "i64", start, here.pool.counter(1))
    return int32(here.pool, name, 0x8000, index, size)


def test_span_of_a_walk_along_rows() -> None:
    """Rows that follow each other are one walk: no vector of addresses is made, the span is exact."""
    here = setting()
    start = here.nest.loops[1].trip
    assert start is not None
    evaluation = here.evaluation()
    wide = here.pool.make("cast", ("sext", "i32", "i64"), (start.args[0],))
    value = evaluation.at(load_of(here, "%col", wide), 1)
    assert value.all_known
    assert evaluation.spans["%col"] == (0x8000, 0x8000 + 12 * 4, 4)
    assert np.array_equal(value.data, np.frombuffer(here.memory.contents[0x8000].tobytes(), np.int32)[:12])


def test_span_of_rows_that_are_scattered() -> None:
    """Each row is walked from a start of its own: the span is from the first to the last of those that have numbers."""
    here = setting(following=False)
    start = int32(here.pool, "%loose", 0x2000, here.pool.counter(0), 8)
    evaluation = here.evaluation()
    value = evaluation.at(load_of(here, "%col", start), 1)
    first, behind = LOOSE[LENGTHS > 0].min(), (LOOSE + LENGTHS)[LENGTHS > 0].max()
    assert evaluation.spans["%col"] == (0x8000 + 4 * first, 0x8000 + 4 * behind, 4)
    table = np.frombuffer(here.memory.contents[0x8000].tobytes(), np.int32)
    expected = [table[LOOSE[counters[0]] + counters[1]] for counters in here.iterations(True)]
    assert value.all_known and value.data.tolist() == expected


def test_no_span_where_a_row_leaves_its_array() -> None:
    """What lies in the array is read all the same, what does not is not known."""
    here = setting(following=False)
    loose = int32(here.pool, "%loose", 0x2000, here.pool.counter(0), 8)
    start = here.pool.op("add", "i64", loose, here.pool.const(5))
    evaluation = here.evaluation()
    value = evaluation.at(load_of(here, "%col", start), 1)
    assert "%col" not in evaluation.spans
    places = [LOOSE[counters[0]] + 5 + counters[1] for counters in here.iterations(True)]
    table = np.frombuffer(here.memory.contents[0x8000].tobytes(), np.int32)
    assert value.known.tolist() == [place < 13 for place in places]
    assert 0 < np.count_nonzero(value.known) < len(places)
    assert [value.data[i] for i, place in enumerate(places) if place < 13] == [table[p] for p in places if p < 13]


def test_span_of_a_walk_backwards() -> None:
    here = setting()
    index = here.pool.op("sub", "i64", here.pool.const(9), here.pool.counter(0))
    evaluation = here.evaluation()
    value = evaluation.at(int32(here.pool, "%back", 0x8000, index), 0)
    table = np.frombuffer(here.memory.contents[0x8000].tobytes(), np.int32)
    assert value.data.tolist() == table[9:2:-1].tolist()
    assert evaluation.spans["%back"] == (0x8000 + 3 * 4, 0x8000 + 10 * 4, 4)
