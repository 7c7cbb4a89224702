"""What loops on a card and the rest of the program hand on to each other, and pointers beside arrays."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.runtime.binding import support

from ..harness import trace
from .on_card import Asked, card_scopes, run_on_card
from .test_in_program import assert_right, inspected

HEAD = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N = 600, M = 2400 };
static int e[2 * M];
static void edges(void) {
    unsigned s = 7;
    for (int i = 0; i < 2 * M; i++) { s = s * 1664525u + 1013904223u; e[i] = (s >> 8) % N; }
}
static void show(const double *x) {
    double q = 0;
    for (int i = 0; i < N; i++) q += x[i] * (i % 7);
    printf("%.15g %.15g %.15g\n", q, x[0], x[N - 1]);
}
"""
PROGRAMS = {
    # A copy of what a loop has left that runs on the CPU, since each iteration needs the one before.
    "a copy of what the CPU made": r"""
int main(void) {
    double *x = calloc(N, 8), *y = calloc(N, 8), *z = calloc(N, 8), *w = calloc(N, 8);
    edges();
    for (int i = 0; i < N; i++) x[i] = i % 13, z[i] = 1;
    for (int t = 0; t < 6; t++) {
        memset(y, 0, N * 8);
        for (int k = 0; k < M; k++) { // @edges
            int a = e[2 * k], b = e[2 * k + 1];
            double f = x[a] - x[b] + w[k % N];
            y[a] -= f;
            y[b] += f;
        }
        for (int i = 0; i < N; i++) x[i] += 1e-3 * y[i] + 1e-2 * z[i];
        for (int i = 1; i < N; i++) z[i] = 0.5 * z[i - 1] + 1;
        memcpy(w, z, N * 8);
    }
    show(x);
    show(w);
    return 0;
}
""",
    "a part that is cleared of what the CPU made": r"""
int main(void) {
    double *x = calloc(N, 8), *y = calloc(N, 8), *g = calloc(N, 8);
    edges();
    for (int i = 0; i < N; i++) x[i] = i % 13;
    for (int t = 0; t < 6; t++) {
        for (int k = 0; k < M; k++) { // @edges
            int a = e[2 * k], b = e[2 * k + 1];
            double f = 0.01 * (x[a] - x[b]);
            y[a] -= f;
            y[b] += f;
        }
        for (int i = 0; i < N; i++) { x[i] += y[i] + 1e-3 * g[i]; y[i] = 0; }
        g[0] = 1;
        for (int i = 1; i < N; i++) g[i] += 0.5 * g[i - 1];
        memset(g + N / 2, 0, N / 4 * 8);
    }
    show(x);
    show(g);
    return 0;
}
""",
    "values at the border": r"""
static double x[N], r[N], old[N];
int main(void) {
    edges();
    for (int i = 0; i < N; i++) x[i] = i % 13;
    for (int t = 0; t < 6; t++) {
        memcpy(old, x, sizeof x);
        for (int k = 0; k < M; k++) { // @edges
            int a = e[2 * k], b = e[2 * k + 1];
            double f = 0.01 * (x[a] - x[b]);
            r[a] -= f;
            r[b] += f;
        }
        for (int i = 0; i < N; i++) x[i] = old[i] + r[i];
        memset(r, 0, sizeof r);
        x[0] = t;
        x[N - 1] = x[0] + x[1];
    }
    show(x);
    return 0;
}
""",
    # Two arrays side by side that change places: the end of one is the begin of the other.
    "pointers to the ends of arrays": r"""
static double A[N], B[N], F[N];
int main(void) {
    edges();
    double *p = A, *q = B;
    for (int i = 0; i < N; i++) p[i] = i % 13;
    for (int t = 0; t < 5; t++) {
        for (int k = 0; k < M; k++) { // @edges
            int a = e[2 * k], b = e[2 * k + 1];
            double f = 0.01 * (p[a] - p[b]);
            F[a] -= f;
            F[b] += f;
        }
        double *pe = p + N, *qe = q + N, *fe = F + N;
        for (long i = -N; i < 0; i++) qe[i] = pe[i] * 0.9 + fe[i];
        for (long i = -N; i < 0; i++) fe[i] = 0;
        double *r = p;
        p = q;
        q = r;
    }
    show(p);
    return 0;
}
""",
    "other loops are unrolled by hand": r"""
int main(void) {
    double *x = calloc(N, 8), *y = calloc(N, 8), s = 0;
    int i;
    edges();
    for (i = 0; i < N; i++) x[i] = i % 13;
    for (int t = 0; t < 6; t++) {
        for (int k = 0; k < M; k++) { // @edges
            int a = e[2 * k], b = e[2 * k + 1];
            double f = x[a] - x[b] + s;
            y[a] -= f;
            y[b] += f;
        }
        for (i = 0; i < N - 7; i += 7) {
            x[i] += 1e-3 * y[i], x[i + 1] += 1e-3 * y[i + 1], x[i + 2] += 1e-3 * y[i + 2];
            x[i + 3] += 1e-3 * y[i + 3], x[i + 4] += 1e-3 * y[i + 4], x[i + 5] += 1e-3 * y[i + 5];
            x[i + 6] += 1e-3 * y[i + 6];
        }
        for (; i < N; i++) x[i] += 1e-3 * y[i];
        double sum = 0;
        for (i = 0; i < N; i += 4) sum += x[i] * y[i] + x[i + 1] * y[i + 1] + x[i + 2] * y[i + 2] + x[i + 3] * y[i + 3];
        s = 1e-9 * sum;
    }
    show(x);
    show(y);
    return 0;
}
""",
    "arrays that are counted from one": r"""
static double A[N], B[N], F[N];
int main(void) {
    edges();
    double *p = A, *q = B;
    for (int i = 0; i < N; i++) p[i] = i % 13;
    for (int t = 0; t < 5; t++) {
        for (int k = 0; k < M; k++) { // @edges
            int a = e[2 * k], b = e[2 * k + 1];
            double f = 0.01 * (p[a] - p[b]);
            F[a] -= f;
            F[b] += f;
        }
        double *p1 = p - 1, *q1 = q - 1, *f1 = F - 1;
        for (long i = 1; i <= N; i++) q1[i] = p1[i] * 0.9 + f1[i];
        for (long i = 1; i <= N; i++) f1[i] = 0;
        double *r = p;
        p = q;
        q = r;
    }
    show(p);
    return 0;
}
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("variant", ["swap", "original"])
def test_the_program_prints_what_it_printed(name: str, variant: str, tmp_path: Path) -> None:
    item = inspected(HEAD + PROGRAMS[name], tmp_path)
    found = run_on_card(item.program, card_scopes([Asked(item, variant, item.random(1))]))
    assert_right(item, found)
    assert found.report["device"]["launches"] >= 10, found.stderr


# The same in the hot loop itself: the captured memory does not say which of the two is meant.
ENDS = r"""
static double A[N], B[N];
static long d[2 * M];
int main(void) {
    edges();
    for (int i = 0; i < 2 * M; i++) d[i] = e[i] - N;
    double *p = A + N, *q = B + N;
    for (int i = -N; i < 0; i++) p[i] = (i + N) % 13;
    for (int t = 0; t < 5; t++) {
        for (int i = -N; i < 0; i++) q[i] = p[i] * 0.9;
        for (int k = 0; k < M; k++) { // @edges
            long a = d[2 * k], b = d[2 * k + 1];
            double f = 0.01 * (p[a] - p[b]);
            q[a] -= f;
            q[b] += f;
        }
        double *r = p;
        p = q;
        q = r;
    }
    show(p - N);
    return 0;
}
"""


def test_nothing_guesses_which_array_is_meant(tmp_path: Path) -> None:
    program = trace(HEAD + ENDS, tmp_path)
    loop = program.loop("edges")
    item = program.inspect_in("edges", loop, program.scopes_of(loop)[0])
    why = "one of several arrays, and it is not known to which"
    with pytest.raises(UnsupportedError, match=why):
        item.replay(support())
    with pytest.raises(UnsupportedError, match=why):
        card_scopes([Asked(item, "original", item.random(1))])


# What the scope touches on the CPU, and how far iterations reach, follows from other data than when it was traced.
MORE = r"""
static int p[N], cz[N];
static double x[N], y[N], w[4 * N];
int main(int argc, char **argv) {
    int other = argc > 1;
    edges();
    for (int i = 0; i < N; i++) x[i] = i % 13, p[i] = other ? (i * 7 + 3) % N : e[i], cz[i] = other ? i % 3 : 0;
    for (int t = 0; t < 6; t++) {
        for (int i = 0; i < N; i++) // @edges
            y[i] += x[p[i]] * 0.1;
        SECOND
        for (int i = 0; i < N; i++) x[i] = 0.9 * x[i] + 0.01 * y[i] + 0.001 * w[i];
    }
    show(x);
    show(w);
    return 0;
}
"""
SECOND = {
    "a loop that never ran": "for (int i = 0; i < N; i++) for (int k = 0; k < cz[i]; k++) w[i + k] = x[i] + k + i;",
    "a branch that was never taken": "for (int i = 1; i < N; i++) if (cz[i]) w[N - i] = w[i - 1] * 0.5 + y[i];",
    "a loop that runs further": "for (int i = 0; i < N; i++) for (int k = 0; k <= cz[i]; k++) w[i + k] = x[i] + k + i;",
}


@pytest.mark.parametrize("name", SECOND)
def test_other_data_let_the_scope_touch_more(name: str, tmp_path: Path) -> None:
    item = inspected(HEAD + MORE.replace("SECOND", SECOND[name]), tmp_path)
    (made,) = card_scopes([Asked(item, "swap", item.random(1))])
    for argv in ((), ("1",)):
        assert_right(item, run_on_card(item.program, [made], argv=argv), *argv)
    if name == "a loop that runs further":
        line = next(n for n, text in enumerate((HEAD + MORE).splitlines(), 1) if "SECOND" in text)
        loops = [] if made.anyhow is None else made.anyhow.loops
        places = [made.file.nest.loops[loop.loop].place.line for loop in loops]
        assert line not in places, "its iterations may write to one place"
    else:
        assert made.anyhow is None
