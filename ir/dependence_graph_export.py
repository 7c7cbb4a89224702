"""Dependence graphs in the formats of other tools. All are written atomically, row by row in bounded memory.

A vertex is one execution of a static instruction. What these are (opcode, function, `file:line`) stands with each
vertex in GraphML and DOT, some 150 bytes a vertex; all other formats have it once, in tables: npz as members
(`static_…`), the others in files beside them, `NAME.instructions…` with a row for each instruction and
`NAME.vertices…`, in which row v names the instruction of vertex v, and its time. Without `table` the graph knows the
numbers alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from xml.sax.saxutils import escape

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError
from tracecut.support.file_kinds import is_special
from tracecut.support.files import write_atomic
from tracecut.support.parquet import arrow, dictionary, write_parquet

from .dependence_kinds import KINDS
from .instruction_table import Instructions

STEP = 1 << 16
BATCH = 1 << 20  # rows of a group in Parquet files


class Edges(Protocol):
    """What is written of a graph (`dependence_graph.DependenceGraph`)."""

    @property
    def n(self) -> int: ...
    @property
    def m(self) -> int: ...
    @property
    def src(self) -> npt.NDArray[Any]: ...
    @property
    def dst(self) -> npt.NDArray[Any]: ...
    @property
    def weight(self) -> npt.NDArray[Any]: ...
    @property
    def kind(self) -> npt.NDArray[Any]: ...
    @property
    def instruction(self) -> npt.NDArray[Any]: ...
    @property
    def time(self) -> npt.NDArray[Any]: ...
    @property
    def table(self) -> Instructions | None: ...
    def save(self, path: str | os.PathLike[str]) -> Path: ...


def check_export(path: str | os.PathLike[str]) -> Path:
    """The path, if its name is valid for `export`. Call this before the graph is made.

    Raises ArgumentError for a folder and for an unknown ending, UnsupportedError for Parquet without pyarrow.
    """
    target = Path(path)
    if target.is_dir():
        raise ArgumentError(f"{target}: a folder, the name of a file was expected")
    if target.suffix == ".parquet":
        arrow()
    elif target.suffix != ".npz" and target.suffix not in FORMATS:
        raise ArgumentError(
            f"{target}: the ending {target.suffix!r} is not a graph format",
            hint=f"Known: .npz, .parquet, {', '.join(FORMATS)}.",
        )
    return target


def export(graph: Edges, path: str | os.PathLike[str]) -> Path:
    """Write the graph in the format that the ending of `path` names. Raises what `check_export` does."""
    target = check_export(path)
    if target.suffix == ".npz":
        return graph.save(target)
    if target.suffix == ".parquet":
        return parquet(graph, target)
    if target.suffix not in LABELLED and graph.table is not None and not is_special(target):
        _write_lines(target.with_name(f"{target.stem}.instructions.tsv"), instruction_rows(graph.table))
        _write_lines(target.with_name(f"{target.stem}.vertices.tsv"), vertex_rows(graph))
    return _write_lines(target, FORMATS[target.suffix](graph))


def _write_lines(target: Path, lines: Iterator[str]) -> Path:
    def write(file: BinaryIO) -> None:
        for text in lines:
            file.write(text.encode(errors="surrogateescape"))

    return write_atomic(target, write)


def instruction_rows(table: Instructions) -> Iterator[str]:
    """Static instructions, one a line, fields between tabs: number, opcode, function, file, line, column."""
    yield "\t".join(["instruction", *table.fields()]) + "\n"
    for first in range(0, table.size, STEP):
        columns = [
            values[first : first + STEP].tolist()
            if names is None
            else [_field(names[place]) for place in values[first : first + STEP]]
            for values, names in table.fields().values()
        ]
        yield "".join(
            "\t".join(map(str, (first + place, *row))) + "\n" for place, row in enumerate(zip(*columns, strict=True))
        )


def vertex_rows(graph: Edges) -> Iterator[str]:
    """Vertices from 0, one a line, fields between tabs: number, static instruction, time."""
    yield "vertex\tinstruction\ttime\n"
    for first, instruction, time in _vertices(graph):
        rows = zip(instruction, time, strict=True)
        yield "".join(f"{first + place}\t{a}\t{b}\n" for place, (a, b) in enumerate(rows))


def _field(text: str) -> str:
    """A name without what ends fields and lines."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def edge_list(graph: Edges) -> Iterator[str]:
    """`source target weight kind`, one edge a line, vertices from 0."""
    for src, dst, weight, kind in _edges(graph):
        yield "".join(f"{a} {b} {c} {KINDS[d]}\n" for a, b, c, d in zip(src, dst, weight, kind, strict=True))


def dot(graph: Edges) -> Iterator[str]:
    """Graphviz; the label of a vertex is its number and what its static instruction is."""
    names = _Names(graph.table, lambda number: str(number), lambda table, number: _quoted(table.label(number)))
    yield "digraph dependences {\n"
    for first, instruction, time in _vertices(graph):
        yield "".join(
            f'  {first + i} [label="{first + i}: {names.of(a)}", time={b}];\n'
            for i, (a, b) in enumerate(zip(instruction, time, strict=True))
        )
    for src, dst, weight, kind in _edges(graph):
        yield "".join(
            f'  {a} -> {b} [weight={c}, kind="{KINDS[d]}"];\n'
            for a, b, c, d in zip(src, dst, weight, kind, strict=True)
        )
    yield "}\n"


