"""`tracecut trace`, `tracecut info` and `tracecut.trace`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tracecut.support.process.forward_output import passed_on

import tracecut
from tracecut.errors import ArgumentError, SourceError, UnsupportedError

from ..forked import completed, started

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) int work(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i ^ sum; return sum; }
int main(int argc, char **argv) {
  if (argc > 2) { fprintf(stderr, "too much\\n"); return 5; }
  char line[20] = "";
  if (fgets(line, sizeof line, stdin)) printf("%s", line);
  printf("%d\\n", work(argc > 1 ? atoi(argv[1]) : 100));
  return 0;
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "prog.c"
    path.write_text(PROGRAM)
    return path


def cli(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return completed(*words, folder=folder)


def test_a_trace_in_python(program: Path, tmp_path: Path) -> None:
    streamed: list[np.ndarray] = []
    trace = tracecut.trace(program, ["50"], sink=lambda stream, words: streamed.append(words.copy()))
    assert trace.ok and trace.complete and trace.outcome == "left with status 0" and trace.streams == 1
    assert trace.totals["instructions"] == trace.totals["kept_instructions"] > 200
    stored = np.concatenate([words for _, words in trace.chunks()])
    assert np.array_equal(stored, np.concatenate(streamed)) and stored.size > trace.totals["words"]
    with_runs = np.concatenate([words for _, words in trace.chunks(runs=True)])
    assert with_runs.size == trace.totals["words"] == trace.totals["kept_words"]
    assert trace.meta["argv"] == ["50"] and trace.meta["opt"] == "O1" and len(trace.meta["digests"][0]) == 64
    assert "Trace of" in repr(trace)
    home = trace.path
    assert home is not None and home.exists()
    del trace
    assert not home.exists()


def test_the_same_run_twice_is_the_same_but_for_addresses(program: Path) -> None:
    first, second = (tracecut.trace(program, ["30"]) for _ in range(2))
    assert first.totals == second.totals and first.static.text == second.static.text


def test_options_in_python(program: Path, tmp_path: Path) -> None:
    counted = tracecut.trace(program, ["1000"], keep=False, opt="seed")
    assert counted.path is None and list(counted.chunks()) == [] and counted.totals["instructions"] > 9000
    chosen = tracecut.trace([program, "-DX"], functions=["main"], output=tmp_path / "sub" / "t.tct")
    assert chosen.static.functions == ("@main",) and chosen.meta["flags"] == ["-DX"]
    window = tracecut.trace(program, ["1000"], start=100, max_instructions=50)
    assert 50 <= window.totals["kept_instructions"] < window.totals["instructions"]
    assert any("lie outside" in note for note in window.notes)
    loaded = tracecut.Trace.load(tmp_path / "sub" / "t.tct")
    assert loaded.totals == chosen.totals


def test_a_trace_reduced_to_jobs(program: Path, tmp_path: Path) -> None:
    trace = tracecut.trace(program, ["50"], level="jobs", opt="seed")
    assert trace.ok and trace.path is None and list(trace.chunks()) == []
    (region,) = trace.regions
    assert region.function == "work" and region.graph.n_jobs == 51 and "Trace of 51 jobs of 1 loops" in repr(trace)
    assert region.graph.n_data <= 3 and trace.totals["instructions"] > 50
    kept = tracecut.trace(program, ["50"], level="jobs", output=tmp_path / "t.tct", datum=64)
    assert [one.graph.n_data for one in kept.regions] == [0]  # all of it is in registers
    assert kept.path is None and tracecut.Trace.load(tmp_path / "t.tct").totals == kept.totals
    for wrong in ({"keep": False}, {"sink": print}, {"datum": 3, "opt": "seed"}):
        with pytest.raises(ArgumentError):
            tracecut.trace(program, ["50"], level="jobs", **wrong)


def test_a_program_that_fails_leaves_its_trace(program: Path) -> None:
    trace = tracecut.trace(program, ["1", "2"])
    assert not trace.ok and trace.outcome == "left with status 5" and trace.stderr == "too much"
    assert trace.complete and trace.totals["kept_records"] >= 2


def test_wrong_arguments(program: Path, tmp_path: Path) -> None:
    for wrong in (
        {"level": "jobs!"},
        {"opt": "O3"},
        {"functions": "main"},
        {"functions": ["nowhere"]},
        {"max_instructions": -1},
        {"start": 1.5},
        {"memory": 0},
        {"stdin": tmp_path / "none"},
        {"keep": False, "output": tmp_path / "x"},
    ):
        with pytest.raises(ArgumentError):
            tracecut.trace(program, **wrong)
    with pytest.raises(SourceError):
        tracecut.trace(tmp_path / "missing.c")
    (tmp_path / "nomain.c").write_text("int f(void) { return 1; }")
    with pytest.raises(SourceError, match="main"):
        tracecut.trace(tmp_path / "nomain.c")
    (tmp_path / "odd.ll").write_text(
        "declare void @llvm.masked.compressstore.v4i32(<4 x i32>, ptr, <4 x i1>)\n"
        "define i32 @main(i32 %n, ptr %p) {\n"
        "  call void @llvm.masked.compressstore.v4i32(<4 x i32> zeroinitializer, ptr %p, <4 x i1> splat (i1 true))\n"
        "  ret i32 0\n}\n"
    )
    with pytest.raises(UnsupportedError, match="compressstore"):
        tracecut.trace(tmp_path / "odd.ll")
    assert not (tmp_path / "x").exists()


def test_the_command_line(program: Path, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("hello\n")
    done = started("trace", "prog.c", "-o", "t.tct", "--stdin", "input", "--json", "--", "200", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["ok"] and sorted(made["functions"]) == ["main", "work"]
    info = json.loads(cli("info", "t.tct", "--json", "--check", folder=tmp_path).stdout)
    assert info["readable"]["instructions"] == made["totals"]["instructions"] == info["totals"]["instructions"]
    assert info["readable"]["words"] == made["totals"]["words"]
    text = cli("info", "t.tct", folder=tmp_path)
    assert "left with status 0" in text.stdout and "bytes an instruction" in text.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input", "prog.c", "t.tct"]


def test_what_the_program_writes_is_passed_on(program: Path, tmp_path: Path) -> None:
    (tmp_path / "loud.c").write_text(PROGRAM.replace("  return 0;", '  fprintf(stderr, "careful\\n");\n  return 0;'))
    (tmp_path / "input").write_text("hello\n")
    own = ("loud.c", "--stdin", "input", "-o", "t.tct")
    plain = cli("trace", *own, folder=tmp_path)
    assert plain.returncode == 0 and plain.stdout.startswith("hello\n") and len(plain.stdout.split()) == 2
    assert plain.stderr.startswith("careful\n") and "bytes an instruction" in plain.stderr
    quiet = cli("trace", *own, "--quiet", folder=tmp_path)
    assert quiet.stdout == plain.stdout and quiet.stderr == "careful\n"
    aside = cli("trace", *own, "--json", folder=tmp_path)
    assert json.loads(aside.stdout)["ok"] and aside.stderr == plain.stdout + "careful\n"
    named = cli("trace", *own, "--json", "--stdout", "said", folder=tmp_path)
    assert json.loads(named.stdout)["ok"] and named.stderr == "careful\n"
    assert (tmp_path / "said").read_text() == plain.stdout
    for command in ("graph", "annotate"):
        other = cli(command, "loud.c", "--json", "--stdin", "input", folder=tmp_path)
        assert json.loads(other.stdout) and other.stderr == plain.stdout + "careful\n"
    nowhere = cli("trace", *own, "--stdout", "none/said", folder=tmp_path)
    assert nowhere.returncode == 1 and "cannot write none/said" in nowhere.stderr and "Traceback" not in nowhere.stderr


def test_output_of_the_program_in_python(program: Path, tmp_path: Path) -> None:
    trace = tracecut.trace(program, ["1", "2"], keep=False, stdout=tmp_path / "out", stderr=tmp_path / "err")
    assert not trace.ok and trace.stderr == "too much"
    assert (tmp_path / "out").read_text() == "" and (tmp_path / "err").read_text() == "too much\n"


def test_both_streams_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("log")
    with passed_on(tmp_path, "a", stdout=tmp_path / "log", stderr=tmp_path / "link"):
        (tmp_path / "a.stdout").write_text("what was said\n")
        (tmp_path / "a.stderr").write_text("careful\n")
    assert (tmp_path / "log").read_text() == "what was said\ncareful\n"


def test_a_stream_that_nobody_reads_does_not_hide_the_other_nor_the_error(tmp_path: Path) -> None:
    """Copying to a pipe without a reader fails: errors of the program are copied all the same, its error goes first."""
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(BrokenPipeError), passed_on(tmp_path, "a", stdout=writer, stderr=tmp_path / "err"):
        (tmp_path / "a.stdout").write_text("what was said\n")
        (tmp_path / "a.stderr").write_text("careful\n")
    assert (tmp_path / "err").read_text() == "careful\n"
    with pytest.raises(KeyError), passed_on(tmp_path, "a", stdout=writer, stderr=tmp_path / "err"):
        raise KeyError("the block's own")
    os.close(writer)
    assert (tmp_path / "err").read_text() == "careful\n"


def test_one_loop_from_the_command_line(program: Path, tmp_path: Path) -> None:
    chosen = ("--region", "prog.c:5", "--every", "3")
    done = cli("trace", "prog.c", *chosen, "--json", "--", "30", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert any("prog.c:5" in note and "3 iterations" in note for note in made["notes"])
    whole = json.loads(cli("trace", "prog.c", "--totals", "--json", "--", "30", folder=tmp_path).stdout)
    assert 10 <= made["totals"]["records"] < whole["totals"]["records"]
    nowhere = cli("trace", "prog.c", "--region", "prog.c:9", folder=tmp_path)
    assert nowhere.returncode != 0 and "prog.c:5" in nowhere.stderr and "Traceback" not in nowhere.stderr


def test_the_command_line_when_something_is_wrong(program: Path, tmp_path: Path) -> None:
    failed = cli("trace", "prog.c", "--", "1", "2", folder=tmp_path)
    assert failed.returncode == 1 and "left with status 5" in failed.stderr and "too much" in failed.stderr
    assert (tmp_path / "trace.tct").exists()
    assert cli("trace", folder=tmp_path).returncode == 2
    assert cli("trace", "prog.c", "--memory", "lots", folder=tmp_path).returncode == 2
    assert cli("trace", "missing.c", folder=tmp_path).returncode == 1
    damaged = bytearray((tmp_path / "trace.tct").read_bytes())
    damaged[40] ^= 1
    (tmp_path / "bad.tct").write_bytes(damaged)
    bad = cli("info", "bad.tct", folder=tmp_path)
    assert bad.returncode == 1 and "bad.tct" in bad.stderr and "Traceback" not in bad.stderr
    cut = cli("trace", "prog.c", "-o", "none/such/../t.tct", "--timeout", "30", "-q", folder=tmp_path)
    assert cut.returncode in (0, 1) and "Traceback" not in cut.stderr


def test_a_million_iterations_in_little_memory(tmp_path: Path) -> None:
    (tmp_path / "long.c").write_text(
        "int cells[16]; int main(void) { unsigned at = 1; for (long i = 0; i < 1000000; i++)"
        " { at = at * 1103515245u + 12345u; cells[at >> 28] += 1; } return 0; }"
    )
    done = started("trace", "long.c", "--totals", "--memory", "4M", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["totals"]["records"] >= 1_000_000
    assert [path.name for path in tmp_path.iterdir()] == ["long.c"]


def test_what_only_other_levels_need_is_not_loaded() -> None:
    code = "import sys, tracecut.api.trace; print(*(name for name in sys.modules if name.startswith('tracecut.')))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "tracecut.tracer.trace.record.record" in loaded
    assert not {
        "tracecut.api.loop_summaries",
        "tracecut.tracer.depgraph.loops.job_graph",
        "tracecut.tracer.toolchain.numba",
    } & set(loaded)
