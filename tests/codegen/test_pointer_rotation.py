"""Buffers that change places between sweeps, members of structures, copies of whole records: one layout for all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .harness import Inspected

Catalogue = Callable[[str], dict[str, Inspected | str]]


def found(inspected: Catalogue, mark: str) -> Inspected:
    item = inspected("states")[mark]
    assert not isinstance(item, str), item
    return item


@pytest.mark.parametrize(
    ("mark", "kind", "moved"), [("pulled", "parallel", 2), ("turned", "reduction", 3), ("members", "reduction", 2)]
)
def test_the_layout_holds_for_all_sweeps(inspected: Catalogue, mark: str, kind: str, moved: int) -> None:
    item = found(inspected, mark)
    assert item.verdict == kind
    assert item.scope != item.region, "the layout is given up after each sweep"
    uses = item.inspection.plan.uses[item.region]
    assert [use.mode for use in uses].count("moved") == moved and item.inspection.plan.kept == {}


@pytest.mark.parametrize(("mark", "looks_up"), [("ranged", False), ("ranged_unlike", True)])
def test_loops_from_begin_to_end_are_counted_in_each_state(inspected: Catalogue, mark: str, looks_up: bool) -> None:
    """They take the new order where all buffers are as long; where not, they look up where records are."""
    item = found(inspected, mark)
    assert item.scope != item.region
    assert [use.mode for use in item.inspection.plan.uses[item.region]].count("moved") == 2
    assert bool(item.inspection.plan.lookups) == looks_up


@pytest.mark.parametrize("mark", ["turned_in_place", "scattered_records"])
def test_what_meets_in_some_state_keeps_its_order(inspected: Catalogue, mark: str) -> None:
    item = found(inspected, mark)
    assert item.verdict == "ordered"
    assert len(item.inspection.verdicts[item.region].places) == 2


def test_buffers_that_may_be_any_are_left_to_one_sweep(inspected: Catalogue) -> None:
    item = found(inspected, "turned_sometimes")
    assert item.verdict == "parallel" and item.scope == item.region


def test_whole_records_are_copied_in_any_order(inspected: Catalogue) -> None:
    assert found(inspected, "copied_records").verdict == "parallel"
