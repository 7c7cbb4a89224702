"""Ordered reductions: the same bits in every run, and those of the program's own loop."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.kernels.gpu_model import gpu_model
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.kernel_file import load_kernel, save_kernel
from tracecut.codegen.kernels.make_region_kernel import VARIANTS, make_region_kernel
from tracecut.support.errors import ArgumentError, KernelError, UnsupportedError
from tracecut.support.progress import Progress

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import emit_kernel

from ..children import in_child
from ..conftest import apart
from ..harness import Inspected, Program, trace
from ..ptx_interpreter.agreement import launched
from ..replays import load
from .running import _put, replayed, source_of

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#define N 60
#define M 400
static unsigned state = 1;
static int draw(int n) { return (int)((state = state * 1103515245u + 12345u) / 65536 % n); }
int main(void)
{
    double *x = malloc(N * sizeof *x), *y = calloc(N, sizeof *y), *w = malloc(M * sizeof *w);
    double *all = malloc(N * sizeof *all), *low = malloc(N * sizeof *low), sum = 0.1;
    double *high = calloc(N, sizeof *high);
    float *z = calloc(N, sizeof *z), *g = malloc(M * sizeof *g), *part = calloc(N, sizeof *part);
    unsigned char *seen = calloc(N, 1), *u = malloc(M);
    int *a = malloc(M * sizeof *a), *b = malloc(M * sizeof *b), *p = malloc((N + 1) * sizeof *p);
    for (int i = 0; i < N; i++)
        x[i] = 1.0 / (i + 3), low[i] = all[i] = 1.0, p[i] = i * M / N;
    p[N] = M;
    for (int j = 0; j < M; j++)
        a[j] = draw(N), b[j] = draw(N), w[j] = draw(1000) / 999.0, g[j] = draw(1000) / 997.0f;
    for (int j = 0; j < M; j++)
        u[j] = (unsigned char)draw(99);
    for (int t = 0; t < 3; t++) {
        for (int j = 0; j < M; j++) { // @edges
            double f = w[j] * (x[b[j]] - x[a[j]]);
            y[a[j]] += f;
            y[b[j]] -= f;
        }
        for (int j = 0; j < M; j++) // @some
            if (w[j] > 0.4)
                y[a[j]] += w[j] * x[b[j]] + 0.25;
        for (int i = 0; i < N; i++) // @rows
            for (int k = p[i]; k < p[i + 1]; k++)
                y[b[k]] += w[k] * x[i];
        for (int j = 0; j < M; j++) { // @norm
            z[a[j]] += g[j];
            sum += w[j] * x[b[j]];
        }
        for (int j = 0; j < M; j++) // @small
            seen[a[j]] += u[j];
        for (int j = 0; j < M; j++) // @product
            all[a[j]] *= 1.0 + w[j] / 64;
        for (int j = 0; j < M; j++) // @wider
            part[a[j]] += w[j];
        for (int j = 0; j < M; j++) // @least
            low[a[j]] = w[j] < low[a[j]] ? w[j] : low[a[j]];
        for (int j = 0; j < M; j++) // @greater
            if (w[j] > high[b[j]])
                high[b[j]] = w[j];
        for (int i = 0; i < N; i++)
            x[i] += y[i] / 1024;
    }
    for (int i = 0; i < N; i++)
        printf("%.17g %.17g %d %.17g %.17g %.17g %g\n", y[i], z[i], seen[i], low[i], high[i], all[i], part[i]);
    printf("%.17g\n", sum);
    return 0;
}
"""
SAMPLES = Path(__file__).parents[3] / "samples"
ARGV = {
    "mesh_flux": ("--scale", "1", "--steps", "2"),
    "md_forces": ("--scale", "1", "--steps", "2"),
    "graph_heat": ("--scale", "11", "--steps", "2"),
}
REDUCED = ("edges", "some", "rows", "norm", "small", "product", "least", "greater")


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return trace(SOURCE, tmp_path_factory.mktemp("ordered"))


