"""The entry of a schedule in the listing, with which it can be checked and used without analysing its scope again.

Where each pointer comes from is written as a recipe (`guards/recipes.py`). A guard of which every pointer has one is
complete: `saved_schedule.py` asks it in place of the host. Of any other one the listing holds as much as has recipes;
that is necessary and not enough, and the host asks all of it.
"""

from __future__ import annotations

import ctypes
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from tracecut.codegen.schedule.guards.make_guard import pointers_made, pointers_of
from tracecut.codegen.schedule.guards.recipes import WHOLE, number_recipe, pointer_recipe, stored_behind
from tracecut.codegen.schedule.plan.range_function import Outlined
from tracecut.codegen.schedule.schedule import Guard, ObjectRef
from tracecut.codegen.schedule.schedule_json import guard_out
from tracecut.ir.loops.expressions import NEVER_KNOWN, Expr
from tracecut.ir.loops.nest import Nest
from tracecut.tracer.loops.row_numbers import is_number

from .rows.saved_columns import listed_tables
from .saved_schedule import WIDTHS
from .schedule_file import ScopeFile

MOST_GAIN = 1e9  # a number that JSON has


def _sweeps(trip: Expr, places: Mapping[str, int]) -> list[list[int]] | None:
    """[first value, step, bound] of a trip count, each as [slot, 0] or [−1, number]; None when it is made otherwise."""
    found = (
        [_term(part, places) for part in trip.args] if trip.kind == "trip" else [[-1, 0], [-1, 1], _term(trip, places)]
    )
    return [part for part in found if part is not None] if None not in found else None


def _term(expr: Expr, places: Mapping[str, int]) -> list[int] | None:
    while expr.kind == "cast" and expr.data[0] in ("sext", "zext"):
        expr = expr.args[0]
    if expr.kind == "const" and isinstance(expr.data[0], int):
        return [-1, expr.data[0]]
    return [places[expr.data[0]], 0] if expr.kind == "live" and expr.data[0] in places else None


def _known(guard: Guard, recipes: list[Any], places: Mapping[str, int]) -> tuple[Guard, list[int], bool]:
    """What of a guard can be asked by recipes, the pointers of it that have one, and whether that is all of it."""
    kept = [pointer for pointer, recipe in enumerate(recipes) if recipe is not None]
    number = {pointer: place for place, pointer in enumerate(kept)}
    objects: list[ObjectRef] = []
    place_of: dict[int, int] = {}
    for place, ref in enumerate(guard.objects):
        pointers = tuple((number[pointer], offset) for pointer, offset in ref.pointers if pointer in number)
        if pointers:
            place_of[place] = len(objects)
            objects.append(replace(ref, pointers=pointers))
    part = Guard(
        {name: value for name, value in guard.numbers.items() if name in places and isfinite(value)},
        tuple(objects),
        tuple(number[pointer] for pointer in guard.unplaced if pointer in number),
        tuple(number[pointer] for pointer in guard.nulls if pointer in number),
        tuple(replace(load, object=place_of[load.object]) for load in guard.loads if load.object in place_of),
    )
    whole = len(kept) == len(recipes) and len(part.numbers) == len(guard.numbers)
    return part, kept, whole


def _code(
    nest: Nest, outlined: Outlined, places: Mapping[str, int], types: Mapping[str, str], arenas: Collection[str]
) -> dict[str, Any] | None:
    """Where a range function's pointers and numbers come from, as `region_codes.py` finds them; None if elsewhere."""
    deciding, names, expected = nest.deciding(), {}, []
    for place, slot in enumerate(outlined.slots):
        if slot.kind != "live":
            continue
        recipe = places.get(slot.name) if types.get(slot.name) in WHOLE else None
        made = nest.values.get(slot.name)
        if made is not None:
            inner = {node.data[0] for node in made.walk() if node.kind == "counter"}
            if inner and nest.root not in inner:
                continue  # changes within the scope: nothing is expected of it
            if made.kind in NEVER_KNOWN:
                continue  # as two pointers that the scope swaps
            recipe = number_recipe(made, places, types)
            if recipe is None:
                return None
        if recipe is None:
            continue
        names[slot.name] = recipe
        matters = slot.type == "ptr" or slot.name in deciding or made is not None
        if matters and slot.type in WHOLE:
            expected.append([place, recipe])
    roots: dict[str, Any] = {}
    fixed = []
    for group in outlined.groups:
        site = next((site for site in nest.sites if site.key == group.root), None)
        if group.root in names:
            roots[str(group.id)] = names[group.root]
        elif group.root.startswith("%") and site is not None:
            behind, offset = stored_behind(site.address, places)
            if behind is None:
                return None
            roots[str(group.id)] = ["load", behind, offset]
            fixed.append(group.id)
        elif group.root.startswith("@"):
            roots[str(group.id)] = ["arena" if group.root in arenas else "global", group.root]
            fixed += [group.id] if group.root in arenas else []
        if is_number(group.sites[0]):  # read from the copy of its table
            if str(group.id) not in roots:
                return None
            roots[str(group.id)] = ["behind", roots[str(group.id)], group.sites[0]]
            fixed.append(group.id)
    return {"expected": expected, "roots": roots, "fixed": fixed}


