"""The part of the checker for copies: each has, in its order, the records that the region's code will read from it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.plan.range_function import OLD, Group
from tracecut.codegen.schedule.schedule import Copy, RegionSchedule, Schedule, Starts
from tracecut.ir.loops.expressions import Expr
from tracecut.support.errors import ScheduleError
from tracecut.tracer.legality.accesses import Access, Accesses
from tracecut.tracer.legality.evaluation.memory import Object
from tracecut.tracer.loops.row_numbers import is_number

from .numbering import begins_row, first_record, follows, in_same_order, row_ends
from .row_bounds import runs_over_a_row
from .whole_pieces import in_whole_pieces


def check_copies(
    schedule: Schedule, region: RegionSchedule, objects: Sequence[Object], accesses: Accesses, groups: Sequence[Group]
) -> None:
    """Raise ScheduleError unless every access that goes to a copy finds its record there.

    `groups`: of the region's code. O(accesses × copies), and the jobs once where rows are copied in pieces.
    """
    pieces = find_pieces(region, objects, accesses)
    group_of = {key: group.id for group in groups for key in group.sites}
    roots = {key: group.root for group in groups for key in group.sites}
    cutting = {number for number, copy in enumerate(region.copies) if copy.mode == "bounds"}
    bounds = {key for key, group in group_of.items() if region.bases.get(group) in cutting}
    for loop, access in _trip_loads(accesses, region.region, bounds):
        number = region.bases.get(group_of.get(access.site.key, -1)) if loop not in pieces.cut else None
        if number is not None and region.copies[number].mode == "bounds":
            if not runs_over_a_row(schedule, region, objects, accesses, region.copies[number], loop):
                raise ScheduleError(f"a loop runs over more or less than a row, by a bound at {access.site.place}")
            continue
        starts = number is not None and _holds_pieces(region.copies[number], access)
        if starts or _has_new_values(region, objects, access):
            raise ScheduleError(f"how often a loop runs is read from new numbers at {access.site.place}")
    if any(region.copies[number].mode == "segment" for number in region.bases.values()):
        for key in pieces.ends:
            number = region.bases.get(group_of.get(key, -1))
            if number is None or region.copies[number].mode != "offsets":
                raise ScheduleError(f"region {region.region} runs over copied pieces by their old starts or ends")
    views = {key: group.view for group in groups for key in group.sites}
    _check_lengths(schedule, region, objects, accesses, {key: region.bases.get(group_of[key], -1) for key in bounds})
    for access in accesses.inside(region.region):
        told = {str(node.data[0]) for node in access.site.address.numbers()}
        if told & bounds and (access.site.key not in views or views[access.site.key] == OLD):
            raise ScheduleError(f"rows are reached by their old bounds at {access.site.place}")
        if access.site.key in bounds and accesses.nest.index_data.get(access.site.key, True):
            raise ScheduleError(f"a bound of rows is used as a number at {access.site.place}")
        number = region.bases.get(group_of.get(access.site.key, -1)) if access.runs else None
        if access.runs and access.object is not None and access.object in accesses.memory.rows:
            _check_rows(accesses, access, roots.get(access.site.key, ""))
        if number is None:
            continue
        copy = region.copies[number]
        place = f"the copy that is read at {access.site.place}"
        if access.site.writes or access.form is None or objects[copy.object] is not access.object:
            raise ScheduleError(f"{place} is of something else, or written")
        if not _fits(schedule, region, objects, accesses, access, copy, pieces):
            raise ScheduleError(f"{place} ({copy.mode}) does not hold its records")
    for places in pieces.starts.keys() - pieces.told:
        if not np.array_equal(pieces.read[places], pieces.lengths[places]):
            raise ScheduleError(f"the pieces of region {region.region} are not what its iterations read")


def _check_lengths(
    schedule: Schedule,
    region: RegionSchedule,
    objects: Sequence[Object],
    accesses: Accesses,
    bounds: Mapping[str, int],
) -> None:
    """How far two numbers in a row are apart is asked of old ones, or of where a row starts and where it ends.

    `bounds`: loads of bounds of rows → the copy that they read.
    """
    inside = {access.site.key for access in accesses.inside(region.region)}
    for pair in accesses.nest.lengths:
        reads = [access for name in pair for access in accesses.by_site[name] if name in inside and access.runs]
        if not any(_has_new_values(region, objects, access) for access in reads):
            continue
        number, other = (bounds.get(name, -1) for name in pair)
        good = number == other >= 0 and len(reads) == 2
        for ends, access in enumerate(reads):
            good = good and ends in row_ends(schedule, region, objects, accesses, region.copies[number], access)
        if not good:
            raise ScheduleError(f"new numbers are subtracted or compared at {reads[0].site.place}")


def _check_rows(accesses: Accesses, access: Access, root: str) -> None:
    """The code reaches rows from their arena, and numbers of rows from the copy of the table that `root` leads to."""
    rows, item = accesses.memory.rows, access.object
    assert item is not None
    copied = item in rows.numbers.values()
    if item in rows.arenas and is_number(access.site.key):  # in the place of a pointer in a row
        copied = any(
            access.site.key == name for table in rows.columns.values() for name, holds, _ in table if holds == item
        )
        root = root if root == item.name else ""
    if is_number(access.site.key) != copied or not (root if copied else root == item.name):
        raise ScheduleError(f"rows behind pointers are reached at {access.site.place} by another pointer")
    if access.site.writes and item not in rows.records:
        raise ScheduleError(f"a copy of rows behind pointers is written at {access.site.place}")


def _fits(
    schedule: Schedule,
    region: RegionSchedule,
    objects: Sequence[Object],
    accesses: Accesses,
    access: Access,
    copy: Copy,
    pieces: Pieces,
) -> bool:
    assert access.form is not None
    own = [atom for atom in access.form.terms if atom.kind == "counter" and atom.data[0] == region.region]
    loads = [atom for atom in access.form.terms if atom.kind == "load"]
    if copy.mode == "plain":
        low = copy.origin + copy.stride * copy.first
        covered = low <= access.low and access.high <= low + copy.stride * copy.count
        return covered and not any(_is_new(region, objects, accesses, atom) for atom in loads)  # and by old numbers
    if copy.mode == "spaced":
        picks = own + loads
        if len(picks) != 1 or access.form.terms[picks[0]] != copy.stride:
            return False
        start = first_record(accesses, access, picks[0], copy) - copy.shift
        if own:
            return in_same_order(schedule, region, copy, start, copy.stride)
        begins = begins_row(schedule, region, objects, accesses, access, copy, loads[0])
        if begins is not None:
            return begins
        index = accesses.by_site[str(loads[0].data[0])]
        known = len(index) == 1 and follows(schedule, region, objects, copy.space, start, index[0])
        return known and in_whole_pieces(schedule, region, accesses, access, copy)
    if copy.mode == "bounds":
        return bool(row_ends(schedule, region, objects, accesses, copy, access))
    if copy.mode == "segment":
        return not own and _in_its_piece(region, accesses, access, copy, pieces)
    if len(own) != 1 or loads or abs(access.form.terms[own[0]]) != copy.stride:
        return False
    backwards = access.form.terms[own[0]] < 0
    record = _record(accesses, access, copy, own)
    end = pieces.ends.get(access.site.key, -1)
    if copy.mode == "direct" or copy.pieces:
        plain = not _holds_pieces(copy, access) and not (copy.pieces and end >= 0)
        known = plain or any(
            item.offset == _field(copy, access) and item.width == access.width and item.ends == end
            for item in copy.pieces
        )
        return known and backwards == copy.reverse and record == copy.first + (copy.count - 1 if backwards else 0)
    # Of offsets: whether it is read as the start of a piece or as its end.
    if backwards or record is None or end < copy.ends:
        return False
    ahead = 0 if copy.ends else end
    return record - copy.first == ahead and copy.count >= region.jobs.size + ahead


def _in_its_piece(region: RegionSchedule, accesses: Accesses, access: Access, copy: Copy, pieces: Pieces) -> bool:
    """Whether an access reads nothing but the piece of its iteration, record by record from a start on."""
    assert access.form is not None
    loads = [atom for atom in access.form.terms if atom.kind == "load"]
    inner = [atom for atom in access.form.terms if atom.kind == "counter"]
    if len(loads) != 1 or str(loads[0].data[0]) not in (pieces.starts.get(copy.starts, ()) if copy.starts else ()):
        return False
    if [access.form.terms[atom] for atom in (*loads, *inner)] != [copy.stride] * (1 + len(inner)):
        return False
    record = _record(accesses, access, copy, loads)
    if record is None or record < copy.first or len(inner) > 1:
        return False
    ahead, size = record - copy.first, region.jobs.size
    if inner:
        counts = _counts(accesses, inner[0].data[0], region)
        if counts is None or (str(loads[0].data[0]), inner[0].data[0]) not in pieces.walked:
            return False
        read = np.where(counts > 0, counts + ahead, 0)
    elif access.site.loop == region.region:
        read = np.where(np.broadcast_to(accesses.mask(access.site), size), ahead + 1, 0)
    else:
        return False
    assert copy.starts is not None
    pieces.read[copy.starts] = np.maximum(pieces.read[copy.starts], read)
    return not np.any(read > pieces.lengths[copy.starts])


def _record(accesses: Accesses, access: Access, copy: Copy, picks: list[Expr]) -> int | None:
    """The record that is reached when what picks it is 0; None when an access leaves it."""
    assert access.form is not None and access.object is not None
    low = high = access.form.const - access.object.base - copy.origin
    for atom, factor in access.form.terms.items():
        domain = accesses.evaluation.domain(atom.data[0]) if atom.kind == "counter" and atom not in picks else None
        if copy.mode != "segment" and domain is not None and domain.size:
            numbers = factor * domain.numbers[0], factor * domain.numbers[1]
            low, high = low + min(numbers), high + max(numbers)
    return low // copy.stride if low // copy.stride == (high + access.width - 1) // copy.stride else None


@dataclass(frozen=True)
class Pieces:
    """The pieces of a region, as its loops run over them.

    Attributes:
        ends: loads that start (0) and end (1) them. cut: loops whose lengths are told by starts and ends.
        starts: place of the starts in the program → their loads. walked: (load, inner loop) over its pieces.
        lengths: place of the starts → records of the piece of each iteration. told: places of which ends tell these.
        read: of the others, records of its piece that each iteration reads, as far as accesses were looked at.
    """

    ends: dict[str, int] = field(default_factory=dict)
    cut: set[int] = field(default_factory=set)
    starts: dict[Starts, set[str]] = field(default_factory=dict)
    walked: set[tuple[str, int]] = field(default_factory=set)
    lengths: dict[Starts, npt.NDArray[np.int32]] = field(default_factory=dict)
    told: set[Starts] = field(default_factory=set)
    read: dict[Starts, npt.NDArray[np.int64]] = field(default_factory=dict)


def find_pieces(region: RegionSchedule, objects: Sequence[Object], accesses: Accesses) -> Pieces:
    """Look at the lengths of the pieces. Raises ScheduleError where no inner loop runs over those of the region."""
    pieces = Pieces()
    for copy in region.copies:
        if copy.starts is None or copy.mode not in ("segment", "offsets"):
            continue
        lengths = pieces.lengths.setdefault(copy.starts, region.lengths_of(copy))
        if not np.array_equal(lengths, region.lengths_of(copy)):
            raise ScheduleError(f"region {region.region} copies pieces of one start by several lengths")
    for places in pieces.lengths:
        pieces.read[places] = np.zeros(region.jobs.size, np.int64)
        for access in accesses.inside(region.region):
            if _reads_start(access, places, objects, region.region):
                pieces.starts.setdefault(places, set()).add(access.site.key)
        starts = pieces.starts.get(places, set())
        for loop in sorted(accesses.nest.inside(region.region) - {region.region}):
            _look_at_lengths(pieces, places, loop, region, accesses)
        if not any(pieces.ends.get(name) == 0 for name in starts):
            raise ScheduleError(f"the pieces of region {region.region} are not those that its inner loop runs over")
    return pieces


def _reads_start(access: Access, places: Starts, objects: Sequence[Object], region: int) -> bool:
    number, origin, stride, first, width = places
    if access.object is not objects[number] or access.form is None or access.width != width or not access.runs:
        return False
    own = [atom for atom in access.form.terms if atom.kind == "counter" and atom.data[0] == region]
    at = access.form.const - access.object.base == origin + stride * first
    return at and len(own) == len(access.form.terms) == 1 and access.form.terms[own[0]] == stride


def _look_at_lengths(pieces: Pieces, places: Starts, loop: int, region: RegionSchedule, accesses: Accesses) -> None:
    """Find the pieces that an inner loop runs over: from a start to an end, or for as long as something else says."""
    info, evaluation = accesses.nest.loops[loop], accesses.evaluation
    starts, lengths = pieces.starts.get(places, set()), pieces.lengths[places]
    counts = _counts(accesses, loop, region)
    if counts is None:
        return
    parts = () if info.trip is None else info.trip.args
    loads = (node for part in parts for node in part.walk() if node.kind == "load")
    told = {str(node.data[0]): node for node in loads if node.data[1] != "ptr"}
    named = starts & told.keys()
    if not named and np.all(counts <= lengths):
        pieces.ends.update(dict.fromkeys(starts, 0))
        pieces.walked.update((name, loop) for name in starts)
    if len(named) != 1 or len(told) != 2:
        return
    (begin,) = named
    (end,) = told.keys() - named
    first, last = (
        np.broadcast_to(evaluation.at(told[name], region.region).data, region.jobs.size) for name in (begin, end)
    )
    if np.array_equal(last - first, lengths) and np.all((counts == 0) | (counts == lengths)):
        pieces.ends.update({begin: 0, end: 1})
        pieces.walked.add((begin, loop))
        pieces.cut.add(loop)
        pieces.told.add(places)


def _counts(accesses: Accesses, loop: int, region: RegionSchedule) -> npt.NDArray[np.int64] | None:
    """How often a loop runs in each iteration of the region, which lies around it; None when that is not known.

    There may be loops in between that nothing tells the number of iterations of: it runs as often in each of them.
    """
    evaluation, nest = accesses.evaluation, accesses.nest
    domain = None if evaluation.is_step(loop) else evaluation.domain(loop)
    around = nest.loops[loop].parent
    while around is not None and around != region.region and around in evaluation.untold:
        around = nest.loops[around].parent
    if domain is None or around != region.region:
        return None
    if nest.loops[loop].parent == region.region:
        return domain.in_each(region.jobs.size)
    jobs = evaluation.jobs(loop, region.region)
    return np.bincount(jobs, minlength=region.jobs.size).astype(np.int64)


def _field(copy: Copy, access: Access) -> int:
    """Where in the records of a copy an access reads."""
    assert access.form is not None and access.object is not None
    return (access.form.const - access.object.base - copy.origin) % copy.stride


def _holds_pieces(copy: Copy, access: Access) -> bool:
    """Whether an access to a copy reads starts or ends of pieces."""
    if copy.mode != "offsets" or not copy.pieces or access.form is None:
        return copy.mode == "offsets"
    low = _field(copy, access)
    return any(low < item.offset + item.width and item.offset < low + access.width for item in copy.pieces)


def _trip_loads(accesses: Accesses, region: int, bounds: Collection[str]) -> Iterator[tuple[int, Access]]:
    """(loop, what it reads to know how often to run) of the inner loops of a region.

    And what picks these numbers, unless they are `bounds`: those of a row that is picked anew are as far apart. Where a
    row begins that they are read from is no number of theirs: whatever is reached from there has to stay in the row.
    """
    for loop in accesses.nest.inside(region) - {region}:
        trip = accesses.nest.loops[loop].trip
        for number in trip.numbers() if trip is not None else ():
            nodes = [node for node in number.loads() if node is number or str(node.data[0]) not in bounds]
            nodes = [number] if str(number.data[0]) in bounds else nodes
            for node in nodes:
                if node.data[1] != "ptr":
                    for access in accesses.by_site[str(node.data[0])]:
                        yield loop, access


def _is_new(region: RegionSchedule, objects: Sequence[Object], accesses: Accesses, atom: Expr) -> bool:
    return any(_has_new_values(region, objects, access) for access in accesses.by_site[str(atom.data[0])])


def _has_new_values(region: RegionSchedule, objects: Sequence[Object], access: Access) -> bool:
    """Whether some copy of what an access reads has other values there."""
    for copy in region.copies:
        if objects[copy.object] is not access.object or not access.runs:
            continue
        low = copy.origin + copy.stride * copy.first
        if copy.mode != "segment" and not access.overlaps(low, low + copy.stride * copy.count):
            continue
        if access.form is None:
            return bool(copy.renumber)
        place = (access.form.const - access.object.base - copy.origin) % copy.stride
        if any(
            offset < place + access.width and place < offset + item.width
            for item in copy.renumber
            for offset in item.offsets
        ):
            return True
    return False
