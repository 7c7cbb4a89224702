"""What the benchmarks say of `auto` is measured apart from what it chose by, and counted by kind of input."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


def candidate(method: str, one: float, every: float | None, apart: dict[str, float], **more: Any) -> dict[str, Any]:
    times = {"region_ms": one, "region_all_ms": every, "apart_ms": apart, "threads": 2 if every else 1}
    return {"method": method, "inspect_ms": 4.0, "copy_ms": 2.0, "chosen": [], **times, **more}


def region(decision: str = "optimized") -> dict[str, Any]:
    """RCM was chosen by its first times; apart from those, METIS is faster on two threads."""
    return {
        "decision": decision,
        "candidates": [
            candidate("original", 9.0, None, {"1": 8.0}),
            candidate("rcm", 2.0, 1.0, {"1": 2.5, "2": 1.5}, chosen=[1, 2]),
            candidate("metis", 1.0, 0.5, {"1": 3.0, "2": 1.2}),
            candidate("random", 1.0, None, {}),
        ],
    }


def test_the_row_of_auto_is_its_choice_measured_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    by_method = benchmark("by_method", monkeypatch)
    rows = {name: (value, peer, other) for name, value, peer, other in by_method._rows(region())}
    assert rows["region_ms@auto,1"] == (2.5, "best of all, rcm; auto took rcm", 2.5)
    assert rows["region_ms@auto,2"] == (1.5, "best of all, metis; auto took rcm", 1.2)
    assert rows["region_ms@metis,2"] == (1.2, "original order", 8.0), "not the 0.5 that the choice could have seen"
    assert rows["region_ms@random,2"][0] is None
    assert rows["break_even_sweeps@rcm,2"][0] == pytest.approx(6.0 / 6.5)


def test_auto_keeps_the_original_where_it_refuses_and_one_thread_where_that_was_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    auto_choice = benchmark("by_method", monkeypatch).auto_choice
    assert auto_choice(region("refused"), 2) == ("original", 8.0)
    slower = region()
    slower["candidates"][1]["region_all_ms"] = 2.1
    assert auto_choice(slower, 2) == ("rcm", 2.5)


def test_choices_are_counted_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    choices, rows = benchmark("partition_choices", monkeypatch), benchmark("rows", monkeypatch)
    assert not set(choices.SEEN) & set(choices.HELD_OUT)
    assert not {*choices.SEEN, *choices.HELD_OUT} & set(benchmark("measuring", monkeypatch).REAL)
    given = [
        rows.Row("a", "natural", f"auto k=64, {words}, budget 1 s: cost", cost, "best, metis", 100.0)
        for words, cost in (("fitted", 105.0), ("fitted", 106.0), ("held out", 100.0))
    ]
    given.append(rows.Row("a", "natural", "auto k=64, held out, budget 1 s: CPU s", 1.5, "budget", 1.0))
    given.append(rows.Row("a", "natural", "metis k=64: cost", 300.0, "best, metis", 100.0))
    given.append(rows.Row("a", "natural", "auto k=64: cost", 300.0, "bar ≤", 100.0))
    found = {(row.input, row.metric): row.value for row in choices.summed_choices(given)}
    assert found == {
        ("auto, fitted: share of 2", "within 5 % of the best candidate"): 0.5,
        ("auto, held out: share of 1", "within 5 % of the best candidate"): 1.0,
        ("auto, held out: share of 1", "CPU s within budget"): 0.0,
    }


def test_parts_with_fewer_runs_are_measured_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run goes on with what the file lacks, or has from fewer runs; a time limit leaves the rest for the next."""
    program, rows = benchmark("partitioning", monkeypatch), benchmark("rows", monkeypatch)
    asked: list[tuple[Any, int]] = []

    def family(given: Any, options: Any) -> Any:
        asked.append((given, options.repeat))
        yield rows.Row(given, "natural", "wb-libra k=64: cost", float(options.repeat))

    monkeypatch.setattr(program, "FAMILIES", {"streaming": program.Family(family, ("a", "b"))})
    monkeypatch.setattr(program, "load", lambda name: name)
    file = tmp_path / "rows.json"

    def start(*words: str) -> list[tuple[Any, int]]:
        asked.clear()
        monkeypatch.setattr("sys.argv", ["partitioning.py", "--json", str(file), *words])
        program.main()
        return list(asked)

    assert start("--quick", "--inputs", "a") == [("a", 1)]
    assert start("--minutes", "-1") == []
    assert "2 inputs are left, the next is a of streaming" in capsys.readouterr().out
    assert start() == [("a", 3), ("b", 3)]
    assert start() == start("--quick") == []
    assert start("--repeat", "5", "--inputs", "b") == [("b", 5)]
    parts = program._earlier(file)
    assert {name: (part.runs, part.rows[0].value) for (_, name), part in parts.items()} == {
        "a": (3, 3.0),
        "b": (5, 5.0),
    }
    assert start("--again", "--quick") == [("a", 1), ("b", 1)]


