"""The zip files (npz) of artefacts: written in one canonical form, and checked byte for byte.

A zip file has checksums of its members, but not of its other bytes: names, sizes, times, flags, gaps. The last 8 bytes
of the file, at the end of the archive's comment, are the CRC-32 of all bytes outside members, in hexadecimal.
Members are stored uncompressed with fixed times; sizes and offsets from 4 GiB use the zip64 fields. The file is written
sequentially, so that it can go into a pipe.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

TYPE_CHECKING = False  # as in `typing`; files without arrays are written without NumPy
if TYPE_CHECKING:
    import numpy.typing as npt

CHECK_BYTES = 8
MOST_AROUND = 1 << 24  # largest number of bytes outside members
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_ENTRY = struct.Struct("<4sHHHHHHIIIHHHHHII")
_LARGE_END = struct.Struct("<4sQHHIIQQQQ")
_WHERE_LARGE_END = struct.Struct("<4sIQI")
_END = struct.Struct("<4sHHHHIIH")
_LONGS = struct.Struct("<HHQQQ")  # of an entry: both sizes and the offset
_SIZES = struct.Struct("<HHQQ")
_VERSION, _DATE = 45, 1 << 5 | 1  # the first one with 64-bit sizes; 1980-01-01
_FULL = 0xFFFFFFFF


def write_zip(file: BinaryIO, members: Mapping[str, Iterable[Any]], comment: bytes) -> None:
    """Write members (name → pieces of bytes, which are iterated twice) and a comment."""
    around, place = 0, 0
    entries = []

    def put(data: bytes) -> None:
        nonlocal around, place
        around = zlib.crc32(data, around)
        place += len(data)
        file.write(data)

    for name in sorted(members):
        text, check, size = name.encode(), 0, 0
        for piece in members[name]:
            check, size = zlib.crc32(piece, check), size + memoryview(piece).nbytes
        head = _VERSION, 0, 0, 0, _DATE, check, _FULL, _FULL, len(text)
        start = place
        put(_LOCAL.pack(b"PK\3\4", *head, _SIZES.size) + text + _SIZES.pack(1, _SIZES.size - 4, size, size))
        for piece in members[name]:
            file.write(piece)
        place += size
        longs = _LONGS.pack(1, _LONGS.size - 4, size, size, start)
        rest = _LONGS.size, 0, 0, 0, 0o600 << 16, _FULL
        entries.append(_ENTRY.pack(b"PK\1\2", 3 << 8 | _VERSION, *head, *rest) + text + longs)
    start, count, size = place, len(entries), sum(map(len, entries))
    put(b"".join(entries))
    end = place
    put(_LARGE_END.pack(b"PK\6\6", _LARGE_END.size - 12, 3 << 8 | _VERSION, _VERSION, 0, 0, count, count, size, start))
    put(_WHERE_LARGE_END.pack(b"PK\6\7", 0, end, 1))
    put(_END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, _FULL, _FULL, len(comment) + CHECK_BYTES) + comment)
    file.write(b"%08x" % around)


def array_pieces(array: npt.NDArray[Any]) -> list[Any]:
    """The bytes of an array as an npy member: its header and its values, which are not copied if they are contiguous.

    Raises ValueError for an array of objects.
    """
    import numpy as np

    values = np.ascontiguousarray(array)
    if values.dtype.hasobject:
        raise ValueError("objects are not written (allow_pickle is off)")
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(values))
    return [head.getvalue(), values.reshape(-1).view(np.uint8).data] if values.size else [head.getvalue()]


def check_around(file: BinaryIO, members: Iterable[zipfile.ZipInfo], size: int) -> str:
    """The fault in the bytes outside members of an archive of `size` bytes; empty if there is none."""
    found, place, total = 0, 0, 0
    spans = []
    for info in sorted(members, key=lambda info: info.header_offset):
        file.seek(info.header_offset + 26)
        lengths = file.read(4)
        if len(lengths) < 4:
            return "has a member beyond its end"
        start = info.header_offset + 30 + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
        spans.append((start, start + info.compress_size))
    for start, end in [*spans, (size - CHECK_BYTES, size)]:
        total += start - place
        if start < place or total > MOST_AROUND:
            return "has members that overlap or have gaps between them"
        file.seek(place)
        found = zlib.crc32(file.read(start - place), found)
        place = end
    file.seek(size - CHECK_BYTES)
    return "" if file.read(CHECK_BYTES) == b"%08x" % found else "has a wrong checksum outside its members"
