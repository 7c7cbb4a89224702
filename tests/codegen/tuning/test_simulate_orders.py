"""Which thread begins with each block of a schedule, for the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.codegen.tuning.simulate_orders import block_shares, innermost

pytestmark = pytest.mark.quick


def share(first: int, count: int, threads: int, thread: int) -> int:
    """As `share` of `blocks.c`."""
    return first + count * thread // threads


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("sizes", [[1], [2], [5], [3, 1, 8], [64, 64, 2]])
def test_shares(threads: int, sizes: list[int]) -> None:
    waves = np.repeat(np.arange(len(sizes)), sizes)
    found = block_shares(waves.astype(np.int32), threads)
    first = 0
    for size in sizes:
        used = min(threads, size)
        for thread in range(used):
            low, high = (share(first, size, used, at) for at in (thread, thread + 1))
            assert (found[low:high] == thread).all()
        first += size


def test_no_blocks() -> None:
    assert block_shares(np.zeros(0, np.int32), 2).size == 0


NEST = """define void @f(i64 %n) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %a = load i32, ptr %p, align 4
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %more, %inner ]
  %q = getelementptr i8, ptr %p, i64 %j
  %b = load i32, ptr %q, align 4
  %more = add i64 %j, 1
  %c = icmp eq i64 %more, %n
  br i1 %c, label %latch, label %inner
latch:
  %next = add i64 %i, 1
  br i1 %c, label %exit, label %outer
exit:
  ret void
}
"""


def test_innermost_loop() -> None:
    assert innermost(NEST) == 3  # load, add, branch
    assert innermost(NEST.replace("%latch, label %inner", "%latch, label %latch")) == 7  # the outer one
    assert innermost("define void @f() {\nentry:\n  ret void\n}\n") == 1
