"""Graphs in files of other programs. The ending of the name says which; `.gz` may follow any of them.

- `.mtx`: Matrix Market, read and converted like a SciPy matrix (`inputs`): values that are not `pattern` are weights of
  the jobs. `unweighted` takes the pattern alone, whatever the values are.
- `.graph`: METIS. Jobs are the edges as the strict upper triangle, row by row; edge weights become job weights, vertex
  weights those of the data, several a vertex included. Sizes of vertices are refused: they weigh an objective, the
  communication volume, that no method has.
- `.hgr`: hMETIS. A vertex is a job, a net is a datum of all its vertices' jobs; vertex weights become job weights, net
  weights those of the data.
- `.txt`, `.el`, `.edges`, `.edgelist`, `.tsv`: one job a line, two ids from 0 and perhaps a weight; `#` and `%` begin
  comments. Label i belongs to the i-th line that is no comment.
- `.npz`: a saved LocalityGraph.

They may come from anybody: sizes are bounded, and whatever a line says is checked before it is used.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.files import holds
from tracecut.support.memory_amounts import size

from .conversions import from_matrix, from_pairs, upper_triangle

MOST_BYTES = 16 << 30


def read_graph(path: str | os.PathLike[str], *, unweighted: bool = False) -> LocalityGraph:
    """The locality graph in a file; `unweighted` passes over values that could be no weights.

    A saved dependence graph counts as its `as_locality`.

    Raises ArgumentError for a missing file or an ending that no reader knows, ArtefactError naming the file, the line
    and what was expected there. O(bytes).
    """
    file = Path(path)
    plain = file.name[:-3] if file.name.endswith(".gz") else file.name
    ending = Path(plain).suffix.lower()
    if file.is_dir():
        raise ArgumentError(f"graph is the path {str(file)!r}: a folder, a file was expected")
    if ending not in READERS:
        raise ArgumentError(
            f"graph is the path {str(file)!r}, whose ending is none of {', '.join(READERS)}",
            hint="Rename the file, or read it and pass arrays.",
        )
    if not file.is_file():
        raise ArgumentError(f"graph is the path {str(file)!r}: no such file")
    if ending == ".npz":
        return _saved(file)
    try:
        return READERS[ending](_Text(str(file), _bytes(file), unweighted))
    except ArtefactError:
        raise
    except ArgumentError as error:  # a rule of the graph itself
        raise ArtefactError(f"{file}: {error.message}", hint=error.hint) from None


def _saved(file: Path) -> LocalityGraph:
    if not holds(file, "DependenceGraph"):
        return LocalityGraph.load(file)
    from tracecut.ir.dependence_graph import DependenceGraph  # takes longer to import than this module

    return DependenceGraph.load(file).as_locality()


@dataclass(frozen=True)
class _Text:
    """The lines of a file. `lines` are (number, words) of those that hold something."""

    name: str
    content: bytes
    unweighted: bool

    def lines(self, comments: bytes, *, keep_empty: bool = False) -> list[tuple[int, list[bytes]]]:
        found = []
        for number, line in enumerate(self.content.splitlines(), 1):
            words = line.split()
            if words and words[0][:1] in comments:
                continue
            if words or keep_empty:
                found.append((number, words))
        return found

    def fail(self, line: int, problem: str) -> ArtefactError:
        return ArtefactError(f"{self.name}:{line}: {problem}")

    def numbers(self, rows: list[tuple[int, list[bytes]]], kind: type[np.generic]) -> npt.NDArray[Any]:
        """All words of `rows` as numbers."""
        words = [word for _, row in rows for word in row]
        try:
            return np.array(words, np.bytes_).astype(kind)
        except (ValueError, OverflowError):
            for line, row in rows:
                for word in row:
                    try:
                        np.array([word], np.bytes_).astype(kind)
                    except (ValueError, OverflowError):
                        what = "a whole number" if issubclass(kind, np.integer) else "a number"
                        raise self.fail(line, f"{word[:40].decode(errors='replace')!r}: {what} expected") from None
            raise self.fail(rows[0][0], "numbers expected") from None


def _bytes(file: Path) -> bytes:
    with open(file, "rb") as raw:
        head = raw.read(2)
    try:
        with gzip.open(file, "rb") if head == b"\x1f\x8b" else open(file, "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArtefactError(f"{file}: a damaged gzip file: {error}") from None
    if len(content) > MOST_BYTES:
        raise ArtefactError(f"{file}: more than {size(MOST_BYTES)} of text")
    return content


def _matrix_market(text: _Text) -> LocalityGraph:
    import scipy.io

    if not text.content.startswith(b"%%MatrixMarket"):
        raise text.fail(1, "'%%MatrixMarket' expected")
    try:
        matrix: Any = scipy.io.mmread(io.BytesIO(text.content), spmatrix=False)
    except (ValueError, OverflowError, TypeError, IndexError) as error:
        raise ArtefactError(f"{text.name}: {error}") from None
    if not hasattr(matrix, "tocoo"):
        raise ArtefactError(f"{text.name}: a dense matrix ('array'); a sparse one ('coordinate') was expected")
    # Mirrored entries stand after the others: row by row is the order that the stored entries have for everyone.
    general = b"general" in text.content.split(b"\n", 1)[0].lower()
    return from_matrix(matrix if general else matrix.tocsr(), unweighted=text.unweighted)


def _edge_list(text: _Text) -> LocalityGraph:
    rows = text.lines(b"#%")
    width = len(rows[0][1]) if rows else 2
    for line, row in rows:
        if len(row) != width or width not in (2, 3):
            raise text.fail(line, f"{len(row)} words, {'two ids' if width not in (2, 3) else width} expected")
    ids = text.numbers([(line, row[:2]) for line, row in rows], np.int64).reshape(-1, 2)
    _check_ids(text, rows, ids, 0, 2**31 - 1)
    weights = None
    if width == 3:
        weights = text.numbers([(line, row[2:]) for line, row in rows], np.float64)
        _check_weights(text, [line for line, _ in rows], weights)
    return from_pairs(ids[:, 0], ids[:, 1], weights)


def _metis(text: _Text) -> LocalityGraph:
    rows = text.lines(b"%", keep_empty=True)
    while rows and not rows[0][1]:
        rows.pop(0)
    n, m, form, constraints = _metis_header(text, rows, "vertices and edges")
    sizes, vertex_weights, edge_weights = form[-3] == "1", form[-2] == "1", form[-1] == "1"
    if sizes and not text.unweighted:
        raise ArtefactError(
            f"{text.name}:{rows[0][0]}: format {form!r} gives vertices sizes, which weigh the communication volume: "
            "no method here has that objective",
            hint="--unweighted (unweighted=True) reads the graph without any weights; or write it without sizes.",
        )
    body = rows[1:]
    while len(body) > n and not body[-1][1]:
        body.pop()
    if len(body) != n:
        raise text.fail(rows[0][0], f"{n} vertices announced, {len(body)} lines follow")
    skip = int(sizes) + (constraints if vertex_weights else 0)
    step = 2 if edge_weights else 1
    for line, row in body:
        if len(row) < skip or (len(row) - skip) % step:
            raise text.fail(line, f"{len(row)} numbers do not fit the format {form}")
    if vertex_weights:
        own = text.numbers([(line, row[int(sizes) : skip]) for line, row in body], np.float64).reshape(n, constraints)
        _check_weights(text, [line for line, _ in body], own)
    else:
        own = np.zeros((n, 0))
    near = text.numbers([(line, row[skip::step]) for line, row in body], np.int64)
    counts = np.array([(len(row) - skip) // step for _, row in body], np.int64)
    if near.size != 2 * m:
        raise text.fail(rows[0][0], f"{m} edges announced, {near.size} ends found; twice as many were expected")
    where = np.repeat(np.arange(n), counts)
    bad = np.flatnonzero((near < 1) | (near > n) | (near - 1 == where))
    if bad.size:
        line = body[int(where[bad[0]])][0]
        what = "a self-loop" if near[bad[0]] - 1 == where[bad[0]] else f"outside [1, {n}]"
        raise text.fail(line, f"neighbour {near[bad[0]]} is {what}")
    weights = np.ones(near.size)
    if edge_weights:
        weights = text.numbers([(line, row[skip + 1 :: 2]) for line, row in body], np.float64)
        _check_weights(text, [body[i][0] for i in where], weights)
    other = near - 1
    forward, backward = where * n + other, other * n + where
    order = np.argsort(forward, kind="stable")
    ordered = forward[order]
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if twice.size:
        place = int(order[twice[0] + 1])
        raise text.fail(body[int(where[place])][0], f"neighbour {near[place]} stands twice")
    mirror = np.minimum(np.searchsorted(ordered, backward), max(0, near.size - 1))
    odd = np.flatnonzero((ordered[mirror] != backward) | (weights[order][mirror] != weights)) if near.size else near
    if odd.size:
        place = int(odd[0])
        raise text.fail(
            body[int(where[place])][0],
            f"neighbour {near[place]} does not list this vertex, or with another weight: the graph must be symmetric",
        )
    upper = where < other
    kept = weights[upper] if edge_weights else None
    return upper_triangle(where[upper].astype(np.int32), other[upper].astype(np.int32), n, kept, own)


def _metis_header(text: _Text, rows: list[tuple[int, list[bytes]]], what: str) -> tuple[int, int, str, int]:
    if not rows or not 2 <= len(rows[0][1]) <= 4:
        raise text.fail(rows[0][0] if rows else 1, f"the numbers of {what}, and perhaps a format, expected")
    line, words = rows[0]
    numbers = text.numbers([(line, words[:2] + words[3:])], np.int64).tolist()
    form = (words[2].decode(errors="replace") if len(words) > 2 else "0").zfill(3)
    if len(form) != 3 or set(form) - {"0", "1"}:
        raise text.fail(line, f"format {form!r}, three digits 0 or 1 expected")
    if not all(0 <= number < 2**31 for number in numbers):
        raise text.fail(line, f"{numbers}: numbers below 2**31 expected")
    return numbers[0], numbers[1], form, numbers[2] if len(numbers) > 2 else 1


def _hmetis(text: _Text) -> LocalityGraph:
    rows = text.lines(b"%")
    nets, vertices, form, _ = _metis_header(text, rows, "nets and vertices")
    net_weights, vertex_weights = form[-1] == "1", form[-2] == "1"
    if form[-3] == "1":
        raise text.fail(rows[0][0], f"format {form!r}, one of 0, 1, 10 and 11 expected")
    wanted = 1 + nets + (vertices if vertex_weights else 0)
    if len(rows) != wanted:
        raise text.fail(rows[0][0], f"{wanted - 1} lines announced, {len(rows) - 1} follow")
    body = [(line, row[1:] if net_weights else row) for line, row in rows[1 : 1 + nets]]
    pins = text.numbers(body, np.int64)
    where = np.repeat(np.arange(nets), [len(row) for _, row in body])
    bad = np.flatnonzero((pins < 1) | (pins > vertices))
    if bad.size:
        raise text.fail(body[int(where[bad[0]])][0], f"vertex {pins[bad[0]]} is outside [1, {vertices}]")
    optional: dict[str, Any] = {}
    if net_weights:
        given = text.numbers([(line, row[:1]) for line, row in rows[1 : 1 + nets]], np.float64)
        _check_weights(text, [line for line, _ in rows[1 : 1 + nets]], given)
        optional["data_weights"] = given if (given != 1.0).any() else given[:0]
    if vertex_weights:
        last = rows[1 + nets :]
        for line, row in last:
            if len(row) != 1:
                raise text.fail(line, f"{len(row)} words, the weight of one vertex expected")
        optional["job_weights"] = text.numbers(last, np.float64)
        _check_weights(text, [line for line, _ in last], optional["job_weights"])
        if (optional["job_weights"] == 1.0).all():
            del optional["job_weights"]
    order = np.argsort(pins, kind="stable")
    counts = np.bincount(pins - 1, minlength=vertices) if pins.size else np.zeros(vertices, np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return LocalityGraph(offsets, where[order].astype(np.int32), nets, **optional)


def _check_ids(text: _Text, rows: list[tuple[int, list[bytes]]], ids: npt.NDArray[Any], low: int, high: int) -> None:
    bad = np.flatnonzero(((ids < low) | (ids >= high)).any(axis=1))
    if bad.size:
        row = ids[bad[0]]
        wrong = row[(row < low) | (row >= high)][0]
        raise text.fail(rows[int(bad[0])][0], f"id {wrong} is outside [{low}, {high})")


def _check_weights(text: _Text, lines: list[int], weights: npt.NDArray[np.float64]) -> None:
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        line = lines[int(bad[0]) // (weights.shape[1] if weights.ndim == 2 else 1)]
        raise text.fail(line, f"weight {weights.ravel()[bad[0]]}, a finite number of at least 0 was expected")


READERS: dict[str, Callable[[_Text], LocalityGraph]] = {
    ".mtx": _matrix_market,
    ".graph": _metis,
    ".hgr": _hmetis,
    ".txt": _edge_list,
    ".el": _edge_list,
    ".edges": _edge_list,
    ".edgelist": _edge_list,
    ".tsv": _edge_list,
    ".npz": lambda text: _saved(Path(text.name)),
}
