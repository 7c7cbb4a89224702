"""Counters that are one iteration late: what becomes a difference, and what stays a value of its own."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.merge_induction_variables import merge_counters

pytestmark = pytest.mark.quick

TEXT = """define void @f(i64 %n) {{
entry:
  br label %loop
loop:
  %ahead = phi i64 [ {first}, %entry ], [ %next, %loop ]
  %late = phi {type} [ {start}, %entry ], [ {end}, %loop ]
  %next = add i64 %ahead, {step}
  %c = icmp eq i64 %next, %n
  br i1 %c, label %end, label %loop
end:
  ret void
}}"""


def late(**words: str) -> str:
    """What the late counter is made of."""
    text = TEXT.format(**{"first": "1", "start": "0", "step": "1", "end": "%ahead", "type": "i64", **words})
    function = merge_counters(parse_module(text)).functions["@f"]
    return next(item.text for _, item in function.instructions() if item.result == "%late")


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ({}, "%late = add i64 %ahead, -1"),
        ({"step": "-2", "first": "5", "start": "7"}, "%late = add i64 %ahead, 2"),
        ({"first": "0", "start": "-1"}, "%late = add i64 %ahead, -1"),
    ],
)
def test_differences(words: dict[str, str], made: str) -> None:
    assert late(**words) == made


@pytest.mark.parametrize(
    "words",
    [
        {"start": "1"},  # another value in the first iteration
        {"start": "%n"},
        {"step": "%n"},
        {"end": "%next"},  # not late
        {"end": "%late"},
        {"first": "2"},
    ],
)
def test_values_of_their_own(words: dict[str, str]) -> None:
    assert late(**words).startswith("%late = phi")
