"""Which allocations are taken out of a loop, and which sizes are known of the ends of memory."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.allocated.hoist_allocations import hoist_allocations
from tracecut.ir.llvm.passes.known_sizes import known_sizes

pytestmark = pytest.mark.quick

LOOP = """declare noalias ptr @malloc(i64)
declare void @free(ptr)
declare void @keep(ptr)
@global = global ptr null
define void @f(i64 %n, i1 %c, ptr %o) {{
entry:
  br label %loop
loop:
  {before}
  %p = call ptr @malloc(i64 {size})
  {use}
  br i1 {condition}, label %more, label %end
more:
  {free}
  br label %loop
end:
  {behind}
  ret void
}}"""


def is_hoisted(**words: str) -> bool:
    usual = {
        "before": "",
        "size": "%n",
        "use": "store i8 0, ptr %p",
        "condition": "%c",
        "behind": "call void @free(ptr %p)",
    }
    text = LOOP.format(**{**usual, "free": "call void @free(ptr %p)", **words})
    return in_front(text)


def in_front(text: str) -> bool:
    """Whether the memory is allocated in front of the loop, when that has been tried."""
    function = hoist_allocations(parse_module(text)).functions["@f"]
    return any(item.word == "@malloc" for item in function.entry.instructions if item.op == "call")


def test_what_is_hoisted() -> None:
    assert is_hoisted()
    assert is_hoisted(size="%m", before="%m = mul i64 %n, 8")
    assert is_hoisted(use="%q = getelementptr i8, ptr %p, i64 4\n  %v = load i32, ptr %q")
    assert is_hoisted(behind="")  # what the program loses it still loses
    assert is_hoisted(condition="%null", use="%null = icmp ne ptr %p, null", behind="")  # nothing is allocated there


@pytest.mark.parametrize(
    "words",
    [
        {"size": "%m", "before": "%m = load i64, ptr %o"},  # another size each time, perhaps
        {"free": ""},  # iterations keep it
        {"use": "store ptr %p, ptr @global"},  # somebody has its address
        {"use": "call void @keep(ptr %p)"},
        {"use": "%a = ptrtoint ptr %p to i64\n  %b = xor i64 %a, 5\n  store i64 %b, ptr %o"},
        {"free": "%q = getelementptr i8, ptr %p, i64 0\n  call void @free(ptr %q)"},
    ],
)
def test_what_stays(words: dict[str, str]) -> None:
    assert not is_hoisted(**words)


def test_what_throws_would_pass_by_what_frees() -> None:
    text = LOOP.format(
        before="", size="%n", use="call void @g()", condition="%c", free="call void @free(ptr %p)", behind=""
    )
    body = "{\nentry:\n  call void @keep(ptr null)\n  ret void\n}\n"
    assert in_front(text + f"\ndefine void @g() nounwind {body}")
    assert not in_front(text + f"\ndefine void @g() {body}")
    assert in_front(text.replace("ptr %o) {", "ptr %o) nounwind {") + f"\ndefine void @g() {body}")


def test_with_allocators_of_its_own() -> None:
    text = LOOP.format(before="", size="%n", use="", condition="%c", free="call void @free(ptr %p)", behind="")
    own = text.replace("declare void @free(ptr)", "define void @free(ptr %p) {\n  ret void\n}")
    assert in_front(text) and not in_front(own)


ENDS = """define i64 @f(i64 %n, ptr %a, i1 %c) {{
entry:
  br i1 %c, label %some, label %none
some:
  %e = getelementptr {type}, ptr %a, i64 %n
  br label %end
none:
  %z = getelementptr {type}, ptr null, i64 {other}
  br label %end
end:
  %begin = phi ptr [ %a, %some ], [ null, %none ]
  %last = phi ptr [ %e, %some ], [ %z, %none ]
  %x = ptrtoint ptr %last to i64
  %y = ptrtoint ptr %begin to i64
  %size = sub i64 %x, %y
  %empty = icmp eq ptr %begin, %last
  ret i64 %size
}}"""


@pytest.mark.parametrize(
    ("type", "other", "lines"),
    [
        ("double", "%n", ["%size = mul i64 %n, 8"]),
        ("i8", "%n", ["%size = mul i64 %n, 1"]),
        ("i8", "16", ["%last.from.0 = phi i64 [ %n, %some ], [ 16, %none ]", "%size = mul i64 %last.from.0, 1"]),
        ("double", "16", ["%size = sub i64 %x, %y"]),  # 8 n is no number of the program
        ("i24", "%n", ["%size = sub i64 %x, %y"]),
    ],
)
def test_sizes(type: str, other: str, lines: list[str]) -> None:
    function = parse_module(ENDS.format(type=type, other=other)).functions["@f"]
    known_sizes(function)
    text = str(function)
    assert all(line in text for line in lines)
    assert ("icmp eq ptr" in text) == ("sub" in lines[-1])


SWAPPED = """define void @f(i64 %n, ptr %a, ptr %b, i1 %c) {{
entry:
  %ae = getelementptr double, ptr %a, i64 %n
  %be = getelementptr double, ptr %b, i64 {other}
  br label %loop
loop:
  %p = phi ptr [ %a, %entry ], [ %q, %loop ]
  %q = phi ptr [ %b, %entry ], [ %p, %loop ]
  %pe = phi ptr [ %ae, %entry ], [ %qe, %loop ]
  %qe = phi ptr [ %be, %entry ], [ {back}, %loop ]
  %more = load i64, ptr %p
  %x = ptrtoint ptr %pe to i64
  %y = ptrtoint ptr %p to i64
  %size = sub i64 %x, %y
  store i64 %size, ptr %q
  br i1 %c, label %loop, label %end
end:
  ret void
}}"""


@pytest.mark.parametrize(
    ("other", "back", "known"), [("%n", "%pe", True), ("7", "%pe", False), ("%n", "%ae", False), ("%n", "%qe", False)]
)
def test_the_size_of_memory_that_changes_places(other: str, back: str, known: bool) -> None:
    """Known where both are of one size and their ends go along with them."""
    function = parse_module(SWAPPED.format(other=other, back=back)).functions["@f"]
    known_sizes(function)
    assert ("%size = mul i64 %n, 8" in str(function)) is known
