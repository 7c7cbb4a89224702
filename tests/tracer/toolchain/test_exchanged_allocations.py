"""What an iteration allocates and a later one frees is exchanged: the same results, and nothing more is left in use."""

from __future__ import annotations

import ctypes

import pytest

from .built_twice import BuiltTwice, Run

HEAD = """#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#ifdef __cplusplus
#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>
#define C extern "C"
#else
#define C
#endif
int *sizes;
static void fill(double *p, int n, double v) { for (int i = 0; i < n; i++) p[i] = v + i; }
static double sum(const double *p, int n) { double s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
static void steps(int count, double *out);
C void run(int count, int *given, double *out) {
    sizes = given;
    mallopt(M_MMAP_THRESHOLD, 1 << 30); // what has pages of its own is counted by pages
    struct mallinfo2 before = mallinfo2(), behind;
    steps(count, out);
    behind = mallinfo2();
    out[count] = (double)(behind.uordblks + behind.hblkhd) - (double)(before.uordblks + before.hblkhd);
}
"""
STEP = """
static void steps(int count, double *out) {{
    int had = 300;
    double *x = {begin};
    if (x) fill(x, had, 7);
    for (int t = 0; t < count; t++) {{
        int n = sizes[t];
        {allocate}
        for (int i = 0; i < n; i++) y[i] = x && i < had ? x[i] / 2 + t : t;
        {use}
        out[t] = sum(y, n);
        {free}
        had = n;
        {last}
    }}
    {behind}
}}
"""
PLAIN = {
    "begin": "(double *)malloc(had * sizeof *x)",
    "allocate": "double *y = (double *)malloc(n * sizeof *y);",
    "use": "",
    "free": "free(x); x = y;",
    "last": "",
    "behind": "free(x);",
}


def step(**words: str) -> str:
    return HEAD + STEP.format(**{**PLAIN, **words})


