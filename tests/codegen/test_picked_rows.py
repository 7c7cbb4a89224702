"""Rows behind pointers that no index picks alone: which loops over them may be reordered, and why others may not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.support.errors import ScheduleError
from tracecut.tracer.loops.row_numbers import is_number

from .harness import Inspected

Catalogue = Callable[[str], dict[str, Inspected | str]]


@pytest.mark.parametrize("mark", ["computed", "computed_sums", "skipping"])
def test_rows_that_are_picked_in_any_way_are_read_where_they_lie(inspected: Catalogue, mark: str) -> None:
    """`test_equivalence.py` runs them in any order."""
    item = inspected("picked")[mark]
    assert not isinstance(item, str), item
    assert item.verdict == "reduction" and item.scope != item.region
    memory = item.inspection.accesses.memory
    uses = item.inspection.plan.uses[item.region]
    modes = {use.mode for use in uses if item.inspection.plan.arrays[use.array].object in memory.rows.numbers.values()}
    assert modes == {"old"}
    item.schedule(item.random(1))


@pytest.mark.parametrize("mark", ["conditioned", "flagged", "in_rows", "summed_in_rows", "moved_between"])
def test_where_pointers_stand_is_known_behind_rows_and_conditions(inspected: Catalogue, mark: str) -> None:
    item = inspected("picked")[mark]
    assert not isinstance(item, str), item
    assert item.verdict == "reduction"
    assert (item.scope == item.region) == (mark == "moved_between")
    item.schedule(item.random(1))


@pytest.mark.parametrize("mark", ["corners", "one_block"])
def test_tables_that_lead_to_common_rows_are_one(inspected: Catalogue, mark: str) -> None:
    item = inspected("picked")[mark]
    assert not isinstance(item, str), item
    assert item.verdict == "reduction"
    rows = item.inspection.accesses.memory.rows
    assert len(rows.arenas) + len(set(rows.own.values())) == 1
    item.schedule(item.random(1))


@pytest.mark.parametrize(
    ("mark", "pointers"),
    [("searched", (0, 200)), ("searched_behind", (8, 9)), ("searched_in_moving", (0, 200))],
)
def test_rows_of_what_a_search_finds_are_guarded(inspected: Catalogue, mark: str, pointers: tuple[int, int]) -> None:
    """Those that the searches find, where the run tells which these are: then all that they compare is guarded.

    Else all pointers that come in question: in another run one of them may lead nowhere.
    """
    item = inspected("picked")[mark]
    assert not isinstance(item, str), item
    accesses = item.inspection.accesses
    assert item.verdict == "reduction" and (item.scope == item.region) == (mark == "searched_in_moving")
    ((arena, columns),) = accesses.memory.rows.columns.items()
    table = columns[0][1]
    number = item.guarded[1].index(accesses.memory.rows.numbers[table])
    ranges = [(load.offset, load.count) for load in item.guarded[0].loads if load.object == number]
    assert pointers in ranges, arena
    if pointers != (0, table.size // 8):
        guarded = {item.guarded[1][load.object] for load in item.guarded[0].loads}
        read = {access.object for access in accesses.all() if access.site.loop != item.region}
        assert len(read) == 1 and read <= guarded  # the keys; what they are compared with, too
        assert sum(load.count == 600 for load in item.guarded[0].loads) == 2
    item.schedule(item.random(1))


@pytest.mark.parametrize(("mark", "tables"), [("never", 1), ("never_any", 0), ("once_more", 2)])
def test_tables_of_which_no_row_is_reached_stay_as_they_are(inspected: Catalogue, mark: str, tables: int) -> None:
    """But not those of which a later sweep reaches some."""
    item = inspected("picked")[mark]
    assert not isinstance(item, str), item
    assert item.verdict == "reduction" and len(item.inspection.accesses.memory.rows.arenas) == tables
    item.schedule(item.random(1))


def test_what_is_read_by_an_index_with_new_numbers_is_read_where_it_lies(inspected: Catalogue) -> None:
    """A copy would be read by the new ones."""
    item = inspected("picked")["backwards"]
    assert not isinstance(item, str), item
    memory, plan = item.inspection.accesses.memory, item.inspection.plan
    assert any(field for space in plan.spaces for field in space.fields)
    modes = {
        use.mode for use in plan.uses[item.region] if plan.arrays[use.array].object in memory.rows.numbers.values()
    }
    assert modes == {"old"}
    item.schedule(item.random(1))


def test_an_element_may_be_updated_twice(inspected: Catalogue) -> None:
    item = inspected("picked")["twice"]
    assert not isinstance(item, str), item
    assert item.verdict == "reduction"
    item.schedule(item.random(1))


@pytest.mark.parametrize("mark", ["missing", "of_data"])
def test_data_are_asked_where_a_pointer_leads_nowhere_without_them(inspected: Catalogue, mark: str) -> None:
    item = inspected("picked")[mark]
    assert not isinstance(item, str), item
    assert item.verdict == "reduction" and item.inspection.use_data
    item.schedule(item.random(1))


@pytest.mark.parametrize("numbers", [True, False])
def test_the_checker_wants_them_to_be_reached_by_their_own_pointers(inspected: Catalogue, numbers: bool) -> None:
    """Code with the program's own pointer in place of that of a copy."""
    item = inspected("picked")["computed_sums"]
    assert not isinstance(item, str), item
    schedule, plan, arenas = item.schedule(item.random(1)), item.inspection.plan, item.inspection.accesses.memory.rows
    names = {found.name for found in arenas.arenas}
    damaged = [
        replace(group, root="") if (is_number(group.sites[0]) if numbers else group.root in names) else group
        for group in item.cut_out[0][item.region]
    ]
    assert damaged != item.cut_out[0][item.region]
    groups = {**item.cut_out[0], item.region: damaged}
    with pytest.raises(ScheduleError, match="by another pointer"):
        check_schedule(schedule, item.guarded[1], item.inspection.accesses, groups, plan.movable)


REFUSED = {
    "missing_now": "rows in memory that is not known are reached at",
    "moving_in_rows": "it is not known which rows behind pointers are reached at",
    "one_and_the_same": "both touch the allocation of",
    "two_tables": "pointers to rows are loaded from several objects",
    "changing_table": "pointers to rows are written at",
    "searched_with_holes": "it is not known which rows behind pointers are reached at",
    "searched_and_written": "it is not known which element is written: its index is a value that a loop leaves behind",
    "twice_and_seen": "both touch",
    "shared_rows": "both touch @tc.rows0, byte",
}


@pytest.mark.parametrize(("mark", "why"), REFUSED.items(), ids=REFUSED)
def test_why_others_are_not(inspected: Catalogue, mark: str, why: str) -> None:
    item = inspected("picked")[mark]
    said = item if isinstance(item, str) else item.inspection.verdicts[item.region].reason
    assert why in said and (isinstance(item, str) or not item.inspection.verdicts[item.region].movable)
