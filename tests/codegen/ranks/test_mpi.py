"""Ranks of MPI: one rank's results within 1e-12, bytes exactly the model's; and what is said where MPI is missing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tracecut.codegen.ranks.ranks import Ranks
from tracecut.support.errors import ArgumentError, ToolchainError

import tracecut

from ... import mpi

PROGRAM = Path(__file__).with_name("mpi_program.py")


@pytest.mark.parametrize("size", [*(pytest.param(size, marks=pytest.mark.long) for size in (1, 4)), 2])
def test_all_splits_and_algorithms(size: int, tmp_path: Path) -> None:
    code, out, err = mpi.run(size, str(PROGRAM), folder=tmp_path)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["ranks"] == size and found["largest"] < 1e-12
    for split in ("bitonic", "columns", "grid", "km1", "spac"):
        needed, every = (found["sums"][f"{split} {exchange}"] for exchange in ("needed", "allgather"))
        assert needed < every if size > 1 else needed == every == 0


def test_without_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == "mpi4py":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    ranks = Ranks()  # which needs none yet
    with pytest.raises(ToolchainError, match="several ranks need mpi4py") as caught:
        tracecut.pagerank(([0], [1]), device=ranks)
    assert "pip install mpi4py mpich" in caught.value.hint
    assert tracecut.pagerank(([0], [1]), device=Ranks(comm=2)).values.size == 2


def test_what_is_no_communicator() -> None:
    with pytest.raises(ArgumentError, match="comm is a object, a communicator of mpi4py"):
        tracecut.pagerank(([0], [1]), device=Ranks(comm=object()))
