"""METIS files: after a head, one line a vertex with its neighbours, parsed piece by piece by compiled code."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.arrays import Floats, Ints, Longs
from tracecut.support.errors import ArtefactError

from .coordinate_lines import SHOWN
from .file_layouts import LONGEST_LINE
from .number_lines import DONE, UNDECIDED, decided, line_at, lines_of, scan_numbers, word_at
from .text_pieces import Told, line_pieces, odd_byte, open_text, unheard, words_of

_COMMENT = np.uint8(ord("%"))


@dataclass(frozen=True)
class MetisHead:
    """numbers: vertices, edges. form: three digits, whether vertices have sizes and weights, and edges weights.
    constraints: weights a vertex. line: of the head. skip: bytes up to its end."""

    path: Path
    vertices: int
    edges: int
    form: str
    constraints: int
    line: int
    skip: int

    def fail(self, line: int, problem: str) -> ArtefactError:
        return ArtefactError(f"{self.path}:{line}: {problem}")


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The lists of a symmetric graph: each edge from both ends.

    offsets: int64 (n + 1). near: int32 (2 m), neighbours from 0, in the order of the file. weights: float64 (2 m), or
    none. own: float64 (n, constraints), weights of the vertices. lines: int64 (n), where each vertex stands.
    """

    head: MetisHead
    offsets: Longs
    near: Ints
    weights: Floats
    own: Floats
    lines: Longs

    def line_of(self, place: int) -> int:
        """The line on which `near[place]` stands."""
        return int(self.lines[np.searchsorted(self.offsets, place, side="right") - 1])


def metis_head(path: Path) -> MetisHead:
    """Raises ArtefactError naming the line and what was expected there."""
    line, words = 0, list[bytes]()
    with open_text(path) as text:
        try:
            while not words and (content := text.readline(LONGEST_LINE)):
                line += 1
                words = words_of(content)
                words = [] if words and words[0].startswith(b"%") else words
                if words and (odd := odd_byte(content)):
                    raise ArtefactError(f"{path}:{line}: {odd}")
            skip = text.tell()
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ArtefactError(f"{path}: a damaged gzip file: {error}") from None
    if not 2 <= len(words) <= 4:
        raise ArtefactError(f"{path}:{max(1, line)}: the numbers of vertices and edges, and perhaps a format, expected")
    form = (words[2].decode(errors="replace") if len(words) > 2 else "0").zfill(3)
    numbers = []
    for word in words[:2] + words[3:]:
        try:
            numbers.append(int(word))
        except ValueError:
            shown = word[:SHOWN].decode(errors="replace")
            raise ArtefactError(f"{path}:{line}: {shown!r}: a whole number expected") from None
    if len(form) != 3 or set(form) - {"0", "1"}:
        raise ArtefactError(f"{path}:{line}: format {form!r}, three digits 0 or 1 expected")
    if not all(0 <= number < 2**31 for number in numbers):
        raise ArtefactError(f"{path}:{line}: {numbers}: numbers below 2**31 expected")
    return MetisHead(path, numbers[0], numbers[1], form, numbers[2] if len(numbers) > 2 else 1, line, skip)


