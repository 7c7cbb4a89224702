"""What only copies of structures keep from being loaded once is loaded once, and nothing else changes."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.reloaded.steady_loads import steady_loads
from tracecut.tracer.toolchain.passes import parse, target_machine

pytestmark = pytest.mark.quick

# Copies records to others in each step and adds 1; a structure holds where both lie, which change places.
SHAPE = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @g()
define double @f(ptr %m, i64 %n, i64 %steps, ptr %elsewhere) {{
entry:
  %behind = getelementptr i8, ptr %m, i64 8
  %a = load ptr, ptr {first}, align 8, !tbaa !1
  %b = load ptr, ptr %behind, align 8, !tbaa !1
  {early}
  br label %outer
outer:
  %p = phi ptr [ %a, %entry ], [ %q, %end ]
  %q = phi ptr [ %b, %entry ], [ %r, %end ]
  %s = phi i64 [ 0, %entry ], [ %t, %end ]
  br label %loop
loop:
  %from = phi ptr [ %p, %outer ], [ %next, %latch ]
  %i = phi i64 [ 0, %outer ], [ %j, %latch ]
  %x = getelementptr [16 x i8], ptr %from, i64 %i
  %y = getelementptr [16 x i8], ptr %q, i64 %i
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %y, ptr align 8 %x, i64 {size}, i1 false){kinds}
  %v = load double, ptr %y, align 8, !tbaa !3
  %w = fadd double %v, 1.0
  store double %w, ptr %y, align 8, !tbaa !3
  {inside}
  br label %latch
latch:
  %next = load {volatile}ptr, ptr %m, align 8, !tbaa !1
  %j = add i64 %i, 1
  %done = icmp eq i64 %j, %n
  br i1 %done, label %end, label %loop
end:
  %r = phi ptr [ %next, %latch ]
  store ptr %q, ptr %m, align 8, !tbaa !1
  store ptr %r, ptr %behind, align 8, !tbaa !1
  {late}
  %t = add i64 %s, 1
  %over = icmp eq i64 %t, %steps
  br i1 %over, label %out, label %outer
out:
  %last = phi ptr [ %q, %end ]
  %u = load double, ptr %last, align 8
  ret double %u
}}
!1 = !{{!11, !11, i64 0}}
!2 = !{{i64 0, i64 8, !3, i64 8, i64 8, !3}}
!3 = !{{!13, !13, i64 0}}
!4 = !{{i64 0, i64 8, !3, i64 8, i64 8, !1}}
!5 = !{{i64 0, i64 4, !3, i64 8, i64 8, !3}}
!6 = !{{i64 0, i64 8, !3, i64 8, i64 8, !7}}
!7 = !{{!14, !14, i64 0}}
!11 = !{{!"p1 record", !12, i64 0}}
!12 = !{{!"any pointer", !14, i64 0}}
!13 = !{{!"double", !14, i64 0}}
!14 = !{{!"omnipotent char", !15, i64 0}}
!15 = !{{!"Simple C/C++ TBAA"}}
"""
STRUCTURE = ", !tbaa.struct "
PLAIN = {"kinds": STRUCTURE + "!2", "size": "16", "first": "%m", "early": "", "inside": "", "late": "", "volatile": ""}
LEFT = {
    "copies that nothing is known of": {"kinds": ""},
    "a member that is a pointer": {"kinds": STRUCTURE + "!4"},
    "a member that may be anything": {"kinds": STRUCTURE + "!6"},
    "bytes between the members": {"kinds": STRUCTURE + "!5"},
    "more bytes than members": {"size": "24"},
    "a pointer is stored": {"inside": "store ptr %from, ptr %elsewhere, align 8, !tbaa !1"},
    "a call to who knows what": {"inside": "call void @g()"},
    "volatile": {"volatile": "volatile "},
}
UNKNOWN = {  # what lies there where the loop begins
    "another one at first": {"first": "%elsewhere"},
    "a store before the first step": {"early": "store ptr %a, ptr %elsewhere, align 8, !tbaa !1"},
    "a store behind a step": {"late": "store ptr %r, ptr %elsewhere, align 8, !tbaa !1"},
    "a call behind a step": {"late": "call void @g()"},
}


def both(words: dict[str, str]) -> tuple[str, str]:
    """The text and what the pass makes of it."""
    text = SHAPE.format(**{**PLAIN, **words})
    return str(parse_module(text)), str(steady_loads(parse_module(text)))


def left(text: str, steps: int, *, same: bool) -> list[float]:
    """What the function leaves in both lists of records, and returns. `same`: `%elsewhere` is the structure."""
    text = text.replace("declare void @g()", "define void @g() noinline {\n  ret void\n}")
    with llvm.create_mcjit_compiler(parse(text), target_machine()) as engine:
        engine.finalize_object()
        lists = [(ctypes.c_double * 10)(*range(k, k + 10)) for k in (1, 50)]
        places = (ctypes.c_void_p * 3)(*map(ctypes.addressof, (*lists, lists[0])))
        m = ctypes.addressof(places)
        call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        found = call(engine.get_function_address("f"))(m, 4, steps, m if same else m + 16)
        return [*lists[0], *lists[1], found]


def test_what_lies_there_takes_the_place_of_what_is_loaded() -> None:
    before, after = both({})
    assert "%next = load" in before and "load ptr, ptr %m" in after  # in front of the steps
    assert "%next" not in after and "%from" not in after and "ptr %p, i64 %i" in after
    assert "%q = phi ptr [ %b, %entry ], [ %p, %end ]" in after  # they change places, and nothing is loaded
    assert "%last = phi ptr [ %q, %end ]" in after  # what a loop leaves behind still has a name of its own there
    for steps in (1, 2, 3):
        assert left(after, steps, same=False) == left(before, steps, same=False)


@pytest.mark.parametrize("words", UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known_to_lie_there_is_loaded_in_front(words: dict[str, str]) -> None:
    before, after = both(words)
    assert "%next.tc.steady = load ptr, ptr %m, align 8" in after and "%next =" not in after
    assert "%from = phi ptr [ %p, %outer ], [ %next.tc.steady, %latch ]" in after
    for steps in (1, 2, 3):
        for same in (False, True):
            assert left(after, steps, same=same) == left(before, steps, same=same)


@pytest.mark.parametrize("words", LEFT.values(), ids=LEFT)
def test_what_a_loop_may_change_is_loaded_each_time(words: dict[str, str]) -> None:
    before, after = both(words)
    assert after == before and "%next = load" in after


def test_what_an_iteration_may_go_on_without_is_not_loaded_in_front() -> None:
    """It lies where nothing may lie before some iteration has said so."""
    text = SHAPE.format(**{**PLAIN, **UNKNOWN["another one at first"]})
    text = text.replace(
        "  br label %latch\n", "  %no = icmp eq i64 %i, 0\n  br i1 %no, label %latch, label %asks\nasks:\n", 1
    )
    text = text.replace(
        "latch:\n", "  br label %latch\nlatch:\n  %next = phi ptr [ %from, %loop ], [ %new, %asks ]\n", 1
    )
    load = "  %next = load ptr, ptr %m, align 8, !tbaa !1\n"
    assert load in text
    text = text.replace(load, "", 1).replace("asks:\n", "asks:\n" + load.replace("%next", "%new"), 1)
    parse(text)
    assert str(steady_loads(parse_module(text))) == str(parse_module(text))
