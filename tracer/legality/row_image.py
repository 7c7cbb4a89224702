"""Rows behind pointers where they lie in the program's memory: what the original order costs is measured on these."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .evaluation.memory import Object
from .row_arenas import Bytes, Fill, put_nowhere, put_numbers, start_of_array
from .row_columns import FlatScope, in_order

SPREAD = 8  # times the bytes of rows that the memory around them may have


@dataclass(frozen=True, eq=False)
class RowImage:
    """Rows where they lie in the program, for measuring what that costs: one arena for all tables.

    Attributes:
        data: the memory around all rows. tables: object → its bytes, with numbers that lead there.
    """

    data: Bytes
    tables: Mapping[Object, Bytes]


def row_image(scope: FlatScope, fill: Fill) -> RowImage | None:
    """The rows of a flattened nest as they lie in memory; None where that takes far more memory than they have.

    Also where no rows are copied. fill: as of `flatten_memory`.
    """
    known = scope.known
    starts = {table.arena: start_of_array(table, scope.columns(table), known) for table in scope.loads}
    pairs = [(table, column) for table in scope.loads for column in scope.columns(table)]
    found = [(table, column) for table, column in pairs if starts[table.arena] is None]
    if not found:
        return None
    rows = np.sort(in_order([column for _, column in found], len(known)))
    step = math.lcm(16, *(table.unit for table, _ in found))
    low = int(known.bases[rows].min()) // step * step - step
    size, needed = int((known.bases[rows] + known.sizes[rows]).max()) - low, int(known.sizes[rows].sum())
    if size > SPREAD * needed + (1 << 20):
        return None
    data = np.zeros(size, np.uint8)
    fill(data, known.bases[rows], known.sizes[rows], known.bases[rows] - low)
    made: dict[Object, Bytes] = {}
    for table, column in pairs:
        start = starts[table.arena]
        numbers, odd = np.divmod(column.pointers - (low if start is None else start), table.unit)
        put_nowhere(numbers, column, table)
        if odd[column.rows >= 0].any():
            return None
        if column.item is None:  # in rows
            if column.offsets.min() < low or column.offsets.max() + 8 > low + size:
                return None
            put_numbers(data, column.offsets - low, numbers)
            continue
        if column.item not in made:
            whole = scope.memory.bytes_of(column.item)
            assert whole is not None
            made[column.item] = whole.copy()
        put_numbers(made[column.item], column.offsets, numbers)
    return RowImage(data, made)
