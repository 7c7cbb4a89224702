"""Checks of indices that end the program or the loop: legal where no iteration of the run fails one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .harness import Inspected, Program

Catalogue = Callable[[str], dict[str, Inspected | str]]


@pytest.mark.parametrize(
    ("mark", "scope_is_wider", "early"),
    [
        ("checked_edges", True, True),
        ("checked_rows", True, True),
        ("checked_values", False, False),
        ("checked_laws", False, True),
    ],
)
def test_checks_that_hold(inspected: Catalogue, mark: str, scope_is_wider: bool, early: bool) -> None:
    """Values decide on one of them, which are looked at in front of the loop: no guard has to know them."""
    item = inspected("checks")[mark]
    assert not isinstance(item, str), item
    assert item.inspection.verdicts[item.region].movable
    assert (item.scope != item.region, item.inspection.use_data) == (scope_is_wider, False)
    assert item.inspection.accesses.nest.loops[item.region].ends_early == early


@pytest.mark.parametrize("name", ["checked_sums", "checked_and_wrong"])
def test_checks_that_may_fail(program: Callable[[str], Program], name: str) -> None:
    """One looks at a sum, which is known afterwards; one fails. The rows alone can be run as they are."""
    found, analysis = program("checks"), program("checks").compiled.analysis
    nests = {record.id: analysis.nest(record.id).loops[record.id] for record in analysis.records if record.indirect}
    (rows,) = [number for number, info in nests.items() if info.place.function == name and info.through]
    assert nests[rows].why == "may be left early"
    assert rows not in found.traced.profile.captures
