"""`tracecut.emit` and `tracecut.gpu_model`: GPU kernels of a program's loops, without a card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.kernels.kernel_file import load_kernel, save_kernel
from tracecut.support.errors import ArgumentError, ArtefactError, UnsupportedError

import tracecut

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#define N 3000
#define M 9000
int main(void)
{
    double *x = malloc(N * sizeof *x), *y = calloc(N, sizeof *y), sum = 0;
    int *a = malloc(M * sizeof *a), *b = malloc(M * sizeof *b), *next = malloc(N * sizeof *next);
    unsigned s = 1;
    for (int i = 0; i < N; i++)
        x[i] = i % 17 * 0.5, next[i] = (i + 7) % N;
    for (int j = 0; j < M; j++) {
        a[j] = (s = s * 1103515245u + 12345u) / 65536 % N;
        b[j] = (a[j] + 1 + (s >> 20) % 9) % N;
    }
    for (int t = 0; t < 40; t++) {
        for (int j = 0; j < M; j++) { // edges
            double f = 0.01 * (x[b[j]] - x[a[j]]);
            y[a[j]] += f;
            y[b[j]] -= f;
        }
        for (int i = 0; i < N; i++)
            x[i] += y[i];
    }
    for (int p = 0; p < 20; p++) {
        for (int i = p + 1; i < 200; i++) // rows
            for (int j = p; j < 12; j++)
                x[12 * i + j] -= 0.01 * y[i] * x[12 * p + j];
        for (int i = 0; i < 900; i++) { // search
            int k = 0;
            while (k < 99 && next[k] < a[i])
                k++;
            y[i] = x[k];
        }
    }
    for (int t = 0, i = 0; t < 60 * N; t++) { // chain
        sum += x[i];
        i = next[i];
    }
    printf("%.9g\n", sum);
    return 0;
}
"""
LINES = {line.split("// ")[1]: number for number, line in enumerate(SOURCE.splitlines(), 1) if "// " in line}


@pytest.fixture(scope="module")
def optimized(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tracecut.Optimized]:
    folder = tmp_path_factory.mktemp("emit")
    path = folder / "edges.c"
    path.write_text(SOURCE)
    yield tracecut.optimize(path, output=folder / "out", loop_budget=0.5, threads=1)


def place(optimized: tracecut.Optimized, name: str) -> str:
    return f"{optimized.source[0]}:{LINES[name]}"


@pytest.fixture(scope="module")
def kernel(optimized: tracecut.Optimized) -> tracecut.Kernel:
    return tracecut.emit(optimized, place(optimized, "edges"), variant="smem", block=64, jobs=256, method="rcm")


def test_a_kernel_has_all_that_it_takes_to_run_it(kernel: tracecut.Kernel) -> None:
    assert kernel.variant == "smem" and kernel.arch == "sm_90" and kernel.considered == ()
    assert kernel.schedule is not None and kernel.schedule.blocks >= 9000 // 256
    assert kernel.launch["threads"] == 64 and 0 < kernel.launch["shared_bytes"] <= 48 << 10
    assert ".visible .entry" in kernel.ptx and kernel.resources.spill_store_bytes == 0
    run = kernel.run_cpu()
    assert run.report.blocks == kernel.blocks and run.faults == ()
    assert kernel.run_cpu(strict=True, races=True).faults == ()


def test_shared_memory_spares_traffic(optimized: tracecut.Optimized, kernel: tracecut.Kernel) -> None:
    original = tracecut.emit(optimized, place(optimized, "edges"), variant="original")
    before, after = tracecut.gpu_model(original, "h200"), tracecut.gpu_model(kernel, "h200")
    assert after.l2_bytes < before.l2_bytes / 2
    assert after.occupancy.blocks > 0 and after.time > 0
    assert same_results(original, kernel)


@pytest.mark.parametrize("name", ["rows", "search"])
def test_regular_nests_and_searches_have_kernels(optimized: tracecut.Optimized, name: str) -> None:
    """The host leaves them alone, or gains nothing; that is no reason for a GPU."""
    kernel = tracecut.emit(optimized, place(optimized, name), variant="original", block=32)
    assert kernel.run_cpu(strict=True, races=True).faults == ()
    swapped = tracecut.emit(optimized, place(optimized, name), variant="swap", block=32)
    assert same_results(kernel, swapped, 1)


def same_results(one: tracecut.Kernel, other: tracecut.Kernel, least: int = 2) -> bool:
    """Whether two kernels leave the same values in the program's arrays, at least so many, but for rounding."""
    first, second = one.run_cpu().results, other.run_cpu().results
    found = [np.allclose(first[n].view("f8"), second[n].view("f8"), 1e-12, 1e-12) for n in first.keys() & second.keys()]
    return len(found) >= least and all(found)


