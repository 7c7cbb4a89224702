"""Numba functions as programs compute what Numba computes, on copies of their arguments."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from tracecut.support.errors import ArgumentError, SourceError, UnsupportedError
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import Flags
from tracecut.tracer.toolchain.numba import NumbaProgram, is_numba, numba_program
from tracecut.tracer.toolchain.passes import canonical, emit_object, unoptimised
from tracecut.tracer.trace.line_profile import places_of
from tracecut.tracer.trace.tables.static_tables import static_of

from ...waiting import HUNG

TABLE = np.arange(50.0)
LARGE = np.zeros(3 << 20)


@numba.njit
def twice(x):
    return 2 * x


@numba.njit
def spmv(starts, columns, values, x, y, shift):
    sums = np.zeros(y.size)
    for row in range(y.size):
        total = 0.0
        for entry in range(starts[row], starts[row + 1]):
            total += values[entry] * x[columns[entry]]
        sums[row] = twice(total)
    for row in range(y.size):
        y[row] = sums[row] + shift + TABLE[row]
    return sums.sum()


@numba.njit
def mixed(small, wide, unsigned, single, flag, point, pair, square, out):
    out[0] = small + wide
    out[1] = float(unsigned % 1000) + single
    out[2] = 1.0 if flag else -1.0
    out[3] = point.real - 2 * point.imag
    out[4] = pair[0] * pair[1][2]
    out[5] = square[1, 2] + 10 * square[2, 1]
    out[::2] += 0.5
    return out.size


@numba.njit
def shuffle(front, back, strided, nothing):
    for i in range(front.size):
        back[i] += front[i]
    strided[:] = -strided
    return nothing.size == 0


@numba.njit
def stops_early(values):
    if values[0] > 1:
        raise ValueError("too large")
    values[0] = 7


def spmv_arguments() -> list[Any]:
    choose = np.random.default_rng(1)
    starts = np.sort(np.concatenate(([0], choose.integers(0, 300, 49), [300])))
    columns = choose.integers(0, 50, 300).astype(np.int32)
    return [starts, columns, choose.random(300), choose.random(50), np.zeros(50), 3]


def mixed_arguments() -> list[Any]:
    square = np.asfortranarray(np.arange(9, dtype=np.int16).reshape(3, 3))
    numbers = [np.int8(-5), -(2**62), np.uint64(2**64 - 3), np.float32(1.25), True, 1.5 - 2.5j]
    return [*numbers, (3, (1, 2, 1.5)), square, np.zeros(6)]


def shuffle_arguments() -> list[Any]:
    """Arrays that overlap, one that is read backwards in steps, and one without elements."""
    whole = np.arange(40.0)
    return [whole[:20], whole[5:25], whole[38:26:-3], np.zeros((0, 4))]


def copied(arguments: Sequence[Any]) -> list[Any]:
    """Arguments with arrays that alias as before, and nothing in common with the others."""
    arrays = [value for value in arguments if isinstance(value, np.ndarray)]
    bases = {id(array.base): array.base.copy() for array in arrays if array.base is not None and array.base.ndim == 1}
    found = []
    for value in arguments:
        if isinstance(value, np.ndarray) and id(value.base) in bases:
            place = value.__array_interface__["data"][0] - value.base.__array_interface__["data"][0]
            found.append(np.ndarray(value.shape, value.dtype, bases[id(value.base)], place, value.strides))
        else:
            found.append(value.copy(order="A") if isinstance(value, np.ndarray) else value)
    return found


def run(program: NumbaProgram, folder: Path, opt: str) -> subprocess.CompletedProcess[str]:
    """Run a program as it would be traced, without the tracing."""
    module = canonical(program.texts) if opt == "O1" else unoptimised(program.texts)
    path = executable([emit_object(str(module), optimise=False)], Flags(), folder / "program")
    return subprocess.run([path, *program.argv], capture_output=True, text=True, timeout=HUNG)


@pytest.mark.parametrize(
    ("function", "arguments", "opt"),
    [
        (spmv, spmv_arguments, "O1"),
        (spmv, spmv_arguments, "seed"),
        (mixed, mixed_arguments, "seed"),
        (shuffle, shuffle_arguments, "O1"),
    ],
    ids=["spmv-O1", "spmv-seed", "mixed-seed", "shuffle-O1"],
)
def test_a_kernel_computes_what_numba_computes(function: Any, arguments: Any, opt: str, tmp_path: Path) -> None:
    given = arguments()
    before = [value.copy() for value in given if isinstance(value, np.ndarray)]
    program = numba_program(function, given, tmp_path, opt=opt)
    done = run(program, tmp_path, opt)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    own = [value for value in given if isinstance(value, np.ndarray)]
    assert all(np.array_equal(one, two) for one, two in zip(own, before, strict=True))  # copies were given
    theirs = copied(given)
    assert program.returned() == function(*theirs)
    expected = [value for value in theirs if isinstance(value, np.ndarray)]
    for found, wanted in zip(program.arrays(), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_the_text_is_the_same_each_time_and_knows_its_lines(tmp_path: Path) -> None:
    texts = [numba_program(spmv, spmv_arguments(), tmp_path).texts[0] for _ in range(2)]
    first, second = (re.sub(r'c"[^"]*"', "", text) for text in texts)  # Numba's own messages count compilations
    assert first == second and "_ZN" not in first
    program = numba_program(spmv, spmv_arguments(), tmp_path)
    assert program.kernel.endswith(".spmv")
    module = canonical(program.texts)
    static = static_of(str(module), [program.kernel])
    places = [place for place in places_of(static) if place is not None]
    lines = {place.line for place in places if Path(place.file).resolve() == Path(__file__)}
    begin = spmv.py_func.__code__.co_firstlineno
    assert lines >= {begin + offset for offset in (3, 5, 6, 7, 8, 9)} and max(lines) <= begin + 10


@numba.njit
def three_loops(x, index, y):
    for i in range(6000):
        y[i] += x[index[i]]
    for turn in range(6):
        for i in range(1000):
            y[i] *= turn


def test_an_iteration_is_one_of_the_program(tmp_path: Path) -> None:
    """Loops are counted as they are written: nothing has unrolled them before."""
    import tracecut

    arguments = np.arange(6000.0), np.arange(6000)[::-1].copy(), np.zeros(6000)
    traced = tracecut.trace(three_loops, arguments, level="jobs")
    assert sorted(region.graph.n_jobs for region in traced.regions) == [6, 6000, 6000]


def test_exceptions_and_none(tmp_path: Path) -> None:
    program = numba_program(stops_early, [np.ones(1)], tmp_path)
    assert run(program, tmp_path, "O1").returncode == 0
    assert program.returned() is None and program.arrays()[0].tolist() == [7]
    program = numba_program(stops_early, [np.full(1, 2.0)], tmp_path)
    done = run(program, tmp_path, "O1")
    assert (done.returncode, done.stderr) == (1, "the function raised an exception\n")
    assert program.arrays()[0].tolist() == [2]


@numba.njit
def says(x):
    if x > 1:
        print(x)
    return x


def test_what_only_python_can_do_ends_the_program_with_a_reason(tmp_path: Path) -> None:
    program = numba_program(says, [1], tmp_path)
    assert run(program, tmp_path, "O1").returncode == 0 and program.returned() == 1
    done = run(numba_program(says, [2], tmp_path), tmp_path, "O1")
    assert done.returncode == 3 and done.stdout == ""
    assert re.fullmatch(
        r"the function needs \w+ of Python or Numba, which a traced program does not have\n", done.stderr
    )


@numba.njit(parallel=True)
def threaded(x):
    return x + 1


@numba.njit
def looks_up(i):
    return LARGE[i]


@numba.njit
def takes_anything(x):
    return 1


@pytest.mark.parametrize(
    ("function", "arguments", "error", "message"),
    [
        (len, [()], ArgumentError, "not a Numba function"),
        (threaded, [1], UnsupportedError, "parallel=True, whose threads belong to Numba's run time"),
        (looks_up, [1], UnsupportedError, "by its address: a global array of 24 MiB"),
        (takes_anything, ["text"], UnsupportedError, "argument 1 of takes_anything is of type str"),
        (takes_anything, [object()], UnsupportedError, "argument 1 of takes_anything is of type object"),
        (takes_anything, [np.array([None])], UnsupportedError, "array of object, which has no C representation"),
        (spmv, [1, 2], ArgumentError, "spmv takes 6 arguments, 2 were given"),
        (spmv, [1, 2, 3, 4, 5, 6], SourceError, "spmv does not compile for these arguments"),
    ],
)
def test_what_can_not_be_traced_is_refused(
    function: Any, arguments: list[Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    assert is_numba(function) is (function is not len)
    with pytest.raises(error, match=message):
        numba_program(function, arguments, tmp_path)
