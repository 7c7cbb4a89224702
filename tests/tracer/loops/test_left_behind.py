"""What a loop leaves behind by one of two exits follows from which is taken, and from the number that it has then: its
counter, and what decides inside of it, are no numbers behind it."""

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
def test_a_run_tells_by_which_exit(one: str, other: str) -> None:
    nest = Analysis(parse_module(TEXT.replace("ONE", one).replace("OTHER", other))).nest(0)
    (site,) = (site for site in nest.sites if site.writes)
    nodes = list(site.address.walk())
    assert site.address.has("left") and not site.address.has("any", "opaque", "cmp")
    assert {node.data[0] for node in nodes if node.kind == "counter"} <= {0}
    edges = {node.data[1] for node in nodes if node.kind == "left"}
    assert edges - {""} == (set() if one == other else {"search>found"})


def test_what_both_exits_leave_is_known() -> None:
    (site,) = (
        site
        for site in Analysis(parse_module(TEXT.replace("ONE", "%i").replace("OTHER", "%i"))).nest(0).sites
        if site.writes
    )
    assert not site.address.has("any", "opaque")
