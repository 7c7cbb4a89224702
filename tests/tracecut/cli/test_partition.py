"""`tracecut partition`: labels out of a graph file."""

from __future__ import annotations

import ast
import inspect
import json
import pydoc
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tracecut.support.errors import ArtefactError, UsageError

import tracecut
from tracecut.cli.partition import read_numbers, run_partition

from ..forked import completed, started

PATH = "4 3\n2\n1 3\n2 4\n3\n"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return completed("partition", *words, folder=folder)


@pytest.fixture
def graph(tmp_path: Path) -> str:
    (tmp_path / "path.graph").write_text(PATH)
    return "path.graph"


def test_labels_one_a_line(graph: str, tmp_path: Path) -> None:
    done = started("partition", graph, "-k", "3", "--method", "chunks", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n1\n2\n", "")
    done = run(tmp_path, graph, "-k", "2", "--method", "wb-libra", "--passes", "3", "-o", "parts.txt")
    assert done.returncode == 0 and "3 jobs, 4 data; jobs in 2 by wb-libra" in done.stdout
    assert (tmp_path / "parts.txt").read_text() == "0\n0\n1\n"
    done = run(tmp_path, graph, "-k", "2", "--method", "metis", "--of", "data", "--json", "-o", "parts.txt")
    assert json.loads(done.stdout)["edge_cut"] == 1.0
    assert len((tmp_path / "parts.txt").read_text().splitlines()) == 4


def test_files_of_coordinates_targets_and_weights(graph: str, tmp_path: Path) -> None:
    (tmp_path / "places.txt").write_text("# x y\n0 0\n1 0\n\n2 0\n3 0\n")
    np.save(tmp_path / "shares.npy", np.array([0.75, 0.25]))
    (tmp_path / "loads.txt").write_text("1\n1\n2\n")
    words = ["--coords", "places.txt", "--of", "data"]
    done = run(tmp_path, graph, "-k", "2", "--method", "rcb", *words, "--targets", "shares.npy")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n0\n0\n1\n", "")
    (tmp_path / "room.txt").write_text("1\n9\n")
    done = run(tmp_path, graph, "-k", "2", "--method", "rcb", *words, "--capacities", "room.txt", "--json", "-o", "out")
    assert done.returncode == 0 and sorted((tmp_path / "out").read_text().split()) == ["0", "1", "1", "1"]
    assert json.loads(done.stdout)["options"]["capacities"] == [1.0, 9.0]
    done = run(tmp_path, graph, "-k", "4", "--method", "hkmeans", *words, "--hierarchy", "2,2", "--threads", "2")
    assert done.returncode == 0 and sorted(done.stdout.split()) == ["0", "1", "2", "3"]
    machine = ["--machine", "cpu_gpu:1:1", "--memory", "2"]  # a GPU of speed 8 and memory 8.5, a core of 1 and 2
    done = run(tmp_path, graph, "--method", "hkmeans", *words, *machine, "--json", "-o", "out")
    told = json.loads(done.stdout)
    assert (
        told["k"] == 2 and told["options"]["machine"] == "cpu_gpu:1:1" and told["options"]["capacities"] == [6.0, 1.0]
    )
    assert (tmp_path / "out").read_text().split().count("0") == 3
    assert (told["load_over_speed"], told["planned_load_over_speed"]) == (1.0, pytest.approx(0.5))
    done = run(tmp_path, graph, "-k", "2", "--method", "chunks", "--weights", "loads.txt", "--refine", "km1")
    assert (done.returncode, done.stdout) == (0, "0\n0\n1\n")
    done = run(tmp_path, graph, "--tile-bytes", "16", "--method", "spac", "--option", "ring=true", "--json")
    report = json.loads(done.stdout)
    assert report["k"] == 2 and report["options"]["ring"] is True
    done = run(tmp_path, graph, "-k", "2", "--budget", "0", "-o", "parts.txt")
    assert "jobs in 2 by chunks" in done.stdout and "expansion: not run, about" in done.stdout


@pytest.mark.parametrize("name", inspect.signature(tracecut.partition).parameters)
def test_options_of_a_method_are_no_arguments(name: str) -> None:
    """`--option k=…` and the like never reach the function twice: the flag that sets them is named."""
    if name != "options":
        with pytest.raises(UsageError, match=f"--option {name}=…: {name} is no option of a method; .* sets it"):
            run_partition(["none.graph", "-k", "2", "--option", f"{name}=3"])


def test_the_call_shows_its_arguments() -> None:
    told = pydoc.plain(pydoc.render_doc(tracecut.partition))
    for words in (
        "tracecut.partition(graph: ",
        "= 1.03,",
        "balance: largest load of a cluster",
        "Raises:",
    ):
        assert words in told.split("PACKAGE CONTENTS")[0]
    assert list(inspect.signature(tracecut.partition).parameters)[:3] == ["graph", "k", "method"]


def test_rows_and_columns() -> None:
    """A list holds edges, a tuple of arrays columns; what could be both is refused."""
    edges = [(0, 5), (1, 6), (1, 5)]
    for graph in (
        edges,
        [list(edge) for edge in edges],
        np.array(edges),
        tuple(np.array(edges).T),
        ([0, 1, 1], [5, 6, 5]),
    ):
        found = tracecut.partition(graph, 2, "chunks").graph
        assert found.data.reshape(-1, 2).tolist() == [[0, 5], [1, 6], [1, 5]], graph
    assert tracecut.partition([(0, 5), (1, 6)], 2, "chunks").graph.n_data == 7
    with pytest.raises(tracecut.TracecutError, match="a tuple of pairs, which could be edges or columns"):
        tracecut.partition(((0, 5), (1, 6)), 2, "chunks")


def test_hints_name_what_users_can_reach() -> None:
    """Every hint of the package: names with a dot are public, and no class is named that is not at top level."""
    root = Path(tracecut.__file__).parent.parent
    classes, hints = set(), []
    for room in ("ir", "tracer", "partition", "mapping", "codegen", "tracecut"):
        for file in sorted((root / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ClassDef):
                    classes.add(node.name)
                if isinstance(node, ast.keyword) and node.arg == "hint":
                    text = " ".join(
                        part.value
                        for part in ast.walk(node.value)
                        if isinstance(part, ast.Constant) and isinstance(part.value, str)
                    )
                    hints.append((file, text))
    assert len(hints) > 100
    for file, text in hints:
        for name in re.findall(r"\btracecut\.(\w+)", text):
            assert name in tracecut.__all__, (file, text)
        hidden = (classes - set(tracecut.__all__)) & set(re.findall(r"\b[A-Z][a-z]+[A-Z]\w*", text))
        assert not hidden, (file, text)


def test_numbers_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "numbers.txt"
    file.write_text("1\n% a comment\n2.5\n")
    assert read_numbers(file).tolist() == [1.0, 2.5] and read_numbers(file, columns=True).shape == (2, 1)
    file.write_text("")
    assert read_numbers(file).size == 0
    file.write_text("1 2\n")
    with pytest.raises(ArtefactError, match="row 1 has 2 numbers, 1 expected"):
        read_numbers(file)


def test_a_collapse_is_a_warning(graph: str, tmp_path: Path) -> None:
    done = run(tmp_path, graph, "-k", "2", "--method", "libra", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["imbalance"] == 2.0
    assert done.stderr.startswith("tracecut: warning: libra put 3 of 3 jobs in one cluster")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["path.graph", "-k", "0"], 1, "tracecut: k = 0, a whole number"),
        (["path.graph", "-k", "2", "--method", "best"], 2, "tracecut: --method best: unknown method"),
        (["path.graph", "-k", "2", "--method", "chunks", "--passes", "2"], 1, "does not use passes"),
        (["path.graph", "-k", "2", "--method", "chunks", "-o", "loads.npy/parts"], 1, "cannot write loads.npy/parts"),
        (["path.graph"], 2, "tracecut: one of -k, --tile-bytes and --machine is required"),
        (["path.graph", "--machine", "uma:2", "--tile-bytes", "9"], 2, "--tile-bytes and --machine exclude each other"),
        (["path.graph", "-k", "2", "--memory", "1.2"], 2, "--memory needs --machine"),
        (["path.graph", "--machine", "mash:2x2"], 1, "'mash:2x2' names no machine"),
        (["path.graph", "--machine", "mesh:2x2", "-k", "2"], 1, "k = 2, machine 'mesh:2x2' has 4 cores"),
        (["path.graph", "-k", "2", "--tile-bytes", "9"], 2, "tracecut: -k and --tile-bytes exclude each other"),
        (["path.graph", "-k", "2", "--method", "expension"], 2, "Did you mean 'expansion'?"),
        (["path.graph", "-k", "2", "-o", "folder"], 2, "-o folder: a folder, the name of a file expected"),
        (["folder", "-k", "2"], 1, "'folder': a folder, a file was expected"),
        (["path.graph", "-k", "2", "--method", "rcb"], 1, "coords"),
        (["path.graph", "-k", "2", "--method", "rcb", "--coords", "none.txt"], 1, "none.txt: No such file or"),
        (["path.graph", "-k", "2", "--method", "rcb", "--coords", "ragged.txt"], 1, "ragged.txt: row 2 has 1 numbers"),
        (["path.graph", "-k", "2", "--targets", "words.txt"], 1, "words.txt: row 1"),
        (["path.graph", "-k", "2", "--targets", "damaged.npy"], 1, "damaged.npy: "),
        (["path.graph", "-k", "2", "--targets", "long.npy"], 1, "long.npy: "),
        (["path.graph", "-k", "2", "--targets", "names.npy"], 1, "names.npy: it holds <U1, numbers were expected"),
        (["path.graph", "-k", "2", "--hierarchy", "2x2"], 2, "--hierarchy 2x2: comma-separated whole numbers"),
        (["path.graph", "-k", "2", "--option", "ring"], 2, "--option ring: NAME=VALUE expected"),
        (["path.graph", "-k", "2", "--method", "spac", "--option", "rings=true"], 1, "has no option 'rings'"),
        (["path.graph", "-k", "2", "--refine", "fm"], 1, "refine = 'fm'"),
        (["none.graph", "-k", "2"], 1, "'none.graph': no such file"),
        (["damaged.graph", "-k", "2"], 1, "damaged.graph:1: 9 vertices announced"),
    ],
)
def test_mistakes_are_said(words: list[str], code: int, message: str, graph: str, tmp_path: Path) -> None:
    (tmp_path / "damaged.graph").write_text("9 9\n")
    (tmp_path / "ragged.txt").write_text("1 2\n3\n")
    (tmp_path / "words.txt").write_text("half\nhalf\n")
    (tmp_path / "damaged.npy").write_bytes(b"nothing")
    np.save(tmp_path / "names.npy", np.array(["a", "b"]))
    np.save(tmp_path / "loads.npy", np.ones(2))
    np.save(tmp_path / "long.npy", np.ones(2))
    head = (tmp_path / "long.npy").read_bytes().replace(b"(2,),", b"(9999999999,),", 1)
    (tmp_path / "long.npy").write_bytes(head)
    (tmp_path / "folder").mkdir()
    done = run(tmp_path, *words)
    assert done.returncode == code and message in done.stderr and "Traceback" not in done.stderr
