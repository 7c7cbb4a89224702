"""What the head of a Matrix Market file, and the first line of an edge list, say about the lines that follow."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tracecut.support.errors import ArtefactError

from .coordinate_lines import Chunk, Layout, entry_chunks
from .text_pieces import Told, odd_byte, open_text, unheard, words_of
from .to_csr import GENERAL, HERMITIAN, SKEW, SYMMETRIC

MARK = b"%%MatrixMarket"
FIELDS: dict[str, tuple[int, bool, type[np.generic]]] = {  # numbers a line, whether whole, the type of the matrix
    "pattern": (0, False, np.float64),
    "real": (1, False, np.float64),
    "double": (1, False, np.float64),
    "integer": (1, True, np.int64),
    "unsigned-integer": (1, True, np.int64),  # what scipy writes of unsigned matrices
    "complex": (2, False, np.complex128),
}
MIRRORS = {"general": GENERAL, "symmetric": SYMMETRIC, "skew-symmetric": SKEW, "hermitian": HERMITIAN}
ABSENT = {  # fields that the format does not have with a symmetry: nothing says what their mirrored entries are
    SKEW: ("pattern", "unsigned-integer"),
    HERMITIAN: ("pattern", "integer", "unsigned-integer"),
}
LONGEST_LINE = 1 << 20
LARGEST_ID = 2**31 - 1


@dataclass(frozen=True)
class Head:
    """layout: of the lines. entries: how many are announced, None where nothing is. mirror: see `to_csr`."""

    layout: Layout
    entries: int | None
    mirror: int
    dtype: type[np.generic]


def market_head(path: Path) -> Head:
    """The head of a Matrix Market file. Raises ArtefactError naming the line and what was expected there."""

    def fail(problem: str) -> ArtefactError:
        return ArtefactError(f"{path}:{number}: {problem}")

    number, words = 1, list[bytes]()
    with open_text(path) as text:
        try:
            first = text.readline(LONGEST_LINE)
            if not first.startswith(MARK):
                raise fail(f"{MARK.decode()!r} expected")
            if odd := odd_byte(first):
                raise fail(odd)
            named = [word.decode(errors="replace").lower() for word in words_of(first)[1:]]
            if len(named) != 4 or named[0] != "matrix":
                raise fail(f"{MARK.decode()} matrix, a form, a field and a symmetry expected")
            if named[1] != "coordinate":
                raise ArtefactError(f"{path}: a dense matrix ({named[1]!r}); a sparse one ('coordinate') was expected")
            for word, known in ((named[2], FIELDS), (named[3], MIRRORS)):
                if word not in known:
                    raise fail(f"{word!r}, one of {', '.join(known)} expected")
            if named[2] in ABSENT.get(MIRRORS[named[3]], ()):
                raise fail(f"{named[2]} and {named[3]}: the format has no such matrix")
            while not words:
                line = text.readline(LONGEST_LINE)
                number += 1
                if not line:
                    raise fail("the numbers of rows, columns and entries expected, the file ends")
                words = [] if line.startswith(b"%") else words_of(line)
                if words and (odd := odd_byte(line)):
                    raise fail(odd)
            skip = text.tell()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ArtefactError(f"{path}: a damaged gzip file: {error}") from None
    try:
        rows, columns, entries = map(int, words)
    except ValueError:
        shown = b" ".join(words)[:60].decode(errors="replace")
        raise fail(f"{shown!r}: the numbers of rows, columns and entries expected") from None
    if min(rows, columns, entries) < 0 or max(rows, columns, entries) >= 2**62:
        raise fail(f"{rows} {columns} {entries}: numbers from 0 to 2**62 expected")
    mirror = MIRRORS[named[3]]
    if mirror != GENERAL and rows != columns:
        raise fail(f"{named[3]} and {rows} × {columns}: a square matrix expected")
    values, whole, dtype = FIELDS[named[2]]
    unsigned = named[2].startswith("unsigned")
    layout = Layout(path, skip, number, rows, columns, 1, values, whole, b"", ("row", "column"), unsigned)
    return Head(layout, entries, mirror, dtype)


def edges_head(path: Path) -> Head:
    """What the first edge of an edge list says: whether the lines have weights. Raises ArtefactError."""
    comments = b"#%"
    words, number = list[bytes](), 0
    with open_text(path) as text:
        try:
            while not words and (line := text.readline(LONGEST_LINE)):
                number += 1
                words = words_of(line)
                words = [] if words and words[0][:1] in (b"#", b"%") else words
                if words and (odd := odd_byte(line)):
                    raise ArtefactError(f"{path}:{number}: {odd}")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ArtefactError(f"{path}: a damaged gzip file: {error}") from None
    if words and len(words) not in (2, 3):
        raise ArtefactError(f"{path}:{number}: {len(words)} words, two ids and perhaps a weight expected")
    values = max(0, len(words) - 2)
    layout = Layout(path, 0, 0, LARGEST_ID, LARGEST_ID, 0, values, False, comments, ("id", "id"))
    return Head(layout, None, GENERAL, np.float64)


def counted_chunks(head: Head, told: Told = unheard) -> Callable[[], Iterator[Chunk]]:
    """What reads the entries of the file, as often as it is called: `entry_chunks`, as many as announced."""

    def chunks() -> Iterator[Chunk]:
        found = 0
        for chunk in entry_chunks(head.layout, told):
            found += chunk.rows.size
            if head.entries is None or found <= head.entries:
                yield chunk
        if head.entries is not None and found != head.entries:
            raise ArtefactError(
                f"{head.layout.path}:{head.layout.lines}: {head.entries} entries announced, {found} found",
                hint="The file may be cut off: fetch or copy it again." if found < head.entries else "",
            )

    return chunks
