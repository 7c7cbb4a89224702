"""Random programs of one shape: steps of a hot loop that is indexed, and of loops beside it over its data."""

from __future__ import annotations

import random
import re
from pathlib import Path

PRELUDE = (Path(__file__).parent / "programs" / "prelude.h").read_text()
SETUP = """
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), *rp = offsets(JOBS, 5), *col = ints(rp[JOBS] + 1, DATA);
    int *q = ints(JOBS, DATA), *few = ints(16, 9), **rows = malloc(sizeof *rows * (JOBS + 1));
    long *x = longs(DATA, 100), *y = longs(JOBS, 90), *z = longs(DATA, 50), *w = longs(JOBS, 20), total = 0;
    struct ends { int n, m; } *p = malloc(sizeof *p);
    *p = (struct ends){JOBS, DATA};
    for (int i = 0; i <= JOBS; i++)
        rows[i] = col + rp[i];
"""
HOT = [
    "y[e] += x[a[e]] + z[b[e]];",
    "z[a[e]] += y[e] + x[b[e]];",
    "long s = 0; for (int k = rp[e]; k < rp[e + 1]; k++) s += x[col[k]]; y[e] = (y[e] + s) & 4095;",
    "long s = 0; for (int *k = rows[e]; k < rows[e + 1]; k++) s += x[*k]; y[e] = (y[e] + s) & 4095;",
    "long s = y[e]; for (int k = rp[e]; k < rp[e + 1]; k++) if (x[col[k]] < s) s = x[col[k]], flag = FLAG; y[e] = s;",
]
MORE = ["", "if (y[e] % 7 == t) flag = FLAG;", "if (x[b[e]] > 90) calm = 0;", "total += y[e] & 3;"]
BESIDE = [
    "for (int v = 0; v < M; v++) x[v] = (x[v] + z[v] * 3 + few[v & 15]) & 1023;",
    "for (int v = 0; v < M; v++) x[v] = (x[v] + v * t) & 1023;",
    "for (int v = 0; v < M; v++) z[v] = (x[v] + rp[v + 1] - rp[v]) & 1023;",
    "for (int v = 0; v < M; v++) z[v] = (x[v] + (rows[v + 1] - rows[v])) & 1023;",
    "for (int v = 0; v < M; v++) x[v] = (x[v] + q[v]) & 1023;",
    "for (int v = 0; v < M; v++) { if (v % 7 == t) x[v] = 5; else x[v] += z[v] & 1; }",
    "for (int v = M - 1; v >= 0; v--) x[v] = (x[v] + z[v]) & 1023;",
    "for (int v = 0; v < N; v++) y[v] = (y[v] + w[v] * v) & 2047;",
    "for (int v = 0; v < N; v++) total += y[v] * (v % 3);",
    "for (int v = 1; v < M; v++) x[v] = (x[v] + z[v - 1]) & 1023;",
    "long *other = x; x = z; z = other;",
]
ORDERED = [  # they need the program's own numbers
    "long most = -1; for (int v = 0; v < M; v++) if (x[v] > most) most = x[v], calm = v;",
    "for (int v = 0; v < M; v++) if (z[v] % 11 == t) { calm = v; break; }",
    "for (int v = t; v < M; v += 7) x[v] = (x[v] * 3 + z[v]) & 1023;",
    "long s = t; for (int v = 0; v < M; v++) z[v] = s = (s * 3 + z[v]) & 1023;",
    "long s = t; for (int v = M - 1; v >= 0; v--) s = (s * 5 + x[v]) & 4095; total += s;",
    "for (int v = 1; v < M - 1; v++) z[v] = (x[v - 1] + x[v + 1] + z[v]) & 1023;",
    "int n = 0; for (int v = 0; v < M; v++) if (x[v] & 1) q[n++] = v; for (int k = 0; k < n; k++) z[q[k]] += k;",
    "for (int k = 0; k < 16; k++) x[few[k] * 3 + t] ^= k;",
    "long at = t; for (int k = 0; k < 40; k++) { at = (at * 7 + x[at]) % DATA; x[at] = (x[at] + k) & 1023; }",
    "z[(t * 31) % DATA] += 3; total += y[(total & 0xffff) % JOBS];",
    "for (int v = 0; v < M / 2; v++) { long s = x[v]; x[v] = x[M - 1 - v]; x[M - 1 - v] = s; }",
]
SELDOM = ["p->m = DATA - t;", "for (int v = 0; v < N; v++) q[v] = (q[v] + 1) % DATA;"]


def program(seed: int) -> str:
    """A program that prints what is left of all data. The same one for the same seed."""
    draw = random.Random(seed)
    beside = draw.choices([SELDOM, ORDERED, BESIDE], [1, 3, 6], k=draw.randint(1, 3))
    parts = [f"{{ {draw.choice(kind)} }}" for kind in beside]
    hot = f"for (int e = 0; e < N; e++) {{ {draw.choice(HOT)} {draw.choice(MORE)} }}"
    parts.insert(draw.randrange(len(parts) + 1), hot)
    body = "\n        ".join(parts).replace("FLAG", draw.choice(["1", "7", "-1"]))
    for name, ends in (("N", ["JOBS", "p->n"]), ("M", ["DATA", "p->m"])):
        body = re.sub(rf"\b{name}\b", draw.choice(ends), body)
    return f"""{PRELUDE}
int main(void)
{{{SETUP}
    for (int t = 0; t < 5; t++) {{
        int flag = 0, calm = 1;
        {body}
        total = total * 5 + flag + 2 * calm;
    }}
    show("x", x, DATA);
    show("y", y, JOBS);
    show("z", z, DATA);
    show("total", &total, 1);
    return 0;
}}
"""
