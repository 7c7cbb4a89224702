"""Numbers for readers: a fitting unit, few digits, the same decimals in a column."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracecut.support import memory_amounts

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
ABSENT = "–"
THIN = "\u202f"
FIXED = "\u00a0"  # no-break space between a number and its unit


def _unit(seconds: float) -> tuple[float, str]:
    return next((unit for unit in UNITS if seconds >= unit[0]), UNITS[-1] if seconds > 0 else UNITS[0])


def decimals(value: float, digits: int) -> int:
    """Decimals that show `digits` digits of the value, at most 6."""
    if value == 0 or not math.isfinite(value):
        return 0
    return min(6, max(0, digits - 1 - math.floor(math.log10(abs(value)))))


def seconds(value: float | None) -> str:
    """A time, `2.34 s`, `48.1 ms` or `3 min 20 s`."""
    if value is None:
        return ABSENT
    if value >= 120:
        return f"{int(value) // 60}{FIXED}min {int(value) % 60}{FIXED}s"
    scale, unit = _unit(value)
    return f"{value / scale:.{decimals(value / scale, 3)}f}{FIXED}{unit}"


def milliseconds(value: float | None) -> str:
    """A time given in milliseconds."""
    return seconds(None if value is None else value / 1e3)


def change(before: float, after: float) -> tuple[str, str]:
    """Two times in one unit with the same decimals, enough to show their difference."""
    high, low = max(before, after), min(before, after)
    scale, unit = _unit(high)
    if low < high / 200:
        return seconds(before), seconds(after)
    near = low > 0.5 * high
    places = decimals(low / scale, 3 if near else 2)
    return f"{before / scale:.{places}f}{FIXED}{unit}", f"{after / scale:.{places}f}{FIXED}{unit}"


def ratio(value: float | None) -> str:
    """A ratio without ×: `5.9`, `1.07`, `120`."""
    if value is None:
        return ABSENT
    return f"{value:.{2 if value < 2 else 1 if value < 20 else 0}f}"


def percent(share: float | None) -> str:
    """A share of one, `62 %` or `0.3 %`."""
    if share is None:
        return ABSENT
    value = 100 * share
    return f"{value:.{0 if value >= 10 or value == 0 else 1}f}{THIN}%"


def count(value: float | None) -> str:
    """A whole number in groups of three."""
    return ABSENT if value is None else f"{value:,.0f}".replace(",", THIN)


def size(value: float) -> str:
    """Bytes, `32 KiB`."""
    return memory_amounts.size(value, FIXED)


def binary(value: float) -> str:
    """A power of two on an axis: `512`, `4 Ki`, `1 Mi`."""
    for power, name in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if value >= 1 << power:
            return f"{value / (1 << power):g} {name}"
    return f"{value:g}"


def short(value: float) -> str:
    """A number on an axis: `500`, `20 k`, `3 M`."""
    for scale, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:g} {name}"
    return f"{value:g}"


def column(values: Sequence[float | None], digits: int = 3) -> list[str]:
    """The numbers of one column with the same decimals, so that they align; a dash for missing ones."""
    present = [abs(value) for value in values if value is not None and value]
    places = 0
    if present:
        low, high = min(present), max(present)
        places = min(3, decimals(low, digits), max(decimals(low, 1), decimals(high, digits) + 1))
    return [ABSENT if value is None else f"{value:,.{places}f}".replace(",", THIN) for value in values]


def error(value: float | None) -> str:
    """A relative error, `2.1e-13`, or `0`."""
    return ABSENT if value is None else "0" if value == 0 else f"{value:.1e}".replace(".0e", "e")


def plural(number: float, word: str) -> str:
    """`1 loop`, `3 loops`."""
    return f"{count(number)} {word}{'' if number == 1 else 's'}"
