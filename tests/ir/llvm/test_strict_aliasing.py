"""Which accesses C's types keep apart."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import Instruction, parse_module
from tracecut.ir.llvm.strict_aliasing import may_be_same

pytestmark = pytest.mark.quick

# An int, a double, a char, a pointer, a member of a structure, one of a structure in it, an int of another language.
NODES = parse_module(
    """!1 = !{!11, !11, i64 0}
!2 = !{!12, !12, i64 0}
!3 = !{!13, !13, i64 0}
!4 = !{!14, !14, i64 0}
!5 = !{!15, !11, i64 8}
!6 = !{!16, !15, i64 0}
!7 = !{!17, !17, i64 0}
!8 = !{i64 0, i64 4, !1, i64 4, i64 4, !1, i64 8, i64 8, !2}
!9 = !{i64 0, i64 4, !1, i64 8, i64 8, !2}
!11 = !{!"int", !13, i64 0}
!12 = !{!"double", !13, i64 0}
!13 = !{!"omnipotent char", !20, i64 0}
!14 = !{!"p1 int", !18, i64 0}
!15 = !{!"pair", !12, i64 0, !11, i64 8}
!16 = !{!"outer", !15, i64 0}
!17 = !{!"int", !21, i64 0}
!18 = !{!"any pointer", !13, i64 0}
!20 = !{!"Simple C/C++ TBAA"}
!21 = !{!"another language"}"""
).metadata()
INT, DOUBLE, CHAR, POINTER, MEMBER, WHOLE, FOREIGN, NONE = ("!1", "!2", "!3", "!4", "!5", "!6", "!7", "")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (INT, INT, True),
        (INT, DOUBLE, False),
        (POINTER, INT, False),
        (MEMBER, DOUBLE, False),
        (MEMBER, INT, True),
        (CHAR, INT, True),  # bytes of anything
        (WHOLE, INT, True),  # a structure as a whole
        (FOREIGN, DOUBLE, True),  # nothing is known of both
        (NONE, INT, True),
        (NONE, NONE, True),
    ],
)
def test_types(one: str, other: str, same: bool) -> None:
    store, load = (Instruction("store i32 0, ptr %p", {"tbaa": tag} if tag else {}) for tag in (one, other))
    assert may_be_same(NODES, store, load) == may_be_same(NODES, load, store) == same


@pytest.mark.parametrize(
    ("members", "size", "other", "same"),
    [
        ("!8", 16, POINTER, False),
        ("!8", 16, INT, True),
        ("!8", 16, DOUBLE, True),  # of its second kind
        ("!8", 16, CHAR, True),
        ("!8", 16, NONE, True),
        ("!8", 24, POINTER, True),  # more than its members
        ("!9", 16, POINTER, True),  # what lies between them
        ("!99", 16, POINTER, True),
        ("", 16, POINTER, True),
    ],
)
def test_structures_that_are_copied(members: str, size: int, other: str, same: bool) -> None:
    text = f"call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 {size}, i1 false)"
    copy = Instruction(text, {"tbaa.struct": members} if members else {})
    load = Instruction("%v = load i64, ptr %r", {"tbaa": other} if other else {})
    assert may_be_same(NODES, copy, load) == may_be_same(NODES, load, copy) == same
