"""Examples, as in `examples.py`, of the features that `generate.SHAPES` and `sweeps.STEPS` have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .examples import DAMPED, SHARED, SUM, UP, case, placed

STARS = {"type": "int", "length": 6, "written": True, "record": "star"}
FIRST = {"first": STARS | {"fill": (4, 0, 9, 2, 3, 1)}}  # the third piece is empty, the first one ends at the end
APART = FIRST | {"degree": STARS | {"fill": (2, 1, 0, 1, 1, 1)}}
OVER = FIRST | {"degree": STARS | {"fill": (2, 2, 0, 1, 1, 1)}}
STAR = "for (int b = 0; b < star[i].degree; b++)"
LOADED = replace(UP, head=("for (int i = 0; i <= perm[2]; i++) {",))
PAIRS = "((double complex *)w)"
SPANS = {"span": {"type": "int", "length": 12, "fill": (5, 1, 3, 2, 9, 0, 2, 1, 1, 1, 0, 1)}}
SPAN = "for (int b = span[2 * i]; b < span[2 * i] + span[2 * i + 1]; b++)"

ROWS = {"row": {"type": "int", "length": 7, "fill": (0, 1, 1, 2, 3, 4, 5)}}  # the second one is empty
ROW = "for (int b = row[i]; b < row[i + 1]; b++)"
LOADS = {"load": {"type": "int", "length": 6, "fill": (9, 7, 13, 33, 50, 1)}}  # the first and the fourth: no round
ROUNDS = "for (int left = load[i]; left % 3; left = (left * 5 + 3) & 63)"
HALF = "0.5 * y[{0}] + c[i];"

GROWN = ("list = realloc(list, (sweep + 1u) * sizeof *list);", "if (list == NULL) exit(1);", "list[sweep] = y[0];")

MOVED = ("double *kept = z;", "z = malloc(6 * sizeof *z);", "if (z == NULL) exit(1);", "memcpy(z, kept, 48);")
ANEW = (
    "double *next = malloc(6 * sizeof *next);",
    "if (next == NULL) exit(1);",
    "for (int v = 0; v < 6; v++) next[v] = 0.5 * z[v];",
    "free(z);",
    "z = next;",
)
BACK = ("memcpy(kept, z, 48);", "free(z);", "z = kept;")


def around(
    between: tuple[str, ...], opening: tuple[str, ...] = (), closing: tuple[str, ...] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Examples whose point is what happens around the loop."""
    more: dict[str, Any] = {"opening": opening, "between": between, "closing": closing}
    return case(SUM, **SHARED, **more), case(DAMPED, **more)


SHAPE_EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "piece-records": (
        placed(f"double t = 0; {STAR} t += x[perm[star[i].first + b]]; z[i] = t;", **APART),
        placed(f"{STAR} y[star[i].first + b] = c[i];", **OVER),
    ),
    "piece-pairs": (
        placed(f"{SPAN} y[b] = 0.5 * y[b] + c[i];", **SPANS),
        placed(f"{SPAN} y[idx[b]] = 0.5 * y[idx[b]] + c[i];", **SPANS),
    ),
    "piece-rewritten": (
        placed(f"{STAR} z[i] += x[star[i].first + b]; star[i].degree /= 2;", **APART),
        placed(f"{STAR} z[i] += x[star[i].first + b]; star[(i + 1) % 6].degree /= 2;", **APART),
    ),
    "row-written": (
        placed(f"{ROW} y[b] = {HALF.format('b')}", **ROWS),
        placed(f"{ROW} y[idx[b]] = {HALF.format('idx[b]')}", **ROWS),
    ),
    "row-picked": (
        placed(f"for (int b = row[perm[i]]; b < row[perm[i] + 1]; b++) y[b] = {HALF.format('b')}", **ROWS),
        placed(f"for (int b = row[idx[i]]; b < row[idx[i] + 1]; b++) y[b] = {HALF.format('b')}", **ROWS),
    ),
    "row-length": (
        placed("y[perm[i]] += x[idx[i]] * (row[idx[i] + 1] - row[idx[i]]);", **ROWS),
        placed("y[idx[i]] = x[perm[i]] * (row[perm[i] + 1] - row[perm[i]]) + i;", **ROWS),
    ),
    "row-ends": (
        placed(f"if (row[i] < row[i + 1]) y[row[i + 1] - 1] = {HALF.format('row[i + 1] - 1')}", **ROWS),
        placed(f"y[row[i + 1]] = {HALF.format('row[i + 1]')}", **ROWS),
    ),
    "row-sought": (
        placed(f"{ROW} if (perm[b] >= 1) {{ y[b] = {HALF.format('b')} break; }}", **ROWS),
        placed(f"{ROW} if (perm[b] >= 1) {{ y[idx[b]] = {HALF.format('idx[b]')} break; }}", **ROWS),
    ),
    "rounds": (
        placed(f"{ROUNDS} {{ u[perm[i]] = u[perm[i]] * 3 + left; v[idx[i]]++; }}", **LOADS),
        placed(f"{ROUNDS} u[0] = left; v[perm[i]] = u[0];", **LOADS),
    ),
    "rounds-move": (
        placed(f"int at = i; {ROUNDS} {{ v[at] += 5u; at = idx[at]; }}", **LOADS),
        placed(f"int at = i; {ROUNDS} {{ v[at] = 5 + i; at = perm[at]; }}", **LOADS),
    ),
    "bound-loaded": (
        case("mark[idx[i]]++;", loop=LOADED),
        case("mark[idx[i]] = i;", loop=LOADED),
    ),
    "complex": (
        case(f"{PAIRS}[perm[i]] = (0.5 + 0.25 * I) * {PAIRS}[perm[i]] + c[i];"),
        case(f"{PAIRS}[idx[i]] = (0.5 + 0.25 * I) * {PAIRS}[idx[i]] + c[i];"),
    ),
    # What happens around the loop has no influence on one run of it.
    "grown-list": around(GROWN, ("double *list = NULL;",), ("free(list);",)),
    "made-anew": (
        case("z[perm[i]] = 0.5 * z[perm[i]] + c[i];", opening=MOVED, between=ANEW, closing=BACK),
        case("z[idx[i]] = 0.5 * z[idx[i]] + c[i];", opening=MOVED, between=ANEW, closing=BACK),
    ),
    "swap-summed": around(("for (double *p = z; p != end; p++) result[0] += *p;",), ("double *end = z + 6;",)),
    "message": around(('fprintf(stderr, "%g\\n", y[0]);',)),
    "rand": around(("x[sweep] = rand() % 8;",)),
    "getenv": around(('if (getenv("FUZZ") != NULL) y[0] = 0;',)),
}
