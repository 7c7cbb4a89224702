"""What a program can change around a rescheduled loop, and look at behind it, is what it would be without us.

One program, some 200 cases, each a line of all that can be seen; started in two ways, on one and two threads, with the
schedule and, on other input, without it.
"""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from tracecut.codegen.runtime.schedule_listing import first_look
from tracecut.codegen.schedule.inspector import cut_into_blocks

from tracecut import __version__
from tracecut.pipeline.output.staging import seal

from ...waiting import HUNG
from ..harness import Inspected, Program, trace
from ..woven_programs import woven

PROGRAMS = Path(__file__).parents[1] / "programs"
MARKS = ["divide", "widely", "adding"]
# What Python, the loader, the C library, OpenMP and the linear algebra of NumPy look at.
VARIABLES = {
    **dict.fromkeys(["PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER", "PYTHONNOUSERSITE"], "1"),
    "PYTHONHASHSEED": "5",
    "PYTHONWARNINGS": "error",
    "PYTHONUTF8": "0",
    "PYTHONOPTIMIZE": "2",
    "LD_BIND_NOW": "1",
    "LD_LIBRARY_PATH": "/nowhere",
    "MALLOC_ARENA_MAX": "1",
    "GLIBC_TUNABLES": "",
    "OMP_NUM_THREADS": "7",
    "OPENBLAS_NUM_THREADS": "3",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "COLUMNS": "20",
}


def oddly() -> None:
    """A process that is started with little, and with much that is unusual."""
    os.close(0)
    os.umask(0o027)
    os.nice(3)
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (920, 1000))
    resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, 6 << 20))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])


STARTS: dict[str, dict[str, Any]] = {
    "plainly": {"stdin": subprocess.DEVNULL},
    "oddly": {"preexec_fn": oddly, "env": {**os.environ, **VARIABLES}},
    # the program waits for an inspection
    "on one CPU": {"preexec_fn": lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})},
}
# Kind of result, input, way of starting it. What is inspected anew is so on other input; one way of starting is enough.
CASES = [
    *(
        (kind, mode, start)
        for kind in ("1 thread", "2 threads")
        for mode in ("same", "other")
        for start in ("plainly", "oddly")
    ),
    ("1 thread, inspected anew", "other", "on one CPU"),
]


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Program:
    parts = [(PROGRAMS / name).read_text() for name in ("prelude.h", "surroundings.c")]
    return trace("#define _GNU_SOURCE\n" + "".join(parts), tmp_path_factory.mktemp("surroundings"), argv=["same"])


@pytest.fixture(scope="module")
def loops(subject: Program) -> list[Inspected]:
    return [subject.inspect(mark) for mark in MARKS]


@pytest.fixture(scope="module")
def results(subject: Program, loops: list[Inspected]) -> Callable[[str], Path]:
    """A folder of results of each kind, made when it is first asked for."""
    return cache(partial(result, subject, loops))


def result(subject: Program, loops: list[Inspected], kind: str) -> Path:
    """A folder of results in which jobs and data are in random order, for so many threads."""
    threads = int(kind[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut_into_blocks, "MIN_JOBS", 1)
        patch.setattr(cut_into_blocks, "WIDTH_A_THREAD", math.inf)
        schedules = [item.schedule(item.random(place), threads) for place, item in enumerate(loops)]
    regions = [region for schedule in schedules for region in schedule.regions]
    assert all(region.blocks.widest() >= threads for region in regions)
    assert threads == 1 or any(region.privates for region in regions)
    library, scopes, names = woven(loops, schedules, threads=threads, name=kind)
    folder = subject.folder / f"result {kind}"
    (folder / "scopes").mkdir(parents=True)
    shutil.copy(subject.compiled.native, folder / "program")
    shutil.copy(library, folder / "program.so")
    looks = []
    places = [f"scopes/{scope.number}.npz" for scope in scopes]
    for scope, place in zip(scopes, places, strict=True):
        price = 0.0 if "anew" in kind else 1e9
        scope = replace(scope, costs={**scope.costs, "inspect": price})
        scope.save(folder / place)
        look = first_look(scope, place, folder)
        if "anew" in kind:  # how long the loops will go on is not known: loading what inspects may always pay
            look |= {"sweeps": None, "traced_sweeps": None}
        looks.append(look)
    listing = {"tracecut": __version__, "threads": threads, "reduce": "fast", "globals": names, "scopes": places}
    listing |= {"guards": looks}
    seal(folder, listing)
    return folder


@pytest.mark.parametrize(("kind", "mode", "start"), CASES)
def test_two_hundred_cases(
    kind: str, mode: str, start: str, loops: list[Inspected], results: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = results(kind)
    counters = tmp_path / "counters.json"
    options = ["--threads", kind[0], "--counters", str(counters)]
    hosted = [sys.executable, "-P", "-m", "tracecut", "run", str(folder), *options, "--", mode]
    answers = []
    for command in ([str(folder / "program"), mode], hosted):
        done = subprocess.run(command, capture_output=True, timeout=HUNG, check=False, cwd=tmp_path, **STARTS[start])
        assert (done.returncode, done.stderr) == (0, b"")
        answers.append(done.stdout.decode().splitlines())
    expected, found = answers
    assert len(expected) >= 200
    differing = [different(a, b) for a, b in zip(expected, found, strict=True) if a != b]
    assert not differing, f"{len(differing)} differ: " + "; ".join(differing[:40])
    scopes = json.loads(counters.read_text())["scopes"]
    for item in loops:
        counts = scopes[str(item.scope)]
        fell_back = mode == "other" and "anew" not in kind
        assert counts["used"] == 0 if fell_back else counts["used"] >= 0.8 * counts["entries"], counts


def different(native: str, ours: str) -> str:
    """Name of a case, and the words in which its lines differ."""
    words = [(a, b) for a, b in zip(native.split(), ours.split(), strict=False) if a != b]
    return f"{native.split(':')[0]} {words[:4]}"
