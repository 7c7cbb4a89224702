"""What tracing does to a large function takes time that is linear in it: lines of Python are counted, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.chosen_fields import split_choices
from tracecut.ir.llvm.passes.flag_reductions import join_flags
from tracecut.ir.llvm.passes.merge_induction_variables import merge_counters
from tracecut.ir.llvm.passes.strip_debug_info import strip_debug_info
from tracecut.tracer.depgraph.state.control_dependence import controllers_of
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.toolchain.inlining import mark_inline
from tracecut.tracer.trace.instrument.fast_codegen import choose_quickly
from tracecut.tracer.trace.instrument.rewrite import instrumented
from tracecut.tracer.trace.tables.static_tables import static_of

SMALL, TIMES = 40, 8
MOST = 1.35 * TIMES  # a quadratic step among linear ones shows from a small share on
SHAPES: dict[str, Callable[[int], str]] = {}


def shape(make: Callable[[int], str]) -> Callable[[int], str]:
    SHAPES[make.__name__] = make
    return make


def function(*lines: str) -> str:
    head = ["@a = global [256 x i32] zeroinitializer", "define i32 @main(i32 %c, i1 %t) {", "entry:"]
    return "\n".join([*head, *lines, "}", ""])


@shape
def branches(count: int) -> str:
    lines = ["  br label %b0"]
    for n in range(count):
        lines += [f"b{n}:", f"  br i1 %t, label %x{n}, label %b{n + 1}"]
        lines += [f"x{n}:", f"  %v{n} = load i32, ptr @a", f"  store i32 %v{n}, ptr @a", f"  br label %b{n + 1}"]
    return function(*lines, f"b{count}:", "  ret i32 0")


@shape
def one_way_out(count: int) -> str:
    """A chain of tests that all leave to the same block: what dominates that is found by walking up each chain."""
    lines = ["  br label %b0"]
    for n in range(count):
        lines += [f"b{n}:", f"  store i32 {n}, ptr @a", f"  br i1 %t, label %out, label %b{n + 1}"]
    values = ", ".join(f"[ {n}, %b{n} ]" for n in range(count + 1))
    return function(*lines, f"b{count}:", "  br label %out", "out:", f"  %r = phi i32 {values}", "  ret i32 %r")


@shape
def web(count: int) -> str:
    """Gotos into one another, no loop of which has one entry."""
    lines = ["  br label %b0"]
    for n in range(count):
        lines += [f"b{n}:", f"  store i32 {n}, ptr @a", f"  br i1 %t, label %b{n * 7 % count}, label %b{n + 1}"]
    return function(*lines, f"b{count}:", "  ret i32 0")


@shape
def switch(count: int) -> str:
    """The loop of an interpreter: each operation has a loop of its own."""
    cases = "\n".join(f"    i32 {n}, label %c{n}" for n in range(count))
    lines = ["  br label %head", "head:", f"  switch i32 %c, label %out [\n{cases}\n  ]"]
    for n in range(count):
        lines += [f"c{n}:", f"  br label %l{n}", f"l{n}:", f"  %k{n} = phi i64 [ 0, %c{n} ], [ %n{n}, %l{n} ]"]
        lines += [f"  %p{n} = getelementptr i32, ptr @a, i64 %k{n}", f"  store i32 {n}, ptr %p{n}"]
        lines += [f"  %n{n} = add nsw i64 %k{n}, 1", f"  br i1 %t, label %l{n}, label %e{n}"]
        lines += [f"e{n}:", "  br label %head"]
    return function(*lines, "out:", "  ret i32 0")


@shape
def loops(count: int) -> str:
    """One behind the other, with counters of which there is a wider copy to look for."""
    lines = ["  br label %b0"]
    for n in range(count):
        lines += [f"b{n}:", f"  br label %l{n}", f"l{n}:", f"  %k{n} = phi i32 [ 0, %b{n} ], [ %n{n}, %m{n} ]"]
        lines += [f"  %w{n} = sext i32 %k{n} to i64", f"  %p{n} = getelementptr i32, ptr @a, i64 %w{n}"]
        lines += [f"  store i32 {n}, ptr %p{n}", f"  br label %m{n}"]
        lines += [f"m{n}:", f"  %n{n} = add nsw i32 %k{n}, 1", f"  %s{n} = icmp slt i32 %n{n}, %c"]
        lines += [f"  br i1 %s{n}, label %l{n}, label %b{n + 1}"]
    return function(*lines, f"b{count}:", "  ret i32 0")


@shape
def straight(count: int) -> str:
    lines = []
    for n in range(4 * count):
        lines += [f"  %p{n} = getelementptr i32, ptr @a, i64 {n}", f"  store i32 {n}, ptr %p{n}, !tbaa !1"]
    return function(*lines, "  ret i32 0") + "!1 = !{!2, !2, i64 0}\n!2 = !{}\n"


@shape
def functions(count: int) -> str:
    lines = ["declare i32 @printf(ptr, ...)"]
    for n in range(count):
        call = f"call i32 @f{n - 1}(i32 %x, i1 %t)" if n else "add i32 %x, 1"
        lines += [f"define i32 @f{n}(i32 %x, i1 %t) {{", "entry:", "  br label %loop", "loop:"]
        lines += [f"  %r = {call}", "  br i1 %t, label %loop, label %end", "end:", "  ret i32 %r", "}"]
    return "\n".join(lines) + "\n"


STEPS: dict[str, Callable[[str], Any]] = {
    "tables": static_of,
    "rewriting": instrumented,
    "inlining": lambda text: mark_inline(parse_module(text)),
    "counters": lambda text: merge_counters(parse_module(text)),
    "flags": lambda text: join_flags(parse_module(text)),
    "choices": lambda text: split_choices(parse_module(text)),
    "control": lambda text: [controllers_of(function) for function in parse_module(text).functions.values()],
    "choosing": lambda text: choose_quickly(parse_module(text)),
    "stripping": lambda text: strip_debug_info(parse_module(text)),
    "loops": lambda text: Analysis(parse_module(text)),
}


def lines_run(action: Callable[[str], Any], text: str) -> int:
    """How many lines of Python an action runs."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", SHAPES)
def test_work_grows_with_the_function(name: str, step: str) -> None:
    make = SHAPES[name]
    STEPS[step](make(4))  # what is made once
    small, large = (lines_run(STEPS[step], make(count)) for count in (SMALL, TIMES * SMALL))
    assert large <= MOST * small
