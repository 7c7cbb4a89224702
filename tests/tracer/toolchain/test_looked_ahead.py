"""Loops that are looked through in front: they do what they did, whether something ends them or not."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from .built_twice import BuiltTwice

HEAD = "extern double sqrt(double); extern double abs_of(double);\n"
HEAD += "long run(int n, const int *at, const double *w, double *y)\n"
# ruff: noqa: E501
EACH = "for (int i = 0; i < n; i++) "
LOOKED = {
    "regular": f"{EACH}{{ if (w[i] > 8) break; y[i] = w[i]; }} return 0;",
    "its_own": f"{EACH}{{ y[i] += w[i]; if (y[i] > 8) return i; }} return n;",
    "break": f"{EACH}{{ if (w[at[i]] > 8) break; y[i] = w[at[i]]; }} return 0;",
    "return": f"{EACH}{{ double s = w[at[i]] + w[i]; if (s > 16) return i; y[i] = s; }} return -1;",
    "two": f"{EACH}{{ if (w[at[i]] > 8.5) return i; if (w[at[i + 9]] < .5) return -i; y[i] += w[at[i]]; }} return n;",
    "counter": "int i; for (i = 0; i < n; i++) { if (!(w[at[i]] < 8)) break; y[i] = w[at[i]]; } return i;",
    "inner": f"{EACH}{{ double s = 0; for (int k = 0; k < at[i]; k++) {{ if (w[at[i + k]] > 8) return 10 * i + k; s += w[at[k]]; }} y[i] = s; }} return n;",
    "branches": f"{EACH}{{ double s = w[at[i]]; if (at[i + 1] > 4) s += w[at[i + 1]]; else s -= w[i]; if (sqrt(s * s) > 15) break; y[i] = s; }} return 0;",
    "goes_on": f"long m = 0; {EACH}{{ if (w[at[i]] > 8) goto out; y[i] = w[i]; m += at[i]; }} return m; out: return -m;",
    "stored_behind": f"{EACH}{{ y[at[i]] += w[at[i]]; }} {EACH}{{ if (w[at[i]] > 8) break; y[at[i]] -= 1; }} return 0;",
    "by_two": "for (int i = 0; i < n; i += 2) { if (w[at[i]] > 8) break; y[i] = 1; } return 0;",
    "two_counters": "const double *p = w; for (int i = 0; i < n; i++, p++) {{ if (*p + w[at[i]] > 16) return i; y[i] = *p; }} return n;",
    "in_a_loop": "long m = 0; for (int t = 0; t < 3; t++) { "
    + EACH
    + "{ if (w[at[i]] > 8 - t) break; y[i] += 1; m++; } } return m;",
}
LEFT_ALONE = {
    "whole_numbers": f"{EACH}{{ if (at[at[i]] > 7) break; y[i] = w[at[i]]; }} return 0;",
    "searched": f"{EACH}{{ if (w[i] > 8) break; y[at[i]] = w[i]; }} return 0;",
    "search": f"{EACH}{{ if (w[i] > 8) return i; }} return n;",
    "sum": f"double s = 0; {EACH}{{ s += w[at[i]]; if (s > 20) break; y[i] = s; }} return 0;",
    "own_store": f"{EACH}{{ y[i] = 1; if (y[at[i]] > 8) break; y[i] += w[at[i]]; }} return 0;",
    "store_in_branch": f"{EACH}{{ if (at[i] > 3) y[i] = 9; if (y[at[i]] > 8) break; y[i] += w[at[i]]; }} return 0;",
    "divides": f"{EACH}{{ int d = at[i + 1]; if (d == 0) break; if (w[at[i] / d] > 8) break; y[i] = 1; }} return 0;",
    "no_count": "int i = 0; while (w[at[i]] < 8) { y[i] = w[at[i]]; i++; } return i;",
    "unknown_call": f"{EACH}{{ if (abs_of(w[at[i]]) > 8) break; y[i] = w[at[i]]; }} return 0;",
    "volatile": f"{EACH}{{ if (*(const volatile double *)(w + at[i]) > 8) break; y[i] = 1; }} return 0;",
}
ALL = LOOKED | LEFT_ALONE


@pytest.mark.parametrize("name", ALL)
def test_loops_that_are_left_early(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    own = "\ndouble abs_of(double x) { volatile double y = x; return y < 0 ? -y : y; }\n"
    both = BuiltTwice({name: f"{HEAD}{{\n    {ALL[name]}\n}}{own}"}, "tracecut.copy.ahead", tmp_path_factory)
    looked, found = both.found(name)
    assert looked == (name in LOOKED)
    for run in found:
        run.restype = ctypes.c_long  # type: ignore[attr-defined]
    draw = np.random.default_rng(7)
    for trial in range(12):
        n = (0, 1, 5, 9)[trial % 4]
        at, w = draw.integers(0, 9, 40).astype(np.int32), draw.random(80) * 9
        w[:9] = np.minimum(w[:9], 7.9) if trial >= 8 else w[:9]
        w[8], start, results = 9 if name == "no_count" else w[8], draw.random(80), []
        at[9] = 8 if name == "no_count" else at[9]
        for run in found:
            y = start.copy()
            returned = run(ctypes.c_int(n), *(ctypes.c_void_p(one.ctypes.data) for one in (at, w, y)))
            results.append((returned, y.tolist()))
        assert results[0] == results[1]
