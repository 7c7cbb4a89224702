"""Where the pointers to rows stand that a schedule was made for.

Their places in a table follow from what the guard of the schedule covers. So an entry of the scope need not evaluate
its loops again to find them (`entered_rows.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.guards.make_guard import place_pointers, pointer_values
from tracecut.codegen.schedule.schedule import Schedule
from tracecut.ir.loops.nest import Nest
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.legality.evaluation.memory import Object
from tracecut.tracer.legality.row_columns import written_arenas
from tracecut.tracer.loops.flatten_rows import RowTable

Vector = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SavedColumn:
    """Pointers of a table that lead to the rows of an arena.

    Attributes:
        arena: name of the arena. loads: names of the loads that read the numbers in their places.
        pointer: which of the scope's pointers (`make_guard.pointers_of`) leads to the table; −1 for none of them.
        in_place: whether the arena is an array of the program, which is not copied (`Rows.own`). within: the arena in
            which the pointers stand, "" where they stand in a table of the program.
        offsets: where they stand in it, bytes; but for those that are compared with others, each place is there once in
            all columns of an arena, where it is named first.
    """

    arena: str
    loads: tuple[str, ...]
    pointer: int
    offsets: Vector
    in_place: bool = False
    within: str = ""

    @property
    def even(self) -> tuple[int, int] | None:
        """The first offset, and bytes from one to the next; None where these are not equal."""
        first, steps = int(self.offsets[0]) if self.offsets.size else 0, np.diff(self.offsets)
        step = int(steps[0]) if steps.size else 8
        return (first, step) if np.all(steps == step) else None


def saved_columns(accesses: Accesses, tables: Sequence[RowTable]) -> tuple[SavedColumn, ...]:
    """Of the rows that an inspection has found, of these tables. O(pointers to rows)."""
    memory = accesses.memory
    if not memory.rows.columns:
        return ()
    placed = place_pointers(memory, pointer_values(accesses.nest, memory, accesses.lives))
    leading = {found[0]: number for number, found in reversed(list(enumerate(placed))) if found is not None}
    compared = {name for table in tables for pair in table.pairs for name in pair}
    made: list[SavedColumn] = []
    for arena, columns in memory.rows.columns.items():
        of: dict[int, list[str]] = {}
        for name, _, offsets in columns:
            of.setdefault(id(offsets), []).append(name)
        places = {id(offsets): (item, offsets) for _, item, offsets in columns}
        seen: dict[Object, npt.NDArray[np.bool_]] = {}
        for key, (item, offsets) in places.items():
            known = seen.setdefault(item, np.zeros(item.size, np.bool_))
            if compared.isdisjoint(of[key]):
                offsets = _first_mentions(offsets, known)
            known[offsets] = True
            pointer, loads = leading.get(item, -1), tuple(of[key])
            within = item.name if item in memory.rows.arenas and item not in memory.rows.numbers else ""
            made.append(SavedColumn(arena, loads, pointer, offsets, arena in memory.rows.own, within))
    return tuple(made)


def _first_mentions(offsets: Vector, known: npt.NDArray[np.bool_]) -> Vector:
    """Places that are not known, each once, in the order in which they are mentioned first. O(places + bytes)."""
    fresh = offsets[~known[offsets]]
    first = np.zeros(known.size, np.int64)
    first[fresh[::-1]] = np.arange(fresh.size)[::-1]  # of several assignments the last one stays
    return fresh[first[fresh] == np.arange(fresh.size)]


def columns_out(columns: Sequence[SavedColumn]) -> tuple[dict[str, Vector], list[dict[str, Any]]]:
    """Arrays by name, and a description, for a file."""
    arrays = {f"columns{place}_offsets": column.offsets for place, column in enumerate(columns) if column.even is None}
    return arrays, [
        {
            "arena": column.arena,
            "loads": list(column.loads),
            "pointer": column.pointer,
            "count": int(column.offsets.size),
            "even": column.even,
            "in_place": column.in_place,
            "within": column.within,
        }
        for column in columns
    ]


def columns_in(arrays: Mapping[str, Any], described: Sequence[Mapping[str, Any]]) -> tuple[SavedColumn, ...]:
    """What `columns_out` made. Raises KeyError, TypeError, ValueError for what it would not make."""
    found = []
    for place, item in enumerate(described):
        count, even = int(item["count"]), item["even"]
        if count < 0:
            raise ValueError("a column of a table has no length")
        offsets = arrays[f"columns{place}_offsets"] if even is None else int(even[0]) + int(even[1]) * np.arange(count)
        loads = tuple(str(name) for name in item["loads"])
        places, pointer = offsets.astype(np.int64, copy=False), int(item["pointer"])
        within = str(item["within"])
        found.append(SavedColumn(str(item["arena"]), loads, pointer, places, bool(item["in_place"]), within))
        if found[-1].offsets.size != count:
            raise ValueError("a table has another number of pointers")
    return tuple(found)


def listed_tables(
    nest: Nest,
    tables: Sequence[RowTable],
    columns: Sequence[SavedColumn],
    used_rows: Mapping[str, Vector],
    schedule: Schedule,
    recipes: Sequence[Any],
) -> list[dict[str, Any]] | None:
    """The listing's entries of the tables that a scope reads, None where an entry cannot do with them.

    Of each: the name of the arena, the bytes that its numbers count, whether they are compared with null, whether the
    arena is an array of the program, whether its rows go back, `used`: the array in the file that says how much of each
    row is copied, and its columns: the loads, the pointer that leads to the table, the bytes that it had, where the
    pointers stand (`even`, or the array in the file), an earlier column that they are compared with, and the arena in
    whose rows they stand, which comes in front. recipes: of the scope's pointers (`schedule_listing.py`).
    """
    changed = written_arenas(nest, tables)
    sizes = {pointer: ref.size for ref in schedule.guard.objects for pointer, _ in ref.pointers if not ref.numbers}
    arenas = list(dict.fromkeys(column.arena for column in columns))
    if not tables:
        return []
    if not arenas or any(column.pointer not in sizes for column in columns):
        return None
    if any(
        _in_arena(recipes[column.pointer]) and recipes[column.pointer] != ["arena", column.within] for column in columns
    ):
        return None
    compared = {name for table in tables for pair in table.pairs for name in pair}
    if any(column.within and not compared.isdisjoint(column.loads) for column in columns):
        return None  # a place is read once more when its number is there
    ordered = behind_each_other(arenas, columns)
    if ordered is None:
        return None
    of = {table.arena: table for table in tables}
    found = []
    for arena in ordered:
        mine = [(place, column) for place, column in enumerate(columns) if column.arena == arena]
        where = {load: number for number, (_, column) in enumerate(mine) for load in column.loads}
        pairs = {tuple(sorted((where[a], where[b]))) for a, b in of[arena].pairs if a in where and b in where}
        other = {late: early for early, late in pairs if early < late}
        if len(other) < sum(early < late for early, late in pairs):
            return None
        found.append(
            {
                "arena": arena,
                "unit": of[arena].unit,
                "null_checked": of[arena].null_checked,
                "in_place": any(column.in_place for _, column in mine),
                "back": arena in changed,
                "used": f"rows{list(used_rows).index(arena)}_used" if arena in used_rows else None,
                "columns": [
                    {
                        "loads": list(column.loads),
                        "pointer": column.pointer,
                        "bytes": sizes[column.pointer],
                        "count": int(column.offsets.size),
                        "even": column.even,
                        "offsets": None if column.even else f"columns{place}_offsets",
                        "pair": other.get(number, -1),
                        "within": column.within,
                    }
                    for number, (place, column) in enumerate(mine)
                ],
            }
        )
    return found


def behind_each_other(arenas: Sequence[str], columns: Sequence[SavedColumn]) -> list[str] | None:
    """Arenas in an order in which each comes behind those that its pointers stand in; None where there is none."""
    needed = {arena: {column.within for column in columns if column.arena == arena} - {""} for arena in arenas}
    found: list[str] = []
    while len(found) < len(arenas):
        ready = [arena for arena in arenas if arena not in found and needed[arena] <= set(found)]
        if not ready:
            return None
        found += ready
    return found


def _in_arena(recipe: Any) -> bool:
    """Whether a pointer is made elsewhere, or read from a row."""
    return recipe is None or (isinstance(recipe, list) and (recipe[0] == "arena" or _in_arena(recipe[1])))
