"""Pointers that iterations hand on, and that few of them have made anew: what holds them does what was done."""

from __future__ import annotations

import pytest

from .built_twice import BuiltTwice, expect_the_same

HEAD = """
#include <stdlib.h>
#include <string.h>
#include <vector>
static long told;
extern "C" void srand(unsigned) noexcept;
static void tell(long x) { srand((unsigned)(told = told * 31 + x)); }
static double *copy(int n, const double *w) { double *p = (double *)malloc((n + 9) * 8); memcpy(p, w, (n + 9) * 8); return p; }
static double *kept(int n, const double *w) { double *p = (double *)aligned_alloc(64, 128); tell(n); memcpy(p, w, n * 8); return p; }
extern "C" long run(int n, int steps, const int *at, const double *w, double *y)
"""
# ruff: noqa: E501
STEPS = "for (int t = 0; t < steps; t++) "
SWEEP = "for (int i = 0; i < n; i++) y[i] += old[at[i] % n];"
HELD = {
    "behind": f"double *old = NULL; {STEPS}{{ if (t == 0) old = copy(n, w) + 2; {SWEEP} }} return told;",
    "two_ways": f"double *old = NULL; {STEPS}{{ if (t == 0) {{ if (n > 5) {{ old = copy(n, w); tell(n); }} else {{ old = kept(n, y); old[0] = 7; }} }} {SWEEP} }} return told;",
    "library": f"double *old = NULL; {STEPS}{{ if (t == 0) old = kept(n, w); {SWEEP} }} return told;",
    "later": f"double *old = NULL; {STEPS}{{ if (t == 2) old = copy(n, w) + 1; if (old) {SWEEP} }} return told;",
    "again": f"double *old = NULL; {STEPS}{{ if (t % 3 == 0) old = copy(n, y) + t % 2; {SWEEP} }} return told;",
    "full": f"double *old = copy(n, w), *first = old; {STEPS}{{ if (t % 4 == 3) {{ double *more = copy(n, old); old = t % 8 == 3 ? more : more + 1; }} {SWEEP} }} return told + (old == first);",
    "leaves": f"double *old = NULL; {STEPS}{{ if (t == 0) {{ old = copy(n, w) + 1; if (n > 7 && w[0] > 4) return -t; }} {SWEEP} if (y[n - 1] > 20) break; }} return told;",
    "vector": f"std::vector<double> old; {STEPS}{{ if (t == 0) old = std::vector<double>(w, w + n); else for (int i = 0; i < n; i++) old[i] /= 2; {SWEEP} }} return told + old.size();",
    "assigned": f"std::vector<double> old, now(w, w + n); {STEPS}{{ if (t == 0) old = now; else for (int i = 0; i < n; i++) old[i] = now[i] / 2; {SWEEP} for (int i = 0; i < n; i++) now[i] = y[i]; }} return told + old.size();",
    "thrown": f"long caught = 0; std::vector<double> old; {STEPS}{{ try {{ if (t == 0 || t == 4) old = std::vector<double>(t ? size_t(-1) : n, 2.5); }} catch (...) {{ caught++; }} {SWEEP} }} return told + caught * 3;",
    "values": f"double *old = NULL; long a = 1, b = 2; {STEPS}{{ if (t == 0) old = copy(n, w) + 1; {SWEEP} long c = a; a = b * 3 + t; b = c; }} return told + a * 7 + b;",
    "outer": f"for (int u = 0; u < 2; u++) {{ double *old = NULL; {STEPS}{{ if (t == u) old = copy(n, w) + u; if (old) {SWEEP} }} }} return told;",
    "both": f"double *old = NULL, *last = NULL; {STEPS}{{ if (t == 0) old = copy(n, w) + 1; else if (t == 2) last = copy(n, y) + 2; {SWEEP} if (last) for (int i = 0; i < n; i++) y[i] += last[at[i] % n]; }} return told;",
    "swapped": f"double *old = (double *)w; {STEPS}{{ if (t % 3 == 1) {{ old = old == w ? y : (double *)w; tell(t); }} for (int i = 0; i < n; i++) y[i] += old[at[i] % n] / 9; }} return told;",
}
OTHERS = {
    "each_other": f"double *old = (double *)w, *now = y; {STEPS}{{ if (t % 3 == 1) {{ double *z = old; old = now; now = z; }} for (int i = 0; i < n; i++) now[i] += old[at[i] % n] / 9; }} return told;",
    "before": f"double *old = copy(n, w); {STEPS}{{ {SWEEP} }} free(old); return told;",
    "always": f"double *old = NULL; {STEPS}{{ free(old); old = copy(n, w); {SWEEP} }} free(old); return told;",
    "inner": "double *old = NULL; for (int i = 0; i < n; i++) { if (i == 0) old = kept(n, w); y[i] += old[at[i] % n]; } return told;",
}
ALL = HELD | OTHERS


@pytest.mark.parametrize("name", ALL)
def test_carried_pointers(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    sources = {name: f"{HEAD}{{\n    told = 0;\n    {ALL[name]}\n}}\n"}
    held, found = BuiltTwice(sources, "%tracecut.carried.", tmp_path_factory, "cpp").found(name)
    assert held == (name in HELD)
    expect_the_same(found, (0, 1, 2, 3, 7, 13), (1, 5, 9))
