"""Checks that memory is private to the program: memory that is shared, or mapped at two addresses, is not reordered.

The kernel is queried each time a scope is entered, since a program can remap its arrays at any time. Linux 6.11 and
newer answer for single addresses in a few microseconds; before, the list of all mappings is read in 0.3 ms.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
from bisect import bisect_right
from collections import namedtuple
from collections.abc import Iterable, Iterator

from tracecut.support.errors import UnsupportedError

TYPE_CHECKING = False  # as in `typing`, which a run does without
if TYPE_CHECKING:
    from typing import NamedTuple, Protocol

    class Maps(Protocol):
        """What is asked of the mappings of this process."""

        def between(self, low: int, high: int) -> Iterable[Mapping]: ...
        def shared(self) -> Iterable[Mapping]: ...

    class _Fields(NamedTuple):
        low: int
        high: int
        readable: bool
        writable: bool
        shared: bool
        file: tuple[int, int, int]
        name: bytes = b""

else:
    _Fields = namedtuple("_Fields", "low high readable writable shared file name", defaults=[b""])

_RINGS = (b"[io_uring]", b"/[aio]")  # the kernel may write into memory at any time
_QUERY = 0xC0686611  # PROCMAP_QUERY
_WRITABLE, _SHARED, _OR_NEXT = 2, 8, 16
_FIELDS = struct.Struct("=9Q4I2Q")


class Mapping(_Fields):
    """One range of addresses. `file`: device and inode, all 0 for memory without a file."""

    __slots__ = ()


def require_own(objects: Iterable[tuple[int, int]], moved: Iterable[tuple[int, int]] = ()) -> None:
    """Raise UnsupportedError unless all objects lie in memory of this process alone, and `moved` may be written.

    Both as (base, size).
    """
    handle = os.open("/proc/self/maps", os.O_RDONLY | os.O_CLOEXEC)
    try:
        maps: Maps = AskedMaps(handle) if can_ask(handle) else ListedMaps(handle)
        _require(maps, objects, set(moved))
    finally:
        os.close(handle)


def _require(maps: Maps, objects: Iterable[tuple[int, int]], moved: set[tuple[int, int]]) -> None:
    shared = list(maps.shared())
    if any(ring in mapping.name for mapping in shared for ring in _RINGS):
        raise UnsupportedError("the program uses asynchronous input and output, which may write into its arrays")
    files = {mapping.file for mapping in shared} - {(0, 0, 0)}
    for item in objects:
        at, end = item[0], sum(item)
        for part in maps.between(at, end):
            if part.shared:
                raise UnsupportedError(
                    "an array is in memory that is shared with other processes or mapped at other addresses"
                )
            if part.file in files:
                raise UnsupportedError("an array is in a file that is also mapped as shared memory")
            if part.low > at or not part.readable or (item in moved and not part.writable):
                break
            at = part.high
        if at < end:
            raise UnsupportedError("an array is in memory that is protected or not mapped")


class AskedMaps:
    """Mappings by questions to the kernel."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._name = ctypes.create_string_buffer(256)

    def between(self, low: int, high: int) -> Iterator[Mapping]:
        """Mappings that have a byte of [low, high), in ascending order."""
        while low < high and (found := self._next(low, 0)) is not None and found.low < high:
            yield found
            low = found.high

    def shared(self) -> Iterator[Mapping]:
        """Mappings whose writes others see."""
        low = 0
        while (found := self._next(low, _SHARED)) is not None:
            yield found
            low = found.high

    def _next(self, address: int, wanted: int) -> Mapping | None:
        """The mapping that an address lies in, or the next one behind it."""
        size, place = (len(self._name), ctypes.addressof(self._name)) if wanted else (0, 0)
        query = bytearray(
            _FIELDS.pack(_FIELDS.size, wanted | _OR_NEXT, address, 0, 0, 0, 0, 0, 0, 0, 0, size, 0, place, 0)
        )
        try:
            fcntl.ioctl(self._handle, _QUERY, query, True)
        except FileNotFoundError:
            return None
        _, _, _, low, high, flags, _, _, inode, major, minor, _, _, _, _ = _FIELDS.unpack(query)
        rights = bool(flags & 1), bool(flags & _WRITABLE), bool(flags & _SHARED)
        return Mapping(low, high, *rights, (major, minor, inode), self._name.value if wanted else b"")


def can_ask(handle: int) -> bool:
    """Whether the kernel answers such questions."""
    try:
        return AskedMaps(handle)._next(0, 0) is not None
    except OSError:
        return False


class ListedMaps:
    """Mappings by the list of all of them."""

    def __init__(self, handle: int) -> None:
        parts = []
        while part := os.read(handle, 1 << 16):
            parts.append(part)
        self._lines = b"".join(parts).splitlines()

    def between(self, low: int, high: int) -> Iterator[Mapping]:
        """Mappings that have a byte of [low, high), in ascending order."""
        place = bisect_right(self._lines, low, key=lambda line: int(line[: line.index(b"-")], 16)) - 1
        for line in self._lines[max(0, place) :]:
            found = _parsed(line)
            if found.low >= high:
                return
            if found.high > low:
                yield found

    def shared(self) -> Iterator[Mapping]:
        """Mappings whose writes others see."""
        return (_parsed(line) for line in self._lines if b"s " in line[:48] and _parsed(line).shared)


def _parsed(line: bytes) -> Mapping:
    places, rights, _, device, inode, *name = line.split(maxsplit=5)
    low, high = places.split(b"-")
    major, minor = device.split(b":")
    readable, writable, shared = rights[:1] == b"r", rights[1:2] == b"w", rights[3:] == b"s"
    file = int(major, 16), int(minor, 16), int(inode)
    return Mapping(int(low, 16), int(high, 16), readable, writable, shared, file, name[0] if name else b"")
