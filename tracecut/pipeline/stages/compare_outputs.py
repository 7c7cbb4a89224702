"""Comparing the outputs of two runs: numbers by value, everything else as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracecut.support.tolerances import SERIES

GROWN = 0.1  # relative difference up to which rounding errors are thought of
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

    @property
    def may_be_rounding(self) -> bool:
        """Whether what differs too much are floating-point numbers of one size, as when rounding errors have grown."""
        first, second = self.expected.encode(), self.found.encode()
        return _is_number(first) and _is_number(second) and _gap(first, second, GROWN) is not None


def compare_outputs(
    reference: bytes, other: bytes, *, tolerance: float, unstable: frozenset[int] = frozenset()
) -> Difference:
    """Compare two outputs token by token.

    Integers and words have to be the same; floating-point numbers may differ by `tolerance` relatively, by one
    unit of their last printed digit, or, where anything may differ, by `SERIES` of the largest number of the same name:
    the residuals that a solver prints end where only rounding is left. Tokens in `unstable` (which differ between
    two runs of the same program) are not compared. O(length).
    """
    if reference == other:
        return Difference(True, True)
    first, second = _TOKEN.findall(reference), _TOKEN.findall(other)
    largest = 0.0
    line = 1
    sizes: dict[bytes, float] = {}
    for place, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b and place not in unstable:
            gap = _gap(a, b, tolerance)
            if gap is None and tolerance and _close_by_name(first, place, b, sizes):
                gap = 0.0
            if gap is None:
                return Difference(False, False, largest, line, _text(a), _text(b))
            largest = max(largest, gap)
        line += a.count(b"\n")
    if len(first) != len(second):
        return Difference(False, False, largest, line, f"{len(first)} words", f"{len(second)} words")
    return Difference(True, False, largest)


def unstable_tokens(first: bytes, second: bytes) -> frozenset[int] | None:
    """Tokens that differ between two runs of the same program (times, addresses), and the blanks beside them, which
    fill a column (`%8.2f`); None if the outputs have different numbers of tokens."""
    a, b = _TOKEN.findall(first), _TOKEN.findall(second)
    if len(a) != len(b):
        return None
    differ = {place for place, (x, y) in enumerate(zip(a, b, strict=True)) if x != y}
    beside = {near for place in differ for near in (place - 1, place + 1) if 0 <= near < len(a)}
    return frozenset(differ | {place for place in beside if _is_blank(a[place]) and _is_blank(b[place])})


def _is_blank(token: bytes) -> bool:
    """Whether it only keeps words of a line apart."""
    return not token.strip(b" \t")


def _close_by_name(tokens: Sequence[bytes], place: int, other: bytes, sizes: dict[bytes, float]) -> bool:
    """Whether two numbers differ by no more than rounding makes of the largest one that the output has by their name.

    `sizes`: name → that number; filled when it is first asked.
    """
    if not (_is_number(tokens[place]) and _is_number(other)):
        return False
    if not sizes:
        name = b""
        for token in tokens:
            if _is_number(token):
                sizes[name] = max(sizes.get(name, 0.0), abs(float(token)))
            elif b"\n" in token:
                name = b""
            elif token.strip(b" \t:=,;()[]"):
                name = token.strip(b":=,;()[]").lower()
        sizes.setdefault(b"", 0.0)
    name = b""
    for token in tokens[place - 1 :: -1] if place else ():
        if b"\n" in token:
            break
        if not _is_number(token) and token.strip(b" \t:=,;()[]"):
            name = token.strip(b":=,;()[]").lower()
            break
    return bool(name) and abs(float(tokens[place]) - float(other)) <= SERIES * sizes.get(name, 0.0)


def _is_number(token: bytes) -> bool:
    return _NUMBER.fullmatch(token) is not None and _is_real(token)


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
