"""Gathering and scattering in blocks, against plain indexing."""

from __future__ import annotations

import numpy as np
import pytest
from tracecut.partition.parallel.gather import gathered, scattered
from tracecut.partition.parallel.thread_pool import LEAST, ThreadPool

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [0, 7, 3 * LEAST + 5])
def test_gathering_and_scattering(size: int, threads: int) -> None:
    draw = np.random.default_rng(size)
    values = draw.integers(0, 2**32, size + 9, np.uint32)
    places = draw.integers(0, values.size, size).astype(np.uint32)
    order = draw.permutation(size).astype(np.uint32)
    with ThreadPool(threads, 10**6) as pool:
        assert gathered(values, places, pool).tolist() == values[places].tolist()
        assert gathered(values / 3.0, places, pool).tolist() == (values / 3.0)[places].tolist()
        found = scattered(values[:size], order, size, pool)
        inherited = scattered(values[places], places, values.size, pool)
    assert found[order].tolist() == values[:size].tolist()
    assert inherited[places].tolist() == values[places].tolist()
