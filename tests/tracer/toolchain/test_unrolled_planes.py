"""Short loops over planes, unrolled: they compute what they computed."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from .built_twice import BuiltTwice

HEAD = "void run(int n, const int *at, const double *w, double *y)\n"
# ruff: noqa: E501
EACH = "for (int i = 0; i < n; i++) "
UNROLLED = {
    "sums": f"{EACH}{{ double s = 0; for (int k = 0; k < 4; k++) s = s / 2 + w[at[i + k * n]]; y[i] = s; }}",
    "stores": f"{EACH}for (int k = 0; k < 3; k++) y[i + k * n] = w[at[i] + k * n] + k;",
    "from_one": f"{EACH}for (long k = 1; k <= 3; k++) y[i + (k - 1) * n] += k * w[i + k * n];",
    "by_two": f"{EACH}for (int k = 0; k < 7; k += 2) y[i] += w[i + k / 2 * n] * k;",
    "walks": f"{EACH}{{ const double *p = w + i; long j = i; for (unsigned k = 0; k != 4; k++, j += n) y[i] += p[j]; }}",
    "branches": f"{EACH}for (int k = 0; k < 4; k++) {{ int j = at[i + k * n]; if (j > 2) y[i] += w[j + k * n]; else if (j == 1) y[i] -= w[i]; }}",
    "rotates": f"{EACH}{{ double a = 1, b = 2, c; for (int k = 0; k < 5; k++) c = a, a = b, b = c + w[i + k % 4 * n] + y[k * n % 9]; y[i] = a - b; }}",
    "calls": f"extern double sqrt(double); {EACH}for (int k = 0; k < 4; k++) y[i] += sqrt(w[i + k * n]);",
}
WHOLE = {
    "records": f"{EACH}for (int k = 0; k < 4; k++) y[i] += w[4 * i + k];",
    "constant_planes": f"{EACH}for (int k = 0; k < 4; k++) y[i] += w[i + 9 * k];",
    "many": f"{EACH}for (int k = 0; k < 9; k++) y[i] += w[at[i] + k * n % 9];",
    "unknown": f"{EACH}for (int k = 0; k < at[i]; k++) y[i] += w[i + k * n % 9];",
    "left": f"{EACH}for (int k = 0; k < 4; k++) {{ if (w[i + k * n] > 5) break; y[i] += w[i + k * n]; }}",
    "wraps": f"{EACH}for (short k = 5; k < 27063; k = (short)(k + 20000)) y[i] += w[i + (k & 3) * n];",
    "wraps_to_less": f"{EACH}for (int k = 2; k < 1864382322; k = (int)((unsigned)k + 1500000000u)) y[i] += w[i + (k & 3) * n];",
    "wraps_around": f"{EACH}for (unsigned char k = 250; k != 2; k += 2) y[i] += w[i + (k & 3) * n];",
    "alone": "for (int k = 0; k < 4; k++) y[k * n] += w[k * n];",
}
ALL = UNROLLED | WHOLE


@pytest.mark.parametrize("name", ALL)
def test_short_loops_over_planes(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    both = BuiltTwice({name: f"{HEAD}{{\n    {ALL[name]}\n}}\n"}, "tracecut.plane", tmp_path_factory)
    unrolled, found = both.found(name)
    assert unrolled == (name in UNROLLED)
    draw = np.random.default_rng(7)
    for n in (0, 1, 5, 9):
        at, w = draw.integers(0, 9, 40).astype(np.int32), draw.random(80) * 9
        start, results = draw.random(80), []
        for run in found:
            y = start.copy()
            run(ctypes.c_int(n), *(ctypes.c_void_p(one.ctypes.data) for one in (at, w, y)))
            results.append(y)
        np.testing.assert_array_equal(*results)
