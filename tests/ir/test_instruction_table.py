"""What the vertices of a graph are executions of: the table, and how every format of a graph names them."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

import networkx
import numpy as np
import pytest
from tracecut.ir.dependence_graph import DependenceGraph
from tracecut.ir.instruction_table import Instructions
from tracecut.support.errors import ArgumentError, ArtefactError
from tracecut.support.files import write_arrays

from tracecut.api.dependence_graph import build_graph

ROWS = [
    ("load", "main", "a.c", 7, 3),
    ("add", "main", "a.c", 8, 1),
    ("store", 'operator<"é\t>', "b/ü &.h", 9, 2),
    ("br", "main", "", 0, 0),
]
TABLE = Instructions.of(ROWS)
GRAPH = DependenceGraph([0, 1], [1, 3], [1, 4], [1, 2], [0, 1, 3, 2], [4, 1, 0, 4], TABLE)


def test_a_table_says_what_an_instruction_is() -> None:
    assert (TABLE.size, TABLE.opcodes, TABLE.files) == (4, ("load", "add", "store", "br"), ("a.c", "b/ü &.h", ""))
    assert [TABLE.place(number) for number in range(4)] == ["a.c:7", "a.c:8", "b/ü &.h:9", ""]
    assert TABLE.label(0) == "load main a.c:7" and TABLE.label(3) == "br main"
    assert TABLE.attributes(3) == {"opcode": "br", "function": "main"}
    assert GRAPH.with_one_source().table is TABLE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"opcode": [0, 1, 2, 4]}, "opcode has entries outside of 0 to 3"),
        ({"line": [1, 2, 3, -1]}, "line has entries outside"),
        ({"file": [0, 0]}, "file has 2 entries, 4 expected"),
        ({"functions": ("main", "a\0b")}, "functions has a name with a NUL"),
    ],
)
def test_tables_that_are_none(change: dict[str, object], message: str) -> None:
    fields = ("opcode", "function", "file", "line", "column", "opcodes", "functions", "files")
    with pytest.raises(ArgumentError, match=message):
        Instructions(**({name: getattr(TABLE, name) for name in fields} | change))


def test_a_graph_has_no_instruction_that_its_table_lacks() -> None:
    with pytest.raises(ArgumentError, match=r"instruction\[1\] = 4, of 4 in the table"):
        DependenceGraph([], [], [], [], [0, 4], [0, 0], TABLE)


def test_files_bring_the_table_along(tmp_path: Path) -> None:
    path = GRAPH.save(tmp_path / "g.npz")
    again = DependenceGraph.load(path).table
    assert again is not None and [again.label(number) for number in range(4)] == list(map(TABLE.label, range(4)))
    assert DependenceGraph.load(path).save(tmp_path / "again.npz").read_bytes() == path.read_bytes()
    with np.load(path) as members:
        files = members["static_files"].tobytes().decode().split("\0")
        assert files[int(members["static_file"][members["instruction"][3]])] == "b/ü &.h"
    data = TABLE.members()
    del data["static_line"]
    with pytest.raises(ArgumentError, match="not complete"):
        Instructions.from_members(data)
    with pytest.raises(ArgumentError, match="no end"):
        Instructions.from_members(TABLE.members() | {"static_files": np.frombuffer(b"abc", np.uint8)})
    arrays = {name: getattr(GRAPH, name) for name in ("src", "dst", "weight", "kind", "instruction", "time")}
    arrays |= TABLE.members() | {"static_line": np.array([1, 2], np.int32)}
    with pytest.raises(ArtefactError, match="line has 2 entries"):
        DependenceGraph.load(write_arrays(tmp_path / "b.npz", "DependenceGraph", arrays, {}, bare=True))


def test_graphml_names_each_vertex(tmp_path: Path) -> None:
    nodes = networkx.read_graphml(GRAPH.export(tmp_path / "g.graphml")).nodes
    known = {"opcode": "load", "function": "main", "file": "a.c", "line": 7}
    assert nodes["0"] == {"instruction": 0, "time": 4, **known}
    assert nodes["3"]["function"] == 'operator<"é?>' and nodes["3"]["file"] == "b/ü &.h"
    assert nodes["2"] == {"instruction": 3, "time": 0, "opcode": "br", "function": "main"}
    assert GRAPH.to_networkx().nodes[1]["line"] == 8


def test_dot_names_each_vertex(tmp_path: Path) -> None:
    lines = GRAPH.export(tmp_path / "g.dot").read_text().splitlines()
    assert '  1 [label="1: add main a.c:8", time=1];' in lines
    assert '  3 [label="3: store operator<\\"é?> b/ü &.h:9", time=4];' in lines


@pytest.mark.parametrize("name", ["g.graph", "g.txt"])
def test_tables_stand_beside_lists(tmp_path: Path, name: str) -> None:
    GRAPH.export(tmp_path / name)
    rows = [line.split("\t") for line in (tmp_path / "g.instructions.tsv").read_text().splitlines()]
    assert rows[0] == ["instruction", "opcode", "function", "file", "line", "column"]
    assert rows[1] == ["0", "load", "main", "a.c", "7", "3"] and rows[3][2] == 'operator<"é?>' and len(rows) == 5
    vertices = (tmp_path / "g.vertices.tsv").read_text().splitlines()
    assert vertices == ["vertex\tinstruction\ttime", "0\t0\t4", "1\t1\t1", "2\t3\t0", "3\t2\t4"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "g.instructions.tsv", "g.vertices.tsv"])


def test_parquet_has_a_table_of_its_own(tmp_path: Path) -> None:
    GRAPH.export(tmp_path / "g.parquet")
    table = importlib.import_module("pyarrow.parquet").read_table(tmp_path / "g.instructions.parquet").to_pydict()
    assert table["opcode"] == ["load", "add", "store", "br"] and table["line"] == [7, 8, 9, 0]
    assert table["file"] == ["a.c", "a.c", "b/ü &.h", ""]


def test_a_traced_program_has_names(tmp_path: Path) -> None:
    source = tmp_path / "p.c"
    source.write_text(
        "static int twice(int x) {\n  return x * 7;\n}\nint main(int c, char **v) {\n  return twice(c);\n}\n"
    )
    graph = build_graph(source, opt="seed").graph
    assert graph.table is not None
    labels = [graph.table.label(number) for number in graph.instruction.tolist()]
    assert sum(re.fullmatch(r"mul twice \S*p\.c:2", label) is not None for label in labels) == 1
    assert sum(re.fullmatch(r"call main \S*p\.c:5", label) is not None for label in labels) == 1
    assert all(re.search(r" (twice|main) \S*p\.c:\d$", label) for label in labels)
