"""The blocks of a trace file, with check sums that detect every damaged byte.

A block is `tag (4 bytes) · payload length uint64 · CRC-32 of the payload · CRC-32 of these three, which goes on from
that of the block before · payload`, in little endian.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tracecut.support.errors import ArtefactError

AGAIN = "Make it again with this version of tracecut."
_HEAD = struct.Struct("<4sQII")


class Head(NamedTuple):
    """The head in front of a payload; `check`: of the payload."""

    tag: bytes
    length: int
    check: int


class Chain:
    """Makes consecutive blocks. `count`: how many it made."""

    def __init__(self) -> None:
        self.count = self._last = 0

    def block(self, tag: bytes, payload: bytes) -> bytes:
        """The next block."""
        head = Head(tag, len(payload), zlib.crc32(payload))
        self._last = _chained(head, self._last)
        self.count += 1
        return _HEAD.pack(*head, self._last) + payload


class Blocks:
    """Reads blocks from a place in a file on, up to `size`. `last`: check of the block before. `count`: blocks so far.

    Raises ArtefactError naming the byte where something is wrong.
    """

    def __init__(self, path: Path, file: BinaryIO, size: int, last: int = 0) -> None:
        self.path, self.size, self.last, self.count = path, size, last, 0
        self.file = file

    def head(self) -> Head | None:
        """The next block without its payload; None when the file ends before the block does."""
        place = self.file.tell()
        data = self.file.read(_HEAD.size)
        if len(data) < _HEAD.size:
            return None
        *fields, chain = _HEAD.unpack(data)
        found = Head(*fields)
        self.last = _chained(found, self.last)
        if chain != self.last:
            raise damaged(self.path, "has the head of a block with a wrong check sum", place)
        self.count += 1
        return found if found.length <= self.size - self.file.tell() else None

    def payload(self, head: Head) -> bytes:
        """The payload behind a head that was just read."""
        place = self.file.tell()
        found = self.file.read(head.length)
        if zlib.crc32(found) != head.check:
            raise damaged(self.path, f"has a block {head.tag!r} with a wrong check sum", place)
        return found

    def skip(self, head: Head) -> None:
        """Skip the payload."""
        self.file.seek(head.length, os.SEEK_CUR)

    def expect(self, tag: bytes) -> bytes:
        """The payload of the next block, which has to be complete."""
        place = self.file.tell()
        head = self.head()
        if head is None:
            raise damaged(self.path, "ends in the middle of a block", place)
        if head.tag != tag:
            raise damaged(self.path, f"has {head.tag!r} where {tag!r} belongs", place)
        return self.payload(head)


def damaged(path: Path, what: str, place: int | None = None) -> ArtefactError:
    """The error for a file with something wrong in it, at a byte."""
    at = "" if place is None else f", at byte {place}"
    return ArtefactError(f"{path} {what}{at}", hint="The file is damaged. " + AGAIN)


def _chained(head: Head, last: int) -> int:
    return zlib.crc32(_HEAD.pack(*head, 0)[:-4], last)
