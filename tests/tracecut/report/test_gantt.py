"""The chart of a simulation: how much of each column is covered, rows, the critical path."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.support.arrays import Longs

from tracecut.report.gantt import COLUMNS, MOST_ROWS, gantt, shares

pytestmark = pytest.mark.quick


def intervals(*rows: tuple[int, int, int]) -> Longs:
    return np.array(rows, np.int64).reshape(-1, 3)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 60)), max_size=12), st.integers(0, 3000))
def test_columns_are_covered_as_cycles_are(steps: list[tuple[int, int]], rest: int) -> None:
    """Each column against a count of cycles in sixteenths."""
    rows, now = [], 0
    for gap, cycles in steps:
        rows.append((3, now + gap, cycles))
        now += gap + cycles
    time = now + rest
    if time == 0:
        return
    fine = np.zeros(time * COLUMNS, bool)  # each cycle in COLUMNS parts: columns and cycles both end on borders
    for _, first, cycles in rows:
        fine[first * COLUMNS : (first + cycles) * COLUMNS] = True
    slow = fine.reshape(COLUMNS, time).mean(1)
    np.testing.assert_allclose(shares(intervals(*rows), 3, time), slow, atol=1e-9)
    assert not shares(intervals(*rows), 4, time).any()


def test_rows_and_the_critical_path() -> None:
    busy = intervals((0, 0, 50), (0, 80, 20), (7, 50, 30))
    picture = ElementTree.fromstring(
        str(gantt(busy, intervals((0, 0, 50), (7, 52, 28), (0, 80, 20)), 100, "two cores"))
    )
    words = [text.text for text in picture.findall(".//text")]
    assert "two cores" in words and [word for word in words if word and word.startswith("core ")] == [
        "core 0",
        "core 7",
    ]
    assert len(picture.findall(".//rect[@class='busy']")) == 3
    red = picture.findall(".//rect[@class='path']")
    assert sum(float(each.get("width", "")) for each in red) == pytest.approx(COLUMNS * 0.98, abs=3)


def test_the_busiest_cores_are_drawn() -> None:
    rows = [(core, 0, 1 + (core % 7)) for core in range(200)]
    picture = str(gantt(intervals(*rows), intervals(), 10, "many"))
    assert f"many (the {MOST_ROWS} busiest of 200 that were used)" in picture
    assert ">core 6<" in picture and ">core 0<" not in picture


def test_nothing_ran() -> None:
    assert "nothing" in str(gantt(intervals(), intervals(), 0, "nothing"))
