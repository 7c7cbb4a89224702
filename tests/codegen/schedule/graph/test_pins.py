"""Pins of several parts as one, against NumPy's own way to find what differs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.schedule.graph.pins import together

pytestmark = pytest.mark.quick

PARTS = st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=30), min_size=1, max_size=3)


@given(PARTS)
def test_each_pin_once_by_job_and_datum(parts: list[list[tuple[int, int]]]) -> None:
    found = together([tuple(np.array(part, np.int64).reshape(-1, 2).T.copy()) for part in parts])  # type: ignore[misc]
    expected = sorted({pin for part in parts for pin in part})
    assert list(zip(*(side.tolist() for side in found), strict=True)) == expected
    assert all(side.dtype == np.int64 for side in found)
