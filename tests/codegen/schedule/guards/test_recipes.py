"""Recipes of numbers: without NumPy they make what the evaluation of loops makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.runtime.schedule_listing import first_look
from tracecut.codegen.schedule.guards.recipes import computed, converted, number_recipe, signed
from tracecut.ir.loops.expressions import Pool
from tracecut.tracer.legality.evaluation.masked_arithmetic import Values, arithmetic, cast

from ...harness import trace
from ...woven_programs import run_woven, woven

OPERATIONS = "add sub mul and mask or xor smin smax shl ashr lshr sdiv udiv exact".split()
WIDTHS = (8, 16, 32, 64)
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-70, 70)


def of(number: int) -> Values:
    return Values(np.asarray(number, np.int64), np.bool_(True))


@given(st.sampled_from(OPERATIONS), st.sampled_from(WIDTHS), NUMBERS, NUMBERS)
def test_operations_are_those_of_the_evaluation(opcode: str, bits: int, first: int, second: int) -> None:
    a, b = signed(first, bits), signed(second, bits)
    with np.errstate(all="ignore"):
        wanted = arithmetic(opcode, f"i{bits}", of(a).data, of(b).data, np.bool_(True))
    found = computed(opcode, bits, a, b)
    assert (found is not None) == bool(wanted.known)
    assert found is None or found == int(wanted.data)


@given(st.sampled_from(["zext", "sext", "trunc"]), st.sampled_from(WIDTHS), st.sampled_from(WIDTHS), NUMBERS)
def test_conversions_are_those_of_the_evaluation(opcode: str, one: int, other: int, number: int) -> None:
    source, target = (max(one, other), min(one, other)) if opcode == "trunc" else (min(one, other), max(one, other))
    value = signed(number, source)
    wanted = cast((opcode, f"i{source}", f"i{target}"), of(value).data, np.bool_(True))
    if opcode != "zext" or source < 64:
        assert converted(opcode, source, target, value) == int(wanted.data)


def test_what_has_no_recipe() -> None:
    pool = Pool()
    count, real = pool.make("live", ("%n", "i32")), pool.make("live", ("%x", "double"))
    places, types = {"%n": 3, "%x": 4}, {"%n": "i32", "%x": "double"}
    twice = pool.make("op", ("mul", "i64"), (pool.make("cast", ("sext", "i32", "i64"), (count,)), pool.const(2)))
    recipe = ["op", "mul", 64, ["cast", "sext", 32, 64, ["slot", 3, 32]], ["const", 2]]
    assert number_recipe(twice, places, types) == recipe
    for none in (
        real,
        pool.make("live", ("%elsewhere", "i32")),
        pool.make("cast", ("fptosi", "double", "i64"), (real,)),
        pool.make("op", ("srem", "i32"), (count, count)),
        pool.make("load", ("%l", "double"), (pool.make("live", ("%n", "ptr")),)),
        pool.opaque("not understood"),
    ):
        assert number_recipe(none, places, types) is None


SOURCE = """
#include <stdio.h>
#include <stdlib.h>
typedef struct { TYPE twice; int *index; double *x, *y; } Graph;
__attribute__((noinline)) static void sweep(Graph *g)
{
    for (int t = 0; t < 6; t++) {
        for (long e = 0; e < (long)g->twice / 2; e++) // @edges
            g->y[g->index[2 * e]] += g->x[g->index[2 * e + 1]];
        for (int v = 0; v < 90; v++)
            g->x[v] += 0.5 * g->y[v];
    }
}
int main(int argc, char **argv)
{
    Graph g = {2 * 100, malloc(400 * sizeof(int)), malloc(90 * 8), calloc(90, 8)};
    for (int i = 0; i < 400; i++)
        g.index[i] = i * 37 % 90;
    for (int v = 0; v < 90; v++)
        g.x[v] = v;
    if (argc > 1 && argv[1][0] == 'f')
        g.twice -= 2;
    sweep(&g);
    double sum = 0;
    for (int v = 0; v < 90; v++)
        sum += g.x[v] * v;
    printf("%.12g\\n", sum);
}
"""


@pytest.mark.parametrize("type", ["int", "unsigned char", "short", "long"])
def test_counts_in_structures(tmp_path: Path, type: str) -> None:
    """They are read where an entry of the scope finds them, with their sign; another one is another loop."""
    program = trace(SOURCE.replace("TYPE", type), tmp_path)
    item = program.inspect("edges")
    assert item.scope != item.region
    made: Any = woven([item], [item.schedule(item.random(0))])
    assert first_look(made[1][0], "woven-0.npz", tmp_path)["complete"]
    for argv, used in ([], 1), (["fewer"], 0):
        ran, native = run_woven(program, made, argv=argv), run_woven(program, made, argv=argv, enabled=False)
        assert (ran.code, native.code) == (0, 0)
        assert abs(float(ran.stdout) / float(native.stdout) - 1) < 1e-9
        assert list(ran.used.values()) == [used], ran.stderr
