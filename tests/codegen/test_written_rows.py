"""Rows behind pointers that a loop writes: what goes back to the program, also after another inspection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.runtime.reinspect import inspect_again
from tracecut.codegen.runtime.schedule_listing import first_look
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.row_arenas import PAGE, CopiedRows, ranges_of

from tracecut.pipeline.stages.tune import scope_exits

from .harness import trace
from .woven_programs import run_woven, woven

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    long **x = malloc(sizeof *x * 40), **y = malloc(sizeof *y * 40), sum = 0;
    for (int i = 39; i >= 0; i--) {
        x[i] = malloc(3 * sizeof **x);
        y[i] = malloc(3 * sizeof **y);
        for (int k = 0; k < 3; k++)
            x[i][k] = i + 100 * k, y[i][k] = 7 * i + k;
    }
    for (int t = 0; t < 9; t++) {
        for (int i = 2; i < 40; i++) // @rows
            if (x[i][0] & 1)
                y[i][0] = 3 * y[i][0] + x[i][0];
        if (t == 3)
            CHANGE;
    }
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 3; k++)
            sum = 31 * sum + x[i][k] + 5 * y[i][k];
    printf("%ld\\n", sum);
    return 0;
}
"""


def inspect_any(host: Any, state: Any, numbers: Any, memory: Any, why: str, per_call: float) -> Any:
    return inspect_again(host, state.file, numbers, memory)


CHANGES = {
    "y[21] = realloc(y[21], 9 * sizeof **y)": True,  # all that is read stays as it is, in a longer row
    "x[20][0] = 41": True,  # one more row is written
    "y[20] = realloc(y[20], 9 * sizeof **y)": False,  # no iteration reaches it
}


@pytest.mark.parametrize(("change", "matters"), CHANGES.items(), ids=["longer", "another", "untouched"])
def test_rows_go_back_as_far_as_they_are_touched(tmp_path: Path, change: str, matters: bool) -> None:
    subject = trace(SOURCE.replace("CHANGE", change), tmp_path, regular=True)
    item = subject.inspect("rows")
    assert item.inspection.verdicts[item.region].movable
    made = woven([item], [item.schedule(item.random(1))])
    for inspect in (None, inspect_any):
        ran = run_woven(subject, made, inspect=inspect)
        assert ran.code == 0 and ran.stdout == subject.native_output
        assert (ran.used[str(item.scope)] > 4) == (inspect is not None or not matters), ran.stderr


SUMS = """
int main(void)
{
    long **row = malloc(DATA * sizeof *row), *block = longs(4 * DATA, 9), **slice = malloc(DATA * sizeof *slice);
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    for (int v = 0; v < DATA; v++) {
        row[v] = longs(4, 9);
        slice[v] = block + 4 * ((v * 77L + 3) % DATA);
    }
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @rows
            row[a[e]][e & 3] += e;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @slices
            slice[b[e]][e & 3] += e + t;
    for (int v = 0; v < DATA; v++)
        show("rows", row[v], 4);
    show("slices", block, 4 * DATA);
    return 0;
}
"""


def test_sums_into_rows_and_slices_in_any_order(tmp_path: Path) -> None:
    subject = trace((Path(__file__).parent / "programs" / "prelude.h").read_text() + SUMS, tmp_path)
    items = [subject.inspect(mark) for mark in ("rows", "slices")]
    assert {item.verdict for item in items} == {"reduction"}
    for seed, threads in ((1, 1), (2, 2), (3, 3)):
        made = woven(items, [item.schedule(item.random(seed), threads) for item in items], threads=threads)
        ran = run_woven(subject, made, cpus=[0] * threads)
        assert (ran.code, ran.stdout, ran.stderr) == (0, subject.native_output, "")
        assert min(ran.used.values()) >= 1


def test_ranges_of_rows_are_whole_pages() -> None:
    bases = np.array([5 * PAGE + 8, 5 * PAGE + 200, 9 * PAGE, 6 * PAGE + 4000], np.int64)
    sizes = np.array([16, 16, 0, 200], np.int64)
    rows = CopiedRows("@tc.rows0", 0, bases, sizes, np.zeros(4, np.int64))
    assert ranges_of(rows) == [(5 * PAGE, 3 * PAGE)]
    cut = rows.up_to({"@tc.rows0": np.array([8, 99, 0, 0], np.int64)})
    assert cut.sizes.tolist() == [8, 16, 0, 0] and ranges_of(cut) == [(5 * PAGE, PAGE)]


TOLD = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void tell(double **x, int t, char how)
{
    printf("%g\\n", x[t][1]);
    if (how == 'm') free(malloc(1000 + t)); /* nothing that is moved, but the table of allocations changes */
    if (how == 'r') x[7] = realloc(x[7], 48); /* the first time it is longer then */
    if (how == 'p') { double *y = x[3]; x[3] = x[4], x[4] = y; }
}
int main(int argc, char **argv)
{
    char how = argc > 1 ? argv[1][0] : 's';
    double **x = malloc(sizeof *x * 60), sum = 0;
    int *to = malloc(sizeof *to * 60), *from = malloc(sizeof *from * 60);
    for (int i = 59; i >= 0; i--)
        x[i] = malloc(32), x[i][0] = i, x[i][1] = 0.5, to[i] = i * 17 % 60, from[i] = i * 7 % 60;
    for (int t = 0; t < 27; t++) {
        for (int i = 0; i < 60; i++) // @told
            x[to[i]][1] += 0.25 * x[from[i]][0];
        if (t % 9 == 8)
            tell(x, t, how);
    }
    for (int i = 0; i < 60; i++) sum += x[i][1] * (i + 1);
    printf("%.17g\\n", sum);
    return 0;
}
"""


@pytest.mark.parametrize("how", ["same", "more", "realloc", "pointers"])
def test_rows_are_looked_up_again_where_something_changed(tmp_path: Path, how: str) -> None:
    """After an exit; where nothing did, they are only copied. Both hosts give the program's own output."""
    subject = trace(TOLD, tmp_path)
    region = subject.loop("told")
    scope = subject.scopes_of(region)[0]
    for exits, _ in scope_exits(subject.compiled.analysis, subject.traced, scope, region):
        try:
            item = subject.inspect_in("told", region, scope, exits)
            break
        except UnsupportedError as error:
            print(exits, error)
    made = woven([item], [item.schedule(item.random(1))])
    look = first_look(made[1][0], "woven-0.npz", tmp_path)
    assert look["complete"] and [table["back"] for table in look["tables"]] == [True]
    expected = run_woven(subject, made, argv=[how], enabled=False).stdout
    sweeps = set()
    for inspect in (None, lambda *asked: None):
        ran = run_woven(subject, made, argv=[how], inspect=inspect)
        assert (ran.code, ran.stdout) == (0, expected), ran.stderr
        sweeps.add(ran.report["regions"][str(item.region)]["calls"])
    assert len(sweeps) == 1 and (9 if how == "realloc" else 27) in sweeps, ran.stderr
