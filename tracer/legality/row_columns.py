"""The pointers that loops load from tables, and the objects that these lead to.

Where the pointers stand is evaluated on the program's own memory, before there is an arena (`row_evaluation.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr, walk_all
from tracecut.ir.loops.nest import Nest
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.loops.flatten_rows import RowTable
from tracecut.tracer.loops.linear_forms import linear_form

from .base_objects import object_of_base
from .evaluation.condition_values import condition_loads
from .evaluation.evaluate import Evaluation
from .evaluation.loaded_values import may_load
from .evaluation.memory import Memory, Object, Table
from .lattices import lattice_of
from .row_evaluation import RowEvaluation, changing_loads, with_pointers

Vector = npt.NDArray[np.int64]
UNSEEN = -2  # row of a place of a table that was not looked at


class UnusedRowsError(UnsupportedError):
    """No pointer of a table is loaded: what would load one never runs."""


@dataclass(frozen=True, eq=False)
class Column:
    """The pointers that one load reads, and where.

    `rows`: places in the list of objects, −1 for none. `reach`: offsets that it would read if all iterations did.
    `record`: bytes from one record of the table to the next, as far as the load's address tells. `item`: the table;
    None where pointers stand in rows of another one (`vector<vector<T *>>`), and offsets are addresses.
    """

    name: str
    item: Object | None
    offsets: Vector
    pointers: Vector
    rows: Vector
    reach: Vector
    record: int = 8


@dataclass(frozen=True, eq=False)
class Slots:
    """The pointers at the 8-byte places of one table, and their rows: each is looked up once."""

    pointers: Vector
    rows: Vector

    @classmethod
    def of(cls, item: Object) -> Slots:
        """Of a table of which nothing is known yet."""
        count = item.size // 8
        return cls(np.zeros(count, np.int64), np.full(count, UNSEEN, np.int64))

    def at(self, memory: Memory, known: Table, item: Object, places: Vector) -> tuple[Vector, Vector]:
        """(pointers, rows) at some places. O(places + new ones log objects)."""
        asked = np.zeros(self.rows.size, np.bool_)
        asked[places] = True
        fresh = np.flatnonzero(asked & (self.rows == UNSEEN))
        if fresh.size:
            self.pointers[fresh] = _read(memory, item.base + 8 * fresh)
            self.rows[fresh] = _rows_of(known, self.pointers[fresh])
        return self.pointers[places], self.rows[places]


def row_tables(nest: Nest, tables: Sequence[RowTable]) -> dict[RowTable, list[Expr]]:
    """The tables of which a nest reads numbers, and the loads of these. O(nodes).

    Their rows are records if the nest writes them, whatever the function does with them elsewhere.
    """
    written = written_arenas(nest, tables)
    tables = [replace(table, records=True) if table.arena in written else table for table in tables]
    of = {name: table for table in tables if table.function == nest.function for name in table.loads}
    found: dict[RowTable, list[Expr]] = {}
    for node in walk_all(nest.expressions()):
        if node.kind == "load" and node.data[0] in of:
            found.setdefault(of[str(node.data[0])], []).append(node)
    for site in nest.sites:  # of which only the distances are asked for
        if site.key in of:
            node = nest.pool.make("load", (site.key, "i64"), (site.address,))
            if node not in found.setdefault(of[site.key], []):
                found[of[site.key]].append(node)
    return found


def written_arenas(nest: Nest, tables: Sequence[RowTable]) -> frozenset[str]:
    """The arenas of which a nest writes rows."""
    writes = walk_all(site.address for site in nest.sites if site.writes)
    changed = {node.data[0] for node in writes if node.kind == "live"}
    return frozenset(table.arena for table in tables if table.written and table.arena in changed)


@dataclass(frozen=True, eq=False)
class FlatScope:
    """A flattened nest on the program's own memory, before there is an arena.

    Attributes:
        nest: of the flattened program. tables: its tables. memory, lives, single, steps: as for `Evaluation`.
        found: loads of a table → the pointers that they read, or why these are not known, where somebody looked before.
    """

    nest: Nest
    tables: Sequence[RowTable]
    memory: Memory
    lives: Mapping[str, int | float]
    single: bool
    steps: frozenset[int] = frozenset()
    found: Mapping[tuple[str, ...], list[Column] | UnsupportedError] = field(default_factory=dict)

    def in_units(self, nest: Nest, tables: Sequence[RowTable]) -> FlatScope:
        """The same scope whose numbers count something else: they lead to the same rows, which are looked for once."""
        return replace(
            self, nest=nest, tables=tables, found={table.loads: found for table, found in self._columns.items()}
        )

    @cached_property
    def known(self) -> Table:
        """The objects, as columns."""
        return self.memory.columns()

    @cached_property
    def loads(self) -> dict[RowTable, list[Expr]]:
        """The tables of which the nest reads numbers, and the loads of these."""
        return row_tables(self.nest, self.tables)

    def columns(self, table: RowTable) -> list[Column]:
        """The pointers that the nest reads of one of `loads`. Raises UnsupportedError where they are not known."""
        found = self._columns[table]
        if isinstance(found, UnsupportedError):
            raise found
        return found

    def rows(self, table: RowTable) -> Vector:
        """Places of the objects that these lead to, as of `in_order`."""
        return in_order(self.columns(table), len(self.known))

    def unused(self) -> frozenset[str]:
        """The loads of tables of which none ever runs."""
        found = (table for table in self.loads if isinstance(self._columns[table], UnusedRowsError))
        return frozenset(name for table in found for name in table.loads)

    def without(self, loads: frozenset[str]) -> FlatScope:
        """The scope without the tables of some loads."""
        return replace(self, tables=tuple(table for table in self.tables if loads.isdisjoint(table.loads)))

    @cached_property
    def _columns(self) -> dict[RowTable, list[Column] | UnsupportedError]:
        """Looked for once: with what is evaluated for them, which is not kept. O(pointers log objects)."""
        looking = _evaluations(self)
        found: dict[RowTable, list[Column] | UnsupportedError] = {}
        for table, loads in self.loads.items():
            if table.loads in self.found:
                found[table] = self.found[table.loads]
                continue
            try:
                found[table] = columns_of(looking, self.known, loads)
            except UnsupportedError as error:
                found[table] = error
        return found


def columns_of(evaluations: Sequence[Evaluation], known: Table, loads: Sequence[Expr]) -> list[Column]:
    """The pointers that each load reads over the whole nest; loads that read the same ones share their vectors.

    Loads that never run have none. `evaluations`: the first one that knows where pointers are loaded from is asked
    (`_evaluations`). Raises UnsupportedError where none does, UnusedRowsError where none of the loads ever runs.
    """
    found: list[Column] = []
    slots: dict[Object, Slots] = {}
    for node in loads:
        for evaluation in evaluations:
            last = evaluation is evaluations[-1]
            try:
                column = _column(evaluation, known, node, found, slots, anywhere=last)
            except UnsupportedError:
                if last:
                    raise
                continue
            found += [] if column is None else [column]
            break
    if not found:
        raise UnusedRowsError("it is not known where pointers to rows are loaded from")
    return found


def different(columns: Sequence[Column]) -> list[Column]:
    """Columns, without those that read the same places as one before."""
    return list({id(column.offsets): column for column in reversed(columns)}.values())[::-1]


def _column(
    evaluation: Evaluation,
    known: Table,
    node: Expr,
    others: Sequence[Column],
    slots: dict[Object, Slots],
    anywhere: bool,
) -> Column | None:
    """`anywhere`: whether all of a table counts where it is not known which pointers of it are loaded."""
    memory, name = evaluation.memory, str(node.data[0])
    level, found = evaluation.evaluated(node.args[0])
    addresses = reach = np.ravel(found.data).astype(np.int64, copy=False)
    runs = may_load(evaluation, name, level)
    if not np.any(runs):
        return None
    if not np.all(found.known | ~runs):
        if not anywhere:
            raise UnsupportedError("it is not known where pointers to rows are loaded from")
        addresses = reach = places_of(evaluation, node.args[0])
    else:
        if not np.all(found.known):
            reach = addresses[np.broadcast_to(found.known, addresses.shape)]
        if not np.all(runs):
            addresses = addresses[np.broadcast_to(runs, addresses.shape)]
    if not addresses.size or not reach.size:
        return None
    item = memory.find(int(addresses[0]))
    if item is None or addresses.min() < item.base or addresses.max() + 8 > item.end:
        pointers = _read(memory, addresses)
        return Column(name, None, addresses, pointers, _rows_of(known, pointers), reach)
    if reach.min() < item.base or reach.max() > item.end - 8:
        reach = reach[(reach >= item.base) & (reach <= item.end - 8)]
    reach = reach - item.base
    offsets = addresses - item.base
    record = max(map(abs, linear_form(node.args[0], evaluation.lives).terms.values()), default=8)
    for other in others:
        if other.item is item and np.array_equal(other.offsets, offsets):
            return replace(other, name=name, reach=reach, record=record)
    if not int(np.bitwise_or.reduce(offsets)) % 8:
        pointers, rows = slots.setdefault(item, Slots.of(item)).at(memory, known, item, offsets >> 3)
        return Column(name, item, offsets, pointers, rows, reach, record)
    pointers = _read(memory, addresses)
    for other in others:  # the ends of the same rows, most often
        if other.pointers.size == pointers.size and _all_lie_in(known, pointers, other.rows):
            return Column(name, item, offsets, pointers, other.rows, reach, record)
    return Column(name, item, offsets, pointers, _rows_of(known, pointers), reach, record)


def places_of(evaluation: Evaluation, address: Expr) -> Vector:
    """Where in its table a pointer may be loaded from whose place only the iteration itself finds, by a search, say.

    Addresses, all that come in question. Raises UnsupportedError where it is not known in which table, or where they
    may lie across each other.
    """
    item, lattice = object_of_base(evaluation, address), lattice_of(evaluation, address)
    if item is None or lattice.step % 8:
        raise UnsupportedError("it is not known where pointers to rows are loaded from")
    if not lattice.step:
        return np.array([lattice.start], np.int64)
    first = item.base + (lattice.start - item.base) % lattice.step
    return np.arange(first, item.end - 7, lattice.step, dtype=np.int64)


def _read(memory: Memory, addresses: Vector) -> Vector:
    """The pointers at some addresses."""
    step = int(addresses[-1] - addresses[0]) // max(1, addresses.size - 1)
    if np.array_equal(addresses, addresses[0] + step * np.arange(addresses.size)):
        found = memory.strided(int(addresses[0]), step, addresses.size, "ptr")
        if found is not None:
            return np.ascontiguousarray(found)
    pointers, readable = memory.gather(addresses, "ptr")
    if not readable.all():
        raise UnsupportedError("pointers to rows were not captured")
    return pointers


def rows_at(memory: Memory, known: Table, addresses: Vector) -> Vector:
    """Places of the objects that the pointers at some addresses lie in, or end."""
    rows = _rows_of(known, _read(memory, addresses))
    return rows[rows >= 0]


def _rows_of(objects: Table, pointers: Vector) -> Vector:
    """Place of the object that each pointer lies in, or ends; −1 for null and for what lies in none."""
    if np.all(pointers[1:] >= pointers[:-1]):  # as most programs allocate them
        places = np.searchsorted(objects.bases, pointers, side="right") - 1
    else:
        order = np.argsort(pointers)  # numbers that rise are found several times faster
        places = np.empty(pointers.size, np.int64)
        places[order] = np.searchsorted(objects.bases, pointers[order], side="right") - 1
    return np.where(_lie_in(objects, pointers, places), places, -1)


def _all_lie_in(objects: Table, pointers: Vector, places: Vector) -> bool:
    """Whether these are the objects that pointers lie in, or end; no other one begins there."""
    behind = objects.bases[np.minimum(places + 1, len(objects) - 1)]
    return bool(np.all(_lie_in(objects, pointers, places) & (behind != pointers)))


def _lie_in(objects: Table, pointers: Vector, places: Vector) -> npt.NDArray[np.bool_]:
    """Whether each pointer lies in the object at a place, or ends it."""
    bases = objects.bases[places]
    return (places >= 0) & (pointers >= bases) & (pointers <= bases + objects.sizes[places])


def in_order(columns: Sequence[Column], count: int) -> Vector:
    """Which of `count` objects pointers lead to, each once, in the order of the tables. O(pointers + objects)."""
    rows = np.concatenate(list({id(column.rows): column.rows for column in columns}.values()))
    rows = rows[rows >= 0]
    if not rows.size:
        raise UnsupportedError("rows behind pointers lie in memory that is not known")
    if rows.min() == rows.max():  # slices of one array
        return rows[:1]
    seen = np.zeros(count, np.bool_)
    seen[rows] = True
    if np.count_nonzero(seen) == rows.size:
        return rows
    first = np.full(count, -1, np.int64)
    first[rows[::-1]] = np.arange(rows.size)[::-1]  # of several assignments the last one stays: the first pointer
    found = np.flatnonzero(first >= 0)
    return found[np.argsort(first[found], kind="stable")]


def _evaluations(scope: FlatScope) -> tuple[RowEvaluation, RowEvaluation]:
    """Two evaluations of a nest where its rows lie: without conditions that may change while it runs, and with them.

    What depends on such a condition runs in some sweeps and not in others: its pointers have to be there all the same.
    """
    units = {name: table.unit for table in scope.tables for name in table.loads}
    known = with_pointers(scope.tables, scope.lives)
    blind = condition_loads(scope.nest) | changing_loads(scope.nest)

    def evaluation(distrusted: frozenset[str]) -> RowEvaluation:
        given = (scope.nest, scope.memory, known, scope.single, distrusted)
        return RowEvaluation(*given, steps=scope.steps, units=units)

    return evaluation(blind), evaluation(frozenset())
