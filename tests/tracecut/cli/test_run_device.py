"""`tracecut run OUT --device`: the program's loops on a card, or on one that the CPU stands for."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tracecut.codegen.devices import driver_backend
from tracecut.codegen.offload.device_loop import DeviceScope
from tracecut.codegen.ptx.ptxas import find_ptxas

from tracecut.cli.run_device import prepare
from tracecut.pipeline.output.folder import opened
from tracecut.report import ReportData
from tracecut.report.terminal import render_summary

from ...codegen.kernels.fake_driver import FakeDriver
from ...waiting import HUNG
from .test_run import COMMAND, ENDS, outcome

EMULATED = ("--device", "emulated")


def told(err: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith("tracecut: ")]


def test_the_loop_runs_on_the_card(kernels: Path, shell: Any) -> None:
    native = outcome([f"{kernels}/program"], shell)
    found = shell("run", kernels, "-v", *EMULATED)
    assert (found.code, found.out.encode()) == native[:2]
    lines = told(found.err)
    assert lines[0] == "tracecut: kernels for NVIDIA H200 on emulated on this CPU"
    assert "layout used in 1 of 1 entries" in found.err
    (counts,) = (line for line in lines if "on the card: 8 launches, " in line)
    assert "MB there" in counts and lines[-1].startswith("tracecut: loop ") and " ms a sweep" in lines[-1]


@pytest.mark.parametrize("end", ENDS)
def test_ends_as_the_program_does(end: str, kernels: Path, shell: Any) -> None:
    native = outcome([f"{kernels}/program", *ENDS[end]], shell)
    ours = outcome([*COMMAND, str(kernels), *EMULATED, "--", *ENDS[end]], shell)
    assert ours == native


def test_a_check_compares_both_programs(kernels: Path, shell: Any) -> None:
    found = shell("run", kernels, "--check", *EMULATED)
    assert (found.code, found.err) == (0, "")
    assert "equal: exit status, stdout, stderr" in found.out and "used in 1 of 1 entries" in found.out


@pytest.mark.parametrize("result", ["kernels", "optimized"])
def test_a_check_without_a_card_compares_what_the_program_wrote(
    result: str, request: pytest.FixtureRequest, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    found = shell("run", request.getfixturevalue(result), "--check", "--device", "gpu")
    assert (found.code, found.err) == (0, ""), found.out
    remark, equal, used = found.out.splitlines()
    assert remark.endswith("; the CPU runs all loops") and equal.startswith("equal: exit status, stdout, stderr")
    assert used.startswith(("layout: used in ", "nothing was optimized: "))


def test_counts_of_a_run(kernels: Path, shell: Any) -> None:
    found = shell("run", kernels, *EMULATED, "--counters", shell.folder / "counters.json")
    assert found.code == 0
    counts = json.loads((shell.folder / "counters.json").read_text())["device"]
    assert counts["launches"] == 8 and counts["running"] > 0
    assert counts["sent"] < 3 * 20000 * 8 + 20000 * 8, "each array goes there once, and no more than that"
    assert counts["fetched"] == 20000 * 8


def test_without_a_card_the_cpu_runs_all(kernels: Path, shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    native = outcome([f"{kernels}/program"], shell)
    found = shell("run", kernels, "--device", "gpu")
    assert (found.code, found.out.encode()) == native[:2]
    assert told(found.err) == ["tracecut: this machine has no card that CUDA can use; the CPU runs all loops"]


@pytest.mark.parametrize("kilobytes", [100_000, 150_000, 250_000])
def test_where_kernels_have_no_room_the_cpu_runs_all(kilobytes: int, kernels: Path, shell: Any) -> None:
    """What loads them needs more memory than the program, and than a run on the CPU."""
    native = outcome([f"{kernels}/program"], shell)
    command = " ".join([*map(str, COMMAND), str(kernels), *EMULATED])
    made = subprocess.run(
        ["sh", "-c", f"ulimit -v {kilobytes}; exec {command}"], capture_output=True, timeout=HUNG, cwd=shell.folder
    )
    assert (made.returncode, made.stdout) == native[:2]
    (remark,) = told(made.stderr.decode())
    assert "loaded" in remark or "not enough memory to load kernels" in remark
    assert remark.endswith("; the CPU runs all loops")


DRIVERS = [
    ({"count": 0}, "this machine has no card that CUDA can use"),
    ({"fails": {"cuInit": 100}}, "this machine has no card that CUDA can use"),
    ({"fails": {"cuModuleLoadData": 222}}, "the driver of this machine's card is too old for the kernel or for cupy"),
    ({"fails": {"cuModuleLoadData": 2}}, "card 0 does not load the kernel "),
    ({"capability": (3, 5)}, "the kernel is made for sm_90, card 0 is sm_35"),
    ({"fails": {"cuMemAlloc_v2": 2}}, "card 0 has no room for an array of 256 bytes"),
]


@pytest.mark.parametrize(("how", "said"), DRIVERS)
def test_a_driver_that_cannot_run_the_kernels_is_a_remark(
    how: dict[str, Any], said: str, kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it is tried before the program begins, which the CPU runs then."""
    (loop,) = DeviceScope.load(kernels / "kernels/device0.npz").loops
    driver = FakeDriver(SimpleNamespace(name=loop.name), **how)
    library = ctypes.CDLL

    def load(name: str, *more: Any, **options: Any) -> Any:
        return driver if name == driver_backend.LIBRARY else library(name, *more, **options)

    monkeypatch.setattr(driver_backend.ctypes, "CDLL", load)
    with opened(kernels) as listing:
        found = prepare(kernels, listing, "gpu", lambda text: None)
    assert isinstance(found, str) and found.startswith(said)


