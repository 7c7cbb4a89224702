"""Trace files: the static tables, the coded chunks of every stream, provenance.

    "tracecut" 8 bytes · version uint32 · blocks

A block is `tag (4 bytes) · payload length uint64 · CRC-32 of tag, length and payload · payload`. HEAD (JSON), TEXT (the
module) and TABL (the static tables) come first, then DATA blocks, at last TAIL (JSON: totals, how the program ended).
All but HEAD and TAIL are compressed. A file without TAIL comes from a run that was cut off: it is good up to its last
whole block. Numbers are little endian.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import zstandard

from ...ir.errors import ArtefactError, OutputError
from ...ir.files import is_special, parse_json
from .coding import Coder, Fields
from .planes import PLANES, merge, split
from .static import TABLES, Static

Words = npt.NDArray[np.uint32]

MAGIC = b"tracecut"
VERSION = 2
LEVEL = 1  # a higher one takes three times as long for random addresses and saves nothing
BATCH = 1 << 20  # words of a DATA block: enough for zstd to learn, little to lose
MOST_WORDS = 1 << 24  # of a block, as a reader accepts it; a writer may add half of it at once
MOST_HEAD = 256 << 20  # bytes that HEAD, TEXT, TABL and TAIL may have, uncompressed
_BLOCK = struct.Struct("<4sQI")
_DATA = struct.Struct(f"<III{PLANES}I")  # stream, words, bytes of segments, and of each plane of payloads
_ELSEWHERE = "Choose another file with -o, free some space, or keep less with --max-instructions."
_AGAIN = "Make it again with this version of tracecut."


class TraceWriter:
    """Writes a trace file as its chunks come. The file is `path` + ".partial" until `close`, then `path`.

    A run that is killed leaves the partial file, which `TraceFile` reads as well. Raises OutputError when the file can
    not be written, or when something else than a file has its name.
    """

    def __init__(self, path: str | os.PathLike[str], static: Static, meta: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.partial = Path(f"{path}.partial")
        self._static = static
        self._fields = Fields.of(static)
        self._coders: dict[int, Coder] = {}
        self._compressor = zstandard.ZstdCompressor(level=LEVEL)
        self.bytes = 0
        if is_special(path):  # the last step would put a file in its place
            raise OutputError(f"cannot write {self.path}: it is a folder, a device or a pipe", hint=_ELSEWHERE)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = open(self.partial, "wb", buffering=0)  # noqa: SIM115 (closed by close and abandon)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._write(MAGIC + VERSION.to_bytes(4, "little"))
            self._block(b"HEAD", _json({**meta, **_static_meta(static)}))
            self._block(b"TEXT", self._compressor.compress(static.text.encode(errors="surrogateescape")))
            tables = b"".join(np.ascontiguousarray(table).tobytes() for table in static.tables().values())
            self._block(b"TABL", self._compressor.compress(tables))
        except BaseException:
            self.abandon()
            raise

    def add(self, stream: int, words: Words) -> None:
        """Add whole records of a stream, at most 2²³ words; the array may change afterwards."""
        coder = self._coders.get(stream)
        if coder is None:
            coder = self._coders[stream] = Coder(self._static, self._fields)
        coder.feed(words)
        if coder.waiting >= BATCH:
            self._flush(stream, coder)

    def close(self, meta: Mapping[str, Any]) -> None:
        """Write what waits and the TAIL, and give the file its name."""
        for stream, coder in sorted(self._coders.items()):
            if coder.waiting:
                self._flush(stream, coder)
        self._block(b"TAIL", _json(meta))
        try:
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self.partial, self.path)
        except OSError as error:
            raise self._unwritable(error) from error

    def abandon(self) -> None:
        """Remove the file."""
        self._file.close()
        self.partial.unlink(missing_ok=True)

    def _flush(self, stream: int, coder: Coder) -> None:
        count = coder.waiting
        segments, payloads = coder.take()
        planes, sizes = split(payloads)
        head = _DATA.pack(stream, count, segments.size, *sizes.tolist())
        self._block(b"DATA", head + self._compressor.compress(segments.tobytes() + planes.tobytes()))

    def _block(self, tag: bytes, payload: bytes) -> None:
        check = zlib.crc32(payload, zlib.crc32(tag + len(payload).to_bytes(8, "little")))
        self._write(_BLOCK.pack(tag, len(payload), check) + payload)

    def _write(self, data: bytes) -> None:
        try:
            view = memoryview(data)
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise self._unwritable(error) from error
        self.bytes += len(data)

    def _unwritable(self, error: OSError) -> OutputError:
        return OutputError(
            f"cannot write {self.partial}: {error.strerror or error}",
            hint=_ELSEWHERE,
        )


class TraceFile:
    """Reads a trace file.

    Attributes:
        meta: provenance. static: the static tables. tail: totals, None when the file ends early.

    Raises ArtefactError naming what is wrong: not a trace, another version, damage in the head.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with open(self.path, "rb") as file:
            start = file.read(len(MAGIC) + 4)
            if start[: len(MAGIC)] != MAGIC:
                raise ArtefactError(f"{self.path} is not a trace file", hint="`tracecut trace -o FILE` makes them.")
            version = int.from_bytes(start[len(MAGIC) :], "little")
            if version != VERSION or len(start) < len(MAGIC) + 4:
                raise ArtefactError(f"{self.path} has format {version}, this tracecut reads {VERSION}", hint=_AGAIN)
            self._size = os.fstat(file.fileno()).st_size
            head = self._expect(file, b"HEAD")
            text = self._inflate(self._expect(file, b"TEXT"), MOST_HEAD)
            tables = self._inflate(self._expect(file, b"TABL"), MOST_HEAD)
            self._data = file.tell()
        self.meta = self._object(head)
        self.static = _static_from(self, text, tables)
        self.tail, self.complete, self._end = self._find_tail()

    def chunks(self) -> Iterator[tuple[int, Words]]:
        """(stream, uint32 words of whole records and runs) in the order of the run. A second call starts again.

        Raises ArtefactError at damage; what was given until then is good. Memory: one chunk.
        """
        fields = Fields.of(self.static)
        coders: dict[int, Coder] = {}
        with open(self.path, "rb") as file:
            file.seek(self._data)
            while file.tell() < self._end:
                tag, payload = self._block(file)
                if tag != b"DATA":
                    raise self._damaged(f"has a block {tag!r} among its chunks")
                if len(payload) < _DATA.size:
                    raise self._damaged("has a chunk without a head")
                stream, count, first, *planes = _DATA.unpack_from(payload)
                size = first + sum(planes)
                if count > MOST_WORDS or size > 32 * count + 64:
                    raise self._damaged("has a chunk that is too large")
                data = np.frombuffer(self._inflate(payload[_DATA.size :], size, exact=True), np.uint8)
                payloads = merge(data[first:], np.array(planes, np.int64))
                if stream not in coders:
                    coders[stream] = Coder(self.static, fields)
                words = None if payloads is None else coders[stream].decode(data[:first], payloads, count)
                if words is None:
                    raise self._damaged("has a chunk that can not be decoded")
                yield stream, words

    def _find_tail(self) -> tuple[dict[str, Any] | None, bool, int]:
        """(TAIL, whether it is there, end of the last whole block), from the lengths of the blocks alone."""
        place = self._data
        with open(self.path, "rb") as file:
            while place + _BLOCK.size <= self._size:
                file.seek(place)
                tag, length, _ = _BLOCK.unpack(file.read(_BLOCK.size))
                if tag not in (b"DATA", b"TAIL"):
                    raise self._damaged(f"has a block {tag!r} among its chunks")
                if place + _BLOCK.size + length > self._size:
                    break
                if tag == b"TAIL":
                    file.seek(place)
                    return self._object(self._expect(file, b"TAIL")), True, place
                place += _BLOCK.size + length
        return None, False, place

    def _expect(self, file: BinaryIO, tag: bytes) -> bytes:
        found, payload = self._block(file)
        if found != tag:
            raise self._damaged(f"has {found!r} where {tag!r} belongs")
        return payload

    def _block(self, file: BinaryIO) -> tuple[bytes, bytes]:
        head = file.read(_BLOCK.size)
        if len(head) < _BLOCK.size:
            raise self._damaged("ends in its head")
        tag, length, check = _BLOCK.unpack(head)
        if length > self._size - file.tell():
            raise self._damaged("ends in the middle of a block")
        payload = file.read(length)
        if zlib.crc32(payload, zlib.crc32(head[:12])) != check:
            raise self._damaged(f"has a block {tag!r} with a wrong check sum")
        return tag, payload

    def _inflate(self, data: bytes, most: int, *, exact: bool = False) -> bytes:
        try:
            size = zstandard.frame_content_size(data)
            if not 0 <= size <= most or (exact and size != most):
                raise self._damaged("has a block of another size than it says")
            return zstandard.ZstdDecompressor().decompress(data, max_output_size=most or 1)
        except zstandard.ZstdError as error:
            raise self._damaged(f"can not be decompressed ({error})") from error

    def _object(self, data: bytes) -> dict[str, Any]:
        value = parse_json(self.path, data)
        if not isinstance(value, dict):
            raise self._damaged("has a head that is no object")
        return value

    def _damaged(self, what: str) -> ArtefactError:
        return ArtefactError(f"{self.path} {what}", hint="The file is damaged. " + _AGAIN)


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, allow_nan=False).encode()


