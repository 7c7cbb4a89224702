"""The room that the values of all iterations may take: refused before it is made, counted when it is there."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tracecut.tracer.legality.evaluate import Evaluation

from .test_evaluate import setting

pytestmark = pytest.mark.quick


def test_a_loop_that_is_too_long_is_not_looked_at() -> None:
    """Found out before any memory is taken: the reason has the number, and other loops are as they were."""
    here = setting()
    lives = {**here.lives, "n": 1 << 40}
    evaluation = Evaluation(here.nest, here.memory, lives, limit=1 << 30)
    tracemalloc.start()
    try:
        assert evaluation.domain(0) is None
        assert evaluation.root_size() == 1 << 40
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert "for 1,099,511,627,776 iterations" in evaluation.too_long[0]
    assert "1 GiB are allowed (--memory)" in evaluation.too_long[0]


def test_loops_share_the_memory_that_is_allowed() -> None:
    here = setting()
    roomy = Evaluation(here.nest, here.memory, here.lives, limit=1 << 20)
    domains = [roomy.domain(loop) for loop in here.nest.loops]
    assert all(domain is not None for domain in domains) and not roomy.too_long
    needed = (1 << 20) - roomy.room.left
    assert needed >= 8 * sum(4 * domain.size for domain in domains if domain is not None)
    tight = Evaluation(here.nest, here.memory, here.lives, limit=needed - 1)
    assert [tight.domain(loop) for loop in here.nest.loops][-1] is None
    assert len(tight.too_long) == 1


def test_what_is_counted_is_what_is_kept() -> None:
    """Not more: an estimate that is many times too high refuses programs that fit."""
    here = setting()
    evaluation = Evaluation(here.nest, here.memory, here.lives, limit=1 << 30)
    assert evaluation.domain(1) is not None
    before = evaluation.room.left
    expr = here.pool.op("add", "i64", here.pool.counter(1), here.pool.const(3))
    size = evaluation.at(expr, 1).data.size
    assert before - evaluation.room.left == 8 * size  # the sum; the counter is the domain's


def test_a_value_that_does_not_fit_is_unknown() -> None:
    here = setting()
    roomy = Evaluation(here.nest, here.memory, here.lives, limit=1 << 30)
    domain = roomy.domain(1)
    assert domain is not None
    taken = (1 << 30) - roomy.room.left
    tight = Evaluation(here.nest, here.memory, here.lives, limit=taken + 24 * domain.size - 1)
    assert tight.domain(1) is not None and not tight.too_long
    assert not np.any(tight.at(here.pool.op("add", "i64", here.pool.counter(1), here.pool.const(3)), 1).known)
    assert f"for {domain.size:,} iterations" in tight.too_long[1]
