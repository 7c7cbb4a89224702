"""Rows behind pointers in an entry of a scope whose schedule says where their pointers stand. Light.

Makes what `legality/row_arenas.py` makes, without an evaluation of the scope's loops: the copies of the rows, and of
their tables with numbers in the places of the pointers.
"""

from __future__ import annotations

import ctypes
import math

from tracecut.codegen.schedule.guards.differences import named
from tracecut.codegen.schedule.schedule import ANY_SIZE
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.runtime.buffers import Block
from tracecut.tracer.runtime.fingerprint_key import Secret
from tracecut.tracer.runtime.row_tables import Column, Entry, RowTables

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from tracecut.tracer.runtime.binding import Native
    from tracecut.tracer.runtime.row_tables import Arena

ROOM = 16  # bytes in front of the first row, as in `row_arenas.py`


class WrittenRows:
    """Rows that go back to the program; as `row_arenas.CopiedRows`."""

    def __init__(self, arena: int, rows: Arena) -> None:
        self.arena = arena
        self.bases, self.sizes, self.starts = rows.places, rows.parts, rows.starts


class EnteredRows:
    """The rows that a scope reaches, as the listing describes their tables (`saved_columns.listed_tables`).

    Args:
        listed: these. words: what the scope's pointers are called. array: reads an array of the schedule's file.
    """

    def __init__(
        self, listed: Sequence[Mapping[str, Any]], words: Sequence[str], array: Callable[[str], Block]
    ) -> None:
        self._listed, self._words, self._array = listed, words, array
        self._buffers: dict[str, Block] = {}
        self._secret = Secret.draw()
        self.arenas: dict[str, Entry] = {}
        self.starts: dict[str, int] = {}  # of arenas, and of arrays of the program that stand for one
        self.copies: dict[int, Entry] = {}
        self.behind: dict[str, int] = {}
        self.written: list[WrittenRows] = []
        self.ranges: list[tuple[int, int]] = []
        self._copied: list[tuple[int, Arena]] = []
        self._seen: object = None  # what the copies depend on but for the bytes of the rows

    @property
    def pointers(self) -> set[int]:
        """The pointers that lead to tables."""
        return {column["pointer"] for column in self._tables()}

    def _tables(self, *, within: bool = False) -> list[Mapping[str, Any]]:
        """The columns in tables of the program, or those in rows."""
        return [column for item in self._listed for column in item["columns"] if bool(column["within"]) == within]

    def refreshed(self, leads: Mapping[int, Entry | None], native: Native, *, threads: int) -> bool:
        """Copy the rows again, if all pointers are as they were. The objects have to be as they were, too.

        Not where rows hold pointers: these have to be looked up again.
        """
        if self._seen is None or self._tables(within=True) or self._looks(leads, native) != self._seen:
            return False
        for address, rows in self._copied:
            native.gather(address, rows.places, rows.parts, rows.starts, threads=threads)
        return True

    def _looks(self, leads: Mapping[int, Entry | None], native: Native) -> object:
        """Where the tables lie, and fingerprints of their pointers."""
        found = []
        for column in self._tables():
            lead, even = leads[column["pointer"]], column["even"]
            if lead is None:
                return None
            first, count, stride, width = (even[0], column["count"], even[1], 8) if even else (0, lead.size, 1, 1)
            print_ = native.fingerprint(lead.base + first, count, stride, width, self._secret)
            found.append((lead.base, lead.size, print_))
        return found

    def enter(self, tables: RowTables, leads: Mapping[int, Entry | None], native: Native, *, threads: int) -> str:
        """Copy the rows; "" when that is done, else what differs.

        tables: the objects of the program. leads: the object that each of `pointers` leads to.

        Raises UnsupportedError where the rows are not as a schedule needs them, MemoryError.
        """
        self.arenas, self.copies, self.behind, self.written, self.ranges, self._copied = {}, {}, {}, [], [], []
        self.starts = {}
        self._seen = None
        for column in self._tables():
            lead, size = leads[column["pointer"]], column["bytes"]
            if lead is None or size not in (ANY_SIZE, lead.size):
                words = named("pointer", self._words[column["pointer"]], column["pointer"])
                return f"the object of {words} has {lead.size if lead else 0} bytes, it had {size}"
            if lead.base not in self.copies:
                copy = self._room(f"table {column['pointer']}", int(lead.size))
                self.copies[lead.base] = Entry(copy.address, lead.size)
            self.behind |= dict.fromkeys(column["loads"], self.copies[lead.base].base - lead.base)
        self.behind |= {name: 0 for column in self._tables(within=True) for name in column["loads"]}
        for item in self._listed:
            self._copy_rows(tables, item, leads, native, threads)
        tables.require_no_row(list(self.copies))
        self._seen = self._looks(leads, native)
        return ""

    def _copy_rows(
        self,
        tables: RowTables,
        item: Mapping[str, Any],
        leads: Mapping[int, Entry | None],
        native: Native,
        threads: int,
    ) -> None:
        columns = [self._column(column, leads.get(column["pointer"])) for column in item["columns"]]
        if item["in_place"]:
            base, _, start = tables.in_place(columns, item["unit"])
            self.starts[item["arena"]] = base + start
            return
        step = math.lcm(16, item["unit"])
        used = None if item["used"] is None else self._array(item["used"])
        first, null_checked = ROOM // 16 * step, item["null_checked"]
        rows = tables.arena(columns, item["unit"], first, step, used, null_checked=null_checked)
        arena = self._room(item["arena"], rows.size)
        native.gather(arena.address, rows.places, rows.parts, rows.starts, threads=threads)
        self.arenas[item["arena"]] = Entry(arena.address, rows.size)
        self.starts[item["arena"]] = arena.address
        self._copied.append((arena.address, rows))
        if item["back"]:
            self.written.append(WrittenRows(arena.address, rows))
            self.ranges += tables.ranges(rows)

    def _column(self, listed: Mapping[str, Any], lead: Entry | None) -> Column:
        arena = self.arenas.get(listed["within"])
        lead = arena or lead
        assert lead is not None
        if arena is not None and arena.size != listed["bytes"] != ANY_SIZE:
            raise UnsupportedError(f"rows that hold pointers have {arena.size} bytes, they had {listed['bytes']}")
        first, stride = listed["even"] or (0, 0)
        offsets = self._array(listed["offsets"]).address if listed["even"] is None else None
        copy = arena or self.copies[lead.base]
        return Column(lead.base, lead.size, copy.base, first, stride, listed["count"], offsets, listed["pair"])

    def _room(self, name: str, size: int) -> Block:
        """A place for a copy, the same one in each entry as long as it fits; its bytes are 0."""
        kept = self._buffers.get(name)
        if kept is None or kept.bytes != size:
            self._buffers[name] = Block.room(size, 1)
        else:
            ctypes.memset(kept.address, 0, kept.bytes)
        return self._buffers[name]

    def spread(self, native: Native, *, threads: int) -> None:
        """Put the rows that the scope has written back in their places."""
        for rows in self.written:
            native.spread(rows.arena, rows.bases, rows.sizes, rows.starts, threads=threads)
