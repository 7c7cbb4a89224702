"""Blocks of a GPU kernel: cut out of an order of jobs, and the data that each touches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.codegen.gpu.cut_blocks import JobPins, Shorts, cut_jobs, data_of_blocks
from tracecut.codegen.gpu.gpu_schedule import BlockData
from tracecut.support.errors import UnsupportedError

pytestmark = pytest.mark.quick
NO_BREAKS = np.zeros(0, np.int64)


def pins_of(rows: list[list[int]], starts: list[int]) -> JobPins:
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    ids = np.array([pin for row in rows for pin in row], np.int32)
    return JobPins(offsets, ids, np.array(starts, np.int64))


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    starts = [0, *np.cumsum(sizes).tolist()]
    rows = draw(st.lists(st.lists(st.integers(-1, starts[-1] - 1), max_size=4), max_size=14))
    return rows, starts


def slow_data(rows: list[list[int]], starts: list[int], bounds: list[int], space: int) -> list[tuple[list[int], int]]:
    """For each block (distinct data, those it owns first; how many it owns), by sets."""
    low, high = starts[space], starts[space + 1]
    found = []
    for first, end in itertools.pairwise(bounds):
        found.append({pin for row in rows[first:end] for pin in row if low <= pin < high})
    result = []
    for number, mine in enumerate(found):
        others = set().union(*(item for place, item in enumerate(found) if place != number))
        owned, shared = sorted(mine - others), sorted(mine & others)
        result.append(([pin - low for pin in owned + shared], len(owned)))
    return result


@given(cases(), st.integers(1, 5))
@settings(deadline=None)
def test_blocks_know_their_data(case: tuple[list[list[int]], list[int]], jobs: int) -> None:
    rows, starts = case
    pins = pins_of(rows, starts)
    spaces = range(len(starts) - 1)
    bounds = cut_jobs(pins, NO_BREAKS, jobs, 1 << 20, [8] * len(spaces), [0] * len(spaces))
    assert bounds.tolist() == [*range(0, len(rows), jobs), len(rows)]
    data, local = data_of_blocks(pins, bounds, list(spaces))
    for space, item in zip(spaces, data, strict=True):
        wanted = slow_data(rows, starts, bounds.tolist(), space)
        parts = [item.data[a:b].tolist() for a, b in zip(item.offsets[:-1], item.offsets[1:], strict=True)]
        assert parts == [part for part, _ in wanted]
        assert item.owned.tolist() == [count for _, count in wanted]
    check_local_numbers(pins, bounds, data, local)


def check_local_numbers(pins: JobPins, bounds: np.ndarray, data: tuple[BlockData, ...], local: Shorts) -> None:
    for block in range(bounds.size - 1):
        for pin in range(pins.offsets[bounds[block]], pins.offsets[bounds[block + 1]]):
            if pins.ids[pin] < 0:
                continue
            space = int(np.searchsorted(pins.starts, pins.ids[pin], side="right")) - 1
            item = data[space]
            assert item.data[item.offsets[block] + local[pin]] == pins.ids[pin] - pins.starts[space]


@given(cases(), st.integers(1, 5), st.integers(16, 120))
@settings(deadline=None)
def test_data_fit_into_the_budget(case: tuple[list[list[int]], list[int]], jobs: int, shared: int) -> None:
    rows, starts = case
    pins = pins_of(rows, starts)
    count = len(starts) - 1
    widths, fixed = [8, 4, 12][:count], [4] * count
    try:
        bounds = cut_jobs(pins, NO_BREAKS, jobs, shared, widths, fixed)
    except UnsupportedError as error:
        assert "shared memory" in error.message
        return
    assert (
        bounds[0] == 0
        and bounds[-1] == len(rows)
        and (np.diff(bounds) > 0).all()
        and np.diff(bounds).max(initial=0) <= jobs
    )
    data, _ = data_of_blocks(pins, bounds, list(range(count)))
    assert sum(item.most * width + 4 for item, width in zip(data, widths, strict=True)) <= max(shared, 4 * count)


def test_clusters_end_blocks() -> None:
    pins = pins_of([[0]] * 7, [0, 1])
    bounds = cut_jobs(pins, np.array([0, 2, 5, 7]), 3, 1 << 10, [8], [0])
    assert bounds.tolist() == [0, 2, 5, 7]
    assert cut_jobs(pins, np.array([2]), 3, 1 << 10, [8], [0]).tolist() == [0, 2, 5, 7]


def test_one_job_with_too_many_data_is_refused() -> None:
    pins = pins_of([[0], list(range(10))], [0, 10])
    with pytest.raises(UnsupportedError, match=r"one iteration \(10 indices\) do not fit into 64 bytes"):
        cut_jobs(pins, NO_BREAKS, 8, 64, [8], [0])
    assert cut_jobs(pins, NO_BREAKS, 8, 80, [8], [0]).tolist() == [0, 2]


def test_no_jobs_no_blocks() -> None:
    bounds = cut_jobs(pins_of([], [0, 3]), NO_BREAKS, 8, 64, [8], [0])
    assert bounds.tolist() == [0]
    data, local = data_of_blocks(pins_of([], [0, 3]), bounds, [0])
    assert data[0].data.size == 0 and data[0].offsets.tolist() == [0] and local.size == 0
