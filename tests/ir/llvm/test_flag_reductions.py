"""Constants that a loop puts into a flag are combined with it; other values that a loop carries stay as they are."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.flag_reductions import join_flags

pytestmark = pytest.mark.quick

FLAG = """define {type} @f(i1 %c, i1 %d, i1 %more, {type} %n) {{
entry:
  br label %loop
loop:
  %flag = phi {type} [ {start}, %entry ], [ %next, %latch ]
  br i1 %d, label %then, label %latch
then:
  br label %latch
latch:
  %one = phi {type} [ {early}, %then ], [ %flag, %loop ]
  %next = select i1 %c, {type} {late}, {type} %one
  br i1 %more, label %loop, label %done
done:
  %left = phi {type} [ %next, %latch ]
  ret {type} %left
}}"""


def joined(type: str, start: str, early: str, late: str) -> list[str]:
    """What is new in the function."""
    text = FLAG.format(type=type, start=start, early=early, late=late)
    before = {str(item) for _, item in parse_module(text).functions["@f"].instructions()}
    found = [str(item) for _, item in join_flags(parse_module(text)).functions["@f"].instructions()]
    return [line for line in found if line not in before]


def test_a_flag_is_set() -> None:
    assert joined("i32", "0", "7", "7") == [
        "%one.tc.set0 = or i32 %flag, 7",
        "%one = phi i32 [ %one.tc.set0, %then ], [ %flag, %loop ]",
        "%next.tc.set1 = or i32 %flag, 7",
        "%next = select i1 %c, i32 %next.tc.set1, i32 %one",
    ]


@pytest.mark.parametrize(
    ("type", "start", "value", "word"),
    [
        ("i1", "false", "true", "or"),
        ("i1", "true", "false", "and"),
        ("i8", "1", "0", "and"),
        ("i32", "5", "-1", "or"),
        ("i64", "0", "-9", "or"),
    ],
)
def test_each_constant(type: str, start: str, value: str, word: str) -> None:
    assert f"%next.tc.set1 = {word} {type} %flag, {value}" in joined(type, start, value, value)


def test_a_value_from_elsewhere_beside_one_with_every_bit() -> None:
    assert "%next.tc.set1 = or i32 %flag, -1" in joined("i32", "0", "%n", "-1")
    assert joined("i32", "0", "%n", "7") == []  # the flag may be anything


@pytest.mark.parametrize(
    ("start", "early", "late"),
    [
        ("0", "1", "2"),  # the last one counts
        ("0", "0", "7"),  # one way sets it back
        ("3", "7", "7"),  # bits of both would be left
        ("7", "7", "7"),  # nothing changes
        ("%n", "7", "7"),  # it is not known what it starts from
    ],
)
def test_what_is_no_flag(start: str, early: str, late: str) -> None:
    assert joined("i32", start, early, late) == []


def test_a_value_that_no_iteration_keeps() -> None:
    """The flag of the last iteration alone: it is not carried, and must not become so."""
    text = FLAG.format(type="i32", start="0", early="7", late="7").replace("%flag, %loop ]", "%n, %loop ]")
    assert str(join_flags(parse_module(text))) == str(parse_module(text))


def test_inner_loops_combine_with_their_own_flag() -> None:
    text = """define i1 @f(i1 %c, i1 %again, i1 %more) {
entry:
  br label %outer
outer:
  %a = phi i1 [ false, %entry ], [ %left, %end ]
  br label %inner
inner:
  %b = phi i1 [ %a, %outer ], [ %next, %inner ]
  %next = select i1 %c, i1 true, i1 %b
  br i1 %again, label %inner, label %end
end:
  %left = phi i1 [ %next, %inner ]
  br i1 %more, label %outer, label %done
done:
  %result = phi i1 [ %left, %end ]
  ret i1 %result
}"""
    assert "%next.tc.set1 = or i1 %b, true" in str(join_flags(parse_module(text)))


def test_what_another_value_begins_with_is_no_flag() -> None:
    """The flag is taken over from a second value of the loop, which begins with the constant outside of it."""
    text = """define i32 @f(i1 %c, i1 %more) {
entry:
  br label %loop
loop:
  %flag = phi i32 [ 0, %entry ], [ %next, %loop ]
  %other = phi i32 [ 1, %entry ], [ %flag, %loop ]
  %next = select i1 %c, i32 %other, i32 %flag
  br i1 %more, label %loop, label %done
done:
  ret i32 %flag
}"""
    before = [str(item) for _, item in parse_module(text).functions["@f"].instructions()]
    assert [str(item) for _, item in join_flags(parse_module(text)).functions["@f"].instructions()] == before
