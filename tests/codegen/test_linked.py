"""Pointers to records of an array that is reached by number, too: which arrays stand for their arena, and move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.codegen.schedule.plan import index_spaces
from tracecut.support.errors import ScheduleError

from .checking import check
from .children import in_child
from .harness import Inspected, Program
from .kernels.running import check as run_kernels
from .replays import load

NODES, EDGES, CELLS = 200 * 32, 600 * 24, 200 * 40  # bytes
Catalogue = Callable[[str], dict[str, Inspected | str]]


def loop(inspected: Catalogue, mark: str) -> Inspected:
    item = inspected("linked")[mark]
    assert not isinstance(item, str), item
    return item


@pytest.mark.parametrize(
    ("mark", "bytes_"),
    [
        ("springs", NODES),
        ("triangles", NODES),  # two tables
        ("members", NODES),
        ("from_the_second", NODES),
        ("with_loops", NODES),
        ("upwards", NODES),
        ("apart", NODES),
        ("beside", NODES),
        ("written_beside", NODES),
        ("cells", CELLS),
        ("cells_summed", CELLS),
        ("cells_counted", 200 * 64),
    ],
)
def test_the_array_moves_where_it_lies(inspected: Catalogue, mark: str, bytes_: int) -> None:
    """In a layout that holds over all sweeps, loops over the array by number among them."""
    item = loop(inspected, mark)
    rows = item.inspection.accesses.memory.rows
    assert rows.own and not rows.arenas and {record.size for record in rows.records} == {bytes_}
    assert item.modes[str(bytes_)] == "moved" and item.scope != item.region
    check(item, item.schedule(item.random(1)))


@pytest.mark.parametrize("mark", ["some_null", "two_arrays"])
def test_what_leads_elsewhere_too_is_copied(inspected: Catalogue, mark: str) -> None:
    """For one sweep alone: what was copied is reached by number in none."""
    item = loop(inspected, mark)
    rows = item.inspection.accesses.memory.rows
    assert not rows.own and rows.arenas and item.scope == item.region


@pytest.mark.parametrize("mark", ["vertices", "vertices_push"])
def test_lists_of_pointers_are_copied_and_hold_numbers(inspected: Catalogue, mark: str) -> None:
    item = loop(inspected, mark)
    memory = item.inspection.accesses.memory
    (arena,) = memory.rows.arenas
    tables = {table for columns in memory.rows.columns.values() for _, table, _ in columns}
    assert arena in tables and len(tables) == 2 and memory.rows.own and item.modes["6400"] == "moved"
    assert [mode for name, mode in item.modes.items() if name.startswith(arena.name.removeprefix("@"))] == ["segment"]
    assert item.scope != item.region
    check(item, item.schedule(item.random(1)))


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ("vertices_apart", "pointers to different rows are compared"),
        ("vertices_changing", "pointers to rows are written at"),
    ],
)
def test_what_is_done_with_the_pointers_of_lists_is_refused(inspected: Catalogue, mark: str, why: str) -> None:
    refused = inspected("linked")[mark]
    assert isinstance(refused, str) and refused.startswith(why)


def test_numbers_in_rows_are_reached_by_the_rows_own_pointer(inspected: Catalogue) -> None:
    item = loop(inspected, "vertices")
    accesses, groups = item.inspection.accesses, item.cut_out[0][item.region]
    (arena,) = accesses.memory.rows.arenas
    damaged = [replace(group, root="%elsewhere") if group.root == arena.name else group for group in groups]
    assert damaged != groups
    schedule, plan = item.schedule(item.random(1)), item.inspection.plan
    with pytest.raises(ScheduleError, match="by another pointer"):
        check_schedule(schedule, item.guarded[1], accesses, {**item.cut_out[0], item.region: damaged}, plan.movable)


def test_records_with_lists_of_pointers_to_each_other_are_written(inspected: Catalogue) -> None:
    """They go back with their own pointers; numbers stand in a copy of their arena."""
    item = loop(inspected, "agents")
    rows = item.inspection.accesses.memory.rows
    (written,) = (arena for arena in rows.arenas if arena in rows.numbers)
    assert written in rows.records and len(rows.arenas) == 2 and not rows.own and item.scope != item.region
    check(item, item.schedule(item.random(1)))


def test_kernels_find_what_stands_beside_the_pointers(inspected: Catalogue) -> None:
    """In the table; the numbers are in a copy of it. Also where all is reached in the program's order."""
    loaded = load([loop(inspected, "springs")])
    (found,) = in_child(lambda: run_kernels(loaded, strict=False)).values()
    assert found["original"] == found["swap-indirect"] == found["swap"] == "", found


def test_a_pointer_that_changes_ends_the_layout(inspected: Catalogue) -> None:
    item = loop(inspected, "rewired")
    assert item.inspection.accesses.memory.rows.own and item.scope == item.region


def test_a_table_whose_pointers_are_read_where_they_are_stays(inspected: Catalogue) -> None:
    item = loop(inspected, "table_moves")
    why = [found for found in item.kept.values() if found.startswith("a loop that runs as it is reads its pointers at")]
    assert len(why) == 1 and not any(
        mode == "moved" for name, mode in item.modes.items() if name.startswith(str(EDGES))
    )


def test_the_checker_wants_it_to_stay(
    program: Callable[[str], Program], inspected: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert loop(inspected, "table_moves")
    monkeypatch.setattr(index_spaces, "read_by_pointers", lambda facts: {})
    item = program("linked").inspect("table_moves")
    with pytest.raises(ScheduleError, match="pointers of a table that moves are read at"):
        check(item, item.schedule(item.random(1)))
