"""The command line: help, options, statuses, progress, and what goes where."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from typing import Any

import pytest
from tracecut.partition import METHODS, methods

import tracecut
from tracecut.pipeline.stage_names import STAGES
from tracecut.pipeline.stages.select_loops import same_file

from ...waiting import HUNG

GATHER = r"""
#include <stdio.h>
#ifndef SIZE
#define SIZE 3000
#endif
static int from[SIZE];
static double x[SIZE], y[SIZE];
int main(void) {
    for (int i = 0; i < SIZE; i++) from[i] = (int)(i * 7919LL % SIZE), x[i] = i;
    for (int step = 0; step < 20; step++)
        for (int i = 0; i < SIZE; i++) y[i] += x[from[i]];
    printf("%.3f\n", y[1]);
    return 0;
}
"""
LINE = 1 + GATHER.splitlines().index("        for (int i = 0; i < SIZE; i++) y[i] += x[from[i]];")


@pytest.mark.parametrize(
    "words", [[], ["--help"], ["-h"], ["optimize", "--help"], ["run", "--help"], ["methods", "-h"]]
)
def test_help(words: list[str], shell: Any) -> None:
    done = shell(*words)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("usage: tracecut")
    expected = {"optimize": ["--method", "--region", "--json", "compiler"], "run": ["--threads", "--original"]}
    for text in expected.get("".join(words[:1]), ["optimize", "run"] if not words or words[0][0] == "-" else []):
        assert text in done.out
    assert max(map(len, done.out.splitlines())) <= 120


def test_version(shell: Any) -> None:
    done = shell("--version")
    assert (done.code, done.out, done.err) == (0, f"tracecut {tracecut.__version__}\n", "")


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["run", "nowhere"], ["annotate", "--json"], ["graph", "--kinds", "x", "x.c"]]
)
def test_starts_at_once(words: list[str], shell: Any) -> None:
    """Nothing heavy is imported for what needs none of it."""
    assert not _imported(shell, *words) & {"numpy", "scipy", "numba", "llvmlite", "rich", "networkx", "pymetis"}


def test_optimize_leaves_large_libraries_to_its_worker(shell: Any) -> None:
    """A process of its own does the work; the one that starts it needs none of them."""
    shell.source("int main(void) { return wrong; }")
    found = _imported(shell, "optimize", "program.c", "-o", "out")
    assert "tracecut.pipeline.supervise" in found
    assert not found & {"numpy", "scipy", "numba", "llvmlite", "networkx", "pymetis"}


def _imported(shell: Any, *words: str) -> set[str]:
    """The modules that a command imports in its own process."""
    command = [sys.executable, "-P", "-X", "importtime", "-m", "tracecut", *words]
    done = subprocess.run(command, cwd=shell.folder, env=shell.environment, capture_output=True, text=True, check=False)
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "tracecut.cli.main" in modules
    return modules


# words, what the message says
USAGE = {
    "unknown command": (["optimise"], "invalid choice: 'optimise'"),
    "unknown option": (["--frobnicate"], "--frobnicate"),
    "option before the command": (["--json", "optimize"], "--json"),
    "no source": (["optimize"], "no source file was given"),
    "only options": (["optimize", "-O3", "--json"], "no source file was given"),
    "only program arguments": (["optimize", "--", "program.c"], "no source file was given"),
    "value is missing": (["optimize", "program.c", "--seed"], "--seed needs a value"),
    "compiler's value is missing": (["optimize", "program.c", "-I"], "compiler option -I needs a value"),
    "no folder": (["optimize", "program.c", "-o", ""], "-o: the name of a folder expected"),
    "unknown method": (["optimize", "program.c", "--method", "best"], "`tracecut methods` lists all methods"),
    "k": (["optimize", "program.c", "--k", "0"], "argument --k: 0: a whole number of at least 1"),
    "k is a word": (["optimize", "program.c", "--k=many"], "argument --k: many: a whole number"),
    "threads": (["optimize", "program.c", "--threads", "-3"], "argument --threads: -3"),
    "seed": (["optimize", "program.c", "--seed", "-1"], "argument --seed: -1: a whole number from 0 to"),
    "seed is a word": (["optimize", "program.c", "--seed", "x"], "argument --seed: x: a whole number from 0 to"),
    "budget": (["optimize", "program.c", "--budget", "nan"], "argument --budget: nan: a positive number"),
    "timeout": (["optimize", "program.c", "--timeout", "soon"], "argument --timeout: soon: a positive number"),
    "architecture": (["optimize", "program.c", "--arch", "../x"], "--arch ../x: one of sm_75, "),
    "region": (["optimize", "program.c", "--region", "program.c"], "--region program.c: FILE:LINE expected"),
    "line of a region": (["optimize", "program.c", "--region", "program.c:²"], "FILE:LINE expected"),
    "shared": (["optimize", "program.c", "-shared"], "compiler option -shared: tracecut needs a program with main"),
    "profiling": (["optimize", "program.c", "-pg"], "compiler option -pg"),
    "methods": (["methods", "rcm"], "rcm"),
}


@pytest.mark.quick
@pytest.mark.parametrize("case", USAGE)
def test_the_command_line_is_wrong(case: str, shell: Any) -> None:
    words, message = USAGE[case]
    shell.source("int main(void) { return 0; }")
    done = shell(*words)
    assert (done.code, done.out) == (2, ""), done
    assert message in done.err
    assert "Traceback" not in done.err and "internal error" not in done.err
    assert sorted(path.name for path in shell.folder.iterdir()) == ["program.c", "tmp"]


def test_methods(shell: Any) -> None:
    done = shell("methods")
    names = [method.name for method in methods()]
    assert [line.split()[0] for line in done.out.splitlines()] == names == [*METHODS, "auto"]
    listed = json.loads(shell("methods", "--json").out)
    assert [method["name"] for method in listed] == names
    keys = {"name", "kind", "source", "complexity", "uses", "note", "repeatable", "installed"}
    assert all(set(method) == keys for method in listed)
    compnet = next(line for line in done.out.splitlines() if line.startswith("compnet"))
    assert "stand-in" in compnet


def test_the_manifest_is_printed(shell: Any) -> None:
    shell.source(GATHER)
    words = ["--method", "rcm", "--k", "3", "--threads", "1", "--seed", "11", "--loop-budget", "0.5"]
    words += ["--timeout", "600"]
    done = shell("optimize", "program.c", "-DSIZE=2000", "-o", "out", "--json", *words, "--", "some", "words")
    assert (done.code, done.err) == (0, "")
    manifest = json.loads(done.out)
    assert manifest == json.loads((shell.folder / "out" / "manifest.json").read_bytes())
    assert (manifest["seed"], manifest["source"], manifest["argv"]) == (11, ["program.c"], ["some", "words"])
    region = next(region for region in manifest["regions"] if region["line"] == LINE)
    assert [candidate["method"] for candidate in region["candidates"]] == ["original", "rcm"]
    assert region["jobs"] == 2000
    assert "DSIZE=2000" in manifest["flags"][0]


def test_a_region_is_asked_for(shell: Any) -> None:
    (shell.folder / "src").mkdir()
    source = shell.source(GATHER, "src/program.c")
    words = ["optimize", "src/program.c", "-o", "out", "--loop-budget", "0.1", "--region"]
    done = shell(*words, f"{source}:{LINE}", "--json")
    assert (done.code, done.err) == (0, "")
    assert [region["line"] for region in json.loads(done.out)["regions"]] == [LINE]
    for name in (f"gram.c:{LINE}", f"program.c:{LINE + 2}"):
        done = shell(*words, name)
        assert (done.code, done.out) == (2, "")
        assert f"--region {name}: no executed loop starts there" in done.err
        assert f"program.c:{LINE}" in done.err.split("Hot loops: ")[1]


@pytest.mark.parametrize(
    ("known", "wanted", "same"),
    [
        ("src/program.c", "program.c", True),
        ("src/program.c", "./src/../src/program.c", True),
        ("program.c", "/home/me/program.c", True),
        ("/home/me/program.c", "me/program.c", True),
        ("src/program.c", "gram.c", False),
        ("src/program.c", "other/program.c", False),
        ("src/program.c", "program.h", False),
        ("src/program.c", "src", False),
    ],
)
def test_names_of_one_file(known: str, wanted: str, same: bool) -> None:
    assert same_file(known, wanted) is same


def test_several_sources_and_options_of_the_compiler(shell: Any) -> None:
    (shell.folder / "include").mkdir()
    shell.source("double part(double);\n", "include/part.h")
    shell.source('#include "part.h"\n#include <math.h>\ndouble part(double x) { return sqrt(x) * FACTOR; }', "part.c")
    shell.source(
        '#include "part.h"\n#include <stdio.h>\n#if __STDC_VERSION__ != 201112L || !defined(__OPTIMIZE__)\n'
        '#error options\n#endif\nint main(void) { printf("%g %s\\n", part(16), NAME); return 0; }',
        "main.c",
    )
    flags = ["-Iinclude", "-D", "FACTOR=2.5", '-DNAME="a b"', "-O3", "-std=c11", "-lm", "-Wall"]
    done = shell("optimize", *flags, "main.c", "-o", "out", "part.c")
    assert (done.code, done.err) == (0, "")
    assert shell("run", "out").out == "10 a b\n"
    assert json.loads((shell.folder / "out" / "manifest.json").read_bytes())["source"] == ["main.c", "part.c"]
    assert shell("optimize", "main.c", "-o", "other").code == 1


def test_statuses(shell: Any) -> None:
    """0 done, 1 the user's input, 2 usage, 3 nothing improved: on request only."""
    shell.source("int main(int c, char **v) { (void)v; return c > 1; }")
    assert shell("optimize", "program.c", "-o", "out").code == 0
    assert shell("optimize", "program.c", "-o", "out", "--fail-if-no-gain", "--json").code == 3
    assert shell("optimize", "program.c", "-o", "out", "--threads", "0").code == 2
    shell.source("int main(void) { return }")
    assert shell("optimize", "program.c", "-o", "out").code == 1


