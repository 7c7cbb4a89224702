"""Reductions that are found in random chains of operations, put to the test: does any order give the same?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tracecut.ir.llvm import Function, TypeTable, parse_module
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.tracer.loops.updates.reductions import Uses, feeds_itself, memory_reduction, register_reduction

from ..reference import arithmetic, cast, compare

pytestmark = pytest.mark.quick

# (name, what it is, type, operands)
Step = tuple[str, str, str, tuple[str, ...]]
BINARY = "add sub mul and or xor smin smax umin umax".split()
INPUTS = ("%a", "%b")


def text_of(steps: Sequence[Step], memory: bool) -> str:
    """A loop that takes its value through the steps: in a register, or in memory at %p."""
    lines = ["define i8 @f(ptr %x, ptr %p, i8 %s0, i64 %n) {", "entry:", "  br label %loop", "loop:"]
    lines.append("  %k = phi i64 [ 0, %entry ], [ %next, %loop ]")
    last = steps[-1][0] if steps else "%s"
    if not memory:
        lines.append(f"  %s = phi i8 [ %s0, %entry ], [ {last}, %loop ]")
    lines += [
        "  %xa = getelementptr i8, ptr %x, i64 %k",
        "  %a = load i8, ptr %xa",
        "  %xb = getelementptr i8, ptr %xa, i64 1",
    ]
    lines += ["  %b = load i8, ptr %xb"]
    if memory:
        lines.append("  %s = load i8, ptr %p")
    for name, what, type, operands in steps:
        lines.append(f"  {name} = {line_of(what, type, operands)}")
    if memory:
        lines.append(f"  store i8 {last}, ptr %p")
    lines += ["  %next = add i64 %k, 1", "  %more = icmp slt i64 %next, %n", "  br i1 %more, label %loop, label %end"]
    return "\n".join([*lines, "end:", f"  ret i8 {'%s0' if memory else last}", "}"])


def line_of(what: str, type: str, operands: tuple[str, ...]) -> str:
    if what in ("zext", "sext"):
        return f"{what} i8 {operands[0]} to i16"
    if what == "trunc":
        return f"trunc i16 {operands[0]} to i8"
    if what == "freeze":
        return f"freeze {type} {operands[0]}"
    if what.startswith("icmp"):
        return f"{what} {type} {operands[0]}, {operands[1]}"
    if what == "select":
        return f"select i1 {operands[0]}, {type} {operands[1]}, {type} {operands[2]}"
    if what[1:] in ("min", "max"):
        return f"call {type} @llvm.{what}.{type}({type} {operands[0]}, {type} {operands[1]})"
    return f"{what} {type} {operands[0]}, {operands[1]}"


def run(steps: Sequence[Step], start: int, inputs: Sequence[tuple[int, int]]) -> int:
    """The value after the loop has taken these inputs, in this order."""
    value = start
    for a, b in inputs:
        known: dict[str, int] = {"%s": value, "%a": a, "%b": b}
        for name, what, type, operands in steps:
            known[name] = step(what, type, [known[text] if text.startswith("%") else int(text) for text in operands])
        value = known[steps[-1][0]] if steps else value
    return value


def step(what: str, type: str, operands: Sequence[int]) -> int:
    if what in ("zext", "sext", "trunc"):
        found = cast(what, "i16" if what == "trunc" else "i8", "i8" if what == "trunc" else "i16", operands[0])
    elif what == "freeze":
        found = operands[0]
    elif what.startswith("icmp"):
        found = -int(compare(what, type, *operands))
    elif what == "select":
        found = operands[1] if operands[0] else operands[2]
    else:
        found = arithmetic(what, type, *operands)
    assert isinstance(found, int)
    return found


@st.composite
def chains(draw: st.DrawFn) -> list[Step]:
    """Random steps that start at %s and end in an i8."""
    steps: list[Step] = []
    values: dict[str, list[str]] = {"i8": ["%s", *INPUTS], "i16": [], "i1": []}
    current = ("%s", "i8")
    for place in range(draw(st.integers(1, 5))):
        text, type = current
        # Mostly the chain goes on from where it is; now and then a value from before comes in.
        side = lambda kind: draw(st.sampled_from([*values[kind], *INPUTS] if kind == "i8" else [*values[kind], "3"]))  # noqa: E731
        what = draw(st.sampled_from([*BINARY, "zext", "sext", "trunc", "freeze", "select", "extreme"]))
        name = f"%t{place}"
        if what in ("zext", "sext"):
            if type != "i8":
                continue
            made: Step = (name, what, "i16", (text,))
        elif what == "trunc":
            if type != "i16":
                continue
            made = (name, what, "i8", (text,))
        elif what == "freeze":
            made = (name, what, type, (text,))
        elif what in ("select", "extreme"):
            other = side(type)
            tested = (text, other) if what == "extreme" else (side(type), side(type))
            if draw(st.booleans()):
                tested = tested[::-1]
            word = draw(st.sampled_from("slt sgt sle sge ult ugt ule uge eq ne".split()))
            steps.append((f"%c{place}", f"icmp {word}", type, tested))
            arms = (text, other) if draw(st.booleans()) else (other, text)
            made = (name, "select", type, (f"%c{place}", *arms))
        else:
            pair = (text, side(type)) if draw(st.booleans()) else (side(type), text)
            made = (name, what, type, pair)
        steps.append(made)
        values[made[2]].append(name)
        current = (name, made[2])
    if current[1] == "i16":
        steps.append(("%low", "trunc", "i8", (current[0],)))
    assume(steps)
    return steps


def view_of(steps: Sequence[Step], *, memory: bool) -> FunctionView:
    return FunctionView(parse_module(text_of(steps, memory)).functions["@f"], TypeTable({}))


def register(steps: Sequence[Step]) -> str | None:
    view = view_of(steps, memory=False)
    phi = next(phi for phi in view.function.block("loop").phis if phi.result == "%s")
    return register_reduction(Uses(view), phi, view.flow.loops[0])


def in_memory(steps: Sequence[Step]) -> str | None:
    view = view_of(steps, memory=True)
    block = view.function.block("loop")
    store = next(found for found in block.instructions if found.op == "store")
    found = memory_reduction(Uses(view), block, store)
    return None if found is None else found.operator


NARROWED = [("%w", "zext", "i16", ("%s",)), ("%m", "smax", "i16", ("%w", "300")), ("%low", "trunc", "i8", ("%m",))]
CLAMPED: list[Step] = [
    ("%t0", "add", "i8", ("%s", "%a")),
    ("%c1", "icmp slt", "i8", ("%t0", "%b")),
    ("%t1", "select", "i8", ("%c1", "%t0", "%b")),
]


@settings(max_examples=300, deadline=None)
@given(chains(), st.integers(-128, 127), st.lists(st.tuples(*[st.integers(-128, 127)] * 2), min_size=3, max_size=3))
@example(NARROWED, -1, [(1, 2), (3, 4), (5, 6)])
@example(CLAMPED, 5, [(100, 3), (-100, 50), (7, 7)])
def test_what_is_called_a_reduction_does_not_depend_on_the_order(
    steps: list[Step], start: int, inputs: list[tuple[int, int]]
) -> None:
    for find in (register, in_memory):
        if find(steps) is not None:
            results = {run(steps, start, order) for order in itertools.permutations(inputs)}
            assert len(results) == 1, (text_of(steps, find is in_memory), find(steps))


COMBINE: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: step("add", "i8", (a, b)),
    "mul": lambda a, b: step("mul", "i8", (a, b)),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "smin": min,
    "smax": max,
    "umin": lambda a, b: step("umin", "i8", (a, b)),
    "umax": lambda a, b: step("umax", "i8", (a, b)),
}
IDENTITY = {"add": 0, "mul": 1, "and": -1, "or": 0, "xor": 0, "smin": 127, "smax": -128, "umin": -1, "umax": 0}


@settings(max_examples=200, deadline=None)
@given(chains(), st.integers(-128, 127), st.lists(st.tuples(*[st.integers(-128, 127)] * 2), min_size=4, max_size=4))
def test_parts_combine_by_the_operator(steps: list[Step], start: int, inputs: list[tuple[int, int]]) -> None:
    """What the executor does: each part begins at the neutral element, and what comes out is combined."""
    operator = register(steps)
    if operator is None:
        return
    neutral = IDENTITY[operator]
    parts = [run(steps, neutral, inputs[:2]), run(steps, neutral, inputs[2:])]
    combined = COMBINE[operator](start, COMBINE[operator](*parts))
    assert combined == run(steps, start, inputs), (text_of(steps, False), operator)


@pytest.mark.parametrize(
    ("steps", "operator"),
    [
        ([("%t", "add", "i8", ("%s", "%a"))], "add"),
        ([("%t", "add", "i8", ("%a", "%s"))], "add"),
        ([("%t", "sub", "i8", ("%s", "%a"))], "add"),
        ([("%t", "sub", "i8", ("%a", "%s"))], None),
        ([("%t", "add", "i8", ("%s", "%s"))], None),
        ([("%t", "mul", "i8", ("%s", "%a"))], "mul"),
        ([("%t", "smin", "i8", ("%s", "%a"))], "smin"),
        ([("%t", "umax", "i8", ("%a", "%s"))], "umax"),
        ([("%t", "add", "i8", ("%s", "%a")), ("%u", "sub", "i8", ("%t", "%b"))], "add"),
        ([("%t", "add", "i8", ("%s", "%a")), ("%u", "mul", "i8", ("%t", "%b"))], None),
        ([("%t", "add", "i8", ("%s", "%a")), ("%u", "add", "i8", ("%t", "%t"))], None),
        ([("%t", "add", "i8", ("%s", "%a")), ("%u", "add", "i8", ("%t", "%s"))], None),
        ([("%w", "sext", "i16", ("%s",)), ("%t", "add", "i16", ("%w", "300")), ("%l", "trunc", "i8", ("%t",))], "add"),
        ([("%c", "icmp ult", "i8", ("%s", "%a")), ("%t", "select", "i8", ("%c", "%s", "%a"))], "umin"),
        ([("%c", "icmp sge", "i8", ("%a", "%s")), ("%t", "select", "i8", ("%c", "%a", "%s"))], "smax"),
        ([("%c", "icmp eq", "i8", ("%a", "%s")), ("%t", "select", "i8", ("%c", "%a", "%s"))], None),
        (NARROWED, None),
        (CLAMPED, None),
    ],
    ids=str,
)
def test_chains(steps: list[Step], operator: str | None) -> None:
    assert register(steps) == operator
    assert in_memory(steps) == operator


MEMORY = """
declare void @unknown()
define void @f(ptr %p, ptr %q, i32 %v) {{
loop:
  %s = load i32, ptr %p
  {between}
  %t = add i32 %s, %v
  {after}
  store i32 %t, ptr %p
  {behind}
  br label %loop
}}
"""


def closed(between: str = "", after: str = "", behind: str = "") -> tuple[Function, object]:
    function = parse_module(MEMORY.format(between=between, after=after, behind=behind)).functions["@f"]
    block = function.blocks[0]
    store = next(found for found in block.instructions if found.op == "store" and found.operands[0].text == "%t")
    return function, memory_reduction(Uses(FunctionView(function, TypeTable({}))), block, store)


def test_nothing_else_between_load_and_store() -> None:
    assert closed()[1] is not None
    assert closed(between="call void @unknown()")[1] is None
    assert closed(between="fence seq_cst")[1] is None
    assert closed(behind="call void @unknown()")[1] is not None


def test_the_value_in_between_is_seen_by_nobody() -> None:
    assert closed(between="%w = xor i32 %s, 1")[1] is None
    assert closed(behind="%w = xor i32 %t, 1")[1] is None
    assert closed(behind="store i32 %t, ptr %q")[1] is None


def test_a_store_in_between_is_remembered() -> None:
    _, found = closed(after="store i32 7, ptr %q")
    assert [str(other) for other in found.between] == ["store i32 7, ptr %q"]  # type: ignore[attr-defined]


def test_another_load_of_the_place_comes_closer() -> None:
    """The nearest load counts: from the one before, a store of the same place may have passed."""
    assert closed(after="%again = load i32, ptr %p")[1] is None


def test_a_value_that_only_waits_does_not_feed_itself() -> None:
    text = text_of([("%t", "add", "i8", ("%a", "%b"))], memory=False)
    view = FunctionView(parse_module(text).functions["@f"], TypeTable({}))
    phi = view.function.block("loop").phis[1]
    assert not feeds_itself(Uses(view), phi, view.flow.loops[0])
    view = view_of([("%t", "add", "i8", ("%s", "%b"))], memory=False)
    assert feeds_itself(Uses(view), view.function.block("loop").phis[1], view.flow.loops[0])


OUTER = """
define double @f(ptr %x, ptr %z, i64 %n) {{
entry:
  br label %outer
outer:
  %t = phi i64 [ 0, %entry ], [ %t.next, %again ]
  %rho = phi double [ 1.0, %entry ], [ %sum.next, %again ]
  br label %loop
loop:
  %k = phi i64 [ 0, %outer ], [ %k.next, %loop ]
  %sum = phi double [ 0.0, %outer ], [ %sum.next, %loop ]
  %at = getelementptr double, ptr %x, i64 %k
  %v = load double, ptr %at
  %w = fmul double %v, {factor}
  %sum.next = fadd double %sum, %w
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %n
  br i1 %more, label %loop, label %again
again:
  %t.next = add i64 %t, 1
  %on = icmp slt i64 %t.next, 9
  br i1 %on, label %outer, label %end
end:
  ret double %sum.next
}}
"""


@pytest.mark.parametrize(("factor", "operator"), [("%rho", "fadd"), ("%sum", None)])
def test_a_sum_of_the_last_entry_may_be_a_factor(factor: str, operator: str | None) -> None:
    """As in conjugate gradients: the residual of the step before is a number like any other in this one."""
    (function,) = parse_module(OUTER.format(factor=factor)).functions.values()
    view = FunctionView(function, TypeTable({}))
    inner = max(view.flow.loops, key=lambda loop: loop.depth)
    (phi,) = (item for item in view.flow.blocks["loop"].phis if item.result == "%sum")
    assert register_reduction(Uses(view), phi, inner) == operator
    assert feeds_itself(Uses(view), phi, inner)
