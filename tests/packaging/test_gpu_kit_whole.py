"""A kit from its making to the rows, on the card that this CPU stands for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MISSING = ("scipy", "networkx", "pymetis", "rich", "zstandard")  # beside a card: Python, NumPy and Numba alone


def gpu(*words: str, code: int = 0, without: Path | None = None) -> str:
    """What it says. `without`: a folder that modules are imported from first, where they fail."""
    command = [sys.executable, "-P", str(ROOT / "benchmarks" / "gpu.py"), *words]
    paths = [str(without)] * (without is not None) + os.environ.get("PYTHONPATH", "").split(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert made.returncode == code, made.stdout + made.stderr
    return made.stderr


@pytest.mark.parametrize(
    "programs",
    [("graph_heat",), pytest.param(("cfd faces", "graph_heat"), marks=pytest.mark.long)],
    ids=["one program", "two programs"],
)
def test_a_kit_is_made_moved_and_measured(programs: tuple[str, ...], tmp_path: Path) -> None:
    gpu("--prepare", str(tmp_path / "made"), "--programs", *programs)
    kit = (tmp_path / "made").rename(tmp_path / "moved")
    for name in MISSING:
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError({name!r})")
    options = ("--emulated", "--workers", "1", "--orders", "scattered", "--json", str(tmp_path / "rows.json"))
    gpu(str(kit), *options, without=tmp_path)
    found = json.loads((tmp_path / "rows.json").read_text())
    assert found["card"] == "emulated on this CPU"
    rows = {(row["input"], row["metric"]): row for row in found["rows"]}
    for program in (f"{name} small" for name in programs):
        for kernel in (
            "original 256x1024",
            "swap-indirect 256x1024",
            "swap 1024x4096",
            "smem 128x512",
            "readonly 256x1024",
        ):
            error = rows[program, f"error@{kernel}"]
            assert error["value"] <= error["peer_value"], f"{program}, {kernel}"
            assert rows[program, f"us@{kernel}"]["value"] > 0
    assert not any(metric == "no kernel" for _, metric in rows)
    path = kit / "graph_heat" / "program"
    path.write_bytes(path.read_bytes()[:-1])
    assert gpu(str(kit), "--emulated", code=1) == f"{kit} is damaged: graph_heat/program\n"
    assert gpu(str(tmp_path / "none"), "--emulated", code=1).startswith(f"{tmp_path / 'none'} is no kit")
