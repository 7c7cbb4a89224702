"""The part of the checker that knows blocks, and the private slots of what they sum up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tracecut.codegen.schedule.inspector import cut_into_blocks
from tracecut.codegen.schedule.schedule import Blocks
from tracecut.support.errors import ScheduleError

from ...checking import Subject, check, region_of, running, why, with_region
from ...harness import Inspected


def test_threads_do_not_share_what_they_write(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of the tail that run beside the others meet those for which they were put into it."""
    monkeypatch.setattr(cut_into_blocks, "MAX_TAIL", 1.0)
    item = subject("pairs", "pairs")
    schedule = item.schedule(item.random(1), 2)
    mine = region_of(item, schedule)
    assert mine.blocks.waves.tolist() == [0, 0, 1] and not mine.privates
    together = replace(mine.blocks, waves=np.zeros(3, np.int32))
    with pytest.raises(ScheduleError, match="two blocks"):
        check(item, with_region(item, schedule, blocks=together))


def test_blocks_that_make_the_same_update_of_one_place_run_one_after_the_other(subject: Subject) -> None:
    """Any order of them will do, but no two at a time; there are no slots for what is no sum."""
    item = subject("edges", "repeats")
    verdict = item.inspection.verdicts[item.region]
    assert (verdict.kind, verdict.operators) == ("reduction", ("fadd", "the same update"))
    schedule = item.schedule(item.random(1))
    jobs = region_of(item, schedule).jobs.size
    apart = Blocks(np.array([0, jobs // 2, jobs], np.int64), np.array([0, 1], np.int32))
    check(item, with_region(item, schedule, blocks=apart))
    together = replace(apart, waves=np.zeros(2, np.int32))
    with pytest.raises(ScheduleError, match="two blocks"):
        check(item, with_region(item, schedule, blocks=together))


def test_races_are_found_where_they_are(subject: Subject) -> None:
    """The checker against brute force: blocks meet exactly where two of a wavefront update one element."""
    item = subject("pairs", "flagged")
    reached = _elements(item)
    schedule = item.schedule(item.random(5))
    jobs = region_of(item, schedule).jobs
    draw = np.random.default_rng(1)
    seen = set()
    for _ in range(40):
        first = int(draw.integers(0, 40))
        second = first + int(draw.integers(0, 40))
        bounds = np.array([0, first, second, jobs.size], np.int64)
        blocks = Blocks(bounds, np.array([0, 0, 1], np.int32))
        owners = [
            {element for job in jobs[low:high] for element in reached[int(job)]}
            for low, high in ((0, first), (first, second))
        ]
        expected = bool(owners[0] & owners[1])
        seen.add(expected)
        said = why(item, with_region(item, schedule, blocks=blocks), item.cut_out[0])
        assert ("two blocks" in said) == expected, (first, second, said)
    assert seen == {True, False}


def _elements(item: Inspected) -> dict[int, list[int]]:
    """Job → elements that it updates, from the values of the run."""
    accesses = item.inspection.accesses
    found: dict[int, list[int]] = {job: [] for job in range(accesses.size(item.region) or 0)}
    for access in accesses.inside(item.region):
        if access.site.writes:
            addresses, runs = accesses.addresses(access) or (np.zeros(0), np.zeros(0))
            for job, address in enumerate(addresses):
                if runs[job]:
                    found[job].append(int(address))
    return found


def test_slots_of_one_array_excuse_no_other(subject: Subject) -> None:
    """Two arrays are updated by all blocks; slots for one of them do not help the other."""
    item = subject("indirect", "two_levels")
    schedule = item.schedule(item.random(1), 2)
    mine = region_of(item, schedule)
    assert mine.blocks.count == 2 and len({private.object for private in mine.privates}) == 2
    for left_out in mine.privates:
        kept = tuple(private for private in mine.privates if private is not left_out)
        with pytest.raises(ScheduleError, match="two blocks"):
            check(item, with_region(item, schedule, privates=kept))


def test_two_ways_into_one_array_have_slots_each(subject: Subject) -> None:
    """`f[nb[j]] -= d; f[i] += own`: two base pointers into one array, both with slots."""
    item = subject("rows", "half_list")
    schedule = item.schedule(item.random(1), 2)
    mine = region_of(item, schedule)
    assert (
        mine.blocks.count == 2 and len(mine.privates) == 2 and len({private.object for private in mine.privates}) == 1
    )
    for left_out in mine.privates:
        kept = tuple(private for private in mine.privates if private is not left_out)
        with pytest.raises(ScheduleError, match="private slots"):
            check(item, with_region(item, schedule, privates=kept))


def test_slots_are_what_they_stand_for(subject: Subject) -> None:
    item = subject("edges", "empty_updates")
    schedule = item.schedule(item.random(1), 3)
    (private,) = region_of(item, schedule).privates
    wrong = {
        "another type": replace(private, type="i32"),
        "no type": replace(private, type="i128"),
        "slots for fewer blocks": replace(private, low=private.low[1:], high=private.high[1:]),
        "too short": replace(private, high=tuple(high - 8 for high in private.high)),
        "a part of a number": replace(private, high=tuple(high - 1 for high in private.high)),
        "outside": replace(private, high=tuple(high + 8 for high in private.high)),
        "of another pointer": replace(private, group=private.group + 1),
        "backwards": replace(private, low=private.high, high=private.low),
    }
    for what, found in wrong.items():
        with pytest.raises(ScheduleError):
            check(item, with_region(item, schedule, privates=(found,)))
            pytest.fail(f"slots that are {what} got past")
    with pytest.raises(ScheduleError, match="two private slots"):
        check(item, with_region(item, schedule, privates=(private, private)))


def test_products_get_no_slots(subject: Subject) -> None:
    """Zeroed slots are only right for sums."""
    item = subject("edges", "products")
    schedule = item.schedule(item.random(1))
    mine = region_of(item, schedule)
    sums = subject("edges", "empty_updates")
    (like,) = region_of(sums, sums.schedule(sums.random(1), 2)).privates
    objects = item.guarded[1]
    privates = []
    for group in item.cut_out[0][item.region]:
        for access in running(item, group.sites[0]):
            if access.site.writes:
                size = access.object.size
                place = next(number for number, other in enumerate(objects) if other is access.object)
                privates.append(
                    replace(like, group=group.id, object=place, type=access.site.type, low=(0, 0), high=(size, size))
                )
    half = Blocks(np.array([0, mine.jobs.size // 2, mine.jobs.size]), np.zeros(2, np.int32))
    with pytest.raises(ScheduleError, match="private slots"):
        check(item, with_region(item, schedule, blocks=half, privates=tuple(privates)))


def test_local_arrays_are_no_race(subject: Subject) -> None:
    """Every block makes its own, so that only what outlives an iteration counts."""
    item = subject("locals", "own_rows")
    schedule = item.schedule(item.random(1), 3)
    assert region_of(item, schedule).blocks.widest() >= 3 and not region_of(item, schedule).privates
