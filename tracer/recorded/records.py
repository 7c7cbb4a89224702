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
_MAGIC = b"tracecut record 2\n"
_SIZE = struct.Struct("<Q")  # compressed bytes; they have a checksum of their own


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
    """The bytes of a record; those of several may stand behind each other. `record.h` makes the same."""
    text = record.text if isinstance(record, Unit) else ""
    packed = zlib.compress(f"{fields_of(record)}\n{text}".encode("utf-8", "surrogateescape"), 6)
    return _MAGIC + _SIZE.pack(len(packed)) + packed


def fields_of(record: Unit | LinkLine) -> str:
    """One line of JSON with all but the text of a unit, which stands behind it as it is."""
    fields = {"kind": type(record).__name__, **asdict(record)}
    fields.pop("text", None)
    return json.dumps(fields)


def decode(data: bytes) -> list[Unit | LinkLine]:
    """The records in a section, also where a linker put zeros between them. Raises ValueError for damaged ones."""
    found: list[Unit | LinkLine] = []
    at = 0
    while (at := _next(data, at)) < len(data):
        begin = at + len(_MAGIC) + _SIZE.size
        if data[at : at + len(_MAGIC)] != _MAGIC or begin > len(data):
            raise ValueError("no record of this version")
        (size,) = _SIZE.unpack_from(data, at + len(_MAGIC))
        packed = data[begin : begin + size]
        if len(packed) != size:
            raise ValueError("a damaged record")
        try:
            fields, _, text = zlib.decompress(packed).partition(b"\n")
        except zlib.error as error:
            raise ValueError(f"a damaged record: {error}") from None
        found.append(_made(json.loads(fields), text.decode("utf-8", "surrogateescape")))
        at = begin + size
    return found


def _next(data: bytes, at: int) -> int:
    while at < len(data) and not data[at]:
        at += 1
    return at


def _made(fields: dict[str, Any], text: str) -> Unit | LinkLine:
    kind = fields.pop("kind", None)
    made = {"Unit": Unit, "LinkLine": LinkLine}.get(kind)
    words: Sequence[str] = fields.get("words", ())
    if made is None:
        raise ValueError(f"a record of unknown kind {kind!r}")
    try:
        return made(**{**fields, "words": tuple(words), **({"text": text} if made is Unit else {})})
    except TypeError as error:
        raise ValueError(f"a record with other fields: {error}") from None
