"""The commands on several ranks: threads and MPI, who prints, and how all ranks end where one does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tracecut.codegen.ranks import split
from tracecut.support.errors import UsageError

from tracecut.cli.mining import commands as mining
from tracecut.cli.mining import ranks

from ... import mpi

MAIN = "import sys; from tracecut.cli.main import main; main()"
IN_THE_MIDST = """
import os, signal, sys
from contextlib import suppress
from tracecut.cli.mining import commands as mining
from tracecut.cli.main import main
own = mining._pagerank
def hooked(options, place):
    from tracecut.codegen.ranks.product import RankProduct
    times = RankProduct.times
    def fails(self, x, y):
        if self.comm.rank == 1 and self.vectors == 3:
            for line in open("/proc/self/maps"):  # where a rank ends early, MPICH leaves its memory behind
                if "/dev/shm/mpich" in line:
                    with suppress(FileNotFoundError):
                        os.unlink(line.split()[-1])
            {what}
        times(self, x, y)
    RankProduct.times = fails
    return own(options, place)
mining._pagerank = hooked
main()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mining, "handle_signals", lambda: None)
    draw = np.random.default_rng(0)
    text = "".join(f"{u} {v}\n" for u, v in draw.integers(0, 60, (300, 2)))
    (tmp_path / "g.el").write_text(text)
    return tmp_path


def test_threads_in_place_of_ranks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, words in (("pagerank", []), ("hits", []), ("rwr", ["--query", "5"])):
        plain, shared = ["-o", "one.txt"], ["-o", "all.txt", "--ranks", "3", "--split", "grid", "--json"]
        assert getattr(mining, f"run_{command}")(["g.el", *words, *plain]) == 0
        capsys.readouterr()
        assert getattr(mining, f"run_{command}")(["g.el", *words, *shared]) == 0
        told = json.loads(capsys.readouterr().out)["communication"]
        assert (told["ranks"], told["split"], told["exchange"]) == (3, "grid", "needed")
        assert np.allclose(np.loadtxt("one.txt"), np.loadtxt("all.txt"), rtol=0, atol=1e-12)
    assert mining.run_pagerank(["g.el", "--ranks", "2", "--exchange", "allgather"]) == 0
    assert "2 ranks, bitonic, allgather: " in capsys.readouterr().out


def test_the_names_are_those_of_the_splits() -> None:
    """The command line has its own copy, which loads nothing."""
    assert (ranks.SPLITS, ranks.EXCHANGES) == (split.SPLITS, split.EXCHANGES)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--split", "km1"], "--split: there is one rank"),
        (["--exchange", "needed"], "--exchange: there is one rank"),
        (["--ranks", "0"], "0: a whole number from 1"),
        (["--ranks", "2", "--split", "rows"], "invalid choice: 'rows'"),
    ],
)
def test_refused(folder: Path, words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mining.run_pagerank(["g.el", *words])


def test_mpi_prints_once_and_ends_with_the_right_status(folder: Path) -> None:
    words = ("-c", MAIN, "pagerank", "g.el", "--split", "spac", "--json", "-o", "all.txt")
    code, out, err = mpi.run(4, *words, folder=folder)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (
        found["communication"]["ranks"] == 4 and found["communication"]["sent"] == found["communication"]["predicted"]
    )
    assert mining.run_pagerank(["g.el", "-o", "one.txt"]) == 0
    assert np.allclose(np.loadtxt("one.txt"), np.loadtxt("all.txt"), rtol=0, atol=1e-12)
    for more, status, message in (
        (["h.el"], 1, "tracecut: the path 'h.el': no such file"),
        (["g.el", "--ranks", "2"], 2, "tracecut: --ranks 2: mpiexec has started ranks"),
    ):
        code, out, err = mpi.run(2, "-c", MAIN, "pagerank", *more, folder=folder)
        assert (code, out) == (status, "") and err.count("tracecut: ") == err.count(message) == 1


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "tracecut: rank 1 was ended by signal 9 (Killed); all ranks end"),
        ("raise MemoryError", "tracecut: rank 1: not enough memory; all ranks end"),
    ],
)
def test_a_rank_that_ends_in_the_midst_ends_all_and_is_named(folder: Path, what: str, said: str) -> None:
    words = ("pagerank", "g.el", "--tol", "1e-320", "--max-iter", "999999999")
    code, out, err = mpi.run(3, "-c", IN_THE_MIDST.format(what=what), *words, folder=folder)
    assert (code, out) == (1, ""), err
    assert err.count("tracecut: ") == err.count(said) == 1, err
