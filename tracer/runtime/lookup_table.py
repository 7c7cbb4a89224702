"""The table that lookups in woven code read: where the records of a scope's arrays are. Light.

Its entries are empty while the layout is not in force; what is reached then, or lies elsewhere, is taken where it is.
"""

from __future__ import annotations

import ctypes

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence

    Moved = tuple[int, int, int, int]

NOWHERE = (0, 0, 0, 0)


def table_of(scope: int) -> str:
    """The symbol of a scope's table. `scope`: loop id."""
    return f"tc_lookups_{scope}"


class Entry(ctypes.Structure):
    """Bytes [base, base + size) have moved: record r from base on to start + new[r] · stride."""

    _fields_ = (
        ("base", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("new", ctypes.c_uint64),
        ("start", ctypes.c_uint64),
    )


class LookupTable:
    """The table of one scope.

    Args:
        library: the woven program. scope: loop id. count: entries.
    """

    def __init__(self, library: ctypes.CDLL, scope: int, count: int) -> None:
        self._entries = (Entry * count).in_dll(library, table_of(scope))
        self._next: list[Moved] = []

    def prepare(self, moved: Sequence[Moved]) -> None:
        """What `put` is to write: base, size, new, and start of each entry; `NOWHERE` leaves it empty."""
        self._next = [(base, size, new, start % (1 << 64)) for base, size, new, start in moved]

    def put(self) -> None:
        """The layout is in force."""
        for entry, (base, size, new, start) in zip(self._entries, self._next, strict=True):
            entry.base, entry.new, entry.start = base, new, start
            entry.size = size  # at last: whoever reads an entry asks for its size first

    def clear(self) -> None:
        """It is not any more."""
        for entry in self._entries:
            entry.size = 0
