"""Use of a saved schedule: evaluates its guard and prepares its code without analysing any loop again.

`schedule_listing.py` wrote into the listing where each pointer of the scope comes from: a slot that the hook hands
over, a global, or memory behind another pointer. What comes from elsewhere is left to the host that knows the scope
(`host.py`). Light: neither NumPy nor any analysis is loaded.
"""

from __future__ import annotations

import ctypes
import json
from functools import cached_property

from tracecut.codegen.schedule.guards.check_guard import check_guard
from tracecut.codegen.schedule.guards.recipes import computed, converted, signed
from tracecut.codegen.schedule.schedule_json import guard_in, outlined_in, schedule_in
from tracecut.support.errors import ScheduleError
from tracecut.support.process.own_stack import own_stack, variables_on
from tracecut.tracer.runtime.buffers import Block
from tracecut.tracer.runtime.fingerprint_key import Secret
from tracecut.tracer.runtime.hook_slots import named_numbers
from tracecut.tracer.runtime.row_tables import Entry, RowTables

from .executor import RegionCode
from .rows.entered_rows import EnteredRows
from .shared_mappings import require_own

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from tracecut.codegen.schedule.schedule import Schedule
    from tracecut.tracer.runtime.binding import Native

    from .active_layouts import Written

WIDTHS = {**dict.fromkeys(("order", "jobs", "lengths", "waves"), ctypes.c_int32), "bounds": ctypes.c_int64}
WIDTHS |= dict.fromkeys(("used", "offsets"), ctypes.c_int64)
MANY = 1 << 14  # objects of a program, of which a look at all of them costs as much as finding one


class Objects:
    """The objects of the program that are alive in one entry of a scope. Each has a single `Entry`.

    Args:
        stack: arrays on the stack that are live into the scope. tables: all are looked at once, and then found one by
            one; for rows behind pointers, and where there are many. Otherwise each look goes through all of them.
    """

    def __init__(
        self, library: ctypes.CDLL, names: Sequence[str], stack: Sequence[tuple[int, int]], *, tables: bool = False
    ) -> None:
        self._library = library
        self._named: list[tuple[str, int, int]] = []
        if names:
            table = (ctypes.c_uint64 * (2 * len(names))).in_dll(library, "tc_globals")
            self._named = [(name, table[2 * place], table[2 * place + 1]) for place, name in enumerate(names)]
        places = [(base, size) for _, base, size in self._named] + list(stack)
        self._others = (Entry * max(1, len(places)))(*(Entry(*place) for place in places))
        self._count = len(places)
        self._made: dict[int, Entry] = {}
        self.tables = RowTables(library, places) if tables else None
        self.own: list[Entry] = []  # that stand for rows

    def find(self, addresses: Sequence[int]) -> list[Entry | None]:
        """The object that each address lies in, None where there is none or where objects overlap."""
        count = len(addresses)
        if self.tables is not None:
            own = [next((item for item in self.own if 0 <= at - item.base < item.size), None) for at in addresses]
            return [
                mine or (self._made.setdefault(base, Entry(base, size)) if size else None)
                for mine, (base, size) in zip(own, self.tables.find(addresses), strict=True)
            ]
        found = (Entry * max(1, count))()
        asked = (ctypes.c_uint64 * max(1, count))(*addresses)
        self._library.tc_find(asked, ctypes.c_size_t(count), self._others, ctypes.c_size_t(self._count), found)
        return [self._made.setdefault(item.base, item) if item.size else None for item in found[:count]]

    def bytes_at(self, address: int, count: int) -> bytes | None:
        """What is stored there, None when that is not all in one object."""
        item = self.find([address])[0]
        if item is None or address + count > item.base + item.size:
            return None
        return ctypes.string_at(address, count)

    def named(self, name: str) -> int:
        """Address of a global, 0 when it is no object."""
        bases = [base for known, base, size in self._named if known == name and size]
        item = self.find([min(bases)])[0] if bases else None
        return 0 if item is None else int(item.base)


