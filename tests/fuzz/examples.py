"""Small kernels written by hand, for each feature one that may be reordered and one that may not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .model import Array, Cursor, Kernel, Loop, Scalar

JOBS = 6
DUPLICATES = (0, 1, 2, 1, 0, 3)
PERMUTATION = (3, 1, 5, 0, 2, 4)
UP = Loop(("for (int i = 0; i < 6; i++) {",), ("}",), (Cursor("int", "i", "0"),), JOBS)

# Every example finds these. w: two numbers for each node. rows: of a sparse matrix.
ARRAYS = (
    Array("y", "double", 6, "real", True),
    Array("z", "double", 6, "real", True),
    Array("w", "double", 12, "real", True),
    Array("x", "double", 6, "real"),
    Array("c", "double", 6, "real"),
    Array("u", "unsigned", 6, "any", True),
    Array("v", "unsigned", 6, "any", True),
    Array("k", "unsigned", 6, "any"),
    Array("mark", "int", 6, "zero", True),
    Array("result", "double", 1, "zero", True),
    Array("count", "int", 1, "zero", True),
    Array("idx", "int", 6, DUPLICATES),
    Array("perm", "int", 6, PERMUTATION),
    Array("some", "int", 6, (2, -1, 0, -1, 1, -1)),
    Array("row", "int", 7, (0, 2, 3, 3, 5, 6, 8)),
    Array("col", "int", 8, (0, 3, 3, 1, 2, 5, 0, 4)),
)

SUM = "y[idx[i]] += c[i];"
DAMPED = "y[idx[i]] = 0.5 * y[idx[i]] + c[i];"
SHARED: dict[str, Any] = {"float_reduction": True}


def case(body: str, **more: Any) -> dict[str, Any]:
    """An example with this body."""
    return {"body": body} | more


def register(
    body: str, *, type: str = "double", start: str = "0", place: str = "result", **more: Any
) -> dict[str, Any]:
    """An example with a scalar outside of the loop."""
    return case(body, before=(f"{type} s = {start};",), after=(f"{place}[0] = s;",), **more)


def counting(*, accepted: bool, **changes: Any) -> dict[str, Any]:
    """An example whose point is how its loop counts."""
    loop = replace(UP, **changes)
    return case(SUM if accepted else DAMPED, loop=loop, float_reduction=accepted)


def both(**changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return counting(accepted=True, **changes), counting(accepted=False, **changes)


def placed(body: str, **changes: dict[str, Any]) -> dict[str, Any]:
    """An example whose arrays are somewhere else."""
    arrays = [replace(array, **changes.pop(array.name, {})) for array in ARRAYS]
    return case(body, arrays=(*(Array(name, **new) for name, new in changes.items()), *arrays))


def aliased(offset: int, body: str) -> dict[str, Any]:
    """x is a part of the array that begins where y does."""
    whole = {"type": "double", "length": 12, "fill": "real", "written": True, "passed": False}
    return placed(body, whole=whole, y={"parent": "whole"}, x={"parent": "whole", "offset": offset})


RECORDS = {"y": {"record": "node"}, "c": {"record": "node"}, "idx": {"record": "edge"}}
IN_STRUCTURE = tuple(replace(array, prefix="m->") for array in ARRAYS)
ROW_LOOP = "for (int e = row[i]; e < row[i + 1]; e++)"
FILLED = "double t[2]; for (int b = 0; b < 2; b++) t[b] = x[(idx[i] + b) % 6];"
BREAK = "if (c[i] > {}) break;"
POINTERS = (Cursor("const int *", "p", "idx"), Cursor("const double *", "q", "c"))
WALKING = ("const int *p = idx;", "const double *q = c;")
OUTSIDE = Loop(("for (i = 0; i < 6; i++) {",), ("}",), UP.cursors, JOBS, ("int i;",))
WALK = Loop(UP.head, UP.tail, (*UP.cursors, *POINTERS), JOBS, WALKING)
TO_POINTER = Loop(("while (p < idx + 6) {",), ("}",), POINTERS, JOBS, WALKING)
TO_MARK = Loop(("for (int i = 0; row[i] < 6; i++) {",), ("}",), UP.cursors, 5, test="row[i] < 6")
GIVEN = {"scalars": (Scalar("m", "int", 1),)}
BITS = "for (int b = 0; b < (1 << (idx[i] & m)); b++)"
BESIDE = "for (int b = 0; b < 2; b++) { if (perm[(i + b) % 6] == m) break;"
PAIR = "for (int b = 0; b < 2; b++)"
OWN = {"type": "int", "length": 6, "fill": DUPLICATES, "written": True}
FIND = "int b = 0; while (b < 5 && row[b] < 2 * idx[i]) b++;"
DOWN = "int b = idx[i]; for (int l = 0; l < 2; l++) b = perm[row[b] % 6 > 2 ? b : 0];"
LIST = "for (int b = 0; some[(i + b) % 6] >= 0; b++)"
ADD = "static void add(double *to, double v) { *to += v; }"
PUT = "static void put(double *to, double v) { *to = v; }"

# Feature → (may be reordered, may not be).
EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "gather": (case("z[i] = x[idx[i]];"), case("z[i] = 0.5 * z[idx[i]] + c[i];")),
    "scatter": (case("y[perm[i]] = c[i];"), case("y[idx[i]] = c[i];")),
    "gather-scatter": (case("y[perm[i]] = x[idx[i]];"), case("y[perm[i]] = 0.5 * y[idx[i]];")),
    "edge": (
        case("double f = c[i] * (x[idx[i]] - x[perm[i]]); y[idx[i]] += f; y[perm[i]] -= f;", **SHARED),
        case("double f = c[i] * (y[idx[i]] - y[perm[i]]); y[idx[i]] += f; y[perm[i]] -= f;", **SHARED),
    ),
    "two-level": (case("z[i] = x[perm[idx[i]]];"), case("y[perm[idx[i]]] = c[i];")),
    "computed-index": (case("y[5 - i] = c[i];"), case("y[i / 2] = c[i];")),
    "in-place": (case("y[perm[i]] = 0.5 * y[perm[i]] + c[i];"), case("y[idx[i]] = 0.5 * y[idx[i]] + c[i];")),
    "swap": (
        case("double t = w[2 * i]; w[2 * i] = w[2 * i + 1]; w[2 * i + 1] = t;"),
        case("double t = y[idx[i]]; y[idx[i]] = y[perm[i]]; y[perm[i]] = t;"),
    ),
    "same-value": (case("u[idx[i]] = 1;"), case("u[idx[i]] = k[i];")),
    "block": (
        case("for (int b = 0; b < 2; b++) w[2 * perm[i] + b] = c[i];"),
        case("for (int b = 0; b < 2; b++) w[2 * idx[i] + b] = c[i];"),
    ),
    "copy-block": (
        case("memcpy(&w[2 * perm[i]], &x[2 * (i % 3)], 2 * sizeof(double));"),
        case("memcpy(&w[2 * idx[i]], &x[2 * (i % 3)], 2 * sizeof(double));"),
    ),
    "records": (
        placed("node[edge[i].idx].y += node[i].c;", **RECORDS) | SHARED,
        placed("node[edge[i].idx].y = node[i].c;", **RECORDS),
    ),
    "bundle": (
        case("m->y[m->perm[i]] = m->c[i];", arrays=IN_STRUCTURE, bundle=True),
        case("m->y[m->idx[i]] = m->c[i];", arrays=IN_STRUCTURE, bundle=True),
    ),
    "static-array": (
        placed("y[perm[i]] = c[i];", y={"storage": "static"}, perm={"storage": "static"}),
        placed("y[idx[i]] = c[i];", y={"storage": "static"}, idx={"storage": "static"}),
    ),
    "memory-sum": (case("u[idx[i]] += k[i];"), case("u[idx[i]] += k[i]; v[i] = u[0];")),
    "memory-float-sum": (case("y[idx[i]] -= c[i];", **SHARED), case("y[idx[i]] -= y[0] * c[i];", **SHARED)),
    "memory-product": (case("u[idx[i]] *= k[i] | 1;"), case("u[idx[i]] *= k[i] | 1; u[perm[i]]++;")),
    "memory-and": (case("u[idx[i]] &= k[i];"), case("u[idx[i]] &= k[i]; u[perm[i]] ^= 5;")),
    "memory-or": (case("u[idx[i]] |= k[i];"), case("u[idx[i]] |= k[i]; u[perm[i]] &= k[0];")),
    "memory-xor": (case("u[idx[i]] ^= k[i];"), case("u[idx[i]] ^= k[i]; u[perm[i]] += 3;")),
    "memory-min": (
        case("y[idx[i]] = c[i] < y[idx[i]] ? c[i] : y[idx[i]];"),
        case("if (c[i] < y[0]) y[0] = x[i];"),
    ),
    "memory-max": (case("y[idx[i]] = fmax(y[idx[i]], c[i]);"), case("if (c[i] > y[0]) y[0] = x[i];")),
    "histogram": (case("u[idx[i]]++;"), case("v[i] = u[idx[i]]++;")),
    "mixed-operators": (
        case("u[idx[i]] += k[i]; u[perm[i]] -= 3;"),
        case("u[idx[i]] += k[i]; u[perm[i]] *= 3;"),
    ),
    "circular-sum": (case("w[2 * i] += w[2 * i + 1];"), case("y[idx[i]] += y[perm[i]];", **SHARED)),
    "first-visit": (
        case("if (mark[perm[i]] == 0) { mark[perm[i]] = 1; z[i] = c[i]; }"),
        case("if (mark[idx[i]] == 0) { mark[idx[i]] = 1; z[i] = c[i]; }"),
    ),
    "observed-sum": (
        case("y[perm[i]] += c[i]; z[i] = y[perm[i]];", **SHARED),
        case("y[idx[i]] += c[i]; z[i] = y[idx[i]];", **SHARED),
    ),
    "damped": (case("y[perm[i]] = 0.5 * y[perm[i]] + c[i];"), case(DAMPED)),
    "reversed-difference": (case("y[perm[i]] = c[i] - y[perm[i]];"), case("y[idx[i]] = c[i] - y[idx[i]];")),
    "own-test": (
        case("if (y[perm[i]] > 0) y[perm[i]] -= c[i];"),
        case("if (mark[0] < 3) mark[0] += i;"),
    ),
    "relax": (
        case("double t = x[i] + c[i]; if (t < y[perm[i]]) y[perm[i]] = t;"),
        case("double t = y[(i + 1) % 6] - 1; if (t < y[i]) y[i] = t;"),
    ),
    "register-sum": (
        register("s += k[i];", type="unsigned", place="u"),
        register("s += k[i]; v[i] = s;", type="unsigned", place="u"),
    ),
    "register-float-sum": (register("s += c[i];", **SHARED), register("s += c[i]; z[i] = s;", **SHARED)),
    "register-product": (
        register("s *= k[i] | 1;", type="unsigned", start="1", place="u"),
        register("s *= k[i] | 1; s++;", type="unsigned", start="1", place="u"),
    ),
    "register-min": (register("if (c[i] < s) s = c[i];"), register("s = c[i] < s ? c[i] : s + 0.1;")),
    "register-max": (register("s = fmax(s, c[i]);"), register("s = c[i] > s ? c[i] + 0.5 : s;", start="-1")),
    "register-count": (
        register("if (c[i] > 0) s++;", type="int", place="count"),
        register("if (c[i] > -2) s++; mark[i] = s;", type="int", place="count"),
    ),
    "register-bits": (
        register("s ^= k[i];", type="unsigned", place="u"),
        register("s = (s ^ k[i]) / 2;", type="unsigned", place="u"),
    ),
    "register-damped": (register("s = 0.5 * s + 1;"), register("s = 0.5 * s + c[i];")),
    "last-value": (register("s = x[0];"), register("s = x[i];")),
    "previous-value": (
        register("z[i] = c[i] - s; s = 0.5;", start="0.5"),
        register("z[i] = c[i] - s; s = c[i];"),
    ),
    "compaction": (
        register("if (c[i] > 2) z[s++] = c[i];", type="int", place="count"),
        register("if (c[i] > -2) z[s++] = c[i];", type="int", place="count"),
    ),
    "argmin": (
        register("if (c[i] < c[s]) s = i;", type="int", place="count"),
        register("if (idx[i] <= idx[s]) s = i;", type="int", place="count"),
    ),
    "chase": (
        register("y[i] += c[s]; s = some[0] - 2;", type="int", place="count"),
        register("y[i] += c[s]; s = (s + perm[s] + 1) % 6;", type="int", place="count"),
    ),
    "counter-after": (
        case(SUM, after=("count[0] = i;",), loop=OUTSIDE, **SHARED),
        case(DAMPED, after=("count[0] = i;",), loop=OUTSIDE),
    ),
    "recurrence": (case("w[2 * i + 1] = 0.5 * w[2 * i] + c[i];"), case("w[i + 1] = 0.5 * w[i] + c[i];")),
    "far-recurrence": (case("w[i + 6] = 0.5 * w[i] + c[i];"), case("w[i + 5] = 0.5 * w[i] + c[i];")),
    "prefix-sum": (case("w[i + 6] = w[i] + c[i];"), case("w[i + 1] = w[i] + c[i];", **SHARED)),
    "mirror": (case("z[i] = 0.5 * x[5 - i];"), case("z[i] = 0.5 * z[5 - i] + c[i];")),
    "if-data": (case("if (c[i] > 0) y[perm[i]] = x[i];"), case("if (c[i] < 2) y[idx[i]] = x[i];")),
    "if-index": (case("if (idx[i] > 1) y[idx[i]] = c[i];"), case("if (idx[i] < 2) y[idx[i]] = c[i];")),
    "if-counter": (case("if (i < 3) y[idx[i]] = c[i];"), case("if (i < 4) y[idx[i]] = c[i];")),
    "sentinel": (
        case("int j = some[i]; if (j >= 0) y[j] = c[i];"),
        case("int j = some[i]; if (j >= 0) y[j / 2] = c[i];"),
    ),
    "continue": (case("if (i > 2) continue; y[idx[i]] = c[i];"), case("if (i > 3) continue; y[idx[i]] = c[i];")),
    "else": (
        case("if (i % 2 == 0) y[perm[i]] = c[i]; else z[i] = x[i];"),
        case("if (i % 2 == 0) y[perm[i]] = c[i]; else y[perm[i - 1]] = x[i];"),
    ),
    "early-exit": (case(BREAK.format("2") + " z[i] = x[i];"), case(BREAK.format("c[2] - 0.01") + " z[i] = x[i];")),
    "index-stored": (case("mark[i] = idx[i];"), case("mark[idx[i]] = i;")),
    "index-data": (case("mark[idx[i]] += 3 * idx[i];"), case("mark[idx[i]] = 3 * mark[idx[i]] + perm[i];")),
    "index-compared": (
        case("if (idx[i] < perm[i]) mark[idx[i]]++;"),
        case("if (idx[i] < perm[i]) mark[0] = perm[i];"),
    ),
    "index-rewritten": (
        placed("int j = go[i]; y[j] += c[i]; go[i] = (j + 1) % 6;", go=OWN) | SHARED,
        placed("int j = go[i]; go[j] = (i + 1) % 6;", go=OWN),
    ),
    "counter-data": (case("mark[idx[i]] += i * i;"), case("mark[idx[i]] = i * i;")),
    "alias-same": (aliased(0, "y[i] = 0.5 * x[i];"), aliased(0, "y[i] = 0.5 * x[idx[i]];")),
    "alias-overlap": (aliased(5, "if (i < 5) y[i] = 0.5 * x[i];"), aliased(5, "y[i] = 0.5 * x[0] + c[i];")),
    "alias-disjoint": (aliased(6, "y[i] = 0.5 * x[idx[i]];"), aliased(6, "y[idx[i]] = x[i];")),
    "alias-ternary": (
        case("double *to = i % 2 == 0 ? y : z; to[perm[i]] = c[i];"),
        case("double *to = i % 2 == 0 ? y : z; to[0] = c[i];"),
    ),
    "alias-bytes": (
        case("unsigned char *b = (unsigned char *)u; u[perm[i]] += k[i]; b[4 * perm[i]] ^= 1;"),
        case("unsigned char *b = (unsigned char *)u; u[idx[i]] += k[i]; b[4 * perm[i]] ^= 7;"),
    ),
    "pointer-walk": (
        case("int j = *p++; y[j] += *q++;", loop=WALK, **SHARED),
        case("int j = *p++; y[j] = *q++;", loop=WALK),
    ),
    "pointer-loop": (
        case("y[*p++] += *q++;", loop=TO_POINTER, **SHARED),
        case("y[*p++] = *q++;", loop=TO_POINTER),
    ),
    "csr": (
        case(f"double t = 0; {ROW_LOOP} t += c[e % 6] * x[col[e] % 6]; y[i] = t;"),
        case(f"double t = c[i]; {ROW_LOOP} t -= 0.3 * y[col[e] % 6]; y[i] = t;"),
    ),
    "fixed-inner": (
        case("for (int b = 0; b < 2; b++) u[(idx[i] + b) % 6] += k[i];"),
        case("for (int b = 0; b < 2; b++) u[(idx[i] + b) % 6] = k[i];"),
    ),
    "triangle": (
        case("double t = 0; for (int b = 0; b <= i; b++) t += x[b]; z[i] = t;"),
        case("double t = c[i]; for (int b = 0; b < i; b++) t += z[b]; z[i] = t;"),
    ),
    "short-list": (
        case(f"double t = 0; {LIST} t += x[some[(i + b) % 6]]; z[i] = t;"),
        case(f"double t = c[i]; {LIST} t += z[some[(i + b) % 6]]; z[i] = t;"),
    ),
    "search": (case(FIND + " z[i] = x[b];"), case(FIND + " z[i] = 0.5 * z[b] + c[i];")),
    "search-moves": (
        case("int b = 0; while (b < 5 && row[b] < idx[i]) b++; mark[i] = b;"),
        case("int b = 0; while (b < 5 && mark[b]) b++; mark[b] = i + 1;"),
    ),
    "descent": (case(DOWN + " z[i] = x[b];"), case(DOWN + " w[b] = c[i];")),
    "elimination": (
        case("for (int b = i % 2; b < 2; b++) w[2 * i + b] -= c[i] * x[b];"),
        case("for (int b = i % 2; b < 2; b++) w[2 * i + b] -= c[i] * w[4 + b];"),
    ),
    "local-array": (case(FILLED + " z[i] = t[0] - t[1];"), case(FILLED + " y[idx[i]] = t[0] - t[1] + i;")),
    "scratch": (
        case(f"{PAIR} t[b] = x[(i + b) % 6]; z[i] = t[0] - t[1];", before=("double t[2] = {0};",)),
        case(f"{PAIR} if (c[i] > 0) t[b] = x[(i + b) % 6]; z[i] = t[0];", before=("double t[2] = {0};",)),
    ),
    "while": both(head=("while (i < 6) {",), tail=("i++;", "}"), before=("int i = 0;",)),
    "do-while": both(head=("do {",), tail=("} while (++i < 6);",), before=("int i = 0;",)),
    "down": both(head=("for (int i = 5; i >= 0; i--) {",), cursors=(Cursor("int", "i", "5", "-1"),)),
    "start-step": both(head=("for (int i = 1; i < 6; i += 2) {",), cursors=(Cursor("int", "i", "1", "2"),), jobs=3),
    "inclusive": both(head=("for (int i = 0; i <= 5; i++) {",)),
    "unequal": both(head=("for (int i = 0; i != 6; i++) {",)),
    "unsigned-counter": both(head=("for (unsigned i = 6; i-- > 0;) {",), cursors=(Cursor("unsigned", "i", "5", "-1"),)),
    "long-counter": both(head=("for (long i = 0; i < 6; i++) {",), cursors=(Cursor("long", "i", "0"),)),
    "narrow-counter": both(
        head=("for (unsigned char i = 0; i < 6; i++) {",), cursors=(Cursor("unsigned char", "i", "0"),)
    ),
    "data-ended": (
        case("", loop=TO_MARK),
        case("z[i] = x[i];", loop=TO_MARK),
    ),
    "math": (case("z[i] = sin(x[idx[i]]);"), case("z[i] = cos(z[idx[i]] + c[i]);")),
    "helper": (
        case("add(&y[idx[i]], c[i]);", helpers=(ADD,), **SHARED),
        case("put(&y[idx[i]], c[i]);", helpers=(PUT,)),
    ),
    # What happens around the loop has no influence on one run of it, but for what is done before the first.
    "called-once": (case(SUM, sweeps=1, **SHARED), case(DAMPED, sweeps=1)),
    "companion": (
        case(SUM, between=("for (int b = 0; b < 6; b++) y[b] = 0;",), **SHARED),
        case(DAMPED, between=("for (int b = 0; b < 6; b++) y[b] = 0;",)),
    ),
    "ordered-companion": (
        case(SUM, between=("for (int v = 1; v < 6; v++) y[v] = 0.5 * y[v] + y[v - 1];",), **SHARED),
        case(DAMPED, between=("for (int v = 1; v < 6; v++) y[v] = 0.5 * y[v] + y[v - 1];",)),
    ),
    "unrolled": (
        case(SUM, between=("for (int v = 0; v < 6; v += 2) {", "x[v] *= 0.5;", "x[v + 1] *= 0.5;", "}"), **SHARED),
        case(DAMPED, between=("for (int v = 0; v < 6; v += 2) {", "y[v] *= 0.5;", "y[v + 1] *= 0.5;", "}")),
    ),
    "memset": (
        case("y[idx[i]] *= 3;  y[perm[i]] += y[0];", ahead=("memset(y, 0, 6 * sizeof *y);",)),
        case("y[idx[i]] *= 3;  y[perm[i]] += y[0];"),
    ),
    "memcpy": (
        case(SUM, between=("memcpy(z, y, sizeof *y);",), **SHARED),
        case(DAMPED, ahead=("memcpy(y, c, 3 * sizeof *y);",)),
    ),
    "swap-buffers": (
        case("z[i] = x[idx[i]];", between=("double *t = z;", "z = y;", "y = t;")),
        case("z[i] = 0.5 * z[idx[i]] + c[i];", between=("double *t = z;", "z = y;", "y = t;")),
    ),
    "index-changes": (
        placed("y[go[i]] += c[i];", go=OWN) | {"between": ("go[0] = 5 - go[0];",)} | SHARED,
        placed("y[go[i]] = c[i];", go=OWN) | {"between": ("go[0] = 5 - go[0];",)},
    ),
    "count-changes": (case(SUM, between=("row[0]++;",), **SHARED), case(DAMPED, between=("row[0]++;",))),
    "masked-index": (case("z[i] = x[idx[i] & m];", **GIVEN), case("y[perm[i] & m] = c[i];", **GIVEN)),
    "shifted-index": (case("z[i] = x[idx[i] >> m];", **GIVEN), case("y[perm[i] >> m] = c[i];", **GIVEN)),
    "bits-bound": (
        case(f"{BITS} z[i] = 0.5 * z[i] + x[idx[i]];", **GIVEN),
        case(f"{BITS} y[0] = 0.5 * y[0] + c[i];", **GIVEN),
    ),
    "index-stop": (
        case(BESIDE + " z[i] += x[perm[(i + b) % 6]]; }", **GIVEN),
        case(BESIDE + " y[idx[i]] = c[i]; }", **GIVEN),
    ),
}


def kernel(number: int, feature: str, body: str = "", **parts: Any) -> Kernel:
    """A kernel around a body in one line."""
    given: dict[str, Any] = {"float_reduction": False, "arrays": ARRAYS, "scalars": (), "loop": UP} | parts
    return Kernel(number=number, features=(feature,), body=(body,), **given)
