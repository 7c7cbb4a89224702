"""Loops whose iterations hand a value on in memory, as far as their text says."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.loops.refusals import carried_in_memory, refusal
from tracecut.tracer.loops.program import Analysis

pytestmark = pytest.mark.quick

LOOP = """
@state = global i64 7
@other = global i64 7
define void @f(ptr %x, ptr %index, ptr %s, i64 %n, i64 %m, i1 %asked) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %at = getelementptr i64, ptr %index, i64 %i
  %j = load i64, ptr %at
  %to = getelementptr i64, ptr %x, i64 %j
{body}
  br label %latch
latch:
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}}
"""
DRAW = "  %a = load i64, ptr {p}\n  %b = mul i64 %a, 75\n  %c = add i64 %b, 74\n  store i64 %c, ptr {p}\n"
USED = "  store i64 %c, ptr %to"
ORDERED = {
    "variable": DRAW.format(p="@state") + USED,
    "by a pointer": DRAW.format(p="%s") + USED,
    "field": "  %p = getelementptr i8, ptr %s, i64 16\n" + DRAW.format(p="%p") + USED,
    "made anew now and then": "  %a = load i64, ptr @state\n  %e = icmp sgt i64 %a, 623\n"
    "  br i1 %e, label %fill, label %go\nfill:\n  store i64 0, ptr @other\n  br label %go\n"
    "go:\n  %h = phi i64 [ 0, %fill ], [ %a, %loop ]\n  %c = add i64 %h, 1\n  store i64 %c, ptr @state\n" + USED,
    "in an inner loop": "  br label %inner\ninner:\n  %k = phi i64 [ 0, %loop ], [ %l, %inner ]\n"
    + DRAW.format(p="@state")
    + USED
    + "\n  %l = add i64 %k, 1\n  %last = icmp eq i64 %l, 4\n  br i1 %last, label %out, label %inner\nout:",
}
FREE = {
    "sum": "  %a = load i64, ptr @state\n  %c = add i64 %a, %j\n  store i64 %c, ptr @state\n",
    "written first": "  store i64 %j, ptr @state\n  %a = load i64, ptr @state\n  %c = mul i64 %a, 3\n"
    "  store i64 %c, ptr @state\n" + USED,
    "set": "  %c = load i64, ptr @state\n  store i64 1, ptr @state\n" + USED,
    "read alone": "  %c = load i64, ptr @state\n" + USED,
    "two places": "  %c = load i64, ptr @state\n  store i64 %j, ptr @other\n" + USED,
    "only where the data say so": "  %e = icmp sgt i64 %j, 5\n  br i1 %e, label %draw, label %go\ndraw:\n"
    + DRAW.format(p="@state")
    + USED
    + "\n  br label %go\ngo:",
    "own element": DRAW.format(p="%at") + USED,
    "picked element": DRAW.format(p="%to"),
}


@pytest.mark.parametrize("body", ORDERED.values(), ids=ORDERED)
def test_what_orders_the_iterations(body: str) -> None:
    analysis = Analysis(parse_module(LOOP.format(body=body)))
    nest = analysis.nest(0)
    found = refusal(nest, nest.root)
    assert found is not None and found.ordered and found.says.startswith("takes over from its last iteration")


@pytest.mark.parametrize("body", FREE.values(), ids=FREE)
def test_what_does_not(body: str) -> None:
    nest = Analysis(parse_module(LOOP.format(body=body))).nest(0)
    assert not list(carried_in_memory(nest, nest.root))
