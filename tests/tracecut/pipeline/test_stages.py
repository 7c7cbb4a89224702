"""The stages: one list of names, in files, manifest and help; which of them run."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tracecut.support.progress import Stages

import tracecut.pipeline
from tracecut.cli.optimize import optimize_parser
from tracecut.pipeline import run
from tracecut.pipeline.artefact import Artefact
from tracecut.pipeline.run import LOADING, PIPELINE, Stage, run_stages
from tracecut.pipeline.stage_names import STAGES
from tracecut.pipeline.stages.deadline import Deadline
from tracecut.pipeline.stages.tune import RegionResult

pytestmark = pytest.mark.quick

FOLDER = Path(*tracecut.pipeline.__path__)


def test_each_stage_has_one_name() -> None:
    assert [stage.name for stage in PIPELINE] == list(STAGES)
    assert f"stages: {', '.join(STAGES)}" in " ".join(optimize_parser().format_help().split())
    files = {path.stem for path in (FOLDER / "stages").glob("*.py")}
    assert set(STAGES) - files == {"original"}  # which is one call of the runner


def test_nobody_else_names_a_stage() -> None:
    """What is told while a stage runs has its name from the list, in the one place that runs them."""
    calls = [
        (path.name, node)
        for path in FOLDER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "stage"
    ]
    assert sorted(name for name, _ in calls) == ["emit.py", "run.py"]


REFUSED: Any = RegionResult(SimpleNamespace(), 3, {}, refused="slow")  # type: ignore[arg-type]
KEPT: Any = RegionResult(SimpleNamespace(), 4, {}, scope=SimpleNamespace())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "names"),
    [
        ({"capture": {"why": "it cannot be traced"}}, "compile original capture publish"),
        ({"tune": {"results": (REFUSED,)}}, "compile original capture tune publish"),
        ({"tune": {"results": (REFUSED, KEPT)}}, "compile original capture tune weave accept publish"),
        (
            {"tune": {"results": (KEPT,)}, "weave": {"results": (REFUSED,)}},
            "compile original capture tune weave publish",
        ),
        ({"tune": {"results": (REFUSED,)}, "gpu": {}}, "compile original capture tune gpu publish"),
        ({"capture": {"why": "it cannot be traced"}, "gpu": {}}, "compile original capture publish"),
    ],
)
def test_stages_that_are_not_needed_are_left_out(
    found: dict[str, dict[str, Any]], names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def planted(stage: Stage) -> Stage:
        return replace(stage, run=lambda artefact: replace(artefact, **found.get(stage.name, {})))

    monkeypatch.setattr(run, "PIPELINE", tuple(map(planted, PIPELINE)))
    gpu = "h200" if "gpu" in found else None
    settings: Any = SimpleNamespace(machine=None, threads=None, gpu=gpu)
    progress = Stages()
    last = run_stages(settings, progress, tmp_path, tmp_path)
    assert isinstance(last, Artefact) and list(progress.timings) == names.split()


def test_how_long_a_stage_takes(tmp_path: Path) -> None:
    """Known as soon as the original has run, and never longer than the budget."""
    settings: Any = SimpleNamespace(loop_seconds=20.0, loop_budget=None, gpu=None, threads=None)
    machine: Any = SimpleNamespace(cores=[SimpleNamespace(cpu=0), SimpleNamespace(cpu=1)])
    expected = {stage.name: stage.seconds for stage in PIPELINE}
    first = Artefact(settings, Stages(), machine, tmp_path, tmp_path, Deadline(30.0, 0.0, lambda: 5.0))
    assert {name for name, seconds in expected.items() if seconds(first) is not None} == set()
    native: Any = SimpleNamespace(seconds=4.0)
    captured: Any = SimpleNamespace(profile=SimpleNamespace(captures={1: "", 2: ""}))
    later = replace(first, native=native, captured=captured)
    found = {name: seconds(later) for name, seconds in expected.items()}
    assert (found["capture"], found["tune"], found["accept"]) == (8.0, 25.0, 16.0)
    short = replace(later, native=SimpleNamespace(seconds=0.5))
    assert expected["tune"](short) == 2 * (LOADING + 10 * 0.5)
    asked: Any = SimpleNamespace(loop_seconds=9.0, loop_budget=9.0, gpu=None, threads=None)
    assert expected["tune"](replace(short, settings=asked)) == 18.0
