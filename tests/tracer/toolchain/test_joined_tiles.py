"""Loops over tiles, joined: the same elements in the same order, whatever the tiles are."""

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
#define PARAMS int n, int size, const int *at, const double *w, double *y
"""
# ruff: noqa: E501
# Bodies of `run`. `w` and `at` have an element for each place from -40 to 120; what `at` holds is below 9.
BODY = "y[at[i]] = y[at[i]] / 2 + w[i];"
TILE = "for (int i = first; i < end; i++) " + BODY
MIN = "int first = b * 8, end = (b + 1) * 8 > n ? n : (b + 1) * 8; "
JOINED = {
    "by_number": f"for (int b = 0; b < n / 8; b++) {{ {MIN}{TILE} }}",
    "with_the_rest": f"for (int b = 0; b < (n + 7) / 8; b++) {{ {MIN}{TILE} }}",
    "rounded_up": f"for (int b = 0; b * 8 < n; b++) {{ {MIN}{TILE} }}",
    "in_steps": f"for (int b = 0; b < n; b += 8) {{ int first = b, end = b + 8 > n ? n : b + 8; {TILE} }}",
    "of_a_size": f"for (int b = 0; b < n; b += size) {{ int first = b, end = b + size > n ? n : b + size; {TILE} }}",
    "from_three": f"for (int b = 3; b < n; b += 8) {{ int first = b, end = b + 8 > n ? n : b + 8; {TILE} }}",
    "whole": f"for (int b = 0; b < n / 4; b++) for (int i = 4 * b; i < 4 * b + 4; i++) {BODY}",
    "long": f"for (int64_t b = 0; b < n; b += 8) for (int64_t i = b; i < (b + 8 < n ? b + 8 : n); i++) {BODY}",
    "unsigned": f"if (n > 0) for (unsigned b = 0; b < (unsigned)n; b += 8) for (unsigned i = b; i < (b + 8 < (unsigned)n ? b + 8 : (unsigned)n); i++) {BODY}",
    "size_t": f"if (n > 0) for (uint64_t b = 0; b < (uint64_t)n; b += 8) for (uint64_t i = b; i < (b + 8 < (uint64_t)n ? b + 8 : (uint64_t)n); i++) {BODY}",
    "shares": f"for (int b = 0; b < 5; b++) {{ int first = n * b / 5, end = n * (b + 1) / 5; {TILE} }}",
    "up_to": f"for (int b = 0; b <= (n - 1) / 8; b++) {{ {MIN}{TILE} }}",
    "branches": """for (int b = 0; b < n; b += 8) {
        int first = b, end = b + 8 > n ? n : b + 8;
        for (int i = first; i < end; i++) {
            if (w[i] > 3) y[at[i]] = fabs(w[i]) - y[at[i]];
            for (int k = 0; k < at[i]; k++) y[k] = 0.5 * y[k] + i;
        }
    }""",
    "steps": f"for (int t = 0; t < 3; t++) {{ for (int b = 0; b < n; b += 8) {{ int first = b, end = b + 8 > n ? n : b + 8; {TILE} }} y[0] += t; }}",
    "twice": f"for (int b = 0; b < n / 8; b++) {{ {MIN}{TILE} }} for (int b = 0; b < n; b += 4) {{ int first = b, end = b + 4 > n ? n : b + 4; {TILE} }}",
}
# Joined, and never taken for all elements, or not always: the loop in front finds it out.
ASIDE = {
    "overlapping": f"for (int b = 0; b < n; b += 8) {{ int first = b, end = b + 9 > n ? n : b + 9; {TILE} }}",
    "gaps": f"for (int b = 0; b < n; b += 8) {{ int first = b + 1, end = b + 8 > n ? n : b + 8; {TILE} }}",
    "some": f"for (int b = 0; b < n; b += 8) {{ int first = b, end = b + 8 > n ? n : b + 8; if (b & size) {TILE} }}",
}
APART = {
    "backwards": f"for (int b = n / 8 - 1; b >= 0; b--) {{ {MIN}{TILE} }}",
    "says_which": f"for (int b = 0; b < n / 8; b++) {{ {MIN}for (int i = first; i < end; i++) y[at[i]] = y[at[i]] / 2 + b; }}",
    "between": f"for (int b = 0; b < n / 8; b++) {{ {MIN}y[0] += 1; {TILE} }}",
    "sums": f"for (int b = 0; b < n / 8; b++) {{ {MIN}double s = 1; for (int i = first; i < end; i++) s = s / 2 + w[i]; y[0] += s; }}",
    "stops": f"for (int b = 0; b < n / 8; b++) {{ {MIN}for (int i = first; i < end; i++) {{ if (w[i] > 8) break; {BODY} }} }}",
    "skips": f"for (int b = 0; b < n / 8; b++) {{ {MIN}for (int i = first; i < end; i += 2) {BODY} }}",
    "again": f"for (int b = 0; b < n / 8; b++) for (int i = 0; i < 8; i++) {BODY}",
    "until_all": f"for (int b = 0; b < n / 8; b++) for (int i = b; i < n; i++) {BODY}",
    "counts": f"int k = 0; for (int b = 0; b < n / 8; b++) {{ {MIN}for (int i = first; i < end; i++) y[k++ % 9] += w[i]; }}",
    "divides": f"for (int b = 0; b < n; b++) {{ int first = b, end = b; if (b & 1) end = 60 / (b - 1 + size); {TILE} }}",
}
ALL = JOINED | ASIDE | APART


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> BuiltTwice:
    sources = {name: f"{HEAD}void run(PARAMS)\n{{\n    {body}\n}}\n" for name, body in ALL.items()}
    return BuiltTwice(sources, "tracecut.copy.pieces.tiles", tmp_path_factory)


@pytest.mark.parametrize("name", ALL)
def test_what_is_joined(both: BuiltTwice, name: str) -> None:
    assert both.found(name)[0] == (name not in APART)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(n=st.integers(-9, 80), size=st.integers(1, 20), seed=st.integers(0, 99))
def test_the_same_elements_in_the_same_order(both: BuiltTwice, name: str, n: int, size: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    at, w = draw.integers(0, 9, 160).astype(np.int32), draw.random(160) * 9
    results = []
    for run in both.found(name)[1]:
        y = np.arange(9.0)
        pointers = [at.ctypes.data + 4 * 40, w.ctypes.data + 8 * 40, y.ctypes.data]
        run(ctypes.c_int(n), ctypes.c_int(size), *map(ctypes.c_void_p, pointers))
        results.append(y)
    np.testing.assert_array_equal(*results)
