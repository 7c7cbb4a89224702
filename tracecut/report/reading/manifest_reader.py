"""Typed access to a manifest, which is not trusted: a value of the wrong type is an error with its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tracecut.support.errors import ArtefactError

T = TypeVar("T")

LARGEST = 1e30  # larger than any measurement; sums and squares of such numbers are still finite


@dataclass(frozen=True)
class Fields:
    """One mapping of a manifest, and its place for error messages."""

    values: Mapping[str, Any]
    where: str = "manifest"

    @classmethod
    def of(cls, value: object, where: str) -> Fields:
        """The value as a mapping."""
        if not isinstance(value, Mapping):
            raise _wrong(where, value, "a mapping")
        return cls(value, where)

    def text(self, key: str) -> str:
        """A string; empty when absent or null."""
        return _text(self._get(key), f"{self.where}.{key}") if self._get(key) is not None else ""

    def choice(self, key: str, choices: Sequence[str]) -> str:
        """One of the given words."""
        value = self._get(key)
        if value not in choices:
            raise _wrong(f"{self.where}.{key}", value, "one of " + ", ".join(choices))
        return str(value)

    def number(self, key: str) -> float | None:
        """A finite number; None (not measured) if absent, null or not finite."""
        return _number(self._get(key), f"{self.where}.{key}")

    def count(self, key: str) -> int | None:
        """A count."""
        value = self.number(key)
        return None if value is None else int(value)

    def flag(self, key: str) -> bool | None:
        """True, False, or None for unknown."""
        value = self._get(key)
        if value is not None and not isinstance(value, bool):
            raise _wrong(f"{self.where}.{key}", value, "true, false or null")
        return value

    def child(self, key: str) -> Fields | None:
        """A mapping; None when absent or null."""
        value = self._get(key)
        return None if value is None else Fields.of(value, f"{self.where}.{key}")

    def children(self, key: str) -> list[Fields]:
        """A list of mappings; empty when absent or null."""
        return self._list(key, Fields.of)

    def records(self, key: str, names: Sequence[str]) -> list[Fields]:
        """A list of mappings, or of lists whose first entries have these names."""

        def convert(value: object, where: str) -> Fields:
            if isinstance(value, Sequence) and not isinstance(value, str | bytes):
                value = dict(zip(names, value, strict=False))
            return Fields.of(value, where)

        return self._list(key, convert)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty when absent or null."""
        return tuple(self._list(key, _text))

    def numbers(self, key: str) -> tuple[tuple[str, float], ...]:
        """A mapping from names to numbers, in its order; those not measured are left out."""
        child = self.child(key)
        if child is None:
            return ()
        found = ((str(name), child.number(name)) for name in child.values)
        return tuple((name, value) for name, value in found if value is not None)

    def _list(self, key: str, convert: Callable[[Any, str], T]) -> list[T]:
        value = self._get(key)
        if value is None:
            return []
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            raise _wrong(f"{self.where}.{key}", value, "a list")
        return [convert(item, f"{self.where}.{key}[{place}]") for place, item in enumerate(value)]

    def _get(self, key: str) -> Any:
        return self.values.get(key)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong(where, value, "a string")
    return value


def _number(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(where, value, "a number or null")
    try:
        found = float(value)
    except OverflowError:
        raise _wrong(where, "an integer of more than 300 digits", "a number or null") from None
    if LARGEST < abs(found) < math.inf:
        raise _wrong(where, value, f"a number of at most {LARGEST:g}")
    return found if math.isfinite(found) else None


def _wrong(where: str, value: object, expected: str) -> ArtefactError:
    return ArtefactError(
        f"{where} = {value!r:.80}: {expected} was expected",
        hint="The manifest is damaged or of another version; run `tracecut optimize` again.",
    )
