"""Tables of costs: measured, kept, read; those of other machines and damaged ones are not used."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.sparse import costs, measure_costs
from tracecut.codegen.sparse.costs import known_costs, read_table, shipped_costs, write_table
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.estimate import estimates, least_seconds, making_seconds, misses_seconds, x_misses
from tracecut.codegen.sparse.forms import FORMATS
from tracecut.codegen.sparse.orders import NATURAL
from tracecut.codegen.sparse.sliced import sliced_shape
from tracecut.support.errors import OutputError

import tracecut

from .test_orders import grid, skewed

pytestmark = pytest.mark.quick


def test_a_table_is_used_once_it_is_there(no_table: Path) -> None:
    assert "shipped" in known_costs().source
    slow = replace(shipped_costs(), call=1234.5)
    try:
        write_table(no_table, slow, "2026-01-02")
        assert known_costs() == replace(slow, source=known_costs().source)
        assert "on this machine by `tracecut tune` on 2026-01-02" in tracecut.spmv(grid(3).to_scipy()).plan.explain()
        assert tracecut.spmv(grid(3).to_scipy()).plan.candidates[0].us > 1234
    finally:
        no_table.unlink()
        costs.forget_table()
    assert "shipped" in known_costs().source


def test_other_tables_are_not_used(tmp_path: Path) -> None:
    path = write_and_name(tmp_path)
    whole: dict[str, Any] = json.loads(path.read_text())
    forms = whole["costs"]["forms"]
    changed: list[Any] = [
        {**whole, "version": costs.VERSION + 1},
        {**whole, "machine": "0" * 16},
        {**whole, "costs": {**whole["costs"], "forms": {"csr float64": forms["csr float64"]}}},
        {**whole, "costs": {**whole["costs"], "moves": [1, 2]}},
        {**whole, "costs": {**whole["costs"], "call": "soon"}},
        {**whole, "costs": {**whole["costs"], "call": -1.0}},
        {
            **whole,
            "costs": {**whole["costs"], "forms": {**forms, "csr float64": {**forms["csr float64"], "end": None}}},
        },
        {"version": costs.VERSION},
        [whole],
    ]
    for other in changed:
        path.write_text(json.dumps(other))
        assert read_table(path) is None, other
    for text in ("", "{", json.dumps(whole)[:-9], "\x00"):
        path.write_text(text)
        assert read_table(path) is None
    assert read_table(tmp_path / "none.json") is None
    path.write_text(json.dumps(whole))
    assert read_table(path) == replace(shipped_costs(), source=read_table(path).source)  # type: ignore[union-attr]


def write_and_name(folder: Path) -> Path:
    path = folder / "table.json"
    write_table(path, shipped_costs(), "2026-01-02")
    return path


def test_a_table_that_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        write_table(tmp_path / "file" / "table.json", shipped_costs(), "2026-01-02")


def test_everything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """With small caches, which take little time."""
    monkeypatch.setattr(measure_costs, "cache_lines", lambda: (64, 256, 1024))
    for name, value in (("PASSES", 1), ("ROUNDS", 1), ("LEAST", 1e-6), ("NEAR", 1024)):
        monkeypatch.setattr(measure_costs, name, value)
    said: list[str] = []
    found = measure_costs.measure_costs(said.append, "here")
    assert said == ["pass 1 of 1"] and found.source == "here"
    assert found.forms.keys() == shipped_costs().forms.keys()
    assert found.forms.keys() == {f"{name} {dtype}" for name in FORMATS for dtype in ("float32", "float64")}
    for one in found.forms.values():
        assert len(one.rows) == len(costs.LENGTHS)
        assert min(*one.rows, one.end, *one.misses, *one.bytes) >= 0
    assert found.call > 0 and min(found.moves) > 0


def test_estimates_follow_the_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one length, of one in each tile; and lines of x that are far."""
    from tracecut.codegen.sparse import estimate

    monkeypatch.setattr(estimate, "CELL", 0.0)
    matrix = Csr(np.arange(101, dtype=np.int32) * 8, np.tile(np.arange(8, dtype=np.int32), 100), np.ones(800), (100, 8))
    table = shipped_costs()
    found = estimates(matrix, NATURAL, x_misses(matrix), sliced_shape(matrix))
    for one in found:
        form = table.of(one.format, matrix.values.dtype)
        lanes = 104 if one.format == "sliced" else 100
        assert one.us == pytest.approx(table.call + lanes * form.rows[costs.LENGTHS.index(8)] / 1e3)
    assert table.of("csr", np.dtype("c16")) == table.of("csr", np.dtype("f8"))
    assert misses_seconds(matrix) == 0
    monkeypatch.setattr(estimate, "cache_lines", lambda: (8, 16, 32))
    assert misses_seconds(grid(60, seed=1)) > misses_seconds(grid(60)) > 0
    assert least_seconds(skewed()) > least_seconds(grid(3)) > 0
    assert making_seconds(matrix, "csr", "natural") == 0 < making_seconds(matrix, "sliced", "natural")
    assert making_seconds(matrix, "sliced", "natural") < making_seconds(matrix, "sliced", "rcm")
