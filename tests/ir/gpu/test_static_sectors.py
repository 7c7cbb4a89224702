"""Sectors from index arrays equal those that the model counts of a run."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir.gpu.description import gpu
from tracecut.ir.gpu.memory_model import MemoryModel
from tracecut.ir.gpu.sites import Sites
from tracecut.ir.gpu.static_sectors import by_request, gather_sectors, stream_sectors
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick

INDICES = st.lists(st.integers(-1, 200), max_size=150)


def slow(index: list[int], size: int, lanes: int, base: int, offsets: list[int], stride: int) -> list[int]:
    found = []
    for begin, end in pairwise(offsets):
        for first in range(begin, end, lanes):
            own = [base + i * stride for i in index[first : min(first + lanes, end)] if i >= 0]
            found.append(len({byte // 32 for address in own for byte in range(address, address + size)}))
    return found


@settings(deadline=None, max_examples=300)
@given(
    INDICES,
    st.sampled_from([1, 2, 4, 8, 16]),
    st.sampled_from([16, 32]),
    st.integers(0, 100),
    st.lists(st.integers(0, 150), max_size=5),
    st.sampled_from([0, 4, 24, 100]),
)
def test_gathers_equal_the_slow_count(
    index: list[int], size: int, lanes: int, base: int, cuts: list[int], stride: int
) -> None:
    offsets = [0, *sorted(cut for cut in cuts if cut <= len(index)), len(index)]
    found = by_request(index, size, lanes=lanes, base=base, offsets=offsets, stride=stride)
    assert found.tolist() == slow(index, size, lanes, base, offsets, stride or size)
    assert gather_sectors(index, size, lanes=lanes, base=base, offsets=offsets, stride=stride) == found.sum()


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 500), st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from([16, 32]), st.integers(0, 200))
def test_streams_are_gathers_of_rising_indices(count: int, size: int, lanes: int, base: int) -> None:
    assert stream_sectors(count, size, lanes=lanes, base=base) == gather_sectors(
        np.arange(count), size, lanes=lanes, base=base
    )


@pytest.mark.parametrize("size", [4, 8])
def test_a_run_counts_the_same(size: int) -> None:
    index = np.random.default_rng(1).zipf(1.3, 5000) % 3000
    model = MemoryModel(gpu("h200"), Sites.of([("global", "load", size), ("global", "store", size)]), 256)
    for block in range(0, index.size, 256):
        own = np.full((2, 256), -1)
        own[0, : len(index[block : block + 256])] = index[block : block + 256] * size + 512
        own[1, : len(index[block : block + 256])] = np.arange(block, min(block + 256, index.size)) * size
        model.consume_steps(block // 256, [0, 1], own)
    found = model.report()
    expected = [gather_sectors(index, size, base=512), stream_sectors(index.size, size)]
    assert found.sectors_by_site.tolist() == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"size": 3}, "3 bytes"),
        ({"lanes": 8}, "by 8 lanes"),
        ({"base": -4}, "base is -4"),
        ({"stride": -4}, "stride is -4"),
        ({"offsets": [0, 3]}, "offsets ends at 3"),
        ({"offsets": [0, 3, 2, 4]}, r"offsets\[2\] = 2"),
        ({"index": [0.5]}, "is not an integer"),
        ({"index": [1 << 40]}, r"above 2\^40"),
    ],
)
def test_odd_arguments_are_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        gather_sectors(**{"index": [1, 2, 3, 4], "size": 4, **given})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="count is -1"):
        stream_sectors(-1, 4)
