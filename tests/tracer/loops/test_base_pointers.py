"""From which pointer another one is made, and whether it may lie outside of its object."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.tracer.loops.live_ins import may_stray
from tracecut.tracer.loops.phi_sources import walked_base

pytestmark = pytest.mark.quick

MODULE = """
@table = global [8 x i32] zeroinitializer

declare ptr @get()

define void @f(ptr %x, ptr %y, i64 %n, i1 %c, i64 %address) {
entry:
  %ahead = getelementptr inbounds i32, ptr %x, i64 4
  %before = getelementptr i32, ptr %x, i64 -4
  %back = getelementptr inbounds i32, ptr %before, i64 4
  %called = call ptr @get()
  %loaded = load ptr, ptr %x
  %own = alloca [4 x i32]
  %cast = inttoptr i64 %address to ptr
  %either = select i1 %c, ptr %ahead, ptr @table
  %strange = select i1 %c, ptr %before, ptr %y
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %walk = phi ptr [ %x, %entry ], [ %further, %loop ]
  %two = phi ptr [ %x, %entry ], [ %other, %loop ]
  %follow = phi ptr [ %x, %entry ], [ %stored, %loop ]
  %empty = phi ptr [ null, %entry ], [ %void, %loop ]
  %cell = getelementptr inbounds i64, ptr %walk, i64 3
  %step = load i64, ptr %cell
  %picked = select i1 %c, ptr %walk, ptr %x
  %further = getelementptr inbounds i32, ptr %picked, i64 %step
  %other = select i1 %c, ptr %two, ptr %y
  %stored = load ptr, ptr %follow
  %void = getelementptr i32, ptr %empty, i64 1
  %next = add i64 %k, 1
  %end = icmp eq i64 %next, %n
  br i1 %end, label %exit, label %loop
exit:
  ret void
}
"""


@pytest.fixture(scope="module")
def view() -> FunctionView:
    module = parse_module(MODULE)
    return FunctionView(module.functions["@f"], module.types(), 0)


@pytest.mark.parametrize("name", ["%x", "@table", "%ahead", "%back", "%called", "%loaded", "%own", "%either"])
def test_pointers_that_lie_in_their_objects(view: FunctionView, name: str) -> None:
    assert not may_stray(view, name)


@pytest.mark.parametrize("name", ["%before", "%cast", "%strange"])
def test_pointers_that_may_lie_outside(view: FunctionView, name: str) -> None:
    assert may_stray(view, name)


def base(view: FunctionView, name: str) -> str | None:
    inside = view.flow.blocks["loop"]
    phi = next(made for made in inside.phis if made.result == name)
    local = {made.result for made in [*inside.phis, *inside.instructions]}
    found = walked_base(view, phi, lambda text: text not in local)
    return None if found is None else found.text


def test_a_pointer_that_is_moved_by_sums_has_one_base(view: FunctionView) -> None:
    assert base(view, "%walk") == "%x"


@pytest.mark.parametrize("name", ["%two", "%follow", "%empty"])
def test_others_have_none(view: FunctionView, name: str) -> None:
    """Two arrays, a pointer from memory, null."""
    assert base(view, name) is None
