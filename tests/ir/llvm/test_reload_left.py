"""Numbers that a loop leaves behind are loaded again, and nothing else changes."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.reloaded.reload_left import reload_left
from tracecut.tracer.toolchain.passes import parse, target_machine

pytestmark = pytest.mark.quick

# Adds 1 to numbers until it has done so as often as the first of them says, which it may change on the way.
SHAPE = """
declare void @g()
declare i32 @__gxx_personality_v0(...)
define i64 @f(ptr %list, ptr %out) personality ptr @__gxx_personality_v0 {{
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %l, %latch ]
  %p = getelementptr i64, ptr %list, i64 %k
  %v = load i64, ptr %p, align 8
  %w = add i64 %v, 1
  store i64 %w, ptr %p, align 8
  %l = add i64 %k, 1
  {ahead}
  %n = load {volatile} i64, ptr {place}, align 8
  {behind}
  %far = icmp sgt i64 %l, 6
  br i1 %far, label {early}, label %latch
latch:
  {late}
  %done = icmp sge i64 %l, %n
  br i1 %done, label %end, label %loop
end:
  %left = phi i64 [ %n, %latch ]
  store i64 %l, ptr %out, align 8
  ret i64 %left
long:
  %pad = landingpad {{ ptr, i32 }} cleanup
  ret i64 -1
stop:
  %there = phi i64 [ %k, %loop ]
  ret i64 %there
}}
"""
PLAIN = {"ahead": "", "volatile": "", "place": "%list", "behind": "", "early": "%stop", "late": ""}
TAKEN = {
    "plain": {},
    "a store in front of the load": {"ahead": "store i64 2, ptr %list"},
    "pure": {"behind": "%x = call double @llvm.sqrt.f64(double 2.0)", "late": "%y = add i64 %l, %n"},
}
LEFT = {
    "a store behind the load": {"behind": "store i64 4, ptr %p"},
    "a store in the next block": {"late": "store i64 4, ptr %p"},
    "a call behind the load": {"late": "call void @g()"},
    "another place each time": {"place": "%p"},
    "volatile": {"volatile": "volatile"},
}


def both(words: dict[str, str]) -> tuple[str, str]:
    """The text and what the pass makes of it."""
    text = SHAPE.format(**{**PLAIN, **words})
    text = text[: text.index("long:")] + text[text.index("stop:") :]
    if "llvm.sqrt" in text:
        text += "declare double @llvm.sqrt.f64(double)\n"
    return str(parse_module(text)), str(reload_left(parse_module(text)))


def left(module: str, numbers: list[int]) -> list[int]:
    """What the function leaves in a list and beside it, and returns."""
    with llvm.create_mcjit_compiler(parse(module.replace("declare void @g()", "")), target_machine()) as engine:
        engine.finalize_object()
        places = (ctypes.c_int64 * (len(numbers) + 1))(*numbers, 0)
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
        first = ctypes.addressof(places)
        return [*places, call(engine.get_function_address("f"))(first, first + 8 * len(numbers))]


@pytest.mark.parametrize("words", TAKEN.values(), ids=TAKEN)
def test_the_number_is_loaded_again(words: dict[str, str]) -> None:
    before, after = both(words)
    assert "%left = phi" in before and "%left = load i64, ptr %list, align 8" in after
    assert "%there = phi i64 [ %k, %loop ]" in after  # which no load has made
    for numbers in ([0] * 8, [3] * 8, [4, 9, 2, 5, 7, 1, 8, 6], [9] * 8):
        assert left(after, numbers) == left(before, numbers)


@pytest.mark.parametrize("words", LEFT.values(), ids=LEFT)
def test_a_number_that_may_have_changed_is_left_as_it_was(words: dict[str, str]) -> None:
    before, after = both(words)
    assert after == before and "%left = phi" in after


def test_nothing_stands_in_front_of_what_catches_an_exception() -> None:
    text = SHAPE.format(**{**PLAIN, "late": "invoke void @g() to label %on unwind label %caught\non:"})
    text = text.replace("[ %l, %latch ]", "[ %l, %on ]").replace("[ %n, %latch ]", "[ %n, %on ]")
    text = text.replace("long:\n", "caught:\n  %lost = phi i64 [ %n, %latch ]\n").replace("ret i64 -1", "ret i64 %lost")
    text = text.replace("@g() to", "@sqrt() to").replace("declare void @g()", "declare void @sqrt()")  # reaches nothing
    after = str(reload_left(parse_module(text)))
    assert "%left = load i64" in after and "%lost = phi i64 [ %n, %latch ]" in after
    parse(after)
