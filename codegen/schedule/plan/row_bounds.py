"""Rows of a space that an array of bounds cuts: `for (k = row[v]; k < row[v + 1]; k++) a[k] = …`.

What is only read of such rows, by each region's own iterations, is copied piece by piece in the order of its jobs
(`access_modes.py`). Rows that are written have one place, and rows that an index picks (`row[at[i]]`) are in no order
of jobs. Such data are a space whose order follows from that of the rows: each row as a whole, one after the other. So
one copy of the bounds in that order has all starts and ends, for whatever picks a row: the next bound is still its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr
from tracecut.support.arrays import Ints
from tracecut.tracer.legality.access_patterns import DIRECT, INDIRECT, SEGMENT, Array, Pattern
from tracecut.tracer.legality.evaluation.trip_numbers import counts_of
from tracecut.tracer.loops.linear_forms import linear_form

from .access_modes import end_of, holds_in_pieces, holds_up_to, stands_alone
from .offset_union_find import Shifts
from .scope_facts import Facts
from .scope_plan import Bounds, Field, RegionUse, Space

BOUNDS = "bounds"  # mode of the copies


def find_bounds(facts: Facts, kept: Collection[int]) -> dict[Field, Bounds]:
    """Arrays of bounds by which regions reach rows that are written, or picked by an index.

    `kept`: arrays that stay where they are, whose rows are read by the old bounds. O(accesses, and rows).
    """
    found: dict[Field, Bounds] = {}
    for field in dict.fromkeys(facts.fields.values()):
        if field in facts.frozen or field in facts.torn or not facts.is_index_copy(field.array):
            continue
        rows = list(_picked(facts, field))
        wanted = any(pattern.kind == SEGMENT and facts.arrays[place].written for place, pattern in rows)
        wanted |= any(pattern.kind == INDIRECT for pattern in _inside(facts, facts.arrays[field.array]))
        if not wanted or any(place in kept or pattern.kind not in (SEGMENT, INDIRECT) for place, pattern in rows):
            continue
        bounds = _bounds(facts, field)
        if bounds is not None and all(_begins(facts, bounds, pattern) for _, pattern in rows):
            found[field] = bounds
    return found


def _inside(facts: Facts, array: Array) -> list[Pattern]:
    return [pattern for pattern in array.patterns if facts.region_of(pattern) is not None]


def _picked(facts: Facts, field: Field) -> Iterator[tuple[int, Pattern]]:
    """What regions reach by a number of the field, each with its array."""
    for pattern, place in facts.home.items():
        by = pattern.major if facts.region_of(pattern) is not None else None
        if by is not None and by.kind == "load" and facts.fields.get(str(by.data[0])) is field:
            yield place, pattern


def _bounds(facts: Facts, field: Field) -> Bounds | None:
    """The array of a field as one of bounds; None where its numbers are used in another way by some region."""
    array = facts.arrays[field.array]
    inside = {pattern.access.site.key: pattern for pattern in _inside(facts, array)}
    if not inside or array.stride != field.width:
        return None
    if not all(_reads_bound(facts, field, pattern) for pattern in inside.values()):
        return None
    regions = {facts.inside[item.access.site.loop] for item in inside.values()}
    if any(_unknown_places(facts, region) or _never_reached(facts, region, inside) for region in regions):
        return None
    known = {key: _records(array, pattern) for key, pattern in inside.items()}
    told = [records for key, records in known.items() if facts.fields.get(key) is field]
    if not told:
        return None
    first, last = min(low for low, _ in told), max(high for _, high in told)
    if not _covers(told, first, last) or any(low < first or last < high for low, high in known.values()):
        return None  # the guard says nothing of the others
    values = _values(facts, array, first, last)
    if values is None or values.size < 2 or values[0] < 0 or np.any(np.diff(values) < 0):
        return None
    ends: set[str] = set()
    skipped: dict[int, int] = {}
    for loop in {loop for region in facts.regions for loop in facts.nest.inside(region) - {region}}:
        if any(str(node.data[0]) in inside for node in _told(facts, loop)):
            end = _end(facts, loop, inside, int(values[-1]))
            if end is None:
                return None
            ends.add(end[0])
            skipped[loop] = end[1]
    for start, end_load in facts.nest.lengths:
        if start in inside or end_load in inside:
            if not {start, end_load} <= inside.keys() or not _are_next(array, inside[start], inside[end_load]):
                return None
            ends.add(end_load)
    if not ends or not inside.keys() - ends:
        return None
    return Bounds(field.array, field, first, values, frozenset(ends), skipped)


def _reads_bound(facts: Facts, field: Field, pattern: Pattern) -> bool:
    """Whether an access to the array of bounds is the load of one, picked by the iteration or by an index."""
    key, region = pattern.access.site.key, facts.region_of(pattern)
    of_lengths = any(key in pair for pair in facts.nest.lengths)
    if facts.fields.get(key) is not field and not (of_lengths and _reads_whole(facts, field, pattern)):
        return False
    if facts.nest.index_data.get(key, True) or pattern.step <= 0:
        return False
    if region not in facts.movable or len(facts.homes(key)) > 1:
        return False
    if pattern.kind == DIRECT:
        return facts.is_own(pattern, region)
    by = facts.field_of(pattern)
    return pattern.kind == INDIRECT and by is not None and by is not field


def _reads_whole(facts: Facts, field: Field, pattern: Pattern) -> bool:
    """Whether a load reads numbers of the field, whole ones, though none of them is an index there."""
    array = facts.arrays[field.array]
    first = (pattern.first - array.origin) % array.stride
    return pattern.access.width == field.width and {first + offset for offset in pattern.offsets} <= {*field.offsets}


def _unknown_places(facts: Facts, region: int) -> bool:
    """Whether a region touches memory at a place that may follow from anything: from an old bound, too."""
    return any(site.address.has("opaque", "any") for site in facts.nest.sites_in(region))


def _never_reached(facts: Facts, region: int, bounds: Collection[str]) -> bool:
    """Whether a region has an access by one of the bounds that never ran: it would be made from the old ones."""
    return any(
        not any(access.runs for access in facts.accesses.by_site[site.key])
        and any(str(node.data[0]) in bounds for node in site.address.numbers())
        for site in facts.nest.sites_in(region)
    )


def _told(facts: Facts, loop: int) -> list[Expr]:
    """Numbers that a loop loads to know how often to run."""
    trip = facts.nest.loops[loop].trip
    return trip.numbers() if trip is not None else []


def _end(facts: Facts, loop: int, inside: Mapping[str, Pattern], most: int) -> tuple[str, int] | None:
    """The load of the end of the row that a loop runs over, and how many data it skips from the start on.

    None where it runs in another way.

    `most`: the largest bound.
    """
    trip, told = facts.nest.loops[loop].trip, _told(facts, loop)
    if trip is None or len(told) != 2 or not all(str(node.data[0]) in inside for node in told):
        return None
    begin, pace, bound = (linear_form(part, facts.accesses.lives) for part in trip.args)
    array = facts.arrays[facts.home[inside[str(told[0].data[0])]]]
    for start in told:
        last = end_of(start, begin, pace, bound)
        if last is None or last not in told:
            continue
        one, other = inside[str(start.data[0])], inside[str(last.data[0])]
        if not _are_next(array, one, other):
            return None
        if not holds_up_to(facts.accesses, begin, {start}, most):
            return None
        # How far both are apart stays as it is.
        apart = replace(
            bound, fits=tuple(fit for fit in bound.fits if fit[0].terms.get(start) != -fit[0].terms.get(last, 0))
        )
        if not holds_up_to(facts.accesses, apart, {start, last} & bound.atoms(), most):
            return None
        skipped = _skipped(facts, loop, start, last)
        exact = bound.const == 0 and bound.terms == {last: 1}
        return None if skipped is None or (skipped and not exact) else (str(last.data[0]), skipped)
    return None


def _are_next(array: Array, start: Pattern, end: Pattern) -> bool:
    """Whether both read neighbours, by the same index."""
    return start.major is end.major and array.record(end) == array.record(start) + 1


def _skipped(facts: Facts, loop: int, start: Expr, last: Expr) -> int | None:
    """How many data of its row a loop runs less than there are, None where they are not as many each time."""
    evaluation, parent = facts.accesses.evaluation, facts.nest.loops[loop].parent
    counts = counts_of(evaluation, loop)
    if counts is None or parent is None:
        return None
    first, end = (np.broadcast_to(evaluation.at(node, parent).data, counts.size) for node in (start, last))
    less = (end - first - counts)[counts > 0]
    return 0 if not less.size else int(less[0]) if less[0] >= 0 and np.all(less == less[0]) else None


def record_of(facts: Facts, array: Array, pattern: Pattern) -> int:
    """The record that an access picks by an index of 0; in rows, the one at which the row begins."""
    bounds = facts.bounds.get(field) if (field := facts.field_of(pattern)) is not None else None
    if bounds is None or pattern.kind != SEGMENT or pattern.inner is None:
        return array.record(pattern)
    return array.record(pattern) - bounds.skipped.get(int(pattern.inner.data[0]), 0)


def _begins(facts: Facts, bounds: Bounds, pattern: Pattern) -> bool:
    """Whether an access reaches what lies from the start of a row on: one datum, or all of a loop over the row."""
    assert pattern.major is not None
    start = str(pattern.major.data[0])
    if start in bounds.ends or pattern.step <= 0:
        return False
    if pattern.kind == INDIRECT:
        return bool(np.all(np.diff(bounds.values) > 0))  # from an empty row on it would reach the next one
    assert pattern.inner is not None
    loop, most = int(pattern.inner.data[0]), int(bounds.values[-1])
    over = {str(node.data[0]) for node in _told(facts, loop)}
    searches = facts.nest.loops[loop].trip is None and _stays_in_row(facts, bounds, pattern)
    return (searches or (start in over and loop in bounds.skipped)) and holds_in_pieces(facts.accesses, pattern, most)


def _stays_in_row(facts: Facts, bounds: Bounds, pattern: Pattern) -> bool:
    """Whether an access that no end of a row is told to (`while (col[k] != j) k++`) stays in the row that it begins
    in. O(iterations)."""
    assert pattern.major is not None
    found, loop = facts.accesses.addresses(pattern.access), pattern.access.site.loop
    array, table = facts.arrays[facts.home[pattern]], facts.arrays[bounds.array]
    if found is None:
        return False
    addresses, runs = (np.broadcast_to(part, facts.accesses.size(loop) or 0) for part in found)
    place = np.broadcast_to(facts.accesses.evaluation.at(pattern.major.args[0], loop).data, addresses.size)[runs]
    row = (place - table.object.base - table.origin) // table.stride - bounds.first
    datum = (addresses[runs] - array.object.base - array.origin) // array.stride - array.record(pattern)
    if np.any(row < 0) or np.any(row >= bounds.values.size - 1):
        return False
    return bool(np.all((bounds.values[row] <= datum) & (datum < bounds.values[row + 1])))


def _records(array: Array, pattern: Pattern) -> tuple[int, int]:
    """Records [low, high) that a load reads some of."""
    return (pattern.access.low - array.origin) // array.stride, -((array.origin - pattern.access.high) // array.stride)


def _covers(parts: Collection[tuple[int, int]], first: int, last: int) -> bool:
    """Whether ranges leave nothing out of [first, last)."""
    reached = first
    for low, high in sorted(parts):
        if low > reached:
            return False
        reached = max(reached, high)
    return reached >= last


def _values(facts: Facts, array: Array, first: int, last: int) -> npt.NDArray[np.int64] | None:
    low = array.object.base + array.origin + array.stride * first
    data = facts.accesses.memory.read(low, array.stride * (last - first))
    return None if data is None else np.frombuffer(data, f"i{array.stride}").astype(np.int64)


def relate_bounds(facts: Facts, region: int, use: RegionUse, links: Shifts) -> None:
    """The copy of the bounds takes the order of whatever picks rows. Notes fields whose rows have two numberings."""
    bounds = next(item for item in facts.bounds.values() if item.array == use.array)
    for pattern in use.patterns:
        picks = ("jobs", region) if pattern.kind == DIRECT else ("field", facts.field_of(pattern))
        record = facts.arrays[use.array].record(pattern) - (pattern.access.site.key in bounds.ends)
        if not links.relate(("copy", use.array), picks, record):
            facts.torn.add(bounds.field)


def rows_of(
    facts: Facts,
    cut: Sequence[Bounds],
    fields: Mapping[Field, int],
    members: Mapping[int, int],
    fixed: Collection[int],
) -> tuple[int, int] | None:
    """Data [low, high) of a space that are cut into rows. None, with a note, where not all of it can lie in them.

    `cut`: bounds of these rows. `fields`, `members`: fields and arrays of the space → shift. `fixed`: data between
    which nothing may be moved.
    """
    bounds, shift = cut[0], fields[cut[0].field]
    low, high = (int(bounds.values[end]) - shift for end in (0, -1))
    good = len(cut) == 1 and low < high and {*fixed} <= {low, high}
    for place, of in members.items():
        array = facts.arrays[place]
        fits = array.capacity[0] <= low + of and high + of <= array.capacity[1]
        others = [pattern for pattern in array.patterns if facts.field_of(pattern) is not bounds.field]
        known = [_records(array, pattern) for pattern in others]
        inside = all(low + of <= first and last <= high + of for first, last in known)
        good = good and fits and inside and stands_alone(facts, array, low + of, high - low)
    if not good:
        facts.torn.update(item.field for item in cut)
    return (low, high) if good else None


def tear_unlike(facts: Facts, spaces: Collection[Space]) -> None:
    """Note fields of which the rows, or the data in them, are no space after all."""
    for field, bounds in facts.bounds.items():
        cut = [space for space in spaces if space.bounds is bounds]
        rows = [space for space in spaces if bounds.array in space.copies]
        good = len(cut) == len(rows) == 1 and rows[0].bounds is None and rows[0].pieces is None
        if good:
            shift = rows[0].copies[bounds.array]
            reached = {place for place, _ in _picked(facts, field)}
            good = (rows[0].low + shift, rows[0].high + shift) == bounds.records
            good = good and reached <= {*cut[0].arrays, *cut[0].copies}  # nothing is reached by the old bounds
        if not good:
            facts.torn.add(field)


def order_of_rows(space: Space, rows: Ints) -> Ints:
    """Order of the data of a space, int32, counted from its lowest: row after row in the order `rows` of these.
    O(data)."""
    bounds = space.bounds
    assert bounds is not None
    starts = (bounds.values[:-1] - bounds.values[0])[rows]
    lengths = np.diff(bounds.values)[rows]
    ends = np.cumsum(lengths)
    return (np.repeat(starts - ends + lengths, lengths) + np.arange(int(ends[-1]))).astype(np.int32)
