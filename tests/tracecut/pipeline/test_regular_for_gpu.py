"""A program without an index through `optimize --gpu`: its loops have kernels, and run on the card in all steps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tracecut.support.progress import Progress
from tracecut.tracer.toolchain.clang import Flags

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

from ...waiting import HUNG

SAMPLE = Path(__file__).resolve().parents[3] / "samples" / "spac" / "gaussian.c"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("gaussian") / "out"
    settings = Settings(
        (str(SAMPLE),), Flags(libraries=("m",)), argv=("20", "2"), output=output, gpu="h200", min_jobs=16
    )
    optimize_program(settings, Progress(quiet=True))
    return output


def ran(output: Path, *words: str) -> tuple[str, dict[str, Any]]:
    """What the result prints with its loops on an emulated card, and its counters."""
    counters = output.parent / "counters.json"
    command = [sys.executable, "-P", "-m", "tracecut", "run", output, "--device", "emulated", "--counters", counters]
    done = subprocess.run([*command, "--", *words], capture_output=True, text=True, timeout=HUNG, check=True)
    return done.stdout, json.loads(counters.read_text())["device"]


def test_its_loops_run_on_the_card(made: Path) -> None:
    regions = {item["function"]: item for item in json.loads((made / "manifest.json").read_bytes())["regions"]}
    assert all(item["decision"] == "refused" for item in regions.values()), "nothing is to be gained on the CPU"
    assert "no index is loaded" in regions["eliminate"]["reason"]
    assert (made / regions["eliminate"]["gpu"]["path"]).suffix == ".ptx"
    assert regions["multipliers"]["gpu"]["beside"].endswith("gaussian.c:22")
    native = subprocess.run([made / "program", "20", "2"], capture_output=True, text=True, timeout=HUNG, check=True)
    found, counts = ran(made, "20", "2")
    assert found == native.stdout, "each element is computed as before"
    assert counts["launches"] == 2 * 3 * 19
