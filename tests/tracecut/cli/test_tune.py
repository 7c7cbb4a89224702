"""`tracecut tune`: the table is measured once, kept, and measured again when it is asked for or not this machine's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tracecut.codegen.sparse import costs, measure_costs
from tracecut.codegen.sparse.on_gpu import measure_shapes, shape_table
from tracecut.support.errors import UsageError

from tracecut.cli.tune import run_tune

pytestmark = pytest.mark.quick


def test_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path, calls = tmp_path / "table.json", list[int]()

    def measured(said: object, source: str) -> costs.Costs:
        calls.append(1)
        return costs.shipped_costs()

    monkeypatch.setattr(costs, "table_path", lambda: path)
    monkeypatch.setattr(measure_costs, "measure_costs", measured)
    try:
        assert run_tune([]) == 0 == run_tune([])
        lines = capsys.readouterr().out.splitlines()
        assert len(calls) == 1
        assert lines[0].startswith(f"{path}: measured on this machine")
        assert len([line for line in lines if line.startswith("  tiled float64 ")]) == 2
        assert run_tune(["--fresh", "--device", "cpu", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (len(calls), told["path"], told["measured"]) == (2, str(path), True)
        assert told["forms"].keys() == costs.shipped_costs().forms.keys()
        path.write_text(path.read_text().replace(costs.machine_key(), "another"))
        assert run_tune([]) == 0
        assert len(calls) == 3
    finally:
        costs.forget_table()


def test_the_table_of_a_gpu_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With workloads of up to 128 slots, which take little time."""
    path = tmp_path / "shapes.json"
    monkeypatch.setattr(shape_table, "LARGEST", 128)
    for module in (shape_table, measure_shapes):
        monkeypatch.setattr(module, "table_path", lambda card, size: path)
    assert run_tune(["--device", "c1060"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"{path}: the memory model of NVIDIA Tesla C1060"
    assert second.startswith("  most slots a nanosecond, x near ")
    for words, measured in (([], False), (["--fresh"], True)):
        assert run_tune(["--device", "c1060", "--json", *words]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["path"], told["measured"], told["size"]) == (str(path), measured, 4)
        assert len(told["fastest"]) == 3 and min(told["fastest"]) == told["fastest"][2] > 0


def test_refused_words() -> None:
    with pytest.raises(UsageError, match="--device gpu: cpu or a GPU expected"):
        run_tune(["--device", "gpu"])
    with pytest.raises(UsageError, match="--dtype float16: float32 or float64 expected"):
        run_tune(["--device", "h200", "--dtype", "float16"])
    with pytest.raises(UsageError, match="this machine has both types"):
        run_tune(["--dtype", "float32"])
    with pytest.raises(UsageError):
        run_tune(["file.mtx"])
