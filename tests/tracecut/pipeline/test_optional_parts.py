"""A part that the job can do without fails, in whatever way: a remark says so, and the result is there all the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tracecut.codegen.ptx import target
from tracecut.codegen.tuning import choose_order, trial, worker
from tracecut.support.progress import Stages

from tracecut.cli.optimize import print_result
from tracecut.errors import ArgumentError, BackendError, OutputError
from tracecut.pipeline import steps
from tracecut.pipeline.output.result import Optimized
from tracecut.pipeline.output.staging import publish as publish_result
from tracecut.pipeline.output.staging import staging
from tracecut.pipeline.run import run_stages
from tracecut.pipeline.stages import publish, tune
from tracecut.pipeline.stages.settings import Settings
from tracecut.report import region_cards

PROGRAM = r"""
#include <stdio.h>
static int from[3000];
static double x[3000], y[3000];
int main(void) {
    for (int i = 0; i < 3000; i++) from[i] = (int)(i * 7919LL % 3000), x[i] = i;
    for (int step = 0; step < 20; step++)
        for (int i = 0; i < 3000; i++) y[i] += x[from[i]];
    printf("%.3f\n", y[1]);
    return 0;
}
"""

# What can fail: where the name is looked up, and a word of the remark.
PARTS: dict[str, tuple[Any, str, str]] = {
    "a GPU kernel": (target, "emit_kernel", "NoKernel"),
    "the remarks": (publish, "remarks_of", "remarks.yaml could not be made"),
    "the remarks as YAML": (publish, "remarks_yaml", "remarks.yaml could not be made"),
    "the source lines": (publish, "_sources", "source lines in report.html could not be made"),
    "the numbers of the charts": (publish.RegionFigures, "make", "the charts of program-8 could not be made"),
    "the charts": (region_cards, "region_charts", "a chart could not be made"),
    "the report": (publish, "render_report", "report.html could not be made"),
    "the times of whole runs": (steps, "measured", "the measured times of program-8 could not be made"),
    "GPU facts": (worker, "gpu_facts", "the analysis for GPU kernels could not be made"),
    "reuse distances, charts": (
        worker,
        "describe_region",
        "degrees and replication could not be made",
    ),
    "misses before": (choose_order, "predict", "the prediction of cache misses could not be made"),
    "misses after": (trial, "predict", "the prediction of cache misses could not be made"),
}
ERRORS = [
    ArgumentError("boom"),
    BackendError("boom"),
    RuntimeError("boom"),
    MemoryError("boom"),
    KeyError("boom"),
    RecursionError("boom"),
    AssertionError("boom"),
]


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*words: Any, **options: Any) -> Any:
        raise error

    return fail


def in_this_process(module: str, spec: Mapping[str, Any], folder: Path, name: str, say: Any, **limits: Any) -> Any:
    """The worker of a region without a process of its own, so that faults reach it."""
    folder.mkdir(parents=True, exist_ok=True)
    return json.loads(json.dumps(worker.Worker(dict(spec)).run()))


def optimize(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Optimized:
    monkeypatch.setattr(tune, "run_worker", in_this_process)
    source = folder / "program.c"
    source.write_text(PROGRAM)
    (folder / "work").mkdir()
    settings = Settings((str(source),), output=folder / "out", method="rcm", force=True, loop_budget=0.1)
    with staging(folder / "out") as place:
        found = run_stages(settings, Stages(), folder / "work", place)
        publish_result(place, folder / "out", found.listing)
    return Optimized(folder / "out", dict(found.manifest))


@pytest.mark.parametrize("number", range(len(PARTS)), ids=list(PARTS))
def test_the_job_goes_on(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    where, name, remark = list(PARTS.values())[number]
    error = ERRORS[number % len(ERRORS)]
    monkeypatch.setattr(where, name, failing(error))
    result = optimize(tmp_path, monkeypatch)
    assert result.improved, [region["reason"] for region in result.regions]
    assert json.loads((tmp_path / "out" / "manifest.json").read_bytes()) == result.manifest
    told = json.dumps(result.manifest, ensure_ascii=False)
    told += "".join((tmp_path / "out" / name).read_text() for name in (result.report, result.remarks) if name)
    assert remark in told and "boom" in told
    assert result.run().stdout == b"38380.000\n"
    capsys.readouterr()
    print_result(result, Path("out"))
    assert "out" in capsys.readouterr().out


def test_a_method_fails_like_a_foreign_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """No exception of a method is more than a failed candidate; the loop then stays as it was, with that reason."""
    monkeypatch.setattr(trial, "make_order", failing(ZeroDivisionError("boom")))
    result = optimize(tmp_path, monkeypatch)
    (region,) = (region for region in result.regions if region["candidates"])
    assert region["reason"] == "no order could be made: rcm failed: ZeroDivisionError: boom"
    assert "MethodFailed" in (tmp_path / "out" / "remarks.yaml").read_text()
    assert result.run().stdout == b"38380.000\n"


def test_a_full_disk_is_not_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "remarks_yaml", failing(OutputError("cannot write")))
    with pytest.raises(OutputError, match="cannot write"):
        optimize(tmp_path, monkeypatch)
    assert not (tmp_path / "out").exists()


def test_the_summary_fails(tmp_path: Path, capsys: Any) -> None:
    print_result(Optimized(tmp_path / "out", {"regions": 7}), Path("my results"))
    out = capsys.readouterr().out
    assert out.startswith("output  'my results'\nno summary: manifest.regions = 7: a list was expected")
