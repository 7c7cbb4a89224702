"""Lengths of rows that are asked for through another pointer to their table, by the hot loop and by one beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.codegen.schedule.check import copies
from tracecut.support.errors import ScheduleError, UnsupportedError
from tracecut.tracer.legality.row_checks import reads_own_table

from .checking import check
from .harness import Inspected, trace
from .woven_programs import run_woven, woven

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
typedef struct { long n; int **out, **in; } Graph; /* of an undirected graph, one table is both */
int main(void)
{
    Graph *g = malloc(sizeof *g);
    g->n = 400;
    int *next = malloc(sizeof *next * 3 * 400);
    int **volatile table = g->in = malloc(sizeof *g->in * 401); /* the compiler does not see that it is one */
    g->out = table;
    for (int v = 0; v < 400; v++) {
        g->in[v] = next;
        for (int k = 0; k < 1 + v % 3; k++)
            *next++ = (v * 167 + k * 31) % 400;
    }
    g->in[400] = next;
    long *x = malloc(8 * 400), *y = malloc(8 * 400), *share = malloc(8 * 400);
    for (int v = 0; v < 400; v++)
        x[v] = v % 13, y[v] = 0;
    for (int t = 0; t < 6; t++) {
        for (long v = 0; v < g->n; v++)
            share[v] = x[v] BESIDE;
        for (long v = 0; v < g->n; v++) { // @rows
            long sum = 0;
            for (int *to = g->in[v]; to < g->in[v + 1]; to++)
                sum += share[*to];
            y[v] = (y[v] + sum HOT) & 4095;
        }
        for (long v = 0; v < g->n; v++)
            x[v] = (x[v] + y[v]) & 1023;
        printf("%d\\n", t);
    }
    long sum = 0;
    for (int v = 0; v < 400; v++)
        sum = sum * 31 + y[v];
    printf("%ld\\n", sum);
    return 0;
}
"""
LENGTH = "* (g->out[v + 1] - g->out[v])"


def rows(folder: Path, beside: str, hot: str) -> Inspected:
    subject = trace(SOURCE.replace("BESIDE", beside).replace("HOT", hot), folder)
    region = subject.loop("rows")
    return subject.inspect_in("rows", region, subject.scopes_of(region)[0])


def test_a_loop_beside_the_hot_one_reads_the_table_itself(tmp_path: Path) -> None:
    item = rows(tmp_path, LENGTH, "")
    plan = item.inspection.plan
    assert item.scope != item.region and item.inspection.gathered(item.region) == (1, 0)
    modes = {region: {use.mode for use in uses} for region, uses in plan.uses.items()}
    assert modes.pop(item.region) >= {"offsets", "segment"} and {"moved", "old"} in modes.values()
    ran = run_woven(item.program, woven([item], [item.schedule(item.random(3))]))
    assert ran.code == 0 and ran.stdout == item.program.native_output and ran.used[str(item.scope)] == 1


def test_a_loop_beside_it_that_reads_both_ways_stays_as_it_is(tmp_path: Path) -> None:
    item = rows(tmp_path, f"{LENGTH} + (g->in[v + 1] - g->in[v])", "")
    assert item.inspection.verdicts[item.region].movable and item.inspection.gathered(item.region) == (0, 1)


def test_the_hot_loop_does_not_read_both_ways(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="pointers to rows are read as something else"):
        rows(tmp_path, "", LENGTH)


def test_the_checker_knows_what_a_copy_of_the_table_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers: a plan that lets a load of pointers read them is stopped."""
    item = rows(tmp_path, LENGTH, "")
    schedule, loads = item.schedule(item.random(3)), item.inspection.accesses.memory.rows.loads
    check(item, schedule)
    monkeypatch.setattr(
        copies, "reads_own_table", lambda found, access: access.site.key in loads or reads_own_table(found, access)
    )
    with pytest.raises(ScheduleError, match="numbers in the places of pointers"):
        check(item, schedule)
