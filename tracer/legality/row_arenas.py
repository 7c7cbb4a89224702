"""Rows behind pointers as one array: the memory that flattened loops (`flatten_rows.py`) find.

An arena holds a copy of every object that a pointer of a table leads to, one behind the other in the order in which the
table names them first. Numbers stand in a copy of the table, in the places of its pointers: how many units behind the
start of the arena a row begins. Number 0 is a pointer to no object: null, or what `malloc(0)` returned; where pointers
are compared with null, 0 is null alone and −1 the others. All else of the table is read and written where it is.
What an arena was copied from is no object any more, so that whatever else reaches it is reached by an unknown pointer.

Where all pointers of a table of records lead into one array, the arena is that array itself, from the first record that
they may lead to: nothing is copied, and the array is reached otherwise, too (`struct spring { struct node *a, *b; }`
beside a loop over all nodes). It is so where no pointer is null, nor compared with null.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.loops.flatten_rows import RowTable
from tracecut.tracer.loops.row_numbers import BEHIND

from .evaluation.contents import Contents, LiveBytes, Packed
from .evaluation.memory import HEAP, Memory, Object, Rows, Table
from .row_columns import Column, FlatScope, Vector, different, rows_at, written_arenas

Bytes = npt.NDArray[np.uint8]
PAGE = 1 << 12
SPREAD = 8  # times the bytes of rows that the memory around them may have
MEMBERS = 32  # pointers in one record of a table, each of which is told from what stands beside it
ROOM = 16  # bytes in front of the first row, which no number but that of the null pointer leads to
Load = tuple[str, str]  # function, and name in it
Fill = Callable[[Bytes, Vector, Vector, Vector], None]
Place = Callable[[str, int], tuple[int, Bytes]]


class SharedRowsError(UnsupportedError):
    """Two tables lead to one row: they are one (`common_rows`)."""


@dataclass(frozen=True, eq=False)
class Flattened:
    """What flattened loops find.

    Attributes:
        memory: the objects. lives: the addresses of the arenas by the names of their globals, and how far the copies
            of tables lie behind them (`row_numbers.py`).
        written: what has to go back to the rows of the program, of tables whose rows are written.
    """

    memory: Memory
    lives: Mapping[str, int]
    written: tuple[CopiedRows, ...] = ()


@dataclass(frozen=True, eq=False)
class CopiedRows:
    """Rows of an arena: where they lie in the program, their bytes, and where they are behind its start (int64)."""

    name: str
    arena: int
    bases: Vector
    sizes: Vector
    starts: Vector

    def up_to(self, used: Mapping[str, Vector]) -> CopiedRows:
        """The same rows, of each only the bytes that are touched (`used_parts`): the others were set to 0 since."""
        return replace(self, sizes=_parts(self.sizes, used.get(self.name)))


class RowBuffers:
    """Places in this process for what is copied, the same ones in each entry of a scope as long as they fit."""

    def __init__(self, kept: dict[str, Bytes]) -> None:
        self._kept = kept

    def __call__(self, name: str, size: int) -> tuple[int, Bytes]:
        if name not in self._kept or self._kept[name].size != size:
            self._kept[name] = np.zeros(size, np.uint8)
        else:
            self._kept[name][:] = 0
        return int(self._kept[name].ctypes.data), self._kept[name]


def row_places(scope: FlatScope, seen: Container[Load] = ()) -> tuple[npt.NDArray[np.bool_], set[Load]]:
    """Which objects a flattened nest would copy to arenas, and the loads that these are of.

    None of tables whose pointers are not all known, nor of those whose loads were all `seen`, in a scope around. Also
    rows that no iteration goes through: the condition that says so may read them.
    """
    found, names = np.zeros(len(scope.known), np.bool_), set[Load]()
    for table, loads in scope.loads.items():
        own = {(scope.nest.function, str(load.data[0])) for load in loads}
        if all(name in seen for name in own):
            continue
        with contextlib.suppress(UnsupportedError):
            found[scope.rows(table)] = True
            for column in scope.columns(table):
                if column.reach.size != column.offsets.size:
                    first = 0 if column.item is None else column.item.base
                    found[rows_at(scope.memory, scope.known, first + column.reach)] = True
            names |= own
    return found, names


def written_arrays(scope: FlatScope) -> list[Object]:
    """The arrays of the program that a flattened nest writes where they lie (`start_of_array`)."""
    changed, found = written_arenas(scope.nest, scope.tables), dict[Object, None]()
    for table in scope.loads:
        with contextlib.suppress(UnsupportedError):
            start = start_of_array(table, scope.columns(table), scope.known) if table.arena in changed else None
            item = None if start is None else scope.memory.find(start)
            found |= {} if item is None else {item: None}
    return list(found)


def common_rows(scope: FlatScope) -> frozenset[frozenset[str]]:
    """The loads of tables whose pointers lead to rows of each other, together; of no table that has its own alone.

    Raises UnsupportedError where rows are not known. O(pointers log objects + tables · objects).
    """
    found: list[tuple[frozenset[str], npt.NDArray[np.bool_], int]] = []
    for table in scope.loads:
        rows, names, count = np.zeros(len(scope.known), np.bool_), frozenset(table.loads), 1
        rows[scope.rows(table)] = True
        for other in [other for other in found if np.any(other[1] & rows)]:
            found = [item for item in found if item is not other]
            names, rows, count = names | other[0], rows | other[1], count + other[2]
        found.append((names, rows, count))
    return frozenset(names for names, _, count in found if count > 1)


def flatten_memory(
    scope: FlatScope,
    *,
    place: Place | None = None,
    fill: Fill | None = None,
    used: Mapping[str, Vector] | None = None,
) -> Flattened:
    """The memory of a flattened nest.

    Args:
        place: gives the address and the bytes of an arena or a copied table by its name and size. Without it, they
            are where nothing else is.
        fill: copies rows: target, their addresses, their bytes, and where they go.
        used: arena → bytes of each row that are read (`used_parts`); the others are left out, which are 0 then.

    Raises UnsupportedError where rows are not known, SharedRowsError where they are reached through two tables.
    O(pointers log objects + bytes of rows).
    """
    nest, tables, memory, known = scope.nest, scope.tables, scope.memory, scope.known
    put = place or _anywhere(memory)
    own: dict[int, Bytes] = {}
    arenas: dict[Object, Vector] = {}
    copies: dict[Object, tuple[Object, Bytes]] = {}
    behind = {BEHIND + name: 0 for table in tables for name in table.loads}
    spans: dict[Object, list[tuple[int, int, int]]] = {}
    written: list[CopiedRows] = []
    changed = written_arenas(nest, tables)
    seen: dict[str, tuple[tuple[str, Object, Vector], ...]] = {}
    starting: dict[str, int] = {}  # arenas that are arrays of the program
    lying: dict[int, tuple[int, int]] = {}  # such an array → where numbers begin in it, and what they count
    taken, shift = np.zeros(len(known), np.bool_), np.zeros(len(known), np.int64)
    in_arena = np.full(len(known), -1, np.int32)  # of the rows: which arena
    for table in scope.loads:
        columns, rows = scope.columns(table), scope.rows(table)
        _check_pairs(table, columns)
        start = start_of_array(table, columns, known)
        otherwise = (at for at, found in lying.items() if found != (start, table.unit) and (rows == at).any())
        if taken[rows].any() or next(otherwise, None) is not None:
            raise SharedRowsError("rows behind pointers are reached through two tables")
        sizes, bases = known.sizes[rows], known.bases[rows]
        if start is not None:
            starting[table.arena], lying[int(rows[0])] = start, (start, table.unit)
            shift[rows] = -start
        else:
            step = math.lcm(16, table.unit)
            starts = ROOM // 16 * step + np.concatenate([[0], np.cumsum(-(-sizes // step) * step)]).astype(np.int64)
            parts = sizes if used is None else _parts(sizes, used.get(table.arena))
            address, data = put(table.arena, int(starts[-1]))
            if fill is None:
                _fill(data, memory, rows, parts, starts[:-1])
            else:
                fill(data, bases, parts, starts[:-1])
            if table.arena in changed:
                written.append(CopiedRows(table.arena, address, bases, parts, starts[:-1]))
            in_arena[rows] = len(arenas)
            arenas[Object(address, int(starts[-1]), HEAP, table.arena)] = starts
            own[address] = data
            taken[rows], shift[rows] = True, starts[:-1] - bases
    for table in scope.loads:
        placed = [in_rows(column, known, list(arenas), in_arena, shift) for column in scope.columns(table)]
        for item, column in placed:
            if item in arenas and item.name not in changed:
                continue  # its numbers stand in the arena itself
            if item not in arenas and taken[np.searchsorted(known.bases, item.base)]:
                raise UnsupportedError("rows behind pointers hold pointers to rows")
            if item not in copies:
                at, data = put(f"table at {item.name or item.base}", item.size)
                copies[item], own[at] = (Object(at, item.size, HEAP), data), data
            behind[BEHIND + column.name] = copies[item][0].base - item.base
        for item, column in {id(column.offsets): (item, column) for item, column in reversed(placed)}.values():
            numbers, whole = in_units(column.pointers + shift[column.rows], table.unit)
            if not np.all(whole | (column.rows < 0)):
                raise UnsupportedError("rows behind pointers begin in the middle of an element")
            put_nowhere(numbers, column, table)
            put_numbers(copies[item][1] if item in copies else own[item.base], column.offsets, numbers)
        seen[table.arena] = tuple((column.name, item, column.offsets) for item, column in placed)
        for item, column in placed:
            spans.setdefault(item, []).extend(_spans(column.reach, column.record))
    numbers_of = {item: copy for item, (copy, _) in copies.items()}
    names = {table.arena for table in tables if table.records}
    records = {item for item in arenas if item.name in names} | {memory.objects[at] for at in lying}
    stand_ins = Rows(
        arenas,
        frozenset(name for table in scope.loads for name in table.loads),
        {item: tuple(dict.fromkeys(found)) for item, found in spans.items()},
        numbers_of,
        frozenset(records),
        seen,
        starting,
    )
    rest = memory.contents
    if not isinstance(rest, LiveBytes):
        rest = Packed.of(rest).without(known.bases[taken])
    made = _memory(known, taken, [*arenas, *numbers_of.values()], Contents(own, rest), stand_ins)
    return Flattened(made, {**{item.name: item.base for item in arenas}, **starting, **behind}, tuple(written))


def in_rows(
    column: Column, known: Table, arenas: Sequence[Object], in_arena: npt.NDArray[np.int32], shift: Vector
) -> tuple[Object, Column]:
    """The table of a column, and the column; its arena, and the offsets in it, where the pointers stand in copied rows.

    `in_arena`: which of the arenas each object was copied to, −1 for none. `shift`: what makes an address in it a place
    in the arena. Raises UnsupportedError where pointers stand in something else, too.
    """
    if column.item is not None:
        return column.item, column
    homes = np.searchsorted(known.bases, column.offsets, side="right") - 1
    inside = (homes >= 0) & (column.offsets + 8 <= known.bases[homes] + known.sizes[homes])
    found = in_arena[homes]
    if not inside.all() or found[0] < 0 or np.any(found != found[0]):
        raise UnsupportedError("pointers to rows are loaded from several objects")
    offsets = column.offsets + shift[homes]
    return arenas[int(found[0])], replace(column, offsets=offsets, reach=offsets)


def start_of_array(table: RowTable, columns: Sequence[Column], known: Table) -> int | None:
    """Where the array begins that all pointers of a table lead into; None where its rows have to be copied.

    It is the first address that a pointer a whole number of units away from the others might lead to.
    """
    if not table.records or table.null_checked:
        return None
    rows = {int(edge) for column in different(columns) for edge in (column.rows.min(), column.rows.max())}
    base = int(known.bases[max(rows)])
    first = int(columns[0].pointers[0]) - base
    return base + first % table.unit if len(rows) == 1 and rows != {-1} else None


def ranges_of(rows: CopiedRows) -> list[tuple[int, int]]:
    """(first byte, bytes) of the ranges of pages that rows lie in. O(rows log rows + pages)."""
    used = rows.sizes > 0
    first, last = rows.bases[used] // PAGE, (rows.bases[used] + rows.sizes[used] - 1) // PAGE
    order = np.argsort(first, kind="stable")
    first, last = first[order], np.maximum.accumulate(last[order])
    starts = np.flatnonzero(np.append(True, first[1:] > last[:-1] + 1)) if first.size else np.zeros(0, np.int64)
    ends = np.append(starts[1:] - 1, first.size - 1) if first.size else starts
    return [
        (low * PAGE, (high + 1 - low) * PAGE)
        for low, high in zip(first[starts].tolist(), last[ends].tolist(), strict=True)
    ]


def _check_pairs(table: RowTable, columns: Sequence[Column]) -> None:
    """What is compared or subtracted has to be of one row: how far rows are from each other is another in each run."""
    of = {column.name: column for column in columns}
    for first, second in ((of[a], of[b]) for a, b in table.pairs if a in of and b in of):
        if not np.array_equal(first.rows, second.rows):
            raise UnsupportedError("pointers to different rows are compared")
        if np.any((first.rows < 0) & (first.pointers != second.pointers)):
            raise UnsupportedError("rows behind pointers lie in memory that is not known")


def in_units(distances: Vector, unit: int) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Distances in units, and which of them are whole ones."""
    if unit & (unit - 1):
        numbers, rest = np.divmod(distances, unit)
        return numbers, rest == 0
    return distances >> (unit.bit_length() - 1), distances & (unit - 1) == 0


