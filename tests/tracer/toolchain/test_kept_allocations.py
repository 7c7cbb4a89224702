"""Memory that steps allocate and free, of a size that may change, is kept; pointers to it lie in memory."""

from __future__ import annotations

import ctypes

import pytest

from .built_twice import BuiltTwice, Run

HEAD = """#include <malloc.h>
#include <stdlib.h>
#include <string.h>
int *sizes;
double *seen;
static void fill(double *p, int n, double v) { for (int i = 0; i < n; i++) p[i] = v + i; }
static double sum(double *p, int n) { double s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
static int less(const void *a, const void *b) { return *(double *)a < *(double *)b; }
static void steps(int count, double *out);
void run(int count, int *given, double *out) {
    sizes = given;
    mallopt(M_MMAP_THRESHOLD, 1 << 30); // what has pages of its own is counted by pages
    struct mallinfo2 before = mallinfo2(), behind;
    steps(count, out);
    behind = mallinfo2();
    out[count] = behind.uordblks + behind.hblkhd - before.uordblks - before.hblkhd;
}
"""
STEP = """
static void steps(int count, double *out) {{
    double *other = NULL;
    for (int t = 0; t < count; t++) {{
        int n = sizes[t];
        {allocate}
        if (p == NULL) {{ out[t] = -1; continue; }}
        {use}
        fill(p, n, t);
        out[t] = sum(p, n);
        sizes[t] = 0;
        {free}
    }}
    {behind}
}}
"""
PLAIN = {"allocate": "double *p = malloc(n * sizeof *p);", "use": "", "free": "free(p);", "behind": ""}


def step(**words: str) -> str:
    return HEAD + STEP.format(**{**PLAIN, **words})


KEPT = {
    "seen from elsewhere": step(use="seen = p;"),
    "a member": step(use="seen = p;", free="if (seen != NULL) { free(seen); seen = NULL; }"),
    "a member that is filled": step(
        use="seen = p; fill(seen, n, 2);", free="if (seen[0] < 0) sizes[t] = 5; free(seen);"
    ),
    "malloc": step(),
    "calloc": step(allocate="double *p = calloc(n, sizeof *p);", use="out[t] = sum(p, n); sizes[t] = out[t] != 0;"),
    "released": step(free="if (p != NULL) { free(p); p = NULL; }"),
    "ended": step(use="if (n == 3000) { free(p); return; }"),
    "the caller's": step(use="if (n == 3000) { other = p; break; }", behind="if (other) free(other);"),
    "ended by the loop": step(
        use="if (n == 3000) { out[t] = 7; other = p; break; }", behind="if (count > 4) free(other);"
    ),
    "asked in front": step(allocate="if (n == 3000) break; double *p = malloc(n * sizeof *p);"),
    "the first thing": step(allocate="double *p = malloc(n * sizeof *p); if (!p || n == 3000) { free(p); return; }"),
    "lost": step(use="if (n == 3000) break;"),  # what the program loses it still loses
    "aborted": step(use="if (n < 0) abort();"),
    "two": step(
        allocate="double *p = malloc(n * sizeof *p), *q = malloc(2 * n * sizeof *q);",
        use="fill(q, 2 * n, 1); sizes[t] = sum(q, 2 * n);",
        free="out[t] += sum(q, n); free(p); free(q);",
    ),
    "two loops": HEAD
    + """
static void steps(int count, double *out) {
    for (int t = 0; t < count; t++) {
        out[t] = 0;
        for (int k = 0; k <= t; k++) {
            double *p = malloc(sizes[k] * sizeof *p);
            fill(p, sizes[k], k);
            out[t] += sum(p, sizes[k]);
            free(p);
        }
        sizes[t / 2]++;
    }
}
""",
}
LEFT = {
    "recursive": HEAD
    + """
static void deep(int count, double *out, int depth);
static void steps(int count, double *out) { deep(count, out, 0); }
__attribute__((noinline)) static void deep(int count, double *out, int depth) {
    for (int t = 0; t < count; t++) {
        double *p = malloc(sizes[t] * sizeof *p);
        fill(p, sizes[t], t);
        if (depth < 2)
            deep(count - 1, out, depth + 1);
        out[t] = sum(p, sizes[t]);
        free(p);
    }
}
""",
    "another member": step(use="seen = p; if (n == 3000) seen = out;", free="if (seen != out) free(seen);"),
    "a member that another allocation is put in": step(
        use="seen = p; if (n == 3000) posix_memalign((void **)&seen, 64, 8);", free="free(seen);"
    ),
    "a member that may change": step(use="seen = p; qsort(&seen, 1, 8, less);", free="free(seen);"),
    "kept by the program": step(free="if (other) free(other); other = p;", behind="free(other);"),
    "grown": step(use="p = realloc(p, (n + 1) * sizeof *p);"),
    "sometimes lost": step(free="if (n != 3000) free(p);"),
    "handed on": step(use="qsort(p, 1, 8, less);"),
    "a number": step(use="sizes[0] = (size_t)p >> 9;"),
    "jumped out of": "#include <setjmp.h>\nstatic jmp_buf place;\n"
    + HEAD
    + """
__attribute__((noinline)) static void inside(int count, double *out) {
    for (int t = 0; t < count; t++) {
        double *p = malloc(sizes[t] * sizeof *p);
        fill(p, sizes[t], t);
        out[t] = sum(p, sizes[t]);
        free(p);
        if (sizes[t] == 3000) longjmp(place, 1);
    }
}
static void steps(int count, double *out) { if (setjmp(place) == 0) inside(count, out); }
""",
    "jumped back to": "#include <setjmp.h>\nstatic jmp_buf place;\n"
    + step(use="if (setjmp(place) == 0 && n == 3000) longjmp(place, 1);"),
    "without loops": HEAD
    + """
static void steps(int count, double *out) {
    for (int t = 0; t < count; t++) {
        double *p = malloc(sizes[t] * sizeof *p + 8);
        *p = t;
        out[t] = ++*(volatile double *)p;
        free(p);
    }
}
""",
}
# Larger than what the allocator counts as in use when it has been freed; 3000: where programs do something else.
SIZES = [[500], [0, 0], [4000, 4000, 4000], [1000, 900, 2000, 3000, 900, 20000, 0, 500], [2000, 300, 70000, 700, 2]]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> BuiltTwice:
    return BuiltTwice({**KEPT, **LEFT}, "tracecut.kept", tmp_path_factory)


