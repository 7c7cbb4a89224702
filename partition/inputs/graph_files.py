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
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.locality_graph import LocalityGraph
from tracecut.support.arrays import Ints
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.files import holds
from tracecut.support.memory_amounts import size

from .conversions import from_matrix, from_pairs, upper_triangle
from .entries.adjacency_files import metis_head, read_adjacency
from .entries.coordinate_lines import SHOWN, WHOLE, Chunk, line_of_entry
from .entries.file_layouts import counted_chunks, edges_head, market_head
from .entries.text_pieces import odd_byte, words_of
from .entries.to_csr import GENERAL, to_csr
from .file_endings import ending_of

MOST_BYTES = 16 << 30


def read_graph(path: str | os.PathLike[str], *, unweighted: bool = False) -> LocalityGraph:
    """The locality graph in a file; `unweighted` passes over values that could be no weights.

    A saved dependence graph counts as its `as_locality`.

    Raises ArgumentError for a missing file or an ending that no reader knows, ArtefactError naming the file, the line
    and what was expected there. O(bytes).
    """
    file = Path(path)
    ending = ending_of(file, READERS, "graph is the path", "arrays")
    if ending == ".npz":
        return _saved(file)
    try:
        return READERS[ending](file, unweighted)
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

    def lines(self, comments: bytes) -> list[tuple[int, list[bytes]]]:
        found = []
        for number, line in enumerate(self.content.splitlines(), 1):
            words = words_of(line)
            if words and words[0][:1] not in comments:
                if odd := odd_byte(line):
                    raise self.fail(number, odd)
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
                        shown = word[:SHOWN].decode(errors="replace")
                        what = "a whole number" if issubclass(kind, np.integer) else "a number"
                        problem = f"{shown!r}: {what} expected"
                        if WHOLE.fullmatch(word):
                            problem = f"{shown} is outside [-2**63, 2**63 - 1]"
                        raise self.fail(line, problem) from None
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


def _matrix_market(path: Path, unweighted: bool) -> LocalityGraph:
    import scipy.sparse as sp

    head = market_head(path)
    chunks = counted_chunks(head)
    shape = (head.layout.rows, head.layout.columns)
    if head.mirror != GENERAL:  # mirrored entries have no place in the file: row by row is the order for everyone
        return from_matrix(to_csr(chunks, shape, head.dtype, head.mirror, None), unweighted=unweighted)
    rows, columns, values = _together(chunks(), head.dtype)
    ones = np.ones(0 if values.size else rows.size)  # the values of a pattern
    return from_matrix(
        sp.coo_array((values if values.size else ones, (rows, columns)), shape=shape), unweighted=unweighted
    )


def _edge_list(path: Path, unweighted: bool) -> LocalityGraph:
    head = edges_head(path)
    rows, columns, values = _together(counted_chunks(head)(), head.dtype)
    if values.size:
        _check_weights(values, lambda i: f"{path}:{line_of_entry(head.layout, i)}")
    return from_pairs(rows, columns, values if values.size else None)


def _together(chunks: Iterable[Chunk], dtype: type[np.generic]) -> tuple[Ints, Ints, npt.NDArray[Any]]:
    """All entries of a file, in its order."""
    found = list(chunks)
    parts = ([chunk.rows for chunk in found], [chunk.columns for chunk in found])
    rows, columns = (np.concatenate([np.zeros(0, np.int32), *part]) for part in parts)
    return rows, columns, np.concatenate([np.zeros(0, dtype), *(chunk.values.view(dtype) for chunk in found)])


def _metis(path: Path, unweighted: bool) -> LocalityGraph:
    head = metis_head(path)
    if head.form[0] == "1" and not unweighted:
        raise ArtefactError(
            f"{path}:{head.line}: format {head.form!r} gives vertices sizes, which weigh the communication volume: "
            "no method here has that objective",
            hint="--unweighted (unweighted=True) reads the graph without any weights; or write it without sizes.",
        )
    found = read_adjacency(head)
    _check_weights(found.own, lambda i: f"{path}:{found.lines[i]}")
    _check_weights(found.weights, lambda i: f"{path}:{found.line_of(i)}")
    where = np.repeat(np.arange(head.vertices, dtype=np.int32), np.diff(found.offsets))
    upper = where < found.near
    kept = found.weights[upper] if found.weights.size else None
    return upper_triangle(where[upper], found.near[upper], head.vertices, kept, found.own)


def _hmetis(path: Path, unweighted: bool) -> LocalityGraph:
    text = _Text(str(path), _bytes(path))
    rows = text.lines(b"%")
    nets, vertices, form = _hmetis_header(text, rows)
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
        _check_weights(given, lambda i: f"{path}:{rows[1 + i][0]}")
        optional["data_weights"] = given if (given != 1.0).any() else given[:0]
    if vertex_weights:
        last = rows[1 + nets :]
        for line, row in last:
            if len(row) != 1:
                raise text.fail(line, f"{len(row)} words, the weight of one vertex expected")
        optional["job_weights"] = text.numbers(last, np.float64)
        _check_weights(optional["job_weights"], lambda i: f"{path}:{last[i][0]}")
        if (optional["job_weights"] == 1.0).all():
            del optional["job_weights"]
    order = np.argsort(pins, kind="stable")
    counts = np.bincount(pins - 1, minlength=vertices) if pins.size else np.zeros(vertices, np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return LocalityGraph(offsets, where[order].astype(np.int32), nets, **optional)


def _hmetis_header(text: _Text, rows: list[tuple[int, list[bytes]]]) -> tuple[int, int, str]:
    if not rows or not 2 <= len(rows[0][1]) <= 3:
        raise text.fail(rows[0][0] if rows else 1, "the numbers of nets and vertices, and perhaps a format, expected")
    line, words = rows[0]
    nets, vertices = text.numbers([(line, words[:2])], np.int64).tolist()
    form = (words[2].decode(errors="replace") if len(words) > 2 else "0").zfill(3)
    if len(form) != 3 or set(form) - {"0", "1"}:
        raise text.fail(line, f"format {form!r}, three digits 0 or 1 expected")
    if not all(0 <= number < 2**31 for number in (nets, vertices)):
        raise text.fail(line, f"{nets} {vertices}: numbers below 2**31 expected")
    return nets, vertices, form


def _check_weights(weights: npt.NDArray[np.float64], where: Callable[[int], str]) -> None:
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        place = int(bad[0]) // (weights.shape[1] if weights.ndim == 2 else 1)
        raise ArtefactError(
            f"{where(place)}: weight {weights.ravel()[bad[0]]}, a finite number of at least 0 was expected"
        )


READERS: dict[str, Callable[[Path, bool], LocalityGraph]] = {
    ".mtx": _matrix_market,
    ".graph": _metis,
    ".hgr": _hmetis,
    ".txt": _edge_list,
    ".el": _edge_list,
    ".edges": _edge_list,
    ".edgelist": _edge_list,
    ".tsv": _edge_list,
    ".npz": lambda path, unweighted: _saved(path),
}