@pytest.mark.parametrize("result", ["optimized", "refused"])
def test_a_result_without_kernels_says_how_to_get_some(result: str, request: pytest.FixtureRequest, shell: Any) -> None:
    folder = request.getfixturevalue(result)
    native = outcome([f"{folder}/program"], shell)
    found = shell("run", folder, *EMULATED)
    assert (found.code, found.out.encode()) == native[:2]
    (remark,) = told(found.err)
    assert "make it with `tracecut optimize --gpu CARD`; the CPU runs all loops" in remark


@pytest.mark.parametrize("name", ["device.so", "scopes/device0.npz", "kernels/device0.npz"])
def test_damaged_files_are_refused(name: str, kernels: Path, shell: Any) -> None:
    path = kernels / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    found = shell("run", kernels, *EMULATED)
    assert found.code == 1
    assert f"{name} is damaged" in found.err and found.out == ""
    path.unlink()
    found = shell("run", kernels, *EMULATED)
    assert found.code == 1 and f"{name} cannot be read" in found.err and found.out == ""
    assert shell("run", kernels).code == 0, "without a card nothing of it is needed"


def test_unknown_devices_are_refused(kernels: Path, shell: Any) -> None:
    found = shell("run", kernels, "--device", "tpu")
    assert found.code == 2 and "--device" in found.err


def test_the_result_holds_code_for_the_card(kernels: Path) -> None:
    scope = DeviceScope.load(kernels / "kernels/device0.npz")
    (loop,) = scope.loops
    stem = kernels / "kernels" / f"device0-loop{loop.loop}"
    assert stem.with_suffix(".ptx").read_text() == loop.ptx and ".target sm_90" in loop.ptx
    assert stem.with_suffix(".cubin").exists() == (find_ptxas() is not None)


def test_the_manifest_says_how_kernels_are_launched(kernels: Path) -> None:
    found = json.loads((kernels / "manifest.json").read_text())["device"]
    (loop,) = found["loops"]
    assert found["gpu"] == "NVIDIA H200" and found["copied"] == 0 and found["host"] == []
    assert (kernels / loop["path"]).is_file() and loop["threads"] % 32 == 0 and loop["file"].endswith("probe.c")
    assert [kind for kind, *_ in loop["parameters"]].count("jobs") <= 1 and loop["any_indices"] is True


def test_the_summary_has_the_command(kernels: Path, shell: Any) -> None:
    command = f"tracecut run {kernels} --device gpu"
    data = ReportData.from_manifest(json.loads((kernels / "manifest.json").read_text()), folder=kernels)
    assert f"on card {command}\n" in render_summary(data)
    assert f"1 scope has kernels for NVIDIA H200: {command}\n" in shell("info", kernels).out


def test_a_copied_result_runs(kernels: Path, shell: Any) -> None:
    other = Path(shutil.copytree(kernels, shell.folder / "elsewhere"))
    assert shell("run", other, *EMULATED).out == outcome([f"{other}/program"], shell)[1].decode()
