"""Charts: whatever the numbers are, every shape lies inside of its picture; and numbers in words."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracecut.report import Place, RegionFigures, RegionReport, ReportData, Series, units
from tracecut.report.charts import clusters, degrees, region_charts, reuse
from tracecut.report.svg import WIDTH, decades, round_ticks

pytestmark = pytest.mark.quick

AMOUNT = st.floats(0, 1e15) | st.integers(0, 100)
SHAPE = re.compile(r'<rect x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"')


@given(st.floats(0, 1e15))
def test_the_last_decade_is_not_below_the_highest_bar(high: float) -> None:
    ticks = decades(high)
    assert ticks[0] == 1 and ticks[-1] >= high * (1 - 1e-8) and 2 <= len(ticks) <= 7


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(st.integers(0, 2**52), AMOUNT, max_size=80),
    st.lists(AMOUNT, max_size=100),
    st.dictionaries(st.integers(0, 60), AMOUNT, max_size=30),
    st.dictionaries(st.integers(0, 60), AMOUNT, max_size=30),
    st.lists(st.integers(1, 2**40), max_size=4),
    st.lists(st.none() | AMOUNT, min_size=3, max_size=3),
)
def test_shapes_lie_in_the_picture(
    degree: dict[int, float],
    sizes: list[float],
    before: dict[int, float],
    after: dict[int, float],
    caches: list[int],
    times: list[float | None],
) -> None:
    figures = RegionFigures.make(
        degrees=degree.items(),
        cluster_sizes=sizes,
        reuse_before=before.items(),
        reuse_after=after.items(),
        cache_lines=caches,
    )
    original, one, every = times
    region = RegionReport(
        "r", "f", Place("a.c", 1), "parallel", "optimized",
        original_ms=original, one_thread_ms=one, all_threads_ms=every, figures=figures,
    )  # fmt: skip
    for chart in region_charts(region):
        assert "nan" not in chart and "inf" not in chart
        height = float(re.findall(r'viewBox="0 0 \S+ (\S+)"', chart)[0])
        for x, y, wide, high in (map(float, found) for found in SHAPE.findall(chart)):
            assert x >= -0.1 and x + wide <= WIDTH + 1
            assert y >= -0.1 and y + high <= height + 1


def test_nothing_is_drawn_without_numbers() -> None:
    assert reuse(RegionFigures()) is None
    assert degrees(Series("data", ((0, 5.0), (3, 0.0)))) is None
    assert clusters([]) is None
    assert clusters([7, 8, 7]) is None
    assert region_charts(RegionReport("r", "f", Place("a.c", 1), "parallel", "refused", original_ms=3.0)) == []


def test_degrees_keep_every_datum(case: Callable[[str], ReportData]) -> None:
    for last in (3, 40, 65, 1000, 10**6, 2**50):
        points = tuple((degree, 1.0) for degree in sorted({1, 2, 3, last // 2 + 3, last + 3}))
        chart = degrees(Series("data", points))
        assert chart is not None
        assert 1 <= len(SHAPE.findall(chart)) <= len(points)
        assert f"by {units.count(last + 3)} at most" in chart


def test_reuse_marks_the_caches() -> None:
    figures = RegionFigures.make(reuse_before=[(1, 3), (12, 1)], reuse_after=[(1, 4)], cache_lines=[512, ("L2", 4096)])
    chart = reuse(figures)
    assert chart is not None
    assert "Beyond L1: original order 25\u202f%, new order 0\u202f%." in chart
    assert chart.count('class="mark"') == 2


@pytest.mark.parametrize(
    ("high", "ticks"),
    [(1, [0, 0.5, 1]), (35.7, [0, 10, 20, 30, 40]), (100, [0, 50, 100]), (7, [0, 2, 4, 6, 8]), (0, [0, 1])],
)
def test_round_ticks(high: float, ticks: list[float]) -> None:
    assert round_ticks(high) == pytest.approx(ticks)


@given(st.floats(1e-12, 1e18))
def test_ticks_reach_the_highest_value(high: float) -> None:
    ticks = round_ticks(high)
    assert ticks[0] == 0 and ticks[-1] >= high * 0.999
    assert 2 <= len(ticks) <= 6
    assert decades(high)[-1] * 10 ** len(decades(high)) >= high


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0 s"),
        (2.345, "2.35 s"),
        (0.0481, "48.1 ms"),
        (5e-6, "5.00 µs"),
        (200, "3 min 20 s"),
        (99.9, "99.9 s"),
    ],
)
def test_seconds(value: float | None, text: str) -> None:
    assert units.seconds(value).replace(units.FIXED, " ") == text


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        (11.06, 1.87, ("11.1 s", "1.9 s")),
        (1.12, 1.04, ("1.12 s", "1.04 s")),
        (0.1824, 0.03104, ("182 ms", "31 ms")),
        (60, 0.01, ("60.0 s", "10.0 ms")),
        (0, 0, ("0 s", "0 s")),
    ],
)
def test_change_is_told_in_one_unit(before: float, after: float, texts: tuple[str, str]) -> None:
    found = units.change(before, after)
    assert tuple(text.replace(units.FIXED, " ") for text in found) == texts


def test_columns_align() -> None:
    assert units.column([182.4, 31.04, None, 0.5]) == ["182.4", "31.0", "–", "0.5"]
    assert units.column([2810.0, 0.05]) == ["2\u202f810.00", "0.05"]
    assert units.column([1234567.0, 12.0]) == ["1\u202f234\u202f567.0", "12.0"]
    assert units.column([None]) == ["–"]


def test_other_units() -> None:
    assert [units.size(value) for value in (100, 32768, 3 << 19, 8 << 30)] == [
        f"100{units.FIXED}bytes", f"32{units.FIXED}KiB", f"1.5{units.FIXED}MiB", f"8{units.FIXED}GiB"
    ]  # fmt: skip
    assert [units.binary(value) for value in (1, 512, 4096, 1 << 20)] == ["1", "512", "4 Ki", "1 Mi"]
    assert [units.ratio(value) for value in (None, 1.07, 5.91, 120.4)] == ["–", "1.07", "5.9", "120"]
    assert [units.error(value) for value in (None, 0, 2.1e-13, 1e-7)] == ["–", "0", "2.1e-13", "1e-07"]
    assert [units.plural(number, "sweep") for number in (0, 1, 3000)] == ["0 sweeps", "1 sweep", "3\u202f000 sweeps"]
