"""`tracecut spmv`: every form and order of a matrix file, measured beside the prediction."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from ..forked import completed, started


def command(*words: str | Path, status: int = 0, run: Any = completed) -> str:
    """Standard output, or standard error where the command is to fail."""
    done = run(*words)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr if status else done.stdout


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("spmv") / "mesh.npz"
    line = sp.diags_array([np.ones(39), np.full(40, 4.0), np.ones(39)], offsets=[-1, 0, 1])
    sp.save_npz(found, sp.kron(line, line, format="csr"))
    return found


def test_json(path: Path) -> None:
    told = json.loads(command("spmv", path, "--json", run=started))
    keys = "tracecut machine input candidates chosen reason inspect_seconds break_even"
    assert list(told) == keys.split()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert told["input"] == {"path": str(path), "rows": 1600, "cols": 1600, "nnz": 118**2, "sha256": digest}
    pairs = {(one["format"], one["order"]) for one in told["candidates"]}
    formats, orders = ("csr", "csr-vector", "sliced", "tiled"), ("natural", "rcm", "degree")
    assert pairs == {(form, order) for form in formats for order in orders}
    assert told["chosen"] in [{"format": form, "order": order} for form, order in sorted(pairs)]
    for one in told["candidates"]:
        assert list(one) == ["format", "order", "bytes", "padding", "predicted_us", "measured_us"]
        assert one["bytes"] > 118**2 * 10 and one["padding"] >= 1
        assert one["predicted_us"] > 0 and one["measured_us"] >= 0
    assert told["break_even"] is None or told["break_even"] >= 1


def test_text_and_other_types(path: Path) -> None:
    lines = command("spmv", path, "--dtype", "float32").splitlines()
    assert lines[0] == "1,600 × 1,600, 13,924 entries of float32"
    assert len([line for line in lines if line.startswith("* ")]) == 2
    assert lines[-1].startswith("inspection: ")


def test_matrices_that_have_no_rcm_order(tmp_path: Path) -> None:
    file = tmp_path / "wide.mtx"
    file.write_text("%%MatrixMarket matrix coordinate complex general\n2 3 2\n1 1 1.0 2.0\n2 3 1.5 0.0\n")
    told = json.loads(command("spmv", file, "--json"))
    assert {one["order"] for one in told["candidates"]} == {"natural", "degree"}
    assert "would drop their imaginary parts" in command("spmv", file, "--dtype", "float64", status=1)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["spmv"], 2, "FILE"),
        (["spmv", "none.mtx"], 1, "no such file"),
        (["spmv", "none.mtx", "--dtype", "float16"], 2, "--dtype float16: float32 or float64"),
        (["spmv", "none.mtx", "--order", "rcm"], 2, "--order"),
    ],
)
def test_refused(words: list[str], status: int, said: str) -> None:
    assert said in command(*words, status=status)


def test_damaged_files(tmp_path: Path) -> None:
    file = tmp_path / "cut.mtx"
    file.write_text("%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1.0\n")
    assert "cut.mtx" in command("spmv", file, status=1)
