"""Kernels of loops in every variant: the PTX that is shipped, interpreted, leaves the bits that its IR leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tracecut.codegen.kernels.make_region_kernel import VARIANTS, make_region_kernel
from tracecut.support.errors import UnsupportedError
from tracecut.support.progress import Progress

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import emit_kernel

from ..children import in_child
from ..harness import Inspected
from ..kernels.running import source_of
from .agreement import differences

SAMPLES = Path(__file__).parents[3] / "samples"
ARGV = {
    "mesh_flux": ("--scale", "1", "--steps", "2"),
    "md_forces": ("--scale", "1", "--steps", "2"),
    "spmv_cg": ("--scale", "1", "--steps", "1", "--iterations", "3"),
    "graph_heat": ("--scale", "11", "--steps", "2"),
}
CASES = [
    ("edges", "totals"),
    *(pytest.param(name, "", marks=pytest.mark.long) for name in ("edges", "rows", "indirect", "masks", "pieces")),
]


@pytest.mark.parametrize(("name", "mark"), CASES)
def test_loops_of_the_catalogue(inspected: Callable[[str], dict[str, Inspected | str]], name: str, mark: str) -> None:
    items = [item for item in inspected(name).values() if not isinstance(item, str) and mark in ("", item.mark)]

    def compare() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for item in items:
            for variant in VARIANTS if item.inspection.verdicts[item.region].movable else ():
                try:
                    kernel = make_region_kernel(source_of(item), item.random(1), variant, threads=32, jobs=40)
                except UnsupportedError:
                    continue
                found[f"{item.mark}, {variant}"] = differences(kernel, 2)
        return found

    found = in_child(compare)
    assert len(found) >= 4 and {case: wrong for case, wrong in found.items() if wrong} == {}


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ARGV)
def test_samples(name: str, variant: str) -> None:
    """The hottest loop of each sample; on all cards the same, and with all threads together the same but for sums."""
    asked = {"arch": "sm_90", "threads": 32, "jobs": 96, "shared": 48 << 10, "method": "rcm", "gpu": "h200"}
    try:
        settings = Settings((str(SAMPLES / f"{name}.c"),), argv=ARGV[name])
        kernel = emit_kernel(settings, {**asked, "variant": variant}, Progress(quiet=True))
    except UnsupportedError as error:
        assert variant in ("smem", "readonly") and "shared memory" in error.message
        return
    assert differences(kernel, 1) == []
    assert differences(kernel, 3, apart=False) == []
    for arch in ("sm_80", "sm_120"):
        assert differences(replace(kernel, arch=arch), 2, apart=False) == []
