"""Loops that share data, each tuned in turn: what one was given is not given to another."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tracecut.codegen.tuning import sampled_verdict
from tracecut.codegen.tuning.inspect_variant import Captured
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.parts import Cache
from tracecut.support.progress import Progress
from tracecut.tracer.capture.snapshot import Capture
from tracecut.tracer.loops.program import Analysis

from tracecut.pipeline.stages import tune
from tracecut.pipeline.stages.capture import trace_program
from tracecut.pipeline.stages.compile import compile_program
from tracecut.pipeline.stages.select_loops import Hot, choose_loops
from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

# The data of the first loop can move while it runs, and not longer: the second makes its indices by arithmetic. What
# that gathers moves nowhere, so any loop around it will do as its scope, and the outermost one is taken.
SOURCE = r"""
#include <stdio.h>
#define N 2000
#define M 9000
static int from[M], to[M], other[M];
static long x[N], y[N];
int main(void) {
    unsigned state = 1;
    for (int e = 0; e < 3 * M; e++) {
        state = state * 1664525u + 1013904223u;
        (e < M ? from : e < 2 * M ? to : other)[e % M] = (int)((state >> 8) % N);
    }
    for (int i = 0; i < N; i++) x[i] = i;
    for (int step = 0; step < 6; step++) {
        for (int e = 0; e < M; e++) y[from[e]] += x[to[e]] * x[other[e]]; // plain
        for (int e = 0; e < M; e++) y[(unsigned)from[e] * 3u % N] -= x[(unsigned)to[e] * 7u % N]; // computed
        for (int i = 0; i < N; i++) x[i] += y[i] & 7;
    }
    long all = 0;
    for (int i = 0; i < N; i++) all = all * 31 + x[i] + y[i];
    printf("%ld\n", all);
    return 0;
}
"""


def line_of(word: str) -> int:
    return next(number for number, line in enumerate(SOURCE.splitlines(), 1) if line.endswith(f"// {word}"))


def test_a_loop_with_an_order_of_its_own_lies_in_no_layout_that_orders_it_again(tmp_path: Path) -> None:
    source, output = tmp_path / "two.c", tmp_path / "out"
    source.write_text(SOURCE, encoding="utf-8")
    settings = Settings((str(source),), output=output, force=True, loop_budget=0.1, method="random", threads=1)
    result = optimize_program(settings, Progress(quiet=True))
    found = {region["line"]: region for region in result.regions}
    plain, computed = found[line_of("plain")], found[line_of("computed")]
    assert plain["decision"] == computed["decision"] == "optimized", (plain["reason"], computed["reason"])
    why = f"two.c:{line_of('plain')} in it has a layout of its own"
    assert any(why in line for line in computed["kept"]), computed["kept"]
    original = subprocess.run([output / "program"], capture_output=True, check=True).stdout
    words = [sys.executable, "-P", "-m", "tracecut", "run", str(output), "-v"]
    again = subprocess.run(words, capture_output=True, check=True)
    assert again.stdout == original
    assert again.stderr.count(b"6 sweeps in the new order, 0 in the original order") == 2


def test_an_inspection_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "two.c"
    source.write_text(SOURCE)
    settings = Settings((str(source),), output=tmp_path / "out", loop_budget=0.1, method="random", threads=1)
    compiled = compile_program(settings, tmp_path)
    (tmp_path / "trace").mkdir()
    traced = trace_program(settings, compiled.analysis, compiled.native, tmp_path / "trace")
    assert not isinstance(traced, str), traced
    hots = choose_loops(settings, compiled.analysis, traced.profile)
    monkeypatch.setattr(tune, "SECONDS", 0.05)
    monkeypatch.setattr(tune, "PATIENCE", 0.0)
    results = tune.tune_regions(settings, compiled.analysis, traced, hots, tmp_path, [0], lambda text: None)
    refused = [result.refused for result in results if result.hot.captured]
    assert refused and all("its inspection failed: " in why and "longer than 0.05 s" in why for why in refused)


# Rows of three neighbours, behind pointers of their own.
NEAR = r"""
#include <stdio.h>
#include <stdlib.h>
#define N 300000
static int to[N], *list[N];
static double x[N], y[N];
int main(int argc, char **argv) {
    (void)argv;
    for (int i = 0; i < N; i++) to[i] = i;
    unsigned state = 1;
    for (int i = N - 1; argc > 1 && i > 0; i--) {
        state = state * 1664525u + 1013904223u;
        int j = (int)((state >> 4) % (unsigned)(i + 1)), was = to[i];
        to[i] = to[j], to[j] = was;
    }
    for (int i = 0; i < N; i++) {
        list[i] = malloc(3 * sizeof **list);
        for (int k = 0; k < 3; k++) list[i][k] = to[(i + k * 100) % N];
    }
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 3; k++) y[i] += x[list[i][k]];
        for (int i = 0; i < N; i++) x[i] += 0.1 * y[i] + 1;
    }
    printf("%g\n", x[7]);
    return 0;
}
"""


@pytest.mark.parametrize(("argv", "near"), [((), True), (("random",), False)])
def test_a_loop_whose_data_lie_well_need_not_be_inspected(
    argv: tuple[str, ...], near: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it can be done in no time."""
    source = tmp_path / "near.c"
    source.write_text(NEAR)
    settings = Settings((str(source),), argv=argv, output=tmp_path / "out")
    compiled = compile_program(settings, tmp_path)
    (tmp_path / "trace").mkdir()
    traced = trace_program(settings, compiled.analysis, compiled.native, tmp_path / "trace")
    assert not isinstance(traced, str), traced
    loop = next(hot.loop for hot in choose_loops(settings, compiled.analysis, traced.profile) if hot.captured)
    found = Captured(compiled.analysis, Capture.load(traced.profile.captures[loop]), loop, traced.values)
    spec = {"worth": {"seconds": 0.0, "share": 1.0, "around": 1.0}, "cpus": [0, 1], "memory": 1 << 30}
    machine = replace(Machine.detect(), caches=(Cache(1, 1 << 15), Cache(2, 1 << 21)))
    assert sampled_verdict.sampled_verdict(found, machine, spec) == ({"once": True} if near else {})
    monkeypatch.setattr(sampled_verdict, "ANYWAY", 0.0)
    assert ("passed_over" in sampled_verdict.sampled_verdict(found, machine, spec)) == near


