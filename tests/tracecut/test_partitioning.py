"""`tracecut partition`: labels out of a graph file, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PATH = "4 3\n2\n1 3\n2 4\n3\n"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "tracecut", "partition", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.fixture
def graph(tmp_path: Path) -> str:
    (tmp_path / "path.graph").write_text(PATH)
    return "path.graph"


def test_labels_one_a_line(graph: str, tmp_path: Path) -> None:
    done = run(tmp_path, graph, "-k", "3", "--method", "chunks")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n1\n2\n", "")
    done = run(tmp_path, graph, "-k", "2", "--method", "wb-libra", "--passes", "3", "-o", "parts.txt")
    assert done.returncode == 0 and "3 jobs, 4 data; jobs in 2 by wb-libra" in done.stdout
    assert (tmp_path / "parts.txt").read_text() == "0\n0\n1\n"
    done = run(tmp_path, graph, "-k", "2", "--method", "metis", "--of", "data", "--json", "-o", "parts.txt")
    assert json.loads(done.stdout)["edge_cut"] == 1.0
    assert len((tmp_path / "parts.txt").read_text().splitlines()) == 4


def test_a_collapse_is_a_warning(graph: str, tmp_path: Path) -> None:
    done = run(tmp_path, graph, "-k", "2", "--method", "libra", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["imbalance"] == 2.0
    assert done.stderr.startswith("tracecut: warning: libra put 3 of 3 jobs in one cluster")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["path.graph", "-k", "0"], 1, "tracecut: k = 0, a whole number"),
        (["path.graph", "-k", "2", "--method", "best"], 2, "tracecut: --method best: no such method"),
        (["path.graph", "-k", "2", "--method", "chunks", "--passes", "2"], 1, "makes no use of passes"),
        (["path.graph", "-k", "2", "--method", "chunks", "-o", "folder"], 1, "tracecut: "),
        (["path.graph"], 2, "the following arguments are required: -k"),
        (["none.graph", "-k", "2"], 1, "'none.graph': no such file"),
        (["damaged.graph", "-k", "2"], 1, "damaged.graph:1: 9 vertices announced"),
    ],
)
def test_mistakes_are_said(words: list[str], code: int, message: str, graph: str, tmp_path: Path) -> None:
    (tmp_path / "damaged.graph").write_text("9 9\n")
    (tmp_path / "folder").mkdir()
    done = run(tmp_path, *words)
    assert done.returncode == code and message in done.stderr and "Traceback" not in done.stderr
