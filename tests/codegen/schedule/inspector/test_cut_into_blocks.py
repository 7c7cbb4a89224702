"""Chunks of jobs for threads: equal work, and ends at breaks where these are close."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.schedule.inspector import cut_into_blocks
from tracecut.codegen.schedule.inspector.cut_into_blocks import SLACK, chunk_ends
from tracecut.codegen.schedule.inspector.wavefronts import MAX_BLOCKS
from tracecut.codegen.schedule.reduce_modes import ORDERED

from ...checking import Subject, region_of

pytestmark = pytest.mark.quick


def order_of(size: int) -> np.ndarray:
    return np.random.default_rng(size).permutation(size).astype(np.int32)


@given(st.integers(0, 200), st.integers(1, 8), st.lists(st.integers(0, 200), max_size=8))
def test_chunks_cover_the_jobs(size: int, count: int, places: list[int]) -> None:
    breaks = np.unique(np.array([place for place in places if 0 < place < size], np.int64))
    ends = chunk_ends(order_of(size), count, None, breaks)
    assert ends.size == count + 1 and ends[0] == 0 and ends[-1] == size
    assert np.all(np.diff(ends) >= 0)
    even = np.linspace(0, size, count + 1).astype(np.int64)
    for end, wanted in zip(ends[1:-1], even[1:-1], strict=True):
        assert abs(int(end) - int(wanted)) * count <= SLACK * size
        assert end == wanted or end in breaks


@given(st.lists(st.integers(1, 50), min_size=1, max_size=100), st.integers(1, 6))
def test_work_is_shared_evenly(costs: list[int], count: int) -> None:
    work = np.array(costs, np.int64)
    order = order_of(work.size)
    ends = chunk_ends(order, count, work)
    assert ends[0] == 0 and ends[-1] == work.size
    share = work.sum() / count
    for low, high in pairwise(ends):
        assert abs(work[order[low:high]].sum() - share) <= 2 * work.max()


def test_an_end_moves_to_the_break_beside_it() -> None:
    order = order_of(10_000)
    assert chunk_ends(order, 2, None, np.array([4_900, 7_000])).tolist() == [0, 4_900, 10_000]
    assert chunk_ends(order, 2, None, np.array([5_149])).tolist() == [0, 5_149, 10_000]
    assert chunk_ends(order, 2, None, np.array([4_000, 7_000])).tolist() == [0, 5_000, 10_000]
    assert chunk_ends(order, 2, None, np.array([], np.int64)).tolist() == [0, 5_000, 10_000]


def test_wavefronts_need_width_for_each_thread(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where enough blocks run beside each other the fast blocks are the ordered ones, else one a thread and a tail."""
    item = subject("pairs", "pairs")
    order = item.unchanged()
    ordered = region_of(item, item.schedule(order, reduce=ORDERED)).blocks
    width = ordered.count / (int(ordered.waves.max()) + 1)
    assert ordered.count > 3 and ordered.waves.max() > 0 and width >= cut_into_blocks.MIN_WIDTH
    monkeypatch.setattr(cut_into_blocks, "WIDTH_A_THREAD", width / 2)
    two, three = (region_of(item, item.schedule(order, threads)).blocks for threads in (2, 3))
    assert np.array_equal(two.bounds, ordered.bounds) and np.array_equal(two.waves, ordered.waves)
    assert three.waves.tolist() in ([0, 0, 0], [0, 0, 0, 1])


def test_blocks_that_share_nothing_are_more_than_the_threads(subject: Subject) -> None:
    item = subject("locals", "own_rows")
    blocks = region_of(item, item.schedule(item.random(1), 2)).blocks
    jobs = region_of(item, item.schedule(item.random(1), 1)).jobs.size
    assert blocks.count == min(MAX_BLOCKS, jobs) and not blocks.waves.any()
    assert region_of(item, item.schedule(item.random(1), 1)).blocks.count == 1
