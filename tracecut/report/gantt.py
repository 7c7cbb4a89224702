"""Gantt chart: one row per core, darker where the core was busier, with the critical path marked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tracecut.support.arrays import Longs

from .machine_picture import BLUE, colour
from .markup import Html, el
from .svg import drawing, line, place, rect, round_ticks, text

STYLE = "text{font:11px sans-serif;fill:#222}.path{fill:#be1e1e}.grid{stroke:#ddd}"
COLUMNS, SHADES = 640, 8  # a column is one pixel wide
LEFT, TOP, ROW, BOTTOM = 60, 30, 14, 36
MOST_ROWS = 64


def gantt(busy: Longs, path: Longs, time: int, label: str) -> Html:
    """The chart of a simulation. O(rows · (intervals + COLUMNS)).

    Args:
        busy: int64 (spans, 3): core, first cycle and cycles of each span in which a core was busy; spans of one core do
            not overlap.
        path: the same for the instructions of the critical path, drawn as a red line below.
        time: cycles in all.
        label: the caption. Of more than MOST_ROWS cores only the busiest are drawn, and the caption says so.
    """
    total = np.bincount(busy[:, 0], busy[:, 2])
    cores = np.sort(np.argsort(-total, kind="stable")[: min(MOST_ROWS, np.count_nonzero(total))]).tolist()
    if len(cores) < np.count_nonzero(total):
        label += f" (the {len(cores)} busiest of {np.count_nonzero(total)} that were used)"
    height = TOP + ROW * len(cores)
    shapes = []
    for tick in round_ticks(time, 6):
        if tick <= time:
            x = LEFT + COLUMNS * tick / max(1, time)
            shapes += [line(x, TOP, x, height, "grid"), text(x, height + 14, f"{tick:,.0f}")]
    for row, core in enumerate(cores):
        y = TOP + row * ROW
        shapes.append(text(LEFT - 6, y + ROW - 3, f"core {core}", "end"))
        for first, last, shade in _runs(shares(busy, core, time), SHADES):
            at, wide, fill = place(LEFT + first), place(last - first), colour(BLUE, shade / SHADES)
            shapes.append(el("rect", x=at, y=place(y + 1), width=wide, height=place(ROW - 4), fill=fill, cls="busy"))
        for first, last, _ in _runs(shares(path, core, time), 1):
            shapes.append(rect(LEFT + first, y + ROW - 3, last - first, 2, "path"))
    shapes.append(text(LEFT + COLUMNS / 2, height + 30, "cycles; red: critical path"))
    title = text(6, 18, label, "start")
    width = max(LEFT + COLUMNS + 40, 7.0 * len(label))
    return drawing(label, el("style", STYLE), title, *shapes, width=width, height=height + BOTTOM)


def shares(intervals: Longs, core: int, time: int) -> npt.NDArray[np.float64]:
    """Of each of COLUMNS equal parts of the time, the share that a core's intervals cover; float64 (COLUMNS)."""
    own = intervals[intervals[:, 0] == core]
    if not own.size or time <= 0:
        return np.zeros(COLUMNS)
    own = own[np.argsort(own[:, 1], kind="stable")]
    first, cycles = own[:, 1], own[:, 2]
    # Cycles covered up to a time: rises by one per cycle within intervals and is constant between them.
    points = np.stack([first, first + cycles], 1).ravel()
    covered = np.stack([np.cumsum(cycles) - cycles, np.cumsum(cycles)], 1).ravel()
    edges = np.linspace(0.0, time, COLUMNS + 1)
    return np.clip(np.diff(np.interp(edges, points, covered)) * COLUMNS / time, 0.0, 1.0)


def _runs(values: npt.NDArray[np.float64], shades: int) -> Iterator[tuple[int, int, int]]:
    """First column, the one behind the last, and shade from 1 to `shades` of neighbours with one shade above 0."""
    shade = np.ceil(values * shades - 1e-9).astype(np.int64)
    starts = np.flatnonzero(np.diff(shade, prepend=-1))
    for first, last in zip(starts.tolist(), [*starts[1:].tolist(), shade.size], strict=True):
        if shade[first] > 0:
            yield first, last, int(shade[first])
