"""The charts of a report: each explains itself in its caption, and is left out if nothing was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from . import svg, units
from .chart_data import RegionFigures, Series
from .data import RegionReport
from .markup import Content, Html, el, join
from .svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Scale

MOST_BARS = 64


def figure(title: str, picture: Html, *caption: Content) -> Html:
    """A picture with its title above and its caption below."""
    return el("figure", el("h4", title), picture, el("figcaption", *caption))


def region_charts(region: RegionReport) -> list[Html]:
    """All charts of a region that have data."""
    figures = region.figures or RegionFigures()
    made = (times(region), reuse(figures), degrees(figures.degrees), clusters(figures.cluster_sizes))
    return [chart for chart in made if chart is not None]


def bars(rows: Sequence[tuple[str, float, str]], label: str, show: Sequence[str]) -> Html:
    """Horizontal bars from zero: (name, value, class) each, with a text behind each bar."""
    high = max(value for _, value, _ in rows) or 1
    left, step = 14 + 6.6 * max(len(name) for name, _, _ in rows), 34
    scale = Scale(0, high, left, WIDTH - 74)
    shapes = [
        join(
            svg.text(0, step * row + 20, name, "start", "label"),
            svg.rect(left, step * row + 5, scale(value) - left, 22, cls),
            svg.text(scale(value) + 7, step * row + 20, shown, "start", "value"),
        )
        for row, ((name, value, cls), shown) in enumerate(zip(rows, show, strict=True))
    ]
    return svg.drawing(label, *shapes, height=step * len(rows))


def times(region: RegionReport) -> Html | None:
    """Time of one sweep, before and after."""
    many = f"new, {units.plural(region.all_threads, 'thread')}" if region.all_threads else "new, all threads"
    known = [
        (name, ms, cls)
        for name, ms, cls in (
            ("original, 1 thread", region.original_ms, "old"),
            ("new, 1 thread", region.one_thread_ms, "new soft"),
            (many, region.all_threads_ms, "new"),
        )
        if ms is not None and ms >= 0 and (name != many or region.parallel)
    ]
    if len(known) < 2:
        return None
    shown = [f"{value} ms" for value in units.column([ms for _, ms, _ in known])]
    label = "Time of one sweep: " + "; ".join(f"{row[0]} {text}" for row, text in zip(known, shown, strict=True))
    note = ""
    if region.copy_ms is not None:
        note = f" Not in the bars: {units.milliseconds(region.copy_ms)} to copy the data into its new layout and back."
    return figure("Time of one sweep", bars(known, label, shown), "Shorter is better.", note)


def reuse(figures: RegionFigures) -> Html | None:
    """Reuse distances before and after, with a mark where each cache ends."""
    series = [(item, cls) for item, cls in ((figures.reuse_before, "old"), (figures.reuse_after, "new")) if item.total]
    if not series:
        return None
    used = [bucket for item, _ in series for bucket, count in item.points if count > 0]
    marks = [(name, 1 + math.log2(lines)) for name, lines in figures.cache_lines]
    first = min([*used, *(int(mark) for _, mark in marks)])
    last = max([*used, *(math.ceil(mark) for _, mark in marks)]) + 1
    high = max(count / item.total for item, _ in series for _, count in item.points)
    ticks = svg.round_ticks(100 * high)
    x = Scale(first, last, LEFT, WIDTH - RIGHT)
    y = Scale(0, ticks[-1], HEIGHT - BOTTOM, TOP + 22)
    width = (x(first + 1) - x(first)) * 0.84 / len(series)
    shapes = [
        svg.rect(
            x(bucket) + (x(first + 1) - x(first)) * 0.08 + width * place,
            y(100 * count / item.total),
            width,
            y(0) - y(100 * count / item.total),
            cls,
        )
        for place, (item, cls) in enumerate(series)
        for bucket, count in item.points
        if count > 0
    ]
    step = max(1, -(-(last - first) // 7))
    labels = [(x(b), units.binary(0 if b == 0 else 2.0 ** (b - 1))) for b in range(first, last + 1, step)]
    picture = svg.drawing(
        "Reuse distances. " + _misses_in_words(series, figures),
        svg.vertical(y, [(tick, f"{tick:g}") for tick in ticks], "% of touches"),
        *shapes,
        *_cache_marks([(name, x(mark)) for name, mark in marks]),
        svg.horizontal(labels, "distinct cache lines touched since the last use"),
    )
    caption = "Touches to the right of a cache's line miss that cache." if marks else "Further left is better."
    return figure("Reuse distance", join(_legend(series), picture), caption, _miss_table(series, figures))


def _cache_marks(marks: Sequence[tuple[str, float]]) -> list[Html]:
    shapes, last, low = [], -math.inf, False
    for name, x in marks:
        low = x - last < 26 and not low
        last = x
        shapes.append(svg.line(x, TOP + (16 if low else 4), x, HEIGHT - BOTTOM, "mark"))
        shapes.append(svg.text(x + 3, TOP + (26 if low else 13), name, "start", "marked"))
    return shapes


def _legend(series: Sequence[tuple[Series, str]]) -> Html:
    return el("p", *(el("span", item.name, cls=f"key {cls}") for item, cls in series), cls="legend")


def _misses_in_words(series: Sequence[tuple[Series, str]], figures: RegionFigures) -> str:
    parts = []
    for name, lines in figures.cache_lines:
        shares = (f"{item.name} {units.percent(item.share_beyond(lines))}" for item, _ in series)
        parts.append(f"Beyond {name}: {', '.join(shares)}.")
    return " ".join(parts)


def _miss_table(series: Sequence[tuple[Series, str]], figures: RegionFigures) -> Html | None:
    """Predicted misses per job where they are known, else the share of touches that miss."""
    if not figures.cache_lines:
        return None
    levels = len(figures.cache_lines)
    known = (figures.misses_before, figures.misses_after)
    if len(series) == 2 and all(len(misses) == levels for misses in known):
        title = "predicted misses per job"
        texts = units.column([*known[0], *known[1]])
        columns = [texts[:levels], texts[levels:]]
    else:
        title = "touches that miss"
        columns = [[units.percent(item.share_beyond(lines)) for _, lines in figures.cache_lines] for item, _ in series]
    head = el("tr", el("th", title, scope="col"), *(el("th", item.name, scope="col") for item, _ in series))
    rows = (
        el("tr", el("th", f"{name} ({units.binary(lines)} lines)", scope="row"), *(el("td", text) for text in row))
        for (name, lines), row in zip(figures.cache_lines, zip(*columns, strict=True), strict=True)
    )
    return el("table", el("thead", head), el("tbody", *rows), cls="small")


def degrees(data: Series) -> Html | None:
    """How many jobs touch a datum, both axes logarithmic."""
    bins = _degree_bins([point for point in data.points if point[0] > 0 and point[1] > 0])
    if not bins:
        return None
    ticks = svg.decades(max(count for _, _, count in bins))
    x = Scale(bins[0][0] - 0.5, bins[-1][1] + 0.5, LEFT, WIDTH - RIGHT, log=True)
    y = Scale(0.7, ticks[-1], HEIGHT - BOTTOM, TOP + 8, log=True)
    gap = 1.0 if len(bins) < 60 else 0.2
    shapes = [
        svg.rect(x(low - 0.5) + gap / 2, y(count), x(high + 0.5) - x(low - 0.5) - gap, y(0.7) - y(count), "new")
        for low, high, count in bins
    ]
    last = max(degree for degree, count in data.points if count > 0)
    picture = svg.drawing(
        f"Degrees of the data: from {bins[0][0]} to {last} jobs a datum.",
        svg.vertical(y, [(tick, units.short(tick)) for tick in ticks], "data"),
        *shapes,
        svg.horizontal(_degree_labels(bins, x), "jobs that touch a datum"),
    )
    mean = math.fsum(d * n for d, n in data.points) / (data.total or 1)
    untouched = math.fsum(count for degree, count in data.points if degree == 0)
    caption = (
        f"A datum is touched by {mean:.{units.decimals(mean, 3)}f} jobs on average, by {units.count(last)} at most"
        + (f"; {units.count(untouched)} are never touched" if untouched else "")
        + ". Both axes are logarithmic: a hump is a mesh, a straight slope a power law."
    )
    return figure("Degree of the data", picture, caption)


def _degree_bins(points: Sequence[tuple[int, float]]) -> list[tuple[int, int, float]]:
    """(lowest degree, highest degree, data) of bins, one degree wide if they are few, else of growing width."""
    if not points:
        return []
    first, last = points[0][0], points[-1][0]
    for growth in (1.0, 2**0.125, 2**0.25, 2**0.5, 2.0):
        edges = [first]
        while edges[-1] <= last and len(edges) <= MOST_BARS:
            edges.append(max(edges[-1] + 1, math.ceil(edges[-1] * growth)))
        if edges[-1] > last:
            break
    counts = [0.0] * (len(edges) - 1)
    place = 0
    for degree, count in points:
        while place + 1 < len(counts) and edges[place + 1] <= degree:
            place += 1
        counts[place] += count
    return [(edges[i], edges[i + 1] - 1, counts[i]) for i in range(len(counts)) if counts[i]]


def _degree_labels(bins: Sequence[tuple[int, int, float]], x: Scale) -> list[tuple[float, str]]:
    low, high = bins[0][0], bins[-1][1]
    if high <= 12 or high <= 4 * low:
        step = max(1, -(-(high - low + 1) // 8))
        degrees = list(range(low, high + 1, step))
    else:
        degrees = [d * 10**p for p in range(19) for d in ((1, 2, 5) if high < 100 * low else (1,))]
    chosen: list[tuple[float, str]] = []
    for degree in degrees:
        if low <= degree <= high and (not chosen or x(degree) - chosen[-1][0] > 18):
            chosen.append((x(degree), units.short(degree)))
    return chosen


def clusters(sizes: Sequence[float]) -> Html | None:
    """Sizes of the blocks, largest first; no picture where all are the same."""
    if not sizes or max(sizes) - min(sizes) <= 1:
        return None
    ranked = sorted(sizes, reverse=True)
    drawn = len(ranked)
    if drawn > MOST_BARS:  # equally spaced ranks, the first and the last among them
        ranked = [ranked[round(i * (drawn - 1) / (MOST_BARS - 1))] for i in range(MOST_BARS)]
    mean = math.fsum(sizes) / len(sizes)
    ticks = svg.round_ticks(ranked[0])
    x = Scale(0, len(ranked), LEFT, WIDTH - RIGHT)
    y = Scale(0, ticks[-1], HEIGHT - BOTTOM, TOP + 8)
    gap = min(2.0, 0.2 * (x(1) - x(0)))
    shapes = [
        svg.rect(x(i) + gap / 2, y(value), x(1) - x(0) - gap, y(0) - y(value), "new") for i, value in enumerate(ranked)
    ]
    spread = f"{units.plural(drawn, 'block')} of {units.count(min(sizes))} to {units.count(max(sizes))} jobs"
    worst = f"the largest is {units.percent(max(sizes) / mean - 1)} above the mean"
    picture = svg.drawing(
        f"Sizes of the blocks: {spread}; {worst}.",
        svg.vertical(y, [(tick, units.short(tick)) for tick in ticks], "jobs"),
        *shapes,
        svg.line(LEFT, y(mean), WIDTH - RIGHT, y(mean), "mean"),
        svg.horizontal(
            [(x(0.5), "1"), (x(len(ranked) - 0.5), units.count(drawn))] if drawn > 1 else [(x(0.5), "1")],
            "blocks, largest first",
        ),
    )
    return figure("Sizes of the blocks", picture, f"{spread}; {worst} (dashed). With equal sizes no thread waits.")
