"""Inspection of a captured region in one scope: as the program is, or with rows behind pointers as one array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.inspector.inspect_scope import (
    Inspection,
    TooLargeError,
    inspect_scope,
)
from tracecut.codegen.schedule.plan.scope_facts import BehindPointersError
from tracecut.ir.loops.nest import Nest
from tracecut.ir.loops.nest_json import from_json, to_json
from tracecut.ir.loops.refusals import scope_refusal
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.capture.snapshot import Capture
from tracecut.tracer.legality.evaluation.contents import Packed
from tracecut.tracer.legality.evaluation.iteration_domains import steps_around
from tracecut.tracer.legality.evaluation.memory import Memory
from tracecut.tracer.legality.row_arenas import Bytes, Fill, Flattened, SharedRowsError, common_rows, flatten_memory
from tracecut.tracer.legality.row_checks import used_parts
from tracecut.tracer.legality.row_columns import FlatScope, Vector, row_tables
from tracecut.tracer.legality.row_image import RowImage, row_image
from tracecut.tracer.legality.row_records import record_units
from tracecut.tracer.loops.flatten_rows import RowTable
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.runtime.binding import support
from tracecut.tracer.runtime.hook_slots import named_numbers

Values = Sequence[tuple[str, str]]


class RefusedByTextError(UnsupportedError):
    """A scope holds something that may touch any memory, whatever the numbers of a run are."""


@dataclass(frozen=True, eq=False)
class Captured:
    """A captured region and its program.

    Attributes:
        analysis: the program. capture: the memory. region: loop id. values: loop → (name, type) of its captured values.
        tables: of the row pointers, in the flattened program; none in the program as it is.
        with_rows: loops that reach rows behind pointers as such; None: it is not known which do.
        used_rows: arena → bytes of each row that are read. image: the rows where they lie in the program.
    """

    analysis: Analysis
    capture: Capture
    region: int
    values: Mapping[int, Values]
    tables: tuple[RowTable, ...] = ()
    with_rows: frozenset[int] | None = None
    used_rows: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    image: RowImage | None = None


@dataclass(frozen=True)
class Wanted:
    """How a scope is inspected, as in `inspect_scope`."""

    renumber: bool
    exact: bool
    limit: int | None
    look_up: bool = True


def inspect_variant(found: Captured, scope: int, exits: tuple[str, ...], wanted: Wanted) -> tuple[Captured, Inspection]:
    """Inspect a region in a scope. Returns it as it was understood, which may be the flattened program.

    Raises UnsupportedError when it cannot be understood, ArtefactError when what stays without the exits cannot be
    described. What the text alone keeps from being understood is refused before anything is evaluated, by
    RefusedByTextError: scopes are as large as the program.
    """
    why = ""
    may = found.with_rows is None or scope in found.with_rows
    flat, tables = _flat(found) if may else (found.analysis, ())
    refused = scope_refusal(flat.nest(scope, exits))
    if refused is not None:
        raise RefusedByTextError(f"the loop {refused.says} ({refused.places[0].told})")
    nest = from_json(to_json(flat.nest(scope, exits)))
    if row_tables(nest, tables):
        try:
            return _flattened(found, scope, exits, nest, wanted)
        except TooLargeError:
            raise
        except UnsupportedError as error:
            why = error.message
    nest = from_json(to_json(found.analysis.nest(scope, exits)))
    numbers = named_numbers(list(found.values[scope]), found.capture.values[scope])
    seen = replace(found, capture=found.capture.seen_by(nest, numbers))
    try:
        return seen, _inspect(seen, scope, nest, seen.capture.memory, numbers, wanted)
    except BehindPointersError as error:
        raise UnsupportedError(why or error.message) from error


def _flat(
    found: Captured,
    units: Mapping[str, int] | None = None,
    together: frozenset[frozenset[str]] = frozenset(),
    unused: frozenset[str] = frozenset(),
) -> tuple[Analysis, tuple[RowTable, ...]]:
    functions = frozenset({found.analysis.view_of(found.region).function.name})
    return found.analysis.flattened(functions, units, together, unused)


def _flattened(
    found: Captured, scope: int, exits: tuple[str, ...], nest: Nest, wanted: Wanted
) -> tuple[Captured, Inspection]:
    """The region in the flattened program. `nest`: of the scope, in that program."""
    _, known = _flat(found)
    region, single = found.region, scope != found.region
    numbers = named_numbers(list(found.values[scope]), found.capture.values[scope])
    steps = steps_around(nest, region) if single else frozenset[int]()
    memory = found.capture.seen_by(nest, numbers).memory
    fill = _gathered(found.capture.memory)
    rows = FlatScope(nest, tuple(row_tables(nest, known)), memory, numbers, single, steps)
    unused = rows.unused()
    try:
        try:
            flat, rows, arenas = _copied(found, scope, exits, rows, fill, unused)
        except SharedRowsError:
            flat, rows, arenas = _copied(found, scope, exits, rows, fill, unused, common_rows(rows.without(unused)))
    except UnsupportedError as error:
        loads = {name for table in rows.tables for name in table.loads}
        place = next(site.place for site in rows.nest.sites if site.key in loads)
        raise UnsupportedError(f"{error.message} ({place.told})") from error
    inspection = _inspect(found, scope, rows.nest, arenas.memory, {**numbers, **arenas.lives}, wanted)
    values = {**found.values, region: [*found.values[region], *((name, "ptr") for name in arenas.lives)]}
    raw = (*found.capture.values[region], *arenas.lives.values())
    capture = replace(found.capture, memory=arenas.memory, values={**found.capture.values, region: raw})
    image = None if arenas.written or not rows.loads else row_image(rows, fill)
    return Captured(flat, capture, region, values, tuple(rows.tables), image=image), inspection


def with_used_rows(found: Captured, inspection: Inspection) -> Captured:
    """A region as it was understood, with the parts of its rows that are read; the others are set to 0.

    For the scope that was chosen of several: it takes about as long as the inspection.
    """
    return replace(found, used_rows=used_parts(inspection.accesses)) if found.tables else found


def _copied(
    found: Captured,
    scope: int,
    exits: tuple[str, ...],
    rows: FlatScope,
    fill: Fill,
    unused: frozenset[str],
    together: frozenset[frozenset[str]] = frozenset(),
) -> tuple[Analysis, FlatScope, Flattened]:
    """The flattened program, its scope, and what its tables lead to. `unused`, `together`: see `flatten_rows`."""

    def described(units: Mapping[str, int] | None) -> tuple[Analysis, Nest, tuple[RowTable, ...]]:
        flat, known = _flat(found, units, together, unused)
        nest = from_json(to_json(flat.nest(scope, exits)))
        return flat, nest, tuple(row_tables(nest, known))

    flat, nest, tables = described(None)
    seen = replace(rows, nest=nest, tables=tables) if together or unused else rows.in_units(nest, tables)
    units = record_units(seen)
    if units:
        flat, nest, tables = described(units)
        seen = seen.in_units(nest, tables)
    return flat, seen, flatten_memory(seen, fill=fill)


def _gathered(memory: Memory) -> Fill:
    """Copies rows of captured memory."""
    packed = Packed.of(memory.contents)

    def fill(data: Bytes, bases: Vector, sizes: Vector, starts: Vector) -> None:
        places = np.searchsorted(packed.bases, bases)
        if np.any(packed.bases[np.minimum(places, len(packed) - 1)] != bases):
            raise UnsupportedError("rows behind pointers were not captured")
        support().gather(data.ctypes.data, packed.addresses()[places], sizes, starts)

    return fill


def _inspect(
    found: Captured, scope: int, nest: Nest, memory: Memory, numbers: Mapping[str, int | float], wanted: Wanted
) -> Inspection:
    return inspect_scope(
        nest,
        memory,
        numbers,
        single=scope != found.region,
        renumber=wanted.renumber,
        exact=wanted.exact,
        region=found.region,
        limit=wanted.limit,
        look_up=wanted.look_up,
    )
