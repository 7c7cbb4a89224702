"""Which variant of a scope is chosen, where several would do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tracecut.codegen.schedule.inspector.inspect_scope import Inspection, inspect_scope
from tracecut.codegen.tuning import inspect_variant
from tracecut.codegen.tuning.choose_scope import ScopeChoice, choose_scope
from tracecut.codegen.tuning.inspect_variant import Captured, Wanted
from tracecut.ir.loops.nest import Nest
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.legality.row_checks import used_parts

from tracecut.pipeline.stages.tune import scope_exits

from ..conftest import PROGRAMS
from ..harness import trace

# A step that an ordered loop follows: never, in every fourth step, or always.
SOURCE = """
int main(int argc, char **argv)
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 1000), *r = longs(DATA, 1000), sum = 0, limit = argc > 1 ? atol(argv[1]) : 0;
    for (int t = 0; t < 12; t++) {
        for (long j = 0; j < JOBS; j++) // @sweep
            r[a[j]] += x[a[j]] & 15;
        for (long i = 0; i < DATA; i++)
            x[i] += r[i] & 3;
        if (WHEN)
            for (long i = 0; i < DATA; i++)
                sum = (sum * 7 + x[i]) & 65535;
    }
    printf("%ld\\n", sum);
    return 0;
}
"""


@pytest.mark.parametrize(
    ("when", "exits", "looks"), [("x[7] < limit", 1, False), ("t % 4 == 0", 0, True), ("x[7] >= limit", 0, True)]
)
def test_loops_that_never_ran_are_exits_rather_than_look_up(when: str, exits: int, looks: bool, tmp_path: Path) -> None:
    inspection = chosen(SOURCE.replace("WHEN", when), tmp_path)
    assert (len(inspection.accesses.nest.exits), bool(inspection.plan.lookups)) == (exits, looks)


# A list that the steps make larger now and then; what it has is added up in every step, or never.
GROWING = """
int main(int argc, char **argv)
{
    int *a = ints(JOBS, DATA), count = 0, room = 0;
    long *x = longs(DATA, 1000), *r = longs(DATA, 1000), *list = NULL, limit = argc > 1 ? atol(argv[1]) : 0, sum = 0;
    for (int t = 0; t < 12; t++) {
        for (long j = 0; j < JOBS; j++) // @sweep
            r[a[j]] += x[a[j]] & 15;
        for (long i = 0; i < DATA; i++)
            x[i] += r[i] & 3;
        if (count == room && !(list = realloc(list, (room = 3 * room + 1) * sizeof *list)))
            abort();
        list[count++] = x[t];
        if (WHEN)
            for (int i = 0; i < count; i++)
                sum += list[i];
    }
    printf("%ld %ld\\n", sum, list[count - 1]);
    return 0;
}
"""


@pytest.mark.parametrize(("when", "apart"), [("x[7] < limit", True), ("x[7] >= limit", False)])
def test_loops_over_a_list_that_never_ran_are_exits(when: str, apart: bool, tmp_path: Path) -> None:
    inspection = chosen(GROWING.replace("WHEN", when), tmp_path, first_entry=3)  # the list lies somewhere then
    nest = inspection.accesses.nest
    written = [site for site in nest.sites if site.writes and site.loop == nest.root and site.type == "i64"]
    assert [site.apart for site in written] == [apart]


# What the steps call may touch any memory.
CALLING = """
int main(int argc, char **argv)
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 1000), *r = longs(DATA, 1000), sum = 0;
    for (int t = 0; t < 12; t++) {
        for (long j = 0; j < JOBS; j++) // @sweep
            r[a[j]] += x[a[j]] & 15;
        sum += system(argc > 1 ? argv[1] : ":");
    }
    printf("%ld\\n", sum + r[7]);
    return 0;
}
"""


def test_a_scope_that_its_text_refuses_is_not_evaluated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looked = []

    def look(nest: Nest, *known: Any, **options: Any) -> Inspection:
        looked.append(nest.root)
        return inspect_scope(nest, *known, **options)

    monkeypatch.setattr(inspect_variant, "inspect_scope", look)
    choice, (outer, region) = choose(CALLING, tmp_path)
    assert choice.chosen is not None and choice.chosen.scope == region and looked == [region]
    assert choice.refused[outer].startswith("the loop contains a call to system")


ROWS = """
int main(int argc, char **argv)
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 1000), **row = malloc(JOBS * sizeof *row);
    for (long j = 0; j < JOBS; j++)
        row[j] = longs(4, 1000);
    for (int t = 0; t < 12; t++)
        for (long j = 0; j < JOBS; j++) // @sweep
            x[a[j]] = TIMES * x[a[j]] + row[j][j & 1];
    printf("%ld\\n", x[7]);
    return 0;
}
"""


@pytest.mark.parametrize(("times", "calls"), [("1", 1), ("3", 0)])
def test_what_is_read_of_rows_is_looked_at_where_a_scope_is_chosen(
    times: str, calls: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Once, and not at all where the iterations keep their order."""
    looked = []

    def look(accesses: Accesses) -> dict[str, Any]:
        looked.append(accesses.nest.root)
        return used_parts(accesses)

    monkeypatch.setattr(inspect_variant, "used_parts", look)
    choice, _ = choose(ROWS.replace("TIMES", times), tmp_path)
    assert choice.chosen is not None and len(looked) == calls
    assert bool(choice.chosen.captured.used_rows) == bool(calls)


def chosen(source: str, folder: Path, **options: int) -> Inspection:
    """The sweep of a program as it is understood in the scope that is chosen for it, the outermost one."""
    choice, scopes = choose(source, folder, **options)
    assert choice.chosen is not None and choice.chosen.scope == scopes[0]
    assert choice.chosen.inspection.enough(scopes[-1])
    return choice.chosen.inspection


def choose(source: str, folder: Path, **options: int) -> tuple[ScopeChoice, list[int]]:
    """What is chosen for the sweep of a program, and its scopes, outermost first."""
    subject = trace((PROGRAMS / "prelude.h").read_text() + source, folder, **options)
    analysis, traced = subject.compiled.analysis, subject.traced
    line = subject.lines["sweep"]
    region = next(item.id for item in analysis.records if item.place.line == line and item.indirect)
    scopes = subject.scopes_of(region)
    found = {str(scope): scope_exits(analysis, traced, scope, region) for scope in scopes if scope != region}
    captured = Captured(analysis, subject.capture(region), region, traced.values)
    wanted = Wanted(True, False, None)
    choice = choose_scope(captured, {"scopes": scopes, "exits": found}, traced.profile.entries, lambda: wanted)
    return choice, scopes
