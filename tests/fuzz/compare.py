"""Compares what two forms of a suite's program print."""

from __future__ import annotations

import math

from .model import Suite

# Relative to the greatest number of the array, or to one if that is more.
TOLERANCE = {"d": 1e-9, "f": 1e-4}


def differences(suite: Suite, expected: str, found: str) -> dict[str, str]:
    """Kernel → what differs, for the kernels of which the two outputs say different things.

    Integers have to agree, real numbers up to rounding.
    """
    wanted, got = _by_kernel(expected), _by_kernel(found)
    result = {}
    for kernel in suite.kernels:
        what = _difference(wanted.get(kernel.name), got.get(kernel.name))
        if what:
            result[kernel.name] = what
    return result


def _by_kernel(text: str) -> dict[str, list[str]]:
    lines = (line.split() for line in text.splitlines())
    return {words[0]: words[1:] for words in lines if words}


def _difference(expected: list[str] | None, found: list[str] | None) -> str:
    if expected is None or found is None or len(expected) != len(found):
        return "missing or cut"
    for place, (left, right) in enumerate(zip(expected, found, strict=True)):
        if left == right:
            continue
        (kind, _, ours), (other, _, theirs) = left.partition("="), right.partition("=")
        if kind not in TOLERANCE or kind != other or not _close(kind, ours, theirs):
            return f"array {place}: {ours} became {theirs}"
    return ""


def _close(kind: str, ours: str, theirs: str) -> bool:
    left, right = [float(word) for word in ours.split(",")], [float(word) for word in theirs.split(",")]
    if len(left) != len(right) or not all(map(math.isfinite, right)):
        return False
    scale = max(1.0, *map(abs, left))
    return all(abs(a - b) <= TOLERANCE[kind] * scale for a, b in zip(left, right, strict=True))
