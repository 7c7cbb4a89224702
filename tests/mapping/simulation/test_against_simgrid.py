"""The simulator's times on fifty task graphs beside those that SimGrid gave; `benchmarks/task_graphs.py` made them."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytestmark = pytest.mark.quick
BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module(name)


@pytest.mark.parametrize("most", [500, 5000])
def test_nine_in_ten_times_are_within_a_fifth_of_those_of_simgrid(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In graphs of up to so many nodes."""
    program = benchmark("simulating_simgrid", monkeypatch)
    cases, said = benchmark("task_graphs", monkeypatch).load(program.STORED)
    assert len(cases) == len(said["times"]) == 50 and said["simgrid"] == "3.32.0" and said["command"]
    assert max(case.cycles.size for case in cases) <= 5000
    told = [(case, time) for case, time in zip(cases, said["times"], strict=True) if case.cycles.size <= most]
    assert len(told) > 20
    chosen, times = zip(*told, strict=True)
    assert program.share_near([case.simulated().time for case in chosen], times) >= 0.9
    blind = [case.on_fast_links().simulated().time for case in chosen]
    assert program.share_near(blind, times) < 0.9, "a simulator without contention would pass, too"


def test_cases_of_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """SimGrid has to have the same times: `simulating_simgrid.py` asks it before anything else."""
    for case, expected in benchmark("simulating_simgrid", monkeypatch).closed_forms():
        assert case.simulated().time == expected, case.name


@pytest.mark.parametrize("i", [1, 7, 8, 12, 17, 22, 27, 31, 32])  # one of each shape
def test_the_recipe_makes_the_stored_graphs(i: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = benchmark("task_graphs", monkeypatch)
    stored = graphs.load(benchmark("simulating_simgrid", monkeypatch).STORED)[0][i]
    made = graphs.case(i)
    assert made.name == stored.name and made.how == stored.how
    assert np.array_equal(made.edges, stored.edges) and np.array_equal(made.cycles, stored.cycles)
    assert made.machine() == stored.machine()
    if "metis" not in made.how:
        assert np.array_equal(made.core, stored.core)


def test_files_give_cases_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    graphs = benchmark("task_graphs", monkeypatch)
    cases = [case for case, _ in benchmark("simulating_simgrid", monkeypatch).closed_forms()]
    graphs.save(tmp_path / "cases.npz", cases, words="said")
    found, said = graphs.load(tmp_path / "cases.npz")
    assert said == {"words": "said"}
    for before, after in zip(cases, found, strict=True):
        assert [after.name, after.mesh, after.pipelined] == [before.name, before.mesh, before.pipelined]
        assert all(np.array_equal(getattr(after, name), getattr(before, name)) for name in graphs.ARRAYS)
