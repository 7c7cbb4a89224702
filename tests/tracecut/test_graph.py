"""`tracecut graph` and `tracecut.dependence_graph`: from a program to its graph."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tracecut.ir.dependence import MEMORY, REGISTER
from tracecut.ir.errors import ArgumentError, UnsupportedError, UsageError

import tracecut
from tracecut.dependences import build_graph

SUMS = """
#include <stdio.h>
#include <stdlib.h>
struct node { int value; struct node *next; };
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 20, local[64];
  struct node *list = 0;
  long sum = 0;
  for (int i = 0; i < n; i++) {
    struct node *more = malloc(sizeof *more);
    more->value = i * i;
    more->next = list;
    list = more;
    local[i % 64] = i;
  }
  while (list) {
    struct node *old = list;
    sum += old->value + local[old->value % n];
    list = old->next;
    free(old);
  }
  printf("%ld\\n", sum);
  return 0;
}
"""
CRASH = """
#include <stdlib.h>
int main(void) {
  volatile int data[8];
  for (int i = 0; i < 8; i++) data[i] = i;
  if (data[3] == 3) abort();
  return 0;
}
"""
KEYS = ["dst", "instruction", "kind", "src", "time", "weight"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "sums.c"
    path.write_text(SUMS)
    return path


def command(*words: str | Path, cwd: Path, more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "tracecut", *map(str, words)],
        cwd=cwd,
        env={**os.environ, **(more or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_same_file_from_everywhere(source: Path, tmp_path: Path) -> None:
    """Another folder, a larger environment, other addresses (the system moves them from run to run), a trace file."""
    deep = tmp_path / "a" / "rather" / "deep" / "folder"
    deep.mkdir(parents=True)
    first = command("graph", source, "-o", tmp_path / "1.npz", "--json", "--", "33", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    second = command("graph", source, "-o", "2.npz", "--json", "--", "33", cwd=deep, more={"PADDING": "x" * 4321})
    traced = command("trace", source, "-o", tmp_path / "t.tct", "-q", "--", "33", cwd=tmp_path)
    assert traced.returncode == 0, traced.stderr
    third = command("graph", "t.tct", "-o", "3.npz", "--json", cwd=tmp_path)
    assert first.stdout == second.stdout == third.stdout
    files = [tmp_path / "1.npz", deep / "2.npz", tmp_path / "3.npz"]
    assert files[0].read_bytes() == files[1].read_bytes() == files[2].read_bytes()
    found = json.loads(first.stdout)
    with np.load(files[0]) as members:
        assert sorted(members.files) == KEYS
        assert members["src"].size == found["edges"] and members["time"].size == found["nodes"]
    assert found["ok"] and found["kinds"]["memory"] > 60 and found["notes"] == []


def test_a_program_that_fails_leaves_what_it_did(tmp_path: Path) -> None:
    (tmp_path / "crash.c").write_text(CRASH)
    done = command("graph", "crash.c", "-o", "g.npz", cwd=tmp_path)
    assert done.returncode == 1
    assert "the graph holds what it did until then" in done.stderr
    graph = tracecut.DependenceGraph.load(tmp_path / "g.npz")
    assert np.count_nonzero(graph.kind == MEMORY) >= 1
    with pytest.warns(tracecut.PartialGraphWarning, match="until then"):
        again = tracecut.dependence_graph(tmp_path / "crash.c")
    assert again.n == graph.n


def test_weights_are_defined_once(source: Path) -> None:
    model, unit = (tracecut.dependence_graph(source, weights=weights) for weights in ("model", "unit"))
    memory = model.kind == MEMORY
    assert (model.weight[~memory] == 1).all() and (model.kind[~memory] == REGISTER).all()
    assert (model.weight[memory] <= model.time[model.dst[memory]]).all()
    assert set(np.unique(model.weight[memory])) >= {4} and (unit.weight == 1).all()
    assert model.src.tolist() == unit.src.tolist() and model.dst.tolist() == unit.dst.tolist()


def test_unoptimised_programs_have_more_of_everything(source: Path) -> None:
    optimised, plain = (tracecut.dependence_graph(source, opt=opt) for opt in ("O1", "seed"))
    assert plain.n > optimised.n and plain.m > optimised.m


def test_a_graph_is_partitioned(source: Path) -> None:
    graph = tracecut.dependence_graph(source)
    found = tracecut.partition(graph, 4, "wb-libra")
    assert found.labels.size == graph.m
    assert found.imbalance() < 1.5


def test_a_part_of_the_run(source: Path) -> None:
    built = build_graph(source, ["40"], max_instructions=200)
    assert built.ending.lost > 0 and built.graph.n <= 210


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no source file was given"),
        (("t.tct", "-lm"), "make no sense beside it"),
        (("t.tct", "--", "1"), "make no sense beside it"),
    ],
)
def test_wrong_command_lines(words: tuple[str, ...], message: str) -> None:
    from tracecut.dependences import run_graph

    with pytest.raises(UsageError, match=message):
        run_graph(list(words))


def test_wrong_arguments(source: Path, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="weights = 'guessed'"):
        build_graph(source, weights="guessed")
    with pytest.raises(ArgumentError, match="takes the records itself"):
        build_graph(source, sink=print)
    trace = tracecut.trace(source, keep=False)
    with pytest.raises(ArgumentError, match="there are no records"):
        build_graph(trace)
    with pytest.raises(ArgumentError, match="is made already"):
        build_graph(trace, ["3"])


def test_threads_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "threads.c"
    path.write_text(
        "#include <pthread.h>\nstatic int x;\nstatic void *go(void *p) { x++; return p; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, go, 0); pthread_join(t, 0); return x - 1; }\n"
    )
    with pytest.raises(UnsupportedError, match="several threads"):
        build_graph([path, "-lpthread"])


def test_measured_weights_agree_or_are_refused(source: Path) -> None:
    try:
        built = build_graph(source, ["60"], weights="measured")
    except UnsupportedError as refused:
        assert "at least 0.9 was expected" in refused.message
    else:
        assert built.correlation is not None and built.correlation >= 0.9
        assert built.graph.time.max() <= 2000 + 100
    with pytest.raises(ArgumentError, match="several have to agree"):
        build_graph("some.tct", weights="measured")


def test_exceptions_and_virtual_calls(tmp_path: Path) -> None:
    """A landing pad depends on the call that threw; values come back through frames that were left."""
    path = tmp_path / "throws.cpp"
    path.write_text("""
struct A { virtual int f(int x) { return x + 1; } virtual ~A() {} };
struct B : A { int f(int x) override { if (x == 3) throw x; return 2 * x; } };
__attribute__((noinline)) int deep(A *a, int n) {
  volatile int own[4];
  own[n & 3] = n;
  return n ? deep(a, n - 1) + own[n & 3] : a->f(3);
}
__attribute__((noinline)) int run(A *a, int k) { try { return deep(a, k); } catch (int v) { return v * 100; } }
int main() {
  A *p[2] = {new A, new B};
  int s = 0;
  for (int i = 0; i < 6; i++) s += run(p[i & 1], i);
  for (auto q : p) delete q;
  return s != 925;
}
""")
    built = build_graph(path)
    assert built.trace.ok, built.trace.outcome
    graph, instructions = built.graph, built.trace.static.instructions
    pads = [v for v in range(graph.n) if instructions[graph.instruction[v]].op == "landingpad"]
    throwers = {
        pad: [instructions[graph.instruction[graph.src[e]]].word for e in range(*graph.offsets[pad : pad + 2].tolist())]
        for pad in pads
    }
    assert len(pads) == 3 and all(found == ["@__cxa_throw"] for found in throwers.values())