def test_the_model_chooses(optimized: tracecut.Optimized) -> None:
    """Whatever is chosen, nothing that was looked at would be faster by two per cent."""
    found = tracecut.emit(optimized, method="rcm")
    assert {item.variant for item in found.considered} == {"original", "swap", "smem", "readonly"}
    times = [item.seconds for item in found.considered if item.seconds is not None]
    own = min(item.seconds for item in found.considered if item.variant == found.variant and item.seconds is not None)
    assert own * 0.98 <= min(times)


def test_kernels_are_saved_and_loaded(kernel: tracecut.Kernel, tmp_path: Path) -> None:
    found = load_kernel(save_kernel(kernel, tmp_path / "kernel.npz"))
    assert (found.ir, found.parameters, found.arguments) == (kernel.ir, kernel.parameters, kernel.arguments)
    assert repr(found) == repr(kernel) and repr(found.schedule) == repr(kernel.schedule)
    for a, b in zip(kernel.run_cpu().memory, found.run_cpu().memory, strict=True):
        assert np.array_equal(a, b)
    values = replace(kernel, arguments=(*kernel.arguments[:-1], float("nan")))
    assert np.isnan(load_kernel(save_kernel(values, tmp_path / "nan.npz")).arguments[-1])


def test_damaged_files_are_refused(kernel: tracecut.Kernel, tmp_path: Path) -> None:
    path = save_kernel(kernel, tmp_path / "kernel.npz")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArtefactError):
        load_kernel(path)
    with pytest.raises(ArtefactError, match="not a valid kernel"):
        load_kernel(save_kernel(replace(kernel, arrays=kernel.arrays[:1]), tmp_path / "few.npz"))
    with pytest.raises(ArtefactError, match="launched with"):
        load_kernel(save_kernel(replace(kernel, threads=2000), tmp_path / "threads.npz"))


def test_ordered_sums_are_the_same_every_time(optimized: tracecut.Optimized) -> None:
    found = tracecut.emit(optimized, place(optimized, "edges"), variant="swap", method="rcm", reduce="ordered")
    assert found.combine is not None and ".visible .entry" in found.combine.ptx
    first, again = found.run_cpu(workers=2), found.run_cpu(strict=True, seed=9)
    assert all(np.array_equal(a, b) for a, b in zip(first.memory, again.memory, strict=True))


def test_regions_go_by_their_ids(optimized: tracecut.Optimized) -> None:
    ids = [str(item["id"]) for item in optimized.regions if item["line"] == LINES["edges"]]
    assert ids, optimized.regions
    assert tracecut.emit(optimized, ids[0], variant="swap", method="rcm").variant == "swap"


def test_a_loop_that_can_not_be_a_kernel_says_why(optimized: tracecut.Optimized) -> None:
    with pytest.raises(UnsupportedError, match=r"edges\.c:\d+ cannot become a kernel: the loop carries a value"):
        tracecut.emit(optimized, place(optimized, "chain"), variant="swap")


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "variant": ({"variant": "fast"}, "variant is 'fast'"),
    "architecture": ({"target": "sm_35"}, "target is 'sm_35'"),
    "gpu": ({"gpu": "h900"}, "h900"),
    "no gpu": ({"gpu": None}, "gpu is None, a name was expected"),
    "a number for a region": ({"region": 5}, "region is 5, the id of a region or FILE:LINE was expected"),
    "region": ({"region": "edges-9999"}, "region is 'edges-9999', one of edges-"),
    "method": ({"method": "best"}, "method is 'best'"),
    "block": ({"block": 0}, "block is 0, a whole number from 16 to 1024"),
    "large block": ({"block": 2000}, "block is 2000"),
    "half a thread": ({"block": 64.5}, "block is 64.5"),
    "jobs": ({"jobs": 0}, "jobs is 0"),
    "shared": (
        {"shared": 1 << 20},
        "shared is 1048576, 0 to 232448 bytes were expected, what a block may have on sm_90",
    ),
    "shared of a small card": ({"shared": 100_000, "target": "sm_75"}, "shared is 100000, 0 to 65536"),
    "reduce": ({"reduce": "sorted"}, "reduce"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused(optimized: tracecut.Optimized, name: str) -> None:
    options, reason = BAD[name]
    with pytest.raises(ArgumentError, match=reason):
        tracecut.emit(optimized, **options)


def test_what_was_not_optimized_is_refused(optimized: tracecut.Optimized) -> None:
    with pytest.raises(ArgumentError, match="optimized is a str"):
        tracecut.emit("edges.c")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="does not know its program"):
        tracecut.emit(replace(optimized, settings=None))
