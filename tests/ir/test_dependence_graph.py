"""The dependence graph: its rules, its numbers, its files and what other tools read of them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.ir import dependence_graph
from tracecut.ir.dependence_graph import KINDS, MEMORY, REGISTER, DependenceGraph
from tracecut.ir.graph_statistics import average_path_length, continuous_exponent, power_law
from tracecut.partition import partition
from tracecut.support.errors import ArgumentError, ArtefactError, UnsupportedError

pytestmark = pytest.mark.usefixtures("both_ways")


def graph_of(edges: list[tuple[int, int]], n: int) -> DependenceGraph:
    ordered = sorted(edges, key=lambda edge: edge[1])
    src, dst = [edge[0] for edge in ordered], [edge[1] for edge in ordered]
    m = len(edges)
    return DependenceGraph(src, dst, range(2, m + 2), [1 + i % 5 for i in range(m)], range(n), [3] * n)


@st.composite
def graphs(draw: st.DrawFn) -> DependenceGraph:
    n = draw(st.integers(1, 12))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] < pair[1])
    return graph_of(draw(st.lists(pairs, max_size=30)) if n > 1 else [], n)


DIAMOND = graph_of([(0, 1), (0, 2), (1, 3), (2, 3)], 5)


def test_numbers_of_a_small_graph() -> None:
    assert (DIAMOND.n, DIAMOND.m) == (5, 4)
    assert DIAMOND.offsets.tolist() == [0, 0, 1, 2, 4, 4]
    assert DIAMOND.degrees().tolist() == [2, 2, 2, 2, 0]
    found = DIAMOND.stats()
    assert found["edges_per_node"] == 0.8 and found["kinds"]["register"] == 1
    assert found["path_length"] == pytest.approx((2 * (1 + 1 + 2) * 2) / 12)
    assert found["path_directed"] == pytest.approx((1 + 1 + 2 + 1 + 1) / 5)
    assert repr(DIAMOND) == "<DependenceGraph 5 instructions, 4 dependences>"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"src": [0, 0, 1, 9]}, "edge 3 from 9 to 3 does not lead forward"),
        ({"dst": [1, 2, 3, 9]}, "has an end that does not exist"),
        ({"dst": [1, 3, 2, 3]}, "behind one with a later target"),
        ({"weight": [1, -1, 1, 1]}, "negative weight"),
        ({"kind": [1, 1, 1, 6]}, "unknown kind"),
        ({"kind": [1, 1, 1]}, "kind has 3 entries, 4 expected"),
        ({"time": [1, 1, 1, 1, -1]}, r"time\[4\] = -1 is negative"),
        ({"time": [1]}, "time has 1 entries, 5 expected"),
        ({"src": [0.5, 0, 1, 2]}, r"src\[0\] = 0.5 is not an integer"),
    ],
)
def test_broken_graphs_are_refused(change: dict[str, Any], message: str) -> None:
    names = ("src", "dst", "weight", "kind", "instruction", "time")
    with pytest.raises(ArgumentError, match=message):
        DependenceGraph(**({name: getattr(DIAMOND, name) for name in names} | change))


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_two_threads_find_the_first_fault_too(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 9))
    dst = sorted(data.draw(st.lists(st.integers(1, 6), min_size=size, max_size=size)))
    members = {"src": [value - 1 for value in dst], "dst": dst, "weight": [1] * size, "kind": [1] * size}
    for _ in range(data.draw(st.integers(0, 2))):
        name, bad = data.draw(
            st.sampled_from([("src", -1), ("src", 6), ("dst", 7), ("dst", 1), ("weight", -1), ("kind", 9)])
        )
        members[name][data.draw(st.integers(0, size - 1))] = bad
    said = []
    for piece in (dependence_graph.PIECE, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dependence_graph, "PIECE", piece)
            try:
                DependenceGraph(**members, instruction=[0] * 7, time=[1] * 7)  # type: ignore[arg-type]
                said.append("")
            except ArgumentError as error:
                said.append(str(error))
    assert said[0] == said[1]


@settings(deadline=None, max_examples=40)
@given(graph=graphs())
def test_files_come_back(graph: DependenceGraph, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("graphs")
    path = graph.save(folder / "g.npz")
    with np.load(path) as members:
        assert sorted(members.files) == ["dst", "instruction", "kind", "src", "time", "weight"]
    again = DependenceGraph.load(path)
    for name in ("src", "dst", "weight", "kind", "instruction", "time"):
        assert getattr(again, name).tolist() == getattr(graph, name).tolist()
    assert again.save(folder / "again.npz").read_bytes() == path.read_bytes()


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = DIAMOND.save(tmp_path / "g.npz")
    data = path.read_bytes()
    for damage in (data[:-30], data[:200], b"", data.replace(b"DependenceGraph", b"DependenceGrapf")):
        path.write_bytes(damage)
        with pytest.raises(ArtefactError):
            DependenceGraph.load(path)
    place = data.index(np.asarray(DIAMOND.dst).tobytes())
    path.write_bytes(data[:place] + b"\xff" + data[place + 1 :])
    with pytest.raises(ArtefactError):
        DependenceGraph.load(path)


def test_other_tools_read_the_exports(tmp_path: Path) -> None:
    graphml = networkx.read_graphml(DIAMOND.export(tmp_path / "g.graphml"), force_multigraph=True)
    assert sorted((int(a), int(b)) for a, b in graphml.edges()) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    assert {data["kind"] for _, _, data in graphml.edges(data=True)} == set(list(KINDS.values())[:4])
    assert graphml.nodes["4"] == {"instruction": 4, "time": 3}
    assert DIAMOND.export(tmp_path / "g.txt").read_text().splitlines()[0] == "0 1 2 register"
    dot = DIAMOND.export(tmp_path / "g.dot").read_text()
    assert dot.count("->") == 4 and '  0 -> 2 [weight=3, kind="memory"];' in dot
    assert DIAMOND.export(tmp_path / "g.graph").read_text().splitlines() == [
        "5 4 001",
        *("2 2 3 3", "1 2 4 4", "1 3 4 5", "2 4 3 5", ""),
    ]
    again = DependenceGraph.load(DIAMOND.export(tmp_path / "g.npz"))
    assert sorted(again.to_networkx().edges()) == [(0, 1), (0, 2), (1, 3), (2, 3)]
    with pytest.raises(ArgumentError, match="is not a graph format"):
        DIAMOND.export(tmp_path / "g.pdf")


def test_parallel_dependences_of_several_kinds() -> None:
    both = DependenceGraph([0, 0], [1, 1], [1, 7], [REGISTER, MEMORY], [4, 5], [0, 9])
    assert both.to_networkx().number_of_edges(0, 1) == 2
    assert both.degrees().tolist() == [2, 2]


@settings(deadline=None, max_examples=60)
@given(graph=graphs())
def test_one_source_is_the_last_of_the_registers(graph: DependenceGraph) -> None:
    rows = list(zip(graph.src.tolist(), graph.dst.tolist(), graph.weight.tolist(), graph.kind.tolist(), strict=True))
    last = {row[1]: place for place, row in enumerate(rows) if row[3] == REGISTER}
    found = graph.with_one_source()
    kept = zip(found.src.tolist(), found.dst.tolist(), found.weight.tolist(), found.kind.tolist(), strict=True)
    assert list(kept) == [row for place, row in enumerate(rows) if row[3] != REGISTER or last[row[1]] == place]
    assert found.n == graph.n and found.instruction.tolist() == graph.instruction.tolist()


def test_parquet_files_or_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("pyarrow") is not None:
        table = importlib.import_module("pyarrow.parquet").read_table
        edges = table(DIAMOND.export(tmp_path / "g.parquet")).to_pydict()
        assert edges["src"] == [0, 0, 1, 2] and edges["dst"] == [1, 2, 3, 3] and edges["weight"] == [2, 3, 4, 5]
        assert edges["kind"] == ["register", "memory", "anti", "output"]
        vertices = table(tmp_path / "g.vertices.parquet").to_pydict()
        assert vertices == {"instruction": [0, 1, 2, 3, 4], "time": [3] * 5}
        graph_of([], 2).export(tmp_path / "empty.parquet")
        assert table(tmp_path / "empty.parquet").num_rows == 0
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnsupportedError, match="pyarrow, which is not installed"):
        DIAMOND.export(tmp_path / "h.parquet")
    assert not list(tmp_path.glob("h*"))


def test_edges_are_the_jobs_of_a_vertex_cut() -> None:
    locality = DIAMOND.as_locality()
    assert (locality.n_jobs, locality.n_data) == (4, 5)
    assert locality.job_weights.tolist() == [2, 3, 4, 5]
    found = partition(DIAMOND, 2, "wb-libra")
    assert found.labels.size == 4 and set(found.labels.tolist()) == {0, 1}


@settings(deadline=None, max_examples=40)
@given(graph=graphs())
def test_path_lengths_equal_networkx(graph: DependenceGraph) -> None:
    plain = networkx.Graph(list(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)))
    lengths = [d for _, row in networkx.all_pairs_shortest_path_length(plain) for d in row.values() if d]
    found = average_path_length(*graph.adjacency, sources=graph.n)
    assert found == pytest.approx(np.mean(lengths)) if lengths else np.isnan(found)


@pytest.mark.parametrize("sources", [1, 8, 9, 64, 65, 200])
def test_paths_from_some_of_the_vertices_equal_networkx(sources: int) -> None:
    """Sets of sources of either width, one batch of them and several."""
    rng = np.random.default_rng(8)
    ends = np.sort(rng.integers(0, 200, (230, 2)), axis=1)
    graph = graph_of([(a, b) for a, b in ends.tolist() if a < b], 200)
    plain = networkx.Graph(list(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)))
    plain.add_nodes_from(range(200))
    chosen = np.random.default_rng(3).choice(200, sources, replace=False).tolist()
    lengths = [d for v in chosen for d in networkx.single_source_shortest_path_length(plain, v).values() if d]
    assert average_path_length(*graph.adjacency, sources=sources, seed=3) == pytest.approx(np.mean(lengths))


@pytest.mark.parametrize("exponent", [1.8, 2.3, 3.1])
def test_a_power_law_is_found_again(exponent: float) -> None:
    values = np.random.default_rng(5).zipf(exponent, 20_000)
    fit = power_law(values, replicates=20)
    assert fit.exponent == pytest.approx(exponent, abs=0.06)
    assert fit.distance < 0.02 and fit.p > 0.05


def test_the_continuous_exponent() -> None:
    values = (1 - np.random.default_rng(2).random(50_000)) ** (-1 / 1.4)
    assert continuous_exponent(values) == pytest.approx(2.4, abs=0.02)
    found = DIAMOND.stats()
    assert found["exponent_all"] == pytest.approx(1 + 1 / np.log(2))
    assert np.isnan(found["exponent_tail"]) and found["exponent_tail_from"] == 2


def test_what_is_no_power_law_is_said_so() -> None:
    fit = power_law(np.random.default_rng(5).poisson(20, 20_000), replicates=20)
    assert fit.p < 0.1
    assert np.isnan(power_law([3, 3, 3]).exponent)
    assert np.isnan(continuous_exponent([1, 0, 1])) and np.isnan(continuous_exponent([]))
    assert np.isnan(power_law([]).exponent)


@pytest.mark.parametrize("sources", [0, -3])
def test_paths_from_no_vertex_are_refused(sources: int) -> None:
    with pytest.raises(ArgumentError, match=f"sources = {sources}"):
        DIAMOND.stats(sources=sources)
