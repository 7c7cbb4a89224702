"""Starts of rows in 16 bits: where they are read so, where they stay as wide as they were, and that nothing changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tracecut.codegen.gpu.index_copies import Bytes
from tracecut.codegen.kernels import make_region_kernel as maker
from tracecut.codegen.kernels.device_memory import DeviceMemory
from tracecut.codegen.kernels.gpu_model import gpu_model
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.kernel_file import load_kernel, save_kernel
from tracecut.codegen.kernels.make_region_kernel import make_region_kernel
from tracecut.support.errors import ArgumentError, ScheduleError

from ..children import in_child
from ..harness import Inspected, Program, trace
from ..ptx_interpreter.agreement import differences
from ..replays import load
from .running import check, source_of

# Rows of 1,700 entries: 40 of them are more than 16 bits can tell apart, 20 are not.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#define N 80
#define EACH 1700
#define MANY 800
#define M (N * EACH)
static unsigned state = 1;
static int draw(int n) { return (int)((state = state * 1103515245u + 12345u) / 65536 % n); }
struct __attribute__((packed)) odd { char mark; int starts[N + 1]; int col[3 * N]; };
int main(void)
{
    int *p = malloc((N + 1) * sizeof *p), *from = malloc(MANY * sizeof *from), *to = malloc(MANY * sizeof *to);
    int *col = malloc(M * sizeof *col);
    long *wide = malloc((N + 1) * sizeof *wide), *x = malloc(N * sizeof *x), *sums = calloc(N, sizeof *sums);
    long *y = calloc(N, sizeof *y), *low = calloc(MANY, sizeof *low);
    long *z = calloc(N, sizeof *z), *v = calloc(N, sizeof *v);
    struct odd *o = malloc(sizeof *o);
    for (int i = 0; i <= N; i++)
        p[i] = i * EACH - (i % 3), wide[i] = i * 5L, o->starts[i] = 3 * i - (i % 3);
    p[0] = wide[0] = o->starts[0] = 0, p[N] = M, o->starts[N] = 3 * N;
    for (int i = 0; i < N; i++)
        x[i] = i;
    for (int i = 0; i < MANY; i++)
        from[i] = i * 7, to[i] = from[i] + draw(7);
    for (int j = 0; j < M; j++)
        col[j] = draw(N);
    for (int j = 0; j < 3 * N; j++)
        o->col[j] = draw(N);
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < N; i++) // @rows
            for (int j = p[i]; j < p[i + 1]; j++)
                y[i] += x[col[j]];
        for (int i = 0; i < N; i++) // @wide
            for (long j = wide[i]; j < wide[i + 1]; j++)
                sums[i] += 3 * x[col[j]];
        for (int i = 0; i < MANY; i++) // @apart
            for (int j = from[i]; j < to[i]; j++)
                low[i] += 5 * x[col[j]];
        for (int i = 0; i < N; i++) // @odd
            for (int j = o->starts[i]; j < o->starts[i + 1]; j++)
                z[i] += 7 * x[o->col[j]];
        for (int i = 0; i < N; i++) // @scatter
            for (int j = p[i]; j < p[i + 1]; j++)
                v[col[j]] += 9 * x[i];
        for (int i = 0; i < N; i++)
            x[i] += (y[i] + sums[i] + low[i] + z[i] + v[i]) & 3;
    }
    for (int i = 0; i < N; i++)
        printf("%ld %ld %ld %ld %ld\n", y[i], sums[i], low[i], z[i], v[i]);
    return 0;
}
"""
NAMES = ("rows", "wide", "apart", "odd", "scatter")


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return trace(SOURCE, tmp_path_factory.mktemp("starts"))


def made(item: Inspected, variant: str = "smem", jobs: int = 20) -> Kernel:
    return make_region_kernel(source_of(item), item.random(1), variant, threads=32, jobs=jobs)


def packed(kernel: Kernel) -> list[tuple[str, int]]:
    """(type, bytes) of the copies of starts, and of the first ones of the blocks."""
    found = [(item.name, item.data.size) for item in kernel.arrays if ", offsets" in item.name or "first" in item.name]
    return [(name.split(", ", 1)[-1], size) for name, size in found]


