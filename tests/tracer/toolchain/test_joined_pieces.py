"""Loops over pieces, joined: the same elements in the same order, whatever the pieces are."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .built_twice import BuiltTwice

HEAD = """
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define PARAMS int n, const BEGIN *begin, const int *at, const double *w, double *y, long *count
"""
# ruff: noqa: E501
# Name → type of the starts, and the body of `run`. `w` has an element for each place from -8 to 40; `at` is below 9.
JOINED = {
    "plain": (
        "int",
        "for (int c = 0; c < n; c++) for (int e = begin[c]; e < begin[c + 1]; e++) y[at[e]] = y[at[e]] / 2 + w[e];",
    ),
    "long": (
        "int64_t",
        "for (int c = 0; c < n; c++) for (int64_t e = begin[c]; e < begin[c + 1]; e++) y[at[e]] = w[e] - y[at[e]];",
    ),
    "size": (
        "uint64_t",
        "for (uint64_t c = 0; c < n; c++) for (uint64_t e = begin[c]; e < begin[c + 1]; e++) y[at[e]] = w[e] - y[at[e]];",
    ),
    "from_the_second": (
        "int",
        "for (int c = 1; c < n; c++) for (int e = begin[c]; e < begin[c + 1]; e++) y[at[e]] = w[e] - y[at[e]];",
    ),
    "one_behind": (
        "int",
        """uint64_t size = (uint64_t)n + 1;
    if ((uint64_t)n > 1000) size = 7;
    for (uint64_t c = 0; c + 1 < size; c++) for (int e = begin[c]; e < begin[c + 1]; e++) y[at[e]] = w[e] - y[at[e]];""",
    ),
    "branches": (
        "int",
        """for (int c = 0; c < n; c++)
        for (int e = begin[c]; e < begin[c + 1]; e++) {
            if (w[e] > 3) y[at[e]] = fabs(w[e]) - y[at[e]];
            for (int k = 0; k < at[e]; k++) y[k] = 0.5 * y[k] + e;
        }""",
    ),
    "twice": (
        "int",
        """for (int c = 0; c < n; c++) for (int e = begin[c]; e < begin[c + 1]; e++) y[at[e]] = w[e] - y[at[e]];
    for (int c = 0; c < n; c++) for (int e = begin[c]; e < begin[c + 1]; e++) y[at[e]] = w[e] - 2 * y[at[e]];""",
    ),
    "steps": (
        "int",
        """for (int t = 0; t < 3; t++) {
        for (int c = 0; c < n; c++) for (int e = begin[c]; e < begin[c + 1]; e++) y[at[e]] = w[e] - y[at[e]];
        y[0] += t;
    }""",
    ),
}
OWN = """int *own = malloc((n + 1) * sizeof *own), *z = calloc(9, sizeof *z);
    memcpy(own, begin, (n + 1) * sizeof *own);
    int *to = {to};
    for (int c = 0; c < n; c++) for (int e = own[c]; e < own[c + 1]; e++) to[at[e]] = e - to[at[e]];
    for (int c = 0; c < 9; c++) y[c] = z[c] + to[0];
    free(own); free(z);"""
JOINED["allocated_apart"] = ("int", OWN.replace("{to}", "z"))
APART = {
    "allocated_or_not": ("int", OWN.replace("{to}", "n > 90 ? own : z")),
    "given": ("int", OWN.replace("{to}", "n > 90 ? (int *)count : z")),
    "says_which": (
        "int",
        "for (int c = 0; c < n; c++) for (int e = begin[c]; e < begin[c + 1]; e++) y[at[e]] = w[e] * c - y[at[e]];",
    ),
    "between": (
        "int",
        "for (int c = 0; c < n; c++) { y[0] += 1; for (int e = begin[c]; e < begin[c + 1]; e++) y[at[e]] = w[e] - y[at[e]]; }",
    ),
    "sums": (
        "int",
        "for (int c = 0; c < n; c++) { double s = 1; for (int e = begin[c]; e < begin[c + 1]; e++) s = s / 2 + w[e]; y[0] += s; }",
    ),
    "counts": (
        "int",
        "long k = 0; for (int c = 0; c < n; c++) for (int e = begin[c]; e < begin[c + 1]; e++) y[k++ % 9] += w[e];",
    ),
    "stops": (
        "int",
        "for (int c = 0; c < n; c++) for (int e = begin[c]; e < begin[c + 1]; e++) { if (w[e] > 5) break; y[at[e]] = w[e] - y[at[e]]; }",
    ),
    "skips": (
        "int",
        "for (int c = 0; c < n; c++) for (int e = begin[c]; e < begin[c + 1]; e += 2) y[at[e]] = w[e] - y[at[e]];",
    ),
    "gaps": (
        "int",
        "for (int c = 0; c < n; c++) for (int e = begin[c] + 1; e < begin[c + 1]; e++) y[at[e]] = w[e] - y[at[e]];",
    ),
    "every_second": (
        "int",
        "for (int c = 0; c < n; c += 2) for (int e = begin[c]; e < begin[c + 1]; e++) y[at[e]] = w[e] - y[at[e]];",
    ),
    "ends_change": (
        "int",
        "for (int c = 0; c < n; c++) for (int e = begin[c]; e < begin[c + 1]; e++) ((int *)begin)[at[e]] ^= 1;",
    ),
    "ends_of_a_type": (
        "long",
        "for (int c = 0; c < n; c++) for (long e = begin[c]; e < begin[c + 1]; e++) count[at[e]] = e - count[at[e]];",
    ),
    "volatile": (
        "int",
        "const volatile int *b = begin; for (int c = 0; c < n; c++) for (int e = b[c]; e < b[c + 1]; e++) y[at[e]] = w[e] - y[at[e]];",
    ),
    "calls": (
        "int",
        "extern int rand(void); for (int c = 0; c < n; c++) for (int e = begin[c]; e < begin[c + 1]; e++) y[at[e]] += 0 * rand();",
    ),
}
ALL = JOINED | APART
TYPES = {"int": np.int32, "int64_t": np.int64, "long": np.int64, "uint64_t": np.uint64}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> BuiltTwice:
    sources = {
        name: f"{HEAD.replace('BEGIN', type)}void run(PARAMS)\n{{\n    {body}\n}}\n"
        for name, (type, body) in ALL.items()
    }
    return BuiltTwice(sources, "tracecut.copy.pieces0", tmp_path_factory)


@pytest.mark.parametrize("name", ALL)
def test_what_is_joined(both: BuiltTwice, name: str) -> None:
    assert both.found(name)[0] == (name in JOINED)


@pytest.mark.parametrize("name", JOINED)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(begin=st.lists(st.integers(-4, 30), min_size=1, max_size=8), ascending=st.booleans(), seed=st.integers(0, 99))
def test_the_same_elements_in_the_same_order(
    both: BuiltTwice, name: str, begin: list[int], ascending: bool, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    type = TYPES[ALL[name][0]]
    starts = np.array(sorted(begin) if ascending else begin, np.int64)
    starts = np.maximum(starts, 0).astype(type) if type is np.uint64 else starts.astype(type)
    at, w = draw.integers(0, 9, 40).astype(np.int32), draw.random(40) * 9
    results = []
    for run in both.found(name)[1]:
        y = np.arange(9.0)
        pointers = [starts.ctypes.data, at.ctypes.data + 32, w.ctypes.data + 64, y.ctypes.data, 0]
        run(ctypes.c_int(starts.size - 1), *map(ctypes.c_void_p, pointers))
        results.append(y)
    np.testing.assert_array_equal(*results)