def _spans(offsets: Vector, record: int) -> list[tuple[int, int, int]]:
    """As `_span`, one for each member of a record; a single one where these are many."""
    if not 8 < record <= PAGE:
        return [_span(offsets)]
    inside = offsets % record
    members = np.flatnonzero(np.bincount(inside, minlength=1))
    if not 1 < members.size <= MEMBERS:
        return [_span(offsets)]
    return [_span(offsets[inside == member]) for member in members]


def _span(offsets: Vector) -> tuple[int, int, int]:
    """(first byte, behind the last, bytes from one to the next) of 8-byte fields."""
    low, high = int(offsets.min()), int(offsets.max())
    return low, high + 8, int(np.gcd.reduce(offsets - low)) if high > low else 0


def put_nowhere(numbers: Vector, column: Column, table: RowTable) -> None:
    """Write the numbers of pointers that lead to no row."""
    nowhere = column.rows < 0
    numbers[nowhere] = -(column.pointers[nowhere] != 0).astype(np.int64) if table.null_checked else 0


def put_numbers(data: Bytes, offsets: Vector, numbers: Vector) -> None:
    """Write 8-byte numbers at some offsets."""
    if not (int(np.bitwise_or.reduce(offsets)) | int(data.ctypes.data)) % 8:
        data[: data.size // 8 * 8].view(np.int64)[offsets >> 3] = numbers
        return
    for byte, part in enumerate(np.ascontiguousarray(numbers).view(np.uint8).reshape(-1, 8).T):
        data[offsets + byte] = part


def _parts(sizes: Vector, used: Vector | None) -> Vector:
    """Bytes of each row that are copied; all, if these are not the rows that were looked at."""
    return sizes if used is None or used.size != sizes.size else np.minimum(sizes, used)


def _fill(data: Bytes, memory: Memory, rows: Vector, sizes: Vector, starts: Vector) -> None:
    for row, size, start in zip(rows.tolist(), sizes.tolist(), starts.tolist(), strict=True):
        found = memory.bytes_of(memory.objects[row])
        if found is None:
            raise UnsupportedError("rows behind pointers were not captured")
        data[start : start + size] = found[:size]


def _anywhere(memory: Memory) -> Place:
    """Addresses behind all objects."""
    known = memory.columns()
    behind = int((known.bases + known.sizes).max(initial=0))

    def put(name: str, size: int) -> tuple[int, Bytes]:
        nonlocal behind
        address = behind = (behind + (1 << 21)) >> 20 << 20
        behind += size
        return address, np.zeros(size, np.uint8)

    return put


def _memory(known: Table, taken: npt.NDArray[np.bool_], made: list[Object], contents: Contents, rows: Rows) -> Memory:
    """The objects that are no rows, and those that were made."""
    rest, made = ~taken, sorted(made, key=lambda item: item.base)
    bases, sizes, kinds = known.bases[rest], known.sizes[rest], known.kinds[rest]
    at = np.searchsorted(bases, [item.base for item in made])
    table = Table(
        np.insert(bases, at, [item.base for item in made]),
        np.insert(sizes, at, [item.size for item in made]),
        np.insert(kinds, at, [item.kind for item in made]),
        {**known.names, **{item.base: item.name for item in made if item.name}},
    )
    return Memory(table, contents, rows)
