"""Loops around loops whose first iteration makes memory that changes places in others: they do what they did."""

from __future__ import annotations

import pytest

from .built_twice import BuiltTwice, expect_the_same

HEAD = """
#include <stdlib.h>
#include <utility>
#include <vector>
static long told;
extern "C" void srand(unsigned) noexcept;
static void tell(long x) { srand((unsigned)(told = told * 31 + x)); }
static double *fresh(int n, int t) { double *p = (double *)malloc((n + 9) * 8); tell(n); for (int i = 0; i < n; i++) p[i] = t + i; return p; }
extern "C" long run(int n, int steps, const int *at, const double *w, double *y)
"""
# ruff: noqa: E501
STEPS = "for (int t = 0; t < steps; t++) "
SWEEP = "for (int i = 0; i < n; i++) next[i] = x[at[i] % n] / 2 + w[i];"
BEHIND = "for (int i = 0; i < n; i++) y[i] += x[i];"
VECTORS = "std::vector<double> x(y, y + n), next;"
SWAP = "double *z = x; x = next; next = z;"
APART = {
    "swapped": f"{VECTORS} {STEPS}{{ if (t == 0) next.resize(n); {SWEEP} std::swap(x, next); }} {BEHIND} return told + next.size();",
    "flag": f"{VECTORS} bool first = true; {STEPS}{{ if (first) {{ next = std::vector<double>(n, 3.5); first = false; }} {SWEEP} x.swap(next); }} {BEHIND} return told;",
    "pointers": f"double *x = y, *next = NULL; {STEPS}{{ if (t == 0) next = fresh(n, t); {SWEEP} {SWAP} }} {BEHIND} return told;",
    "none_yet": f"double *x = y, *next = NULL; {STEPS}{{ if (!next) next = fresh(n, t); {SWEEP} {SWAP} }} {BEHIND} return told;",
    "leaves": f"double *x = y, *next = NULL; {STEPS}{{ if (t == 0) {{ next = fresh(n, t); if (w[0] > 5) return -7; }} {SWEEP} {SWAP} if (x[n - 1] > 8) break; }} {BEHIND} return told;",
    "values": f"double *x = y, *next = NULL; long a = 1, b = 2; {STEPS}{{ if (t == 0) next = fresh(n, t); {SWEEP} {SWAP} long c = a; a = b * 3 + t; b = c; }} {BEHIND} return told + a * 7 + b;",
    "converges": f"double *x = y, *next = NULL, d = 1; int t = 0; while (d > 0.3 && t < steps) {{ if (t == 0) next = fresh(n, t); {SWEEP} d = 0; for (int i = 0; i < n; i++) d += x[i] > next[i]; {SWAP} t++; }} {BEHIND} return told + t;",
    "later_too": f"double *x = y, *next = NULL; {STEPS}{{ if (t % 3 == 0) next = fresh(n, t); {SWEEP} {SWAP} }} {BEHIND} return told;",
}
WHOLE = {
    "before": f"double *x = y, *next = fresh(n, 1); {STEPS}{{ {SWEEP} {SWAP} }} {BEHIND} return told;",
    "always": f"double *x = y, *next = NULL; {STEPS}{{ next = fresh(n, t); {SWEEP} {SWAP} }} {BEHIND} return told;",
    "stays": f"double *x = y, *next = NULL; {STEPS}{{ if (t == 0) next = fresh(n, t); {SWEEP} for (int i = 0; i < n; i++) x[i] = next[i]; }} {BEHIND} return told;",
    "inner": "double *x = NULL, *next = y; for (int i = 0; i < n; i++) { if (i == 0) x = (double *)calloc(n + 9, 8); double *z = x; z[at[i] % n] += next[i]; x = next; next = z; } return told;",
}
ALL = APART | WHOLE


@pytest.mark.parametrize("name", ALL)
def test_first_steps(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = {name: f"{HEAD}{{\n    told = 0;\n    {ALL[name]}\n}}\n"}
    apart, found = BuiltTwice(sources, "tracecut.copy.first", tmp_path_factory, "cpp").found(name)
    assert apart == (name in APART)
    expect_the_same(found, (0, 1, 2, 3, 7), (1, 5, 9))