@pytest.mark.parametrize(("name", "copies", "starts"), [("rows", 1, 81), ("wide", 1, 81), ("apart", 2, 800)])
def test_starts_have_16_bits(loops: Program, name: str, copies: int, starts: int) -> None:
    kernel = made(loops.inspect(name), jobs=8)
    assert kernel.schedule is not None and [p.kind for p in kernel.parameters].count("begins") == 1
    expected = [("offsets, local", 2 * starts)] * copies + [("first piece of each block", 4 * kernel.schedule.blocks)]
    assert sorted(packed(kernel)) == sorted(expected)
    assert "begins[blockIdx.x]" in kernel.cuda and "const unsigned short *__restrict__" in kernel.cuda
    assert kernel.ptx.count("ld.global.nc.b16") >= 3  # a start, an end, a column
    assert in_child(lambda: differences(kernel, 2)) == []


@pytest.mark.parametrize(("name", "variant"), [("rows", "smem"), ("scatter", "smem"), ("scatter", "readonly")])
def test_rows_too_long_for_them_keep_their_starts(loops: Program, name: str, variant: str) -> None:
    """The same loop in larger blocks; both leave what the program's order leaves."""
    item = loops.inspect(name)
    short, long, original = made(item, variant), made(item, variant, 40), made(item, "original")
    assert ("offsets, local", 162) in packed(short)
    assert packed(long) == [("offsets", 324)] and not any(p.kind == "begins" for p in long.parameters)
    runs = [kernel.run_cpu(strict=True, races=True) for kernel in (short, long, original)]
    assert [run.faults for run in runs] == [(), (), ()]
    changed = [
        number for number, data in runs[2].results.items() if not np.array_equal(data, original_data(original, number))
    ]
    assert changed
    for number in changed:
        assert all(np.array_equal(run.results[number], runs[2].results[number]) for run in runs[:2])


def original_data(kernel: Kernel, number: int) -> Bytes:
    """What an object held before the loop."""
    return next(item.data for item in kernel.arrays if item.object == number)


@pytest.mark.parametrize("name", NAMES)
def test_the_kernels_leave_what_the_program_left(loops: Program, name: str) -> None:
    loaded = load([loops.inspect(name)])
    (found,) = in_child(lambda: check(loaded, strict=True)).values()
    assert found["smem"] == "" and {text for text in found.values() if text[:3] != "no:"} == {""}


def test_a_base_within_a_number_keeps_all_widths(loops: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of its distance from the first record is no whole number of bytes, or of halves."""
    item = loops.inspect("wide")
    expected = made(item).run_cpu().results
    monkeypatch.setattr(DeviceMemory, "behind", lambda *_: 3)
    kernel = made(item)
    assert packed(kernel) == [("offsets", 648)] and "load i16" not in kernel.ir
    assert all(np.array_equal(expected[number], data) for number, data in kernel.run_cpu().results.items())


def test_fewer_bytes_come_from_memory(loops: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bytes fewer a start. Arrays that begin within a sector of 32 bytes may take one more."""
    item = loops.inspect("apart")
    new = made(item, jobs=800)
    monkeypatch.setattr(maker, "with_packed_starts", lambda device, local, bounds: local)
    old = made(item, jobs=800)
    spared = gpu_model(old, "h200").hbm_bytes - gpu_model(new, "h200").hbm_bytes
    assert abs(spared - 2 * 2 * 800) <= 32 * (1 + len(new.arrays))


def test_it_is_saved_and_loaded(loops: Program, tmp_path: Path) -> None:
    kernel = made(loops.inspect("wide"))
    found = load_kernel(save_kernel(kernel, tmp_path / "kernel.npz"))
    one, other = kernel.run_cpu(), found.run_cpu()
    assert all(np.array_equal(a, b) for a, b in zip(one.memory, other.memory, strict=True))
    memory = found.memory()
    place = next(n for n, item in enumerate(found.arrays) if ", offsets, local" in item.name)
    memory[place][4] ^= 1
    with pytest.raises(ArgumentError, match=r"offsets, local.* has other numbers"):
        found.run_cpu(memory)


def test_the_checker_looks_at_them(loops: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    item, right = loops.inspect("rows"), maker.half_starts
    monkeypatch.setattr(
        maker, "half_starts", lambda device: (replace(each, begins=each.begins + 1) for each in right(device))
    )
    with pytest.raises(ScheduleError, match="would run over the wrong records"):
        made(item)
