"""Arguments of the Python functions, checked: each as what it has to be, or an ArgumentError that names it."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence

from .errors import ArgumentError

AnyPath = str | os.PathLike[str]


def word(name: str, value: object) -> str:
    """A word of a command line. Numbers are written out: `argv=["--steps", 9]`. Raises ArgumentError."""
    text = os.fsdecode(value) if isinstance(value, str | bytes | os.PathLike) else str(value)
    try:
        if b"\0" not in os.fsencode(text):
            return text
    except UnicodeEncodeError:
        pass
    raise ArgumentError(f"{name} holds {text!r}, which can not be part of a command line")


def one_of(name: str, value: object, known: Sequence[str]) -> str:
    """One of some words. Raises ArgumentError, which names them."""
    if value in known:
        return str(value)
    raise ArgumentError(f"{name} is {value!r}, {' or '.join(map(repr, known))} was expected")


def whole_number(name: str, value: int, low: int, high: int | None = None) -> int:
    """An int, or what can stand for one, in [low, high]. Raises ArgumentError."""
    expected = f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}"
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name} is {value!r}, {expected} was expected") from None
    if number < low or (high is not None and number > high):
        raise ArgumentError(f"{name} is {value!r}, {expected} was expected")
    return number


def seconds(name: str, value: float) -> float:
    """A positive, finite number of seconds. Raises ArgumentError."""
    try:
        if 0 < value < float("inf"):
            return float(value)
    except TypeError:
        pass
    raise ArgumentError(f"{name} is {value!r}, a positive number of seconds was expected")
