"""What may be an exit of a scope, and what the description of the scope leaves out then."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.loops.nest import Exit
from tracecut.tracer.loops.exits import block_counts, counted_blocks, find_exits
from tracecut.tracer.loops.program import Analysis

pytestmark = pytest.mark.quick

TEXT = """
declare i32 @puts(ptr)
declare ptr @make()

define void @f(ptr %x, ptr %index, ptr %y0, i64 %steps, i64 %n) {
entry:
  br label %step
step:
  %t = phi i64 [ 0, %entry ], [ %t.next, %last ]
  %y = phi ptr [ %y0, %entry ], [ %y.next, %last ]
  br label %loop
loop:
  %k = phi i64 [ 0, %step ], [ %k.next, %loop ]
  %at = getelementptr i32, ptr %index, i64 %k
  %i = load i32, ptr %at
  %w = sext i32 %i to i64
  %p = getelementptr double, ptr %x, i64 %w
  store double 0.0, ptr %p
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %n
  br i1 %more, label %loop, label %swept
swept:
  %seldom = icmp eq i64 %t, 7
  br i1 %seldom, label %say, label %said
say:
  call i32 @puts(ptr %x)
  br label %deeper
deeper:
  store i32 1, ptr %index
  br label %said
said:
  %never = icmp eq i64 %t, 1000
  br i1 %never, label %renew, label %last
renew:
  %z = call ptr @make()
  br label %last
last:
  %y.next = phi ptr [ %y, %said ], [ %z, %renew ]
  store double 1.0, ptr %y.next
  %t.next = add i64 %t, 1
  %on = icmp slt i64 %t.next, %steps
  br i1 %on, label %step, label %end
end:
  ret void
}
"""
COUNTS = {"say": 1, "deeper": 1, "renew": 0}


@pytest.fixture
def analysis() -> Analysis:
    return Analysis(parse_module(TEXT))


def sets_of(analysis: Analysis, counts: dict[str, int], runs: int) -> list[tuple[tuple[str, ...], int]]:
    view = analysis.view_of(0)
    root, region = view.flow.loops
    return find_exits(view, root, region, block_counts(view, root, counts, [20, 4000]), runs, analysis.own)


def test_what_is_counted(analysis: Analysis) -> None:
    """Not what every iteration runs, whose number is that of the loop's iterations, and nothing of inner loops."""
    assert counted_blocks(analysis.views) == [("@f", name) for name in COUNTS]
    view = analysis.view_of(0)
    found = block_counts(view, view.flow.loops[0], COUNTS, [20, 4000])
    assert found == {"step": 20, "swept": 20, "said": 20, "last": 20, **COUNTS}


def test_exits_begin_where_it_is_rare(analysis: Analysis) -> None:
    assert sets_of(analysis, COUNTS, 20) == [((), 0), (("renew",), 0), (("say", "renew"), 1)]
    assert sets_of(analysis, {**COUNTS, "say": 11, "deeper": 11}, 20) == [((), 0), (("renew",), 0)]
    assert sets_of(analysis, {**COUNTS, "say": 11, "deeper": 2}, 20) == [
        ((), 0),
        (("renew",), 0),
        (("deeper", "renew"), 2),
    ]


def test_what_every_step_does_is_an_exit_where_it_sweeps_often(analysis: Analysis) -> None:
    """Forty sweeps in each of twenty steps: the part behind them is rare; what never ran in it may do alone."""
    assert sets_of(analysis, COUNTS, 800) == [((), 0), (("renew",), 0), (("swept",), 20)]


def test_what_calls_is_an_exit_before_what_prints(analysis: Analysis) -> None:
    """What prints may run with the layout in force; of what seldom runs, what never ran may be all that calls."""
    text = TEXT.replace("call i32 @puts(ptr %x)", "%never.ran = call ptr @make()")
    assert sets_of(Analysis(parse_module(text)), COUNTS, 20) == [((), 0), (("say", "renew"), 1), (("renew",), 0)]
    text = text.replace("store i32 1, ptr %index", "%z2 = call ptr @make()").replace(
        "%never.ran = call ptr @make()", ""
    )
    text = text.replace("br label %deeper", "br i1 %never.asked, label %deeper, label %said")
    text = text.replace("%seldom =", "%never.asked = icmp eq i64 %t, 1000\n  %seldom =")
    counts = {"say": 1, "deeper": 0, "renew": 0}
    assert sets_of(Analysis(parse_module(text)), counts, 20) == [
        ((), 0),
        (("deeper", "renew"), 0),
        (("say", "renew"), 1),
    ]


def test_what_is_left_out(analysis: Analysis) -> None:
    whole = analysis.nest(0)
    assert {item.place for item in whole.loops[0].obstacles} and len(whole.sites) == 5
    part = analysis.nest(0, ("say", "renew"))
    assert part.exits == (Exit("say", False), Exit("renew", True))
    assert part.loops[0].obstacles == ()
    assert [site.key for site in part.sites] == ["store:last:1", "%i", "store:loop:5"]
    (last,) = (site for site in part.sites if site.key == "store:last:1")
    assert "%y0" in str(last.address) and "opaque" not in str(last.address)  # what `renew` makes comes after the layout


def test_a_value_that_an_exit_makes_is_not_known(analysis: Analysis) -> None:
    (last,) = (site for site in analysis.nest(0).sites if site.key == "store:last:1")
    assert any(node.kind == "opaque" for node in last.address.walk())


ASKED = """
define void @g(ptr %x, ptr %index, ptr %f, ptr %known, ptr %other, i64 %steps) {
entry:
  br label %step
step:
  %t = phi i64 [ 0, %entry ], [ %t.next, %last ]
  %is = icmp eq ptr %f, %known
  br i1 %is, label %named, label %asked
named:
  %v = load i32, ptr %index
  br label %called
asked:
  %is.other = icmp eq ptr %f, %other
  br i1 %is.other, label %tracecut.other.0, label %tracecut.other.1
tracecut.other.0:
  %w = call i32 %f()
  br label %both
tracecut.other.1:
  %u = call i32 %f()
  br label %both
both:
  %m = phi i32 [ %w, %tracecut.other.0 ], [ %u, %tracecut.other.1 ]
  br label %called
called:
  %n = phi i32 [ %v, %named ], [ %m, %both ]
  %count = sext i32 %n to i64
  br label %loop
loop:
  %k = phi i64 [ 0, %called ], [ %k.next, %loop ]
  %at = getelementptr double, ptr %x, i64 %k
  store double 1.0, ptr %at
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %loop, label %last
last:
  %t.next = add i64 %t, 1
  %on = icmp slt i64 %t.next, %steps
  br i1 %on, label %step, label %end
end:
  ret void
}
"""


@pytest.mark.parametrize(
    ("heads", "known"), [(("asked",), True), (("tracecut.other.0", "tracecut.other.1"), False), ((), False)]
)
def test_what_an_unknown_function_returns_is_not_what_the_layout_sees(heads: tuple[str, ...], known: bool) -> None:
    """Such an exit ends the layout. `both` is reached from exits alone, and is none: nothing is known of its number."""
    nest = Analysis(parse_module(ASKED)).nest(0, heads)
    assert nest.exits == tuple(Exit(head, True) for head in heads)
    (inner,) = (loop for loop in nest.loops.values() if loop.parent is not None)
    trip = inner.trip
    assert (trip is not None and not trip.has("opaque", "any", "choice")) == known
