"""Validation of arguments, declared once for the command line and Python functions."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from .errors import ArgumentError
from .memory_amounts import size
from .memory_budget import LEAST, read_size

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import Any

AnyPath = str | os.PathLike[str]
MAX_SEED = 2**31 - 2  # the range that all random number libraries accept


class Kind:
    """The valid values of an argument.

    Args:
        expected: a description for messages. read: a string of the command line → a value.
        accept: a Python value → the value in its proper type. Both raise ValueError or TypeError.
    """

    def __init__(self, expected: str, read: Callable[[str], Any], accept: Callable[[Any], Any]) -> None:
        self.expected, self._read, self._accept = expected, read, accept

    def word(self, text: str) -> Any:
        """Convert a string of the command line, for argparse."""
        try:
            return self._accept(self._read(text))
        except (TypeError, ValueError):
            from argparse import ArgumentTypeError

            raise ArgumentTypeError(f"{text}: {self.expected} expected") from None

    def value(self, name: str, value: Any) -> Any:
        """Validate an argument of a Python function. Raises ArgumentError, which names it."""
        try:
            return self._accept(value)
        except (TypeError, ValueError):
            raise ArgumentError(f"{name} is {value!r}, {self.expected} was expected") from None


def whole(low: int, high: int | None = None, expected: str = "", read: Callable[[str], int] = int) -> Kind:
    """An int, or a value that converts to one without loss, in [low, high]."""

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


def size_in_bytes(name: str, value: int | str) -> int:
    """Bytes of an argument such as `2 << 30` or `"2G"`. Raises ArgumentError, which names it."""
    if not isinstance(value, str):
        return int(BYTES.value(name, value))
    from argparse import ArgumentTypeError

    try:
        return int(BYTES.word(value))
    except ArgumentTypeError as error:
        raise ArgumentError(f"{name} is {error}") from None


def word(name: str, value: object) -> str:
    """A string of a command line. Numbers are converted: `argv=["--steps", 9]`. Raises ArgumentError."""
    text = os.fsdecode(value) if isinstance(value, str | bytes | os.PathLike) else str(value)
    try:
        if b"\0" not in os.fsencode(text):
            return text
    except UnicodeEncodeError:
        pass
    raise ArgumentError(f"{name} holds {text!r}, which cannot be part of a command line")


def one_of(name: str, value: object, known: Sequence[str]) -> str:
    """One of the known names. Raises ArgumentError, which lists them."""
    if value in known:
        return str(value)
    raise ArgumentError(f"{name} is {value!r}, {' or '.join(map(repr, known))} was expected")


def whole_number(name: str, value: int, low: int, high: int | None = None) -> int:
    """An int, or a value that converts to one without loss, in [low, high]. Raises ArgumentError."""
    return int(whole(low, high).value(name, value))


def check_type(name: str, value: object, kind: type, hint: str = "") -> None:
    """Raises ArgumentError, which names both types, unless the value is of that one."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{name} is a {type(value).__name__}, a {kind.__name__} was expected", hint=hint)


def path(name: str, value: AnyPath) -> Path:
    """A path. Raises ArgumentError for what is no text and no path."""
    if not isinstance(value, str | os.PathLike):
        raise ArgumentError(f"{name} is {value!r}, a path was expected")
    return Path(value)


def seconds(name: str, value: float) -> float:
    """A positive, finite number of seconds. Raises ArgumentError."""
    return float(SECONDS.value(name, value))
