"""Expressions: sharing, simplification, and their plain form for files."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.expressions import Expr, Pool, dump, restore, walk_all, wrapped
from tracecut.support.errors import ArtefactError
from tracecut.tracer.legality.evaluation.memory import Memory

from ...tracer.reference import interpret, signed

pytestmark = pytest.mark.quick

TYPES = ("i1", "i8", "i32", "i64")


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Pool, list[Expr]]:
    """A random graph of shared nodes of every kind; any of them may be a root."""
    pool = Pool()
    made: list[Expr] = []
    arg = st.integers(0, 1 << 30).map(lambda place: made[place % len(made)])
    for _ in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from("const float live counter load op cast cmp choice any trip opaque".split()))
        if not made or kind in ("const", "float", "live", "counter", "opaque"):
            made.append(draw(leaves(pool, kind)))
        elif kind == "load":
            made.append(
                pool.make("load", (f"%i{len(made)}", draw(st.sampled_from(["i32", "ptr", "double"]))), (draw(arg),))
            )
        elif kind == "op":
            opcode = draw(st.sampled_from(["add", "sub", "mul", "shl", "lshr", "or", "xor", "and", "sdiv", "smin"]))
            made.append(pool.op(opcode, draw(st.sampled_from([*TYPES, "ptr"])), draw(arg), draw(arg)))
        elif kind == "cast":
            made.append(pool.make("cast", ("sext", "i8", "i64"), (draw(arg),)))
        elif kind == "cmp":
            word = draw(st.sampled_from(["icmp ult", "icmp eq", "fcmp one", "fcmp uno"]))
            made.append(pool.make("cmp", (word, "i32" if word[0] == "i" else "float"), (draw(arg), draw(arg))))
        elif kind == "choice":
            made.append(pool.make("choice", (), (draw(arg), draw(arg), draw(arg))))
        elif kind == "any":
            made.append(pool.any_of([draw(arg) for _ in range(draw(st.integers(1, 3)))]))
        else:
            data = (
                64,
                draw(st.sampled_from(["ne", "slt", "uge"])),
                draw(st.booleans()),
                draw(st.sampled_from([0, 32, -32])),
            )
            made.append(pool.make("trip", data, (draw(arg), draw(arg), draw(arg))))
    return pool, made


@st.composite
def leaves(draw: st.DrawFn, pool: Pool, kind: str) -> Expr:
    if kind == "live":
        return pool.live(draw(st.sampled_from(["%a", "@g", '%"odd name"'])), draw(st.sampled_from(["i32", "ptr"])))
    if kind == "counter":
        return pool.counter(draw(st.integers(0, 3)))
    if kind == "opaque":
        return pool.opaque(draw(st.sampled_from(["call", "phi"])))
    if kind == "float":
        return pool.make("const", (draw(st.floats(allow_nan=False, allow_infinity=False)),))
    return pool.const(draw(st.integers(-(1 << 70), 1 << 70)))


def shape(expr: Expr) -> Any:
    """An expression as nested tuples, constants by their text (−0.0 is not 0)."""
    return expr.kind, repr(expr.data), tuple(shape(arg) for arg in expr.args)


@settings(max_examples=200, deadline=None)
@given(graphs(), st.data())
def test_what_is_dumped_comes_back(graph: tuple[Pool, list[Expr]], data: st.DataObject) -> None:
    _, made = graph
    roots = data.draw(st.lists(st.one_of(st.none(), st.sampled_from(made)), min_size=1, max_size=5))
    nodes, places = dump(roots)
    found = restore(json.loads(json.dumps(nodes)), Pool())
    assert len(found) == len({id(node) for root in roots if root is not None for node in root.walk()})
    for root, place in zip(roots, places, strict=True):
        assert (root is None) == (place is None)
        if root is not None and place is not None:
            assert shape(found[place]) == shape(root)
            assert str(found[place]) == str(root)


def after(expr: Expr, seen: dict[Expr, None]) -> None:
    """The slow walk: adds what is below an expression, and then itself."""
    for arg in expr.args:
        after(arg, seen)
    seen.setdefault(expr)


@settings(max_examples=200)
@given(graphs(), st.data())
def test_walks_are_those_of_a_recursion(graph: tuple[Pool, list[Expr]], data: st.DataObject) -> None:
    roots = data.draw(st.lists(st.sampled_from(graph[1]), max_size=5))
    every: dict[Expr, None] = {}
    for root in roots:
        below: dict[Expr, None] = {}
        after(root, below)
        after(root, every)
        assert list(root.walk()) == list(below)
        for kind in ("const", "counter", "choice", "op", "trip"):
            assert root.has(kind) == any(node.kind == kind for node in below)
        assert root.has("load", "any") == any(node.kind in ("load", "any") for node in below)
    assert list(walk_all(roots)) == list(every)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 80),
    st.just(1 << 80),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(-1, 2), max_size=3),
    st.sampled_from(["op", "any", "i64", "i999", "slt", "icmp eq"]),
)


@settings(max_examples=400, deadline=None)
@given(graphs(), st.data())
def test_damage_is_named_or_harmless(graph: tuple[Pool, list[Expr]], data: st.DataObject) -> None:
    """One item of the file is replaced: either that is refused by name, or what was read can be written again."""
    nodes: list[Any] = copy.deepcopy(dump([graph[1][-1]])[0])
    node = nodes[data.draw(st.integers(0, len(nodes) - 1))]
    part = data.draw(st.integers(0, 2))
    if part and isinstance(node[part], list) and node[part] and data.draw(st.booleans()):
        node[part][data.draw(st.integers(0, len(node[part]) - 1))] = data.draw(JUNK)
    else:
        node[part] = data.draw(JUNK)
    try:
        found = restore(nodes, Pool())
    except ArtefactError as error:
        assert str(error).startswith("expression ")
        return
    assert json.dumps(dump(found)[0]) is not None
    for made, written in zip(found, nodes, strict=True):
        assert [made.kind, list(made.data), len(made.args)] == [written[0], written[1], len(written[2])]
        assert all(type(item) is type(given) for item, given in zip(made.data, written[1], strict=True))


@pytest.mark.parametrize(
    "node",
    [
        7,
        None,
        [],
        ["const", [1]],
        ["const", [1], [], []],
        ["const", [True], []],
        ["const", [1 << 64], []],
        ["const", [float("nan")], []],
        ["const", [float("inf")], []],
        ["const", ["1"], []],
        ["live", "ab", []],
        ["live", ["", "i64"], []],
        ["counter", [1.0], []],
        ["counter", [True], []],
        ["what", [], []],
        [["op"], [], []],
        ["op", ["add", "i64"], [0, 1]],
        ["op", ["add", "i64"], [0, -1]],
        ["op", ["add", "i128"], [0, 0]],
        ["op", ["add", "i065"], [0, 0]],
        ["op", ["add", "<2 x i32>"], [0, 0]],
        ["op", ["add", "double"], [0, 0]],
        ["op", ["fadd", "i32"], [0, 0]],
        ["op", ["system", "i32"], [0, 0]],
        ["op", ["add\n", "i64"], [0, 0]],
        ["cast", ["sext", "i32"], [0]],
        ["cast", ["sitofp", "i32", "i64"], [0]],
        ["cast", ["fptosi", "i32", "i7"], [0]],
        ["cast", ["fptrunc", "i32", "double"], [0]],
        ["cast", ["zext", "double", "i32"], [0]],
        ["cmp", ["icmp oeq", "i32"], [0, 0]],
        ["cmp", ["fcmp ult", "i32"], [0, 0]],
        ["cmp", ["icmp ult", "float"], [0, 0]],
        ["choice", [], [0, 0]],
        ["any", [0], []],
        ["trip", [65, "slt", False, 0], [0, 0, 0]],
        ["trip", [32, "slt", False, 32], [0, 0, 0]],
        ["trip", [32, "slt", False, -32], [0, 0, 0]],
        ["trip", [32, "slt", 0, 0], [0, 0, 0]],
        ["trip", [32, "slt ", False, 0], [0, 0, 0]],
        ["trip", [0, "slt", False, 0], [0, 0, 0]],
        ["opaque", ["x"], []],
    ],
    ids=str,
)
def test_what_dump_would_not_write_is_refused(node: Any) -> None:
    with pytest.raises(ArtefactError, match="expression 1 is damaged"):
        restore([["const", [0], []], node], Pool())


@pytest.mark.parametrize("nodes", [None, 3, {"a": 1}, "text"], ids=str)
def test_a_table_that_is_none_is_refused(nodes: Any) -> None:
    with pytest.raises(ArtefactError, match="damaged"):
        restore(nodes, Pool())


def test_equal_nodes_are_one() -> None:
    pool = Pool()
    first = pool.op("add", "i64", pool.live("%a", "i64"), pool.const(3))
    assert first is pool.op("add", "i64", pool.live("%a", "i64"), pool.const(3))
    assert first is not pool.op("add", "i32", pool.live("%a", "i64"), pool.const(3))
    zeros = [pool.make("const", (value,)) for value in (0, 0.0, -0.0)]
    assert len({id(node) for node in zeros}) == 3


def test_what_is_not_known_equals_nothing() -> None:
    """Two results of calls are two values, also behind a file."""
    pool = Pool()
    a, b = pool.opaque("call"), pool.opaque("call")
    c, d = pool.any_of([a, b]), pool.any_of([a, b])
    assert len({id(node) for node in (a, b, c, d)}) == 4
    assert pool.any_of([a, a]) is a
    fresh = Pool()
    nodes, _ = dump([a, b, c, d])
    found = restore(nodes, fresh)
    for _ in range(8):
        assert fresh.opaque("call") not in found
        found.append(fresh.any_of([found[0], found[1]]))
    assert len({id(node) for node in found}) == len(found)


def test_a_shared_graph_is_walked_once() -> None:
    pool = Pool()
    node = pool.live("%a", "i64")
    for _ in range(60):  # 2**60 paths
        node = pool.make("op", ("xor", "i64"), (node, node))
    assert len(list(node.walk())) == 61
    assert len(dump([node])[0]) == 61


def test_a_deep_expression_needs_no_deep_stack() -> None:
    pool = Pool()
    node = pool.counter(0)
    for place in range(5000):
        node = pool.make("op", ("add", "i64"), (node, pool.live(f"%v{place}", "i64")))
    nodes, (place,) = dump([node])
    assert place == len(nodes) - 1
    assert len(list(restore(nodes, Pool())[-1].walk())) == 10001


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from("add sub mul shl lshr ashr and or xor sdiv".split()),
    st.sampled_from([1, 8, 32, 64]),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.sampled_from([None, 0, 1, -1]),
    st.sampled_from([None, 0, 1, -1]),
)
def test_simplification_keeps_the_value(
    opcode: str, bits: int, a: int, b: int, first: int | None, second: int | None
) -> None:
    pool, type = Pool(), f"i{bits}"
    sides = []
    for name, fixed in (("a", first), ("b", second)):
        sides.append(pool.live(name, type) if fixed is None else pool.const(signed(fixed, bits)))
    lives = {"a": signed(a, bits), "b": signed(b, bits)}
    plain = pool.make("op", (opcode, type), tuple(sides))
    memory = Memory([], {})
    expected = interpret(plain, {}, lives, memory)
    if expected is not None:
        assert interpret(pool.op(opcode, type, *sides), {}, lives, memory) == expected


@given(st.integers(-(1 << 70), 1 << 70))
def test_constants_wrap_at_64_bits(value: int) -> None:
    assert Pool().const(value).data == (wrapped(value),)
    assert (wrapped(value) - value) % (1 << 64) == 0
    assert -(1 << 63) <= wrapped(value) < 1 << 63
