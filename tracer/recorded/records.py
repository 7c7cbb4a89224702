"""What the compiler wrappers store in objects and programs, and its form in bytes.

A translation unit is stored as the text behind the preprocessor: with it a program can be compiled anew, in whatever
form, though its headers or generated sources are gone; and it costs a fraction of a compilation to make.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

SECTION = ".tracecut"
_MAGIC = b"tracecut record 1\n"
_SIZES = struct.Struct("<QI")  # compressed bytes, and their checksum


@dataclass(frozen=True)
class Unit:
    """One translation unit.

    Attributes:
        source: its file, as the line names it. folder: where the compiler ran. language: `c` or `c++`.
        words: options of the line. text: the source behind the preprocessor; empty when there is none, and `why` says
            why not.
    """

    source: str
    folder: str
    language: str
    words: tuple[str, ...]
    text: str = ""
    why: str = ""


@dataclass(frozen=True)
class LinkLine:
    """The line that linked a program. folder: where it ran. words: all of it, behind the compiler's name."""

    folder: str
    words: tuple[str, ...]


def encode(record: Unit | LinkLine) -> bytes:
    """The bytes of a record; those of several may stand behind each other."""
    kind = type(record).__name__
    text = json.dumps({"kind": kind, **asdict(record)})
    packed = zlib.compress(text.encode("utf-8", "surrogatepass"), 6)
    return _MAGIC + _SIZES.pack(len(packed), zlib.crc32(packed)) + packed


def decode(data: bytes) -> list[Unit | LinkLine]:
    """The records in a section, also where a linker put zeros between them. Raises ValueError for damaged ones."""
    found: list[Unit | LinkLine] = []
    at = 0
    while (at := _next(data, at)) < len(data):
        begin = at + len(_MAGIC) + _SIZES.size
        if data[at : at + len(_MAGIC)] != _MAGIC or begin > len(data):
            raise ValueError("no record of this version")
        size, checksum = _SIZES.unpack_from(data, at + len(_MAGIC))
        packed = data[begin : begin + size]
        if len(packed) != size or zlib.crc32(packed) != checksum:
            raise ValueError("a damaged record")
        found.append(_made(json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))))
        at = begin + size
    return found


def _next(data: bytes, at: int) -> int:
    while at < len(data) and not data[at]:
        at += 1
    return at


def _made(fields: dict[str, Any]) -> Unit | LinkLine:
    kind = fields.pop("kind", None)
    made = {"Unit": Unit, "LinkLine": LinkLine}.get(kind)
    words: Sequence[str] = fields.get("words", ())
    if made is None:
        raise ValueError(f"a record of unknown kind {kind!r}")
    try:
        return made(**{**fields, "words": tuple(words)})
    except TypeError as error:
        raise ValueError(f"a record with other fields: {error}") from None
