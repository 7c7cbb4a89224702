"""Lookups in machine code: accesses that keep the program's own numbers find each record where the order has put it.

```
                                p = …                                   (the program's address)
store double %x, ptr %p    →    at = p − base; in = at < size; record = in ? at / stride : 0
                                moved = start + new[record] · stride + at % stride
                                store double %x, ptr (in ? moved : p)
```

One entry of a table for each array (`tracer/runtime/lookup_table.py` fills it): base, size, new, start. Its size is 0
while the layout is not in force, so the code may run anywhere, and on other memory too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracecut.codegen.schedule.schedule import Lookup
from tracecut.ir.llvm import Instruction, Module
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.nest import Nest
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.runtime.lookup_table import table_of

ENTRY = "{ i64, i64, ptr, i64 }"
NOTHING = "@tc.lookup.nothing"  # what the table of an entry that is not in force leads to


@dataclass(frozen=True)
class Looked:
    """An entry of a table that an access asks: the table's global, the entry, bytes of a record."""

    table: str
    entry: int
    stride: int


Places = dict[tuple[str, str, int], list[Looked]]  # (function, block, place in it) of an instruction


def lookup_places(view: FunctionView, nest: Nest, lookups: Sequence[Lookup], keys: Mapping[str, str]) -> Places:
    """The instructions of a scope that ask entries of its table.

    `keys`: site → its key in the program that is woven, where that is another one.
    """
    found: Places = {}
    loads = {site.key: site.load for site in nest.sites if site.load}
    for entry, lookup in enumerate(lookups):
        for key in lookup.sites:
            for name in filter(None, (key, loads.get(key, ""))):
                at = (view.function.name, *_place(view, keys.get(name, name)))
                found.setdefault(at, []).append(Looked(f"@{table_of(nest.root)}", entry, lookup.stride))
    return found


def _place(view: FunctionView, key: str) -> tuple[str, int]:
    """The block of a load or store, and its place in there."""
    if key.startswith("store:"):
        _, block, place = key.split(":")
        return block, int(place)
    made = view.definitions[key]
    instructions = view.flow.blocks[made.block].instructions
    return made.block, next(place for place, item in enumerate(instructions) if item is made.instruction)


def add_lookups(module: Module, places: Places) -> None:
    """Put lookups in front of accesses, in place, and the tables that they ask.

    Places are those in the program as it is: nothing may have been added to its blocks.
    """
    blocks = {name: function.by_name() for name, function in module.functions.items()}
    entries: dict[str, int] = {}
    for item in (item for asked in places.values() for item in asked):
        entries[item.table] = max(entries.get(item.table, 0), item.entry + 1)
    for number, (function, block, place) in enumerate(sorted(places, reverse=True)):  # the last of a block first
        found = blocks[function][block]
        asked = places[function, block, place]
        found.instructions[place : place + 1] = _looked_up(found.instructions[place], f"%tc.look{number}", asked)
    for table, count in entries.items():
        empty = ", ".join([f"{ENTRY} {{ i64 0, i64 0, ptr {NOTHING}, i64 0 }}"] * count)
        module.append(f"{table} = global [{count} x {ENTRY}] [{empty}], align 8")
    if entries:
        module.append(f"{NOTHING} = internal global i32 0, align 4")


def _looked_up(access: Instruction, name: str, asked: Sequence[Looked]) -> list[Instruction]:
    if not access.is_simple_access:
        raise UnsupportedError(f"no record can be looked up in front of `{access.text}`")
    pointer = access.operands[-1].text
    lines = [f"{name}.p = ptrtoint ptr {pointer} to i64"]
    by = "0"  # how far the record has moved; it lies in one array at most
    for number, item in enumerate(asked):
        at = f"{name}.{number}"
        for part, (what, type) in enumerate((("base", "i64"), ("size", "i64"), ("new", "ptr"), ("start", "i64"))):
            field = f"getelementptr (i8, ptr {item.table}, i64 {32 * item.entry + 8 * part})"
            lines.append(f"{at}.{what} = load {type}, ptr {field}, align 8")
        lines += [
            f"{at}.off = sub i64 {name}.p, {at}.base",
            f"{at}.in = icmp ult i64 {at}.off, {at}.size",
            f"{at}.at = select i1 {at}.in, i64 {at}.off, i64 0",
            f"{at}.record = udiv i64 {at}.at, {item.stride}",
            f"{at}.rest = urem i64 {at}.at, {item.stride}",
            f"{at}.place = getelementptr i32, ptr {at}.new, i64 {at}.record",
            f"{at}.to = load i32, ptr {at}.place, align 4",
            f"{at}.number = zext i32 {at}.to to i64",
            f"{at}.bytes = mul i64 {at}.number, {item.stride}",
            f"{at}.first = add i64 {at}.bytes, {at}.start",
            f"{at}.moved = add i64 {at}.first, {at}.rest",
            f"{at}.delta = sub i64 {at}.moved, {name}.p",
            f"{at}.by = select i1 {at}.in, i64 {at}.delta, i64 {by}",
        ]
        by = f"{at}.by"
    lines.append(f"{name}.there = getelementptr i8, ptr {pointer}, i64 {by}")
    head, _, tail = access.text.rpartition(f"ptr {pointer}")
    moved = Instruction(f"{head}ptr {name}.there{tail}", access.meta)
    return [*map(Instruction, lines), moved]
