"""Amounts of memory as text: one form for all messages and reports."""

from __future__ import annotations

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def size(count: float, space: str = " ") -> str:
    """Bytes in binary units with three significant digits, without trailing zeros of a fraction.

    `1 byte`, `999 bytes`, `0.98 KiB`, `1.5 MiB`, `19.7 GiB`. `space` stands between the number and its unit.
    """
    value, place = float(count), 0
    while abs(value) >= 999.5 and place + 1 < len(UNITS):
        value, place = value / 1024, place + 1
    if place == 0:
        return f"{value:.0f}{space}{'byte' if round(value) == 1 else 'bytes'}"
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2 if abs(value) >= 0.9995 else 3
    text = f"{value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}{space}{UNITS[place]}"
