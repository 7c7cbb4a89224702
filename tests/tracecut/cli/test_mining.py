"""`tracecut pagerank`, `hits`, `rwr` and `cg`: one screen, all numbers in a file, statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from tracecut.support.errors import ArgumentError, ArtefactError, ConvergenceError, OutputError, UsageError

from tracecut.cli.mining import commands as mining

EDGES = [(0, 1), (0, 2), (1, 2), (2, 0), (3, 2)]
GRAPH = nx.DiGraph(EDGES)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mining, "handle_signals", lambda: None)
    (tmp_path / "g.el").write_text("".join(f"{u} {v}\n" for u, v in EDGES))
    line = sp.diags_array([-1.0, 3.0, -1.0], offsets=[-1, 0, 1], shape=(6, 6))
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_array(line))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], command: str, *words: str) -> str:
    assert getattr(mining, f"run_{command}")(list(words)) == 0
    return capsys.readouterr().out


def test_pagerank(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "pagerank", "g.el", "--tol", "1e-12", "--top", "2", "-o", "all.txt")
    lines = text.splitlines()
    assert lines[0] == "g.el: 4 × 4, 5 entries" and "iterations, the last change is" in lines[1]
    assert lines[3] == "all numbers in all.txt" and [line.split()[0] for line in lines[-2:]] == ["2", "0"]
    expected = nx.pagerank(GRAPH, tol=1e-14)
    assert np.allclose(np.loadtxt("all.txt"), [expected[i] for i in range(4)], atol=1e-11)
    found = json.loads(run(capsys, "pagerank", "g.el", "--alpha", "0.5", "--json", "-o", "all.npy"))
    assert found["input"] == {"path": "g.el", "rows": 4, "cols": 4, "nnz": 5} and found["residual"] < found["tol"]
    assert found["top"]["score"][0]["node"] == 2 and np.load("all.npy").shape == (4,)


def test_hits_and_rwr(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "hits", "g.el", "--json", "-o", "both.txt"))
    hubs, authorities = nx.hits(GRAPH)
    assert found["top"]["hub"][0]["node"] == max(hubs, key=lambda node: hubs[node])
    assert np.allclose(np.loadtxt("both.txt")[:, 1], [authorities[i] for i in range(4)], atol=1e-6)
    text = run(capsys, "rwr", "g.el", "--query", "3", "--query", "1", "-c", "0.5", "--top", "1", "-o", "walks.txt")
    assert "query 3" in text and "query 1" in text and np.loadtxt("walks.txt").shape == (4, 2)


def test_cg(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "b.txt").write_text("1\n2\n3\n4\n5\n6\n")
    found = json.loads(run(capsys, "cg", "a.mtx", "--rhs", "b.txt", "--tol", "1e-12", "--json", "-o", "x.txt"))
    matrix = scipy.io.mmread("a.mtx").toarray()
    x = np.loadtxt("x.txt")
    assert np.allclose(matrix @ x, np.arange(1.0, 7.0)) and found["top"]["x"][0]["entry"] == np.abs(x).argmax()
    assert "‖b − A x‖ is" in run(capsys, "cg", "a.mtx")


def test_little_memory(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """All in memory where that is enough, else on disk, with the same results."""
    commands = {
        "pagerank": ["g.el"], "hits": ["g.el"], "rwr": ["g.el", "--query", "2"], "cg": ["a.mtx", "--tol", "1e-9"],
    }  # fmt: skip
    for command, words in commands.items():
        run(capsys, command, *words, "-o", "all.npy")
        for first, shown in ((100, False), (1 << 30, True)):
            monkeypatch.setattr(mining, "WORK_BYTES", (first, 300))
            text = run(capsys, command, *words, "-o", "some.npy", "--memory", "256M")
            assert ("bytes on disk" in text.splitlines()[0]) == shown
            assert np.abs(np.load("all.npy") - np.load("some.npy")).max() < 1e-12
            found = json.loads(run(capsys, command, *words, "--json", "--memory", "256M"))
            assert bool(found["input"]["on_disk"]) == shown


@pytest.mark.parametrize(
    ("command", "words", "kind", "message"),
    [
        ("pagerank", [], UsageError, "FILE"),
        ("pagerank", ["g.el", "--tol", "0"], UsageError, "0: a positive number expected"),
        ("pagerank", ["g.el", "--alpha", "1.5"], UsageError, "1.5: a number from 0 to 1 expected"),
        ("pagerank", ["g.el", "--top", "-1"], UsageError, "whole number of at least 0"),
        ("pagerank", ["g.el", "-o", "."], UsageError, "-o .: a folder"),
        ("pagerank", ["g.el", "--max-iter", "1"], ConvergenceError, "did not converge: after 1 iterations"),
        ("pagerank", ["none.el"], ArgumentError, "no such file"),
        ("pagerank", ["none.el", "--memory", "1G"], ArgumentError, "no such file"),
        ("pagerank", ["bad.el", "--memory", "1G"], ArtefactError, "bad.el:1: 'x': a whole number"),
        ("pagerank", ["g.el", "--memory", "9"], UsageError, "9: a size of at least 256 MiB"),
        ("pagerank", ["far.el", "--memory", "1G"], ArgumentError, r"takes 1.29 GiB in memory, .* 1 GiB allowed"),
        ("pagerank", ["g.npz", "--memory", "1G"], ArgumentError, r"whose ending is none of .mtx"),
        ("cg", ["g.el", "--memory", "1G", "--ranks", "2"], UsageError, "--memory: several ranks have"),
        ("pagerank", ["bad.el"], ArtefactError, "bad.el:1: 'x': a whole number"),
        ("pagerank", ["wide.mtx"], ArgumentError, "a square one was expected"),
        ("hits", ["g.el", "-o", "g.el/x"], OutputError, "g.el/x"),
        ("rwr", ["g.el"], UsageError, "--query NODE is required"),
        ("rwr", ["g.el", "--query", "9"], ArgumentError, "queries names 9"),
        ("cg", ["a.mtx", "--rhs", "short.txt"], ArgumentError, "b has 2 entries"),
        ("cg", ["wide.mtx"], ArgumentError, "a square one was expected"),
    ],
)
def test_refused(folder: Path, command: str, words: list[str], kind: Any, message: str) -> None:
    (folder / "bad.el").write_text("x 1\n")
    (folder / "short.txt").write_text("1\n2\n")
    (folder / "far.el").write_text("0 10000000\n")
    scipy.io.mmwrite(folder / "wide.mtx", sp.coo_array((2, 3)))
    with pytest.raises(kind, match=message) as caught:
        getattr(mining, f"run_{command}")(words)
    assert caught.value.exit_code == (2 if kind is UsageError else 1)


def test_the_usage_line_has_what_is_required() -> None:
    with pytest.raises(UsageError) as caught:
        mining.run_rwr(["g.el"])
    assert "tracecut rwr FILE --query NODE [--query NODE …] [-o FILE]" in caught.value.hint


def test_nothing_is_left_on_disk(tmp_path: Path) -> None:
    """Not even where the process is killed while it has a matrix there."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "g.el").write_text("0 1\n1 0\n")
    text = "import sys, tracecut; m = tracecut.stream_matrix(sys.argv[1]); print(m.bytes, flush=True); input()"
    words = [sys.executable, "-P", "-c", text, str(tmp_path / "g.el")]
    surroundings = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=surroundings) as child:
        assert child.stdout is not None and int(child.stdout.readline()) > 0
        child.kill()
    assert list(scratch.iterdir()) == []


def test_statuses(shell: Any) -> None:
    shell.folder.joinpath("g.el").write_text("0 1\n1 0\n")
    done = shell("pagerank", "g.el", "--top", "1")
    assert done.code == 0 and "2 × 2, 2 entries" in done.out and done.err == ""
    shell.folder.joinpath("h.el").write_text("0 1\n0 2\n1 0\n")
    done = shell("pagerank", "h.el", "--tol", "1e-300", "--max-iter", "1")
    assert done.code == 1 and done.err.startswith("tracecut: PageRank did not converge: after 1 iterations")
    assert shell("pagerank", "g.el", "--nothing").code == 2
