"""Lookups in machine code: accesses that keep the program's own numbers find each record where the order has put it.

```
                              at = p − base                             p: the program's address
store double %x, ptr %p   →   if (at < size)
                                  p = start + new[at / stride] · stride + at % stride
                              store double %x, ptr %p
```

One entry of a table for each array (`tracer/runtime/lookup_table.py` fills it): base, size, new, start. Its size is 0
while the layout is not in force, so the code may run anywhere, and on other memory too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tracecut.codegen.schedule.schedule import Lookup
from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.llvm.edit import rename_sources
from tracecut.ir.llvm.substitute import aligned_to
from tracecut.ir.loops.nest import Nest
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.capture.instrument import OURS, set_apart
from tracecut.tracer.runtime.lookup_table import table_of

ENTRY, ENTRY_BYTES = "{ i64, i64, ptr, i64 }", 32


@dataclass(frozen=True)
class Looked:
    """An entry of a table that an access asks: the table's global, the entry, bytes of a record, and what these begin
    at a multiple of."""

    table: str
    entry: int
    stride: int
    align: int


Places = dict[tuple[str, str, int], list[Looked]]  # (function, block, place in it) of an instruction
Asked = dict[int, list[Looked]]  # by the `id` of an instruction, which lives as long as its block


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
                found.setdefault(at, []).append(Looked(f"@{table_of(nest.root)}", entry, lookup.stride, lookup.align))
    return found


def _place(view: FunctionView, key: str) -> tuple[str, int]:
    """The block of a load or store, and its place in there."""
    if key.startswith("store:"):
        _, block, place = key.split(":")
        return block, int(place)
    made = view.definitions[key]
    instructions = view.flow.blocks[made.block].instructions
    return made.block, next(place for place, item in enumerate(instructions) if item is made.instruction)


def accesses_at(module: Module, places: Places) -> Asked:
    """The loads and stores that are there, before anything is added to the blocks of `module`.

    Raises UnsupportedError for something else.
    """
    blocks = {name: function.by_name() for name, function in module.functions.items()}
    found: Asked = {}
    for (function, block, place), asked in places.items():
        access = blocks[function][block].instructions[place]
        if not access.is_simple_access:
            raise UnsupportedError(f"no record can be looked up in front of `{access.text}`")
        found[id(access)] = asked
    return found


def add_lookups(module: Module, functions: Collection[Function], asked: Asked) -> None:
    """Put lookups in front of accesses of these functions, in place, and the tables that they ask in the module.
    O(instructions)."""
    if not asked:
        return
    entries: dict[str, int] = {}
    for item in (item for found in asked.values() for item in found):
        entries[item.table] = max(entries.get(item.table, 0), item.entry + 1)
    count = 0
    for function in functions:
        for block in list(function.blocks):
            if any(id(item) in asked for item in block.instructions):
                count = _split(function, block, asked, count)
    for table, size in entries.items():
        empty = ", ".join([f"{ENTRY} zeroinitializer"] * size)
        module.append(f"{table} = global [{size} x {ENTRY}] [{empty}], align 8")
    set_apart(module, functions)


def _split(function: Function, block: Block, asked: Asked, count: int) -> int:
    """Cut a block in front of each access that asks. `count`: lookups before; returns how many there are then."""
    parts = [Block(block.name, [])]
    added: list[Block] = []
    for item in block.instructions:
        if id(item) not in asked:
            parts[-1].instructions.append(item)
            continue
        pointer = item.operands[-1].text
        parts[-1].instructions.append(Instruction(f"%tc.look{count}.p = ptrtoint ptr {pointer} to i64"))
        for number, entry in enumerate(asked[id(item)]):  # it lies in one array at most
            pointer = _look_up(parts, added, f"tc.look{count}", number, entry, pointer)
        head, _, _ = item.text.rpartition(f"ptr {item.operands[-1].text}")
        align = min(aligned_to(item), *(entry.align for entry in asked[id(item)]))
        parts[-1].instructions.append(Instruction(f"{head}ptr {pointer}, align {align}", item.meta))
        count += 1
    block.instructions[:] = parts[0].instructions
    place = function.blocks.index(block) + 1
    function.blocks[place:place] = [*parts[1:], *added]
    rename_sources(function, parts[-1].instructions[-1].labels, block.name, [parts[-1].name])
    return count


def _look_up(parts: list[Block], added: list[Block], name: str, number: int, entry: Looked, pointer: str) -> str:
    """Ask one entry at the end of the last part, and go on in a new one. Returns the pointer there."""
    at = f"%{name}.{number}"
    ask, there, on = (f"{name}.{number}.{part}" for part in ("ask", "moved", "on"))
    fields = [f"getelementptr (i8, ptr {entry.table}, i64 {ENTRY_BYTES * entry.entry + 8 * part})" for part in range(4)]
    parts[-1].instructions += [
        Instruction(f"{at}.size = load i64, ptr {fields[1]}, align 8", {OURS: ""}),
        Instruction(f"{at}.active = icmp ne i64 {at}.size, 0"),  # the same in all of a loop, which is unswitched
        Instruction(f"br i1 {at}.active, label %{ask}, label %{on}"),
    ]
    asks = [
        Instruction(f"{at}.base = load i64, ptr {fields[0]}, align 8", {OURS: ""}),
        Instruction(f"{at}.off = sub i64 %{name}.p, {at}.base"),
        Instruction(f"{at}.in = icmp ult i64 {at}.off, {at}.size"),
        Instruction(f"br i1 {at}.in, label %{there}, label %{on}"),
    ]
    lines = [
        Instruction(f"{at}.new = load ptr, ptr {fields[2]}, align 8", {OURS: ""}),
        Instruction(f"{at}.start = load i64, ptr {fields[3]}, align 8", {OURS: ""}),
        Instruction(f"{at}.record = udiv i64 {at}.off, {entry.stride}"),
        Instruction(f"{at}.rest = urem i64 {at}.off, {entry.stride}"),
        Instruction(f"{at}.place = getelementptr i32, ptr {at}.new, i64 {at}.record"),
        Instruction(f"{at}.to = load i32, ptr {at}.place, align 4", {OURS: ""}),
        Instruction(f"{at}.number = zext i32 {at}.to to i64"),
        Instruction(f"{at}.bytes = mul i64 {at}.number, {entry.stride}"),
        Instruction(f"{at}.first = add i64 {at}.bytes, {at}.start"),
        Instruction(f"{at}.goal = add i64 {at}.first, {at}.rest"),
        Instruction(f"{at}.by = sub i64 {at}.goal, %{name}.p"),
        Instruction(f"{at}.there = getelementptr i8, ptr {pointer}, i64 {at}.by"),
        Instruction(f"br label %{on}"),
    ]
    added += [Block(ask, asks), Block(there, lines)]
    before = f"[ {pointer}, %{parts[-1].name} ], [ {pointer}, %{ask} ]"
    phi = Instruction(f"{at}.pointer = phi ptr {before}, [ {at}.there, %{there} ]")
    parts.append(Block(on, [phi]))
    return f"{at}.pointer"
