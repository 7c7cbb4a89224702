"""METIS in its own process: what comes back, and what happens when it does not."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.ir import LocalityGraph
from tracecut.partition.datastructures.plain_graphs import PlainGraph, data_graph
from tracecut.partition.external import client
from tracecut.partition.external.client import run_metis
from tracecut.support.errors import BackendError
from tracecut.support.process.runner import Finished

from ...waiting import HUNG, wait_until


@pytest.fixture
def plain(mesh: LocalityGraph) -> PlainGraph:
    return data_graph(mesh)


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def plant(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Run `program` in place of the worker; sys.argv[1:] are the graph and the labels."""
    monkeypatch.setattr(client, "COMMAND", (sys.executable, "-P", "-c", program))


def test_labels_are_balanced_and_leave_no_file(plain: PlainGraph, scratch: Path) -> None:
    labels = run_metis(plain, 4, seed=7)
    sizes = np.bincount(labels, minlength=4)
    assert labels.dtype == np.int32 and sizes.sum() == plain.size
    assert sizes.max() <= 1.05 * sizes.mean()
    assert list(scratch.iterdir()) == []
    assert run_metis(plain, 4, seed=7).tolist() == labels.tolist()


def test_seeds_and_targets_count(plain: PlainGraph) -> None:
    found = [run_metis(plain, 9, seed=seed) for seed in (0, 1)]
    assert found[0].tolist() != found[1].tolist()
    sizes = np.bincount(run_metis(plain, 2, targets=np.array([0.25, 0.75])), minlength=2)
    assert sizes[0] / sizes.sum() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("k", [1, 576, 1000])
def test_metis_is_not_asked_when_the_answer_is_plain(
    plain: PlainGraph, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, "raise SystemExit(9)")
    labels = run_metis(plain, k)
    assert np.bincount(labels, minlength=k).max() == (576 if k == 1 else 1)


def test_a_graph_without_edges_is_cut_in_equal_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "raise SystemExit(9)")
    nothing = PlainGraph(np.zeros(11, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
    assert run_metis(nothing, 2).tolist() == [0] * 5 + [1] * 5
    empty = PlainGraph(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
    assert run_metis(empty, 3).size == 0


def test_a_crash_names_method_seed_and_graph(plain: PlainGraph, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "import os, signal, sys; print('heap', file=sys.stderr, flush=True); os.kill(os.getpid(), 11)")
    with pytest.raises(
        BackendError, match=r"was killed by SIGSEGV .*\(method 'spac', 576 .* k = 4, seed 3\)"
    ) as caught:
        run_metis(plain, 4, seed=3, method="spac")
    saved = next(scratch.glob("*/graph.npz"))
    assert str(saved) in caught.value.detail and "heap" in caught.value.detail
    assert caught.value.hint.endswith(f"{saved} {saved.with_name('labels.npz')}")
    monkeypatch.undo()
    subprocess.run([*client.COMMAND, str(saved), str(saved.with_name("labels.npz"))], check=True)
    assert saved.with_name("labels.npz").exists()


def test_the_time_limit_ends_the_worker_and_its_children(
    plain: PlainGraph, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = scratch / "pids"
    plant(
        monkeypatch,
        "import os, subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])\n"
        f"open({str(pids)!r}, 'w').write(str(child.pid)); time.sleep(3600)",
    )
    start = time.monotonic()
    limit = 0.5
    while not (pids.exists() and pids.read_text()):  # the worker has to come that far before its time is over
        limit *= 3
        with pytest.raises(BackendError, match=rf"ran longer than {limit:g} s and was stopped"):
            run_metis(plain, 4, time_limit=limit)
    assert time.monotonic() - start < HUNG
    assert list(scratch.glob("*/graph.npz"))
    child = int(pids.read_text())
    wait_until(lambda: not running(child))


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ("np.zeros(575, np.int32)", "575 labels for 576 vertices"),
        ("np.full(576, 4, np.int32)", "no labels that can be used"),
        ("np.full(576, -1, np.int32)", "no labels that can be used"),
        ("np.zeros(576, np.int64)", "no labels that can be used"),
    ],
)
def test_a_bad_answer_is_refused(plain: PlainGraph, labels: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(
        monkeypatch,
        "import sys, numpy as np\nfrom tracecut.support.files import write_arrays\n"
        f"write_arrays(sys.argv[2], 'ForeignLabels', {{'labels': {labels}}}, {{}})",
    )
    with pytest.raises(BackendError, match=problem):
        run_metis(plain, 4)


def test_no_answer_and_a_bad_exit_are_refused(plain: PlainGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "")
    with pytest.raises(BackendError, match="no labels that can be used"):
        run_metis(plain, 4)
    plant(monkeypatch, "import sys; sys.exit('METIS ran out of memory')")
    with pytest.raises(BackendError, match=r"left with status 1[\s\S]*out of memory"):
        run_metis(plain, 4)


def test_an_interrupt_leaves_neither_process_nor_file(
    plain: PlainGraph, scratch: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path_factory.mktemp("worker") / "pid"
    tool = client.run

    def interrupted(command: Sequence[str | Path], **options: Any) -> Finished:
        def tick(_: float) -> None:
            if pid.exists() and pid.read_text().endswith("\n"):
                raise KeyboardInterrupt

        return tool(command, tick=tick, **options)

    plant(monkeypatch, f"import os, time; print(os.getpid(), file=open({str(pid)!r}, 'w'), flush=True); time.sleep(60)")
    monkeypatch.setattr(client, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_metis(plain, 4)
    assert not running(int(pid.read_text()))
    assert list(scratch.iterdir()) == []


def test_the_worker_reports_a_damaged_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = tmp_path / "graph.npz"
    damaged.write_bytes(b"nothing")
    result = subprocess.run(
        [*client.COMMAND, str(damaged), str(tmp_path / "labels.npz")], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stderr.startswith("ArtefactError: ") and "Traceback" not in result.stderr
