"""Each sample through the whole of tracecut: what is rescheduled computes the same, the rest is left alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tracecut.codegen.ptx.ptxas import assemble
from tracecut.support.progress import Progress
from tracecut.tracer.toolchain.clang import Flags

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

from ..waiting import HUNG

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?", re.IGNORECASE)

# name: arguments, function and class of its loop, other arguments that the result is then run with.
IRREGULAR = {
    "mesh_flux": (["--scale", "0", "--steps", "4"], "edge_fluxes", "reduction", ["--every", "1"]),
    "spmv_cg": (["--scale", "0", "--steps", "3"], "spmv", "parallel", ["--iterations", "20"]),
    "md_forces": (["--scale", "0", "--steps", "2"], "pair_forces", "reduction", ["--every", "2"]),
    "graph_heat": (["--scale", "9", "--steps", "6", "--every", "3"], "edge_flows", "reduction", ["--every", "2"]),
}


def run(*words: str | Path) -> str:
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=HUNG, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tracecut(*words: str | Path) -> str:
    return run(sys.executable, "-P", "-m", "tracecut", *words)


def assert_close(text: str, reference: str, *, exact: bool) -> None:
    """The same words, and numbers within 1e-9 of one another; byte for byte where no sum is taken in another order."""
    assert NUMBER.sub("#", text) == NUMBER.sub("#", reference)
    assert len(NUMBER.findall(reference)) > 10
    if exact:
        assert text == reference
    for found, expected in zip(NUMBER.findall(text), NUMBER.findall(reference), strict=True):
        assert float(found) == pytest.approx(float(expected), rel=1e-9, abs=1e-300), (found, expected)


@pytest.fixture(scope="module", params=IRREGULAR)
def irregular(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A sample that was rescheduled, although its size is too small for that to pay."""
    name: str = request.param
    output = tmp_path_factory.mktemp(name) / "out"
    argv = (*IRREGULAR[name][0], *data_of(name))
    settings = Settings(
        (str(SAMPLES / f"{name}.c"),),
        Flags(libraries=("m",)),
        argv=argv,
        output=output,
        force=True,
        method="rcm",
        loop_budget=1.0,
    )
    optimize_program(settings, Progress(quiet=True))
    return name, output


def data_of(name: str) -> list[str]:
    """The file that a sample reads, if any: the tests may be started anywhere."""
    if name == "graph_heat":
        return []
    return [str(SAMPLES / "data" / ("dhfr-water.txt" if name == "md_forces" else "merimbula.off"))]


def manifest_of(output: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((output / "manifest.json").read_bytes())
    return manifest


def test_the_irregular_loop_is_rescheduled(irregular: tuple[str, Path]) -> None:
    name, output = irregular
    _, function, kind, _ = IRREGULAR[name]
    manifest = manifest_of(output)
    found = [region for region in manifest["regions"] if region["decision"] == "optimized"]
    assert found and {(region["function"], region["class"]) for region in found} == {(function, kind)}
    assert manifest["program"]["output_equal"] is True
    for region in found:
        assert region["identity_equal"] is True
        assert region["max_rel_error"] <= region["tolerance"].get("double", 0.0)
        same = region["max_rel_error"] == 0
        assert region["bit_equal"] is (same and not region["rounding"]) and (kind == "reduction" or same)
        assert region["replication_after"] < region["replication_before"]
        assert Path(region["scope"]["file"]).name == Path(region["file"]).name == f"{name}.c"
    assert len({region["id"] for region in manifest["regions"]}) == len(manifest["regions"])


@pytest.mark.parametrize("threads", ["1", "2"])
def test_its_results_are_those_of_the_program(threads: str, irregular: tuple[str, Path]) -> None:
    name, output = irregular
    words, _, _, others = IRREGULAR[name]
    # The input that it was made for, and other arguments; the same mesh under other numbers.
    for argv in (words, [*words, *others]) if threads == "2" else ([*words, "--natural"], [*words, "--seed", "7"]):
        argv = [*argv, *data_of(name)]
        reference = run(output / "program", *argv)
        # All four take a floating-point sum in another order, the solver those of `dot` over the new layout.
        assert_close(tracecut("run", output, "--threads", threads, "--", *argv), reference, exact=False)


def test_the_schedule_is_used(irregular: tuple[str, Path]) -> None:
    name, output = irregular
    argv = [*IRREGULAR[name][0], *data_of(name)]
    command = [sys.executable, "-P", "-m", "tracecut", "run", "-v", output, "--", *argv]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HUNG, check=False)
    sweeps = [int(count) for count in re.findall(r"(\d+) sweeps in the new order", done.stderr)]
    assert sweeps and all(sweeps), done.stderr
    assert set(re.findall(r"(\d+) in the original order", done.stderr)) == {"0"}


def test_kernels_are_emitted_and_assemble(irregular: tuple[str, Path]) -> None:
    _, output = irregular
    for region in manifest_of(output)["regions"]:
        targets = {kernel["target"]: kernel for kernel in region["kernels"]}
        assert set(targets) == ({"host", "sm_90"} if region["decision"] == "optimized" else set())
        for target, kernel in targets.items():
            text = (output / kernel["path"]).read_text()
            if target == "host":
                assert re.search(r"^define .*@tc\.(loop|batch)\.", text, re.MULTILINE)
                continue
            assert re.search(r"^\.target sm_90", text, re.MULTILINE) and f".entry {kernel['name']}(" in text
            report = assemble(text, target)
            assert report.kernel == kernel["name"] and report.registers > 0


REFUSED = {
    "dense_stencil": ("sweep", "rejected", r"regular: no index is loaded", 1),
    "prefix_sum": ("accumulate", "ordered", r"carries a value across iterations", 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_offers_nothing_is_left_alone(name: str, tmp_path: Path) -> None:
    function, kind, reason, lines = REFUSED[name]
    argv = ["--scale", "0", "--steps", "4", "--every", "1"]
    output = tmp_path / "out"
    text = tracecut("optimize", SAMPLES / f"{name}.c", "-lm", "-o", output, "--loop-budget", "1", "--json", "--", *argv)
    manifest = json.loads(text)
    assert all(region["decision"] == "refused" for region in manifest["regions"])
    region = next(region for region in manifest["regions"] if region["function"] == function)
    assert region["class"] == kind and re.search(reason, region["reason"])
    source = (SAMPLES / f"{name}.c").read_text().splitlines()
    assert len({place[1] for place in region["places"]}) == lines
    assert re.search(r"\bfor\b", source[region["places"][0][1] - 1])
    assert manifest["program"]["output_equal"] is True and manifest["program"]["speedup"] == 1
    for words in (argv, ["--scale", "1", "--steps", "2"]):
        reference = run(output / "program", *words)
        assert tracecut("run", output, "--", *words) == reference
        assert len(NUMBER.findall(reference)) > 3
    assert {path.name for path in output.iterdir()}.isdisjoint({"program.so", "scopes", "kernels"})
    remarks = (output / "remarks.yaml").read_text()
    assert "--- !Missed" in remarks and all(f"{name}.c:{place[1]}" in remarks for place in region["places"])
    assert os.access(output / "report.html", os.R_OK)