def test_the_status_of_the_program_is_its_result(shell: Any) -> None:
    shell.source("int main(int c, char **v) { (void)v; return c == 1 ? 0 : 40 + c; }")
    made = shell("optimize", "program.c", "-o", "out", "--", "x")
    assert made.code == 0 and "the program ends with status 42" in made.out
    assert shell("run", "out", "--", "x").code == 42
    assert shell("run", "out", "--", "x", "y").code == 43
    assert shell("run", "out").code == 0


def test_standard_output_is_closed(shell: Any) -> None:
    shell.source("int main(void) { return 0; }")
    process = shell.start("optimize", "program.c", "-o", "out", preexec_fn=lambda: os.close(1))
    assert process.communicate(timeout=HUNG) == (b"", b"")
    assert process.returncode == 0
    process = shell.start("optimize", "nowhere.c", preexec_fn=lambda: os.close(2))
    assert process.communicate(timeout=HUNG) == (b"", b"")
    assert process.returncode == 1


def on_a_terminal(shell: Any, *words: str, **changes: str) -> tuple[str, str]:
    """Standard output, and standard error as a terminal shows it."""
    ours, theirs = pty.openpty()
    env = {**shell.environment, "TERM": "xterm", "COLUMNS": "100", **changes}
    command = [sys.executable, "-P", "-m", "tracecut", *words]
    with subprocess.Popen(command, cwd=shell.folder, env=env, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:  # nobody has it open any more
                break
            if not data:
                break
            shown += data
        assert process.stdout is not None
        out = process.stdout.read().decode()
    os.close(ours)
    assert process.returncode == 0, shown
    return out, shown.decode()


def test_progress_is_for_terminals(shell: Any) -> None:
    shell.source("int main(void) { return 0; }")
    words = ["optimize", "program.c", "-o", "out", "--fresh"]
    out, shown = on_a_terminal(shell, *words, NO_COLOR="1")
    for stage in (STAGES[name] for name in ("compile", "original", "capture", "tune", "publish")):
        assert re.search(rf"{stage} +\d+\.\d\d s", shown), shown
    assert "compiling" not in out
    assert on_a_terminal(shell, *words, "-q")[1] == ""
    piped = shell(*words)
    assert (piped.err, piped.code) == ("", 0)


def test_the_second_time_nothing_is_compiled_for_us(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's machine code is kept: the files of its cache are the same after a further run.

    A worker that starts when its work is there already does not warm up; the next one that does compiles the rest. That
    can happen once.
    """
    shell.source(GATHER)
    cache = shell.folder / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    found = []
    for _ in range(3):
        words = ("optimize", "program.c", "-o", "out", "--method", "rcm", "--fresh")
        assert shell.alone(*words).code == 0
        found.append({path: path.stat().st_mtime_ns for path in cache.rglob("*.nb?")})
        if found[:-1] and found[-2] == found[-1]:
            break
    assert len(found[0]) > 10
    assert found[-2] == found[-1]