def _members(path: Path) -> dict[str, list[int]]:
    """Where the header (`meta`) and the arrays lie in a file of a schedule: first byte, and bytes or items."""
    found = {}
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for info in archive.infolist():
            file.seek(info.header_offset + 26)
            lengths = file.read(4)
            start = info.header_offset + 30 + sum(int.from_bytes(lengths[at : at + 2], "little") for at in (0, 2))
            if info.filename == "meta.json":
                found["meta"] = [start, info.file_size]
                continue
            file.seek(start)
            head = file.read(10)
            first = 10 + int.from_bytes(head[8:], "little")
            name = info.filename.removesuffix(".npy")
            width = ctypes.sizeof(WIDTHS[name.rpartition("_")[2]])
            found[name] = [start + first, (info.file_size - first) // width]
    return found


def first_look(file: ScopeFile, name: str, folder: Path) -> dict[str, Any]:
    """The listing's entry for a schedule. `name`: of its file in `folder`.

    `pointers`: recipes. `made`, `pointers_made`: where the numbers and the pointers come from, in words. `guard`: over
    these pointers; `complete` when that is all of it. `moved`: its objects that are permuted in place. `codes`: region
    → what its range function has to see, `members`: where the file's arrays lie. `talk`: the values that threads
    exchange. `pays_after`: calls of the main region that pay for one exit. `exits`: whether there are exits after which
    the layout comes back. `costs`: nanoseconds a job, and `sweeps` when traced. `tables`: of pointers to rows
    (`saved_columns.py`).
    """
    places = {name: place for place, (name, _) in enumerate(file.values)}
    nest, types = file.nest, dict(file.values)
    arenas = {table.arena for table in file.tables}
    recipes = [pointer_recipe(pointer, places, arenas) for pointer in pointers_of(nest)]
    tables = listed_tables(nest, file.tables, file.columns, file.used_rows, file.schedule, recipes)
    codes = {loop: _code(nest, file.outlined[loop], places, types, arenas) for loop in file.regions}
    guard, kept, whole = _known(file.schedule.guard, recipes, places)
    lent = [[pointer_recipe(pointer, places), size] for pointer, size in nest.lent]
    complete = whole and tables is not None and None not in codes.values() and set(nest.stack) <= places.keys()
    complete = complete and all(recipe is not None for recipe, _ in lent)
    if file.tables and not complete:  # the rest of the guard is about copies, which the host makes
        own = tuple(ref for ref in file.schedule.guard.objects if not ref.numbers)
        recipes = [pointer_recipe(pointer, places) for pointer in pointers_of(nest)]
        part = replace(file.schedule.guard, objects=own, loads=(), unplaced=(), nulls=())
        guard, kept, _ = _known(part, recipes, places)
    made = pointers_made(nest)
    number = {pointer: place for place, pointer in enumerate(kept)}
    for column in (column for item in tables or () for column in item["columns"]):
        column["pointer"] = number.get(column["pointer"], -1)
    trip = nest.loops[nest.root].trip if file.options["single"] else None
    return {
        "file": name,
        "number": file.number,
        "root": nest.root,
        "regions": {str(loop): number for loop, number in file.numbers.items()},
        "main": file.main,
        "pays_after": file.pays_after,
        "single": bool(file.options["single"]),
        "exits": any(not part.final for part in nest.exits),
        "lookup_gain": min(file.lookup_gain, MOST_GAIN),
        "costs": {name: file.costs[name] for name in ("original", "optimized", "inspect", "copy", "sweeps")},
        "method": str(file.options["method"]),
        "threads": int(file.options["threads"]),
        "talk": file.options.get("talk", {"parts": 1, "pairs": []}),
        "rounding": list(file.options.get("rounding", ())),
        "places": sorted({str(nest.loops[loop].place) for loop in file.regions}),
        "values": [list(value) for value in file.values],
        "stack": [[places[name], size] for name, size in nest.stack.items() if size and name in places],
        "lent": [item for item in lent if item[0] is not None],
        "pointers": [recipes[pointer] for pointer in kept],
        "made": {name: nest.made.get(name, "") for name in guard.numbers},
        "pointers_made": [made[pointer] for pointer in kept],
        "guard": guard_out(guard),
        "complete": complete,
        "tables": tables if complete else [],
        "moved": sorted({move.object for move in file.schedule.moves}) if complete else [],
        "codes": {str(loop): code for loop, code in codes.items()} if complete else {},
        "members": _members(folder / name),
        "secret": file.key.seed.hex(),
        "sweeps": None if trip is None else _sweeps(trip, places),
        "traced_sweeps": file.costs["sweeps"] if trip is None or file.nested else None,
    }