def graphml(graph: Edges) -> Iterator[str]:
    """GraphML: vertices with instruction, time, opcode, function, file and line, edges with weight and kind."""
    names = _Names(graph.table, lambda _: "", _data)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for name, of, type in (
        ("instruction", "node", "int"),
        ("time", "node", "int"),
        *((name, "node", "int" if name == "line" else "string") for name in _ATTRIBUTES if graph.table is not None),
        ("weight", "edge", "int"),
        ("kind", "edge", "string"),
    ):
        yield f'<key id="{name}" for="{of}" attr.name="{name}" attr.type="{type}"/>\n'
    yield '<graph edgedefault="directed">\n'
    for first, instruction, time in _vertices(graph):
        yield "".join(
            f'<node id="{first + i}"><data key="instruction">{a}</data><data key="time">{b}</data>'
            f"{names.of(a)}</node>\n"
            for i, (a, b) in enumerate(zip(instruction, time, strict=True))
        )
    count = 0
    for src, dst, weight, kind in _edges(graph):
        yield "".join(
            f'<edge id="e{count + i}" source="{a}" target="{b}"><data key="weight">{c}</data>'
            f'<data key="kind">{KINDS[d]}</data></edge>\n'
            for i, (a, b, c, d) in enumerate(zip(src, dst, weight, kind, strict=True))
        )
        count += len(src)
    yield "</graph>\n</graphml>\n"


def metis(graph: Edges) -> Iterator[str]:
    """METIS: undirected, vertices from 1, the weights of parallel edges added up; a weight of 0 counts as 1."""
    import scipy.sparse as sp

    shape = (graph.n, graph.n)
    half = sp.coo_array((np.maximum(graph.weight, 1).astype(np.int64), (graph.src, graph.dst)), shape=shape).tocsr()
    whole = (half + half.T).tocsr()
    whole.sort_indices()
    yield f"{graph.n} {whole.nnz // 2} 001\n"
    for first in range(0, graph.n, STEP):
        rows = range(first, min(first + STEP, graph.n))
        yield "".join(
            " ".join(
                f"{other + 1} {weight}"
                for other, weight in zip(
                    whole.indices[whole.indptr[row] : whole.indptr[row + 1]].tolist(),
                    whole.data[whole.indptr[row] : whole.indptr[row + 1]].tolist(),
                    strict=True,
                )
            )
            + "\n"
            for row in rows
        )


def parquet(graph: Edges, path: Path) -> Path:
    """Edges (src, dst, weight, kind by name) in `path`, vertices (instruction, time) beside it in `….vertices.parquet`.

    Row v of the vertices is vertex v; row i of `….instructions.parquet` is the static instruction i. Raises
    UnsupportedError without pyarrow.
    """
    if graph.table is not None:
        described = {
            name: values if words is None else dictionary(values, list(map(_field, words)))
            for name, (values, words) in graph.table.fields().items()
        }
        write_parquet(path.with_name(f"{path.stem}.instructions.parquet"), [described])
    vertices = {"instruction": graph.instruction, "time": graph.time}
    write_parquet(path.with_name(f"{path.stem}.vertices.parquet"), [vertices])
    names = list(KINDS.values())
    columns = {"src": graph.src, "dst": graph.dst, "weight": graph.weight}
    return write_parquet(
        path,
        (
            {name: values[first : first + BATCH] for name, values in columns.items()}
            | {"kind": dictionary(graph.kind[first : first + BATCH] - 1, names)}
            for first in range(0, max(1, graph.m), BATCH)
        ),
    )


FORMATS: dict[str, Callable[[Edges], Iterator[str]]] = {
    ".graphml": graphml,
    ".dot": dot,
    ".graph": metis,
    **dict.fromkeys((".txt", ".el", ".edges", ".tsv"), edge_list),
}


LABELLED = (".graphml", ".dot")
_ATTRIBUTES = ("opcode", "function", "file", "line")


class _Names:
    """A text for each static instruction, made when it is first asked for."""

    def __init__(
        self,
        table: Instructions | None,
        plain: Callable[[int], str],
        told: Callable[[Instructions, int], str],
    ) -> None:
        self._known: dict[int, str] = {}
        self._make = plain if table is None else lambda number: told(table, number)

    def of(self, number: int) -> str:
        if number not in self._known:
            self._known[number] = self._make(number)
        return self._known[number]


def _quoted(text: str) -> str:
    return _field(text).replace("\\", "\\\\").replace('"', '\\"')


def _data(table: Instructions, number: int) -> str:
    found = table.attributes(number)
    return "".join(f'<data key="{key}">{escape(_field(str(value)))}</data>' for key, value in found.items())


def _edges(graph: Edges) -> Iterator[tuple[Any, Any, Any, Any]]:
    for first in range(0, graph.m, STEP):
        part = slice(first, first + STEP)
        columns = (graph.src, graph.dst, graph.weight, graph.kind)
        yield tuple(column[part].tolist() for column in columns)


def _vertices(graph: Edges) -> Iterator[tuple[int, Any, Any]]:
    for first in range(0, graph.n, STEP):
        yield first, graph.instruction[first : first + STEP].tolist(), graph.time[first : first + STEP].tolist()
