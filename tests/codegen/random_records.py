"""Random programs of one shape: records that hold the numbers of others, in a loop over them and in loops beside it."""

from __future__ import annotations

import random
from pathlib import Path

PRELUDE = (Path(__file__).parent / "programs" / "prelude.h").read_text()
FIELDS = ["long now;", "long then;", "int mass;", "short count;", "INDEX near[5];", "INDEX up;", "INDEX down;"]
INDEX = ["int", "long", "short", "unsigned", "unsigned short"]
HOT = [
    "long s = 0; for (int k = 0; k < p[v].count; k++) s += p[p[v].near[k]].now; p[v].then += s & 511;",
    "long s = 0; for (int k = 0; k < 5; k++) s += p[p[v].near[k]].now * p[v].mass; p[v].then = s & 4095;",
    "long s = 1; for (int k = 1; k < 4; k++) s += p[p[v].near[k]].now; out[v] += s & 255;",
    "p[v].then += p[p[v].up].now - p[p[v].down].now;",
    "p[v].then += p[p[v].up].now * table[p[v].down];",
    "p[p[v].up].then += p[v].now & 31;",
    "p[p[v].up].then += p[p[v].down].now & 63; out[v]++;",
    "p[v].then = p[p[p[v].up].down].now + p[v].mass;",
    "out[v] += p[p[v].up].mass - p[p[p[v].down].near[2]].mass;",
]
MISUSE = [  # what keeps the numbers as they are
    "p[v].then += p[p[v].up].now + p[v].up;",
    "if (p[v].up > p[v].down) p[v].then += p[p[v].up].now & 7;",
    "p[v].then += p[p[v].up].now; p[v].down = (INDEX)v;",
    "p[v].then += p[p[v].up].now * few[p[v].down & 15];",
    "long s = 0; for (int k = 0; k < p[v].up % 4; k++) s += p[p[v].near[k]].now; p[v].then += s & 511;",
]
BESIDE = [
    "for (int v = 0; v < DATA; v++) p[v].now = (p[v].now + p[v].then) & 1023;",
    "for (int v = 0; v < DATA; v++) p[v].now ^= p[v].then & 15;",
    "for (int v = 0; v < DATA; v++) p[v].then = 0;",
    "for (int v = 0; v < DATA; v++) { p[v].mass++; out[v] += p[v].mass & 1; }",
    "for (int v = 0; v < DATA; v++) table[v] = (table[v] + p[v].now) & 127;",
    "for (int v = 0; v < DATA; v++) total += p[v].now * (v & 3);",
    "total += p[7].now;",
    "p[3].mass += t;",
    "for (int v = 0; v < 16; v++) few[v] += t;",
]
SELDOM = [
    "for (int v = 0; v < DATA; v++) total += p[v].near[1] * (v & 3);",
    "for (int v = 1; v < DATA; v++) p[v].now = (p[v].now + p[v - 1].then) & 1023;",
    "p[5].up = (INDEX)(t * 7);",
    "{ struct node n = p[2]; p[2] = p[9]; p[9] = n; }",
    "memcpy(q, p, DATA * sizeof *p); total += q[11].now;",
    "for (int v = 0; v < DATA; v++) p[v].down = p[v].up;",
]


def program(seed: int) -> str:
    """A program that prints what is left of all data. The same one for the same seed."""
    draw = random.Random(seed)
    fields = draw.sample(FIELDS, len(FIELDS))
    parts = [draw.choice(SELDOM if draw.random() < 0.12 else BESIDE) for _ in range(draw.randint(1, 3))]
    hot = draw.choice(MISUSE if draw.random() < 0.25 else HOT)
    more = draw.choice(HOT) if draw.random() < 0.3 else ""
    loops = [f"for (int v = 0; v < DATA; v++) {{ {body} }}" for body in (hot, more) if body]
    for loop in loops:
        parts.insert(draw.randrange(len(parts) + 1), loop)
    body = "\n        ".join(parts)
    return f"""{PRELUDE}
struct node {{ {" ".join(fields)} }};
int main(void)
{{
    struct node *p = calloc(DATA, sizeof *p), *q = calloc(DATA, sizeof *q);
    long *out = longs(DATA, 90), *table = longs(DATA, 50), *few = longs(16, 9), total = 0;
    for (int v = 0; v < DATA; v++) {{
        p[v].now = draw() % 900, p[v].mass = (int)(draw() % 9), p[v].count = (short)(draw() % 6);
        p[v].up = (INDEX)(draw() % DATA), p[v].down = (INDEX)(draw() % DATA);
        for (int k = 0; k < 5; k++)
            p[v].near[k] = (INDEX)(draw() % DATA);
    }}
    for (int t = 0; t < 5; t++) {{
        {body}
    }}
    for (int v = 0; v < DATA; v++) {{
        total = total * 31 + p[v].now + 3 * p[v].then + p[v].mass + 5 * p[v].up + 7 * p[v].down + p[v].count;
        for (int k = 0; k < 5; k++)
            total = total * 31 + p[v].near[k];
    }}
    show("out", out, DATA);
    show("table", table, DATA);
    show("total", &total, 1);
    return 0;
}}
""".replace("INDEX", draw.choice(INDEX))
