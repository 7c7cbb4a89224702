"""Sixteen ways at once do what one way after the other does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from tracecut.ir.gpu.wide_sets import WIDE, keep_wide
from tracecut.ir.machine.cache_simulator import EMPTY, keep_sectors

pytestmark = pytest.mark.quick


@njit
def _touched(tags: Any, other: Any, sets: Any, lines: Any, flags: Any) -> Any:
    """Keeps the lines in both; the number of the first touch where the answers differ, −1 for none."""
    for turn in range(lines.size):
        first = sets[turn] * WIDE
        one = keep_sectors(tags, first, WIDE, lines[turn], flags[turn])
        if one != keep_wide(other, first, lines[turn], flags[turn]):
            return turn
    return -1


@pytest.mark.parametrize("span", [3, 15, 17, 100, 1 << 54])
def test_both_keep_the_same(span: int) -> None:
    generator = np.random.default_rng(span)
    tags, other = np.full(4 * WIDE, EMPTY), np.full(4 * WIDE, EMPTY)
    count = 20_000
    lines, flags = generator.integers(0, span, count), generator.integers(0, 256, count)
    assert _touched(tags, other, generator.integers(0, 4, count), lines, flags) == -1
    assert np.array_equal(tags, other)
