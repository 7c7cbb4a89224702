"""The independent checker: every schedule passes it before it may run.

It shares no code with the scheduler and trusts nothing: each job once, orders that are permutations and respect
their cuts, arrays that lie in their objects without overlap, indices that follow the data they point to
(`numbering.py`, `own_indices.py`) and keep pieces whole (`whole_pieces.py`), and compare as before (`index_tests.py`),
rows in the order of what has them (`row_bounds.py`), other loops that take one record at a time (`walks.py`) or look
records up (`lookups.py`), blocks of whole records (`blocks.py`), copies that hold what is read from them (`copies.py`),
jobs that write no common data while they may run concurrently (`races.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from tracecut.codegen.schedule.plan.range_function import Group
from tracecut.codegen.schedule.schedule import Copy, Move, RegionSchedule, Schedule
from tracecut.support.errors import ScheduleError
from tracecut.tracer.legality.accesses import Accesses
from tracecut.tracer.legality.evaluation.memory import Object

from .blocks import check_blocks
from .copies import check_copies
from .index_tests import check_index_tests
from .lookups import check_lookups, check_places
from .numbering import check_numbers
from .own_indices import check_own_indices
from .row_bounds import check_row_bounds
from .walks import check_walks

WIDTHS = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}
MAX_BLOCKS = 1 << 14  # their numbers fit 16 bits beside two marks
MODES = ("direct", "offsets", "segment", "spaced", "bounds", "plain")


def check_schedule(
    schedule: Schedule,
    objects: Sequence[Object],
    accesses: Accesses | None = None,
    groups: Mapping[int, Sequence[Group]] | None = None,
    movable: Collection[int] | None = None,
) -> None:
    """Raise ScheduleError unless the schedule is sound. Without `accesses`: as far as one can tell without the run.

    Args:
        schedule: what to check. objects: of its guard, in the guard's order.
        accesses: of the scope; with them, that jobs and indices fit the run and threads do not meet.
        groups: region → groups of its code. movable: regions whose order may change.

    O(jobs + data + pins) time.
    """
    for number, space in enumerate(schedule.spaces):
        _permutation(f"space {number}", space.order, space.high - space.low)
        cuts = space.cuts
        if not cuts or cuts[0] != space.low or cuts[-1] != space.high or list(cuts) != sorted(set(cuts)):
            raise ScheduleError(f"space {number} has the cuts {cuts}, ascending ones over its range were expected")
        for low, high in itertools.pairwise(cuts) if len(cuts) > 2 else ():
            piece = space.order[low - space.low : high - space.low]
            if piece.size and (piece.min() < low - space.low or piece.max() >= high - space.low):
                raise ScheduleError(f"space {number} moves data over the cut at {low} or {high}")
    for load in schedule.guard.loads:
        last = load.offset + load.stride * (load.count - 1) + load.width
        if min(load.stride, load.width, load.count) < 1:
            raise ScheduleError(f"it guards {load.count} fields of {load.width} bytes, {load.stride} apart")
        if not 0 <= load.object < len(objects) or load.offset < 0 or last > objects[load.object].size:
            raise ScheduleError("it guards bytes outside of their object")
    _moves(schedule, objects)
    check_places(schedule)
    names = [region.region for region in schedule.regions]
    if len(set(names)) != len(names):
        raise ScheduleError("a region is scheduled twice")
    if accesses is not None:
        check_own_indices(schedule, objects, accesses, groups or {})
        check_walks(schedule, objects, accesses)
        check_lookups(schedule, objects, accesses)
        check_blocks(schedule, objects, accesses)
        check_row_bounds(schedule, objects, accesses)
    for region in schedule.regions:
        _region(schedule, region, objects)
        fixed = movable is not None and region.region not in movable
        if fixed and (region.blocks.count > 1 or np.any(region.jobs != np.arange(region.jobs.size))):
            raise ScheduleError(f"region {region.region} has to keep its order")
        if accesses is not None:
            from .races import check_threads  # compiled code: a program that only runs its schedule starts without it

            if accesses.size(region.region) != region.jobs.size:
                raise ScheduleError(f"region {region.region} runs {region.jobs.size} jobs, it has others")
            code = (groups or {}).get(region.region, ())
            check_numbers(schedule, region, objects, accesses, code)
            check_index_tests(schedule, region, code)
            check_copies(schedule, region, objects, accesses, code)
            check_threads(region, objects, accesses, code)


def _permutation(name: str, order: npt.NDArray[np.int32], size: int) -> None:
    if order.ndim != 1 or order.dtype != np.int32 or not order.flags.c_contiguous or order.size != size:
        raise ScheduleError(f"{name} orders {order.size} items, it has {size}")
    if order.size and (int(order.min()) < 0 or int(order.max()) >= size):
        raise ScheduleError(f"{name} names an item outside of [0, {size})")
    seen = np.zeros(size, np.bool_)
    seen[order] = True
    if not seen.all():
        raise ScheduleError(f"{name} leaves out item {int(np.argmin(seen))}")


def _inside(name: str, objects: Sequence[Object], number: int, low: int, high: int) -> None:
    if not 0 <= number < len(objects) or low < 0 or high < low or high > objects[number].size:
        raise ScheduleError(f"{name} bytes [{low}, {high}) of object {number}, which has no such bytes")


def _closed(name: str, schedule: Schedule, space: int, first: int, count: int) -> None:
    """Records [first, first + count) in a space's order are the same records in another order."""
    if not 0 <= space < len(schedule.spaces):
        raise ScheduleError(f"{name} in the order of a space that does not exist")
    cuts = schedule.spaces[space].cuts
    if count < 0 or first not in cuts or first + count not in cuts:
        raise ScheduleError(f"{name} over a part of an order that is not closed")


