"""Random programs of one shape: records that hold pointers to others, and edges that do, beside loops by number."""

from __future__ import annotations

import random
from pathlib import Path

PRELUDE = (Path(__file__).parent / "programs" / "prelude.h").read_text()
FIELDS = ["long now;", "long then;", "int mass;", "struct node *up;", "struct node *down;", "struct node *near[3];"]
LISTS = ["struct node **list;", "struct node **end;"]
LOOPS = {"NODES": "for (int v = 0; v < DATA; v++)", "EDGES": "for (int j = 0; j < JOBS; j++)"}
EDGE = ["struct node *a;", "struct node *b;", "int k;", "long *now;"]
HOT = [
    "EDGES { long f = e[j].k * (e[j].b->now - e[j].a->now); e[j].a->then += f, e[j].b->then -= f; }",
    "EDGES { e[j].a->then += e[j].b->now & e[j].k; }",
    "EDGES { if (e[j].a != e[j].b) e[j].a->then += e[j].b->now & 31; }",
    "EDGES { seen[j] += e[j].a->now * e[j].b->mass; }",
    "EDGES { seen[j] += *e[j].now + e[j].a->mass; }",
    "EDGES { long s = 0; for (int d = 0; d < 3; d++) s += corner[j][d]->now; seen[j] += s & 255; }",
    "EDGES { for (int d = 0; d < 3; d++) corner[j][d]->then += seen[j] & 7; }",
    "NODES { p[v].then += p[v].up->now - p[v].down->now; }",
    "NODES { long s = 0; for (int d = 0; d < 3; d++) s += p[v].near[d]->now; out[v] += s & 511; }",
    "NODES { p[v].up->then += p[v].now & 31; }",
    "NODES { out[v] += p[v].up->down->mass; }",
    "EDGES { p[at[j]].then += e[j].a->now & 63; }",
]
OVER_LISTS = [
    "NODES { long s = 0; for (struct node **l = p[v].list; l != p[v].end; l++) s += (*l)->now; out[v] += s & 511; }",
    "NODES { for (struct node **l = p[v].list; l != p[v].end; l++) (*l)->then += p[v].now & 31; }",
    "NODES { for (long d = 0; d < p[v].end - p[v].list; d++) p[v].then += p[v].list[d]->mass & 7; }",
    "EDGES { for (struct node **l = e[j].a->list; l != e[j].a->end; l++) seen[j] += (*l)->now & 15; }",
]
MISUSE = [  # what asks for the pointers themselves
    "EDGES { if (e[j].a < e[j].b) seen[j] += e[j].b->now; }",
    "EDGES { seen[j] += (e[j].b - e[j].a) + e[j].b->now; }",
    "EDGES { seen[j] += (e[j].b - p) * e[j].a->now; }",
    "EDGES { seen[j] += e[j].a->now; e[j].a = e[j].b; }",
    "EDGES { if (e[j].b) seen[j] += e[j].b->now; }",
    "NODES { out[v] += p[v].up->now; p[v].up = p[v].down; }",
]
BESIDE = [
    "NODES p[v].now = (p[v].now + p[v].then) & 1023;",
    "NODES p[v].then = 0;",
    "NODES { p[v].mass++; out[v] += p[v].mass & 1; }",
    "NODES total += p[v].now * (v & 3);",
    "EDGES e[j].k = (e[j].k + t) & 15;",
    "total += e[7].a->now;",
    "e[9].b->mass += t;",
    "p[3].mass += t;",
]
SELDOM = [
    "EDGES total = total * 3 + e[j].a->now;",
    "EDGES { total = total * 3 + e[j].a->then; e[j].b->then ^= total & 15; }",
    "for (int j = 0; j < JOBS && e[j].a->now != 5; j++) total += e[j].b->mass;",
    "e[5].a = p + t * 7;",
    "{ struct node n = p[2]; p[2] = p[9]; p[9] = n; }",
    "memcpy(q, p, DATA * sizeof *p); total += q[11].now;",
]


def program(seed: int) -> str:
    """A program that prints what is left of all data. The same one for the same seed."""
    draw = random.Random(seed)
    lists = LISTS if draw.random() < 0.5 else []
    fields, edge = draw.sample(FIELDS + lists, len(FIELDS + lists)), draw.sample(EDGE, len(EDGE))
    hot = HOT + 2 * OVER_LISTS if lists else HOT
    parts = [draw.choice(SELDOM if draw.random() < 0.2 else BESIDE) for _ in range(draw.randint(1, 3))]
    loops = [draw.choice(MISUSE if draw.random() < 0.2 else hot), *draw.sample(hot, draw.choice([0, 1, 1, 2]))]
    for loop in loops:
        parts.insert(draw.randrange(len(parts) + 1), loop)
    body = "\n        ".join(parts)
    for name, head in LOOPS.items():
        body = body.replace(name, head)
    filled = """long many = draw() % 5;
        p[v].list = malloc((size_t)(many + v % 2 + 1) * sizeof *p[v].list), p[v].end = p[v].list + many;
        for (long d = 0; d < many; d++)
            p[v].list[d] = some(p);"""
    first = draw.choice([0, 0, 0, 1])  # the first node may be led to by none
    other = draw.choice(["", "", "", "e[JOBS / 3].b = q + 5, q[5].now = 3;"])
    if any(asked in body for asked in ("< e[j].b)", "e[j].b - ")):
        other = ""  # C compares only pointers into one array
    return f"""{PRELUDE}
struct node {{ {" ".join(fields)} }};
struct edge {{ {" ".join(edge)} }};
static struct node *some(struct node *p) {{ return p + {first} + draw() % (DATA - {first}); }}
int main(void)
{{
    struct node *p = calloc(DATA, sizeof *p), *q = calloc(DATA, sizeof *q);
    struct node *(*corner)[3] = calloc(JOBS, sizeof *corner);
    struct edge *e = calloc(JOBS, sizeof *e);
    long *out = longs(DATA, 90), *seen = longs(JOBS, 50), total = 0;
    int *at = ints(JOBS, DATA);
    for (int v = 0; v < DATA; v++) {{
        p[v].now = draw() % 900, p[v].mass = (int)(draw() % 9);
        p[v].up = some(p), p[v].down = some(p);
        for (int d = 0; d < 3; d++)
            p[v].near[d] = some(p);
        {filled if lists else ""}
    }}
    for (int j = 0; j < JOBS; j++) {{
        e[j].a = some(p), e[j].b = some(p), e[j].k = (int)(draw() % 9), e[j].now = &some(p)->now;
        for (int d = 0; d < 3; d++)
            corner[j][d] = some(p);
    }}
    {other}
    for (int t = 0; t < 5; t++) {{
        {body}
    }}
    for (int v = 0; v < DATA; v++)
        total = total * 31 + p[v].now + 3 * p[v].then + p[v].mass + 5 * (p[v].up - p) + 7 * (p[v].down - p);
    for (int j = 0; j < JOBS; j++)
        total = total * 31 + e[j].k + e[j].a->now + 3 * e[j].b->now + at[j];
    show("out", out, DATA);
    show("seen", seen, JOBS);
    show("total", &total, 1);
    return 0;
}}
"""
