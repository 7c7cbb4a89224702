"""How often a result was used: counted at the end of a run, shown by `tracecut info OUT`; and what a refusal costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tracecut.support.progress import Progress

from tracecut.pipeline.output import use_counts
from tracecut.pipeline.output.folder import RUNS, opened, read_listing
from tracecut.pipeline.output.staging import seal
from tracecut.pipeline.output.use_counts import read_usage, record
from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

from ....waiting import HUNG

COMMAND = [sys.executable, "-P", "-m", "tracecut"]
SIZES = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 20000, seed = argc > 2 ? atoi(argv[2]) : 1;
    const char *said = argc > 3 ? argv[3] : "";
    int steps = argc > 4 ? atoi(argv[4]) : 8;
    double *log = malloc(steps * sizeof *log);
    int *source = malloc(count * sizeof *source);
    double *from = malloc(count * sizeof *from), *to = calloc(count, sizeof *to), sum = 0;
    unsigned state = seed;
    for (int i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        source[i] = (int)((state >> 8) % (unsigned)count);
        from[i] = i;
    }
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < count; i++) to[i] += from[source[i]];
        log[step] = to[7];
    }
    for (int i = 0; i < count; i++) sum += to[i];
    printf("sum %.9e %g %s\n", sum, log[steps - 1], said);
    return 0;
}
"""


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sizes")
    (folder / "sizes.c").write_text(SIZES)
    settings = Settings((str(folder / "sizes.c"),), output=folder / "out", force=True, loop_budget=0.1, method="rcm")
    assert optimize_program(settings, Progress(quiet=True)).improved
    return folder / "out"


def info(output: Path) -> dict[str, Any]:
    done = subprocess.run([*COMMAND, "info", str(output), "--json"], capture_output=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(output: Path, *words: str, option: str = "-q") -> str:
    options = [] if option == "-q" else [option]
    command = [*COMMAND, "run", str(output), "--threads", "1", *options, "--", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    native = subprocess.run([output / "program", *words], capture_output=True, text=True, check=True)
    assert done.stdout == native.stdout
    return done.stderr


def test_info_tells_how_often_it_fell_back(sizes: Path) -> None:
    assert info(sizes)["entries"] == 0
    run(sizes)
    run(sizes, "20000", "1", "an argument that no loop needs")
    run(sizes, "20000", "1", "and one that sizes a log, which the loop does not touch", "40")
    found = info(sizes)
    assert (found["runs"], found["used"], found["entries"], found["reasons"]) == (3, 3, 3, {})
    run(sizes, "20000", "2")
    run(sizes, "19999")
    found = info(sizes)
    assert (found["runs"], found["used"], found["entries"]) == (5, 3, 5)
    assert set(found["reasons"]) >= {"an index array of 20000 entries has other values"}
    done = subprocess.run([*COMMAND, "info", str(sizes)], capture_output=True, text=True, check=True)
    assert "used in 3 of 5 entries, fell back in 2" in done.stdout


@pytest.mark.parametrize("words", [("20000", "2"), ("19999", "1")])
def test_a_guard_that_fails_loads_nothing_heavy(words: tuple[str, ...], sizes: Path) -> None:
    """One line on stderr on request, and no library but the interpreter's own: that was most of what a refusal cost."""
    said = run(sizes, *words, option="-v").splitlines()
    assert len([line for line in said if "scope 0: " in line]) == 1
    assert "s are left of its loop: no inspection can pay" in said[1]
    code = (
        "import os, sys\nfrom tracecut.support.process import load_and_run as host\nwas = host.run_main\n"
        "def seen(library, argv, place):\n    host.at_exit(lambda: os.write(2, repr(sorted(sys.modules)).encode()))\n"
        "    was(library, argv, place)\nhost.run_main = seen\n"
        f"from tracecut.cli.main import main\nmain({['run', str(sizes), '--threads', '1', '--', *words]!r})\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert "'tracecut.codegen.runtime.light_host'" in done.stderr
    assert "'numpy'" not in done.stderr and "'tracecut.codegen.runtime.host'" not in done.stderr


def test_counts_of_many_at_once_and_of_another_result(optimized: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(use_counts, "PATIENCE", HUNG)  # a program at its end waits for a second, and goes uncounted
    listing = read_listing(optimized)
    found = {"scopes": {"1": {"entries": 2, "used": 1, "refused": "of something"}}}
    threads = [threading.Thread(target=lambda: record(optimized, listing, found=found)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = read_usage(optimized, listing)
    assert (counts["runs"], counts["entries"], counts["used"], counts["reasons"]) == (20, 40, 20, {"of something": 20})
    assert sorted(path.name for path in optimized.iterdir() if "runs" in path.name) == [RUNS]
    (optimized / "canonical.ll").write_text("; another")
    seal(optimized, listing)
    with opened(optimized) as other:
        assert read_usage(optimized, other)["runs"] == 0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"of": 1}', "\0" * 100])
def test_damaged_counts_start_again(text: str, optimized: Path) -> None:
    listing = read_listing(optimized)
    (optimized / RUNS).write_text(text)
    assert read_usage(optimized, listing)["runs"] == 0
    record(optimized, listing, native="it is faster")
    assert read_usage(optimized, listing)["reasons"] == {"it is faster": 1}


def test_a_folder_that_can_not_be_written_costs_only_the_counts(optimized: Path, tmp_path: Path) -> None:
    listing = read_listing(optimized)
    (optimized / f".{RUNS}.{os.getpid()}").mkdir()
    record(optimized, listing, native="it is faster")
    record(tmp_path / "nowhere", listing, native="it is faster")
    assert read_usage(optimized, listing)["runs"] == 0