@pytest.mark.parametrize(("optimized", "asked"), [(False, ["plain"]), (True, ["plain", "computed"])])
def test_loops_that_the_first_worker_passes_over_get_none(
    optimized: bool, asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But where a loop has an order by then: the loops that may be scopes of others are not the same."""
    source = tmp_path / "two.c"
    source.write_text(SOURCE)
    settings = Settings((str(source),), output=tmp_path / "out")
    compiled = compile_program(settings, tmp_path)
    (tmp_path / "trace").mkdir()
    traced = trace_program(settings, compiled.analysis, compiled.native, tmp_path / "trace")
    assert not isinstance(traced, str), traced
    hots = [hot for hot in choose_loops(settings, compiled.analysis, traced.profile) if hot.captured]
    hots.sort(key=lambda hot: compiled.analysis.nest(hot.loop).loops[hot.loop].place.line)
    first, second = (hot.loop for hot in hots)
    specs = []

    def look(settings: Settings, analysis: Analysis, hot: Hot, spec: dict[str, Any], *_: Any) -> tune.RegionResult:
        specs.append(spec)
        scope: Any = SimpleNamespace(nest=SimpleNamespace(loops=[hot.loop]), regions=[hot.loop], numbers=[0])
        passed = {"class": "rejected", "reason": "why", "places": [], "passed_over": True, "inspected": 0.25}
        data = {"class": "ordered", "reason": "other", "places": [], "others": {str(second): passed}}
        refused = "" if optimized else "other"
        return tune.RegionResult(hot, hot.loop, data, scope if optimized else None, refused=refused)

    monkeypatch.setattr(tune, "_tune_one", look)
    results = tune.tune_regions(
        settings, compiled.analysis, traced, hots, tmp_path, [0, 1], lambda text: None, seconds=0.1
    )
    assert [spec["region"] for spec in specs] == [first, second][: len(asked)]
    assert [other["region"] for other in specs[0]["others"]] == [second] and bool(specs[-1]["others"]) != optimized
    assert [result.refused for result in results] == (["", ""] if optimized else ["other", "why"])
