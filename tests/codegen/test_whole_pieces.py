"""Pieces whose starts lie in records that are written: they are copied whole, and the starts get new numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.codegen.schedule.plan.scope_plan import Pieces, Space
from tracecut.codegen.schedule.plan.whole_pieces import order_of_pieces
from tracecut.codegen.schedule.schedule import SpaceOrder
from tracecut.support.errors import ScheduleError

from .harness import Inspected

Catalogue = Callable[[str], dict[str, Inspected | str]]
FIRST = 16  # where a record of the program holds its start
COPIED = {
    "in_records": 1,
    "in_arrays": 2,
    "in_common": 1,
    "in_parts": 1,
    "by_pointers": 1,
}  # loops, and how many copies


def loop(inspected: Catalogue, mark: str) -> Inspected:
    item = inspected("stars")[mark]
    assert not isinstance(item, str), item
    return item


@pytest.mark.parametrize("mark", COPIED)
def test_pieces_follow_the_jobs(inspected: Catalogue, mark: str) -> None:
    item = loop(inspected, mark)
    made = item.schedule(item.random(1))
    (move,) = made.moves
    (field,) = move.renumber
    assert field.offsets == (FIRST,)
    mine = next(region for region in made.regions if region.region == item.region)
    assert [copy.mode for copy in mine.copies] == ["spaced"] * COPIED[mark]
    assert {copy.space for copy in mine.copies} == {field.space} != {move.space}
    order = made.spaces[field.space].order
    assert not np.array_equal(order, np.arange(order.size))


def test_starts_that_are_only_read_get_new_numbers_in_a_copy(inspected: Catalogue) -> None:
    item = loop(inspected, "only_told")
    made = item.schedule(item.random(1))
    starts, edges = sorted(made.regions[0].copies, key=lambda copy: copy.mode)
    assert (starts.mode, edges.mode) == ("direct", "spaced")
    assert [(field.offsets, field.space) for field in starts.renumber] == [((0,), edges.space)]


def test_a_message_leaves_no_layout(inspected: Catalogue) -> None:
    item = loop(inspected, "in_records")
    assert item.scope != item.region and not item.inspection.accesses.nest.exits


@pytest.mark.parametrize("mark", ["overlapping", "counted", "walked"])
def test_starts_keep_their_numbers(inspected: Catalogue, mark: str) -> None:
    """Of pieces that overlap, that are numbers in their own right, or that code beside the region reads."""
    item = loop(inspected, mark)
    made = item.schedule(item.random(1))
    assert not any(FIRST in field.offsets for move in made.moves for field in move.renumber)
    assert not any(copy.mode == "spaced" and copy.stride == 8 and not copy.renumber for copy in made.regions[0].copies)


def test_the_checker_finds_torn_pieces(inspected: Catalogue) -> None:
    item = loop(inspected, "in_records")
    made = item.schedule(item.random(1))
    (field,) = made.moves[0].renumber

    def check(order: np.ndarray, **changed: object) -> None:
        spaces = [*made.spaces]
        old = spaces[field.space]
        spaces[field.space] = SpaceOrder(old.low, old.high, old.cuts, order.astype(np.int32))
        moves = (replace(made.moves[0], renumber=(replace(field, **changed),)),) if changed else made.moves
        told = replace(made, spaces=tuple(spaces), moves=moves)
        inspection = item.inspection
        check_schedule(told, item.guarded[1], inspection.accesses, item.cut_out[0], inspection.plan.movable)

    order = made.spaces[field.space].order
    check(order)
    check(np.arange(order.size))  # any order will do that tears no piece
    for torn in (order[::-1], np.roll(order, 3), np.random.default_rng(3).permutation(order)):
        with pytest.raises(ScheduleError, match="does not hold its records"):
            check(torn)
    with pytest.raises(ScheduleError, match=r"does not hold its records|is reached by new numbers"):
        check(order, shift=1)
    with pytest.raises(ScheduleError, match="used in another way"):
        check(order, offsets=(20,))


@given(st.data())
def test_orders_keep_pieces_together(data: st.DataObject) -> None:
    """Against a slow reference: piece by piece, then what is left."""
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=8))
    gaps = data.draw(st.lists(st.integers(0, 2), min_size=len(lengths), max_size=len(lengths)))
    low = data.draw(st.integers(-3, 3))
    starts, at = [], low
    for length, gap in zip(lengths, gaps, strict=True):
        starts.append(at + gap)
        at += gap + length
    places = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=10))  # pieces of the iterations
    jobs = np.array(data.draw(st.permutations(range(len(places)))), np.int32)
    mine = [np.array([part[place] for place in places], np.int64) for part in (starts, lengths)]
    high = at + data.draw(st.integers(1, 2))
    space = Space(low, high, {}, {}, {}, {}, (low, high), "edges", Pieces(1, mine[0], mine[1]))
    expected: list[int] = []
    for job in jobs:
        piece = range(starts[places[job]] - low, starts[places[job]] - low + lengths[places[job]])
        expected += [datum for datum in piece if datum not in expected]
    expected += [datum for datum in range(high - low) if datum not in expected]
    assert order_of_pieces(space, jobs).tolist() == expected
