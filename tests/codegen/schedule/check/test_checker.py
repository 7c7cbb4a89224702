"""The independent checker: whatever is wrong with a schedule, it does not get past."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tracecut.codegen.schedule.schedule import Blocks, Schedule
from tracecut.support.errors import ScheduleError

from ...checking import Subject, check, region_of, running, why, with_region
from ...harness import Inspected


def edited(values: Any, place: int, value: int) -> Any:
    found = values.copy()
    found[place % found.size] = value
    return found


SHAPES = [
    ("pairs", "pairs"),
    ("rows", "csr"),
    ("rows", "degrees"),
    ("pairs", "counter_data"),
    ("pairs", "downwards"),
    ("pairs", "records"),
    ("indirect", "two_levels"),
    ("ended", "ended"),
    ("ended", "ended_nodes"),
    ("ended", "ended_count"),
    ("ended", "rows_twice"),
    ("ended", "ended_values"),
    ("ended", "ended_and_not"),
    ("unrolled", "sum_five"),
    ("pointers", "allocated"),
    ("pointers", "lists"),
    ("pointers", "pieces_in_records"),
    ("pointers", "own_and_others"),
    ("pointers", "next_and_others"),
]
Change = Callable[[Inspected, Schedule, int, int], Schedule | None]


def _job_twice(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    jobs = region_of(item, s).jobs
    if a % jobs.size == b % jobs.size:
        return None
    return with_region(item, s, jobs=edited(jobs, a, int(jobs[b % jobs.size])))


def _job_lost(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    mine = region_of(item, s)
    fewer = replace(mine.blocks, bounds=np.minimum(mine.blocks.bounds, mine.jobs.size - 1))
    return with_region(item, s, jobs=np.delete(mine.jobs, a % mine.jobs.size), blocks=fewer)


def _job_outside(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    jobs = region_of(item, s).jobs
    return with_region(item, s, jobs=edited(jobs, a, [-1, jobs.size, -(1 << 31), (1 << 31) - 1][b % 4]))


def _two_data_at_one_place(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    place = b % len(s.spaces)
    order = s.spaces[place].order
    other = int(order[(a + 1) % order.size])
    spaces = list(s.spaces)
    spaces[place] = replace(spaces[place], order=edited(order, a, other))
    return replace(s, spaces=tuple(spaces))


def _datum_outside(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    space = s.spaces[0]
    wrong = replace(space, order=edited(space.order, a, [-1, space.order.size][b % 2]))
    return replace(s, spaces=(wrong, *s.spaces[1:]))


def _wrong_dtype(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    return with_region(item, s, jobs=region_of(item, s).jobs.astype([np.int64, np.int16, np.uint32][a % 3]))


def _bounds_do_not_cover(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    blocks = region_of(item, s).blocks
    bounds = blocks.bounds
    wrong = [
        bounds[:-1],
        np.append(bounds, bounds[-1]),
        edited(bounds, -1, int(bounds[-1]) - 1 - a % 5),
        edited(bounds, -1, int(bounds[-1]) + 1 + a % 5),
        edited(bounds, 0, 1 + a % 5),
        edited(bounds, 1, -1 - a % 5),
        edited(bounds, 1, int(bounds[-1]) + 1),
    ]
    return with_region(item, s, blocks=replace(blocks, bounds=wrong[b % len(wrong)]))


def _blocks_that_are_not_there(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    blocks = region_of(item, s).blocks
    count = [0, blocks.count + 1, 1 << 14, 1 << 20][a % 4]
    bounds = blocks.bounds
    if count > 1 << 13:
        bounds = np.concatenate([bounds[:1].repeat(count), bounds[-1:]])
    return with_region(item, s, blocks=Blocks(bounds, np.zeros(count, np.int32)))


def _wavefronts_with_gaps(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    blocks = region_of(item, s).blocks
    wrong = [-1, -(1 << 31), blocks.count + a % 3, (1 << 31) - 1][b % 4]
    return with_region(item, s, blocks=replace(blocks, waves=edited(blocks.waves, a, wrong)))


def _index_not_renumbered(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    mine = region_of(item, s)
    numbered = [place for place, copy in enumerate(mine.copies) if copy.renumber]
    place = numbered[a % len(numbered)]
    copy = mine.copies[place]
    item0 = copy.renumber[b % len(copy.renumber)]
    wrong = [
        (),
        tuple(other for other in copy.renumber if other is not item0),
        (replace(item0, shift=item0.shift + 1 + a % 3),),
        (replace(item0, space=len(s.spaces)),),
        (replace(item0, width=3),),
        (replace(item0, offsets=(copy.stride,)),),
        (replace(item0, offsets=()),),
    ]
    copies = list(mine.copies)
    copies[place] = replace(copy, renumber=wrong[b % len(wrong)])
    return with_region(item, s, copies=tuple(copies))


def _copy_of_something_else(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    mine = region_of(item, s)
    place = sorted(mine.bases.values())[a % len(mine.bases)]
    copy = mine.copies[place]
    other = next(number for number in range(len(item.guarded[1])) if number != copy.object)
    wrong = [
        replace(copy, object=other),
        replace(copy, origin=copy.origin + copy.stride),
        replace(copy, origin=copy.origin + 1),
        replace(copy, stride=2 * copy.stride),
        replace(copy, first=copy.first + 1),
        replace(copy, first=copy.first - 1),
        replace(copy, mode="anything"),
        replace(copy, mode="direct" if copy.mode != "direct" else "plain"),
        replace(copy, mode="segment" if copy.mode != "segment" else "plain"),
        replace(copy, mode="spaced" if copy.mode != "spaced" else "direct", space=0),
        replace(copy, mode="offsets" if copy.mode != "offsets" else "direct"),
    ]
    if copy.mode in ("direct", "offsets"):
        wrong += [replace(copy, count=copy.count - 1), replace(copy, count=copy.count + 2)]
    if copy.mode == "direct":
        wrong += [replace(copy, reverse=not copy.reverse)]
    if copy.mode == "offsets":
        wrong += [replace(copy, ends=not copy.ends)]
    if copy.mode == "spaced":
        wrong += [replace(copy, space=len(s.spaces)), replace(copy, shift=copy.shift + 1)]
    copies = list(mine.copies)
    copies[place] = wrong[b % len(wrong)]
    return with_region(item, s, copies=tuple(copies))


def _pieces_of_something_else(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    mine = region_of(item, s)
    if not mine.lengths.size:
        return None
    wrong: list[dict[str, Any]] = [
        {"lengths": edited(mine.lengths, a, int(mine.lengths[a % mine.lengths.size]) + 1)},
        {"lengths": edited(mine.lengths, a, -1)},
        {"lengths": mine.lengths[:-1]},
    ]
    return with_region(item, s, **wrong[b % len(wrong)])


def _starts_of_other_pieces(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    """Of copies in pieces, and of records with starts and ends in them."""
    mine = region_of(item, s)
    own = [place for place, copy in enumerate(mine.copies) if copy.starts is not None or copy.pieces]
    if not own:
        return None
    place = own[a % len(own)]
    copy = mine.copies[place]
    wrong: list[dict[str, Any]] = []
    if copy.starts is not None:
        number, origin, stride, first, width = copy.starts
        wrong += [
            {"starts": None},
            {"starts": (number, origin + stride, stride, first, width)},
            {"starts": (number, origin, stride, first + 1, width)},
            {"starts": (number, origin, stride + 4, first, width)},
            {"starts": (number, origin, 2 * stride, first, width)},
            {"starts": (number, origin, stride, first, 2 * width)},
            {"starts": ((number + 1) % len(item.guarded[1]), origin, stride, first, width)},
        ]
    for piece in copy.pieces:
        rest = tuple(other for other in copy.pieces if other is not piece)
        alone = not rest and copy.stride == piece.width  # starts, and nothing else, need no fields
        wrong += [
            {"pieces": copy.pieces * 2 if alone else rest},
            {"pieces": (*rest, replace(piece, ends=not piece.ends))},
            {"pieces": (*rest, replace(piece, offset=copy.stride))},
            {"pieces": (*rest, replace(piece, offset=piece.offset - 1))},
            {"pieces": (*rest, replace(piece, width=3))},
            {"pieces": (*copy.pieces, piece)},
        ]
    copies = list(mine.copies)
    copies[place] = replace(copy, **wrong[b % len(wrong)])
    return with_region(item, s, copies=tuple(copies))


def _base_without_copy(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    bases = dict(region_of(item, s).bases)
    group = sorted(bases)[a % len(bases)]
    if b % 2:
        bases[group] = len(region_of(item, s).copies)
    else:
        del bases[group]
    return with_region(item, s, bases=bases)


def _move_elsewhere(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    place = a % len(s.moves)
    move = s.moves[place]
    wrong = [
        replace(move, count=move.count + 1),
        replace(move, count=move.count - 1),
        replace(move, first=move.first + 1),
        replace(move, shift=move.shift + 1),
        replace(move, origin=move.origin - (1 << 20)),
        replace(move, stride=0),
        replace(move, stride=-move.stride),
        replace(move, space=len(s.spaces)),
        replace(move, space=-1),
        replace(move, object=len(item.guarded[1])),
    ]
    moves = list(s.moves)
    moves[place] = wrong[b % len(wrong)]
    return replace(s, moves=tuple(moves))


def _moved_twice(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    return replace(s, moves=(*s.moves, s.moves[a % len(s.moves)]))


def _region_twice(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    return replace(s, regions=(*s.regions, s.regions[a % len(s.regions)]))


def _cuts_elsewhere(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    space = s.spaces[a % len(s.spaces)]
    middle = (space.low + space.high) // 2
    wrong = [(), (space.low,), (space.high, space.low), (space.low, middle, middle, space.high), (space.low, middle)]
    spaces = tuple(replace(other, cuts=wrong[b % 5]) if other is space else other for other in s.spaces)
    return replace(s, spaces=spaces)


def _guard_outside(item: Inspected, s: Schedule, a: int, b: int) -> Schedule | None:
    load = s.guard.loads[a % len(s.guard.loads)]
    wrong = [
        replace(load, count=load.count + (1 << 20)),
        replace(load, offset=-1),
        replace(load, object=len(s.guard.objects)),
        replace(load, count=-5),
        replace(load, width=0),
        replace(load, stride=-8),
    ]
    return replace(s, guard=replace(s.guard, loads=(wrong[b % len(wrong)],)))


CHANGES: list[Change] = [
    _job_twice,
    _job_lost,
    _job_outside,
    _two_data_at_one_place,
    _datum_outside,
    _wrong_dtype,
    _bounds_do_not_cover,
    _blocks_that_are_not_there,
    _wavefronts_with_gaps,
    _index_not_renumbered,
    _copy_of_something_else,
    _pieces_of_something_else,
    _starts_of_other_pieces,
    _base_without_copy,
    _move_elsewhere,
    _moved_twice,
    _region_twice,
    _cuts_elsewhere,
    _guard_outside,
]


@pytest.mark.parametrize("change", CHANGES, ids=[change.__name__.strip("_") for change in CHANGES])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(a=st.integers(0, 1 << 20), b=st.integers(0, 1 << 20), shape=st.integers(0, len(SHAPES) - 1))
def test_one_wrong_field_is_noticed(subject: Subject, change: Change, a: int, b: int, shape: int) -> None:
    item = subject(*SHAPES[shape])
    schedule = item.schedule(item.random(a), 1 + b % 3)
    changed = change(item, schedule, a, b)
    if changed is not None:
        with pytest.raises(ScheduleError):
            check(item, changed)


def test_code_that_uses_the_wrong_numbers_is_refused(subject: Subject) -> None:
    for name, mark in SHAPES:
        item = subject(name, mark)
        schedule = item.schedule(item.random(2))
        groups = item.cut_out[0]
        for place, group in enumerate(groups[item.region]):
            flipped = replace(group, view="old" if group.view == "new" else "new")
            wrong = {**groups, item.region: [flipped if at == place else g for at, g in enumerate(groups[item.region])]}
            if "reached" in why(item, schedule, wrong):
                continue
            fixed = [a.form is not None and not a.form.terms for key in group.sites for a in running(item, key)]
            assert all(fixed), f"@{mark}: {group}"