def _moves(schedule: Schedule, objects: Sequence[Object]) -> None:
    taken: dict[int, list[tuple[int, int]]] = {}
    for move in schedule.moves:
        low = move.origin + move.stride * move.first
        high = low + move.stride * move.count
        if move.stride < 1:
            raise ScheduleError(f"object {move.object} is permuted in records of {move.stride} bytes")
        _inside("it permutes", objects, move.object, low, high)
        _closed(f"object {move.object} is permuted", schedule, move.space, move.first - move.shift, move.count)
        _renumbered(f"object {move.object}", schedule, move)
        for other_low, other_high in taken.setdefault(move.object, []):
            if low < other_high and other_low < high:
                raise ScheduleError(f"object {move.object} is permuted twice")
        taken[move.object].append((low, high))
    for region in schedule.regions:
        for copy in region.copies:
            low = copy.origin + copy.stride * copy.first
            for other_low, other_high in taken.get(copy.object, []):
                if copy.mode != "segment" and low < other_high and other_low < low + copy.stride * copy.count:
                    raise ScheduleError(f"object {copy.object} is permuted in place and copied")


def _region(schedule: Schedule, region: RegionSchedule, objects: Sequence[Object]) -> None:
    name = f"region {region.region}"
    _permutation(name, region.jobs, region.jobs.size)
    _blocks(name, region)
    for copy in region.copies:
        _copy(name, schedule, region, copy, objects)
    if any(not 0 <= number < len(region.copies) for number in region.bases.values()):
        raise ScheduleError(f"{name} uses a copy that does not exist")
    for item in region.privates:
        if len(item.low) != region.blocks.count or len(item.high) != region.blocks.count:
            raise ScheduleError(f"{name} has private slots for another number of blocks")
        if np.any(region.blocks.waves):
            raise ScheduleError(f"{name} has private slots, and more than one wavefront")
        if item.type not in WIDTHS:
            raise ScheduleError(f"{name} has private slots of type {item.type}")
        for low, high in zip(item.low, item.high, strict=True):
            if (high - low) % WIDTHS[item.type]:
                raise ScheduleError(f"{name} has private slots for a part of a number")
            _inside(f"{name} has private slots for", objects, item.object, low, high)


def _blocks(name: str, region: RegionSchedule) -> None:
    bounds, waves = region.blocks.bounds, region.blocks.waves
    if not 1 <= waves.size < MAX_BLOCKS or bounds.size != waves.size + 1:
        raise ScheduleError(f"{name} has {bounds.size} bounds for {waves.size} blocks")
    if bounds[0] != 0 or bounds[-1] != region.jobs.size or np.any(np.diff(bounds) < 0):
        raise ScheduleError(f"{name} does not run every job exactly once")
    found = sorted(set(waves.tolist()))  # `np.unique` loads a part of NumPy that takes longer than all of this
    if found != list(range(len(found))):
        raise ScheduleError(f"{name} has the wavefronts {found}, those from 0 on were expected")