def ordered(item: Inspected, variant: str, **options: Any) -> Kernel:
    return make_region_kernel(
        source_of(item), item.random(1), variant, threads=32, jobs=60, reduce="ordered", **options
    )


def wrong_of(item: Inspected, runs: int) -> dict[str, str]:
    """Variant → what is wrong with its kernel; why there is none begins with "no"."""
    loaded = load([item])
    source = source_of(item)
    replay, reference = replayed(loaded, item, source)
    found = {}
    for variant in VARIANTS:
        try:
            kernel = ordered(item, variant)
        except UnsupportedError as error:
            found[variant] = f"no: {error.message}"
            continue
        first = kernel.run_cpu(strict=True, races=True)
        wrong = [str(fault) for fault in first.faults[:2]]
        assert kernel.combine is not None and "atomicrmw or ptr %tc.flag" in kernel.ir
        if len(re.findall("atomicrmw|cmpxchg", kernel.ir)) != kernel.ir.count("atomicrmw or ptr %tc.flag"):
            wrong.append("there are atomic operations")
        for turn in range(1, runs):
            how: dict[str, Any] = {"strict": True, "seed": turn} if turn % 2 else {"workers": 1 + turn % 4}
            again = kernel.run_cpu(**how)
            if any(a.tobytes() != b.tobytes() for a, b in zip(first.memory, again.memory, strict=True)):
                wrong.append(f"run {turn} leaves other bits")
        _put(replay, source, first)
        if not replay.compare(reference, replay.outcome()).bit_equal:
            wrong.append("the program leaves other bits")
        found[variant] = "; ".join(wrong)
    return found


@pytest.mark.parametrize("name", REDUCED)
def test_sums_have_the_bits_of_the_program(loops: Program, name: str) -> None:
    """In twenty runs: strict with all seeds, in phases with all numbers of workers."""
    item = loops.inspect(name)
    found = in_child(lambda: wrong_of(item, 20))
    assert {variant: text for variant, text in found.items() if text and text[:3] != "no:"} == {}
    assert all(not found[variant] for variant in ("original", "swap-indirect", "swap"))
    if name in ("edges", "some", "norm"):
        assert not found["smem"], "what is only read can be kept in shared memory"


@pytest.mark.long
@pytest.mark.parametrize("name", ["edges", "rows", "indirect", "masks", "pieces", "guards", "odd", "pairs"])
def test_loops_of_the_catalogue(inspected: Callable[[str], dict[str, Inspected | str]], name: str) -> None:
    """All variants of a loop leave the same bits, whatever the order of their jobs and data; nothing races."""

    def compare() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for item in apart(inspected(name)):
            kept: Any = None
            for variant in VARIANTS if item.inspection.verdicts[item.region].movable else ():
                try:
                    kernel = ordered(item, variant)
                except UnsupportedError:
                    continue
                run = kernel.run_cpu(strict=True, races=True, seed=3)
                found[f"{item.mark}, {variant}"] = [str(fault) for fault in run.faults]
                left = {number: data.tobytes() for number, data in run.results.items()}
                kept = left if kept is None else kept
                if any(kept[number] != left[number] for number in left.keys() & kept.keys()):
                    found[f"{item.mark}, {variant}"].append("other bits")
        return found

    found = in_child(compare)
    assert len(found) > 3 and {case: wrong for case, wrong in found.items() if wrong} == {}


@pytest.mark.long
@pytest.mark.parametrize("name", ["graph_heat", "mesh_flux", "md_forces"])
def test_samples(name: str) -> None:
    """Those whose hottest loop reduces: all variants and twenty runs leave the same bits."""
    kept: dict[int, bytes] = {}
    asked = {"arch": "sm_90", "threads": 64, "jobs": 256, "shared": 48 << 10, "method": "rcm", "gpu": "h200"}
    settings = Settings((str(SAMPLES / f"{name}.c"),), argv=ARGV[name])
    count = 0
    for variant in VARIANTS:
        try:
            kernel = emit_kernel(settings, {**asked, "variant": variant, "reduce": "ordered"}, Progress(quiet=True))
        except UnsupportedError as error:
            assert variant in ("smem", "readonly") and "shared memory" in error.message
            continue
        assert kernel.combine is not None
        count += 1
        first = kernel.run_cpu(strict=True, races=True)
        assert first.faults == ()
        for turn in range(1, 20):
            how: dict[str, Any] = {"strict": True, "seed": turn} if turn % 2 else {"workers": 1 + turn % 4}
            again = kernel.run_cpu(**how)
            assert all(np.array_equal(a, b) for a, b in zip(first.memory, again.memory, strict=True))
        left = {number: data.tobytes() for number, data in first.results.items()}
        kept = kept or left
        assert all(kept[number] == left[number] for number in kept.keys() & left.keys())
    assert count >= 3


