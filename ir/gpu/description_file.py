"""The TOML files that describe GPUs: one key for each field, sizes in bytes or such as "228 KiB"."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracecut.support.errors import ArtefactError

MOST_BYTES = 1 << 20
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?) (B|KiB|MiB|GiB)")
_EXPECTED = {
    "str": "a text",
    "int": 'a whole number of at least 0, or a size such as "228 KiB"',
    "float": "a finite number of at least 0",
    "bool": "true or false",
    "tuple[int, ...]": "a list of whole numbers or sizes of at least 0",
}


def fields_of(path: Path, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Values by key. kinds: by key, the type that a value becomes, as written in Python.

    Raises:
        ArtefactError: names the path, and the line and key of what is unknown, missing or of another type.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ArtefactError(f"{path} has {path.stat().st_size} bytes; a description has at most {MOST_BYTES}")
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text)
    except OSError as error:
        raise ArtefactError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ArtefactError(f"{path} is no text in UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ArtefactError(f"{path} is no TOML: {error}") from None
    for key in values:
        if key not in kinds:
            raise ArtefactError(f"{path}{_line(text, key)}: {key} is not known; known are {', '.join(kinds)}")
    for key, kind in kinds.items():
        if key not in values:
            raise ArtefactError(f"{path}: {key} is missing; {_EXPECTED[kind]} was expected")
        read = _read(values[key], kind)
        if read is None:
            raise ArtefactError(
                f"{path}{_line(text, key)}: {key} = {values[key]!r:.60}; {_EXPECTED[kind]} was expected"
            )
        values[key] = read
    return {key: values[key] for key in kinds}


def _read(value: Any, kind: str) -> Any:
    if kind == "str":
        return value if isinstance(value, str) and value.isprintable() and value else None
    if kind == "bool":
        return value if isinstance(value, bool) else None
    if kind == "float":
        return float(value) if type(value) in (int, float) and 0 <= value < float("inf") else None
    if kind == "int":
        return _whole(value)
    found = [_whole(each) for each in value] if isinstance(value, list) else [None]
    return None if None in found else tuple(found)


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        size = _SIZE.fullmatch(value)
        return None if size is None else round(float(size[1]) * _UNITS[size[2]])
    return value if type(value) is int and 0 <= value < 1 << 62 else None


def _line(text: str, key: str) -> str:
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(rf"\s*\[*\s*\"?{re.escape(key)}\"?\s*[\]=.]", line):
            return f", line {number}"
    return ""
