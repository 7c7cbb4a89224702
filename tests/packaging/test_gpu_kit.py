"""Kits for a card's machine: what is said of damaged ones, and how the model's rows stand beside a card's."""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import platform
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tracecut.codegen.devices.driver_backend import DriverBackend
from tracecut.codegen.ptx import ptxas
from tracecut.support.errors import ArtefactError, UnsupportedError
from tracecut.support.version import __version__

from ..codegen.kernels.fake_driver import FakeDriver
from ..codegen.kernels.test_kernel_file import kernel as by_hand

pytestmark = pytest.mark.quick
FOLDER = Path(__file__).parents[2] / "benchmarks"


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


def digest(found: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def kit(folder: Path, **changes: Any) -> Path:
    (folder / "mesh").mkdir()
    (folder / "mesh" / "program").write_bytes(b"code")
    files = {"mesh/program": hashlib.sha256(b"code").hexdigest()}
    programs = {"mesh": {"capture": {}, "region": {}, "folder": "", "place": ""}}
    found = {"tracecut": __version__, "machine": platform.machine(), "programs": programs, "files": files, **changes}
    found["digest"] = digest(found)
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


def test_a_damaged_description_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever byte of it is another one, or is missing."""
    read_kit = benchmark("gpu_kit", monkeypatch).read_kit
    path = kit(tmp_path) / "kit.json"
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 2]) + whole[place + 1 :])
        with pytest.raises(ArtefactError, match=r"is no kit|is damaged: kit\.json|is a kit "):
            read_kit(tmp_path)
        path.write_bytes(whole[:place])
        with pytest.raises(ArtefactError, match="is no kit"):
            read_kit(tmp_path)
    path.write_bytes(whole)
    read_kit(tmp_path)


def test_a_kit_for_another_processor_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArtefactError, match=r"is a kit for sparc, this machine is "):
        benchmark("gpu_kit", monkeypatch).read_kit(kit(tmp_path, machine="sparc"))


def test_a_kit_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = benchmark("gpu_kit", monkeypatch)
    made = kit(tmp_path)
    assert module.check_size(made) < 1000 and module.MOST == 50_000_000
    with (made / "mesh" / "program").open("wb") as file:
        file.truncate(module.MOST)
    with pytest.raises(ArtefactError, match=r"has 50 MB, at most 50 were expected; the largest file is mesh/program"):
        module.check_size(made)


def test_programs_run_where_their_data_lie_and_say_why_they_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs, path = benchmark("gpu_programs", monkeypatch), tmp_path / "reads.c"
    path.write_text(
        '#include <stdio.h>\nint main(void) { perror("mesh"); return fopen("samples/data", "r") ? 4 : 3; }\n'
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnsupportedError, match=r"reads\.c ended with 4: mesh"):
        programs.capture_and_inspect(programs.Case(path, (), ()), (), tmp_path)
    assert Path.cwd() == tmp_path


def test_what_has_not_begun_in_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = benchmark("gpu", monkeypatch)
    go = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        jobs = [pool.submit(go.wait), *(pool.submit(int) for _ in range(3))]
        while not jobs[0].running():
            time.sleep(0.001)
        found = gpu._completed(jobs, time.monotonic() - 1)
        threading.Timer(0.05, go.set).start()
        ended = list(found)
    assert len(ended) == 4 and [job.cancelled() for job in jobs] == [False, True, True, True]
    with ThreadPoolExecutor(1) as pool:
        jobs = [pool.submit(int) for _ in range(3)]
        assert len(list(gpu._completed(jobs, math.inf))) == 3 and not any(job.cancelled() for job in jobs)


CARDS = [
    ({"cuInit": 100}, "no CUDA-capable device"),
    ({"cuInit": 803}, "driver"),
    ({"cuMemAlloc_v2": 2}, "out of memory"),
]


@pytest.mark.parametrize(("fails", "said"), CARDS)
def test_a_card_that_cannot_be_used_is_told(fails: dict[str, int], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = benchmark("gpu", monkeypatch)
    driver = FakeDriver(SimpleNamespace(name="read"), fails=fails)
    monkeypatch.setattr(gpu, "driver_backend", lambda: DriverBackend(driver))
    with pytest.raises(SystemExit, match=rf"no card of this machine can be used \(.*{said}"):
        gpu.card_of_process()
    monkeypatch.setattr(gpu, "driver_backend", lambda: None)
    with pytest.raises(SystemExit, match="this machine has no NVIDIA driver"):
        gpu.card_of_process()


def test_no_assembler_is_needed_on_the_cards_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, made = benchmark("gpu", monkeypatch), by_hand()
    monkeypatch.setattr(ptxas, "find_ptxas", lambda: None)
    assert gpu.assembled(made) == made.ptx.encode()


def test_a_kit_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArtefactError, match=rf"kit of tracecut 0\.0\.1, this is {__version__}"):
        benchmark("gpu_kit", monkeypatch).read_kit(kit(tmp_path, tracecut="0.0.1"))


def test_rows_of_the_model_have_the_cards_time_as_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, rows = benchmark("gpu", monkeypatch), benchmark("rows", monkeypatch)
    measured = rows.Row("mesh_flux 3", "natural", "us@swap 256x1024", 60.0, "original", 62.0)
    new = [rows.Row("mesh_flux 3", order, "model us@swap 256x1024", 30.0) for order in ("natural", "scattered")]
    found = gpu.against_card(new, {("mesh_flux 3", "natural", measured.metric): measured})
    assert [(row.peer, row.peer_value, row.ratio) for row in found] == [("card", 60.0, 0.5), ("card", None, None)]