@pytest.mark.parametrize("name", ["edges", "norm", "rows"])
def test_the_shipped_text_leaves_these_bits(loops: Program, name: str) -> None:
    """Nothing is fused, and no order is left open: also with all threads of a block together."""
    kernel = ordered(loops.inspect(name), "swap")
    assert kernel.combine is not None
    expected = kernel.run_cpu().memory
    found = kernel.memory()
    for one in (kernel, kernel.combine):
        launched(one, found, apart=False)
    assert [a.tobytes() == b.tobytes() for a, b in zip(expected, found, strict=True)] == [True] * len(found)


def test_memory_can_be_used_again(loops: Program) -> None:
    """Contributions of one launch are gone at the next."""
    kernel = ordered(loops.inspect("edges"), "original")
    twice = kernel.memory()
    kernel.run_cpu(twice)
    once = kernel.memory()
    for array, after, item in zip(once, twice, kernel.arrays, strict=True):
        array[:] = after if item.object >= 0 else array
    kernel.run_cpu(twice)
    kernel.run_cpu(once)
    assert all(np.array_equal(a, b) for a, b in zip(once, twice, strict=True))


def set_weights(kernel: Kernel, value: float) -> list[Any]:
    """Its memory with another value for all that are as many as the jobs."""
    memory = kernel.memory()
    chosen = [
        n for n, item in enumerate(kernel.arrays) if item.object >= 0 and not item.fixed and item.data.size == 3200
    ]
    assert len(chosen) == 1
    memory[chosen[0]].view("f8")[:] = value
    return memory


def test_other_paths_are_found(loops: Program) -> None:
    """A job that contributes nothing adds nothing; one that contributes for the first time has no place to."""
    kernel = ordered(loops.inspect("some"), "original")
    memory = set_weights(kernel, 0.1)
    run = kernel.run_cpu(memory)
    assert all(
        np.array_equal(data, kernel.memory()[n]) or kernel.arrays[n].data.size == 3200
        for n, data in enumerate(run.memory)
    )
    with pytest.raises(KernelError, match="reduce into other data than those that it was made for"):
        kernel.run_cpu(set_weights(kernel, 0.9))


def test_what_has_no_contribution_is_refused(loops: Program) -> None:
    item = loops.inspect("wider")
    with pytest.raises(UnsupportedError, match="in another width than it is stored in"):
        ordered(item, "original")
    with pytest.raises(ArgumentError, match="reduce"):
        make_region_kernel(source_of(item), item.random(1), "swap", reduce="sorted")


def test_both_kernels_are_saved_and_counted(loops: Program, tmp_path: Path) -> None:
    kernel = ordered(loops.inspect("norm"), "swap")
    found = load_kernel(save_kernel(kernel, tmp_path / "kernel.npz"))
    assert kernel.combine is not None and found.combine is not None
    assert (found.combine.ir, found.combine.arguments) == (kernel.combine.ir, kernel.combine.arguments)
    assert all(np.array_equal(a, b) for a, b in zip(found.run_cpu().memory, kernel.run_cpu().memory, strict=True))
    assert found.run_cpu().sums == kernel.run_cpu().sums != {}
    both, second = gpu_model(kernel), gpu_model(kernel.combine)
    assert both.launch == 2 * second.launch and both.sectors > second.sectors > 0
    assert len(both.sites) > len(second.sites) and both.l2_bytes > second.l2_bytes
