"""Loops beside the regions that keep the program's own numbers: what they reach has moved, and they look it up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tracecut.codegen.host.lookups import lookup_places
from tracecut.codegen.runtime.reinspect import Reinspector, in_the_places_of
from tracecut.codegen.schedule.plan.base_pointer_groups import instruction_of
from tracecut.codegen.schedule.schedule import Lookup, Schedule
from tracecut.codegen.schedule.schedule_json import schedule_arrays, schedule_in, schedule_out
from tracecut.support.errors import ScheduleError, UnsupportedError
from tracecut.tracer.loops.flatten_rows import unflattened

from .checking import Subject, check
from .conftest import PROGRAMS
from .harness import Inspected, Program, trace
from .woven_programs import run_woven, woven

NAME = "lookups"
# Mark → moved array (by its bytes) → how many loads and stores look their record up.
FOUND: dict[str, dict[str, int]] = {
    "largest": {"1600": 1},
    "first_above": {"1600": 1},
    "listed": {"1600": 4},
    "running_sum": {"1600": 2},
    "every_seventh": {"1600": 2},
    "neighbours": {"1600": 5},
    "points_sorted": {"3200": 9, "1600": 0},
    "two_arrays": {"3200": 3, "3200+1600": 3},
    "swapped_sum": {"1600": 4},
    "in_passing": {"1600": 3},
    "probed": {"1600": 3},
}
Catalogue = Callable[[str], Program]


@pytest.fixture(scope="module")
def items(program: Catalogue) -> dict[str, Inspected]:
    return {mark: program(NAME).inspect(mark, tuned=True) for mark in program(NAME).lines}


@pytest.mark.parametrize("mark", FOUND)
def test_what_looks_its_records_up(items: Mapping[str, Inspected], mark: str) -> None:
    item, plan = items[mark], items[mark].inspection.plan
    assert item.scope != item.region and not item.kept
    assert {name for name, mode in item.modes.items() if mode == "moved"} == FOUND[mark].keys()
    assert sum(map(len, plan.lookups.values())) == sum(FOUND[mark].values())


def test_the_programs_print_what_they_print(program: Catalogue, items: Mapping[str, Inspected]) -> None:
    for seed in range(3):
        schedules = [item.schedule(item.random(seed + place)) for place, item in enumerate(items.values())]
        made = woven(list(items.values()), schedules, name=f"lookups-{seed}")
        ran = run_woven(program(NAME), made)
        assert (ran.code, ran.stdout) == (0, program(NAME).native_output)
        assert all(ran.used.values())


def test_stores_are_found_in_the_program_as_it_is(items: Mapping[str, Inspected]) -> None:
    """The scope was understood with numbers in the places of row pointers: more instructions stand in its blocks."""
    item = items["beside_rows"]
    analysis, tables = item.program.compiled.analysis, item.captured.tables
    view = analysis.view_of(item.scope)
    keys = unflattened(analysis.module, view, tables)
    (store,) = (
        key for found in item.schedule(item.random(1)).lookups for key in found.sites if key.startswith("store")
    )
    assert keys[store] != store
    assert instruction_of(view, keys[store]).op == "store"
    assert unflattened(analysis.module, view, ()) == {}


def test_records_without_a_border_are_left(program: Catalogue) -> None:
    """Nothing is promised of addresses in records that begin anywhere; and numbers of nodes are read as they are."""
    scope = program(NAME).scopes_of(program(NAME).loop("packed"))[0]
    found = program(NAME).inspect_in("packed", program(NAME).loop("packed"), scope)
    assert "carries a value" in found.kept["1800"] and not found.inspection.plan.lookups.get(2)
    scope = program(NAME).scopes_of(program(NAME).loop("own_numbers"))[0]
    found = program(NAME).inspect_in("own_numbers", program(NAME).loop("own_numbers"), scope)
    assert not [field for space in found.inspection.plan.spaces for field in space.fields]


def changed(schedule: Schedule, **changes: object) -> Schedule:
    first, *others = schedule.lookups
    return replace(schedule, lookups=(replace(first, **changes), *others))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mark", "changes", "why"),
    [
        ("listed", {"sites": ()}, "reached at .* by the program's own numbers"),
        ("first_above", {"move": -1}, "by the program's own numbers"),
        ("points_sorted", {"align": 32}, "looked up at .* may cross the border"),
        ("points_sorted", {"align": 2}, "looked up at .* may cross the border"),
        ("largest", {"stride": 16}, "looks records of another size up"),
        ("largest", {"align": 3}, "aligned to 3 bytes"),
        ("largest", {"move": 9}, "an array that does not move"),
    ],
)
def test_the_checker_looks_at_them_itself(subject: Subject, mark: str, changes: dict[str, object], why: str) -> None:
    item = subject(NAME, mark)
    schedule = item.schedule(item.random(1))
    check(item, schedule)
    if mark == "points_sorted":
        places = [place for place, found in enumerate(schedule.lookups) if found.stride == 16]
        assert places == [0]
    with pytest.raises(ScheduleError, match=why):
        check(item, changed(schedule, **changes))


def test_no_iteration_takes_records_in_both_ways(subject: Subject) -> None:
    item = subject(NAME, "neighbours")
    schedule = item.schedule(item.random(1))
    seven = [found for found in schedule.lookups if len(found.sites) > 1]
    for found in seven:
        for key in found.sites:
            wrong = replace(found, sites=tuple(name for name in found.sites if name != key))
            lookups = tuple(wrong if other is found else other for other in schedule.lookups)
            with pytest.raises(ScheduleError, match="looks others of them up"):
                check(item, replace(schedule, lookups=lookups))


def test_a_schedule_file_holds_them(subject: Subject) -> None:
    item = subject(NAME, "two_arrays")
    schedule = item.schedule(item.random(1))
    assert len(schedule.lookups) == 2
    assert schedule_in(schedule_out(schedule), schedule_arrays(schedule)).lookups == schedule.lookups


def test_an_access_asks_all_arrays_that_it_may_reach(subject: Subject) -> None:
    item = subject(NAME, "two_arrays")
    analysis, nest = item.program.compiled.analysis, item.inspection.accesses.nest
    schedule = item.schedule(item.random(1))
    found = lookup_places(analysis.view_of(item.scope), nest, schedule.lookups, {})
    assert sorted(len(asked) for asked in found.values()) == [2, 2, 2]


A, B = Lookup(("a", "b"), 0, 8, 8), Lookup(("c",), 1, 8, 4)


def test_lookups_of_a_new_schedule_take_the_places_that_code_has() -> None:
    assert in_the_places_of([B, A], [A, B]) == (A, B)
    less = Lookup(("c",), 0, 8, 2)
    assert in_the_places_of([less], [A, B]) == (replace(A, move=-1), replace(B, move=0))  # aligned as the code says
    assert in_the_places_of([], [A]) == (replace(A, move=-1),)
    odd = [Lookup(("d",), 0, 8, 8), Lookup(("a",), 0, 16, 8), Lookup(("a", "c"), 0, 8, 8), Lookup(("c",), 0, 8, 8)]
    for wrong in odd:
        with pytest.raises(UnsupportedError, match="look up other records now"):
            in_the_places_of([wrong], [A, B])
    with pytest.raises(UnsupportedError):
        in_the_places_of([A, replace(A, move=1)], [A])


SIZES = """
int main(int argc, char **argv)
{
    long more = argc > 1 ? atol(argv[1]) : 0, data = DATA + more;
    int *a = ints(JOBS, data), *b = ints(JOBS, data);
    long *x = longs(data, 1000), *r = longs(data, 1000), *w = longs(JOBS, 9);
    for (int t = 0; t < 6; t++) {
        for (long j = 0; j < JOBS; j++) { // @hot
            r[a[j]] += w[j] * (x[b[j]] - x[a[j]]);
        }
        long sum = 0;
        for (long v = 0; v < data; v++) {
            sum = (sum * 3 + r[v]) & 1023;
            x[v] = sum;
        }
    }
    show("x", x, data);
    show("r", r, data);
    return 0;
}
"""


@pytest.mark.parametrize("more", [0, 70])
def test_other_input_is_looked_up_by_the_same_code(more: int, tmp_path: Path) -> None:
    subject = trace((PROGRAMS / "prelude.h").read_text() + SIZES, tmp_path)
    item = subject.inspect("hot", tuned=True)
    library, files, names = woven([item], [item.schedule(item.random(3))])
    costs = {"original": 5.0, "optimized": 0.0, "inspect": 0.0, "copy": 0.0, "sweeps": 1.0}
    made = (library, [replace(file, costs=costs) for file in files], names)
    native = run_woven(subject, made, argv=[str(more)], enabled=False)
    ran = run_woven(subject, made, argv=[str(more)], inspect=Reinspector())
    assert (ran.code, ran.stdout) == (0, native.stdout)
    assert ("inspected anew" in ran.stderr) == bool(more)
    counts = ran.report["regions"][str(item.region)]
    assert (counts["declined"], counts["calls"]) == ((1, 5) if more else (0, 6))


MUCH = """
int main(int argc, char **argv)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 1000), *r = longs(DATA, 1000), *w = longs(JOBS, 9);
    for (int t = 0; t < 60; t++) {
        for (long j = 0; j < JOBS; j++) { // @hot
            r[a[j]] += w[j] * (x[b[j]] - x[a[j]]);
        }
        long sum = 0;
        for (long v = 0; v < DATA; v += 2) {
            sum = (sum * 3 + r[v]) & 1023;
            x[v] = sum;
        }
    }
    show("x", x, DATA);
    show("r", r, DATA);
    return 0;
}
"""


def test_the_layout_is_left_to_see_whether_that_is_quicker(tmp_path: Path) -> None:
    """Costs by which sweeps gain nothing: whatever is done beside them then outweighs it."""
    subject = trace((PROGRAMS / "prelude.h").read_text() + MUCH, tmp_path)
    item = subject.inspect("hot", tuned=True)
    library, files, names = woven([item], [item.schedule(item.random(3))])
    for original, tried in ((1.0, True), (1e12, False)):
        costs = {"original": original, "optimized": 1.0, "inspect": 0.0, "copy": 0.0, "sweeps": 1.0}
        made = (library, [replace(file, costs={**costs, "original": original + 1e-9}) for file in files], names)
        for how in ({}, {"inspect": Reinspector()}):
            ran = run_woven(subject, made, **how)
            assert (ran.code, ran.stdout) == (0, subject.native_output)
            counts = ran.report["regions"][str(item.region)]
            assert (counts["declined"] >= 2) == tried and counts["calls"] >= 4
