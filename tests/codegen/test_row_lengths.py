"""Lengths of rows that are asked for through another pointer to their table, by the hot loop and by one beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tracecut.support.errors import ScheduleError

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


def test_a_loop_beside_the_hot_one_has_copies_of_the_table(tmp_path: Path) -> None:
    item = rows(tmp_path, LENGTH, "")
    plan = item.inspection.plan
    assert item.scope != item.region and item.inspection.gathered(item.region) == (1, 0)
    modes = {region: {use.mode for use in uses} for region, uses in plan.uses.items()}
    assert modes.pop(item.region) >= {"offsets", "segment"} and {"moved", "direct"} in modes.values()
    ran = run_woven(item.program, woven([item], [item.schedule(item.random(3))]))
    assert ran.code == 0 and ran.stdout == item.program.native_output and ran.used[str(item.scope)] == 1


@pytest.mark.parametrize("beside", [True, False])
def test_a_loop_reads_the_table_both_ways(tmp_path: Path, beside: bool) -> None:
    item = rows(tmp_path, f"{LENGTH} + (g->in[v + 1] - g->in[v])" if beside else "", "" if beside else LENGTH)
    ran = run_woven(item.program, woven([item], [item.schedule(item.random(3))]))
    assert ran.code == 0 and ran.stdout == item.program.native_output and ran.used[str(item.scope)] == 1


def test_the_checker_wants_numbers_to_come_from_a_copy(tmp_path: Path) -> None:
    item = rows(tmp_path, LENGTH, "")
    schedule, loads = item.schedule(item.random(3)), item.inspection.accesses.memory.rows.loads
    check(item, schedule)
    numbered = {group.id for group in item.cut_out[0][item.region] if set(group.sites) & loads}
    regions = [
        replace(region, bases={group: copy for group, copy in region.bases.items() if group not in numbered})
        if region.region == item.region
        else region
        for region in schedule.regions
    ]
    with pytest.raises(ScheduleError, match=r"reached by the new numbers"):
        check(item, replace(schedule, regions=tuple(regions)))
