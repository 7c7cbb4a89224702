"""Which calls and accesses are output to a standard stream of C++, and which only look like it."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.stream_output import may_do_more, of_stream
from tracecut.ir.loops.nest import ObstacleKind
from tracecut.ir.loops.refusals import scope_refusal
from tracecut.tracer.loops.program import Analysis

pytestmark = pytest.mark.quick

INSERT = "_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l"
TEXT = """
%stream = type opaque
@_ZSt4cout = external global %stream
@text = private constant [3 x i8] c"ab\\00"
{more}
declare ptr @{insert}(ptr, ptr, i64)
declare ptr @_ZNSolsEi(ptr, i32)
declare ptr @any(ptr)

define void @f(ptr %mine, i64 %n, i1 %which) {{
entry:
  %file = alloca %"class.std::basic_ofstream"
  %words = alloca %"class.std::__cxx11::basic_ostringstream.12"
  %room = alloca %"struct.basic_ofstream"
  %log = select i1 %which, ptr %file, ptr %words
  br label %step
step:
  %t = phi i64 [ 0, %entry ], [ %next, %step ]
  %said = call ptr @{insert}(ptr {stream}, ptr @text, i64 2)
  %again = call ptr @_ZNSolsEi(ptr %said, i32 7)
  %table = load ptr, ptr %again
  %before = getelementptr i8, ptr %table, i64 -24
  %offset = load i64, ptr %before
  %base = getelementptr i8, ptr %again, i64 %offset
  %format = getelementptr i8, ptr %base, i64 8
  {last}
  %next = add i64 %t, 1
  %on = icmp slt i64 %next, %n
  br i1 %on, label %step, label %end
end:
  ret void
}}
"""
DERIVED = "@_ZTISt15basic_streambufIcSt11char_traitsIcEE = external constant ptr"


def analysis(last: str, stream: str = "@_ZSt4cout", more: str = "") -> Analysis:
    return Analysis(parse_module(TEXT.format(insert=INSERT, last=last, stream=stream, more=more)))


@pytest.mark.parametrize("last", ["%x = load i64, ptr %format", "store i64 9, ptr %format"])
def test_what_is_inlined_of_output_touches_no_array(last: str) -> None:
    nest = analysis(last).nest(0)
    assert scope_refusal(nest) is None
    assert not nest.sites
    kinds = {obstacle.kind for obstacle in nest.loops[0].obstacles}
    assert kinds == {ObstacleKind.IO}  # in its order, in whatever loop
    assert len(nest.loops[0].obstacles) == 2 + last.startswith("store")


@pytest.mark.parametrize("stream", ["%mine", "%room", "%log", "@text", "getelementptr (i8, ptr @text, i64 1)"])
def test_a_stream_of_the_program_is_none_of_these(stream: str) -> None:
    refused = scope_refusal(analysis("%x = load i64, ptr %format", stream).nest(0))
    assert refused is not None and "whose effects are not known" in refused.says


def test_a_buffer_of_the_program_may_do_anything() -> None:
    refused = scope_refusal(analysis("%x = load i64, ptr %format", more=DERIVED).nest(0))
    assert refused is not None and "whose effects are not known" in refused.says


@pytest.mark.parametrize("stream", ["%file", "%words"])
def test_a_stream_may_be_a_variable(stream: str) -> None:
    nest = analysis("store i64 9, ptr %format", stream).nest(0)
    assert scope_refusal(nest) is None
    assert not nest.sites


def test_either_way_to_a_stream() -> None:
    """As after `<< ' '`, which looks at the width first. A value that may be any other pointer is none."""
    merged = "br i1 %which, label %a, label %b\na:\n %x = call ptr @_ZNSolsEi(ptr %file, i32 1)\n br label %c\n"
    merged += "b:\n %y = call ptr @any(ptr %file)\n br label %c\nc:\n"
    merged += "%z = phi ptr [ %x, %a ], [ {}, %b ]\n %v = load i64, ptr %z"
    assert of_stream(analysis(merged.format("%again")).view_of(0), "%z")
    assert not of_stream(analysis(merged.format("%y")).view_of(0), "%z")


def test_chains() -> None:
    view = analysis("%x = call ptr @any(ptr %again)").view_of(0)
    assert all(of_stream(view, name) for name in ("%said", "%again", "%table", "%format", "@_ZSt4cout"))
    assert of_stream(view, "getelementptr (i8, ptr @_ZSt4cout, i64 8)")
    assert not any(of_stream(view, name) for name in ("%mine", "%x", "%t", "@text", "null"))


@pytest.mark.parametrize(
    ("names", "more"),
    [
        (["@_ZSt4cout", "@_ZTVSt13basic_filebufIcSt11char_traitsIcEE", "@_ZTVSt15basic_streambufIcSt11char"], False),
        (["@_ZTVSt15basic_streambufIcSt11char_traitsIcEE"], True),
        (["@_ZTISt15basic_streambufIcSt11char_traitsIcEE"], True),
        (["@_ZTISt8numpunctIcE"], True),
        (["@_ZTISt9exception"], False),
    ],
)
def test_what_may_do_more(names: list[str], more: bool) -> None:
    assert may_do_more(names) is more


@pytest.mark.parametrize("call", ["10exceptionsESt12_Ios_Iostate", "7copyfmtERKS2_"])
def test_a_stream_that_may_throw_leaves_no_layout_behind(call: str) -> None:
    """`std::cout.exceptions(…)` somewhere in the program: an error then leaves functions that have no handler."""
    declared = f"declare void @_ZNSt9basic_iosIcSt11char_traitsIcEE{call}(ptr)"
    refused = scope_refusal(analysis("%x = load i64, ptr %format", more=declared).nest(0))
    assert refused is not None and "whose effects are not known" in refused.says


CLEAR = "@_ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate"
STATES = {
    "opened": ("call void {clear}(ptr %p, i32 0)", False),
    "failed": ("%more = or i32 %n, 4\n call void {clear}(ptr %p, i32 %more)", False),
    "less": ("%less = and i32 %n, 3\n call void {clear}(ptr %p, i32 %less)", False),
    "either": ("%more = or i32 %n, 4\n %x = select i1 %w, i32 %more, i32 0\n call void {clear}(ptr %p, i32 %x)", False),
    "as it was": ("%state = load i32, ptr %p\n call void {clear}(ptr %p, i32 %state)", True),
    "or as it was": ("%x = select i1 %w, i32 %n, i32 0\n call void {clear}(ptr %p, i32 %x)", True),
    "two states": ("%more = or i32 %n, %m\n call void {clear}(ptr %p, i32 %more)", True),
    "by its address": ("store ptr {clear}, ptr %p", True),
}


@pytest.mark.parametrize(("lines", "throws"), STATES.values(), ids=STATES)
def test_a_state_that_is_set_as_it_was_may_be_one_that_throws(lines: str, throws: bool) -> None:
    """`exceptions(…)` is inlined: it sets the state again. A file that is opened sets 0, or one bit more."""
    other = f"define void @g(ptr %p, i32 %n, i32 %m, i1 %w) {{\nentry:\n {lines.format(clear=CLEAR)}\n ret void\n}}"
    refused = scope_refusal(analysis("", more=f"declare void {CLEAR}(ptr, i32)\n{other}").nest(0))
    assert (refused is not None) == throws
