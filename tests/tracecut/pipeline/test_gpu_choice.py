"""`optimize` with a GPU: its kernels do not depend on what pays on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tracecut.support.errors import ArgumentError, UsageError
from tracecut.tracer.toolchain.clang import Flags

import tracecut
from tracecut.cli.optimize import run_optimize
from tracecut.pipeline.stages.gpu import why_alone, why_chosen
from tracecut.pipeline.stages.settings import Settings

PROGRAM = r"""
#include <stdio.h>
#define N 3000
static int near[4 * N];
static float field[N], out[N];
static double chain[N];
int main(void)
{
    for (int i = 0; i < 4 * N; i++) near[i] = (int)(i * 7919LL % N);
    for (int i = 0; i < N; i++) field[i] = i % 13, chain[i] = i % 7;
    for (int step = 0; step < 30; step++) {
        for (int i = 0; i < N; i++) { // cells
            float sum = 0;
            for (int k = 0; k < 4; k++) sum += field[near[4 * i + k]];
            out[i] = 0.25f * sum;
        }
        for (int i = 1; i < N; i++) // ordered
            chain[near[i]] = 0.5 * chain[near[i - 1]] + out[i];
    }
    printf("%.5g %.9g\n", out[5], chain[5]);
    return 0;
}
"""
LINES = {line.split("// ")[1]: number for number, line in enumerate(PROGRAM.splitlines(), 1) if "// " in line}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gpu") / "cells.c"
    path.write_text(PROGRAM)
    return path


@pytest.fixture(scope="module")
def found(source: Path) -> tracecut.Optimized:
    return tracecut.optimize(source, output=source.parent / "out", loop_budget=0.2, threads=1, gpu="a100")


def at(found: tracecut.Optimized, name: str) -> dict[str, Any]:
    return next(dict(item) for item in found.regions if item["line"] == LINES[name])


def test_a_loop_has_a_kernel_whatever_pays_here(found: tracecut.Optimized) -> None:
    chosen = at(found, "cells")["gpu"]
    assert chosen["arch"] == "sm_80" and "A100" in chosen["gpu"]
    text = (found.output / chosen["path"]).read_text()
    assert ".target sm_80" in text and ".visible .entry" in text
    assert {item["variant"] for item in chosen["considered"]} == {"original", "swap", "smem", "readonly"}
    times = [item["seconds"] for item in chosen["considered"] if item["seconds"] is not None]
    assert chosen["seconds"] * 0.98 <= min(times) and chosen["seconds"] <= chosen["original_seconds"]
    assert all(item["why"] for item in chosen["considered"] if item["seconds"] is None)
    assert "gpu" in found.manifest["timings"]
    report = (found.output / "report.html").read_text()
    assert "GPU kernel" in report and Path(chosen["path"]).name in report


def test_a_loop_that_can_not_be_understood_says_why(found: tracecut.Optimized) -> None:
    item = at(found, "ordered")
    assert item["gpu"]["path"] == "" and item["gpu"]["reason"] == item["reason"] != ""


def test_a_budget_that_is_spent_leaves_the_first_kernel(source: Path) -> None:
    found = tracecut.optimize(
        source, output=source.parent / "short", loop_budget=0.2, threads=1, gpu="a100", budget=0.01
    )
    chosen = [item["gpu"] for item in found.regions if item["gpu"] is not None]
    assert chosen and all("when the budget of 0.01 s for the whole job was spent" in item["reason"] for item in chosen)


def test_without_a_gpu_none_is_looked_for(optimized_once: Path) -> None:
    manifest = json.loads((optimized_once / "manifest.json").read_bytes())
    assert "gpu" not in manifest["timings"] and manifest["regions"]
    assert all(item["gpu"] is None for item in manifest["regions"])


@pytest.mark.parametrize(("name", "why"), [("h900", "'h900' names no GPU"), ("titan-x", "titan-x is an sm_61")])
def test_unknown_gpus_are_refused(name: str, why: str, source: Path) -> None:
    with pytest.raises(ArgumentError, match=why):
        tracecut.optimize(source, gpu=name)
    with pytest.raises(UsageError, match=f"--gpu {why}"):
        run_optimize([str(source), "--gpu", name])


@pytest.mark.parametrize(
    ("variant", "measured", "words"),
    [
        ("smem", None, "it has the least predicted time"),
        ("original", None, "no other kernel saves two per cent of the predicted time"),
        ("smem", 1e-5, "it was the fastest on this machine's card"),
        ("original", 1e-5, "it was the fastest on this machine's card"),
    ],
)
def test_why_a_kernel_was_taken(variant: str, measured: float | None, words: str) -> None:
    assert why_chosen({"variant": variant, "measured": measured, "considered": [{}, {}]}) == words
    assert why_chosen({"variant": variant, "measured": measured, "considered": [{}]}) == "no other kernel was looked at"


@pytest.mark.parametrize(
    ("how", "taken", "words"),
    [
        ({}, False, ""),
        ({}, True, "a loop around it has kernels there"),
        ({"exact": True}, False, "a card adds up in another order, which --exact rules out"),
        ({"reduce": "ordered"}, True, "a card adds up in another order, which --reduce ordered rules out"),
    ],
)
def test_why_a_kernel_is_not_in_the_programs_place(how: dict[str, Any], taken: bool, words: str) -> None:
    assert why_alone(Settings(("a.c",), Flags(), **how), taken) == words
