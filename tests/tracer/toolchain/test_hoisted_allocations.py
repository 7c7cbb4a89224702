"""Memory that iterations allocate and free is allocated once, and nothing of it is lost, on whichever way out."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest
from tracecut.tracer.runtime.link import shared_library
from tracecut.tracer.toolchain.clang import to_ir
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import canonical, emit_object

HEAD = """#include <stdlib.h>
#include <string.h>
double seen;
"""
C = {
    "malloc": """double run(long n, int steps, int stop) {
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        double *p = malloc(n * sizeof *p);
        for (long i = 0; i < n; i++) p[i] = i + t;
        for (long i = 0; i < n; i++) sum += p[n - 1 - i] * (i + 1);
        if (t == stop) { free(p); return sum; }
        free(p);
        if (sum < 0) break;
    }
    return sum;
}""",
    "calloc": """double run(long n, int steps, int stop) {
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        double *p = calloc(n, sizeof *p);
        if (t == stop) { free(p); break; }
        for (long i = t % 3; i < n; i += 2) p[i] += i;
        for (long i = 0; i < n; i++) sum += p[i] * (t + 1);
        free(p);
    }
    return sum;
}""",
    "nested": """double run(long n, int steps, int stop) {
    double sum = 0;
    for (int t = 0; t < steps; t++)
        for (int s = 0; s < 3; s++) {
            double *p = malloc(n * sizeof *p), *q = malloc(2 * n * sizeof *q);
            for (long i = 0; i < n; i++) q[i + n] = p[i] = i * s;
            for (long i = 0; i < n; i++) sum += p[i] - 2 * q[n + i];
            free(q);
            free(p);
            if (t == stop) return sum;
        }
    return sum;
}""",
    "sometimes": """double run(long n, int steps, int stop) {
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        if (t % 2 == 0) continue;
        double *p = malloc(n * sizeof *p);
        for (long i = 0; i < n; i++) p[i] = i;
        for (long i = 0; i < n; i++) sum += p[i];
        free(p);
        if (t >= stop) break;
    }
    return sum;
}""",
    "none": """double run(long n, int steps, int stop) {
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        char *p = malloc((unsigned long)n << 58);
        if (!p) { sum += 2; continue; }
        p[t % 5] = p[stop + 1] = 3;
        sum += n ? p[3 * t % 5] : 1;
        free(p);
    }
    return sum;
}""",
    "cleared": """double run(long n, int steps, int stop) {
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        char *p = calloc(n, (unsigned long)n << 56);
        if (!p) { sum += 2; continue; }
        p[t % 5] = 3;
        sum += n ? p[3 * t % 5] : 1;
        free(p);
    }
    return sum;
}""",
    "positive": """double run(long n, int steps, int stop) {
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        if (n - 2 > 0) {
            double *p = malloc((n - 2) * sizeof *p);
            for (long i = 0; i < n - 2; i++) p[i] = i * t;
            for (long i = 0; i < n - 2; i++) sum += p[i];
            free(p);
        }
        if (t == stop) break;
    }
    return sum;
}""",
}
CXX = {
    "if_any": """#include <vector>
extern "C" double run(long n, int steps, int stop) {
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        if (n > 2) {
            std::vector<double> r(n - 2, t);
            for (long i = 0; i < n - 2; i++) sum += r[i] * (i + 1);
            if (t == stop) return sum;
        }
    }
    return sum;
}""",
    "vector": """#include <vector>
static std::vector<double> made(long n, double x) { std::vector<double> r(n, x); for (auto &v : r) v += n; return r; }
extern "C" double run(long n, int steps, int stop) {
    double sum = 0;
    for (int t = 0; t < steps; t++) {
        std::vector<double> r = made(n, t);
        for (long i = 0; i < n; i++) sum += r[i] * (i + 1);
        if (r.empty() || t == stop) return sum;
    }
    return sum;
}""",
    "thrown": """#include <vector>
#include <stdexcept>
extern "C" double run(long n, int steps, int stop) {
    double sum = 0;
    try {
        for (int t = 0; t < steps; t++) {
            std::vector<double> p(n, t), q(2 * n, 1);
            for (long i = 0; i < n; i++) { q[n + i] += p[i]; sum += q[2 * i] - p[i]; }
            if (t == stop) throw std::runtime_error("stopped");
            sum += q.size() + (q.end() - q.begin());
        }
    } catch (const std::exception &) { sum = -sum; }
    return sum;
}""",
}
ALL = {name: (".c", HEAD + text) for name, text in C.items()} | {name: (".cpp", text) for name, text in CXX.items()}


class Held(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    )


def held() -> int:
    """Bytes that this process has allocated and not freed."""
    ask = ctypes.PyDLL(None).mallinfo2
    ask.restype = Held
    found = ask()
    return int(found.uordblks + found.hblkhd)


def built(name: str, folder: Path, *, for_regions: bool) -> tuple[str, Callable[[int, int, int], float]]:
    suffix, text = ALL[name]
    source = folder / f"{name}{suffix}"
    source.write_text(text)
    made = str(canonical([to_ir(source, Flags(), folder, canonical=True)], for_regions=for_regions))
    target = folder / f"{name}-{for_regions}.so"
    shared_library(
        [emit_object(made, optimise=True)], Flags(libraries=("stdc++", "gcc_s") if suffix == ".cpp" else ()), target
    )
    run = ctypes.PyDLL(str(target)).run  # other threads of Python, which allocate as well, have to wait
    run.argtypes, run.restype = (ctypes.c_long, ctypes.c_int, ctypes.c_int), ctypes.c_double
    return made, run


@pytest.mark.parametrize("name", ALL)
def test_the_same_is_computed_and_nothing_is_lost(name: str, tmp_path: Path) -> None:
    plain, expected = built(name, tmp_path, for_regions=False)
    text, run = built(name, tmp_path, for_regions=True)
    assert text.count("tracecut.rest") and "tracecut.rest" not in plain
    for n in (1, 2, 5, 100):
        for steps in (0, 1, 2, 5, 40):
            for stop in (-1, 0, 1, 3, 39):
                assert run(n, steps, stop) == expected(n, steps, stop), (n, steps, stop)
    for n, stop in ((0, -1), (0, 1), (50_000, -1), (50_000, 2)):
        run(n, 4, stop), expected(n, 4, stop)
        before = held()
        for _ in range(20 if n else 1000):
            assert run(n, 4, stop) == expected(n, 4, stop)
        assert held() - before < 16_000, (n, stop)  # the smallest allocation takes 32