def test_a_quick_run_writes_the_file_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracing, rows = benchmark("tracing", monkeypatch), benchmark("rows", monkeypatch)
    monkeypatch.setattr(tracing, "RESULTS", tmp_path / "default.json")
    monkeypatch.setattr(tracing, "build", lambda name, folder: name)
    monkeypatch.setattr(tracing, "measure", lambda built, *_, **__: [rows.Row(built, "natural", "capture", 1.5)])
    monkeypatch.setattr(tracing, "means", lambda found: found[:1])
    assert tracing.main(["--quick"]) == 0
    assert not list(tmp_path.iterdir())
    assert tracing.main(["--quick", "-o", str(tmp_path / "asked.json")]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["asked.json"]
    data = json.loads((tmp_path / "asked.json").read_text())
    assert data["command"].endswith("--quick") and len(data["rows"]) == len(tracing.KERNELS) + 1
    assert tracing.main([]) == 0 and (tmp_path / "default.json").exists()


def test_a_run_beside_one_peer_keeps_the_rows_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    onto, rows = benchmark("mapping_onto", monkeypatch), benchmark("rows", monkeypatch)
    earlier = [
        rows.Row("a", "natural", "hops/mesh:4x4", 100.0, "Mt-KaHyPar", 125.0),
        rows.Row("a", "natural", "hops/mesh:4x4", 110.0, "Scotch", 100.0),
        rows.Row("all", "", "geomean hops/mesh:4x4, Scotch", 1.1),
    ]
    new = [rows.Row("a", "natural", "hops/mesh:4x4", 100.0, "Scotch", 80.0)]
    found = onto.together(new, earlier)
    assert found == [earlier[0], *new]
    means = {row.metric: (row.value, row.ratio) for row in onto.summed(found)}
    assert means["geomean hops/mesh:4x4, Mt-KaHyPar"] == (pytest.approx(0.8), None)
    best = means["geomean hops/mesh:4x4, best peer of each input"]
    assert best == (pytest.approx(1.25), pytest.approx(1.25 / 1.05)), "Scotch is the better one, and the bar 1.05"


def test_what_scotch_says_of_its_mapping_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    scotch = benchmark("scotch", monkeypatch)
    edges, weights = np.array([[0, 1], [1, 2], [0, 3]]), np.array([5, 1, 2])
    assert scotch.text_of(4, edges, weights).splitlines() == [
        *("0", "4 6", "0 010"),
        *("2 5 1 2 3", "2 5 0 1 2", "1 1 1", "1 2 0"),
    ]
    labels = np.array([0, 5, 5, 1], np.int32)  # (0, 0), (1, 1) twice, (1, 0) of a mesh of 4 × 2
    scotch._check_cost("M\tCommExpan=0.5\t(12)\n", labels, edges, weights, (4, 2))
    with pytest.raises(ValueError, match="Scotch states 11 hops, its mapping has 12"):
        scotch._check_cost("M\tCommExpan=0.5\t(11)\n", labels, edges, weights, (4, 2))
