"""Pointers into one array of records: the array stands for their arena, and is reached otherwise, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.row_arenas import SharedRowsError, flatten_memory, start_of_array
from tracecut.tracer.legality.row_columns import FlatScope
from tracecut.tracer.legality.row_records import record_units

from .test_row_arenas import NAMES, ONE, ROWS, case, number, read, world

pytestmark = pytest.mark.quick

RECORD = 24
POINTED = replace(ONE, records=True)


def scope(pointers: Sequence[int], objects: dict[int, int], *tables: object) -> FlatScope:
    """`objects`: address → bytes of it."""
    data = {base: np.arange(size // 4, dtype=np.int32) for base, size in objects.items()}
    subject = case(len(pointers))
    memory = world(pointers, [1] * len(pointers), data)
    return FlatScope(subject.nest, tables or (POINTED,), memory, NAMES, single=False)  # type: ignore[arg-type]


def at(records: Sequence[int], behind: int = 0) -> list[int]:
    return [ROWS + RECORD * record + behind for record in records]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.sampled_from([0, 4, 8]))
@settings(deadline=None)
def test_what_is_reached_is_what_the_pointers_lead_to(records: list[int], behind: int) -> None:
    pointers = at(records, behind)
    subject, found = case(len(pointers)), scope(pointers, {ROWS: 10 * RECORD})
    flat = flatten_memory(found)
    assert flat.lives["@tc.rows0"] == ROWS + behind % ONE.unit and not flat.memory.rows.arenas and not flat.written
    (own,) = flat.memory.rows.records
    assert (own.base, own.size) == (ROWS, 10 * RECORD) and flat.memory.find(ROWS) == own
    values = Evaluation(subject.nest, flat.memory, {**NAMES, **flat.lives}).at(subject.value, 1)
    wanted = [(pointer - ROWS) // 4 for pointer in pointers]
    assert values.all_known and np.array_equal(np.broadcast_to(values.data, len(wanted)), wanted)


@pytest.mark.parametrize(
    ("records", "behind", "unit"), [([0, 3, 2], 0, RECORD), ([4, 6, 2], 8, 2 * RECORD), ([5, 5], 8, 240)]
)
def test_numbers_count_what_pointers_are_apart(records: list[int], behind: int, unit: int) -> None:
    """Wherever in a record they lead to; where all of them are one, it is all of the array."""
    pointers = at(records, behind)
    found = scope(pointers, {ROWS: 10 * RECORD})
    assert record_units(found) == {"@tc.rows0": unit}
    table = replace(POINTED, unit=unit)
    start = start_of_array(table, found.in_units(found.nest, (table,)).columns(table), found.known)
    assert start is not None and all((pointer - start) % unit == 0 and start <= pointer for pointer in pointers)
    assert ROWS <= start < ROWS + unit


@pytest.mark.parametrize(
    ("pointers", "table"),
    [
        ([*at([1, 2]), 0], POINTED),  # null
        ([*at([1, 2]), ROWS + 4096], POINTED),  # into another array
        (at([1, 2]), replace(POINTED, null_checked=True)),
        (at([1, 2]), ONE),  # pieces, which are copied in the order of the jobs
    ],
)
def test_other_rows_are_copied(pointers: list[int], table: object) -> None:
    flat = flatten_memory(scope(pointers, {ROWS: 10 * RECORD, ROWS + 4096: 2 * RECORD}, table))
    assert not flat.memory.rows.own and len(flat.memory.rows.arenas) == 1


def test_an_array_that_stays_is_not_copied_for_another_table() -> None:
    """Where one table leads into it alone, and another one elsewhere, too, both have one copy."""
    other = replace(POINTED, arena="@tc.rows1", loads=("%q.row",))
    subject = case(2)
    row = number(subject.pool, "%q", 16, 8)
    distance = subject.pool.op("mul", "i64", row, subject.pool.const(4))
    start = subject.pool.op("add", "ptr", subject.pool.live("@tc.rows1", "ptr"), distance)
    subject = case(2, read("%q.row", row.args[0], False), read("%d", start, False), pool=subject.pool)
    objects = {ROWS: np.zeros(60, np.int32), ROWS + 4096: np.zeros(60, np.int32)}
    for second, shared in ((at([3, 4]), False), ([*at([3]), ROWS + 4096], True)):
        memory = world([*at([1, 2]), *second], [1, 1], objects)
        found = FlatScope(subject.nest, (POINTED, other), memory, NAMES, single=False)
        if shared:
            with pytest.raises(SharedRowsError):
                flatten_memory(found)
        else:
            assert flatten_memory(found).memory.rows.own == {"@tc.rows0": ROWS, "@tc.rows1": ROWS}


def test_a_pointer_that_is_no_whole_number_of_units_away_is_refused() -> None:
    table = replace(POINTED, unit=RECORD)
    with pytest.raises(UnsupportedError, match="middle of an element"):
        flatten_memory(scope([*at([1, 2]), ROWS + 8], {ROWS: 10 * RECORD}, table))
