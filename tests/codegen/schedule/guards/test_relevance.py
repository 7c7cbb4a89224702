"""Numbers that no order depends on: a loop beside the regions that runs another number of times voids no schedule."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tracecut.codegen.schedule.guards import relevance
from tracecut.ir.loops.expressions import Pool
from tracecut.ir.loops.path_conditions import ALWAYS

from ...harness import Inspected, trace
from ...woven_programs import Ran, run_woven, woven

# Arguments: entries of the log, how many of the values are scaled, how many are gathered, steps.
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int logged = atoi(argv[1]), scaled = atoi(argv[2]), n = atoi(argv[3]), steps = atoi(argv[4]);
    double *x = malloc(600 * sizeof *x), *y = calloc(2000, sizeof *y), *log = calloc(1000, sizeof *log);
    int *from = malloc(600 * sizeof *from);
    for (int i = 0; i < 600; i++) x[i] = i, from[i] = (int)(i * 7919L % 600);
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < n; i++) y[i] += x[from[i]]; // @gather
        for (int i = 0; i < scaled; i++) x[i] *= 1.5;
        for (int i = 0; i < logged; i++) LOG[i] += 0.5 * step;
    }
    double sum = 0;
    for (int i = 0; i < 600; i++) sum += i * x[i];
    for (int i = 0; i < 2000; i++) sum += i * y[i];
    for (int i = 0; i < 1000; i++) sum += i * log[i];
    printf("%.17g\\n", sum);
    return 0;
}
"""
TRACED = ["50", "600", "600", "4"]
LOGS = {"log": "log", "behind": "(y + 700)"}


@pytest.fixture(scope="module", params=list(LOGS))
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Inspected]:
    """The log in memory of its own, and behind what the region writes."""
    name: str = request.param
    folder: Path = tmp_path_factory.mktemp(name)
    program = trace(SOURCE.replace("LOG", LOGS[name]), folder, argv=TRACED)
    item = program.inspect("gather")
    assert item.scope != item.region and "moved" in item.modes.values(), item.kept
    return name, item


def ran(item: Inspected, words: list[str], *, enabled: bool = True) -> Ran:
    return run_woven(item.program, woven([item], [item.schedule(item.random(1))]), argv=words, enabled=enabled)


CASES = {
    "as traced": (TRACED, True, ""),
    "more steps": (["50", "600", "600", "9"], True, ""),
    "a longer log": (["51", "600", "600", "4"], None, "it was 50"),
    "a log ten times as long": (["500", "600", "600", "4"], None, "it was 50"),
    "no log": (["0", "600", "600", "4"], None, "it was"),
    "fewer values scaled": (["50", "599", "600", "4"], False, "is 599, it was 600"),
    "none scaled": (["50", "0", "600", "4"], False, "it was"),
    "fewer gathered": (["50", "600", "599", "4"], False, "is 599, it was 600"),
}


@pytest.mark.parametrize("case", CASES)
def test_only_what_the_order_depends_on_is_compared(subject: tuple[str, Inspected], case: str) -> None:
    """`None`: the schedule is used where the log has an object of its own, and refused where it has not."""
    name, item = subject
    words, expected, why = CASES[case]
    found, native = ran(item, words), ran(item, words, enabled=False)
    assert (found.code, found.stdout) == (0, native.stdout)
    used = name == "log" if expected is None else expected
    assert list(found.used.values()) == [int(used)], found.stderr
    assert used or why in found.stderr


def test_a_number_that_something_else_mentions_is_compared(tmp_path: Path) -> None:
    """The log is as long as the region's loop."""
    text = SOURCE.replace("LOG", "log").replace("i < logged", "i < n")
    program = trace(text, tmp_path, argv=TRACED)
    item = program.inspect("gather")
    found = ran(item, ["50", "600", "599", "4"])
    assert list(found.used.values()) == [0] and "is 599, it was 600" in found.stderr


def test_what_a_loop_leaves_behind_mentions_how_often_it_runs() -> None:
    pool = Pool()
    counted = pool.make("trip", (64, "slt", False, 0), (pool.const(0), pool.const(1), pool.live("%n", "i64")))
    loops = {
        0: SimpleNamespace(trip=None, reach=ALWAYS, early=()),
        1: SimpleNamespace(trip=counted, reach=ALWAYS, early=()),
    }
    site = SimpleNamespace(loop=0, address=pool.left(1, 0), length=None, reach=ALWAYS)
    nest: Any = SimpleNamespace(loops=loops, sites=(site,))
    assert counted in relevance._expressions(nest, [0])
    nest.sites = ()
    assert counted not in relevance._expressions(nest, [0])
