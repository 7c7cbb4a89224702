"""Rows behind pointers as records of one size.

A copy of pieces that a scope only reads is copied once more, in the order of the jobs. Rows that it writes stay in
their arena, which is permuted in place as any other array. For that a row has to be one record, and the number in the
place of a pointer the number of that record. So it is where rows are reached at constant distances alone: structures.
"""

from __future__ import annotations

import math

import numpy as np
from tracecut.support.errors import UnsupportedError

from .row_columns import FlatScope

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
        rows, pointers = (
            np.concatenate(part)
            for part in zip(*((c.rows[c.rows >= 0], c.pointers[c.rows >= 0]) for c in columns), strict=True)
        )
        if not rows.size:
            continue
        inside = pointers - known.bases[rows]
        inside = np.unique(inside) if inside.any() else inside[:1]
        named = np.zeros(len(known), np.bool_)
        named[rows] = True
        sizes = known.sizes[named]
        size = int(np.gcd.reduce(inside)) or -(-int(sizes.max()) // 16) * 16
        if size % table.unit == 0 and math.lcm(16, size) * sizes.size <= PADDED * int(sizes.sum()) + 16 * sizes.size:
            found[table.arena] = size
    return found
