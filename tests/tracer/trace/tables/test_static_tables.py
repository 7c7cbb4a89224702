"""Segments, items and the table of library functions, on small pieces of IR."""

from __future__ import annotations

import re

import pytest
from tracecut.ir.llvm import Instruction
from tracecut.support.errors import ArgumentError, UnsupportedError
from tracecut.tracer.toolchain.passes import parse
from tracecut.tracer.trace.compact.segment import ENTRY, LANDING, LEAVES, RETURNED_TWICE
from tracecut.tracer.trace.events.event_words import READ, WRITE, Kind
from tracecut.tracer.trace.events.library_effects import EXTERNALS, external_of
from tracecut.tracer.trace.events.printf_scanf import strings_in
from tracecut.tracer.trace.instrument.rewrite import instrumented
from tracecut.tracer.trace.tables.static_tables import static_of
from tracecut.tracer.trace.tables.verify_tables import verify_tables

pytestmark = pytest.mark.quick

MODULE = """
@a = global i32 0
@text = private constant [3 x i8] c"hi\\00"
@outside = external global i64
declare i32 @setjmp(ptr) returns_twice
declare i32 @puts(ptr)
declare void @mystery(ptr, i32)
declare void @free(ptr)
declare i32 @__gxx_personality_v0(...)
define i32 @leaf(ptr %p) {
entry:
  %x = load i32, ptr %p
  %y = add i32 %x, 1
  store i32 %y, ptr %p
  ret i32 %y
}
define i32 @main(ptr %p, i1 %c) personality ptr @__gxx_personality_v0 {
entry:
  %r = call i32 @leaf(ptr %p)
  %s = call i32 @puts(ptr @text)
  %j = call i32 @setjmp(ptr %p)
  br i1 %c, label %yes, label %no
yes:
  %i = invoke i32 @leaf(ptr %p) to label %no unwind label %pad
no:
  call void @mystery(ptr %p, i32 1)
  call void @free(ptr %p)
  ret i32 0
pad:
  %l = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %l
}
"""


def test_segments_end_behind_calls_that_may_lead_away() -> None:
    static = static_of(MODULE)
    assert static.functions == ("@leaf", "@main") and static.n_blocks == 5 and static.n_segments == 9
    ends = [static.instructions[end - 1].text.split("(")[0] for end in static.segment_end[1:]]
    assert [re.sub(r"%\w+ = ", "", end) for end in ends] == [
        "ret i32 %y",
        "call i32 @leaf",
        "call i32 @setjmp",
        "br i1 %c, label %yes, label %no",
        "invoke i32 @leaf",
        "call void @mystery",
        "ret i32 0",
        "resume { ptr, i32 } %l",
    ]
    roles = [int(role) for role in static.segment_role[1:]]
    assert roles == [ENTRY | LEAVES, ENTRY, 0, RETURNED_TWICE, 0, 0, LEAVES, LANDING | LEAVES]
    assert static.block_names == ["entry", "entry", "yes", "no", "pad"]
    verify_tables(static)


def test_items_of_segments() -> None:
    static = static_of(MODULE)
    by_segment = [
        [
            (Kind(int(static.item_kind[item])), int(static.item_access[item]), int(static.item_word[item]))
            for item in range(static.segment_item[segment], static.segment_item[segment + 1])
        ]
        for segment in range(1, static.n_segments)
    ]
    assert by_segment[0] == [(Kind.ADDR, READ, 0), (Kind.ADDR, WRITE, 0)]  # one pointer value, one address
    assert by_segment[1] == [(Kind.FRAME, 0, 0)]
    assert by_segment[2] == [(Kind.RANGE, READ, 0), (Kind.RANGE, WRITE, 4)]  # the text, the buffer of the jump
    assert by_segment[3] == [(Kind.FRAME, 0, 0)]
    assert by_segment[5] == [(Kind.OPAQUE, READ | WRITE, 0)]
    assert by_segment[6] == [(Kind.FREE, 0, 0)]
    assert by_segment[7] == [(Kind.FRAME, 0, 0)]
    assert [name for _, name in static.unknown] == ["mystery"]
    assert static.globals == (("@a", 4), ("@text", 3))


def test_times_are_not_shared() -> None:
    static = static_of(MODULE, timed=True)
    assert static.segment_words[1] == 6 and static.item_word[:2].tolist() == [0, 3]


