"""Starts of pieces by their lower halves and the first one of each block."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.codegen.gpu.packed_starts import SPAN, block_begins, lower_halves
from tracecut.support.arrays import Longs

pytestmark = pytest.mark.quick


def longs(*values: int) -> Longs:
    return np.array(values, np.int64)


def test_halves_and_the_first_start_make_every_start() -> None:
    starts = longs(0, 10, SPAN, SPAN + 5, 2 * SPAN)
    bounds = longs(0, 2, 4)
    begins = block_begins(starts, bounds)
    assert begins is not None and begins.tolist() == [0, SPAN] and begins.dtype == np.uint32
    halves = lower_halves(starts.astype(np.int32).view(np.uint8), 4).view(np.uint16)
    assert halves.tolist() == [0, 10, 65535, 4, 65534]
    assert lower_halves(starts.view(np.uint8), 8).view(np.uint16).tolist() == halves.tolist()
    for block, begin in enumerate(begins.tolist()):
        mine = slice(bounds[block], bounds[block + 1] + 1)
        assert [begin + (half - begin) % 65536 for half in halves[mine].tolist()] == starts[mine].tolist()


@pytest.mark.parametrize(
    ("starts", "good"),
    [
        (longs(0), True),
        (longs(0, SPAN), True),
        (longs(0, SPAN + 1), False),
        (longs(*range(0, 1 << 32, SPAN)), True),
        (longs(*range(0, 1 << 32, SPAN), 1 << 32), False),
    ],
)
def test_they_fit_or_do_not(starts: Longs, good: bool) -> None:
    """One piece a block."""
    found = block_begins(starts, np.arange(starts.size))
    assert (found is not None) == good and (found is None or np.array_equal(found, starts[:-1]))