def read_adjacency(head: MetisHead, told: Told = unheard) -> Adjacency:
    """The lists of a METIS file, checked: each neighbour in range, once, listed from both ends with one weight.

    Raises ArtefactError naming the line. O(bytes) time; memory: the lists twice.
    """
    pieces, base = [], head.line
    for text in line_pieces(head.path, head.skip, told):
        pieces.append(_parse(head, text, base))
        base += pieces[-1][2]
    lengths = np.concatenate([np.zeros(0, np.int64), *(lengths for _, lengths, _ in pieces)])
    numbers = np.concatenate([np.zeros(0), *(numbers for numbers, _, _ in pieces)])
    del pieces
    lines = np.flatnonzero(lengths >= 0) + head.line + 1
    lengths = lengths[lengths >= 0]
    n = head.vertices
    while lengths.size > n and lengths[-1] == 0:
        lengths = lengths[: max(n, np.flatnonzero(lengths).max(initial=-1) + 1)]
    if lengths.size != n:
        raise head.fail(head.line, f"{n} vertices announced, {lengths.size} lines follow")
    skip = int(head.form[0] == "1") + (head.constraints if head.form[1] == "1" else 0)
    step = 2 if head.form[2] == "1" else 1
    odd = np.flatnonzero((lengths < skip) | ((lengths - skip) % step != 0))
    if odd.size:
        place = int(odd[0])
        raise head.fail(int(lines[place]), f"{lengths[place]} numbers do not fit the format {head.form}")
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)[:n]
    own = numbers[(starts[:, None] + np.arange(int(head.form[0]), skip)).ravel()]
    own = own.reshape(n, skip - int(head.form[0]))
    rest = np.ones(numbers.size, bool)
    rest[(starts[:, None] + np.arange(skip)).ravel()] = False
    pairs = numbers[rest]
    offsets = np.concatenate([[0], np.cumsum((lengths - skip) // step)]).astype(np.int64)
    found = Adjacency(head, offsets, np.zeros(0, np.int32), pairs[1::2] if step == 2 else np.zeros(0), own, lines)
    return _checked(found, pairs[::step])


def _parse(head: MetisHead, text: npt.NDArray[np.uint8], before: int) -> tuple[Floats, Longs, int]:
    """All numbers of a piece, how many stand on each line (-1 on comments), and the lines."""
    lines = int(lines_of(text))
    floats = np.empty(text.size // 2 + 1)
    counts = np.zeros(lines, np.int64)
    state, known = np.zeros(4, np.int64), np.empty((0, 2))
    while (why := scan_numbers(text, floats, counts, _COMMENT, known, state)) != DONE:
        if why != UNDECIDED:
            shown = word_at(text, int(state[3]))[:SHOWN].decode(errors="replace")
            problem = odd_byte(line_at(text, int(state[2]))) or f"{shown!r}: a number expected"
            raise head.fail(before + int(state[1]) + 1, problem)
        known = decided(text, known, state)
    return floats[: state[0]].copy(), counts, lines


def _checked(found: Adjacency, near: Floats) -> Adjacency:
    head, n = found.head, found.head.vertices
    if near.size != 2 * head.edges:
        raise head.fail(head.line, f"{head.edges} edges announced, {near.size} ends found; twice as many were expected")
    where = np.repeat(np.arange(n, dtype=np.int32), np.diff(found.offsets))
    bad = np.flatnonzero(~((near >= 1) & (near <= n) & (near == np.floor(near))) | (near - 1 == where))
    if bad.size:
        value = near[bad[0]]
        what = "is a self-loop" if value - 1 == where[bad[0]] else f"is outside [1, {n}]"
        if value != np.floor(value):
            raise head.fail(found.line_of(bad[0]), f"'{value:g}': a whole number expected")
        raise head.fail(found.line_of(bad[0]), f"neighbour {value:.0f} {what}")
    ids = (near - 1).astype(np.int32)
    _check_mirrored(found, ids, where)
    return Adjacency(head, found.offsets, ids, found.weights, found.own, found.lines)


def _check_mirrored(found: Adjacency, ids: Ints, where: Ints) -> None:
    """Each edge from both ends, with one weight, once: the matrix equals its transpose, sorted by counting."""
    import scipy.sparse as sp

    n = found.head.vertices
    data: npt.NDArray[Any] = found.weights if found.weights.size else np.ones(ids.size, np.int8)
    other = sp.csr_array((data, ids, found.offsets), shape=(n, n)).tocsc()
    own = other.tocsr()
    twice = (own.indices[1:] == own.indices[:-1]) & (where[1:] == where[:-1])
    same = (
        np.array_equal(own.indptr, other.indptr)
        and np.array_equal(own.indices, other.indices)
        and np.array_equal(own.data, other.data)
    )
    if same and not twice.any():
        return
    first = dict[tuple[int, int], int]()
    for place, pair in enumerate(zip(where.tolist(), ids.tolist(), strict=True)):
        if pair in first:
            raise found.head.fail(found.line_of(place), f"neighbour {pair[1] + 1} stands twice")
        first[pair] = place
    for (row, column), place in first.items():
        mirror = first.get((column, row))
        if mirror is None or data[mirror] != data[place]:
            raise found.head.fail(
                found.line_of(place),
                f"neighbour {column + 1} does not list this vertex, or with another weight: "
                "the graph must be symmetric",
            )
