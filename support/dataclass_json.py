"""Frozen dataclasses as plain JSON values, and back by the types of their fields."""

from __future__ import annotations

import contextlib
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from .errors import ArtefactError

T = TypeVar("T")
PLAIN: tuple[type, ...] = (bool, int, float, str)


def to_json(value: object) -> Any:
    """Plain values: mappings, lists, words, numbers and None. O(size)."""
    if value is None or type(value) in PLAIN:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def from_json(kind: type[T], value: object, names: Mapping[str, Any] | None = None) -> T:
    """The inverse of `to_json`, for a dataclass or a type that a field may have.

    Supported are dataclasses, paths, bool, int, float, str, None, tuples, mappings with str or int keys, and unions, of
    which the first member that fits is used. Missing fields of a dataclass get their defaults. `names`: types that the
    module of the dataclass imports only for type checkers. Raises ArtefactError with the place and the expected type.
    """
    found: T = _read(kind, value, kind.__name__, dict(names or {}))
    return found


def _read(kind: Any, value: Any, where: str, names: dict[str, Any]) -> Any:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if value is None and types.NoneType in inner:
            return None
        *others, kind = (one for one in inner if one is not types.NoneType)
        for one in others:
            with contextlib.suppress(ArtefactError):
                return _read(one, value, where, names)
        return _read(kind, value, where, names)
    if kind is Any:
        return value
    if origin is tuple and isinstance(value, list):
        kinds = inner[:1] * len(value) if inner[1:] == (...,) else inner
        if len(kinds) == len(value):
            pairs = enumerate(zip(kinds, value, strict=True))
            return tuple(_read(one, item, f"{where}[{place}]", names) for place, (one, item) in pairs)
    elif origin is not None and issubclass(origin, Mapping) and isinstance(value, dict) and _keys(inner[0], value):
        return {inner[0](key): _read(inner[1], item, f"{where}.{key}", names) for key, item in value.items()}
    elif is_dataclass(kind) and isinstance(value, dict):
        return _record(kind, value, where, names)
    elif kind is Path and isinstance(value, str):
        return Path(value)
    elif kind in PLAIN and (type(value) is kind or (kind is float and type(value) is int)):
        return kind(value)
    raise ArtefactError(f"{where} is {value!r:.80}, {getattr(kind, '__name__', kind)} was expected")


def _keys(kind: type, value: dict[str, Any]) -> bool:
    return kind is str or all(re.fullmatch("-?[0-9]+", key) for key in value)


def _record(kind: Any, value: dict[str, Any], where: str, names: dict[str, Any]) -> Any:
    kinds = typing.get_type_hints(kind, localns=names)
    known = {field.name for field in fields(kind) if field.init}
    unknown = sorted(value.keys() - known)
    if unknown:
        raise ArtefactError(f"{where} has {', '.join(unknown)}, which {kind.__name__} does not have")
    try:
        return kind(**{name: _read(kinds[name], item, f"{where}.{name}", names) for name, item in value.items()})
    except TypeError as error:  # a field without a default
        raise ArtefactError(f"{where}: {error}") from error