def left(run: Run, sizes: list[int]) -> tuple[list[int], list[float]]:
    """What it leaves in the sizes, and elsewhere."""
    numbers, out = (ctypes.c_int * len(sizes))(*sizes), (ctypes.c_double * (len(sizes) + 1))()
    run(len(sizes), numbers, out)
    return [*numbers], [*out]


def same(one: tuple[list[int], list[float]], other: tuple[list[int], list[float]]) -> None:
    """Whether the results are the same, and the memory that is in use, up to what the allocator rounds."""
    assert one[0] == other[0] and one[1][:-1] == other[1][:-1]
    assert abs(one[1][-1] - other[1][-1]) < 400


@pytest.mark.parametrize("name", KEPT)
def test_it_is_kept_and_given_back(programs: BuiltTwice, name: str) -> None:
    found, runs = programs.found(name)
    assert found
    for sizes in SIZES:
        same(*(left(run, sizes) for run in runs))


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_kept(programs: BuiltTwice, name: str) -> None:
    assert not programs.found(name)[0]


VECTORS = """#include <cstdlib>
#include <stdexcept>
#include <vector>
static void steps(int *sizes, int count, double *out) {
    for (int t = 0; t < count; t++) {
        std::vector<double> p(sizes[t]);
        for (double v : p) out[t] += v;
        std::vector<double> q(sizes[t] / 2 + 1);
        for (size_t i = 0; i < p.size(); i++) q[i / 2] = p[i] += i * t;
        if (p.size() == 3000) throw std::runtime_error("3000");
        for (double v : q) out[t] += v;
        sizes[t] = 0;
    }
}
extern "C" void run(int count, int *sizes, double *out) {
    try { steps(sizes, count, out); } catch (std::exception &) { out[count] = 7; }
}
"""


def test_vectors(tmp_path_factory: pytest.TempPathFactory) -> None:
    found, runs = BuiltTwice({"vectors": VECTORS}, "tracecut.kept", tmp_path_factory, "cpp").found("vectors")
    assert found
    for sizes in SIZES:
        same(*(left(run, sizes) for run in runs))


HELD = {
    "in the first": step(allocate="if (t == 0) other = malloc(90000 * sizeof *other); double *p = other;", free=""),
    "where there is none": step(
        allocate="if (!other) other = malloc(90000 * sizeof *other); double *p = other;", free=""
    ),
    "more": step(
        allocate="if (t % 3 == 0) other = malloc(90000 * sizeof *other); double *p = other;",
        use="if (n == 3000) { out[t] = 1; return; }",
        free="",
    ),
}


@pytest.mark.parametrize("name", HELD)
def test_pointers_that_iterations_hand_on(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    found, runs = BuiltTwice(HELD, "tracecut.pointer", tmp_path_factory).found(name)
    assert found
    for sizes in SIZES:
        same(*(left(run, sizes) for run in runs))


MOVED = {
    "freed": step(
        allocate="""if (t % 2 == 0) { free(other); other = NULL; }
        double *p = other ? other : malloc(90000 * sizeof *p);
        other = p;""",
        free="",
    ),
    "lost": step(
        allocate="""double *q = malloc(8), *p = n == 900 ? q : other ? other : (other = malloc(720000));
        if (p == q) { out[t] = 3; continue; }""",
        free="",
    ),
}


@pytest.mark.parametrize("name", MOVED)
def test_other_pointers(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    _, runs = BuiltTwice(MOVED, "tracecut.pointer", tmp_path_factory).found(name)
    for sizes in SIZES:
        same(*(left(run, sizes) for run in runs))
