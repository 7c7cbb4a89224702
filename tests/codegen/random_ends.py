"""Random programs of one shape: steps of a hot loop that a computed number may end, and of loops beside it."""

from __future__ import annotations

import random
from pathlib import Path

PRELUDE = (Path(__file__).parent / "programs" / "prelude.h").read_text()
SETUP = """
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), *rp = offsets(JOBS, 5), *col = ints(rp[JOBS] + 1, DATA);
    double *x = reals(DATA, 100), *y = reals(JOBS, 90), *z = reals(DATA, 50);
    double total = 0, *more = calloc(STEPS * DATA, 8);
    long left = 0;
    if (argc > 2)
        more[atoi(argv[1]) * DATA + atoi(argv[2])] = 1e7;
"""
HOT = [
    "double s = x[a[e]] + z[b[e]]; END(s) y[e] = s;",
    "double s = x[a[e]] - x[b[e]]; END(s * s) z[a[e]] += s; z[b[e]] -= s;",
    "double s = 0; for (int k = rp[e]; k < rp[e + 1]; k++) { INNER(x[col[k]]) s += x[col[k]]; } y[e] = s + 1;",
    "double s = 0; for (int k = rp[e]; k < rp[e + 1]; k++) s += x[col[k]]; END(s) y[e] = s;",
    "if (e % 3) { END(x[a[e]]) } y[e] = x[b[e]];",
    "if (a[e] > 90) { END(x[a[e]]) y[e] = 1; } else { END(z[a[e]]) y[e] = x[b[e]]; }",
    "y[e] = x[a[e]]; END(y[e]) total += y[e];",
    "y[e] += x[a[e]]; END(z[b[e]]) y[e] += 1;",
    "y[e] += 1; END(y[a[e]]) y[e] += x[b[e]];",
    "total += x[a[e]]; END(x[b[e]]) z[b[e]] += 1;",
    "END(x[a[e]] + x[b[e]]) END(-z[a[e]]) y[e] = x[a[e]]; total += y[e];",
]
ENDS = [
    "if ({0} > LIMIT) break;",
    "if (!({0} < LIMIT)) {{ left += e; break; }}",
    "if ({0} > LIMIT) {{ left -= e; goto next; }}",
    'if ({0} > LIMIT) {{ printf("%g at %d\\n", {0}, e); exit(3); }}',
    "if ({0} > LIMIT) return 4;",
]
BESIDE = [
    "for (int v = 0; v < DATA; v++) z[v] = (long)(x[v] + 3 * z[v]) & 1023;",
    "for (int v = 0; v < DATA; v++) x[v] += z[v];",
    "for (int v = 0; v < JOBS; v++) total += y[v];",
    "for (int v = 0; v < DATA; v++) x[v] = y[v] + v;",
    "double *other = x; x = z; z = other;",
]
PULSE = "for (int v = 0; v < DATA; v++) x[v] = ((long)x[v] & 4095) + more[t * DATA + v];"


def program(seed: int) -> str:
    """A program that prints what is left of all data, if it comes so far. The same one for the same seed.

    Its arguments: the step and the place of a number that is far too large.
    """
    draw = random.Random(seed)
    hot = draw.choice(HOT)
    end = draw.choice(ENDS)
    while "END(" in hot or "INNER(" in hot:
        word = "END(" if "END(" in hot else "INNER("
        start = hot.index(word)
        stop = start + len(word)
        depth = 1
        while depth:
            depth += {"(": 1, ")": -1}.get(hot[stop], 0)
            stop += 1
        ends = ENDS[2:] if word == "INNER(" and end in ENDS[:2] else [end]
        hot = hot[:start] + draw.choice(ends).format(f"({hot[start + len(word) : stop - 1]})") + hot[stop:]
    parts = [f"{{ {part} }}" for part in draw.choices(BESIDE, k=draw.randint(0, 2))]
    parts.insert(0, PULSE)
    parts.insert(draw.randrange(1, len(parts) + 1), f"for (int e = 0; e < JOBS; e++) {{ {hot} }}")
    body = "\n        ".join(parts)
    return f"""{PRELUDE}
#define STEPS 5
#define LIMIT 1e6
int main(int argc, char **argv)
{{{SETUP}
    for (int t = 0; t < STEPS; t++) {{
        {body}
    next:
        total = (long)total & 0xfffff;
    }}
    show_reals("x", x, DATA);
    show_reals("y", y, JOBS);
    show_reals("z", z, DATA);
    printf("%.17g %ld\\n", total, left);
    return 0;
}}
"""