MEMBER = """
        double *y = (double *)malloc(sizes[t] * sizeof *y);
        for (int i = 0; i < sizes[t]; i++) y[i] = i < m->n ? m->values[i] / 2 + t : t;
        free(m->values);
        m->values = y;
        m->n = sizes[t];
        out[t] = sum(m->values, m->n);
"""
EXCHANGED = {
    "plain": step(),
    "from nothing": step(begin="NULL"),
    "zeroed": step(
        allocate="double *y = (double *)calloc(n, sizeof *y); for (int i = 0; i < n; i += 9) out[t] += y[i];"
    ),
    "zeroed, of a size that is none": step(
        allocate="double *y = (double *)calloc(n == 3000 ? (size_t)-1 / 4 : n, sizeof *y); if (!y) n = 0;"
    ),
    "more than there is": step(
        allocate="double *y = (double *)malloc(n == 3000 ? (size_t)1 << 62 : n * sizeof *y); if (!y) n = 0;"
    ),
    "ended between": step(use="if (n == 3000) return;"),
    "ended behind": step(last="if (n == 3000) break;"),
    "ended before": step(allocate="if (n == 3000) break; double *y = (double *)malloc(n * sizeof *y);"),
    "the program ends": step(use="if (!y) exit(1);"),
    "freed where there is something": step(begin="NULL", free="if (x) free(x); x = y;"),
    "sometimes lost": step(free="if (n != 3000) free(x); x = y;"),
    "freed first": step(
        allocate="""double old = x && had ? x[had - 1] : 0; free(x); double *y = (double *)malloc(n * sizeof *y);
        x = NULL; if (n) y[0] = old; out[t] = n ? y[0] : 1;""",
        free="x = y;",
    ),
    "three": step(
        begin="(double *)malloc(had * sizeof *x), *w = (double *)calloc(had, sizeof *w)",
        free="free(w); w = x; x = y; if (n && had) out[t] += w[0];",
        behind="free(w); free(x);",
    ),
    "two": step(
        begin="(double *)malloc(had * sizeof *x), *w = (double *)malloc(had * sizeof *w)",
        use="double *z = (double *)malloc(2 * n * sizeof *z); fill(z, 2 * n, t); out[t] = sum(z, 2 * n);",
        free="out[t] += sum(z, n); free(w); w = z; free(x); x = y;",
        behind="free(w); free(x);",
    ),
    "beside what is hoisted and what is kept": step(
        allocate="""double *y = (double *)calloc(n, sizeof *y), *z = (double *)calloc(n, sizeof *z);
        double *w = (double *)calloc(300, sizeof *w); fill(w, 300, t); fill(z, n, sum(w, 300));""",
        free="out[t] += sum(z, n); free(w); free(z); free(x); x = y;",
    ),
    "freed in front, where the loop does nothing": HEAD
    + """
static void steps(int count, double *out) {
    int had = 3000000, t = 0;
    // Of a size that nobody knows in front of the loop; what is freed of this goes back to the system.
    double *x = sizes[0] < 700 ? malloc(had * sizeof *x) : calloc(had, sizeof *x);
    fill(x, had, 0);
    out[0] = sum(x, had);
    if (sizes[0] == 0) free(x);
    do {
        if (sizes[t] == 0) { if (t) free(x); return; }
        double *y = (double *)malloc(sizes[t] * sizeof *y);
        for (int i = 0; i < sizes[t]; i++) y[i] = i < had ? x[i] / 2 + t : t;
        free(x);
        x = y;
        out[t] = sum(x, had = sizes[t]);
    } while (++t < count);
    free(x);
}
""",
    "around": HEAD
    + """
static void steps(int count, double *out) {
    for (int t = 0; t < count; t++) {
        double *x = (double *)malloc(8);
        *x = t;
        out[t] = 0;
        for (int k = 0; k <= t; k++) {
            double *y = (double *)malloc(sizes[k] * sizeof *y + 8);
            fill(y, sizes[k] + 1, *x);
            out[t] += sum(y, sizes[k] + 1);
            free(x);
            x = y;
        }
        free(x);
        sizes[t / 2]++;
    }
}
""",
    "a variable of the program": step(
        begin="NULL",
        allocate="static double *kept; double *y = (double *)malloc(n * sizeof *y);",
        use="out[t] = kept ? *kept : 2;",
        free="free(kept); kept = y;",
        behind="",
    ),
    "a member": HEAD
    + """
struct mesh { int n; double *values; };
__attribute__((noinline)) static void go(struct mesh *m, int count, double *out) {
    for (int t = 0; t < count; t++) {
"""
    + MEMBER
    + """        if (m->n == 3000) return;
    }
}
static void steps(int count, double *out) {
    struct mesh m = {0, NULL};
    go(&m, count, out);
    free(m.values);
}
""",
}
LEFT = {
    "grown": step(
        allocate="double *y = x; if (n > had) y = (double *)malloc(n * sizeof *y);", free="if (y != x) free(x); x = y;"
    ),
    "not always": step(
        allocate="double *y = (double *)malloc(n * sizeof *y); if (!y || n == 3000) { free(y); continue; }"
    ),
    "jumped out of": "#include <setjmp.h>\nstatic jmp_buf place;\n"
    + step(use="if (setjmp(place) == 0 && n == 3000) longjmp(place, 1);"),
    "a member that may not be there": HEAD
    + """
struct mesh { int n; double *values; };
__attribute__((noinline)) static void go(struct mesh *m, int count, double *out) {
    int t = 0;
    do {
        if (sizes[t] == 500) break;
"""
    + MEMBER
    + """    } while (++t < count);
}
static void steps(int count, double *out) {
    struct mesh m = {0, NULL};
    go(sizes[0] == 500 ? NULL : &m, count, out);
    free(m.values);
}
""",
    "without loops": HEAD
    + """
static void steps(int count, double *out) {
    double *x = (double *)malloc(8);
    for (int t = 0; t < count; t++) {
        double *y = (double *)malloc(sizes[t] + 8);
        *y = t;
        out[t] = ++*(volatile double *)y;
        free(x);
        x = y;
    }
    free(x);
}
""",
}
LOSE = ("more than there is", "ended between", "sometimes lost", "a variable of the program", "a member")
SIZES = [
    [500],
    [0, 0, 0],
    [4000, 4000, 4000, 4000],
    [1000, 900, 2000, 3000, 900, 20000, 0, 500],
    [2000, 300, 70000, 700, 2, 2, 2],
    [10, 11, 12, 13, 14, 15, 3000, 16, 17],
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> BuiltTwice:
    return BuiltTwice({**EXCHANGED, **LEFT}, "@malloc_usable_size", tmp_path_factory)


def left(run: Run, sizes: list[int]) -> tuple[list[int], list[float]]:
    """What it leaves in the sizes, and elsewhere."""
    numbers, out = (ctypes.c_int * len(sizes))(*sizes), (ctypes.c_double * (len(sizes) + 1))()
    run(len(sizes), numbers, out)
    return [*numbers], [*out]


def expect_the_same(runs: tuple[Run, Run], *, loses: bool = False) -> None:
    """The same results; of memory in use no more than the allocator rounds. What `loses` some may lose other blocks."""
    left(runs[0], [3000, 3000])  # what the first exception of a process leaves for the next one
    for sizes in SIZES:
        one, other = (left(run, sizes) for run in runs)
        assert one[0] == other[0] and one[1][:-1] == other[1][:-1], sizes
        spare = 8 * max(map(max, SIZES)) + 400 if loses else 400
        assert abs(one[1][-1] - other[1][-1]) <= spare, sizes


@pytest.mark.parametrize("name", EXCHANGED)
def test_it_is_exchanged_and_given_back(programs: BuiltTwice, name: str) -> None:
    found, runs = programs.found(name)
    assert found
    expect_the_same(runs, loses=name in LOSE)


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_exchanged(programs: BuiltTwice, name: str) -> None:
    found, runs = programs.found(name)
    assert not found
    expect_the_same(runs)


AS_LARGE = {  # whether the library is asked how large the first block has to be
    "as large as what is freed": (step(), False),
    "as large as one of two": (
        step(begin="sizes[0] > 600 ? (double *)calloc(had, sizeof *x) : (double *)malloc(had * sizeof *x)"),
        True,
    ),
}


@pytest.mark.parametrize("name", AS_LARGE)
def test_the_first_block_is_as_large_as_what_is_freed(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    source, asks = AS_LARGE[name]
    built = BuiltTwice({name: source}, "tracecut.guess.0.size = call i64 @malloc_usable_size", tmp_path_factory)
    found, runs = built.found(name)
    assert found == asks
    expect_the_same(runs)


VECTORS = """
typedef std::vector<double> Values;
static Values stepped(const Values &x, int n, int t) {{
    Values y(n);
    for (size_t i = 0; i < y.size(); i++) y[i] = i < x.size() ? x[i] / 2 + t : t;
    return y;
}}
{before}
static void go(int count, double *out) {{
    {begin}
    for (int t = 0; t < count; t++) {{
        int n = sizes[t];
        {each}
    }}
}}
static void steps(int count, double *out) {{
    try {{ go(count, out); }} catch (std::exception &) {{ out[0] = -5; }}
}}
"""


def vectors(each: str, begin: str = "Values x(300, 7);", before: str = "") -> str:
    return HEAD + VECTORS.format(each=each, begin=begin, before=before)


TOLD = "out[t] = std::accumulate(x.begin(), x.end(), 0.0);"
CXX = {
    "returned": vectors(f"x = stepped(x, n, t); {TOLD}"),
    "as long": vectors(f"if (t) n = x.size(); x = stepped(x, n, t); {TOLD}"),
    "swapped": vectors(f"Values y = stepped(x, n, t); y.swap(x); {TOLD}"),
    "moved": vectors(f"Values y(n, t); for (int i = 0; i < n; i++) y[i] += i; x = std::move(y); {TOLD}"),
    "thrown": vectors(f'x = stepped(x, n, t); {TOLD} if (n == 3000) throw std::runtime_error("3000");'),
    "thrown between": vectors(
        f'Values y = stepped(x, n, t); if (n == 3000) throw std::runtime_error("3000"); x = std::move(y); {TOLD}'
    ),
    "thrown again and again": vectors(
        """for (int r = 0; r < 30; r++) {
            try { how(x, n, t); } catch (std::exception &) { out[t] += 1; }
        }
        out[t] += sum(x.data(), x.size());""",
        "Values x(300, 7);",
        """static void part(Values &x, int n, int t) {
            for (int k = 0; k < 3; k++) {
                if (n == 3000 && k == 1) throw std::runtime_error("3000");
                Values y = stepped(x, n, t);
                x.swap(y);
            }
        }
        static void (*volatile how)(Values &, int, int) = part;""",
    ),
    "no memory": vectors(
        """try { how(x, n, t); } catch (std::bad_alloc &) { out[t] += 1; }
        out[t] += sum(x.data(), x.size());""",
        "Values x(300, 7);",
        """static void part(Values &x, int n, int t) {
            for (int k = 0; k < 3; k++) {
                Values y(n == 3000 && k == 1 ? (size_t)1 << 50 : n);
                for (int i = 0; i < n; i++) y[i] = i < (int)x.size() ? x[i] / 2 + t : t;
                x.swap(y);
            }
        }
        static void (*volatile how)(Values &, int, int) = part;""",
    ),
    "handed in": vectors(
        "",
        "Values x(9, 2); solve(x, count, out); out[0] += x.size();",
        """__attribute__((noinline)) static void solve(Values &x, int count, double *out) {
            for (int t = 0; t < count; t++) {
                Values y(sizes[t]);
                for (int i = 0; i < sizes[t]; i++) y[i] = i < (int)x.size() ? x[i] + t : i;
                std::swap(x, y);
                out[t] = sum(x.data(), x.size());
            }
        }""",
    ),
    "two members": vectors(
        "s = step(s, n, t); out[t] = sum(s.h.data(), s.h.size()) - sum(s.u.data(), s.u.size());",
        "State s;",
        """struct State { Values h, u; };
        static State step(const State &s, int n, int t) {
            State r;
            r.h.resize(n);
            r.u.resize(n / 2);
            for (int i = 0; i < n; i++) r.h[i] = i < (int)s.h.size() ? s.h[i] + t : i;
            for (int i = 0; i < n / 2; i++) r.u[i] = i < (int)s.u.size() ? s.u[i] + r.h[i] : 1;
            return r;
        }""",
    ),
    "pointers": vectors(
        """auto y = std::make_unique<double[]>(n);
        for (int i = 0; i < n; i++) y[i] += i < had ? x[i] + t : t;
        x = std::move(y); had = n; out[t] = sum(x.get(), n);""",
        "int had = 30; auto x = std::make_unique<double[]>(had);",
    ),
}


@pytest.fixture(scope="module")
def cxx(tmp_path_factory: pytest.TempPathFactory) -> BuiltTwice:
    return BuiltTwice(CXX, "@malloc_usable_size", tmp_path_factory, "cpp")


@pytest.mark.parametrize("name", CXX)
def test_vectors(cxx: BuiltTwice, name: str) -> None:
    found, runs = cxx.found(name)
    assert found
    expect_the_same(runs)
