"""Inspecting anew in the running program: when it is expected to pay, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tracecut.codegen.runtime.inspection_gain import expected_gain, expected_sweeps
from tracecut.codegen.runtime.reinspect import Reinspector
from tracecut.codegen.runtime.schedule_file import ScopeFile

from ..harness import Inspected, Program, trace
from ..woven_programs import Ran, run_woven, woven

JOBS, SWEEPS = 600, 3
FREE = {"original": 5.0, "optimized": 0.0, "inspect": 0.0, "copy": 0.0, "sweeps": 1.0}
Made = tuple[Path, list[ScopeFile], list[str]]


@pytest.fixture(scope="module")
def update(inspected: Callable[[str], dict[str, Inspected | str]]) -> Inspected:
    item = inspected("guards")["update"]
    assert not isinstance(item, str)
    return item


@pytest.fixture(scope="module")
def made(update: Inspected) -> Made:
    return woven([update], [update.schedule(update.random(1))], name="again")


def gain(item: Inspected, file: ScopeFile, per_call: float, **costs: float) -> str | None:
    accesses = item.inspection.accesses
    return expected_gain(replace(file, costs={**FREE, **costs}), accesses.lives, accesses.memory, per_call)


def test_what_an_inspection_is_expected_to_gain(update: Inspected, made: Made) -> None:
    file = made[1][0]
    accesses = update.inspection.accesses
    assert expected_sweeps(file, accesses.lives, accesses.memory) == SWEEPS
    assert gain(update, file, 600.0) is None
    assert gain(update, file, 600.0, optimized=1.0) == "the original order is as fast as a new one"
    assert gain(update, file, 599.0, optimized=1.0) == "the original order is as fast as a new one"
    # 2 sweeps are left, each saves 600 ns: 1200 ns may be spent on 600 jobs, 1.3 times the price of an inspection.
    assert gain(update, file, 600.0, inspect=1.5) is None
    why = gain(update, file, 600.0, inspect=2.0)
    assert why == "an inspection would pay after 3 sweeps, 2 are expected"
    assert gain(update, file, 600.0, copy=2.5) == "an inspection would pay after 3 sweeps, 2 are expected"


def run(program: Program, made: Made, costs: dict[str, float]) -> Ran:
    library, scopes, names = made
    changed = [replace(file, costs=costs) for file in scopes]
    return run_woven(program, (library, changed, names), argv=["index"], inspect=Reinspector())


def test_new_input_is_inspected_in_the_second_sweep(
    program: Callable[[str], Program], update: Inspected, made: Made
) -> None:
    ran = run(program("guards"), made, FREE)
    assert ran.code == 0 and "inspected anew" in ran.stderr
    counts = ran.report["regions"][str(update.region)]
    assert (counts["declined"], counts["calls"]) == (1, SWEEPS - 1)  # the first one tells what the original costs
    native = run_woven(program("guards"), made, argv=["index"], enabled=False)
    assert ran.stdout == native.stdout


def test_new_input_that_would_not_pay_is_left_alone(
    program: Callable[[str], Program], update: Inspected, made: Made
) -> None:
    ran = run(program("guards"), made, {**FREE, "inspect": 1e12})
    assert ran.code == 0 and "an inspection would pay after" in ran.stderr and "inspected anew" not in ran.stderr
    counts = ran.report["regions"][str(update.region)]
    assert (counts["declined"], counts["calls"]) == (SWEEPS, 0)


def test_the_traced_input_is_not_inspected_again(
    program: Callable[[str], Program], update: Inspected, made: Made
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it asked for an inspection")

    ran = run_woven(program("guards"), made, argv=["same"], inspect=never)
    assert (ran.code, ran.stderr, ran.stdout) == (0, "", program("guards").native_output)
    assert ran.report["regions"][str(update.region)]["calls"] == SWEEPS


HALVES = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int from = argc > 1 ? atoi(argv[1]) : 0, *list = malloc(600 * sizeof *list), sum = 0;
    long *x = malloc(1000 * sizeof *x), *y = calloc(600, sizeof *y);
    for (int v = 0; v < 1000; v++) x[v] = v * v % 91;
    for (int i = 0; i < 600; i++) list[i] = from + i * 7 % 400;
    for (int step = 0; step < 3; step++)
        for (int i = 0; i < 600; i++) y[i] += list[i] < 500 ? x[list[i]] : -x[list[i]]; // @halves
    for (int i = 0; i < 600; i++) sum += y[i] * (i % 11);
    printf("%d\\n", sum);
    return 0;
}
"""


@pytest.mark.parametrize(("start", "why"), [(90, ""), (300, "an index is compared with a number that it may have now")])
def test_code_that_compares_new_numbers_is_for_numbers_on_one_side(tmp_path: Path, start: int, why: str) -> None:
    program = trace(HALVES, tmp_path, argv=["0"])
    item = program.inspect("halves")
    assert any(group.tests for group in item.cut_out[0][item.region])
    library, scopes, names = woven([item], [item.schedule(item.random(0))])
    made = library, [replace(file, costs=FREE) for file in scopes], names
    ran = run_woven(program, made, argv=[str(start)], inspect=Reinspector())
    native = run_woven(program, made, argv=[str(start)], enabled=False)
    assert (ran.code, ran.stdout) == (0, native.stdout)
    assert why in ran.stderr and ("cannot be inspected anew" in ran.stderr) == bool(why), ran.stderr
    assert ran.report["regions"][str(item.region)]["calls"] == (0 if why else 2)


def test_an_inspection_that_fails_leaves_the_original(
    program: Callable[[str], Program], update: Inspected, made: Made
) -> None:
    """Whatever goes wrong in the host must not reach the program."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("nothing works")

    ran = run_woven(program("guards"), made, argv=["index"], inspect=broken)
    native = run_woven(program("guards"), made, argv=["index"], enabled=False)
    assert ran.code == 0 and ran.stdout == native.stdout
    assert "nothing works; the original order runs" in ran.stderr
    assert ran.report["regions"][str(update.region)]["calls"] == 0
