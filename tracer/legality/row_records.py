"""Rows behind pointers as records of one size.

A copy of pieces that a scope only reads is copied once more, in the order of the jobs. Rows that it writes stay in
their arena, which is permuted in place as any other array. For that a row has to be one record, and the number in the
place of a pointer the number of that record. So it is where rows are reached at constant distances alone: structures.
"""

from __future__ import annotations

import math

import numpy as np
from tracecut.support.errors import UnsupportedError

from .row_arenas import start_of_array
from .row_columns import FlatScope, different

PADDED = 2  # times the bytes of all rows that they may take as records of the longest


def record_units(scope: FlatScope) -> dict[str, int]:
    """Arena → bytes of its records, for the tables of records whose rows are, or are cut into, records of one size.

    O(pointers log objects).
    """
    known = scope.known
    found: dict[str, int] = {}
    for table in scope.loads:
        if not table.records:
            continue
        try:
            columns = scope.columns(table)
        except UnsupportedError:
            continue
        named, apart = np.zeros(len(known), np.bool_), 0
        start = start_of_array(table, columns, known)
        for column in different(columns):
            lead = column.rows >= 0
            rows, pointers = (part if lead.all() else part[lead] for part in (column.rows, column.pointers))
            named[rows] = True
            inside = pointers - (known.bases[rows] if start is None else int(columns[0].pointers[0]))
            apart = math.gcd(apart, int(np.gcd.reduce(np.unique(inside)))) if inside.any() else apart
        if not named.any():
            continue
        sizes = known.sizes[named]
        size = apart or -(-int(sizes.max()) // 16) * 16
        if size % table.unit == 0 and math.lcm(16, size) * sizes.size <= PADDED * int(sizes.sum()) + 16 * sizes.size:
            found[table.arena] = size
    return found
