"""Comparing the outputs of two runs: numbers by value, everything else as text."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)(?![\w.])", re.IGNORECASE)
_TOKEN = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[^\s\d]+|\s+")


@dataclass(frozen=True)
class Difference:
    """The result of comparing two outputs.

    Attributes:
        equal: the same within the tolerance. exact: the same bytes.
        largest: largest relative difference of two numbers. where: line of the first token that differs too much.
    """

    equal: bool
    exact: bool
    largest: float = 0.0
    where: int = 0
    expected: str = ""
    found: str = ""


def compare_outputs(
    reference: bytes, other: bytes, *, tolerance: float, unstable: frozenset[int] = frozenset()
) -> Difference:
    """Compare two outputs token by token.

    Integers and words have to be the same; floating-point numbers may differ by `tolerance` relatively, or by one
    unit of their last printed digit. Tokens in `unstable` (which differ between two runs of the same program) are
    not compared. O(length).
    """
    if reference == other:
        return Difference(True, True)
    first, second = _TOKEN.findall(reference), _TOKEN.findall(other)
    largest = 0.0
    line = 1
    for place, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b and place not in unstable:
            gap = _gap(a, b, tolerance)
            if gap is None:
                return Difference(False, False, largest, line, _text(a), _text(b))
            largest = max(largest, gap)
        line += a.count(b"\n")
    if len(first) != len(second):
        return Difference(False, False, largest, line, f"{len(first)} words", f"{len(second)} words")
    return Difference(True, False, largest)


def unstable_tokens(first: bytes, second: bytes) -> frozenset[int] | None:
    """Tokens that differ between two runs of the same program (times, addresses); None if the outputs have different
    numbers of tokens."""
    a, b = _TOKEN.findall(first), _TOKEN.findall(second)
    if len(a) != len(b):
        return None
    return frozenset(place for place, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)


def _gap(a: bytes, b: bytes, tolerance: float) -> float | None:
    """Relative difference of two numbers; None if it is too large or a token is not a number."""
    if not (_NUMBER.fullmatch(a) and _NUMBER.fullmatch(b)):
        return None
    if not (_is_real(a) and _is_real(b)):
        return None
    x, y = float(a), float(b)
    scale = max(abs(x), abs(y))
    if scale == 0:
        return 0.0
    gap = abs(x - y)
    if gap / scale <= tolerance or gap <= 1.01 * max(_unit(a), _unit(b)):
        return gap / scale
    return None


def _is_real(text: bytes) -> bool:
    return b"." in text or b"e" in text.lower()


def _unit(text: bytes) -> float:
    """Value of one unit in the last printed digit."""
    mantissa, _, exponent = text.lower().partition(b"e")
    decimals = len(mantissa.partition(b".")[2])
    return float(10.0 ** ((int(exponent) if exponent else 0) - decimals))


def _text(token: bytes) -> str:
    return token.decode(errors="replace")[:60]
