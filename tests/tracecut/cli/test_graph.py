"""`tracecut graph` and `tracecut.dependence_graph`: from a program to its graph."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tracecut.ir.dependence_graph import ANTI, MEMORY, OUTPUT, REGISTER
from tracecut.support.errors import ArgumentError, UnsupportedError, UsageError

import tracecut
from tracecut.api.dependence_graph import build_graph, free_memory, graph_totals
from tracecut.api.loop_summaries import loop_summaries
from tracecut.cli.graph import report

from ..forked import completed, started

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
NAMES = "column file files function functions line opcode opcodes".split()
KEYS = ["dst", "instruction", "kind", "src", *(f"static_{name}" for name in NAMES), "time", "weight"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "sums.c"
    path.write_text(SUMS)
    return path


def command(*words: str | Path, cwd: Path, more: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return completed(*words, folder=cwd, **(more or {}))


def test_the_same_file_from_everywhere(source: Path, tmp_path: Path) -> None:
    """Another folder, a larger environment, other addresses (the system moves them from run to run), a trace file."""
    deep = tmp_path / "a" / "rather" / "deep" / "folder"
    deep.mkdir(parents=True)
    first = started("graph", source, "-o", tmp_path / "1.npz", "--json", "--", "33", folder=tmp_path)
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
    assert "; the graph ends there" in done.stderr
    graph = tracecut.DependenceGraph.load(tmp_path / "g.npz")
    assert np.count_nonzero(graph.kind == MEMORY) >= 1
    with pytest.warns(tracecut.PartialGraphWarning, match="the graph ends there"):
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
        (("t.tct", "-lm"), "takes no sources, compiler options or arguments"),
        (("t.tct", "--", "1"), "takes no sources, compiler options or arguments"),
    ],
)
def test_wrong_command_lines(words: tuple[str, ...], message: str) -> None:
    from tracecut.cli.graph import run_graph

    with pytest.raises(UsageError, match=message):
        run_graph(list(words))


def test_a_program_that_does_nothing_has_a_graph(tmp_path: Path) -> None:
    (tmp_path / "nothing.c").write_text("int main(void) { return 0; }")
    done = command("graph", "nothing.c", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and "nan" not in done.stdout
    assert done.stdout.startswith("1 instructions, 0 dependences") and "none" in done.stdout


def test_where_no_graph_can_be_written_is_said_before_anything_runs(source: Path, tmp_path: Path) -> None:
    from tracecut.cli.graph import run_graph

    (tmp_path / "folder.npz").mkdir()
    for name, message in (("graph.xyz", "is not a graph format"), ("folder.npz", "a folder, the name of a file")):
        with pytest.raises(ArgumentError, match=message):
            run_graph([str(source), "-lnosuchlibrary", "-o", str(tmp_path / name)])


def test_wrong_arguments(source: Path, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="weights = 'guessed'"):
        build_graph(source, weights="guessed")
    with pytest.raises(ArgumentError, match="reads the records itself"):
        build_graph(source, sink=print)
    trace = tracecut.trace(source, keep=False)
    with pytest.raises(ArgumentError, match="it has no records"):
        build_graph(trace)
    with pytest.raises(ArgumentError, match="the source is a trace"):
        build_graph(trace, ["3"])


def test_hazards_are_there_when_they_are_asked_for(source: Path, tmp_path: Path) -> None:
    plain, whole = (tracecut.dependence_graph(source, ["99"], kinds=k) for k in (("raw",), ("raw", "war", "waw")))
    extra = np.isin(whole.kind, (ANTI, OUTPUT))
    assert whole.m - int(extra.sum()) == plain.m and (whole.weight[extra] == 1).all()
    done = command("graph", source, "--kinds", "waw,control", "--json", "--", "99", cwd=tmp_path)
    kinds = json.loads(done.stdout)["kinds"]
    assert kinds["output"] == int((whole.kind == OUTPUT).sum()) > 0 and kinds["control"] and not kinds["anti"]
    assert command("graph", source, "--kinds", "all", cwd=tmp_path).returncode == 2


LOOPS = """
#include <stdlib.h>
static double total, field[256], scratch[4];
__attribute__((noinline)) static void smooth(int n) {
  for (int i = 1; i < n; i++) field[i] = 0.5 * (field[i - 1] + field[i]);
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 200;
  for (int i = 0; i < n; i++) field[i] = i * 3;
  smooth(n);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < 4; j++) scratch[(i + j) & 3] = field[i] + j;
    total += scratch[0] * scratch[1];
  }
  return total < 0;
}
"""


def test_loops_and_what_they_carry(tmp_path: Path) -> None:
    (tmp_path / "loops.c").write_text(LOOPS)
    done = command("graph", "loops.c", "-fno-inline", "--loops", "--json", "--", "150", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows = {(row["function"], row["line"]): row for row in found["loops"]}
    smooth = next(row for (name, _), row in rows.items() if name == "smooth")
    assert smooth["jobs"] == 149 and smooth["runs"] == 1 and not smooth["parallel"]
    assert smooth["flow"] == {"1": 148} or smooth["carried"]
    fill = next(row for row in found["loops"] if row["jobs"] == 150 and row["parallel"])
    assert fill["line"].startswith("loops.c:") and fill["data"][0]["lines"]
    outer = next(row for row in found["loops"] if row["jobs"] == 150 and not row["parallel"])
    assert any(datum["private"] for datum in outer["data"])
    trace = tracecut.trace([tmp_path / "loops.c", "-fno-inline"], ["150"], output=tmp_path / "t.tct")
    summaries = loop_summaries(trace)
    assert [row["jobs"] for row in found["loops"]] == [loop.jobs for loop in summaries]
    assert [loop.jobs for loop in loop_summaries(tmp_path / "t.tct", most=1)] == [summaries[0].jobs]
    text = command("graph", "t.tct", "--loops", "--totals", cwd=tmp_path)
    assert "iterations are independent" in text.stdout and "private" in text.stdout
    with pytest.raises(ArgumentError, match="it has no records"):
        loop_summaries(tracecut.trace(tmp_path / "loops.c", keep=False))
    wrong = command("graph", "loops.c", "--loops", "--weights", "measured", cwd=tmp_path)
    assert wrong.returncode == 2 and "exclude each other" in wrong.stderr


def test_totals_are_exact_and_large_graphs_are_refused(source: Path, tmp_path: Path) -> None:
    whole = build_graph(source, ["50"])
    sums = graph_totals(source, ["50"])
    assert (sums.graph.nodes, sums.graph.edges) == (whole.graph.n, whole.graph.m)
    assert (sums.graph.time, sums.graph.weight) == (whole.graph.time.sum(), whole.graph.weight.sum())
    with pytest.raises(UnsupportedError, match=r"the graph takes about \S+ [KM]iB \(") as refused:
        build_graph(source, ["50"], memory=2_000)
    assert f"({whole.graph.n:,} instructions)" in refused.value.message
    trace = tracecut.trace(source, ["50"])
    with pytest.raises(UnsupportedError, match=f"{whole.graph.n:,} instructions"):
        build_graph(trace, memory=2_000)
    done = command("graph", source, "--totals", "--json", "--", "50", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["nodes"] == whole.graph.n and found["kinds"] == whole.graph.stats()["kinds"] and found["ok"]
    text = command("graph", source, "--totals", cwd=tmp_path)
    assert text.returncode == 0 and "power law" not in text.stdout
    small = command("graph", source, "--memory", "2K", cwd=tmp_path)
    assert small.returncode == 1 and "--totals" in small.stderr and "Traceback" not in small.stderr
    with pytest.raises(ArgumentError, match="totals need model or unit weights"):
        graph_totals(source, weights="measured")
    assert 1 << 24 < free_memory() < 1 << 46


def test_weights_of_the_papers_method_say_what_they_are(source: Path) -> None:
    built = build_graph(source, ["60"], weights="seed")
    assert "do not wait for memory" in built.notes[0] and built.notes[0] in report(built)["notes"]
    loads = built.trace.static.instructions
    times = [int(t) for i, t in zip(built.graph.instruction, built.graph.time, strict=True) if loads[i].op == "load"]
    assert len(times) > 100 and min(times) >= 0 and max(times) > 0
    with pytest.raises(ArgumentError, match="the trace has no times"):
        build_graph(tracecut.trace(source), weights="seed")
    fenced = tracecut.trace(source, timed=True)
    with pytest.raises(ArgumentError, match="fences"):
        build_graph(fenced, weights="seed")
    with pytest.raises(ArgumentError, match="timed is 'loose'"):
        tracecut.trace(source, timed="loose")


def test_threads_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "threads.c"
    path.write_text(
        "#include <pthread.h>\nstatic int x;\nstatic void *go(void *p) { x++; return p; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, go, 0); pthread_join(t, 0); return x - 1; }\n"
    )
    with pytest.raises(UnsupportedError, match="several threads"):
        build_graph([path, "-lpthread"])


def test_measured_weights_agree_or_are_refused(source: Path, tmp_path: Path) -> None:
    """The program runs three times; what it writes comes once."""
    once = tmp_path / "once"
    build_graph(source, ["60"], stdout=once)
    said = tmp_path / "said"
    try:
        with open(said, "wb") as pipe:
            built = build_graph(source, ["60"], weights="measured", stdout=pipe.fileno())
    except UnsupportedError as refused:
        assert "at least 0.9 was expected" in refused.message
    else:
        assert built.correlation is not None and built.correlation >= 0.9
        assert built.graph.time.max() <= 2000 + 100
    assert said.read_bytes() == once.read_bytes() != b""
    with pytest.raises(ArgumentError, match="several runs are compared"):
        build_graph("some.tct", weights="measured")
    with pytest.raises(ArgumentError, match="runs: not an option here: the graph reads the records itself"):
        build_graph(source, ["60"], runs=True)


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
