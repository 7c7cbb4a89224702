"""Searches in rows: what they find moves with its row, where a run tells by which of its exits each of them is left."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from .checking import check, region_of
from .harness import Inspected, Program

Catalogue = Callable[[str], Program]
MOVED = ["inside", "greater", "behind", "sure", "asked", "fatal", "both"]
STAYING = ["astray", "numbered"]


def of(program: Catalogue, mark: str) -> Inspected:
    return program("sought").inspect(mark, tuned=True)


@pytest.mark.parametrize("mark", MOVED)
def test_what_is_found_moves_with_its_row(program: Catalogue, mark: str) -> None:
    item = of(program, mark)
    made = item.schedule(item.random(1))
    (copy,) = {copy for copy in region_of(item, made).copies if copy.mode == "bounds"}
    cut = made.spaces[copy.renumber[0].space]
    assert not np.array_equal(cut.order, np.arange(cut.order.size))
    assert sum(move.space == copy.renumber[0].space for move in made.moves) == 1
    check(item, made)


def test_what_is_only_read_there_is_read_from_a_copy(program: Catalogue) -> None:
    item = of(program, "looked_up")
    made = item.schedule(item.random(1))
    (copy,) = {copy for copy in region_of(item, made).copies if copy.mode == "bounds"}
    copies = [each for each in region_of(item, made).copies if each.mode == "spaced"]
    assert {each.space for each in copies} == {copy.renumber[0].space}
    check(item, made)


@pytest.mark.parametrize("mark", STAYING)
def test_where_it_may_lie_in_another_row_all_stays(program: Catalogue, mark: str) -> None:
    item = of(program, mark)
    made = item.schedule(item.random(1))
    assert not any(copy.mode == "bounds" for region in made.regions for copy in region.copies)
    check(item, made)


@pytest.mark.parametrize("mark", ["changing", "turned"])
def test_what_changes_between_sweeps_is_looked_at_in_each(program: Catalogue, mark: str) -> None:
    item = of(program, mark)
    assert item.scope == item.region


def test_the_guard_holds_all_that_searches_compare(program: Catalogue) -> None:
    item = of(program, "inside")
    made = item.schedule(item.random(1))
    read = {
        access.object
        for access in item.inspection.accesses.inside(item.region)
        if access.site.type == "i32" and not access.site.writes
    }
    assert len(read) == 4  # the rows, their bounds, what to look for and where
    assert read <= {item.guarded[1][load.object] for load in made.guard.loads}
