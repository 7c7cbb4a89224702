"""Kits for a card's machine: what is said of damaged ones, and how the model's rows stand beside a card's."""

from __future__ import annotations

import hashlib
import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tracecut.support.errors import ArtefactError
from tracecut.support.version import __version__

pytestmark = pytest.mark.quick
FOLDER = Path(__file__).parents[2] / "benchmarks"


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


def kit(folder: Path, **changes: Any) -> Path:
    (folder / "mesh").mkdir()
    (folder / "mesh" / "program").write_bytes(b"code")
    files = {"mesh/program": hashlib.sha256(b"code").hexdigest()}
    programs = {"mesh": {"capture": {}, "region": {}, "folder": "", "place": ""}}
    found = {"tracecut": __version__, "programs": programs, "files": files, **changes}
    (folder / "kit.json").write_text(json.dumps(found))
    return folder


def test_a_whole_kit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(benchmark("gpu_kit", monkeypatch).read_kit(kit(tmp_path))["programs"]) == ["mesh"]


def test_damaged_kits_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_kit = benchmark("gpu_kit", monkeypatch).read_kit
    with pytest.raises(ArtefactError, match=r"is no kit"):
        read_kit(tmp_path)
    made = kit(tmp_path)
    (made / "mesh" / "program").write_bytes(b"cod")
    with pytest.raises(ArtefactError, match=r"is damaged: mesh/program"):
        read_kit(made)
    (made / "mesh" / "program").unlink()
    with pytest.raises(ArtefactError, match=r"is damaged: mesh/program"):
        read_kit(made)
    (made / "kit.json").write_text('{"tracecut": ')
    with pytest.raises(ArtefactError, match=r"is no kit"):
        read_kit(made)


def test_a_kit_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArtefactError, match=rf"kit of tracecut 0\.0\.1, this is {__version__}"):
        benchmark("gpu_kit", monkeypatch).read_kit(kit(tmp_path, tracecut="0.0.1"))


def test_rows_of_the_model_have_the_cards_time_as_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, rows = benchmark("gpu", monkeypatch), benchmark("rows", monkeypatch)
    measured = rows.Row("mesh_flux 3", "natural", "us@swap 256x1024", 60.0, "original", 62.0)
    new = [rows.Row("mesh_flux 3", order, "model us@swap 256x1024", 30.0) for order in ("natural", "scattered")]
    found = gpu.against_card(new, {("mesh_flux 3", "natural", measured.metric): measured})
    assert [(row.peer, row.peer_value, row.ratio) for row in found] == [("card", 60.0, 0.5), ("card", None, None)]
