"""The copies of a region: what each of them has, in which order, and with which new numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracecut.codegen.schedule import schedule as sc
from tracecut.codegen.schedule.plan.piece_lengths import first_of
from tracecut.codegen.schedule.plan.row_bounds import BOUNDS
from tracecut.codegen.schedule.plan.scope_plan import RegionUse, ScopePlan, Segments, Space
from tracecut.tracer.legality.evaluation.memory import Object


def records_in(plan: ScopePlan, place: int, space: Space, shift: int) -> tuple[int, int]:
    """The records [low, high) of an array that are in the order of a space: of data in rows, all that are cut."""
    return plan.arrays[place].touched if space.bounds is None else (space.low + shift, space.high + shift)


def renumberings(spaces: Sequence[Space], place: int) -> tuple[sc.Renumbering, ...]:
    """The index fields of an array that get new values."""
    return tuple(
        sc.Renumbering(found.offsets, found.width, number, item.fields[found])
        for number, item in enumerate(spaces)
        for found in item.fields
        if found.array == place
    )


def copy_for(plan: ScopePlan, use: RegionUse, jobs: int, spaces: list[Space], places: Mapping[Object, int]) -> sc.Copy:
    """The copy by which a region of so many jobs uses an array. `places`: number of each object."""
    array = plan.arrays[use.array]
    pattern = use.patterns[0]
    first, last = array.touched
    space, shift, reverse, ends = -1, 0, False, False
    pieces: tuple[sc.PieceField, ...] = ()
    if use.mode == "direct":
        record = array.record(pattern)
        reverse = pattern.step < 0
        first = record - (jobs - 1) if reverse else record
        last = first + jobs
    elif use.mode == "segment":
        first = last = first_of(array, use.patterns)
    elif use.mode == "offsets" and use.segments is not None:
        ends = use.segments.start.array != use.array
        both = use.segments.end is not None and use.segments.end.array == use.segments.start.array
        first = use.segments.end_record if ends else use.segments.start_record
        pieces = _piece_fields(use.segments, use.array, array.stride, both and use.segments.end_record == first)
        ends = ends and not pieces
        last = first + jobs + (1 if both and not pieces else 0)
    elif use.mode in ("spaced", BOUNDS):
        space = next(number for number, item in enumerate(spaces) if use.array in item.copies)
        shift = spaces[space].copies[use.array]
        first, last = records_in(plan, use.array, spaces[space], shift)
    if use.mode == BOUNDS:
        first, last = next(item.bounds for item in spaces if item.bounds and item.bounds.array == use.array).records
        last += 1  # where the last row ends
    indices = use.mode == BOUNDS or any(item.access.site.key in plan.fields for item in use.patterns)
    indices = indices and use.mode != "offsets"
    renumber = renumberings(spaces, use.array) if indices else ()  # as data alone, they are read as they were
    return sc.Copy(
        use.mode,
        places[array.object],
        array.origin,
        array.stride,
        first,
        last - first,
        reverse,
        space,
        shift,
        ends,
        renumber,
        pieces,
    )


def _piece_fields(segments: Segments, place: int, stride: int, together: bool) -> tuple[sc.PieceField, ...]:
    """The fields of an array of starts and ends; none where it holds nothing else, record after record.

    `together`: starts and ends are fields of the same records.
    """
    alone = segments.end is not None and stride == segments.start.width and not together
    found = [] if alone else [(segments.start, False), (segments.end, True)]
    return tuple(
        sc.PieceField(field.offsets[0], field.width, ends)
        for field, ends in found
        if field is not None and field.array == place
    )


def starts_of(plan: ScopePlan, segments: Segments, places: Mapping[Object, int]) -> sc.Starts:
    """Where the program has the starts of pieces."""
    array = plan.arrays[segments.start.array]
    low = array.origin + segments.start.offsets[0]
    return places[array.object], low, array.stride, segments.start_record, segments.start.width


def renumbered(plan: ScopePlan, region: int) -> dict[str, tuple[int, int]]:
    """Load → [low, high): of what it reads, these numbers are replaced by others of them, and nothing else is.

    Loads of whole index fields in copies that the region reads, whether an address is formed with them or not. O(sites
    of the region).
    """
    found: dict[str, tuple[int, int]] = {}
    seen: dict[str, int] = {}
    moved = {place for space in plan.spaces for place in space.arrays}
    for use in plan.uses[region]:
        array = plan.arrays[use.array]
        for pattern in use.patterns:
            site = pattern.access.site
            seen[site.key] = seen.get(site.key, 0) + 1
            for space in plan.spaces if array.stride and use.array not in moved and not site.writes else ():
                for field, shift in space.fields.items():
                    places = {(pattern.first - array.origin) % array.stride + offset for offset in pattern.offsets}
                    if field.array == use.array and site.type == f"i{8 * field.width}" and places <= {*field.offsets}:
                        last = space.bounds is not None and space.bounds.field is field  # where the last row ends
                        found[site.key] = space.low + shift, space.high + shift + last
    return {key: numbers for key, numbers in found.items() if seen[key] == 1}
