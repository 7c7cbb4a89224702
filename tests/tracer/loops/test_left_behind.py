"""What a loop leaves behind by one of two exits is no expression of its counter: that is no number behind it."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.tracer.loops.program import Analysis

pytestmark = pytest.mark.quick

TEXT = """
define void @f(ptr %x, ptr %keys, ptr %index, i64 %jobs, i64 %n) {
entry:
  br label %job
job:
  %i = phi i64 [ 0, %entry ], [ %i.next, %found ]
  br label %search
search:
  %k = phi i64 [ 0, %job ], [ %k.next, %more ]
  %key.at = getelementptr i64, ptr %keys, i64 %k
  %key = load i64, ptr %key.at
  %is = icmp sgt i64 %key, %i
  %k.next = add i64 %k, 1
  br i1 %is, label %found, label %more
more:
  %on = icmp slt i64 %k.next, %n
  br i1 %on, label %search, label %found
found:
  %at = phi i64 [ ONE, %search ], [ OTHER, %more ]
  %p = getelementptr double, ptr %x, i64 %at
  store double 0.0, ptr %p
  %i.next = add i64 %i, 1
  %again = icmp slt i64 %i.next, %jobs
  br i1 %again, label %job, label %end
end:
  ret void
}
"""


@pytest.mark.parametrize(("one", "other"), [("3", "7"), ("%k", "%k"), ("%k", "7"), ("%i", "7")])
def test_it_is_not_known_by_which_exit(one: str, other: str) -> None:
    nest = Analysis(parse_module(TEXT.replace("ONE", one).replace("OTHER", other))).nest(0)
    (site,) = (site for site in nest.sites if site.writes)
    nodes = [node for node in site.address.walk() if node.kind not in ("any", "opaque")]
    assert site.address.has("any", "opaque")
    assert not any(node.kind == "cmp" for node in nodes)


def test_what_both_exits_leave_is_known() -> None:
    (site,) = (
        site
        for site in Analysis(parse_module(TEXT.replace("ONE", "%i").replace("OTHER", "%i"))).nest(0).sites
        if site.writes
    )
    assert not site.address.has("any", "opaque")
