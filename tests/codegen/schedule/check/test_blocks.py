"""The checker looks itself at blocks of bytes that are filled or copied beside the regions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tracecut.support.errors import ScheduleError, UnsupportedError

from ...checking import check
from ...harness import Inspected, Program
from ...test_nests import outermost


@pytest.fixture(scope="module")
def subject(program: Callable[[str], Program]) -> Callable[[str], Inspected]:
    return lambda mark: outermost(program("nests"), mark)


@pytest.mark.parametrize("mark", ["copied_shifted", "copied_only", "copied_swapped", "copied_and_filled"])
def test_both_ends_move_alike(subject: Callable[[str], Inspected], mark: str) -> None:
    item = subject(mark)
    schedule = item.schedule(item.random(1))
    check(item, schedule)
    copied = {a.object for a in item.inspection.accesses.all() if a.site.length is not None and a.runs}
    for place, move in enumerate(schedule.moves):
        if item.guarded[1][move.object] not in copied:
            continue
        others = tuple(other for at, other in enumerate(schedule.moves) if at != place)
        with pytest.raises(
            ScheduleError, match=r"copied between data in unlike orders|program's own numbers|of its jobs"
        ):
            check(item, replace(schedule, moves=others))


def test_blocks_hold_what_keeps_to_itself(subject: Callable[[str], Inspected]) -> None:
    item = subject("copied_and_filled")
    schedule = item.schedule(item.random(1))
    spaces = tuple(replace(space, cuts=(space.low, space.high)) for space in schedule.spaces)
    assert spaces != schedule.spaces
    with pytest.raises(ScheduleError, match="a part of an order that is not closed"):
        check(item, replace(schedule, spaces=spaces))


def test_what_is_copied_to_data_that_stay_stays(subject: Callable[[str], Inspected]) -> None:
    with pytest.raises(UnsupportedError, match="is copied"):
        subject("copied_kept")
