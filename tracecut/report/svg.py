"""Drawing: a few shapes, two kinds of scale, and the frame of a chart. Colours come from the style sheet by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .markup import Content, Html, el, join

WIDTH, HEIGHT = 400, 216
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 16, 40


def place(value: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def text(x: float, y: float, content: str, anchor: str = "middle", cls: str | None = None) -> Html:
    """Words at a point. `anchor`: start, middle or end."""
    return el("text", content, x=place(x), y=place(y), text_anchor=anchor, cls=cls)


def rect(x: float, y: float, width: float, height: float, cls: str) -> Html:
    """A bar with a minimum width, so that it stays visible."""
    return el("rect", x=place(x), y=place(y), width=place(max(width, 0.5)), height=place(max(height, 0.5)), cls=cls)


def line(x1: float, y1: float, x2: float, y2: float, cls: str) -> Html:
    """A straight line."""
    return el("line", x1=place(x1), y1=place(y1), x2=place(x2), y2=place(y2), cls=cls)


def drawing(label: str, *shapes: Content, width: float = WIDTH, height: float = HEIGHT) -> Html:
    """One picture; `label`: a description for screen readers."""
    box = f"0 0 {place(width)} {place(height)}"
    return el("svg", *shapes, viewBox=box, width=place(width), height=place(height), role="img", aria_label=label)


@dataclass(frozen=True)
class Scale:
    """Maps [low, high] to [start, end] of the drawing, by value or by logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low))
        return self.start + (value - low) / (high - low or 1) * (self.end - self.start)


def round_ticks(high: float, most: int = 4) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from 0 to just beyond `high`, about `most` steps."""
    if not high > 0:
        return [0, 1]
    power = 10.0 ** math.floor(math.log10(high / most))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * most >= high * 0.999)
    return [step * tick for tick in range(math.ceil(high / step * 0.999) + 1)]


def decades(high: float, most: int = 5) -> list[float]:
    """Powers of ten from 1 to one that is not below `high`, thinned to about `most`."""
    last = max(1, math.ceil(math.log10(max(high, 1)) - 1e-9))
    step = -(-last // most)
    return [10.0**power for power in range(0, last + step, step)]


def vertical(scale: Scale, ticks: Sequence[tuple[float, str]], title: str) -> Html:
    """The scale at the left: grid lines, numbers, and their unit above them."""
    lines = [
        join(
            line(LEFT, scale(value), WIDTH - RIGHT, scale(value), "grid"),
            text(LEFT - 6, scale(value) + 4, label, "end", "tick"),
        )
        for value, label in ticks
    ]
    return el("g", *lines, text(0, 9, title, "start", "axis"))


def horizontal(places: Sequence[tuple[float, str]], title: str) -> Html:
    """The scale at the bottom: a base line, numbers below it, and their unit."""
    base = HEIGHT - BOTTOM
    labels = [text(x, base + 15, label, cls="tick") for x, label in places]
    centre = (LEFT + WIDTH - RIGHT) / 2
    return el("g", line(LEFT, base, WIDTH - RIGHT, base, "base"), *labels, text(centre, HEIGHT - 6, title, cls="axis"))