@pytest.mark.parametrize("timed", [False, True])
def test_what_is_written_is_valid(timed: bool) -> None:
    text = instrumented(MODULE, timed=timed)
    parse(text)
    assert "thread_local(localexec)" in text
    assert (text.count("llvm.readcyclecounter()") > 1) == timed
    chosen = instrumented(MODULE, ["leaf"])
    parse(chosen)
    assert "store i32 1, ptr %tc" in chosen and "store i32 2, ptr %tc" not in chosen


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(ArgumentError, match="no 'nowhere'") as caught:
        static_of(MODULE, ["main", "nowhere"])
    assert "leaf" in str(caught.value)


def test_a_segment_without_end() -> None:
    loads = "\n".join(
        f"  %g{k} = getelementptr i8, ptr %p, i64 {k}\n  %x{k} = load i8, ptr %g{k}" for k in range(33_000)
    )
    with pytest.raises(UnsupportedError, match="33000 memory operations"):
        static_of(f"define void @main(ptr %p) {{\nentry:\n{loads}\n  ret void\n}}\n")


def test_new_may_call_the_program_where_a_handler_is_set() -> None:
    text = "declare ptr @_Znwm(i64)\ndefine ptr @f() {\n  %p = call ptr @_Znwm(i64 4)\n  ret ptr %p\n}\n"
    known = static_of(text)
    assert not known.unknown and known.item_kind.tolist() == [Kind.ALLOC]
    assert known.n_segments == 3  # it may throw: behind it another segment begins
    assert static_of(text.replace("Znwm(i64", "ZnwmRKSt9nothrow_t(i64")).n_segments == 2
    malloc = "define ptr @malloc(i64 %n) {\n  ret ptr null\n}\n"
    for before in ("declare ptr @_ZSt15set_new_handlerPFvvE(ptr)\n", malloc):
        unknown = static_of(f"{text.replace('define', before + 'define')}", ["f"])
        assert unknown.unknown == ((0, "_Znwm"),) and unknown.n_segments == 3 and not unknown.n_items


def test_other_address_spaces_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="address space"):
        static_of("define i8 @main(ptr addrspace(257) %p) {\n  %x = load i8, ptr addrspace(257) %p\n  ret i8 %x\n}\n")


def call(text: str) -> Instruction:
    return Instruction.from_line(f"  %r = call i32 (ptr, ...) @printf(ptr @f{text})")


@pytest.mark.parametrize(
    ("format", "arguments", "found"),
    [
        ("plain", "", []),
        ("100%%", "", []),
        ("%d %s %5.2f %-8s", ", i32 1, ptr %a, double 2.0, ptr %b", [(2, "str"), (4, "str")]),
        ("%*d%.*s", ", i32 5, i32 6, i32 %n, ptr %a", [(4, "min3")]),
        ("%lu %hhx %zu %p %c", ", i64 1, i32 2, i64 3, ptr %a, i32 4", []),
        ("%n", ", ptr %a", None),
        ("%ls", ", ptr %a", None),
        ("%.3s%.s%.0s", ", ptr %a, ptr %b, ptr %c", [(1, "top3"), (2, "top0"), (3, "top0")]),
        ("%.-1s", ", ptr %a", [(1, "str")]),
        ("%1$s", ", ptr %a", None),
        ("%s", "", None),
        ("%", "", None),
        ("%y", ", i32 1", None),
    ],
)
def test_strings_of_a_format(format: str, arguments: str, found: list[tuple[int, str]] | None) -> None:
    assert strings_in(call(arguments), 0, {"@f": format}) == found
    assert strings_in(call(arguments), 0, {}) is None


def test_the_table_of_library_functions() -> None:
    assert external_of(Instruction("%r = call i64 @strlen(ptr %p)")) == EXTERNALS["strlen"]
    assert external_of(Instruction("%r = call double @sin(double %p)")) is not None
    assert external_of(Instruction("%r = call ptr @hsearch(ptr %p, ptr %q, ptr %r)")) is None
    assert EXTERNALS["qsort"].callback and EXTERNALS["exit"].leaves and not EXTERNALS["malloc"].callback
    for name, external in EXTERNALS.items():
        assert re.fullmatch(r"\w+", name)
        for part in external.parts:
            assert all(
                re.fullmatch(r"\d+|(a|str|min|top|nn|m|gt)\d+|str|ret1?|ok", factor) for factor in part.length
            ), name
            early = not any(re.match(r"ret|gt|ok", factor) for factor in part.length)
            assert part.late or early, f"{name}: the result is not known before the call"
