"""Files of one entry a line, two ids and perhaps values, as arrays of entries piece by piece, parsed by threads."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArtefactError

from .number_lines import (
    DONE,
    FEW,
    MANY,
    NO_ID,
    NO_VALUE,
    OUTSIDE,
    UNDECIDED,
    decided,
    line_at,
    lines_of,
    scan_entries,
    word_at,
)
from .text_pieces import Told, line_pieces, odd_byte, unheard, words_of

SHOWN = 40  # characters of a word in a message
WHOLE = re.compile(rb"[+-]?[0-9]+")
LONGEST_WHOLE = 20  # digits, which no whole number that is read has


@dataclass(frozen=True)
class Layout:
    """What the lines of a file hold.

    Attributes:
        path: the file. skip: bytes before the first line. lines: lines before it.
        rows, columns: ids must be below first + these. first: the smallest id.
        values: numbers behind the ids. whole: whether these are whole numbers; unsigned: of at least 0.
        comments: characters that begin lines to skip. ids: what the two ids are called in messages.
    """

    path: Path
    skip: int
    lines: int
    rows: int
    columns: int
    first: int
    values: int
    whole: bool
    comments: bytes
    ids: tuple[str, str]
    unsigned: bool = False


@dataclass(frozen=True, eq=False)
class Chunk:
    """Entries of a piece, in their order. rows, columns: int32 or int64, from 0. values: float64 or int64, `values`
    of the layout for each entry. lines: how many lines the piece has."""

    rows: npt.NDArray[Any]
    columns: npt.NDArray[Any]
    values: npt.NDArray[Any]
    lines: int


@dataclass(frozen=True)
class _Stopped:
    """Why a piece could not be parsed, and the text around."""

    why: int
    before: int  # lines of the piece before this one
    line: bytes
    word: bytes


def entry_chunks(layout: Layout, told: Told = unheard) -> Iterator[Chunk]:
    """The entries of the file in order. O(bytes) time; memory: two pieces a thread.

    Raises ArtefactError naming the file, the line, what stands there and what was expected.
    """
    threads = max(1, len(os.sched_getaffinity(0)))
    before = layout.lines
    waiting: deque[Future[Chunk | _Stopped]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for piece in line_pieces(layout.path, layout.skip, told):
                waiting.append(pool.submit(_parse, layout, piece))
                if len(waiting) > 2 * threads:
                    chunk = _good(layout, before, waiting.popleft().result())
                    before += chunk.lines
                    yield chunk
            while waiting:
                chunk = _good(layout, before, waiting.popleft().result())
                before += chunk.lines
                yield chunk
        finally:
            for future in waiting:
                future.cancel()


def line_of_entry(layout: Layout, number: int) -> int:
    """The line of the number-th entry, for messages: reads the file again."""
    line = layout.lines
    for piece in line_pieces(layout.path, layout.skip):
        for text in piece.tobytes().split(b"\n")[:-1]:
            line += 1
            words = words_of(text)
            if words and words[0][:1] not in layout.comments:
                number -= 1
                if number < 0:
                    return line
    return line


def _good(layout: Layout, before: int, found: Chunk | _Stopped) -> Chunk:
    if isinstance(found, _Stopped):
        _complain(layout, before, found)
    return found


def _parse(layout: Layout, text: npt.NDArray[np.uint8]) -> Chunk | _Stopped:
    most = int(lines_of(text))
    ids = np.int32 if max(layout.rows, layout.columns) < 2**31 else np.int64
    rows, columns = np.empty(most, ids), np.empty(most, ids)
    floats = np.empty(most * layout.values)
    kind = np.array([layout.values, layout.whole, layout.unsigned], np.int64)
    shape = np.array([layout.rows, layout.columns, layout.first], np.int64)
    comments = np.frombuffer(layout.comments, np.uint8)
    state, known = np.zeros(4, np.int64), np.empty((0, 2))
    while (why := scan_entries(text, rows, columns, floats, kind, shape, comments, known, state)) != DONE:
        if why != UNDECIDED:
            return _Stopped(why, int(state[1]), line_at(text, int(state[2])), word_at(text, int(state[3])))
        known = decided(text, known, state)
    count = int(state[0])
    values = floats[: count * layout.values]
    return Chunk(rows[:count], columns[:count], values.view(np.int64) if layout.whole else values, int(state[1]))


def _complain(layout: Layout, before: int, found: _Stopped) -> NoReturn:
    words = words_of(found.line)
    shown = found.word[:SHOWN].decode(errors="replace")
    if odd := odd_byte(found.line):
        problem = odd
    elif found.why in (FEW, MANY):
        wanted = 2 + layout.values
        problem = f"{len(words)} words, {wanted} expected"
    elif found.why == NO_ID and WHOLE.fullmatch(found.word):
        side = _side(layout, words)
        problem = _outside_text(layout, side, shown)
    elif found.why == NO_VALUE and layout.whole and WHOLE.fullmatch(found.word):
        problem = f"{shown} is outside [{0 if layout.unsigned else '-2**63'}, 2**63 - 1]"
    elif found.why == NO_ID or (found.why == NO_VALUE and layout.whole):
        problem = f"{shown!r}: a whole number expected"
    elif found.why == NO_VALUE:
        problem = f"{shown!r}: a number expected"
    else:
        assert found.why == OUTSIDE
        side = _side(layout, words)
        problem = _outside_text(layout, side, str(int(words[side])))
    raise ArtefactError(f"{layout.path}:{before + found.before + 1}: {problem}")


def _side(layout: Layout, words: list[bytes]) -> int:
    """Which of the two ids is the first outside of its range."""
    return next(i for i, size in enumerate((layout.rows, layout.columns)) if _outside(words[i], layout, size))


def _outside(word: bytes, layout: Layout, size: int) -> bool:
    if len(word.lstrip(b"+-").lstrip(b"0")) > LONGEST_WHOLE:  # more digits than Python converts, perhaps
        return True
    return not layout.first <= int(word) < layout.first + size


def _outside_text(layout: Layout, side: int, shown: str) -> str:
    size = (layout.rows, layout.columns)[side]
    last = f"{layout.first + size - 1}]" if layout.first else f"{size})"
    return f"{layout.ids[side]} {shown} is outside [{layout.first}, {last}"
