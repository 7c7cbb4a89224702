"""A load of one of two fields is two loads where the block reads both fields anyway, and stays as it is elsewhere."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.chosen_fields import split_choices

pytestmark = pytest.mark.quick

CHOICE = """declare void @any()
define i32 @f(i1 %c, ptr %e) {{
entry:
  %s = select i1 %c, i64 0, i64 {distance}
  %p = getelementptr inbounds i8, ptr %e, i64 %s
  %v = load {word}i32, ptr %p, align 4
  {between}
  %a = load i32, ptr %e, align 8
  %q = getelementptr inbounds i8, ptr %e, i64 4
  %b = load {type}, ptr %q, align 4
  ret i32 %v
}}"""


def new(**words: str) -> list[str]:
    text = CHOICE.format(**{"distance": "4", "word": "", "between": "", "type": "i32", **words})
    before = {str(item) for _, item in parse_module(text).functions["@f"].instructions()}
    found = [str(item) for _, item in split_choices(parse_module(text)).functions["@f"].instructions()]
    return [line for line in found if line not in before]


def test_two_loads_and_a_choice() -> None:
    assert new() == [
        "%v.tc.yes.at = getelementptr i8, ptr %e, i64 0",
        "%v.tc.yes = load i32, ptr %v.tc.yes.at, align 8",
        "%v.tc.no.at = getelementptr i8, ptr %e, i64 4",
        "%v.tc.no = load i32, ptr %v.tc.no.at, align 4",
        "%v = select i1 %c, i32 %v.tc.yes, i32 %v.tc.no",
    ]
    assert len(new(between="call void @llvm.assume(i1 true)")) == 5


def test_a_choice_between_pointers() -> None:
    text = CHOICE.format(distance="4", word="", between="", type="i32")
    chosen = "%o = getelementptr i8, ptr %e, i64 4\n  %p = select i1 %c, ptr %o, ptr %e\n"
    text = text.replace("%s = select i1 %c, i64 0, i64 4\n", "")
    text = text.replace("%p = getelementptr inbounds i8, ptr %e, i64 %s\n", chosen)
    assert "%v = select i1 %c, i32 %v.tc.yes, i32 %v.tc.no" in str(split_choices(parse_module(text)))
    assert "tc.yes" not in str(split_choices(parse_module(text.replace("ptr %o, ptr %e", "ptr %o, ptr @other"))))


@pytest.mark.parametrize(
    "words", [{"distance": "8"}, {"word": "volatile "}, {"between": "call void @any()"}, {"type": "i16"}]
)
def test_a_field_that_may_not_be_there(words: dict[str, str]) -> None:
    """It is not read besides, or only after a call that may not return; or each read counts."""
    assert new(**words) == []
