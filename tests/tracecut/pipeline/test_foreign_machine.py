"""`optimize` for a machine that is not this one: predictions, called so, and no time of this one among them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tracecut.ir.machine.machine import Machine
from tracecut.support.dataclass_json import from_json, to_json

from tests.tracecut.gathering import ARRAYS, LOOP
from tracecut.api.optimize import optimize
from tracecut.pipeline import run


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("foreign")
    source = folder / "gather.c"
    source.write_text(f"#include <stdio.h>\n{ARRAYS}int main(void) {{\n{LOOP}    return 0;\n}}\n")
    return optimize(source, output=folder / "out", machine=Machine.mesh(2, 2), method="rcm")


def items(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from items(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from items(item, path)
    else:
        yield path, value


def test_predictions_alone(result: Any) -> None:
    (region,) = [item for item in result.regions if item["predicted"]]
    found = region["predicted"]
    assert found["machine"] == "mesh:2x2" and 0 < found["after"] <= found["before"]
    assert sorted(found["placement"]) == [0, 1, 2, 3] and 0 <= found["remote_after"] <= 1
    assert region["decision"] == "refused" and region["reason"].startswith("predicted for mesh:2x2: ")
    assert not result.improved and result.speedup is None and result.run().returncode == 0
    assert {item["method"] for item in region["candidates"]} == {"original", "rcm"}
    times = [path for path, value in items(region) if "_ms" in path and value is not None]
    assert not times and region["speedup_1t"] is None and region["threads"] is None


def test_the_report_says_whose_numbers_they_are(result: Any) -> None:
    assert result.predicted_for["name"] == "mesh:2x2" and result.machine["name"] != "mesh:2x2"
    assert any("which is not this machine" in note for note in result.notes)
    page = (result.output / "report.html").read_text()
    assert "Predicted for" in page and "mesh:2x2" in page


def test_a_machine_like_this_one_is_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A description that was saved here, under another name."""
    taken: list[Any] = []
    monkeypatch.setattr(run, "PIPELINE", ())
    monkeypatch.setattr(run, "Artefact", lambda settings, *rest: taken.append(settings))
    here = from_json(Machine, {**to_json(Machine.detect()), "name": "a copy"})
    for machine, foreign in ((here, None), (Machine.mesh(2, 2), Machine.mesh(2, 2)), (None, None)):
        run.run_stages(run.Settings(("a.c",), machine=machine), run.Stages(), tmp_path, tmp_path)
        assert taken[-1].machine == foreign


@pytest.mark.parametrize("machine", [Machine.mesh(3, 2), Machine.uma(4), Machine.topo1(), Machine.detect()])
def test_machines_travel_between_processes(machine: Machine) -> None:
    assert from_json(Machine, json.loads(json.dumps(to_json(machine)))) == machine
    full = {"kind": "full", "shape": [2], "distances": [[0, 11], [11, 0]]}
    told = {**to_json(Machine.uma(2)), "network": full, "units": [], "banks": []}
    assert from_json(Machine, told).joined.distances == ((0, 11), (11, 0))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bare.toml", "--machine bare has no caches, at least one was expected"),
        ("nowhere", "names no machine"),
        ("mesh:0x4", "mesh"),
        ("none.toml", "none.toml"),
        ("", "names no"),
    ],
)
def test_no_machine_of_that_name(name: str, said: str, shell: Any) -> None:
    source = shell.source("int main(void) { return 0; }")
    (shell.folder / "bare.toml").write_text('name = "bare"\nmemory = 1000000\ncaches = []\n[[cores]]\ncpu = 0\n')
    done = shell("optimize", source, "--machine", name)
    assert done.code in (1, 2) and said in done.err and "Traceback" not in done.err
    assert not (shell.folder / "tracecut-out").exists()
