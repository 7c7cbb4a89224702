"""Updates in which nothing but the old value decides the new one, and what only looks like one."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import TypeTable, parse_module
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.tracer.loops.updates.reductions import Uses
from tracecut.tracer.loops.updates.repeated_updates import LONGEST, RepeatedUpdate, repeated_update

pytestmark = pytest.mark.quick

TEXT = """
declare double @sin(double)
declare void @unknown()
define void @f(ptr %p, ptr %q, i32 %by, i64 %n) {{
entry:
  br label %outer
outer:
  %k = phi i64 [ 0, %entry ], [ %k2, %end ]
  %set = load i32, ptr %q
  br label %loop
loop:
  %i = phi i64 [ 0, %outer ], [ %i2, %loop ]
  %old = load i32, ptr %p
  {body}
  store i32 %new, ptr %p
  {behind}
  %i2 = add i64 %i, 1
  %more = icmp slt i64 %i2, %n
  br i1 %more, label %loop, label %end
end:
  %k2 = add i64 %k, 1
  %again = icmp slt i64 %k2, %n
  br i1 %again, label %outer, label %done
done:
  ret void
}}
"""


def found(body: str, behind: str = "") -> tuple[RepeatedUpdate | None, FunctionView]:
    text = TEXT.format(body="\n  ".join(body.split("; ")), behind=behind)
    view = FunctionView(parse_module(text).functions["@f"], TypeTable({}))
    block = view.function.block("loop")
    store = next(made for made in block.instructions if made.op == "store" and made.operands[0].text == "%new")
    root = next(loop for loop in view.flow.loops if loop.header == "outer")
    return repeated_update(Uses(view), block, store, root), view


@pytest.mark.parametrize(
    ("body", "function", "loop"),
    [
        ("%new = sub i32 7, %old", "(sub i32 7, _)", "outer"),
        ("%x = xor i32 %old, 21; %new = sdiv i32 %x, 2", "(sdiv i32 (xor i32 _, 21), 2)", "outer"),
        ("%x = mul i32 %old, %by; %new = xor i32 %x, 1", "(xor i32 (mul i32 _, %by), 1)", "outer"),
        ("%x = mul i32 %old, %set; %new = xor i32 %x, 1", "(xor i32 (mul i32 _, %set), 1)", "loop"),
        ("%new = mul i32 %old, %old", "(mul i32 _, _)", "outer"),
        ("%x = and i32 %by, 3; %new = sub i32 %x, %old", "(sub i32 (and i32 %by, 3), _)", "outer"),
    ],
)
def test_what_is_stored_is_a_function_of_what_was_there(body: str, function: str, loop: str) -> None:
    update, _ = found(body)
    assert update is not None
    assert (update.function, update.loop.header, update.between) == (function, loop, ())


@pytest.mark.parametrize(
    ("body", "behind"),
    [
        ("%x = trunc i64 %i to i32; %new = sub i32 %x, %old", ""),  # each iteration another one
        ("%x = load i32, ptr %q; %new = sub i32 %x, %old", ""),
        ("%new = sub i32 undef, %old", ""),
        ("%x = freeze i32 %old; %new = sub i32 7, %x", ""),
        ("%new = add i32 %by, 7", ""),  # does not depend on it
        ("call void @unknown(); %new = sub i32 7, %old", ""),
        ("%new = sub i32 7, %old", "store i32 %old, ptr %q"),  # seen by somebody else
        ("%new = sub i32 7, %old", "store i32 %new, ptr %q"),
    ],
)
def test_what_only_looks_like_it(body: str, behind: str) -> None:
    assert found(body, behind)[0] is None


def test_stores_between_are_told() -> None:
    update, _ = found("store i32 5, ptr %q; %new = sub i32 7, %old")
    assert update is not None and [str(made) for made in update.between] == ["store i32 5, ptr %q"]


def test_long_functions_are_none() -> None:
    steps = ["%x0 = xor i32 %old, 1"]
    while len(" ".join(steps)) < LONGEST:
        steps.append(f"%x{len(steps)} = sub i32 %x{len(steps) - 1}, %x{len(steps) - 1}")
    assert found("; ".join([*steps, f"%new = sub i32 7, %x{len(steps) - 1}"]))[0] is None
