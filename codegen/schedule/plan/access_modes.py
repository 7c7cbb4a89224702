"""How a region reaches each array that it touches, if nothing is moved in place.

Arrays that are only read may be copied: record by record in job order (`direct`), in pieces (`segment`, with new
`offsets`), or as they are (`plain`, for index fields that get new values; `tied`, if the iterations take the order of
these indices). Bounds of rows that are written, or picked by an index, are read from a copy in the order of what picks
them (`bounds`). Everything else is read by the old numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.expressions import Expr
from tracecut.tracer.legality.access_patterns import DIRECT, INDIRECT, SEGMENT, Array, Pattern
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.loops.linear_forms import Linear, linear_form

from .piece_lengths import first_of, is_head, piece_lengths
from .row_copies import is_tied
from .scope_facts import Facts, inner_trip_loads
from .scope_plan import Field, RegionUse, Segments

MOST_COPIES = 2  # of one array, each with another record in the place of an iteration
MAX_GROWTH = 2  # pieces that overlap are copied more than once


def find_uses(facts: Facts, region: int) -> list[RegionUse]:
    """Mode of each array that a region touches. Freezes fields whose numbers decide how often inner loops run."""
    found = []
    for place, array in enumerate(facts.arrays):
        patterns = tuple(pattern for pattern in array.patterns if facts.region_of(pattern) == region)
        if patterns:
            mode, segments = _mode(facts, region, array, patterns)
            found.append(RegionUse(place, mode, patterns, segments))
    found = [part for use in _with_offsets(facts, region, found) for part in _record_by_record(facts, region, use)]
    modes = {use.array: use.mode for use in found}
    bounds = {key for key, field in facts.fields.items() if field in facts.bounds}
    for node in inner_trip_loads(facts.nest, region, bounds):
        field = facts.fields.get(str(node.data[0]))
        if field is not None and modes.get(field.array) not in ("offsets", "bounds"):
            facts.frozen.add(field)
    return found


def _mode(facts: Facts, region: int, array: Array, patterns: tuple[Pattern, ...]) -> tuple[str, Segments | None]:
    if (
        not array.stride
        or array.written
        or array.object in facts.own
        or any(len(facts.homes(p.access.site.key)) > 1 for p in patterns)
    ):
        return "old", None
    if any(bounds.array == facts.home[patterns[0]] for bounds in facts.bounds.values()):
        return "bounds", None
    if any(pattern.kind == SEGMENT and facts.field_of(pattern) in facts.bounds for pattern in patterns):
        return "plain", None  # in the order of these rows
    kinds = {pattern.kind for pattern in patterns}
    if kinds == {DIRECT} and all(facts.is_own(pattern, region) for pattern in patterns):
        return ("direct" if _in_job_order(facts, region, array, patterns) else "old"), None
    if SEGMENT in kinds and kinds <= {SEGMENT, INDIRECT}:
        segments = _segments(facts, region, array, patterns)
        return ("segment" if segments is not None else "plain"), segments
    if is_tied(facts, region, array, patterns):
        return "tied", None
    return ("plain" if kinds == {INDIRECT} else "old"), None


def _record_by_record(facts: Facts, region: int, use: RegionUse) -> list[RegionUse]:
    """A use for each record of an array that an iteration reads (`row[i]` and `row[i + 1]`), each with a copy of its
    own; the use as it is where that cannot be."""
    array = facts.arrays[use.array]
    if use.mode != "old" or not array.stride or array.written:
        return [use]
    if array.object in facts.own or any(
        pattern.kind != DIRECT
        or not facts.is_own(pattern, region)
        or pattern.access.site.key in facts.fields
        or len(facts.homes(pattern.access.site.key)) > 1
        for pattern in use.patterns
    ):
        return [use]
    records: dict[int, list[Pattern]] = {}
    for pattern in use.patterns:
        records.setdefault(array.record(pattern), []).append(pattern)
    parts = [tuple(patterns) for patterns in records.values()]
    if len(parts) > MOST_COPIES or not all(_in_job_order(facts, region, array, part) for part in parts):
        return [use]
    return [RegionUse(use.array, "direct", part) for part in parts]


def _in_job_order(facts: Facts, region: int, array: Array, patterns: tuple[Pattern, ...]) -> bool:
    """Whether every job has one record of its own, all of them inside of the object and not of another array."""
    records = {array.record(pattern) for pattern in patterns}
    downwards = {pattern.step < 0 for pattern in patterns}
    jobs = facts.accesses.size(region) or 0
    if len(records) > 1 or len(downwards) > 1 or not jobs:
        return False
    first = records.pop() - (jobs - 1 if downwards.pop() else 0)
    inside = array.capacity[0] <= first and first + jobs <= array.capacity[1]
    return inside and stands_alone(facts, array, first, jobs)


def stands_alone(facts: Facts, array: Array, first: int, count: int) -> bool:
    """Whether this many records overlap no other array of the object, which may begin in the records of skipped
    jobs."""
    low = array.origin + array.stride * first
    parts = (low, array.low), (array.high, low + array.stride * count)
    others = [other for other in facts.arrays if other.object is array.object and other is not array]
    return not any(other.low < end and start < other.high for other in others for start, end in parts if start < end)


def _segments(facts: Facts, region: int, array: Array, patterns: tuple[Pattern, ...]) -> Segments | None:
    """The inner loops over pieces that all patterns share, None when there are none, or they run over other pieces."""
    walks = [pattern for pattern in patterns if pattern.kind == SEGMENT]
    shapes = {(pattern.major, pattern.step) for pattern in walks}
    if len(shapes) != 1 or region not in facts.movable:
        return None
    major, step = shapes.pop()
    assert major is not None
    start = facts.field_of(walks[0])
    if start is None or step < 0:
        return None
    if any(pattern.kind != SEGMENT and not is_head(pattern, region, major, step) for pattern in patterns):
        return None
    counters = dict.fromkeys(pattern.inner for pattern in walks if pattern.inner is not None)
    walked = [_walk(facts, region, major, int(inner.data[0])) for inner in counters]
    ends = {found.last for found in walked if found is not None}
    if None in walked or len(ends) != 1:
        return None
    last = ends.pop()
    end = None if last is None else facts.fields.get(str(last.data[0]))
    if last is not None and (end is None or end in facts.frozen):
        return None
    fields = [facts.by_site[str(atom.data[0])][0] for atom in (major, last) if atom is not None]
    if not all(facts.is_own(field, region) for field in fields):
        return None
    loops = frozenset(int(inner.data[0]) for inner in counters)
    lengths = piece_lengths(facts, region, loops, major, last)
    total = None if lengths is None else _covered(facts, region, major, lengths, array, patterns)
    if lengths is None or total is None or total >= 1 << (8 * start.width - 1):
        return None
    forms: list[tuple[Linear | None, Set[Expr]]] = []
    forms += [(pattern.access.form, {major, *counters} & pattern.access.atoms.keys()) for pattern in patterns]
    for found in walked:
        forms += [] if found is None else found.forms
    if not all(form is not None and holds_up_to(facts.accesses, form, atoms, total) for form, atoms in forms):
        return None
    homes = [facts.arrays[facts.home[field]] for field in fields]
    jobs = facts.accesses.size(region) or 0
    if not all(stands_alone(facts, at, at.record(of), jobs) for at, of in zip(homes, fields, strict=True)):
        return None
    records = [at.record(of) for at, of in zip(homes, fields, strict=True)]
    return Segments(loops, lengths, start, records[0], end, records[-1])


@dataclass(frozen=True)
class _Walk:
    """A loop over pieces: the loaded end that it runs to, if there is one, and what it computes with start and end."""

    last: Expr | None
    forms: list[tuple[Linear | None, Set[Expr]]]


def _walk(facts: Facts, region: int, start: Expr, loop: int) -> _Walk | None:
    """How an inner loop runs over the pieces of a start. None where another number of it decides that, too."""
    info = facts.nest.loops[loop]
    if facts.accesses.around(loop) != region:
        return None
    if info.trip is None:
        return _Walk(None, [])
    begin, pace, bound = (linear_form(part, facts.accesses.lives) for part in info.trip.args)
    told = {node for part in info.trip.args for node in part.walk() if node.kind == "load" and node.data[1] != "ptr"}
    last = end_of(start, begin, pace, bound)
    if last is None:
        return None if start in told else _Walk(None, [(begin, {start})])
    return _Walk(last, [(begin, {start}), (bound, {last, start} & bound.atoms())]) if told == {start, last} else None


def end_of(start: Expr, begin: Linear, pace: Linear, bound: Linear) -> Expr | None:
    """The loaded end of a piece, if a loop runs from its start to there: in records, or in bytes of a pointer."""
    way = dict(bound.terms)
    for atom, factor in begin.terms.items():
        way[atom] = way.get(atom, 0) - factor
    way = {atom: factor for atom, factor in way.items() if factor}
    if pace.terms or pace.const < 1 or way.pop(start, 0) != -pace.const or len(way) != 1:
        return None
    end, factor = way.popitem()
    return end if end.kind == "load" and factor == pace.const else None


def _covered(
    facts: Facts,
    region: int,
    start: Expr,
    lengths: npt.NDArray[np.int64],
    array: Array,
    patterns: tuple[Pattern, ...],
) -> int | None:
    """Length of all pieces, None unless every piece lies in the array, also those that do not run."""
    first = facts.accesses.evaluation.at(start, region)
    filled = lengths > 0
    if not first.all_known or not filled.any():
        return None
    begins = np.broadcast_to(first.data, lengths.size)
    low, high = int(begins[filled].min()), int((begins + lengths)[filled].max())
    total, record = int(lengths.sum()), first_of(array, patterns)
    inside = array.capacity[0] <= low + record and high + record <= array.capacity[1]
    return total if inside and total <= MAX_GROWTH * (high - low) else None


def holds_up_to(accesses: Accesses, form: Linear, atoms: Set[Expr], total: int) -> bool:
    """Whether nothing wraps on the way to an address while some atoms, and their sum, are any numbers up to `total`.

    Copies in pieces are numbered from 0 on: where pieces overlap there are more numbers than there were.
    """
    ranges = dict.fromkeys(atoms, (0, total))
    for inner, low, high in form.fits:
        factors = {inner.terms.get(atom, 0) for atom in atoms}
        if factors == {0}:
            continue
        rest = {atom: factor for atom, factor in inner.terms.items() if atom not in atoms}
        if any(atom.kind != "counter" or not _span(accesses, atom, ranges) for atom in rest):
            return False
        together = Linear(inner.const, {**rest, next(iter(atoms)): factors.pop()}) if len(factors) == 1 else inner
        first, last = together.range(ranges)
        if first < low or last > high:
            return False
    return True


def _span(accesses: Accesses, counter: Expr, ranges: dict[Expr, tuple[int, int]]) -> bool:
    """Put the values of a counter into `ranges`; False when they are not known."""
    domain = accesses.evaluation.domain(counter.data[0])
    if domain is None or not domain.size:
        return False
    ranges[counter] = domain.numbers
    return True


def _with_offsets(facts: Facts, region: int, found: list[RegionUse]) -> list[RegionUse]:
    """Arrays of starts and ends get new values when everything that they cut into pieces is copied in pieces."""
    cut: dict[Field, list[RegionUse]] = {}
    for use in found:
        for pattern in use.patterns:
            if pattern.kind == SEGMENT and pattern.major is not None:
                start = facts.fields.get(str(pattern.major.data[0]))
                if start is not None:
                    cut.setdefault(start, []).append(use)
    result = {use.array: use for use in found}
    taken: set[int] = set()  # one array of starts holds those of one cut: of what cuts the most arrays
    for members in sorted(cut.values(), key=len, reverse=True):
        segments = [use.segments for use in members if use.segments is not None]
        good = len(segments) == len(members) and all(_alike(segments[0], other) for other in segments[1:])
        fields = [field for field in (segments[0].start, segments[0].end) if field is not None] if good else []
        good = good and taken.isdisjoint(field.array for field in fields)
        if good and _offsets_fit(facts, region, segments, result):
            taken |= {field.array for field in fields}
            for field in fields:
                result[field.array] = RegionUse(field.array, "offsets", result[field.array].patterns, segments[0])
        else:
            for use in members:
                if use.segments is not None:
                    result[use.array] = RegionUse(use.array, "plain", use.patterns)
    return list(result.values())


def _alike(first: Segments, second: Segments) -> bool:
    """Whether two arrays are cut into the same pieces by one start."""
    return first.end is second.end and np.array_equal(first.lengths, second.lengths)


def _offsets_fit(facts: Facts, region: int, found: Sequence[Segments], uses: Mapping[int, RegionUse]) -> bool:
    """Offsets are read as start and end alone, in one of the known forms; no other loop runs as they say."""
    segments = found[0]
    walking = {loop for item in found for loop in item.loops} if segments.end is not None else set()
    fields = [field for field in (segments.start, segments.end) if field is not None]
    places = {field.array for field in fields}
    others = facts.nest.inside(region) - {region} - walking
    if any(places & _homes_of_trips(facts, loop) for loop in others):
        return False
    for place in places:
        array = facts.arrays[place]
        if array.written or place not in uses:
            return False
        for pattern in uses[place].patterns:
            if pattern.kind != DIRECT or pattern.step < 0 or not facts.is_own(pattern, region):
                return False
    return _in_numbers(facts, segments, uses) or _in_records(facts, region, segments, uses)


def _in_numbers(facts: Facts, segments: Segments, uses: Mapping[int, RegionUse]) -> bool:
    """Whether starts and ends are all that their arrays hold: one array, where the next start is the end, or two."""
    if segments.end is None:
        return False
    start, end = segments.start.array, segments.end.array
    for place, record in ((start, segments.start_record), (end, segments.end_record)):
        array = facts.arrays[place]
        records = {record}
        if start == end:
            records = {segments.start_record, segments.end_record}
            if segments.end_record != segments.start_record + 1:
                return False
            if any(facts.nest.index_data.get(p.access.site.key, True) for p in uses[place].patterns):
                return False  # starts and ends share an array: the old values of both do not fit into one copy
        if array.stride != segments.start.width:
            return False
        if any(array.record(pattern) not in records for pattern in uses[place].patterns):
            return False
    return True


def _in_records(facts: Facts, region: int, segments: Segments, uses: Mapping[int, RegionUse]) -> bool:
    """Whether they are fields of records, one for each iteration, and are read as nothing but starts and ends."""
    fields = [field for field in (segments.start, segments.end) if field is not None]
    for field in fields:
        use, array = uses[field.array], facts.arrays[field.array]
        if len(field.offsets) > 1 or not _in_job_order(facts, region, array, use.patterns):
            return False
        for pattern in use.patterns:
            key, low = pattern.access.site.key, (pattern.first - array.origin) % array.stride
            if facts.fields.get(key) in fields:
                if facts.nest.index_data.get(key, True):
                    return False
            elif low < field.offsets[0] + field.width and field.offsets[0] < low + pattern.extent:
                return False
    return True


def _homes_of_trips(facts: Facts, loop: int) -> set[int]:
    """Arrays that hold the numbers which say how often a loop runs."""
    trip = facts.nest.loops[loop].trip
    loads = [node for node in trip.walk() if node.kind == "load"] if trip is not None else []
    return {place for node in loads for place in facts.homes(str(node.data[0]))}


def holds_in_pieces(accesses: Accesses, pattern: Pattern, total: int) -> bool:
    """Whether no arithmetic on the way to the addresses of a piece wraps, wherever below `total` it begins and ends."""
    form = pattern.access.form
    assert form is not None and pattern.major is not None and pattern.inner is not None
    return holds_up_to(accesses, form, {pattern.major, pattern.inner}, total)


def holds_anywhere(accesses: Accesses, array: Array, pattern: Pattern) -> bool:
    """Whether no arithmetic on the way to the address wraps, whatever record of the array the index picks."""
    form, major = pattern.access.form, pattern.major
    assert form is not None and major is not None
    low, high = (edge - array.record(pattern) for edge in array.touched)
    ranges = {major: (low, high - 1)}
    for inner, _, _ in form.fits:
        for atom in inner.terms if major in inner.terms else ():
            if atom is not major and (atom.kind != "counter" or not _span(accesses, atom, ranges)):
                return False
    return Linear(0, {}, tuple(fit for fit in form.fits if major in fit[0].terms)).holds(ranges)
