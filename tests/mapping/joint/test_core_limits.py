"""Limits of cores: exact for vertices of one weight, within capacities, and never looser than asked without need."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.mapping.joint.core_limits import core_limits

pytestmark = pytest.mark.quick


def test_by_hand() -> None:
    even = np.full(1024, 1 / 1024)
    assert set(core_limits(np.ones(5433), even, 1.03, None)) == {6.0}
    assert set(core_limits(np.full(5433, 2.5), even, 1.2, None)) == {15.0}
    assert set(core_limits(np.ones(10240), even, 1.03, None)) == {10.0}
    halves = np.array([0.5, 0.5])
    assert core_limits(np.ones(10), halves, 1.03, np.array([3.0, 9.5])).tolist() == [3.0, 7.0]
    assert core_limits(np.array([3.0, 3, 2, 2, 2]), halves, 1.0, None) == pytest.approx([6.0, 6.0])
    assert core_limits(np.zeros(3), halves, 1.03, None).tolist() == [0.0, 0.0]


def test_a_target_below_one_vertex_loosens_no_limit() -> None:
    assert core_limits(np.ones(100), np.array([0.996, 0.004]), 1.03, None).tolist() == [102.0, 0.0]
    limits = core_limits(np.array([1.0, *[2.0] * 99]), np.array([0.996, 0.004]), 1.03, None)
    assert limits == pytest.approx([1.03 * 0.996 * 199, 1.03 * 0.004 * 199])


@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.sampled_from([1, 2, 7, 40]), st.integers(0, 12)), min_size=1, max_size=4),
    st.sampled_from([1.0, 1.03, 1.5]),
    st.booleans(),
)
def test_least_by_all_counts(n: int, cores: list[tuple[int, int]], balance: float, capped: bool) -> None:
    """Against all ways to count n equal vertices out to the cores."""
    shares = np.array([share for share, _ in cores], float) / sum(share for share, _ in cores)
    room = [float(most) for _, most in cores] if capped else [float(n)] * len(cores)
    if sum(room) < n:
        return
    ways = [way for way in product(*(range(int(most) + 1) for most in room)) if sum(way) == n]
    least = min(max(count / (share * n) for count, share in zip(way, shares, strict=True)) for way in ways)
    limits = core_limits(np.full(n, 3.0), shares, balance, 3.0 * np.array(room) if capped else None)
    asked = np.floor(max(balance, least) * shares * n + 1e-9)
    asked = np.minimum(asked, room) if capped else asked
    assert limits.tolist() == (3.0 * asked).tolist() and limits.sum() >= 3.0 * n
