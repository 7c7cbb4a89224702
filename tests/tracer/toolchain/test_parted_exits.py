"""A loop that is left early or counted out by one branch gets one for each; it does what it did."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from .built_twice import BuiltTwice, Run

HEAD = "long run(int n, const int *at, const double *w, double *y)\n"
EACH = "for (int i = 0; i < n; i++) "
PARTED = {
    "returned": f"{EACH}{{ y[i] += w[i]; if (y[i] > 12) return i; }} return n;",
    "while": "int i = 0; while (1) { y[i] += 1; i++; if (w[i] > 8 || i >= n) break; } return i;",
    "goes on": "int i = 0; do { y[i] += w[i]; i++; } while (y[i - 1] < 9 && i < n); return i;",
    "backwards": "int i = n + 1; do { y[i] += w[i]; i--; } while (y[i + 1] < 9 && i > 0); return i;",
    "whole": f"{EACH}{{ y[i] += 2; if (at[i] == 7) return i; }} return n;",
}
LEFT_ALONE = {
    "broken": f"long k = 0; {EACH}{{ y[i] += w[at[i]]; k++; if (y[i] > 12) break; }} return k;",
    "asked": f"int bad = 0; {EACH}{{ y[i] = w[i]; if (!(y[i] < 8)) {{ bad = 1; break; }} }} return bad;",
    "counted": f"{EACH}y[i] += w[i]; return n;",
    "another place": f"{EACH}{{ if (w[i] > 8) {{ y[0] = 3; return 1; }} y[i] += 1; }} return 0;",
}


@pytest.mark.parametrize("name", [*PARTED, *LEFT_ALONE])
def test_loops_do_what_they_did(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = (PARTED | LEFT_ALONE)[name]
    found, runs = BuiltTwice({name: f"{HEAD}{{ {text} }}"}, ".counts", tmp_path_factory).found(name)
    assert found == (name in PARTED)
    draw = np.random.default_rng(7)
    for trial in range(12):
        at, w, y = draw.integers(0, 9, 80).astype(np.int32), draw.random(80) * 9, draw.random(80)
        w = np.minimum(w, 7) if trial % 3 == 0 else w
        assert done(runs[0], trial, at, w, y.copy()) == done(runs[1], trial, at, w, y.copy())


def done(run: Run, n: int, *arrays: np.ndarray) -> tuple[int, list[float]]:
    run.restype = ctypes.c_long  # type: ignore[attr-defined]
    return run(ctypes.c_int(n), *(ctypes.c_void_p(one.ctypes.data) for one in arrays)), arrays[2].tolist()