def _copy(name: str, schedule: Schedule, region: RegionSchedule, copy: Copy, objects: Sequence[Object]) -> None:
    if copy.mode not in MODES or copy.stride < 1:
        raise ScheduleError(f"{name} has a copy of the unknown kind {copy.mode!r}")
    if copy.pieces and (copy.mode != "offsets" or copy.ends):
        raise ScheduleError(f"{name} has starts of pieces in a copy of another kind")
    low = copy.origin + copy.stride * copy.first
    if copy.mode in ("segment", "offsets"):
        if copy.cut < 0 or region.lengths_of(copy).size != region.jobs.size or np.any(region.lengths_of(copy) < 0):
            raise ScheduleError(f"{name} copies pieces of unknown length")
        if copy.starts is None:
            raise ScheduleError(f"{name} copies pieces from an unknown place")
        number, origin, stride, first, width = copy.starts
        end = origin + stride * (first + region.jobs.size - 1) + width
        _inside(f"{name} reads starts from", objects, number, origin + stride * first, end)
    if copy.mode == "offsets":
        fields = [(item.offset, item.width) for item in copy.pieces] or [(0, copy.stride)]
        if copy.count - region.jobs.size not in ((0,) if copy.pieces else (0, 1)):
            raise ScheduleError(f"{name} copies {copy.count} starts for its pieces")
        for at, width in fields:
            if width not in (1, 2, 4, 8) or at < 0 or at + width > copy.stride:
                raise ScheduleError(f"{name} copies starts of {width} bytes at {at} for its pieces")
            if int(region.lengths_of(copy).sum(dtype=np.int64)) >= 1 << (8 * width - 1):
                raise ScheduleError(f"{name} has pieces whose new starts do not fit {width} bytes")
        if any(a < b + more and b < a + width for (a, width), (b, more) in itertools.combinations(fields, 2)):
            raise ScheduleError(f"{name} has starts and ends in the same bytes")
    if copy.mode != "segment":
        _inside(f"{name} copies", objects, copy.object, low, low + copy.stride * copy.count)
    if copy.mode == "direct" and copy.count != region.jobs.size:
        raise ScheduleError(f"{name} copies {copy.count} records for {region.jobs.size} jobs")
    if copy.mode == "spaced":
        _closed(f"{name} copies", schedule, copy.space, copy.first - copy.shift, copy.count)
    if copy.mode == "bounds":
        _closed(f"{name} copies bounds", schedule, copy.space, copy.first - copy.shift, copy.count - 1)
        alone = [(item.offsets, item.width) for item in copy.renumber] == [((0,), copy.stride)]
        if not alone or copy.renumber[0].space == copy.space:
            raise ScheduleError(f"{name} copies bounds of unknown rows")
    if copy.renumber and copy.mode == "offsets":
        raise ScheduleError(f"{name} renumbers starts of pieces")
    _renumbered(name, schedule, copy)


def _renumbered(name: str, schedule: Schedule, records: Copy | Move) -> None:
    """Index fields lie in their records, apart from each other, and any number of their space fits in."""
    fields = sorted((offset, offset + item.width) for item in records.renumber for offset in item.offsets)
    if any(end > start for (_, end), (start, _) in itertools.pairwise(fields)):
        raise ScheduleError(f"{name} renumbers a field twice")
    for item in records.renumber:
        if not 0 <= item.space < len(schedule.spaces) or item.width not in (1, 2, 4, 8):
            raise ScheduleError(f"{name} renumbers a field in an unknown way")
        if any(offset < 0 or offset + item.width > records.stride for offset in item.offsets):
            raise ScheduleError(f"{name} renumbers bytes outside of a record")
        space, limit = schedule.spaces[item.space], 1 << (8 * item.width - 1)
        if space.low + item.shift < -limit or space.high + item.shift > limit:
            raise ScheduleError(f"{name} renumbers a field of {item.width} bytes, too narrow for its space")
