"""`--reduce ordered`: what a result prints does not depend on the number of threads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tracecut.support.errors import ArgumentError
from tracecut.support.progress import Progress

import tracecut
from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

from ..waiting import HUNG

SAMPLES = Path(__file__).parents[2] / "samples"

# Sums that any other order of additions rounds otherwise, to the last digit; both in arrays and in a register.
SUMS = r"""
#include <stdio.h>
#include <stdlib.h>
enum { N = 20000, M = 120000 };
static double x[N], y[N], w[M];
static int a[M], b[M];
static double sweep(void) {
    double total = 0;
    for (int e = 0; e < M; e++) {
        double f = w[e] * (x[b[e]] - x[a[e]]);
        y[a[e]] += f;
        y[b[e]] -= f / 3;
        total += f * f;
    }
    return total;
}
int main(int argc, char **argv) {
    int sweeps = argc > 1 ? atoi(argv[1]) : 6;
    unsigned s = argc > 2 ? atoi(argv[2]) : 1;
    for (int i = 0; i < N; i++) x[i] = 1.0 / (i + 3);
    for (int e = 0; e < M; e++) {
        s = s * 1664525u + 1013904223u; a[e] = (e / 6 + (s >> 8) % 40) % N;
        s = s * 1664525u + 1013904223u; b[e] = (a[e] + (s >> 8) % 90) % N;
        w[e] = 1.0 / (1 + e % 77);
    }
    double total = 0, sum = 0;
    for (int k = 0; k < sweeps; k++) total += sweep();
    for (int i = 0; i < N; i++) sum += y[i] * (i % 13);
    printf("%.17g %.17g %.17g\n", total, sum, y[N / 2]);
    return 0;
}
"""

# Several threads on each CPU that there is: as many CPUs as were asked for.
RUN = """
import os, sys
real = os.sched_getaffinity
class Often(set):
    def __iter__(self):
        return (cpu for cpu in set(self) for _ in range(8))
    __hash__ = None
def often(pid):
    found = Often()
    found.update(real(pid))
    return found
os.sched_getaffinity = often
from tracecut.cli.main import main
main(["run", *sys.argv[1:]])
"""


def run_on(folder: Path, threads: int, *argv: str, counters: Path | None = None) -> bytes:
    words = [str(folder), "--threads", str(threads), *(["--counters", str(counters)] if counters else []), "--", *argv]
    done = subprocess.run([sys.executable, "-P", "-c", RUN, *words], capture_output=True, timeout=HUNG, check=True)
    return done.stdout


def calls(counters: Path) -> int:
    return max(region["calls"] for region in json.loads(counters.read_text())["regions"].values())


@pytest.fixture(scope="module")
def ordered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ordered")
    source = folder / "sums.c"
    source.write_text(SUMS)
    settings = Settings(
        (str(source),),
        output=folder / "out",
        force=True,
        loop_budget=1.0,
        method="rcm",
        reduce="ordered",
        min_share=0.0,
    )
    result = optimize_program(settings, Progress(quiet=True))
    assert [region["decision"] for region in result.regions].count("optimized") == 1
    return folder / "out"


def test_any_number_of_threads_prints_the_same(ordered: Path, tmp_path: Path) -> None:
    found = {run_on(ordered, threads, counters=tmp_path / f"{threads}.json") for threads in (1, 2, 3, 4, 8)}
    assert len(found) == 1
    assert {calls(tmp_path / f"{threads}.json") for threads in (1, 2, 3, 4, 8)} == {6}
    native = subprocess.run([ordered / "program"], capture_output=True, check=True).stdout
    assert found != {native}, "no sum was in another order: this test shows nothing"


def test_other_input_keeps_its_order(ordered: Path) -> None:
    """Whether an inspection pays is a matter of time."""
    native = subprocess.run([ordered / "program", "40", "2"], capture_output=True, check=True).stdout
    assert {run_on(ordered, threads, "40", "2") for threads in (1, 2)} == {native}


def test_no_other_word_is_taken(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="reduce is 'quick', 'fast' or 'ordered' was expected"):
        tracecut.optimize(tmp_path / "any.c", reduce="quick")


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("mesh_flux", ("--scale", "2", "--steps", "20")),
        ("spmv_cg", ("--scale", "2", "--steps", "2")),
        ("md_forces", ("--scale", "1", "--steps", "8")),
        ("graph_heat", ("--scale", "16", "--steps", "8")),
    ],
)
def test_samples_print_the_same_on_any_number_of_threads(
    name: str, argv: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SAMPLES.parent)
    source = str(SAMPLES / f"{name}.c")
    settings = Settings(
        (source,), argv=argv, output=tmp_path / "out", force=True, loop_budget=2.0, method="rcm", reduce="ordered"
    )
    result = optimize_program(settings, Progress(quiet=True))
    assert "optimized" in [region["decision"] for region in result.regions]
    found = {
        run_on(tmp_path / "out", threads, *argv, counters=tmp_path / f"{threads}.json") for threads in (1, 2, 3, 4, 8)
    }
    assert len(found) == 1
    assert len({calls(tmp_path / f"{threads}.json") for threads in (1, 2, 3, 4, 8)} - {0}) == 1
