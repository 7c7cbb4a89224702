"""Numbers that are handed on to the next iteration are loaded there, and nothing else changes."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.reloaded.reload_carried import reload_carried
from tracecut.tracer.toolchain.passes import parse, target_machine

pytestmark = pytest.mark.quick

# Sums up numbers until a negative one, which it may overwrite on the way.
POINTER = """
define i64 @f(ptr %list, ptr %out) {{
entry:
  %first = load i64, ptr %list, align 8
  {before}
  %empty = icmp slt i64 %first, 0
  br i1 %empty, label %none, label %pre
pre:
  br label %loop
loop:
  %v = phi i64 [ %first, %pre ], [ %next, %loop ]
  %p = phi ptr [ %list, %pre ], [ %q, %loop ]
  %s = phi i64 [ 0, %pre ], [ %t, %loop ]
  %t = add i64 %s, %v
  {inside}
  %q = getelementptr i8, ptr %p, i64 8
  %next = load {volatile} i64, ptr %q, align 8
  {behind}
  %done = icmp slt i64 %next, 0
  br i1 %done, label %end, label %loop
end:
  ret i64 %t
none:
  ret i64 0
}}
"""
INDEX = POINTER.replace("%p = phi ptr [ %list, %pre ], [ %q, %loop ]", "%k = phi i64 [ {start}, %pre ], [ %l, %loop ]")
INDEX = INDEX.replace(
    "%q = getelementptr i8, ptr %p, i64 8", "%l = add i64 %k, 1\n  %q = getelementptr i64, ptr %list, i64 %l"
)
# The number stands 8 bytes into records of 16, and the walk is over the records.
MEMBER = POINTER.replace(
    "%first = load i64, ptr %list, align 8",
    "%m = getelementptr i8, ptr %list, i64 8\n  %first = load i64, ptr %m, align 8",
)
MEMBER = MEMBER.replace("%q = getelementptr i8, ptr %p, i64 8", "%q = getelementptr i8, ptr %p, i64 16")
MEMBER = MEMBER.replace("i64, ptr %q, align 8", "i64, ptr %w, align 8").replace(
    "  %next =", "  %w = getelementptr i8, ptr %p, i64 {member}\n  %next ="
)
# A way around another loop lies between the first load and the loop.
AROUND = POINTER.replace("label %none, label %pre\n", "label %none, label %other\n").replace(
    "pre:\n",
    """other:
  %i = phi i64 [ 0, %entry ], [ %j, %other ]
  {around}
  %j = add i64 %i, 1
  %again = icmp slt i64 %j, 2
  br i1 %again, label %other, label %pre
pre:
""",
)
PLAIN = {"before": "", "inside": "", "behind": "", "volatile": "", "start": "0", "member": "24", "around": ""}
TAKEN = {
    "pointer": (POINTER, {}),
    "index": (INDEX, {}),
    "member": (MEMBER, {}),
    "around another loop": (AROUND, {}),
    "a store in front of the load": (POINTER, {"inside": "store i64 %t, ptr %out"}),
    "a store to what is handed on, in front of it": (POINTER, {"inside": "store i64 0, ptr %p"}),
}
LEFT = {
    "a store behind the load": (POINTER, {"behind": "store i64 -1, ptr %q"}),
    "a store behind the first": (POINTER, {"before": "store i64 5, ptr %list"}),
    "a call behind the load": (POINTER + "declare void @g()\n", {"behind": "call void @g()"}),
    "volatile": (POINTER, {"volatile": "volatile"}),
    "another index": (INDEX, {"start": "1"}),
    "another member": (MEMBER, {"member": "16"}),
    "a store in another loop": (AROUND, {"around": "store i64 5, ptr %list"}),
}


def both(shape: str, words: dict[str, str]) -> tuple[str, str]:
    """The text and what the pass makes of it."""
    text = shape.format(**{**PLAIN, **words})
    return str(parse_module(text)), str(reload_carried(parse_module(text)))


def left(module: str, numbers: list[int]) -> list[int]:
    """What the function leaves in a list and beside it, and returns."""
    with llvm.create_mcjit_compiler(parse(module), target_machine()) as engine:
        engine.finalize_object()
        places = (ctypes.c_int64 * (len(numbers) + 1))(*numbers, 0)
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
        first = ctypes.addressof(places)
        return [*places, call(engine.get_function_address("f"))(first, first + 8 * len(numbers))]


@pytest.mark.parametrize(("shape", "words"), TAKEN.values(), ids=TAKEN)
def test_the_number_is_loaded_again(shape: str, words: dict[str, str]) -> None:
    before, after = both(shape, words)
    assert "%v = phi" in before and "%v = phi" not in after and "%v = load i64, ptr" in after
    assert "%t = add i64 %s, %v" in after
    for numbers in ([-1, -1], [3, -1], [3, 5, -1, -1], [4, 0, 7, 9, 3, 1, -5, -5, 2]):
        assert left(after, numbers) == left(before, numbers)


@pytest.mark.parametrize(("shape", "words"), LEFT.values(), ids=LEFT)
def test_a_number_that_may_have_changed_is_handed_on(shape: str, words: dict[str, str]) -> None:
    before, after = both(shape, words)
    assert after == before and "%v = phi" in after
