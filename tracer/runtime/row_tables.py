"""Rows behind pointers of the running program as one array each: `rows.c` as Python sees it. Light.

What such an array is says `legality/row_arenas.py`, which makes the same of captured memory, and of programs whose
pointers have to be looked for; here it is known where they stand.
"""

from __future__ import annotations

import ctypes

from tracecut.support.errors import UnsupportedError

from .buffers import Block

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE = 1 << 12
NO_MEMORY = -1
WHY = {
    -2: "pointers to rows are loaded from several objects",
    -3: "rows behind pointers lie in memory that is not known",
    -4: "rows behind pointers are reached through two tables",
    -5: "pointers to different rows are compared",
    -6: "rows behind pointers lie in memory that is not known",
    -7: "rows behind pointers begin in the middle of an element",
    -8: "rows behind pointers hold pointers to rows",
    -9: "pointers to rows do not all lead into one array",
}


class Entry(ctypes.Structure):
    """An object of the program; mirrors the C structure of the same name."""

    _fields_ = [("base", ctypes.c_uint64), ("size", ctypes.c_uint64)]


class Column(ctypes.Structure):
    """Where the pointers of a table stand; mirrors the C structure of the same name.

    `table`, `bytes`: the object that they lie in. `copy`: where the numbers go. `first`, `stride`, `count` or `offsets`
    (an address): places in the table. `pair`: an earlier column of pointers into the same rows, or −1.
    """

    _fields_ = [
        ("table", ctypes.c_uint64),
        ("bytes", ctypes.c_int64),
        ("copy", ctypes.c_void_p),
        ("first", ctypes.c_int64),
        ("stride", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("offsets", ctypes.c_void_p),
        ("pair", ctypes.c_int64),
    ]


class _Arena(ctypes.Structure):
    _fields_ = [
        ("first", ctypes.c_int64),
        ("count", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("place", "size", "part", "start")),
    ]


class Arena:
    """The rows of one table: their addresses, bytes that are copied, and where they are in an array of `size` bytes.

    Blocks of 8-byte numbers, one a row.
    """

    def __init__(self, library: ctypes.CDLL, made: _Arena, size: int) -> None:
        self._library, self._made, self.size = library, made, size
        self.places, self.parts, self.starts = (
            Block(int(address or 0), int(made.count), 8, self) for address in (made.place, made.part, made.start)
        )

    def __del__(self) -> None:
        self._library.tc_rows_forget(ctypes.byref(self._made))


class RowTables:
    """A look at all objects of a program, to find rows among them. O(objects) when it is made.

    Args:
        library: the program's. others: (address, bytes) of objects that its table of allocations does not know.

    Raises MemoryError.
    """

    def __init__(self, library: ctypes.CDLL, others: Sequence[tuple[int, int]]) -> None:
        self._library = library
        library.tc_rows_open.restype = ctypes.c_void_p
        for name in ("look", "lay_out", "number", "of_rows", "ranges", "in_place"):
            getattr(library, f"tc_rows_{name}").restype = ctypes.c_int64
        given = (Entry * max(1, len(others)))(*(Entry(*place) for place in others))
        made = library.tc_rows_open(given, ctypes.c_size_t(len(others)))
        if not made:
            raise MemoryError("the objects of the program")
        self._handle = ctypes.c_void_p(made)

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._library.tc_rows_close(self._handle)

    def find(self, addresses: Sequence[int]) -> list[tuple[int, int]]:
        """(address, bytes) of the object that each address lies in; no bytes where there is none, or a row."""
        count = len(addresses)
        found = (Entry * max(1, count))()
        asked = (ctypes.c_uint64 * max(1, count))(*addresses)
        self._library.tc_rows_find(self._handle, asked, ctypes.c_size_t(count), found)
        return [(int(item.base), int(item.size)) for item in found[:count]]

    def arena(
        self,
        columns: Sequence[Column],
        unit: int,
        first: int,
        step: int,
        used: Block | None,
        *,
        null_checked: bool = False,
    ) -> Arena:
        """Look the pointers of a table up, lay their rows out, and write the numbers in their places. O(pointers).

        unit: bytes that numbers count. first, step: rows begin at multiples of `step`, the first one at `first`. used:
        bytes of each row that are copied, in order. null_checked: as of `RowTable`.

        Raises UnsupportedError where the rows are not as a schedule needs them, MemoryError.
        """
        given, made = (Column * len(columns))(*columns), _Arena()
        count = ctypes.c_int32(len(columns))
        arena, numbers = ctypes.byref(made), [ctypes.c_int64(value) for value in (first, step, unit)]
        try:
            _checked(self._library.tc_rows_look(self._handle, given, count, arena))
            sizes = (None, 0) if used is None else (used.address, used.count)
            size = self._library.tc_rows_lay_out(
                arena, *numbers[:2], ctypes.c_void_p(sizes[0]), ctypes.c_int64(sizes[1])
            )
            _checked(size)
            asked = ctypes.c_int32(null_checked)
            _checked(self._library.tc_rows_number(self._handle, given, count, arena, numbers[2], asked))
        except BaseException:
            self._library.tc_rows_forget(arena)
            raise
        return Arena(self._library, made, size)

    def in_place(self, columns: Sequence[Column], unit: int) -> tuple[int, int, int]:
        """Write the numbers in the places of pointers that all lead into one array, which is not copied. O(pointers).

        Returns (address, bytes) of the array, and where the numbers begin in it. unit: bytes that numbers count.

        Raises UnsupportedError where a pointer leads elsewhere, or not a whole number of units away from the others.
        """
        found, given = Entry(), (Column * len(columns))(*columns)
        count, bytes_ = ctypes.c_int32(len(columns)), ctypes.c_int64(unit)
        start = self._library.tc_rows_in_place(self._handle, given, count, bytes_, ctypes.byref(found))
        _checked(start)
        return int(found.base), int(found.size), start

    def require_no_row(self, tables: Sequence[int]) -> None:
        """Raise UnsupportedError where a table, by its address, lies in a row."""
        for base in tables:
            _checked(self._library.tc_rows_of_rows(self._handle, ctypes.c_uint64(base)))

    def ranges(self, arena: Arena) -> list[tuple[int, int]]:
        """(first byte, bytes) of the ranges of pages that the copied parts of rows lie in. O(objects)."""
        room = 64
        while True:
            found = (Entry * room)()
            given = (ctypes.byref(arena._made), ctypes.c_uint64(PAGE), found, ctypes.c_int64(room))
            count = int(self._library.tc_rows_ranges(self._handle, *given))
            if count <= room:
                return [(int(item.base), int(item.size)) for item in found[:count]]
            room = count


def _checked(code: int) -> None:
    if code == NO_MEMORY:
        raise MemoryError("rows behind pointers")
    if code < 0:
        raise UnsupportedError(WHY[code])
