"""Rows by columns from columns by rows."""

from __future__ import annotations

import numpy as np
from tracecut.support.arrays import Ints, Longs
from tracecut.support.lazy_kernels import kept


@kept
def transposed(offsets: Longs, columns: Ints, count: int) -> tuple[Longs, Ints]:
    """CSR row → columns as CSR column → rows, ascending in each. `count`: columns. O(entries + rows + columns)."""
    begins = np.zeros(count + 1, np.int64)
    for column in columns:
        begins[column + 1] += 1
    for column in range(count):
        begins[column + 1] += begins[column]
    places, rows = begins[:-1].copy(), np.empty(columns.size, np.int32)
    for row in range(offsets.size - 1):
        for k in range(offsets[row], offsets[row + 1]):
            column = columns[k]
            rows[places[column]] = row
            places[column] += 1
    return begins, rows
