"""Arguments of commands and of Python functions, checked: what each has to be is said once, for both."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence

from .errors import ArgumentError
from .memory_amounts import size
from .memory_budget import LEAST, read_size

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any

AnyPath = str | os.PathLike[str]
MAX_SEED = 2**31 - 2  # what every library of random numbers takes


class Kind:
    """What an argument has to be.

    Args:
        expected: that in words. read: a word of the command line → a value.
        accept: a value → itself, as the type that it stands for. Both raise ValueError or TypeError.
    """

    def __init__(self, expected: str, read: Callable[[str], Any], accept: Callable[[Any], Any]) -> None:
        self.expected, self._read, self._accept = expected, read, accept

    def word(self, text: str) -> Any:
        """A word of the command line, as argparse converts it."""
        try:
            return self._accept(self._read(text))
        except (TypeError, ValueError):
            from argparse import ArgumentTypeError

            raise ArgumentTypeError(f"{text}: {self.expected} expected") from None

    def value(self, name: str, value: Any) -> Any:
        """An argument of a Python function. Raises ArgumentError, which names it."""
        try:
            return self._accept(value)
        except (TypeError, ValueError):
            raise ArgumentError(f"{name} is {value!r}, {self.expected} was expected") from None


def whole(low: int, high: int | None = None, expected: str = "", read: Callable[[str], int] = int) -> Kind:
    """An int, or what can stand for one, in [low, high]."""

    def accept(value: Any) -> int:
        number = operator.index(value)
        if number < low or (high is not None and number > high):
            raise ValueError
        return number

    described = f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}"
    return Kind(expected or described, read, accept)


def _positive(value: Any) -> float:
    if not 0 < value < float("inf"):
        raise ValueError
    return float(value)


COUNT = whole(1)
SEED = whole(0, MAX_SEED)
SECONDS = Kind("a positive number of seconds", float, _positive)
BYTES = whole(LEAST, None, f"a size of at least {size(LEAST)} (such as 800M or 2G)", read_size)


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
    return int(whole(low, high).value(name, value))


def check_type(name: str, value: object, kind: type, hint: str = "") -> None:
    """Raises ArgumentError, which names both types, unless the value is of that one."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{name} is a {type(value).__name__}, a {kind.__name__} was expected", hint=hint)


def seconds(name: str, value: float) -> float:
    """A positive, finite number of seconds. Raises ArgumentError."""
    return float(SECONDS.value(name, value))
