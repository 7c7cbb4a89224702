"""Graphs in files of other programs, and damaged ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import LocalityGraph
from tracecut.ir.dependence_graph import DependenceGraph
from tracecut.partition import partition
from tracecut.partition.inputs.graph_files import READERS, read_graph
from tracecut.support.errors import ArgumentError, ArtefactError, TracecutError

pytestmark = pytest.mark.quick

HEAD = "%%MatrixMarket matrix coordinate "
GOOD = {
    "symmetric.mtx": (HEAD + "pattern symmetric\n% a comment\n3 3 3\n1 1\n3 1\n3 2\n", [[0, 2], [1, 2]]),
    "general.mtx": (HEAD + "real general\n2 3 3\n2 3 1.5\n1 1 1\n2 1 4\n", [[1, 4], [0, 2], [1, 2]]),
    "path.graph": ("% a comment\n\n4 2\n2\n1 3\n\n% another\n2\n\n".replace("\n\n% another", "\n% another"), None),
    "isolated.graph": ("4 2\n3\n\n1 4\n3\n", [[0, 2], [2, 3]]),
    "weighted.graph": ("3 2 011 2\n7 7 2 5\n7 7 1 5 3 6\n7 7 2 6\n", [[0, 1], [1, 2]]),
    "list.txt": ("# u v\n3 1\n\n0 0\n% x\n3 1\n", [[3, 1], [0, 0], [3, 1]]),
    "weighted.el": ("0 1 2.5\n1 2 1e3\n", [[0, 1], [1, 2]]),
    "empty.edges": ("", []),
}
GOOD["path.graph"] = ("% a comment\n\n3 2\n2\n1 3\n% another\n2\n\n", [[0, 1], [1, 2]])


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", GOOD)
def test_files_are_read(name: str, zipped: bool, tmp_path: Path) -> None:
    text, expected = GOOD[name]
    path = tmp_path / (name + ".gz" if zipped else name)
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    graph = read_graph(path)
    assert graph.data.reshape(-1, 2).tolist() == expected
    weights = {"weighted.graph": [5.0, 6.0], "weighted.el": [2.5, 1000.0], "general.mtx": [1.5, 1.0, 4.0]}
    assert graph.job_weights.tolist() == weights.get(name, [])
    assert partition(str(path), 2, "wb-libra", unweighted=name == "weighted.graph").labels.size == graph.n_jobs


def test_hypergraphs(tmp_path: Path) -> None:
    """Vertices are jobs, nets are data: vertex 2 lies in the nets 1 and 2."""
    path = tmp_path / "nets.hgr"
    path.write_text("2 3 11\n9 1 2\n% a comment\n4 2 3\n5\n6\n7\n")
    graph = read_graph(path)
    assert graph.offsets.tolist() == [0, 1, 3, 4] and graph.data.tolist() == [0, 0, 1, 1]
    assert graph.job_weights.tolist() == [5.0, 6.0, 7.0] and graph.n_data == 2
    assert graph.data_weights.tolist() == [9.0, 4.0]
    path.write_text("1 4\n1 4\n")
    assert np.diff(read_graph(path).offsets).tolist() == [1, 0, 0, 1]


def test_a_saved_graph(tmp_path: Path) -> None:
    path = LocalityGraph.from_edges([0, 1], [1, 2]).save(tmp_path / "graph.npz")
    assert partition(path, 2, "chunks").labels.tolist() == [0, 1]


def test_a_saved_dependence_graph(tmp_path: Path) -> None:
    """As the graph itself; a damaged one is refused as such."""
    graph = DependenceGraph([0, 1], [1, 2], [2, 3], [1, 2], range(3), [3] * 3)
    path = graph.save(tmp_path / "graph.npz")
    assert partition(path, 2, "wb-libra").labels.tolist() == partition(graph, 2, "wb-libra").labels.tolist()
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ArtefactError, match=r"graph\.npz"):
        read_graph(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.mtx", "3 3 1\n1 1\n", "a.mtx:1: '%%MatrixMarket' expected"),
        ("a.mtx", HEAD + "pattern general\n2 2 1\n3 1\n", r"a.mtx:3: row 3 is outside \[1, 2\]"),
        ("a.mtx", HEAD + "pattern general\n2 2 2\n1 1\n", "a.mtx:2: 2 entries announced, 1 found"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n1 1\n1.0\n", "a dense matrix"),
        ("a.graph", "", "a.graph:1: the numbers of vertices and edges"),
        ("a.graph", "3 1\n2\n1\n", "a.graph:1: 3 vertices announced, 2 lines follow"),
        ("a.graph", "2 2\n2\n1\n", "a.graph:1: 2 edges announced, 2 ends found"),
        ("a.graph", "2 1\n2\n3\n", r"a.graph:3: neighbour 3 is outside \[1, 2\]"),
        ("a.graph", "2 1\n1 1\n\n", "a.graph:2: neighbour 1 is a self-loop"),
        ("a.graph", "3 2\n2\n1 3\n1\n", "a.graph:3: neighbour 3 does not list this vertex"),
        ("a.graph", "2 1 1\n2 5\n1 6\n", "a.graph:2: neighbour 2 does not list this vertex, or with another weight"),
        ("a.graph", "2 2\n2 2\n1 1\n", "a.graph:2: neighbour 2 stands twice"),
        ("a.graph", "2 1 1\n2\n1 6\n", "a.graph:2: 1 numbers do not fit the format 001"),
        ("a.graph", "2 1 1\n2 -1\n1 -1\n", "a.graph:2: weight -1.0, a finite number of at least 0"),
        ("a.graph", "2 1 11 2\n1 1 2 1\n1 -1 1 1\n", "a.graph:3: weight -1.0, a finite number"),
        ("a.graph", "2 1 100\n1 2\n1 1\n", "a.graph:1: format '100' gives vertices sizes, .* no method here"),
        (
            "a.mtx",
            HEAD + "real symmetric\n2 2 1\n2 1 -3\n",
            r"entry \(0, 1\) of the matrix is -3.0, which is no weight",
        ),
        ("a.mtx", HEAD + "complex general\n2 2 1\n2 1 3 1\n", "a.mtx: the matrix holds complex128 values"),
        ("a.hgr", "1 1 1\n-4 1\n", "a.hgr:2: weight -4.0, a finite number"),
        ("a.hgr", "1 1 100\n1\n", "a.hgr:1: format '100', one of 0, 1, 10 and 11"),
        ("a.graph", "2 1 7\n2\n1\n", "a.graph:1: format '007', three digits"),
        ("a.graph", "2 x\n2\n1\n", "a.graph:1: 'x': a whole number expected"),
        ("a.graph", "99999999999 1\n", "a.graph:1: .*numbers below"),
        ("a.hgr", "2 2\n1 2\n", "a.hgr:1: 2 lines announced, 1 follow"),
        ("a.hgr", "1 2\n1 3\n", r"a.hgr:2: vertex 3 is outside \[1, 2\]"),
        ("a.hgr", "1 1 10\n1\n-4\n", "a.hgr:3: weight -4.0, a finite number"),
        ("a.hgr", "1 1 10\n1\n4 4\n", "a.hgr:3: 2 words, the weight of one vertex expected"),
        ("a.txt", "0 1\n2 x\n", "a.txt:2: 'x': a whole number expected"),
        ("a.txt", "0 1\n1.5 2\n", "a.txt:2: '1.5': a whole number expected"),
        ("a.txt", "# c\n0 1\n2\n", "a.txt:3: 1 words, 2 expected"),
        ("a.txt", "0 1 2 3\n", "a.txt:1: 4 words, two ids and perhaps a weight expected"),
        ("a.txt", "0 -1\n", r"a.txt:1: id -1 is outside \[0, 2147483647\)"),
        ("a.txt", "0 1 nan\n", "a.txt:1: weight nan, a finite number"),
        ("a.txt", "0 1 w\n", "a.txt:1: 'w': a number expected"),
    ],
)
def test_damage_is_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ArtefactError, match=message):
        partition(tmp_path / name, 2, "wb-libra")


def test_what_is_no_graph_file(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"none.mtx': no such file"):
        read_graph(tmp_path / "none.mtx")
    with pytest.raises(ArgumentError, match=r"whose ending is none of .mtx, .graph"):
        read_graph("graph.gz")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"0 1\n" * 99)[:-9])
    with pytest.raises(ArtefactError, match="a damaged gzip file"):
        read_graph(tmp_path / "a.txt.gz")


@settings(deadline=None, max_examples=150)
@given(
    ending=st.sampled_from([ending for ending in READERS if ending != ".npz"]),
    content=st.one_of(st.binary(max_size=60), st.text("0123456789 \n%#.-e", max_size=60).map(str.encode)),
)
def test_noise_never_escapes(tmp_path_factory: pytest.TempPathFactory, ending: str, content: bytes) -> None:
    path = tmp_path_factory.mktemp("noise") / f"a{ending}"
    path.write_bytes(HEAD.encode() + b"pattern general\n" + content if ending == ".mtx" else content)
    try:
        graph = read_graph(path)
    except TracecutError as error:
        assert str(path) in error.message
    else:
        graph.verify()
