"""CUDA C of kernels of traced loops, compiled as C++ for this host, leaves what the kernels' own module leaves."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.make_region_kernel import VARIANTS, make_region_kernel
from tracecut.support.errors import UnsupportedError
from tracecut.support.tolerances import RESULTS

from ..children import in_child
from ..conftest import apart
from ..harness import Inspected
from ..kernels.running import source_of
from ..replays import Loaded, load
from .on_host import compiled, differences, run_on_host

Catalogue = Callable[[str], dict[str, Inspected | str]]
PROGRAMS = ("bounds", "early", "exits", "guards", "locals", "masks", "odd", "pairs", "pieces", "shared", "small")
PROGRAMS += ("states", "edges", "indirect")


def kernels_of(loaded: Loaded) -> tuple[list[Kernel], list[str]]:
    """Kernels of all variants, and why there is no text of some."""
    made, why = [], []
    for item in loaded.items:
        if not item.inspection.verdicts[item.region].movable:
            continue
        for variant in VARIANTS:
            try:
                kernel = make_region_kernel(source_of(item), item.random(1), variant, threads=32, jobs=40)
            except UnsupportedError:
                continue
            try:
                assert kernel.cuda
                made.append(kernel)
            except UnsupportedError as error:
                why.append(error.message)
    return made, why


def compare(loaded: Loaded) -> dict[str, Any]:
    """How many kernels ran, those that left something else, and why there is no text of others."""
    kernels, why = kernels_of(loaded)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(kernels, Path(folder))
        for number, kernel in enumerate(kernels):
            found = run_on_host(library, number, kernel)
            expected = kernel.run_cpu().memory
            if bad := differences(kernel, found, expected, RESULTS["double"]):
                wrong.append(f"{kernel.name}, {kernel.variant}: {', '.join(bad)}")
    return {"ran": len(kernels), "wrong": wrong, "refused": why}


@pytest.mark.parametrize(("name", "enough"), [("edges", 35), ("rows", 60)])
def test_the_text_leaves_what_the_kernel_leaves(inspected: Catalogue, name: str, enough: int) -> None:
    loaded = load(apart(inspected(name)))
    found = in_child(lambda: compare(loaded))
    assert found["wrong"] == [] and found["ran"] >= enough and found["refused"] == []


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_loops(inspected: Catalogue, name: str) -> None:
    loaded = load(apart(inspected(name)))
    found = in_child(lambda: compare(loaded))
    assert found["wrong"] == [] and all("CUDA C" in why for why in found["refused"])
