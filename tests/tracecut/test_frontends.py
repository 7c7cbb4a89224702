"""The main job on what is not plain C: a C++ program is rescheduled like any other, OpenMP is serialised."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
from tracecut.support.progress import Progress
from tracecut.tracer.toolchain.clang import OPENMP_NOTE, parse_flags

import tracecut
from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

from ..waiting import HUNG

MESH = r"""
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
static std::map<std::string, int> settings{{"steps", 4}, {"cells", 20000}};
struct Random {
    unsigned state = 1;
    int operator()(int n) { return static_cast<int>(((state = state * 1664525u + 1013904223u) >> 8) % n); }
};
struct Edge { int a, b; };
template <class T> class Mesh {
  public:
    Mesh(int n, int m) : value(n), next(n), edges(m) {
        if (n <= 0) throw std::invalid_argument("a mesh of nothing");
        Random random;
        for (Edge &e : edges) e = {random(n), random(n)};
        for (T &v : value) v = random(1000);
    }
    void sweep() {
        for (const Edge &e : edges) {
            T flow = value[e.a] - value[e.b];
            next[e.a] -= flow;
            next[e.b] += flow;
        }
    }
    T total() const { T sum{}; for (T v : next) sum += v % 1000; return sum; }
  private:
    std::vector<T> value, next;
    std::vector<Edge> edges;
};
struct Step { virtual ~Step() = default; virtual void operator()() = 0; };
struct Sweep : Step {
    Mesh<long> &mesh;
    explicit Sweep(Mesh<long> &mesh) : mesh(mesh) {}
    ~Sweep() override { std::puts("swept"); }
    void operator()() override { mesh.sweep(); }
};
int main(int count, char **words) {
    try { Mesh<long> none(0, 0); } catch (const std::exception &error) { std::printf("%s, ", error.what()); }
    Mesh<long> mesh(settings["cells"], 3 * settings["cells"]);
    std::unique_ptr<Step> step = std::make_unique<Sweep>(mesh);
    for (int i = 0; i < settings["steps"]; i++) (*step)();
    std::printf("%ld ", mesh.total());
    if (count > 1) throw std::runtime_error(words[1]);
}
"""


def run(output: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`tracecut run` on a result."""
    command = [sys.executable, "-P", "-m", "tracecut", "run", "-v", str(output), "--", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=HUNG)


def test_a_cxx_program_is_rescheduled_and_computes_the_same(tmp_path: Path) -> None:
    source = tmp_path / "mesh.cpp"
    source.write_text(MESH)
    sources, flags = parse_flags([str(source), "-std=c++17"])
    output = tmp_path / "out"
    settings = Settings(tuple(sources), flags, output=output, force=True, loop_budget=0.1, method="rcm", k=8, threads=2)
    result = optimize_program(settings, Progress(quiet=True))
    assert result.improved, [region["reason"] for region in result.regions]
    [region] = [region for region in result.regions if region["decision"] == "optimized"]
    assert region["function"] == "sweep" and region["line"] == 24
    original = subprocess.run([output / "program"], capture_output=True, text=True, timeout=HUNG)
    assert re.fullmatch(r"a mesh of nothing, -?\d+ swept\n", original.stdout)
    new = run(output)
    assert (new.returncode, new.stdout) == (0, original.stdout)
    assert "rescheduled (rcm" in new.stderr
    # An exception that nobody catches ends the new program as it ends the old one.
    old = subprocess.run([output / "program", "far"], capture_output=True, text=True, timeout=HUNG)
    thrown = run(output, "far")
    assert old.returncode == thrown.returncode == -6
    assert "what():  far" in old.stderr and "what():  far" in thrown.stderr


def test_openmp_is_named_in_what_is_printed_and_written(tmp_path: Path) -> None:
    source = tmp_path / "sum.c"
    source.write_text(
        "#include <omp.h>\n#include <stdio.h>\nint main(void) {\n    double sum = 0;\n"
        "#pragma omp parallel for reduction(+ : sum)\n"
        "    for (int i = 0; i < 1000; i++) sum += i;\n"
        '    printf("%g %d\\n", sum, omp_get_max_threads());\n    return 0;\n}\n'
    )
    output = tmp_path / "out"
    command = [sys.executable, "-P", "-m", "tracecut", "optimize", str(source), "-fopenmp", "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HUNG)
    assert done.returncode == 0, done.stderr
    assert OPENMP_NOTE in " ".join(done.stdout.split())
    assert json.loads((output / "manifest.json").read_text())["notes"] == [OPENMP_NOTE]
    assert OPENMP_NOTE in (output / "report.html").read_text(encoding="utf-8")
    assert subprocess.run([output / "program"], capture_output=True, text=True, timeout=HUNG).stdout == "499500 1\n"


@numba.njit
def scatter(index, value, out):
    for i in range(index.size):
        out[index[i]] += value[i]


def test_a_numba_function_is_traced_on_copies_of_its_arguments() -> None:
    given = [np.arange(100)[::-1] % 7, np.ones(100), np.zeros(7)]
    traced = tracecut.trace(scatter, given)
    assert traced.ok and given[2].sum() == 0
    names = {name.rpartition(".")[2] for name in traced.static.functions}
    assert "scatter" in names and "@main" not in traced.static.functions
    assert traced.totals["instructions"] > 600
    assert traced.meta["argv"] == ["int64[100]", "float64[100]", "float64[7]"]
    longer = tracecut.trace(scatter, [np.tile(given[0], 10), np.ones(1000), given[2]], opt="seed")
    assert longer.ok and longer.totals["instructions"] > 5 * traced.totals["instructions"]


def test_a_cxx_program_is_traced(tmp_path: Path) -> None:
    source = tmp_path / "mesh.cpp"
    source.write_text(MESH.replace('{"cells", 20000}', '{"cells", 200}'))
    for opt in ("O1", "seed"):
        traced = tracecut.trace([source, "-std=c++17"], opt=opt)
        assert traced.ok, traced.outcome
        assert traced.totals["instructions"] > 4 * 600 * 8
    thrown = tracecut.trace([source, "-std=c++17"], ["far"])
    assert not thrown.ok and "SIGABRT" in thrown.outcome and thrown.totals["instructions"] > 4 * 600 * 8


def test_openmp_is_a_note_of_the_trace(tmp_path: Path) -> None:
    source = tmp_path / "sum.c"
    source.write_text("#include <omp.h>\nint main(void) { return omp_get_thread_num(); }\n")
    assert OPENMP_NOTE in tracecut.trace([source, "-fopenmp"]).notes
    source.write_text("int main(void) { return 0; }\n")
    assert list(tracecut.trace(source).notes) == []
