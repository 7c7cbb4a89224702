"""Which tests on an index only count iterations, and which see what it is."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import TypeTable, parse_module
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.expressions import Expr, Pool
from tracecut.tracer.loops.index_roles import Roles, exit_tests, piece_pairs, roles
from tracecut.tracer.loops.updates.reductions import Uses

pytestmark = pytest.mark.quick

TEXT = """define void @f(ptr %x, ptr %p, i64 %n, i64 %m) {{
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %latch ]
  %at = getelementptr i64, ptr %p, i64 %k
  %i = load i64, ptr %at
  %made = {made}
  br label %inner
inner:
  %j = phi i64 [ 0, %loop ], [ %step, %body ]
  %to = getelementptr i64, ptr %x, i64 %i
  store i64 %j, ptr %to
  %{early} = icmp eq i64 %made, 77
  br i1 %{early}, label %latch, label %body
body:
  %step = add i64 %j, 1
  %{count} = icmp slt i64 %step, %made
  br i1 %{count}, label %inner, label %latch
latch:
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}}"""


def found(made: str) -> Roles:
    """Roles of the loaded %i; the exit from `body` is the one that counts."""
    module = parse_module(TEXT.format(made=made, early="early", count="count"))
    view = FunctionView(module.functions["@f"], TypeTable({}))
    uses = Uses(view)
    (outer,) = (loop for loop in view.flow.loops if loop.header == "loop")
    return roles(uses, "%i", outer.blocks, exit_tests(uses, [("body", "latch")]))


@pytest.mark.parametrize(
    "made", ["add i64 %i, 1", "add i64 %i, %m", "shl i64 %i, 2", "shl i64 %i, %m", "mul i64 %m, %i", "freeze i64 %i"]
)
def test_a_linear_test_counts_and_one_that_leaves_early_is_on_data(made: str) -> None:
    role = found(made)
    assert [str(test.result) for test in role.bounds] == ["%count"]
    assert [str(test.result) for test in role.data] == ["%early"]
    assert [access.op for access in role.addresses] == ["store"]


@pytest.mark.parametrize(
    "made",
    [
        "and i64 %i, %m",
        "and i64 %i, 7",
        "or i64 %i, %m",
        "shl i64 1, %i",
        "shl i64 %i, %i",
        "mul i64 %i, %i",
        "mul i64 %i, %k",
        "lshr i64 %i, 1",
        "ashr i64 %i, %m",
        "udiv i64 %i, 3",
        "urem i64 %i, 3",
        "xor i64 %i, 1",
    ],
)
def test_what_is_made_of_its_bits_is_no_count(made: str) -> None:
    role = found(made)
    assert not role.bounds
    assert {str(item.result) for item in role.data} in ({"%early", "%count"}, {"%made"})


@pytest.mark.parametrize(
    ("made", "pair", "counts"),
    [
        ("call i64 @llvm.smax.i64(i64 %i, i64 %e)", {"%i", "%e"}, True),
        ("call i64 @llvm.smax.i64(i64 %e, i64 %i)", {"%i", "%e"}, True),
        ("call i64 @llvm.smax.i64(i64 %i, i64 %e)", {"%i", "%m"}, False),
        ("call i64 @llvm.smin.i64(i64 %i, i64 %e)", {"%i", "%e"}, False),
        ("call i64 @llvm.smax.i64(i64 %i, i64 %m)", {"%i", "%e"}, False),
    ],
)
def test_the_larger_of_a_start_and_its_end_is_the_end(made: str, pair: set[str], counts: bool) -> None:
    text = TEXT.format(made=made, early="early", count="count")
    text = text.replace("%at = ", "%to.e = getelementptr i64, ptr %p, i64 %n\n  %e = load i64, ptr %to.e\n  %at = ")
    view = FunctionView(parse_module(text).functions["@f"], TypeTable({}))
    uses = Uses(view)
    (outer,) = (loop for loop in view.flow.loops if loop.header == "loop")
    role = roles(uses, "%i", outer.blocks, exit_tests(uses, [("body", "latch")]), frozenset({frozenset(pair)}))
    assert [str(item.result) for item in role.bounds] == (["%count"] if counts else [])
    assert [str(item.result) for item in role.data] == (["%early"] if counts else ["%made"])


WALK = """define void @f(ptr %x, ptr %p, ptr %q, i64 %n, i64 %m) {{
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %done ]
  %last = phi i64 [ 0, %entry ], [ %end, %done ]
  %at = getelementptr i64, ptr %p, i64 %k
  %i = load i64, ptr %at
  %row = getelementptr [4 x i8], ptr @rows, i64 %i
  br label %walk
walk:
  %j = phi i64 [ %i, %loop ], [ %step, %walk ]
  %r = phi ptr [ %row, %loop ], [ %further, %walk ]
  %to = load i32, ptr %r
  %step = add i64 %j, 1
  %further = getelementptr i8, ptr %r, i64 4
  %more = icmp sgt i32 %to, 0
  br i1 %more, label %walk, label %done
done:
  %end = phi i64 [ %j, %walk ]
  %here = ptrtoint ptr %r to i64
  %there = ptrtoint ptr %row to i64
  %twice = shl i64 %i, 1
  %far = add i64 %j, %m
  %count = sub i64 {operands}
  store i64 %count, ptr %q
  %next = add i64 %k, 1
  %again = icmp slt i64 %next, %n
  br i1 %again, label %loop, label %left
left:
  ret void
}}
@rows = global i8 0"""


@pytest.mark.parametrize(
    ("operands", "known"),
    [
        ("%j, %i", True),
        ("%end, %i", True),
        ("%i, %step", True),
        ("%here, %there", True),
        ("%there, %here", True),
        ("%far, %i", False),  # by no constant steps
        ("%twice, %i", False),
        ("%twice, %far", False),
        ("%last, %i", False),  # of the iteration before
        ("%here, %i", False),
        ("%m, %i", False),
    ],
)
def test_how_far_a_loop_has_come_is_the_same_for_any_number(operands: str, known: bool) -> None:
    view = FunctionView(parse_module(WALK.format(operands=operands)).functions["@f"], TypeTable({}))
    (outer,) = (loop for loop in view.flow.loops if loop.header == "loop")
    role = roles(Uses(view), "%i", outer.blocks)
    assert ("%count" in [str(item.result) for item in role.bounds]) == known
    assert ("store" in [item.op for item in role.data]) != known


def test_a_loop_that_runs_as_often_as_two_numbers_are_apart_has_a_start_and_an_end() -> None:
    pool = Pool()
    at, zero, step = pool.live("p", "ptr"), pool.const(0), pool.const(1)
    start, end, more = (pool.make("load", (name, "i64"), (at,)) for name in ("%start", "%end", "%more"))

    def pairs(first: Expr, bound: Expr) -> list[list[str]]:
        trip = pool.make("trip", (64, "slt", False, 0), (first, step, bound))
        return [sorted(pair) for pair in piece_pairs([trip])]

    way = pool.op("sub", "i64", end, start)
    assert pairs(start, end) == pairs(zero, way) == pairs(zero, pool.op("mul", "i64", way, pool.const(8)))
    assert pairs(zero, way) == [["%end", "%start"]]
    first, scaled = (pool.op("mul", "i64", number, pool.const(8)) for number in (start, way))
    assert pairs(start, pool.op("add", "i64", start, way)) == [["%end", "%start"]]
    assert pairs(pool.op("add", "i64", at, first), pool.op("add", "i64", pool.op("add", "i64", at, first), scaled)) == [
        ["%end", "%start"]
    ]
    assert not pairs(more, pool.op("add", "i64", start, way)) and not pairs(start, pool.op("add", "i64", more, way))
    both = pool.op("add", "i64", end, start)
    assert not pairs(zero, both) and not pairs(start, way) and not pairs(zero, pool.op("sub", "i64", both, more))
