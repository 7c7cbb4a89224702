"""Kernels of traced loops in every variant, run on this CPU, leave what the program's own loop left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.kernels.given_arrays import check_apart
from tracecut.codegen.kernels.gpu_model import gpu_model
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.make_region_kernel import BLOCK_VARIANTS, make_region_kernel
from tracecut.support.errors import ArgumentError, UnsupportedError

from ..children import in_child
from ..conftest import apart
from ..harness import Inspected, trace
from ..replays import load
from .running import check, source_of

Catalogue = Callable[[str], dict[str, Inspected | str]]
PROGRAMS = "bounds early edges ended exits guards indirect locals masks odd pairs pieces rows "
PROGRAMS += "shared small states flags cut degrees results sought linked pointers picked"
EDGES = "totals"  # a loop that adds to what indices lead to


def assert_right(found: dict[str, dict[str, str]], enough: int) -> None:
    wrong = {mark: {v: text for v, text in each.items() if text and text[:3] != "no:"} for mark, each in found.items()}
    assert {mark: each for mark, each in wrong.items() if each} == {}
    kept = sum(not each.get(variant, "no:") for each in found.values() for variant in BLOCK_VARIANTS)
    assert kept >= enough, "too few loops keep data in shared memory"


@pytest.mark.parametrize(("name", "enough"), [("edges", 4), ("rows", 8), ("indirect", 8)])
def test_every_variant_leaves_what_the_loop_left(inspected: Catalogue, name: str, enough: int) -> None:
    loaded = load(apart(inspected(name)))
    assert_right(in_child(lambda: check(loaded, strict=False)), enough)


def test_clean_kernels_have_no_races(inspected: Catalogue) -> None:
    loaded = load(apart(inspected("edges")))
    assert_right(in_child(lambda: check(loaded, strict=True)), 4)


def test_pointers_may_be_subtracted(inspected: Catalogue) -> None:
    """What lies between two of them is the same on a device, where an array may lie elsewhere or have been moved."""
    item = inspected("indirect")["pointer_difference"]
    assert isinstance(item, Inspected)
    (found,) = in_child(lambda: check(load([item]), strict=True)).values()
    assert set(found.values()) == {""}
    kernel = make_region_kernel(source_of(item), item.random(1), "smem", threads=64, jobs=50)
    assert "inttoptr i64" in kernel.ir


# The second load of an index is data; the first one leads to what lies in shared memory, and to what does not.
TWICE = """
#include <stdio.h>
#include <stdlib.h>
#define N 300
static __attribute__((noinline)) void twice(const int *key, int *count, const long *x, long *y)
{
    const int *next = key;
    for (int i = 0; i < N; i++) { // @twice
        int k = *next++;
        count[i]++;
        if (key[i] % 3 != 0)
            y[k] += x[k];
    }
}
static __attribute__((noinline)) void both(const int *key, const int *other, const long *x, long *y, long *w)
{
    for (int i = 0; i < N; i++) { // @both
        int k = key[i], o = other[i];
        y[k] += x[k];
        w[o] += o % 7;
    }
}
int main(void)
{
    int *key = malloc(N * sizeof *key), *count = calloc(N, sizeof *count), *other = malloc(N * sizeof *other);
    long *x = malloc(N * sizeof *x), *y = calloc(N, sizeof *y), *w = calloc(N, sizeof *w);
    unsigned state = 1;
    for (int i = 0; i < N; i++)
        key[i] = (int)((state = state * 1103515245u + 12345u) / 65536 % N), other[i] = key[i / 2], x[i] = i;
    for (int t = 0; t < 3; t++) {
        twice(key, count, x, y);
        both(key, other, x, y, w);
        for (int i = 0; i < N; i++)
            x[i] += y[i] & 3;
    }
    for (int i = 0; i < N; i++)
        printf("%ld %ld %d\\n", y[i], w[i], count[i]);
    return 0;
}
"""


def test_an_index_that_is_data_too_has_no_third_number(tmp_path: Path) -> None:
    loaded = load([trace(TWICE, tmp_path).inspect("twice")])
    (found,) = in_child(lambda: check(loaded, strict=True)).values()
    assert {text for text in found.values() if text[:3] != "no:"} == {""}
    assert found["smem"] == "" and "cannot have a third number" in found["readonly"]


def test_the_third_numbers_of_an_index_are_not_those_of_another(tmp_path: Path) -> None:
    """In `readonly`, x is reached by the new numbers of one index, while the other one is data with old numbers."""
    loaded = load([trace(TWICE, tmp_path).inspect("both")])
    (found,) = in_child(lambda: check(loaded, strict=True)).values()
    assert set(found.values()) == {""}


# Jobs reach arrays by their own number and by an index: `place` is read, `force` is summed up both ways; of `mass` one
# half is written by number, the other one read by an index.
PAIRS = """
#include <stdio.h>
#define N 400
static int first[N + 1], other[N * 4], far[N * 4];
static double place[N], mass[N], force[N];
static __attribute__((noinline)) void pairs(const double *x, double *f, double *m)
{
    for (int i = 0; i < N; i++) { // @pairs
        double here = x[i], sum = 0;
        for (int k = first[i]; k < first[i + 1]; k++) {
            double d = here - x[other[k]];
            sum += d;
            f[other[k]] -= d;
        }
        f[i] += sum;
        m[i] = here * 2;
    }
}
static __attribute__((noinline)) void halves(double *m)
{
    for (int i = 0; i < N / 2; i++) { // @halves
        double sum = 0;
        for (int k = first[i]; k < first[i + 1]; k++)
            sum += m[far[k]];
        m[i] = sum;
    }
}
static __attribute__((noinline)) void fixed(const int *index, double *f)
{
    for (int i = 0; i < N; i++) { // @fixed
        f[index[i]] += i;
        f[3] += 2;
    }
}
int main(void)
{
    unsigned state = 1;
    for (int i = 0, k = 0; i < N; i++) {
        place[i] = (int)((state = state * 1103515245u + 12345u) / 65536 % 1000), mass[i] = i;
        for (first[i] = k; k < first[i] + i % 5; k++)
            other[k] = (int)((state = state * 1103515245u + 12345u) / 65536 % N), far[k] = N / 2 + other[k] / 2;
        first[i + 1] = k;
    }
    for (int t = 0; t < 3; t++) {
        pairs(place, force, mass);
        halves(mass);
        fixed(other, force);
        for (int i = 0; i < N; i++)
            place[i] += force[i] * .125;
    }
    for (int i = 0; i < N; i++)
        printf("%g %g %g\\n", place[i], mass[i], force[i]);
    return 0;
}
"""


@pytest.mark.parametrize("variant", ["smem", "readonly"])
def test_an_array_is_reached_by_number_and_by_an_index(variant: str, tmp_path: Path) -> None:
    item = trace(PAIRS, tmp_path).inspect("pairs")
    kernel = make_region_kernel(source_of(item), item.random(1), variant, threads=32, jobs=40)
    assert kernel.schedule is not None
    owned = [int(space.owned.sum()) for space in kernel.schedule.spaces]
    assert owned == [0], "jobs of other blocks add to the same records in global memory"
    kept = {text for text in kernel.notes.values() if "shared memory" in text}
    assert not kept and not kernel.notes, kernel.notes
    loaded = load([item])
    (found,) = in_child(lambda: check(loaded, strict=True)).values()
    assert found[variant] == "", found


def test_what_is_written_by_number_is_not_kept(tmp_path: Path) -> None:
    item = trace(PAIRS, tmp_path).inspect("halves")
    with pytest.raises(UnsupportedError, match="it is written, and reached by the number of the iteration, too"):
        make_region_kernel(source_of(item), item.random(1), "smem", threads=32, jobs=40)


def test_what_is_reached_at_one_place_is_not_kept(tmp_path: Path) -> None:
    item = trace(PAIRS, tmp_path).inspect("fixed")
    with pytest.raises(UnsupportedError, match="something else than these indices and the number of the iteration"):
        make_region_kernel(source_of(item), item.random(1), "smem", threads=32, jobs=40)


# The index goes through a mask that leaves -100 … 27, the numbers of the space, as they are, and no others.
MASKED = """
#include <stdio.h>
#define N 128
static signed char first[N * 4];
static int other[N * 4];
static double place[N], force[N];
int main(void)
{
    unsigned state = 1;
    for (int i = 0; i < N; i++)
        place[i] = i * i;
    for (int k = 0; k < 4 * N; k++) {
        first[k] = (int)((state = state * 1103515245u + 12345u) / 65536 % 28);
        other[k] = (int)((state = state * 1103515245u + 12345u) / 65536 % N);
    }
    for (int t = 0; t < 3; t++)
        for (int k = 0; k < 4 * N; k++) { // @masked
            int i = (first[k] + 100) & 127;
            double d = k * (place[i] - place[other[k]]);
            force[i] += d;
            force[other[k]] -= d;
        }
    for (int i = 0; i < N; i++)
        printf("%g\\n", force[i]);
    return 0;
}
"""


@pytest.mark.parametrize("strict", [False, True])
def test_local_numbers_are_numbers_of_the_space(strict: bool, tmp_path: Path) -> None:
    """Numbers that a block counts from 0 on may not survive what the program computes with indices."""
    item = trace(MASKED, tmp_path).inspect("masked")
    kernel = make_region_kernel(source_of(item), item.random(1), "smem", threads=32, jobs=40)
    assert kernel.schedule is not None and not kernel.notes
    (space,) = kernel.host.spaces
    assert space.low == -100 and space.high == 28
    loaded = load([item])
    (found,) = in_child(lambda: check(loaded, strict)).values()
    assert found["smem"] == found["swap"] == "", found


@pytest.mark.long
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", PROGRAMS.split())
def test_all_loops(inspected: Catalogue, name: str, strict: bool) -> None:
    loaded = load(apart(inspected(name)))
    assert_right(in_child(lambda: check(loaded, strict=strict)), 0)


@pytest.fixture(scope="module")
def kernel(inspected: Catalogue) -> Kernel:
    """An edge loop with its data in shared memory."""
    item = edge_loop(inspected)
    return make_region_kernel(source_of(item), item.random(1), "smem", threads=64, jobs=50)


def edge_loop(inspected: Catalogue) -> Inspected:
    """A loop that adds to what two indices lead to."""
    item = inspected("edges")[EDGES]
    assert not isinstance(item, str)
    return item


def test_a_kernel_says_how_it_is_launched(kernel: Kernel) -> None:
    assert kernel.schedule is not None
    assert kernel.launch == {
        "blocks": kernel.schedule.blocks,
        "threads": 64,
        "shared_bytes": kernel.shared_bytes,
    }
    assert kernel.resources.spill_store_bytes == 0 and kernel.resources.barriers == 1
    assert kernel.cubin[:4] == b"\x7fELF"
    assert f"{kernel.schedule.blocks} blocks of 64" in repr(kernel)


def test_runs_take_the_callers_arrays(kernel: Kernel) -> None:
    memory = kernel.memory()
    run = kernel.run_cpu(memory)
    again = kernel.run_cpu()
    assert all(np.array_equal(a, b) for a, b in zip(run.memory, again.memory, strict=True))
    assert any(not np.array_equal(a, item.data) for a, item in zip(memory, kernel.arrays, strict=True))


def _first(kernel: Kernel, fixed: bool) -> int:
    return next(n for n, item in enumerate(kernel.arrays) if item.fixed == fixed and item.data.size > 16)


BAD: dict[str, tuple[Callable[[Kernel, list[Any]], list[Any]], str]] = {
    "too few": (lambda k, m: m[:-1], "arrays, .* were given"),
    "too many": (lambda k, m: [*m, m[0]], "more were given"),
    "a list": (lambda k, m: [m[0].tolist(), *m[1:]], "a NumPy array or one that knows DLPack was expected"),
    "short": (lambda k, m: [m[0][:-1].copy(), *m[1:]], "bytes .*, .* were expected"),
    "strided": (lambda k, m: [np.repeat(m[0], 2)[::2], *m[1:]], "C-contiguous"),
    "read-only": (lambda k, m: read_only(m, _first(k, False)), "is read-only; a C-contiguous, writable array"),
    "objects": (lambda k, m: [np.array([None]), *m[1:]], "has the type object, numbers in this machine's byte order"),
    "another byte order": (lambda k, m: [m[0].view(">u2"), *m[1:]], "has the type >u2"),
    "truth values": (lambda k, m: [m[0].view(bool), *m[1:]], "has the type bool"),
    "texts": (lambda k, m: [m[0].view("S1"), *m[1:]], r"has the type \|S1"),
    "masked": (lambda k, m: [np.ma.array(m[0]), *m[1:]], "is a masked array, one without"),
    "other numbers": (lambda k, m: changed(m, _first(k, True)), "other numbers"),
}


def read_only(memory: list[Any], number: int) -> list[Any]:
    memory[number] = memory[number].copy()
    memory[number].flags.writeable = False
    return memory


def changed(memory: list[Any], number: int) -> list[Any]:
    memory[number][3] ^= 1
    return memory


@pytest.mark.parametrize("name", BAD)
def test_arrays_that_do_not_fit_are_refused(kernel: Kernel, name: str) -> None:
    change, reason = BAD[name]
    with pytest.raises(ArgumentError, match=reason):
        kernel.run_cpu(change(kernel, kernel.memory()))


def test_arrays_that_share_memory_are_refused(kernel: Kernel) -> None:
    room, memory = np.zeros(100, np.uint8), kernel.memory()
    memory[1], memory[0] = room[:60], room[60:]
    check_apart(kernel, memory)
    memory[0] = room[59:]
    with pytest.raises(ArgumentError, match=r"array 0 \(.*\) and array 1 \(.*\) share memory"):
        check_apart(kernel, memory)
    with pytest.raises(ArgumentError, match="arrays is a ndarray, a list of arrays was expected"):
        kernel.run_cpu(room)  # type: ignore[arg-type]


def test_memory_is_aligned_as_on_a_card_so_that_counts_are_the_same_every_time(kernel: Kernel) -> None:
    memory = kernel.memory()
    assert all(data.ctypes.data % 256 == 0 for data in memory if data.size)
    assert all(np.array_equal(data, item.data) for data, item in zip(memory, kernel.arrays, strict=True))
    found, kept = [], []
    for size in (1, 100, 4000):
        kept.append(np.empty(size, np.uint8))  # memory is given from elsewhere
        found.append(gpu_model(kernel))
    assert all(np.array_equal(report.counts, found[0].counts) for report in found)
    assert {report.time for report in found} == {found[0].time}


def test_other_data_are_computed_with(kernel: Kernel) -> None:
    """Values are free: NaN stays where the loop would put it, and nothing is refused."""
    memory = kernel.memory()
    number = _first(kernel, False)
    memory[number][:8] = np.array([np.nan]).view(np.uint8)
    kernel.run_cpu(memory)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"variant": "fast"}, "variant is 'fast', one of original, .*smem, readonly was expected"),
        ({"threads": 0}, "a block of 0 threads"),
        ({"threads": 2000}, "a block of 2000 threads"),
        ({"arch": "sm_35"}, "arch is 'sm_35'"),
        ({"jobs": 0}, "jobs is 0"),
        ({"shared": -1}, "shared is -1"),
        ({"shared": 1 << 20}, "shared is 1048576"),
        ({"shared": (64 << 10) + 1, "arch": "sm_75"}, "shared is 65537, 0 to 65536 bytes .* on sm_75"),
        ({"shared": 200 << 10, "arch": "sm_120"}, "shared is 204800, 0 to 101376 bytes .* on sm_120"),
    ],
)
def test_arguments_are_checked(inspected: Catalogue, options: dict[str, Any], reason: str) -> None:
    item = edge_loop(inspected)
    with pytest.raises(ArgumentError, match=reason):
        make_region_kernel(source_of(item), item.unchanged(), **{"variant": "smem", **options})


def test_too_little_shared_memory_is_said(inspected: Catalogue) -> None:
    item = edge_loop(inspected)
    with pytest.raises(UnsupportedError, match="do not fit into 8 bytes of shared memory"):
        make_region_kernel(source_of(item), item.unchanged(), "smem", shared=8)
