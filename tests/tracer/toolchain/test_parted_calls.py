"""Loops in which something is called under a condition that they do not change: they do what they did."""

from __future__ import annotations

import pytest

from .built_twice import BuiltTwice, expect_the_same

HEAD = """
static long told;
extern void srand(unsigned);
static void tell(long x) { srand((unsigned)(told = told * 31 + x)); }
long run(int n, int on, const int *at, const double *w, double *y)
"""
# ruff: noqa: E501
EACH = "for (int i = 0; i < n; i++) "
PARTED = {
    "flag": f"{EACH}{{ y[at[i]] += w[i]; if (on) tell(i); }} return told;",
    "first_step": "for (int t = 0; t < 3; t++) "
    + EACH
    + "{ if (t == 0 && on > 1) tell(at[i]); y[at[i]] += w[at[i + 1]]; } return told;",
    "either": f"{EACH}{{ if (!(on == 0 || w[at[i]] < 3)) tell(i); y[i] += w[at[i]]; }} return told;",
    "inner": f"{EACH}{{ double s = 0; for (int k = 0; k < at[i]; k++) {{ if (on && k == 2) tell(i); s += w[at[i + k]]; }} y[i] = s; }} return told;",
    "value": f"long m = 0; {EACH}{{ long v = at[i]; if (on & 1) {{ tell(v); v = -v; }} m += v; y[at[i]] += m; }} return m + told;",
    "leaves": f"{EACH}{{ if (on) {{ tell(i); if (at[i] > 6) return -i; }} y[at[i]] += 1; }} return told;",
    "left_too": "int i; for (i = 0; i < n; i++) { if (at[i] == 8) break; if (on) tell(at[i]); y[at[i]] += 1; } return told + i;",
    "two": f"{EACH}{{ if (on & 1) tell(i); y[at[i]] += 1; if (on & 2) tell(-i); }} return told;",
    "calls_else": f"{EACH}{{ if (on) y[at[i]] += 1; else tell(at[i]); }} return told;",
}
WHOLE = {
    "always": f"{EACH}{{ tell(i); y[at[i]] += 1; }} return told;",
    "varies": f"{EACH}{{ if (at[i] > 7) tell(i); y[at[i]] += 1; }} return told;",
    "regular": f"{EACH}{{ if (on) tell(i); y[i] += w[i]; }} return told;",
    "loops": f"{EACH}{{ if (on) for (int k = 0; k < 3; k++) tell(k + i); y[at[i]] += 1; }} return told;",
    "no_call": f"{EACH}{{ if (on) y[at[i]] += 2; else y[at[i]] -= 1; }} return told;",
}
ALL = PARTED | WHOLE


@pytest.mark.parametrize("name", ALL)
def test_calls_under_a_condition(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    both = BuiltTwice(
        {name: f"{HEAD}{{\n    told = 0;\n    {ALL[name]}\n}}\n"}, "tracecut.copy.pieces.calls", tmp_path_factory
    )
    parted, found = both.found(name)
    assert parted == (name in PARTED)
    expect_the_same(found, (0, 1, 2, 3), (0, 1, 5, 9))
