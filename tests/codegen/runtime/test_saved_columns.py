"""Where pointers to rows stand, as a schedule's file tells it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tracecut.codegen.runtime.rows.saved_columns import SavedColumn, behind_each_other, columns_in, columns_out

pytestmark = pytest.mark.quick

PLACES = np.array([0, 24, 8], np.int64)


def column(arena: str, within: str = "") -> SavedColumn:
    return SavedColumn(arena, (f"%{arena}.row",), 1, PLACES, within=within)


def test_columns_are_read_as_they_were_written() -> None:
    columns = [column("a"), replace(column("b", "a"), in_place=True, offsets=np.arange(0, 48, 16))]
    found = columns_in(*columns_out(columns))
    for one, other in zip(columns, found, strict=True):
        assert np.array_equal(one.offsets, other.offsets)
        assert (one.arena, one.loads, one.pointer, one.in_place, one.within) == (
            other.arena,
            other.loads,
            other.pointer,
            other.in_place,
            other.within,
        )


@pytest.mark.parametrize(
    ("columns", "order"),
    [
        ([column("a"), column("b")], ["a", "b"]),
        ([column("c", "b"), column("b", "a"), column("a")], ["a", "b", "c"]),
        ([column("b", "a"), column("a"), column("b")], ["a", "b"]),  # in a table and in rows
        ([column("a", "b"), column("b", "a")], None),
        ([column("a"), column("a", "a")], None),  # rows that lead to each other
    ],
)
def test_rows_that_hold_pointers_come_first(columns: list[SavedColumn], order: list[str] | None) -> None:
    assert behind_each_other(list(dict.fromkeys(item.arena for item in columns)), columns) == order
