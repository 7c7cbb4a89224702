"""Numbers in the places of row pointers: where a flattened program reads them.

It reads them from a copy of the table of the pointers. What else stands in the table, and is read and written beside
them, stays where it is. How far the copy lies behind the table is known while a scope is in force alone, so the address
of such a number is that of the pointer plus a live value.
"""

from __future__ import annotations

from tracecut.ir.loops.expressions import Expr, Pool

ROW = ".row"  # behind the name of a pointer: its number
BEHIND = "@tc.behind"  # in front of the name of a number: bytes from the table to its copy


def is_number(name: str) -> bool:
    """Whether a value is a number in the place of a pointer."""
    return name.endswith(ROW)


def read_at(pool: Pool, name: str, address: Expr) -> Expr:
    """Where a load of this name reads."""
    return pool.op("add", "ptr", address, pool.live(BEHIND + name, "i64")) if is_number(name) else address
