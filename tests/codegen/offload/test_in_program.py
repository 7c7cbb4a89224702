"""Loops of a program run on an emulated card, in the program's place: it prints what it would have printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tracecut.codegen.devices.device import Device
from tracecut.codegen.devices.emulated_backend import NEWEST, EmulatedBackend
from tracecut.codegen.offload.device_loop import DeviceScope
from tracecut.support.errors import ArtefactError, UnsupportedError
from tracecut.support.process.runner import Limits, run
from tracecut.support.tolerances import OUTPUT

from tracecut.pipeline.stages.compare_outputs import compare_outputs
from tracecut.pipeline.stages.tune import scope_exits

from ...waiting import HUNG
from ..harness import Inspected, trace
from ..woven_programs import Ran
from .on_card import Asked, card_scopes, run_on_card

# A time loop with everything that a scope can hold: a fill, sums over edges, an update of all nodes, a sum in a
# register, buffers that change places, a copy of a block, and what seldom runs.
STEPS = r"""
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { N = 500, M = 2000 };
static int a[M], b[M];
static double w[M], r[N], last[N];
int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 6, every = argc > 2 ? atoi(argv[2]) : 1000;
    unsigned s = argc > 3 ? atoi(argv[3]) : 1;
    const char *what = argc > 4 ? argv[4] : "";
    double *u = malloc(N * sizeof *u), *v = malloc(N * sizeof *v), total = 0;
    for (int i = 0; i < N; i++) u[i] = i % 17, v[i] = 0;
    for (int e = 0; e < M; e++) {
        s = s * 1664525u + 1013904223u; a[e] = (s >> 8) % N;
        s = s * 1664525u + 1013904223u; b[e] = (s >> 8) % N;
        w[e] = (s >> 16) % 8;
    }
    if (what[0] == 'r') fesetround(FE_UPWARD);
    for (int t = 0; t < steps; t++) {
        memset(r, 0, sizeof r);
        for (int e = 0; e < M; e++) { // @edges
            double f = w[e] * (u[a[e]] - u[b[e]]) / 64;
            r[a[e]] -= f;
            r[b[e]] += f;
        }
        for (int i = 0; i < N; i++) v[i] = u[i] + r[i] / 256;
        double sum = 0;
        for (int i = 0; i < N; i++) sum += v[i] * v[i];
        total += sum;
        memcpy(last, u, sizeof last);
        double *swap = u; u = v; v = swap;
        if (t % every == every - 1) {
            printf("%d %.17g %.17g\n", t, u[3], last[3]);
            if (what[0] == 'f') {
                fflush(stdout);
                if (!fork()) { printf("child %.17g\n", u[4]); exit(0); }
                wait(NULL);
            }
        }
    }
    for (int i = 0; i < N; i += 50) printf("%.17g %.17g %.17g\n", u[i], r[i], last[i]);
    printf("%.17g\n", total);
    return 0;
}
"""


@pytest.fixture(scope="module")
def item(tmp_path_factory: pytest.TempPathFactory) -> Inspected:
    """The loop over edges in the scope of all time steps, whose printing is an exit."""
    return inspected(STEPS, tmp_path_factory.mktemp("steps"))


@pytest.fixture(scope="module")
def copying(tmp_path_factory: pytest.TempPathFactory) -> Inspected:
    """The same with a copy in place of buffers that change places, all in the new order: blocks can keep the data."""
    source = STEPS.replace("double *swap = u; u = v; v = swap;", "memcpy(u, v, N * sizeof *u);")
    return inspected(source.replace("memcpy(last, u, sizeof last);", ""), tmp_path_factory.mktemp("copying"))


def inspected(source: str, folder: Path) -> Inspected:
    program = trace(source, folder)
    loop = program.loop("edges")
    scope = program.scopes_of(loop)[0]
    assert scope != loop
    why = []
    for exits, _ in scope_exits(program.compiled.analysis, program.traced, scope, loop):
        try:
            return program.inspect_in("edges", loop, scope, exits, look_up=False)
        except UnsupportedError as error:
            why.append(error.message)
    raise AssertionError(why)


def ran(item: Inspected, *argv: str, variant: str = "swap", **how: Any) -> Ran:
    scopes = card_scopes([Asked(item, variant, item.random(3))])
    return run_on_card(item.program, scopes, argv=argv, **how)


def assert_right(item: Inspected, found: Ran, *argv: str) -> None:
    """It printed what the program prints: sums may be rounded otherwise."""
    folder = item.program.folder
    done = run([item.program.compiled.native, *argv], folder=folder, name="native", limits=Limits(HUNG))
    assert (done.returncode, found.code) == (0, 0), found.stderr
    difference = compare_outputs(done.stdout.read_bytes(), found.stdout, tolerance=OUTPUT)
    assert difference.equal, difference


def test_all_of_a_time_step_has_kernels(item: Inspected) -> None:
    (made,) = card_scopes([Asked(item, "swap", item.random(3))])
    assert len(made.kernels.loops) == 3 and len(made.kernels.calls) == 2, made.kernels.remarks
    assert made.kernels.reads == made.kernels.writes == () and made.kernels.remarks == ()


@pytest.mark.parametrize("variant", ["original", "swap-indirect", "swap"])
def test_the_program_prints_what_it_printed(item: Inspected, variant: str) -> None:
    assert_all_on_card(item, ran(item, variant=variant))


@pytest.mark.parametrize("variant", ["swap", "smem", "readonly"])
def test_blocks_keep_data(copying: Inspected, variant: str) -> None:
    assert_all_on_card(copying, ran(copying, variant=variant))


def assert_all_on_card(item: Inspected, found: Ran) -> None:
    assert_right(item, found)
    assert list(found.used.values()) == [1]
    assert found.report["device"]["launches"] == 18


def test_data_stay_on_the_card(item: Inspected) -> None:
    """They come when they are first needed, and go when the scope is left, however many steps there are."""
    few, many = (ran(item, steps).report["device"] for steps in ("3", "40"))
    cells = 8 * 37  # the sum of each step goes there
    assert many["sent"] - few["sent"] == cells and many["fetched"] == few["fetched"] > 0
    assert many["launches"] - few["launches"] == 3 * 37


def test_what_seldom_runs_sees_the_data(item: Inspected) -> None:
    found = ran(item, "23", "7")
    assert_right(item, found, "23", "7")
    assert found.report["device"]["launches"] == 3 * 23, "it goes on there behind each exit"


def test_other_indices_run_in_the_programs_own_order(item: Inspected) -> None:
    found = ran(item, "5", "1000", "2")
    assert_right(item, found, "5", "1000", "2")
    assert list(found.used.values()) == [1] and found.report["device"]["launches"] == 15
    assert "its kernels run in the program's own order" in found.stderr


def test_other_indices_run_in_the_program_where_they_decide(item: Inspected) -> None:
    (made,) = card_scopes([Asked(item, "swap", item.random(3))])
    found = run_on_card(item.program, [replace(made, anyhow=None)], argv=["5", "1000", "2"])
    assert_right(item, found, "5", "1000", "2")
    assert list(found.used.values()) == [0] and found.report["device"]["launches"] == 0
    assert "the original order runs" in found.stderr


# A loop that is entered again and again with other numbers.
AGAIN = r"""
#include <stdio.h>
#include <stdlib.h>
enum { N = 400 };
static int a[N];
static double u[N], v[N];
int main(int argc, char **argv) {
    int times = argc > 1 ? atoi(argv[1]) : 3, more = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 0; i < N; i++) a[i] = i * 7 % N, u[i] = i;
    for (int t = 0; t < times; t++) {
        int first = more ? t : 0;
        for (int i = 0; i < N - first; i++) // @again
            v[i] += u[a[i + first]];
        printf("%g\n", v[t]);
    }
    return 0;
}
"""


def test_what_is_declined_again_and_again_is_not_asked_for_any_more(tmp_path: Path) -> None:
    program = trace(AGAIN, tmp_path)
    loop = program.loop("again")
    item = program.inspect_in("again", loop, loop)
    found = ran(item, "40")
    assert_right(item, found, "40")
    assert list(found.used.values()) == [40]
    found = ran(item, "40", "1")
    assert_right(item, found, "40", "1")
    assert list(found.used.values()) == [1], "the first one is as it was traced"
    assert "its kernels were not for 8 entries in a row" in found.stderr


def test_a_child_of_the_program_has_the_data(item: Inspected) -> None:
    found = ran(item, "9", "4", "1", "fork")
    assert_right(item, found, "9", "4", "1", "fork")


def test_other_rounding_stays_on_the_cpu(item: Inspected) -> None:
    found = ran(item, "9", "4", "1", "round")
    assert_right(item, found, "9", "4", "1", "round")
    assert "rounds otherwise than a card does" in found.stderr


class Failing(EmulatedBackend):
    """A card that has no room for an array, or whose kernels fail from some launch on, and its memory with them."""

    def __init__(self, *, puts: int = 1 << 30, launches: int = 1 << 30) -> None:
        super().__init__()
        self.puts, self.launches, self.broken = puts, launches, False

    def put(self, number: int, data: npt.NDArray[Any]) -> Any:
        self.puts -= 1
        if self.puts < 0:
            raise MemoryError("out of memory")
        return super().put(number, data)

    def launch(self, *given: Any) -> None:
        self.launches -= 1
        if self.launches < 0:
            self.broken = True
            raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")
        super().launch(*given)

    def get(self, number: int, array: Any, first: int = 0, size: int | None = None) -> npt.NDArray[np.uint8]:
        if self.broken:
            raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")
        return super().get(number, array, first, size)


def failing(**how: int) -> Callable[[], Device]:
    return lambda: Device(Failing(**how), 0, NEWEST)


@pytest.mark.parametrize("puts", [0, 2, 6, 9])
def test_a_card_without_room_leaves_the_program_to_the_cpu(item: Inspected, puts: int) -> None:
    found = ran(item, "9", device=failing(puts=puts))
    assert_right(item, found, "9")
    assert "has no room for an array" in found.stderr and "the program's own loops run" in found.stderr


def test_a_first_kernel_that_fails_leaves_the_program_to_the_cpu(item: Inspected) -> None:
    """What the card was to change has not been changed anywhere else: the fill in front of it is made again."""
    found = ran(item, "9", device=failing(launches=0))
    if found.code == 0:
        assert_right(item, found, "9")
    else:
        assert "is lost; run the program without --device" in found.stderr


@pytest.mark.parametrize("launches", [1, 2, 7])
def test_a_card_that_is_lost_ends_the_program(item: Inspected, launches: int) -> None:
    """Never with a wrong result."""
    found = ran(item, "9", device=failing(launches=launches))
    assert (found.code, found.stdout) == (1, b"")
    assert "the kernel failed on card 0" in found.stderr
    assert "is lost; run the program without --device" in found.stderr


def test_kernels_are_saved_and_loaded(copying: Inspected, tmp_path: Path) -> None:
    (made,) = card_scopes([Asked(copying, "smem", copying.random(3))])
    path = made.kernels.save(tmp_path / "kernels.npz")
    again = DeviceScope.load(path)
    assert again.calls == made.kernels.calls and again.arch == made.kernels.arch
    for one, other in zip(made.kernels.loops, again.loops, strict=True):
        assert (one.given, one.parameters, one.ir, one.used) == (other.given, other.parameters, other.ir, other.used)
        assert all(np.array_equal(a.data, b.data) for a, b in zip(one.arrays, other.arrays, strict=True))
    data = path.read_bytes()
    for cut in range(0, len(data), max(1, len(data) // 60)):
        path.write_bytes(data[:cut])
        with pytest.raises(ArtefactError):
            DeviceScope.load(path)


# Beside the indexed loop: a smoothing step, whose arrays keep their order, and one that takes what the loop gathers.
BESIDE = r"""
#include <stdio.h>
enum { N = 300, M = 900, SIDE = 20 };
static int a[M];
static double u[N], r[N], grid[SIDE * SIDE], next[SIDE * SIDE];
int main(void) {
    unsigned s = 1;
    for (int e = 0; e < M; e++) s = s * 1664525u + 1013904223u, a[e] = (s >> 8) % N;
    for (int i = 0; i < N; i++) u[i] = i % 17;
    for (int i = 0; i < SIDE * SIDE; i++) grid[i] = i % 13;
    for (int t = 0; t < 5; t++) {
        for (int e = 0; e < M; e++) // @edges
            r[a[e]] += u[a[e]];
        for (int i = 1; i < SIDE - 1; i++)
            for (int j = 1; j < SIDE - 1; j++)
                next[SIDE * i + j] = 0.25 * (grid[SIDE * i + j - 1] + grid[SIDE * i + j + 1]
                                             + grid[SIDE * (i - 1) + j] + grid[SIDE * (i + 1) + j]);
        for (int i = 0; i < SIDE * SIDE; i++) grid[i] = next[i] + 1e-3 * (i % 7);
        ALSO
    }
    double sum = 0;
    for (int i = 0; i < N; i++) sum += r[i] * (i % 5);
    for (int i = 0; i < SIDE * SIDE; i++) sum += grid[i] * (i % 3);
    printf("%.12g\n", sum);
    return 0;
}
"""
SHIFTED = "for (int i = 1; i < N; i++) u[i] = 0.5 * r[i - 1];"


@pytest.mark.parametrize("also", ["", SHIFTED])
def test_regular_loops_run_on_arrays_that_keep_their_order(also: str, tmp_path: Path) -> None:
    item = inspected(BESIDE.replace("ALSO", also), tmp_path)
    (made,) = card_scopes([Asked(item, "swap", item.random(3))])
    assert len(made.kernels.loops) == 3 + bool(also), made.kernels.remarks
    assert made.kernels.remarks == ()
    found = ran(item)
    assert_right(item, found)
    assert found.report["device"]["launches"] == 5 * len(made.kernels.loops)
