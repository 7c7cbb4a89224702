"""A worker that is started before there is work for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tracecut.support.errors import TracecutError
from tracecut.support.process.early_worker import EarlyWorker

from ...waiting import wait_until

LIMIT = 1 << 30
WORKER = """
import json, sys, time
import os
from pathlib import Path
from tracecut.support.process.early_worker import awaited
spec = json.loads(awaited(Path(sys.argv[1]), lambda: print("prepared")).read_text())
print("at work")
if spec["does"] == "die":
    sys.exit("it broke")
while spec["does"] == "hang":
    time.sleep(1)
Path(spec["result"]).write_text(json.dumps({"squared": spec["number"] ** 2}))
"""


@pytest.fixture
def early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EarlyWorker:
    (tmp_path / "squaring_worker.py").write_text(WORKER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return EarlyWorker("squaring_worker", tmp_path / "early", LIMIT)


def work(early: EarlyWorker, folder: Path, does: str, seconds: float | None = None) -> tuple[object, list[str]]:
    said: list[str] = []
    result = folder / "own" / "result.json"
    found = early.work({"does": does, "number": 7, "result": str(result)}, result, "seven", said.append, seconds)
    return found, said


def test_it_prepares_and_then_does_its_work(early: EarlyWorker, tmp_path: Path) -> None:
    lines = tmp_path / "early" / "early.stdout"
    wait_until(lambda: lines.exists() and "prepared" in lines.read_text())
    found, said = work(early, tmp_path, "square")
    assert found == {"squared": 49}
    assert said[-1] == "at work"
    early.stop()  # it has ended


def test_one_that_dies_is_an_error(early: EarlyWorker, tmp_path: Path) -> None:
    with pytest.raises(TracecutError, match="the worker seven left with status 1") as error:
        work(early, tmp_path, "die")
    assert error.value.detail == "it broke"


def test_one_that_takes_too_long_is_stopped(early: EarlyWorker, tmp_path: Path) -> None:
    with pytest.raises(TracecutError, match="the worker seven ran longer than"):
        work(early, tmp_path, "hang", 0.5)
    assert not early._thread.is_alive()


def test_one_that_is_not_needed_is_ended(early: EarlyWorker) -> None:
    early.stop()
    assert not early._thread.is_alive()