def _static_meta(static: Static) -> dict[str, Any]:
    return {
        "functions": list(static.functions),
        "timed": static.timed,
        "globals": [list(item) for item in static.globals],
        "unknown": [list(item) for item in static.unknown],
        "tables": {name: table.size for name, table in static.tables().items()},
    }


def _static_from(file: TraceFile, text: bytes, tables: bytes) -> Static:
    """The static tables of a file, checked so far that following them stays inside of them."""
    meta = file.meta
    arrays: dict[str, Any] = {}
    place = 0
    try:
        for name, dtype in TABLES.items():
            size = int(meta["tables"][name])
            kind = np.dtype(dtype)
            if size < 0 or place + size * kind.itemsize > len(tables):
                raise ValueError(f"table {name} is too long")
            arrays[name] = np.frombuffer(tables, kind, size, place)
            place += size * kind.itemsize
        if place != len(tables):
            raise ValueError("the tables have another length")
        static = Static(
            text=text.decode(errors="surrogateescape"),
            functions=tuple(str(name) for name in meta["functions"]),
            globals=tuple((str(name), int(size)) for name, size in meta["globals"]),
            unknown=tuple((int(place), str(name)) for place, name in meta["unknown"]),
            timed=bool(meta["timed"]),
            **arrays,
        )
        static.verify()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArtefactError(f"{file.path} has static tables that are damaged: {error}", hint=_AGAIN) from error
    return static
