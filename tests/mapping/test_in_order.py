"""Neighbouring clusters lie on the same core, as many on each as can be."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.parts import Cache, Core
from tracecut.mapping import place_in_order
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick
FOUR = Machine("four", tuple(Core(number) for number in range(4)), (Cache(1, 1 << 15),), 1 << 30)


@pytest.mark.parametrize("threads", [None, 1, 2, 3, 4])
@pytest.mark.parametrize("k", [1, 3, 4, 10, 4097])
def test_neighbours_lie_together(k: int, threads: int | None) -> None:
    placed = place_in_order(FOUR, k, threads)
    count = 4 if threads is None else threads
    assert placed.n_cores == 4 and placed.core_of.size == k
    assert placed.core_of[0] == 0 and np.all(np.diff(placed.core_of) >= 0) and placed.core_of[-1] < count
    sizes = np.bincount(placed.core_of, minlength=count)
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(("k", "threads", "why"), [(0, 1, "k = 0"), (3, 0, "threads = 0"), (3, 5, "has 4 cores")])
def test_what_can_not_be_placed(k: int, threads: int, why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        place_in_order(FOUR, k, threads)
