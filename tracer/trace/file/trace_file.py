"""Trace files: the static tables, the coded chunks of every stream, provenance.

    "tracecut" 8 bytes · version uint32 · blocks

HEAD (JSON), TEXT (the module) and TABL (the static tables) come first, then DATA blocks, at last TAIL (JSON: totals,
how the program ended, the number of `blocks` and `bytes` before it), with which the file ends. All but HEAD and TAIL
are compressed. Numbers are little endian.

Every byte is protected (see `checksummed_blocks`) against accidents, not against forgery: heads by a chain of checks
in which no block can be missing, doubled or moved, each payload by its own check. A file without TAIL comes from a run
that was cut off, or was truncated: it is valid up to its last whole block, and reported as incomplete.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import zstandard
from tracecut.support.errors import ArtefactError, OutputError
from tracecut.support.file_kinds import is_special
from tracecut.support.files import parse_json
from tracecut.tracer.trace.events.event_words import Words
from tracecut.tracer.trace.tables.static_tables import TABLES, Static
from tracecut.tracer.trace.tables.verify_tables import verify_tables

from .byte_planes import PLANES, merge, split
from .checksummed_blocks import AGAIN, Blocks, Chain, damaged
from .codec import Coder, Fields

MAGIC = b"tracecut"
VERSION = 3
LEVEL = 1  # higher ones take three times as long for random addresses and save nothing
BATCH = 1 << 20  # words of a DATA block: enough for zstd, and little is lost when the last block is
MOST_WORDS = 1 << 24  # of a block, as a reader accepts it; a writer may add half of it at once
MOST_HEAD = 256 << 20  # bytes that HEAD, TEXT, TABL and TAIL may have, uncompressed
_DATA = struct.Struct(f"<III{PLANES}I")  # stream, words, bytes of segments, and of each plane of payloads
_ELSEWHERE = "Choose another file with -o, free some space, or keep less with --max-instructions."


class TraceWriter:
    """Writes a trace file as its chunks come. The file is `path` + ".partial" until `close`, then `path`.

    A run that is killed leaves the partial file, which `TraceFile` reads as well. Raises OutputError when the file can
    not be written, or when its name is that of something else than a file.
    """

    def __init__(self, path: str | os.PathLike[str], static: Static, meta: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.partial = Path(f"{path}.partial")
        self._static = static
        self._fields = Fields.of(static)
        self._coders: dict[int, Coder] = {}
        self._compressor = zstandard.ZstdCompressor(level=LEVEL)
        self._chain = Chain()
        self.bytes = 0
        if is_special(path):  # the last step would replace it by a file
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
            coder = self._coders[stream] = Coder(self._fields)
        coder.feed(words)
        if coder.waiting >= BATCH:
            self._flush(stream, coder)

    def close(self, meta: Mapping[str, Any]) -> None:
        """Write all blocks that are left and the TAIL, and rename the file."""
        for stream, coder in sorted(self._coders.items()):
            if coder.waiting:
                self._flush(stream, coder)
        self._block(b"TAIL", _json({**meta, "blocks": self._chain.count, "bytes": self.bytes}))
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
        self._write(self._chain.block(tag, payload))

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
        cut: bytes behind the last whole block of a file that ends early.

    Raises ArtefactError naming what is wrong and where: not a trace, another version, damage in the head or in the
    chain of the blocks, bytes behind the end. Damage in a chunk is found by `chunks`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with open(self.path, "rb") as file:
            start = file.read(len(MAGIC) + 4)
            if start[: len(MAGIC)] != MAGIC:
                raise ArtefactError(f"{self.path} is not a trace file", hint="`tracecut trace -o FILE` makes them.")
            version = int.from_bytes(start[len(MAGIC) :], "little")
            if version != VERSION or len(start) < len(MAGIC) + 4:
                raise ArtefactError(f"{self.path} has format {version}, this tracecut reads {VERSION}", hint=AGAIN)
            self._size = os.fstat(file.fileno()).st_size
            blocks = Blocks(self.path, file, self._size)
            self.meta = self._object(blocks.expect(b"HEAD"))
            text = self._inflate(blocks.expect(b"TEXT"), MOST_HEAD)
            tables = self._inflate(blocks.expect(b"TABL"), MOST_HEAD)
            self._data, self._first = file.tell(), blocks.last
            self.tail, self._end = self._find_tail(blocks)
        self.cut = 0 if self.tail is not None else self._size - self._end
        self.static = _static_from(self, text, tables)

    def chunks(self) -> Iterator[tuple[int, Words]]:
        """(stream, uint32 words of whole records and runs) in the order of the run. A second call starts again.

        Raises ArtefactError for a damaged chunk; those before it are valid. Memory: one chunk.
        """
        fields = Fields.of(self.static)
        coders: dict[int, Coder] = {}
        with open(self.path, "rb") as file:
            file.seek(self._data)
            blocks = Blocks(self.path, file, self._size, self._first)
            while file.tell() < self._end:
                payload = blocks.expect(b"DATA")
                if len(payload) < _DATA.size:
                    raise damaged(self.path, "has a chunk without a head")
                stream, count, first, *planes = _DATA.unpack_from(payload)
                size = first + sum(planes)
                if count > MOST_WORDS or size > 32 * count + 64:
                    raise damaged(self.path, "has a chunk that is too large")
                data = np.frombuffer(self._inflate(payload[_DATA.size :], size, exact=True), np.uint8)
                payloads = merge(data[first:], np.array(planes, np.int64))
                if stream not in coders:
                    coders[stream] = Coder(fields)
                words = None if payloads is None else coders[stream].decode(data[:first], payloads, count)
                if words is None:
                    raise damaged(self.path, "has a chunk that cannot be decoded")
                yield stream, words

    def _find_tail(self, blocks: Blocks) -> tuple[dict[str, Any] | None, int]:
        """(TAIL, where the chunks end), from the heads of the blocks alone."""
        while True:
            end, before = blocks.file.tell(), blocks.count
            head = blocks.head()
            if head is None:
                return None, end
            if head.tag == b"TAIL":
                break
            if head.tag != b"DATA":
                raise damaged(self.path, f"has a block {head.tag!r} among its chunks", end)
            blocks.skip(head)
        tail = self._object(blocks.payload(head))
        if blocks.file.tell() != self._size:
            more = self._size - blocks.file.tell()
            raise damaged(self.path, f"has {more} bytes behind its end", blocks.file.tell())
        if tail.get("blocks") != before or tail.get("bytes") != end:
            raise damaged(self.path, "has an end that counts other blocks than there are", end)
        return tail, end

    def _inflate(self, data: bytes, most: int, *, exact: bool = False) -> bytes:
        try:
            size = zstandard.frame_content_size(data)
            if not 0 <= size <= most or (exact and size != most):
                raise damaged(self.path, "has a block of another size than it says")
            return zstandard.ZstdDecompressor().decompress(data, max_output_size=most or 1)
        except zstandard.ZstdError as error:
            raise damaged(self.path, f"cannot be decompressed ({error})") from error

    def _object(self, data: bytes) -> dict[str, Any]:
        value = parse_json(self.path, data)
        if not isinstance(value, dict):
            raise damaged(self.path, "has a head that is no object")
        return value


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
    """The static tables of a file, checked so that no index leads out of them."""
    meta = file.meta
    arrays: dict[str, Any] = {}
    memory = bytearray(tables)  # to Numba read-only arrays are of another type: all walks would be compiled once more
    place = 0
    try:
        for name, dtype in TABLES.items():
            size = int(meta["tables"][name])
            kind = np.dtype(dtype)
            if size < 0 or place + size * kind.itemsize > len(tables):
                raise ValueError(f"table {name} is too long")
            arrays[name] = np.frombuffer(memory, kind, size, place)
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
        verify_tables(static)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArtefactError(f"{file.path} has static tables that are damaged: {error}", hint=AGAIN) from error
    return static