class SavedSchedule:
    """A schedule of the listing.

    Args:
        listed: its entry. names: of the program's globals. read: the bytes of its file, which are those that were
            written; raises when they are not.
    """

    def __init__(
        self, listed: Mapping[str, Any], library: ctypes.CDLL, names: Sequence[str], read: Callable[[str], bytes]
    ) -> None:
        self.listed = listed
        self.guard = guard_in(listed["guard"])
        self.complete = bool(listed["complete"])
        self.numbers = {int(loop): int(number) for loop, number in listed["regions"].items()}
        self.secret = Secret(bytes.fromhex(listed["secret"]))
        self._library, self._names, self._read = library, names, read
        self._schedule: Schedule | None = None
        self._kept: tuple[object, Objects] | None = None  # of the last entry: as long as nothing was allocated since
        self.rows = EnteredRows(listed["tables"], listed["pointers_made"], self._array) if listed["tables"] else None
        self._outlined: dict[int, Any] = {}
        self._symbols: dict[int, int] = {}

    @property
    def written(self) -> Sequence[Written]:
        """Rows that go back to the program when the layout is left."""
        return () if self.rows is None else self.rows.written

    def differs(
        self, raw: Sequence[int], native: Native, *, threads: int = 1
    ) -> tuple[Objects, list[Entry] | None, str]:
        """The objects of the guard, or what the schedule was not made for. `raw`: what the hook handed over.

        With a guard that is not complete it is a first look: the rest is for the host to ask. `threads`: copy rows.
        """
        variables = [(raw[place], size) for place, size in self.listed["stack"]]
        lent = self.listed["lent"]
        stack = own_stack() if variables or lent else (0, 0)
        variables = variables_on(stack, variables)
        rows, lives = self.rows, named_numbers(self.listed["values"], raw)
        many = rows is not None or self._library.tc_objects(None, None, 0) > MANY
        known = Objects(self._library, self._names, variables, tables=many) if lent or rows is None else None
        for recipe, size in lent:  # each may lead to the next; most lead to no stack
            address = None if known is None else self.value(recipe, raw, known)
            if address is not None and stack[0] <= address < stack[1]:
                variables = variables_on(stack, [*variables, (address, size)])
                known = Objects(self._library, self._names, variables, tables=many)
        if rows is None:
            assert known is not None
            objects = known
        else:
            objects, why = self._enter_rows(rows, raw, variables, native, threads, known)
            if why:
                return objects, None, why
        recipes = self.listed["pointers"]
        addresses = [self.value(recipe, raw, objects) for recipe in recipes]
        held = objects.find([address or 0 for address in addresses])
        placed = [
            None if item is None or address is None else (item, address - item.base)
            for item, address in zip(held, addresses, strict=True)
        ]

        def require(found: Sequence[Entry]) -> None:
            places = [(int(item.base), int(item.size)) for item in found]
            back = [] if rows is None else rows.ranges
            require_own([*places, *back], [*(places[number] for number in self.listed["moved"]), *back])

        def address_of(item: Entry, offset: int) -> int:
            return int(item.base) + offset

        return objects, *check_guard(
            self.guard,
            lives,
            addresses,
            placed,
            address_of,
            native,
            self.secret,
            made=self.listed["made"],
            pointers_made=lambda: self.listed["pointers_made"],
            require=require,
            numbers=lambda item: None if rows is None else rows.copies.get(item.base),
        )

    def _enter_rows(
        self,
        rows: EnteredRows,
        raw: Sequence[int],
        variables: Sequence[tuple[int, int]],
        native: Native,
        threads: int,
        known: Objects | None,
    ) -> tuple[Objects, str]:
        """The objects of the program with those that stand for rows, or what differs. `known`: if somebody looked."""
        seen = (ctypes.c_uint64.in_dll(self._library, "tc_generation").value, variables)
        recipes, pointers = self.listed["pointers"], list(rows.pointers)

        def leads(objects: Objects) -> dict[int, Entry | None]:
            found = objects.find([self.value(recipes[pointer], raw, objects) or 0 for pointer in pointers])
            return dict(zip(pointers, found, strict=True))

        if self._kept is not None and self._kept[0] == seen:
            objects = self._kept[1]
            if rows.refreshed(leads(objects), native, threads=threads):
                return objects, ""
        objects = known or Objects(self._library, self._names, variables, tables=True)
        assert objects.tables is not None
        self._kept = None
        if why := rows.enter(objects.tables, leads(objects), native, threads=threads):
            return objects, why
        objects.own = [*rows.arenas.values(), *rows.copies.values()]
        self._kept = seen, objects
        return objects, ""

    def value(self, recipe: Any, raw: Sequence[int], objects: Objects) -> int | None:
        """What is found as a recipe says (`guards/recipes.py`); None for what cannot be read."""
        if isinstance(recipe, int):
            return int(raw[recipe])
        kind, first, *rest = recipe
        if kind == "global":
            return objects.named(first)
        if kind == "arena":
            return None if self.rows is None else self.rows.starts[first]
        if kind == "const":
            return int(first)
        if kind == "slot":
            return signed(int(raw[first]), rest[0])
        if kind == "cast":
            number = self.value(rest[2], raw, objects)
            return None if number is None else converted(first, rest[0], rest[1], number)
        if kind == "op":
            a, b = (self.value(part, raw, objects) for part in rest[1:])
            return None if a is None or b is None else computed(first, rest[0], a, b)
        base = self.value(first, raw, objects)
        if base is None:
            return None
        if kind == "behind":
            return None if self.rows is None else base + self.rows.behind[rest[0]]
        found = objects.bytes_at((base + rest[0]) % (1 << 64), rest[1] // 8 if kind == "number" else 8)
        return None if found is None else int.from_bytes(found, "little", signed=kind == "number")

    @cached_property
    def _file(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of the schedule's file. Raises what `read` raises."""
        data = self._read(self.listed["file"])
        places = self.listed["members"]
        start, size = places["meta"]
        meta = json.loads(data[start : start + size])
        arrays = {}
        for name, (start, count) in places.items():
            if name != "meta":
                kind = WIDTHS[name.rpartition("_")[2]]
                arrays[name] = (kind * count).from_buffer_copy(data, start) if count else (kind * 0)()
        return meta, arrays

    def _array(self, name: str) -> Block:
        return Block.of(self._file[1][name], "i8")

    @property
    def schedule(self) -> Schedule:
        """Read when it is asked for the first time. Raises what `read` raises, and ScheduleError."""
        if self._schedule is None:
            meta, arrays = self._file
            self._outlined = {int(loop): outlined_in(found) for loop, found in meta["outlined"].items()}
            chosen = meta["options"].get("variant")
            for loop, found in self._outlined.items():
                name = chosen if chosen and loop == meta["options"]["region"] else found.name
                address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
                if not address:
                    raise ScheduleError(f"the program has no function {name}")
                self._symbols[loop] = address
            self._schedule = schedule_in(meta["schedule"], arrays)
        return self._schedule

    def codes(self, raw: Sequence[int], objects: Objects) -> dict[int, RegionCode]:
        """Code of each region with the pointers and numbers that it has to see in this entry of the scope."""
        codes = {}
        lives = named_numbers(self.listed["values"], raw)
        names = [name for name, _ in self.listed["values"]]
        for region in self.schedule.regions:
            listed = self.listed["codes"][str(region.region)]
            expected = {}
            for place, recipe in listed["expected"]:
                found = lives[names[recipe]] if isinstance(recipe, int) else self.value(recipe, raw, objects)
                if found is not None:
                    expected[place] = int(found)
            roots = {int(group): self.value(recipe, raw, objects) or 0 for group, recipe in listed["roots"].items()}
            fixed = {int(group): roots[int(group)] for group in listed["fixed"]}
            codes[region.region] = RegionCode(
                self._symbols[region.region], self._outlined[region.region], fixed, expected, roots
            )
        return codes
